"""Curves and bars of what was measured.

A colour says what kind of structure it is, in any language: wheels with levels are blue, flat
wheels green, heaps orange to red, a tree violet.
"""

import math

from figures import humanCount, humanTime
from results import BASE
from style import (
    INK, bar, brokenBar, finishBars, labelEnds, plt, rowAxes, save,
)  # fmt: skip

COLOURS = {
    "SystemTimer": "#0b57a4",
    "SystemTimer-batch": "#0b57a4",
    "SystemTimer-250": "#0b57a4",
    "SystemTimer-50": "#0b57a4",
    "SystemTimerHooks": "#3f7fc4",
    "SystemTimerHooks-batch": "#3f7fc4",
    "SystemTimerSpin": "#2a9d8f",
    "SystemTimerSpin-50": "#2a9d8f",
    "SystemTimerSpin-250": "#2a9d8f",
    "ManualTimer": "#4a4fa8",
    "ManualTimerHooks": "#8286cf",
    "TimingWheel": "#0b57a4",
    "TimingWheel-256": "#2f81c7",
    "TimingWheel-512": "#5aa2dc",
    "TimingWheel-tolerance": "#0f9aa8",
    "Kafka": "#5aa2dc",
    "HashedWheelTimer": "#11773c",
    "Netty-4.2": "#3fa163",
    "Netty-4.1": "#93cfa5",
    "Asio": "#c8500a",
    "asio": "#c8500a",
    "Heap": "#f08c2e",
    "priority_queue": "#f08c2e",
    "libuv": "#9d0208",
    "libevent": "#e0607e",
    "libev": "#8d5524",
    "JdkTimer": "#f08c2e",
    "JdkExecutor": "#c8500a",
    "JdkExecutorKeeping": "#a8795c",
    "DelayQueue": "#e3b341",
    "Multimap": "#7d3c98",
    "multimap": "#7d3c98",
    "SortedQueue": "#6b7280",
    "ThreadPerTask": "#111111",
    "ClockRead": "#6b7280",
    "ratas": "#b5179e",
    "seastar": "#8a6d3b",
    "floor": "#57606a",
}
OTHERS = ["#b5179e", "#0f9aa8", "#8a6d3b"]  # for those who come later
DASHED = (0, (2, 2))


def colour(data, contender):
    if contender in COLOURS:
        return COLOURS[contender]
    unknown = [c for c in data.contenders if c not in COLOURS]
    return OTHERS[unknown.index(contender) % len(OTHERS)]


# ---- curves ------------------------------------------------------------------------------------


def drawCurve(axes, data, contender, points, isDashed):
    counts = [n for n, _ in points]
    tint, isBold = colour(data, contender), contender in (BASE, "TimingWheel")
    axes.plot(counts, [s.median for _, s in points], color=tint, zorder=3, marker="o",
              markersize=4.5 if isBold else 3.5, linewidth=2.8 if isBold else 1.7,
              linestyle=DASHED if isDashed else "-")  # fmt: skip
    axes.fill_between(counts, [s.low for _, s in points], [s.high for _, s in points], color=tint,
                      alpha=0.15, linewidth=0)  # fmt: skip
    return counts[-1], points[-1][1].median, data.title(contender), tint, isBold


def curves(data, title, what, panels, file):
    """The cost of something against the number pending. panels: [(heading, measurement, metric,
    contenders, those whose curve is dashed)], side by side."""
    two = len(panels) == 2
    figure, all_ = plt.subplots(1, len(panels), figsize=(6 * len(panels), 4.8), sharey=True,
                                squeeze=False)  # fmt: skip
    drawn = []
    for axes, (heading, measurement, metric, contenders, dashed) in zip(all_[0], panels):
        counts = data.counts(measurement)
        axes.set(xscale="log", yscale="log", xlabel="timers pending", title=heading)
        axes.set_xlim(counts[0] * 0.7, counts[-1] * 1.4)
        points = [(c, data.curve(measurement, c, metric)) for c in contenders]
        drawn.append((axes, [drawCurve(axes, data, c, found, c in dashed)
                             for c, found in points if found]))  # fmt: skip
        axes.set_xticks(counts, [humanCount(n) for n in counts])
        axes.minorticks_off()
    all_[0][0].set_ylabel(what)
    all_[0][0].yaxis.set_major_formatter(humanTime)
    figure.suptitle(title, x=0.01, y=0.985, ha="left", fontsize=12.5, weight="bold")
    figure.subplots_adjust(left=0.075 if two else 0.13, right=0.835 if two else 0.74, top=0.845,
                           bottom=0.115, wspace=0.5)  # fmt: skip
    for axes, ends in drawn:
        labelEnds(axes, ends)
    save(figure, file)


