"""The plot of docs/choosing.md: what each combination costs, a column for each kind of timeouts."""

from figures import humanTime
from style import plt, save

# The finer the tick, the darker.
TICK_COLOURS = ["#0b2e59", "#0b57a4", "#3f8fd2", "#e08a1e", "#c8500a"]
RING = "#b5179e"

ROWS = [
    ("wake-ups for 1,000 timers", "log", lambda row: 1_000 * row.wakes),
    ("moves a timer", "linear", lambda row: row.movesEach),
    ("memory of a wheel, KiB", "log", lambda row: row.bytes / 1024),
]


def drawPanel(axes, results, mix, value):
    ticks = sorted({row.tickNs for row in results.grid(mix)})
    lines = []
    for tick, tint in zip(ticks, TICK_COLOURS):
        rows = results.grid(mix, tick)
        lines += axes.plot([row.wheelSize for row in rows], [value(row) for row in rows],
                           color=tint, marker="o", markersize=3, linewidth=1.7)  # fmt: skip
    chosen = results.of(mix, results.chosen(mix))
    axes.plot(chosen.wheelSize, value(chosen), "o", markersize=11, markerfacecolor="none",
              markeredgecolor=RING, markeredgewidth=1.8, zorder=5)  # fmt: skip
    return lines


def legend(figure, results, lines):
    """Says of each tick how late it makes a timer: of all mixes, because it is the same for all."""
    any_ = next(iter(results.mixes))
    texts = []
    for tick in sorted({row.tickNs for row in results.grid(any_)}):
        rows = [row for mix in results.mixes for row in results.grid(mix, tick)]
        late = sum(row.lateSumNs for row in rows) / sum(row.fired for row in rows)
        texts.append(f"tick {humanTime(tick)}: {humanTime(float(f'{late:.2g}'))} late on average")
    ring = plt.Line2D([], [], linestyle="none", marker="o", markersize=10, markerfacecolor="none",
                      markeredgecolor=RING, markeredgewidth=1.8)  # fmt: skip
    figure.legend([*lines, ring], [*texts, "recommended"], loc="upper left",
                  bbox_to_anchor=(0.004, 0.956), ncols=3, frameon=False, fontsize=9.5,
                  handlelength=1.6, columnspacing=2.2)  # fmt: skip


def combinations(results, file):
    mixes = results.mixes
    figure, all_ = plt.subplots(len(ROWS), len(mixes), figsize=(12.4, 8.2), sharex=True,
                                sharey="row", squeeze=False)  # fmt: skip
    for row, (label, scale, value) in zip(all_, ROWS):
        row[0].set_ylabel(label)
        for axes, mix in zip(row, mixes):
            axes.set_xscale("log")
            axes.set_yscale(scale)
            lines = drawPanel(axes, results, mix, value)
            axes.yaxis.set_major_formatter(lambda y, _: f"{y:g}" if y < 1 else f"{y:,.0f}")
    for axes, mix in zip(all_[0], mixes.values()):
        axes.set_title(f"{mix['name']}\n{delays(mix)}", fontsize=10)
    sizes = sorted({row.wheelSize for row in results.grid(next(iter(mixes)))})
    for axes in all_[-1]:
        shown = [size for size in sizes if size != 256]  # too near to the next one
        axes.set_xticks(shown, [f"{size:,}" for size in shown], fontsize=8)
        axes.set_xlabel("wheelSize")
    for axes in all_.flat:
        axes.minorticks_off()
    figure.suptitle(f"What tick and wheelSize cost: {results.main:,} timers of each kind",
                    x=0.01, y=0.988, ha="left", fontsize=12.5, weight="bold")  # fmt: skip
    legend(figure, results, lines)
    figure.subplots_adjust(left=0.062, right=0.992, top=0.835, bottom=0.062, wspace=0.09,
                           hspace=0.12)  # fmt: skip
    figure.align_ylabels()
    save(figure, file)


def length(ns):
    """A length of time in the unit that suits it."""
    for unit, factor in (("h", 3600e9), ("min", 60e9)):
        if ns >= factor and (ns % factor == 0 or ns >= 2 * factor):
            return f"{ns / factor:.3g} {unit}"
    return humanTime(ns)


def delays(mix):
    shortest, longest = length(mix["shortestNs"]), length(mix["longestNs"])
    return shortest if shortest == longest else f"{shortest} to {longest}"
