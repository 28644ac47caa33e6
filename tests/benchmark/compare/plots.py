"""The plots of docs/comparison.md. A colour says what kind of structure it is, in any language."""

import math

import matplotlib

matplotlib.use("svg")
import matplotlib.pyplot as plt  # noqa: E402

from data import BASE  # noqa: E402

COLOURS = {
    "SystemTimer": "#0b57a4",  # wheels with levels: blue
    "Kafka": "#5aa2dc",
    "HashedWheelTimer": "#11773c",  # flat wheels: green
    "Netty-4.2": "#3fa163",
    "Netty-4.1": "#93cfa5",
    "Asio": "#c8500a",  # heaps: orange to red
    "Heap": "#f08c2e",
    "JdkTimer": "#f08c2e",
    "JdkExecutor": "#c8500a",
    "JdkExecutorKeeping": "#a8795c",
    "DelayQueue": "#e3b341",
    "Multimap": "#7d3c98",  # a tree
    "SortedQueue": "#6b7280",
}
OTHERS = ["#b5179e", "#0f9aa8", "#8a6d3b"]  # for those who come later
INK, FAINT = "#24292f", "#d8dee4"

plt.rcParams.update({
    "svg.fonttype": "none",
    "svg.hashsalt": "timingwheel",
    "font.family": "sans-serif",
    "font.sans-serif": ["DejaVu Sans"],
    "font.size": 10,
    "text.color": INK,
    "axes.labelcolor": INK,
    "axes.edgecolor": "#8c959f",
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.titlesize": 11,
    "axes.titleweight": "bold",
    "axes.titlelocation": "left",
    "xtick.color": "#57606a",
    "ytick.color": "#57606a",
    "axes.grid": True,
    "axes.axisbelow": True,
    "grid.color": FAINT,
    "grid.linewidth": 0.7,
})


def colour(data, contender):
    if contender in COLOURS:
        return COLOURS[contender]
    unknown = [c for c in data.contenders if c not in COLOURS]
    return OTHERS[unknown.index(contender) % len(OTHERS)]


def textColour(data, contender):
    """The colour, dark enough to be read."""
    rgb = matplotlib.colors.to_rgb(colour(data, contender))
    luminance = 0.2126 * rgb[0] ** 2.2 + 0.7152 * rgb[1] ** 2.2 + 0.0722 * rgb[2] ** 2.2
    factor = min(1.0, (0.19 / luminance) ** 0.45)
    return tuple(part * factor for part in rgb)


def number(value):
    """Three digits, for people."""
    if abs(value) < 0.005:
        return "0"
    digits = 2 - math.floor(math.log10(abs(value)))
    return f"{value:,.{min(max(digits, 0), 2)}f}".replace("-", "\N{MINUS SIGN}")


def save(figure, file):
    # Without the date, so that the same numbers make the same file.
    figure.savefig(file, format="svg", facecolor="white", metadata={"Date": None})
    plt.close(figure)


def humanCount(n):
    return "10" + superscript(round(math.log10(n)))


def superscript(number):
    return "".join("⁰¹²³⁴⁵⁶⁷⁸⁹"[int(digit)] for digit in str(number))


def humanTime(ns, _=None):
    for unit, factor in (("s", 1e9), ("ms", 1e6), ("µs", 1e3)):
        if abs(ns) >= factor:
            return f"{ns / factor:g} {unit}".replace("-", "\N{MINUS SIGN}")
    return f"{ns:g} ns" if ns else "0"


# ---- curves ------------------------------------------------------------------------------------


def spread(positions, distance):
    """The positions, moved apart to that distance at least, in their order and near by."""
    order = sorted(range(len(positions)), key=lambda i: positions[i])
    groups = []  # [sum of wanted first positions, members]
    for index, i in enumerate(order):
        groups.append([[positions[i] - index * distance], [i]])
        while len(groups) > 1 and mean(groups[-2][0]) > mean(groups[-1][0]):
            wanted, members = groups.pop()
            groups[-1][0] += wanted
            groups[-1][1] += members
    result, index = [0.0] * len(positions), 0
    for wanted, members in groups:
        for i in members:
            result[i] = mean(wanted) + index * distance
            index += 1
    return result


