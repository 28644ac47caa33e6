"""What the plots of all benchmarks look like."""

import math

import matplotlib
from figures import number

matplotlib.use("svg")
import matplotlib.pyplot as plt  # noqa: E402

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


def readable(colour):
    """The colour, dark enough to be read."""
    rgb = matplotlib.colors.to_rgb(colour)
    luminance = 0.2126 * rgb[0] ** 2.2 + 0.7152 * rgb[1] ** 2.2 + 0.0722 * rgb[2] ** 2.2
    factor = min(1.0, (0.19 / luminance) ** 0.45)
    return tuple(part * factor for part in rgb)


def save(figure, file):
    # Without the date, so that the same numbers make the same file.
    figure.savefig(file, format="svg", facecolor="white", metadata={"Date": None})
    plt.close(figure)


# ---- bars --------------------------------------------------------------------------------------


def rowAxes(rows, panels, title):
    """rows: [(y, name, colour, whether it is one of ours)] from top to bottom; panels: how many."""
    bottom = rows[-1][0]
    figure, all_ = plt.subplots(1, panels, figsize=(10.5, 1.35 + 0.31 * (bottom + 1)), sharey=True,
                                squeeze=False)  # fmt: skip
    axes = all_[0]
    axes[0].set_yticks([row[0] for row in rows], [row[1] for row in rows])
    axes[0].set_ylim(bottom + 0.7, -0.7)
    for label, (_, _, tint, ours) in zip(axes[0].get_yticklabels(), rows):
        label.set_color(readable(tint))
        if ours:
            label.set_weight("bold")
    for panel in axes:
        panel.grid(axis="y", visible=False)
        panel.spines["left"].set_visible(False)
        panel.tick_params(axis="y", length=0)
    height = figure.get_size_inches()[1]
    figure.suptitle(title, x=0.01, y=1 - 0.08 / height, ha="left", va="top", fontsize=12.5,
                    weight="bold")  # fmt: skip
    widest = max(len(name) * (1.18 if ours else 1) for _, name, _, ours in rows)  # bold is wider
    figure.subplots_adjust(left=max(0.155, 0.0076 * widest), right=0.955, top=1 - 0.72 / height,
                           bottom=0.52 / height, wspace=0.18)  # fmt: skip
    return figure, axes


def bar(axes, y, summary, tint, ours):
    """A median as a bar, its quartiles as a thin line."""
    axes.barh(y, summary.median, height=0.68, color=tint, alpha=1 if ours else 0.8)
    if summary.high > summary.low:
        axes.plot([summary.low, summary.high], [y, y], color=INK, linewidth=1, alpha=0.7)
    axes.annotate(number(summary.median), (max(summary.median, summary.high), y), xytext=(4, 0),
                  textcoords="offset points", va="center", fontsize=8.5)  # fmt: skip


def brokenBar(axes, y, summary, end, tint):
    """A bar that would leave the others no room: it ends there and says how long it would be."""
    axes.barh(y, end, height=0.68, color=tint, alpha=0.8)
    axes.annotate(f"{number(summary.median)} \N{RIGHTWARDS ARROW}", (end, y), xytext=(-4, 0),
                  textcoords="offset points", va="center", ha="right", fontsize=8.5,
                  color="white")  # fmt: skip


def finishBars(axes):
    axes.set_xlim(0, axes.get_xlim()[1] * 1.16)
    axes.locator_params(axis="x", nbins=5)
    axes.xaxis.set_major_formatter(lambda value, _: f"{value:,.6g}")


# ---- names at the ends of curves ---------------------------------------------------------------


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


def labelEnds(axes, ends, distance=0.058):
    """ends: [(x, y, text, colour, whether it is ours)] of curves on logarithmic scales: writes the
    names there, moved apart where they would touch."""
    low, high = (math.log10(limit) for limit in axes.get_ylim())
    left, right = (math.log10(limit) for limit in axes.get_xlim())
    heights = [(math.log10(end[1]) - low) / (high - low) for end in ends]
    for (at, _, text, tint, ours), height, place in zip(ends, heights, spread(heights, distance)):
        x = (math.log10(at) - left) / (right - left)
        axes.plot([x + 0.015, 1.0, 1.025], [height, place, place], color=tint, linewidth=0.8,
                  alpha=0.7, transform=axes.transAxes, clip_on=False)  # fmt: skip
        axes.text(1.035, place, text, transform=axes.transAxes, va="center", color=readable(tint),
                  fontsize=9.5, weight="bold" if ours else "normal")  # fmt: skip
