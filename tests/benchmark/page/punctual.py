"""What a fine tick buys and costs: the same loads at several ticks, beside Asio's steady_timer.

Three pages have them, each in its own run: a plan takes measurements(), a page table() and plot().
"""

from figures import humanTime, number
from markdown import table
from measure import Measurement
from results import BASE
from tables import cell

TICKS = (1_000, 100, 10, 1)  # microseconds
RIVAL = "Asio"  # has no tick
SPINNING = "SystemTimerSpin"
PERCENTILES = (("medianUs", "50 %"), ("p90Us", "90 %"), ("p99Us", "99 %"), ("p999Us", "99.9 %"))
SIZES = {
    "full": {"late": 2_000, "span-ms": 700, "pair-ms": 100, "together": 100_000},
    "quick": {"late": 300, "span-ms": 300, "pair-ms": 20, "together": 20_000},
    "smoke": {"late": 20, "span-ms": 20, "pair-ms": 5, "together": 1_000},
}


def measurements(size, spins=False):
    """Lateness, a pair and an expiry at each tick; of the rival once."""
    size = SIZES[size]
    for tick in TICKS:
        who = (BASE, RIVAL) if tick == TICKS[0] else (BASE,)
        late = {"count": size["late"], "tick-us": tick, "budget-ms": size["span-ms"]}
        pair = {"count": 1_000, "tick-us": tick, "budget-ms": size["pair-ms"]}
        expiry = {"count": size["together"], "tick-us": tick}
        isSpinning = spins and tick in (TICKS[0], TICKS[-1])
        yield Measurement(f"punctual-late-{tick}", "late", late,
                          who=(*who, SPINNING) if isSpinning else who)  # fmt: skip
        yield Measurement(f"punctual-pair-{tick}", "pair", pair, who=who)
        yield Measurement(f"punctual-expiry-{tick}", "expiry", expiry, who=who)


def rowsOf(data):
    """(contender, tick, its words): from coarse to fine, then who has no tick."""
    for contender in (BASE, SPINNING):
        for tick in TICKS:
            if data.of(f"punctual-late-{tick}", contender, "medianUs"):
                yield contender, tick, f"{data.title(contender)}, tick {humanTime(tick * 1e3)}"
    if data.of(f"punctual-late-{TICKS[0]}", RIVAL, "medianUs"):
        yield RIVAL, TICKS[0], data.title(RIVAL)


def punctuality(data):
    rows = []
    for contender, tick, words in rowsOf(data):
        def of(load, metric):
            return data.of(f"punctual-{load}-{tick}", contender, metric)

        cascades = of("late", "cascades")
        rows.append([words, *(cell(of("late", metric)) for metric, _ in PERCENTILES),
                     number(1_000 * of("late", "wakeUps").median),
                     number(cascades.median) if cascades else "-",
                     cell(of("late", "cpuNs"), "-"), cell(of("pair", "ns"), "-"),
                     cell(of("expiry", "cpuNs"), "-")])  # fmt: skip
    head = ["", *(f"late, {words}, µs" for _, words in PERCENTILES), "wake-ups for 1,000 timers",
            "cascades of a timer", "processor of a timer, wake-ups included, ns",
            "schedule + cancel, ns", "expiry of one among many, ns"]  # fmt: skip
    return table(head, rows)


def words(data):
    """How many timers, and what they are compared with."""
    def count(load):
        return f"{data.counts(f'punctual-{load}-{TICKS[0]}')[0]:,}"

    return (f"{count('late')} timers at random times on a machine that does nothing else; a pair "
            f"with {count('pair')} under way, from one thread; {count('expiry')} timers that "
            "expire within 10 ms. All in the same run.")  # fmt: skip


def plot(data, file):
    """Lateness, and what it costs, against the tick; dashed is the rival, which has none."""
    from plots import DASHED, colour  # need matplotlib, which who measures does not
    from style import INK, plt, save

    figure, (late, cost) = plt.subplots(1, 2, figsize=(12, 4.6))
    tints = dict(zip((metric for metric, _ in PERCENTILES), ("#9cc3ea", "#5aa2dc", "#0b57a4", INK)))
    panels = ((late, "How late, µs", [("late", metric, name, tints[metric])
                                      for metric, name in PERCENTILES]),
              (cost, "What it costs, ns", [("pair", "ns", "schedule + cancel", "#0b57a4"),
                                           ("expiry", "cpuNs", "expiry among many", "#11773c"),
                                           ("late", "cpuNs", "a timer, wake-ups included",
                                            colour(data, RIVAL))]))  # fmt: skip
    for axes, title, curves in panels:
        axes.set(xscale="log", yscale="log", title=title, xlabel="tick; dashed: Asio, without one")
        for load, metric, name, tint in curves:
            found = [(tick, data.of(f"punctual-{load}-{tick}", BASE, metric)) for tick in TICKS]
            found = [(tick, summary.median) for tick, summary in found if summary]
            axes.plot(*zip(*found), color=tint, marker="o", markersize=4, linewidth=2, label=name)
            rival = data.of(f"punctual-{load}-{TICKS[0]}", RIVAL, metric)
            if rival:
                axes.axhline(max(rival.median, 1e-2), color=tint, linewidth=1.2, linestyle=DASHED)
        axes.set_xticks(TICKS, [humanTime(tick * 1e3) for tick in TICKS])
        axes.minorticks_off()
        axes.yaxis.set_major_formatter(lambda value, _: f"{value:,.6g}")
        axes.legend(frameon=False, fontsize=9)
    figure.suptitle("A fine tick: how punctual it is, and what it costs", x=0.01, y=0.985,
                    ha="left", fontsize=12.5, weight="bold")  # fmt: skip
    figure.subplots_adjust(left=0.055, right=0.99, top=0.84, bottom=0.12, wspace=0.13)
    save(figure, file)