def mean(values):
    return sum(values) / len(values)


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


def labelEnds(axes, data, ends):
    """Writes names at the ends of the curves, moved apart where they would touch."""
    low, high = (math.log10(limit) for limit in axes.get_ylim())
    heights = [(math.log10(value) - low) / (high - low) for _, (_, value), _ in ends]
    right = math.log10(axes.get_xlim()[1])
    left = math.log10(axes.get_xlim()[0])
    for (contender, (count, _), text), height, place in zip(ends, heights, spread(heights, 0.058)):
        x = (math.log10(count) - left) / (right - left)
        tint = colour(data, contender)
        axes.plot([x + 0.015, 1.0, 1.025], [height, place, place], color=tint, linewidth=0.8,
                  alpha=0.7, transform=axes.transAxes, clip_on=False)  # fmt: skip
        axes.text(1.035, place, text, transform=axes.transAxes, va="center",
                  color=textColour(data, contender),
                  fontsize=9.5, weight="bold" if contender == BASE else "normal")  # fmt: skip


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
        labelEnds(axes, data, ends)
    save(figure, file)


# ---- bars and ranges ---------------------------------------------------------------------------


def rows(data, contenders):
    """Contenders from top to bottom, with a gap between the languages: [(y, contender)]."""
    cpp = [c for c in contenders if not data.isJava(c)]
    java = [c for c in contenders if data.isJava(c)]
    placed = [(i, c) for i, c in enumerate(cpp)]
    return placed + [(len(cpp) + 0.6 + i, c) for i, c in enumerate(java)]


def rowAxes(data, placed, panels, title):
    bottom = placed[-1][0]
    figure, all_ = plt.subplots(1, panels, figsize=(10.5, 1.35 + 0.31 * (bottom + 1)), sharey=True,
                                squeeze=False)  # fmt: skip
    axes = all_[0]
    axes[0].set_yticks([y for y, _ in placed], [data.title(c) for _, c in placed])
    axes[0].set_ylim(bottom + 0.7, -0.7)
    for label, (_, contender) in zip(axes[0].get_yticklabels(), placed):
        label.set_color(textColour(data, contender))
        if contender == BASE:
            label.set_weight("bold")
    for panel in axes:
        panel.grid(axis="y", visible=False)
        panel.spines["left"].set_visible(False)
        panel.tick_params(axis="y", length=0)
    height = figure.get_size_inches()[1]
    figure.suptitle(title, x=0.01, y=1 - 0.08 / height, ha="left", va="top", fontsize=12.5,
                    weight="bold")  # fmt: skip
    figure.subplots_adjust(left=0.155, right=0.955, top=1 - 0.72 / height, bottom=0.52 / height,
                           wspace=0.18)  # fmt: skip
    return figure, axes


def bars(data, title, panels, file):
    """panels: [(heading, measurement, metric)], side by side; medians with quartiles."""
    contenders = [c for c in data.contenders if any(data.of(m, c, k) for _, m, k in panels)]
    placed = rows(data, contenders)
    figure, all_ = rowAxes(data, placed, len(panels), title)
    for axes, (heading, measurement, metric) in zip(all_, panels):
        axes.set_title(heading, fontsize=10, weight="normal")
        for y, contender in placed:
            summary = data.of(measurement, contender, metric)
            if summary is None:
                continue
            median = summary.median
            tint = colour(data, contender)
            axes.barh(y, median, height=0.68, color=tint, alpha=1 if contender == BASE else 0.8)
            if summary.high > summary.low:
                axes.plot([summary.low, summary.high], [y, y], color=INK, linewidth=1, alpha=0.7)
            axes.annotate(number(median), (max(median, summary.high), y), xytext=(4, 0),
                          textcoords="offset points", va="center", fontsize=8.5)  # fmt: skip
        axes.set_xlim(0, axes.get_xlim()[1] * 1.16)
        axes.locator_params(axis="x", nbins=5)
        axes.xaxis.set_major_formatter(lambda value, _: f"{value:,.6g}")
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
