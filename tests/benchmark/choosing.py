"""docs/choosing.md: which tick, wheelSize and tolerance for which timeouts.

Scripts of timeouts are played to a ManualTimer. What can be counted is counted once, in the
script's time, and is the same each time; processor time is taken in every round.
"""

from dataclasses import dataclass

from markdown import table, textTable
from measure import Measurement, conduct
from tables import Column, Wrong, measuredTable, number, power

MS, S, MIN, H = 10**6, 10**9, 60 * 10**9, 3600 * 10**9  # in nanoseconds
# name: shortest and longest delay, when they begin, percent cancelled and within what, push-backs
MIXES = {
    "media pacing": (5 * MS, 20 * MS, S, 0, 0, 0),
    "request timeouts": (100 * MS, 30 * S, 30 * S, 99, 80 * MS, 0),
    "idle connections": (MIN, 5 * MIN, 5 * MIN, 0, 0, 10),
    "orders": (30 * MIN, 30 * MIN, 30 * MIN, 0, 0, 0),
    "sessions": (H, 24 * H, 24 * H, 0, 0, 0),
}
TICKS = (MS // 20, MS, 10 * MS, 100 * MS, S)
WHEEL_SIZES = (8, 20, 256, 4096)
DEFAULT, TENTH = (MS, 20), 10
SIZES = {"full": (9, (1_000, 100_000)), "quick": (3, (100, 10_000)), "smoke": (2, (10, 100))}
FINE_TICKS = (1_000, 100, 10, 1)  # microseconds
LATE = {"full": (2_000, 700, 100_000), "quick": (300, 300, 20_000), "smoke": (20, 20, 1_000)}
WHO = "ManualTimer"


def fitting(mix):
    """The coarsest tick measured that makes no timeout late by more than a hundredth of it."""
    return max((tick for tick in TICKS if tick <= MIXES[mix][0] // 100), default=TICKS[0])


def settings(mix):
    """All ticks with the default wheelSize, and all sizes with the tick that fits."""
    found = [(tick, DEFAULT[1]) for tick in TICKS] + [(fitting(mix), size) for size in WHEEL_SIZES]
    return sorted(set(found))


def nameOf(mix, setting, tolerance, count):
    return f"{mix} {setting[0]} {setting[1]} {tolerance} {count}"


def measurements(size):
    for mix in MIXES:
        for setting in settings(mix):
            for count in SIZES[size][1]:
                for tolerance in (0, TENTH) if setting in (DEFAULT, (fitting(mix), 20)) else (0,):
                    options = {"count": count, "seed": 1, "mix": " ".join(map(str, MIXES[mix])),
                               "tick-us": setting[0] // 1_000, "wheel-size": setting[1],
                               "tolerance-divisor": tolerance}  # fmt: skip
                    name = nameOf(mix, setting, tolerance, count)
                    yield Measurement(f"time {name}", "replay", options)
                    yield Measurement(f"count {name}", "replay-counts", options, rounds=1)
    yield Measurement("wake-up", "wake-up", {"count": 10 if size == "smoke" else 500})
    count, span, together = LATE[size]
    for tick in FINE_TICKS:
        who = ("SystemTimer", "Asio") if tick == FINE_TICKS[0] else ("SystemTimer",)
        yield Measurement(f"late-{tick}", "late",
                          {"count": count, "tick-us": tick, "budget-ms": span}, who)  # fmt: skip
        yield Measurement(f"expiry-{tick}", "expiry", {"count": together, "tick-us": tick}, who)


def measure(run, options):
    rounds = options.rounds or SIZES[options.size][0]
    paths = [options.programs / f"timingwheel-benchmark-{name}" for name in ("timers", "queues")]
    cells, _ = conduct(run, paths, list(measurements(options.size)), rounds, options.build)
    kept = {}
    for name, found in cells.items():  # of what is counted, the number
        kind, _, rest = name.partition(" ")
        if kind == "count":
            counted = {what: round(n[0]) for what, n in found[WHO].items() if what != "cpuNs"}
            kept[rest] = {**counted, "cpuNs": cells[f"time {rest}"][WHO]["cpuNs"]}
        elif kind != "time":
            kept[name] = found
    return run.record(rounds, kept, counts=SIZES[options.size][1])


# ---- the page ----------------------------------------------------------------------------------


def length(ns):
    for unit, factor in (("h", H), ("min", MIN), ("s", S), ("ms", MS), ("µs", 1_000)):
        if ns >= factor:
            return f"{ns / factor:.3g} {unit}"
    return f"{ns:.0f} ns"


def delays(mix):
    shortest, longest = MIXES[mix][:2]
    return length(shortest) + (f" to {length(longest)}" if longest > shortest else "")


def options(setting):
    words = [f".tick = {length(setting[0]).replace(' ', '').replace('µs', 'us')}"] \
        if setting[0] != DEFAULT[0] else []  # fmt: skip
    words += [f".wheelSize = {setting[1]}"] if setting[1] != DEFAULT[1] else []
    return f"`{{{', '.join(words)}}}`"


@dataclass
class Row:
    """One run. "A timer" is an average over all timeouts of the run."""

    values: dict
    count: int
    wakeUpNs: float

    @property
    def wakes(self):
        """For a thousand timers."""
        return 1_000 * self.values["wakeUps"] / self.count

    @property
    def moves(self):
        return self.values["moves"] / self.count

    @property
    def lateMean(self):
        return self.values["lateSumNs"] / max(self.values["fired"], 1)

    @property
    def total(self):
        """Processor time of a timer with its share of the wake-ups, at what one takes."""
        return self.values["cpuNs"][0] + self.wakes / 1_000 * self.wakeUpNs


class Page:
    def __init__(self, record):
        self.record, self.counts = record, record["counts"]
        self.wakeUp = record["cells"]["wake-up"]["SystemTimer"]["ns"]

    def of(self, mix, setting, tolerance=0, count=None):
        count = count or self.counts[-1]
        values = self.record["cells"].get(nameOf(mix, setting, tolerance, count))
        if values is None:
            raise Wrong(f"not measured: {nameOf(mix, setting, tolerance, count)}")
        return Row(values, count, self.wakeUp[0])

    def chosen(self, mix):
        """The tick that fits, and the default wheelSize, unless others save more than a tenth with
        few timers and with many: then the cheapest of them."""
        tick = fitting(mix)
        better = [size for size in WHEEL_SIZES
                  if all(self.of(mix, (tick, size), 0, n).total
                         < 0.9 * self.of(mix, (tick, DEFAULT[1]), 0, n).total
                         for n in self.counts)]  # fmt: skip
        size = min(better, key=lambda one: self.of(mix, (tick, one)).total, default=DEFAULT[1])
        return tick, size

    def answer(self):
        rows = []
        for mix in MIXES:
            chosen = self.of(mix, self.chosen(mix))
            tolerant = self.of(mix, (fitting(mix), DEFAULT[1]), TENTH)
            rows.append([f"**{mix}**", delays(mix), options(self.chosen(mix)),
                         length(float(f"{chosen.values['lateMostNs']:.2g}")),
                         *(number(row.wakes) for row in (chosen, self.of(mix, DEFAULT),
                                                         tolerant))])  # fmt: skip
        return table(["timeouts", "delays", "`TimerOptions`", "late by at most",
                      "wake-ups for 1,000 timers", "with the defaults",
                      "with `.tolerance = delay / 10` too"], rows, left=3)  # fmt: skip

    def costs(self):
        rows = []
        for mix in MIXES:
            first = f"**{mix}**"
            tick = fitting(mix)
            for setting in sorted({self.chosen(mix), DEFAULT, (tick, WHEEL_SIZES[0]),
                                   (tick, WHEEL_SIZES[-1])}):
                few, row = (self.of(mix, setting, 0, count) for count in self.counts)
                cells = [length(setting[0]), f"{setting[1]:,}",
                         number(row.values["bytes"] / 1024), number(row.moves), number(few.wakes),
                         number(row.wakes), number(row.total)]  # fmt: skip
                isChosen = setting == self.chosen(mix)
                rows.append([first, *(f"**{cell}**" if isChosen else cell for cell in cells)])
                first = ""
        return table(["timeouts", "tick", "slots", "KiB", "moves",
                      *(f"wake-ups for 1,000, of {power(n)}" for n in self.counts),
                      "ns with wake-ups"], rows)  # fmt: skip

    def tolerance(self):
        rows = []
        for mix in MIXES:
            plain, tolerant = (self.of(mix, DEFAULT, tolerance) for tolerance in (0, TENTH))
            rows.append([f"**{mix}**", *(f"{number(value(plain))} → {number(value(tolerant))}"
                                         for value in (lambda row: row.wakes,
                                                       lambda row: row.moves,
                                                       lambda row: row.total)),
                         length(float(f"{tolerant.lateMean:.2g}"))])  # fmt: skip
        return table(["", "wake-ups for 1,000 timers", "moves of a timer", "ns with wake-ups",
                      "late, mean"], rows)  # fmt: skip

    def fine(self):
        """A row for each tick, and for who has none."""
        lines = []
        for who, tick in [*(("SystemTimer", tick) for tick in FINE_TICKS), ("Asio", 1_000)]:
            columns = [Column("late, half of them", f"late-{tick}", "medianUs", "µs", 1, True),
                       Column("99 of 100", f"late-{tick}", "p99Us", "µs", 1, True),
                       Column("wake-ups", f"late-{tick}", "wakeUps", "for 1,000", 1_000, True),
                       Column("processor of a timer", f"late-{tick}", "cpuNs", "ns", 1, True),
                       Column("expiry of one among many", f"expiry-{tick}", "cpuNs", "ns", 1,
                              True)]  # fmt: skip
            words = f"tick {length(tick * 1_000)}" if who != "Asio" else "Boost.Asio, no tick"
            text = measuredTable(self.record, "", [who], columns, lambda _, words=words: words)
            lines += text.splitlines() if not lines else text.splitlines()[2:]
        return "\n".join(lines)

    def scripts(self):
        rows = []
        for mix, (_, _, span, cancelled, within, pushBacks) in MIXES.items():
            fate = "all expire"
            if cancelled:
                fate = f"{cancelled} of 100 are cancelled within {length(within)}"
            elif pushBacks:
                fate = f"each is pushed back {pushBacks} times, then expires"
            rows.append([f"**{mix}**", delays(mix), length(span), fate])
        return textTable(["timeouts", "delays", "they begin within", "what becomes of them"], rows)

    def values(self):
        median, low, high = (number(ns / 1_000) for ns in self.wakeUp)
        return {
            "answer": self.answer, "costs": self.costs, "tolerance": self.tolerance,
            "fine": self.fine, "scripts": self.scripts,
            "wake-up": lambda: f"{median} µs [{low}, {high}]",
            "few": lambda: f"{self.counts[0]:,}",
            "many": lambda: f"{self.counts[-1]:,}",
        }  # fmt: skip


def render(record):
    return Page(record).values(), {}
