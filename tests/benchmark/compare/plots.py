"""The plots of docs/comparison.md. A colour says what kind of structure it is, in any language."""

import math

from data import BASE
import style
from style import (
    INK, bar, brokenBar, finishBars, humanCount, humanTime, labelEnds, number, plt, save,
)  # fmt: skip

COLOURS = {
    "SystemTimer": "#0b57a4",  # wheels with levels: blue
    "Kafka": "#5aa2dc",
    "HashedWheelTimer": "#11773c",  # flat wheels: green
    "Netty-4.2": "#3fa163",
    "Netty-4.1": "#93cfa5",
    "Asio": "#c8500a",  # heaps: orange to red
    "Heap": "#f08c2e",
    "libuv": "#9d0208",
    "libevent": "#e0607e",
    "libev": "#8d5524",
    "JdkTimer": "#f08c2e",
    "JdkExecutor": "#c8500a",
    "JdkExecutorKeeping": "#a8795c",
    "DelayQueue": "#e3b341",
    "Multimap": "#7d3c98",  # a tree
    "SortedQueue": "#6b7280",
    "ThreadPerTask": "#111111",
}
OTHERS = ["#b5179e", "#0f9aa8", "#8a6d3b"]  # for those who come later


def colour(data, contender):
    if contender in COLOURS:
        return COLOURS[contender]
    unknown = [c for c in data.contenders if c not in COLOURS]
    return OTHERS[unknown.index(contender) % len(OTHERS)]


# ---- curves ------------------------------------------------------------------------------------


def drawCurve(axes, data, measurement, contender, reference=False):
    points = data.curve(measurement, contender)
    counts = [n for n, _ in points]
    tint = colour(data, contender)
    style = {"linestyle": (0, (2, 2)), "linewidth": 1.5} if reference else {
        "marker": "o", "markersize": 4.5 if contender == BASE else 3.5,
        "linewidth": 2.8 if contender == BASE else 1.7}  # fmt: skip
    axes.plot(counts, [s.median for _, s in points], color=tint, zorder=3, **style)
    if not reference:
        axes.fill_between(counts, [s.low for _, s in points], [s.high for _, s in points],
                          color=tint, alpha=0.15, linewidth=0)  # fmt: skip
    return counts[-1], points[-1][1].median


def curves(data, measurement, title, file):
    """The cost of one schedule and one cancel against the number pending."""
    measured = data.measured(measurement)
    panels = [("C++", [c for c in measured if not data.isJava(c)])]
    if any(map(data.isJava, measured)):
        panels.append(("JVM", [c for c in measured if data.isJava(c)]))
    figure, all_ = plt.subplots(1, len(panels), figsize=(6 * len(panels), 4.7), sharey=True,
                                squeeze=False)  # fmt: skip
    counts = data.counts(measurement)
    drawn = []
    for axes, (name, contenders) in zip(all_[0], panels):
        axes.set(xscale="log", yscale="log", xlabel="timers pending", title=name)
        axes.set_xlim(counts[0] * 0.7, counts[-1] * 1.4)
        ends = [(c, drawCurve(axes, data, measurement, c), data.title(c)) for c in contenders]
        if BASE not in contenders:
            end = drawCurve(axes, data, measurement, BASE, reference=True)
            ends.append((BASE, end, "SystemTimer (C++)"))
        axes.set_xticks(counts, [humanCount(n) for n in counts])
        axes.minorticks_off()
        drawn.append((axes, ends))
    all_[0][0].set_ylabel("one schedule and one cancel")
    all_[0][0].yaxis.set_major_formatter(humanTime)
    figure.suptitle(title, x=0.01, y=0.985, ha="left", fontsize=12.5, weight="bold")
    figure.subplots_adjust(left=0.075 if len(panels) == 2 else 0.13, top=0.84, bottom=0.115,
                           right=0.845 if len(panels) == 2 else 0.74, wspace=0.38)  # fmt: skip
    for axes, ends in drawn:
        labelEnds(axes, [(count, value, text, colour(data, c), c == BASE)
                         for c, (count, value), text in ends])  # fmt: skip
    save(figure, file)


# ---- bars and ranges ---------------------------------------------------------------------------


def rows(data, contenders):
    """Contenders from top to bottom, with a gap between the languages: [(y, contender)]."""
    cpp = [c for c in contenders if not data.isJava(c)]
    java = [c for c in contenders if data.isJava(c)]
    placed = [(i, c) for i, c in enumerate(cpp)]
    return placed + [(len(cpp) + 0.6 + i, c) for i, c in enumerate(java)]


def rowAxes(data, placed, panels, title):
    named = [(y, data.title(c), colour(data, c), c == BASE) for y, c in placed]
    return style.rowAxes(named, panels, title)


def breakingPoint(medians):
    """Where a bar ends that is so long that the others could not be told apart; None if none is."""
    *_, second, longest = [0, 0, *sorted(medians)]
    return 1.6 * second if longest > 8 * second > 0 else None


def bars(data, title, panels, file):
    """panels: [(heading, measurement, metric)], side by side; medians with quartiles."""
    contenders = [c for c in data.contenders if any(data.of(m, c, k) for _, m, k in panels)]
    placed = rows(data, contenders)
    figure, all_ = rowAxes(data, placed, len(panels), title)
    for axes, (heading, measurement, metric) in zip(all_, panels):
        axes.set_title(heading, fontsize=10, weight="normal")
        summaries = [(y, c, data.of(measurement, c, metric)) for y, c in placed]
        summaries = [row for row in summaries if row[2] is not None]
        end = breakingPoint(summary.median for _, _, summary in summaries)
        for y, contender, summary in summaries:
            if end and summary.median > end:
                brokenBar(axes, y, summary, end, colour(data, contender))
            else:
                bar(axes, y, summary, colour(data, contender), contender == BASE)
        finishBars(axes)
    save(figure, file)


def lateness(data, title, panels, file):
    """panels: [(heading, measurement, scale)]: from the median to the 99th percentile."""
    contenders = [c for c in data.contenders
                  if any(data.of(m, c, "p99Us") for _, m, _ in panels)]  # fmt: skip
    placed = rows(data, contenders)
    figure, all_ = rowAxes(data, placed, len(panels), title)
    for axes, (heading, measurement, scale) in zip(all_, panels):
        axes.set_title(heading, fontsize=10, weight="normal")
        axes.set_xscale(scale)
        for y, contender in placed:
            median = data.of(measurement, contender, "medianUs")
            if median is None:
                continue
            p99 = data.of(measurement, contender, "p99Us").median
            tint = colour(data, contender)
            axes.plot([median.median, p99], [y, y], color=tint, linewidth=4, alpha=0.35,
                      solid_capstyle="round")  # fmt: skip
            axes.plot(median.median, y, "o", color=tint, markersize=7)
            axes.plot(p99, y, "|", color=tint, markersize=11, markeredgewidth=2)
        if axes.get_xlim()[0] < 0 and scale == "linear":
            axes.axvline(0, color=INK, linewidth=0.8)
        if scale == "log":
            low, high = (math.log10(limit) for limit in axes.get_xlim())
            axes.set_xlim(10 ** math.floor(low), 10 ** math.ceil(high))
        else:
            axes.locator_params(axis="x", nbins=6)
        axes.minorticks_off()
        axes.xaxis.set_major_formatter(lambda us, _: humanTime(us * 1e3))
    save(figure, file)