# ---- bars and ranges ---------------------------------------------------------------------------


def contenderRows(data, contenders, panels, title):
    """A row for each, and a gap between the languages: (figure, axes, [(y, contender)])."""
    cpp = [c for c in contenders if not data.isJava(c)]
    java = [c for c in contenders if data.isJava(c)]
    placed = [*enumerate(cpp), *((len(cpp) + 0.6 + i, c) for i, c in enumerate(java))]
    named = [(y, data.title(c), colour(data, c), data.isOurs(c)) for y, c in placed]
    return *rowAxes(named, panels, title), placed


def breakingPoint(medians):
    """Where a bar ends that is so long that the others could not be told apart; None if none is."""
    *_, second, longest = [0, 0, *sorted(medians)]
    return 1.6 * second if longest > 8 * second > 0 else None


def bars(data, title, panels, file, contenders=None):
    """panels: [(heading, measurement, metric)], side by side; medians with quartiles. The count may
    be the fourth of a panel."""
    figure, all_, placed = contenderRows(data, contenders or data.among(panels), len(panels), title)
    for axes, (heading, measurement, metric, *count) in zip(all_, panels):
        axes.set_title(heading, fontsize=10, weight="normal")
        summaries = [(y, c, data.of(measurement, c, metric, *count)) for y, c in placed]
        summaries = [row for row in summaries if row[2] is not None]
        end = breakingPoint(summary.median for _, _, summary in summaries)
        for y, contender, summary in summaries:
            if end and summary.median > end:
                brokenBar(axes, y, summary, end, colour(data, contender))
            else:
                bar(axes, y, summary, colour(data, contender), data.isOurs(contender))
        finishBars(axes)
    save(figure, file)


def mark(axes, y, medians, tint):
    """A dot at the median, a bar at the 99th percentile; where they were asked for a bar at the
    99.9th too, and a cross at the longest. An arrow is a median before the deadline, to where a
    logarithmic axis does not go."""
    median, p99, *rest = medians
    isEarly = median <= 0 and axes.get_xscale() == "log"
    if isEarly:
        median = min(1.0, p99)
    axes.plot([median, p99], [y, y], color=tint, linewidth=5, alpha=0.4, solid_capstyle="round")
    axes.plot(median, y, "<" if isEarly else "o", color=tint, markersize=7)
    axes.plot(p99, y, "|", color=tint, markersize=12, markeredgewidth=2.2)
    if rest:
        p999, longest = rest
        axes.plot([p99, longest], [y, y], color=tint, linewidth=1.2, alpha=0.55)
        axes.plot(p999, y, "|", color=tint, markersize=8, markeredgewidth=1.6)
        axes.plot(longest, y, "x", color=tint, markersize=5, markeredgewidth=1.4)


def latencies(data, title, panels, metrics, file, limit=None):
    """panels: [(heading, measurement, scale)]; metrics: what mark() marks; a dashed line is at the
    limit."""
    columns = [(heading, m, metrics[0]) for heading, m, _ in panels]
    figure, all_, placed = contenderRows(data, data.among(columns), len(panels), title)
    for axes, (heading, measurement, scale) in zip(all_, panels):
        axes.set_title(heading, fontsize=10, weight="normal")
        axes.set_xscale(scale)
        if limit:
            axes.axvline(limit, color=INK, linewidth=0.9, linestyle=(0, (4, 3)), alpha=0.6)
        for y, contender in placed:
            found = [data.of(measurement, contender, metric) for metric in metrics]
            if all(found):
                mark(axes, y, [summary.median for summary in found], colour(data, contender))
        if axes.get_xlim()[0] < 0 and scale == "linear":
            axes.axvline(0, color=INK, linewidth=0.8)
        if scale == "log":
            low, high = (math.log10(edge) for edge in axes.get_xlim())
            axes.set_xlim(10 ** math.floor(low), 10 ** math.ceil(high))
        else:
            axes.locator_params(axis="x", nbins=6)
        axes.minorticks_off()
        axes.xaxis.set_major_formatter(lambda us, _: humanTime(us * 1e3))
    save(figure, file)
