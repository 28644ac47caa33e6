"""docs/choosing.md: which tick, wheelSize and tolerance for which timeouts.

Scripts of timeouts are played to a ManualTimer. What can be counted is counted once, in the
script's time, and is the same each time; processor time is taken in every round.
"""

from about import Page
from markdown import table, textTable
from measure import Measurement, conduct
from tables import number, power, ranged

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
FINE = {  # column: measurement, what of it, and how many times that
    "late, half of them, µs": ("late", "medianUs", 1),
    "99 of 100, µs": ("late", "p99Us", 1),
    "wake-ups, for 1,000": ("late", "wakeUps", 1_000),
    "processor of a timer, ns": ("late", "cpuNs", 1),
    "expiry of one among many, ns": ("expiry", "cpuNs", 1),
}
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
    rounds, counts = SIZES[options.size]
    cells, _ = conduct(run, options, list(measurements(options.size)), rounds)
    kept = {}
    for name, found in cells.items():  # of what is counted, the number
        kind, _, rest = name.partition(" ")
        if kind == "count":
            counted = {what: round(n[0]) for what, n in found[WHO].items() if what != "cpuNs"}
            kept[rest] = {**counted, "cpuNs": cells[f"time {rest}"][WHO]["cpuNs"]}
        elif kind != "time":
            kept[name] = found
    return run.record(rounds, kept, counts=counts)


def length(ns):
    for unit, factor in (("h", H), ("min", MIN), ("s", S), ("ms", MS), ("µs", 1_000)):
        if ns >= factor:
            return f"{ns / factor:.3g} {unit}"
    return f"{ns:.0f} ns"


def roughly(ns):
    return length(float(f"{ns:.2g}"))


def delays(mix):
    shortest, longest = MIXES[mix][:2]
    return length(shortest) + (f" to {length(longest)}" if longest > shortest else "")


def written(setting):
    tick, size = setting
    words = []
    if tick != DEFAULT[0]:
        words.append(f".tick = {length(tick).replace(' ', '').replace('µs', 'us')}")
    if size != DEFAULT[1]:
        words.append(f".wheelSize = {size}")
    return f"`{{{', '.join(words)}}}`"


class Row:
    """One run. "A timer" is an average over all timeouts of the run."""

    def __init__(self, values, count, wakeUpNs):
        self.bytes, self.lateMost = values["bytes"], values["lateMostNs"]
        self.wakes = 1_000 * values["wakeUps"] / count  # for a thousand timers
        self.moves = values["moves"] / count
        self.lateMean = values["lateSumNs"] / max(values["fired"], 1)
        # Processor time of a timer with its share of the wake-ups, at what one takes.
        self.total = values["cpuNs"][0] + self.wakes / 1_000 * wakeUpNs


class Choosing(Page):
    def __init__(self, record):
        super().__init__(record)
        self.few, self.many = record["counts"]
        self.wakeUpNs = record["cells"]["wake-up"]["SystemTimer"]["ns"]
        median, low, high = (number(ns / 1_000) for ns in self.wakeUpNs)
        self.wakeUp = f"{median} µs [{low}, {high}]"

    def of(self, mix, setting, tolerance=0, count=None):
        count = count or self.many
        cell = self.record["cells"][nameOf(mix, setting, tolerance, count)]
        return Row(cell, count, self.wakeUpNs[0])

    def chosen(self, mix):
        """The tick that fits, and the default wheelSize, unless others save more than a tenth with
        few timers and with many: then the cheapest of them."""
        tick = fitting(mix)
        better = [size for size in WHEEL_SIZES
                  if all(self.of(mix, (tick, size), 0, n).total
                         < 0.9 * self.of(mix, (tick, DEFAULT[1]), 0, n).total
                         for n in (self.few, self.many))]  # fmt: skip
        size = min(better, key=lambda one: self.of(mix, (tick, one)).total, default=DEFAULT[1])
        return tick, size

    def answer(self):
        rows = []
        for mix in MIXES:
            setting = self.chosen(mix)
            chosen, default = self.of(mix, setting), self.of(mix, DEFAULT)
            tolerant = self.of(mix, (fitting(mix), DEFAULT[1]), TENTH)
            rows.append([f"**{mix}**", delays(mix), written(setting), roughly(chosen.lateMost),
                         *(number(row.wakes) for row in (chosen, default, tolerant))])  # fmt: skip
        return table(["timeouts", "delays", "`TimerOptions`", "late by at most about",
                      "wake-ups for 1,000 timers", "with the defaults",
                      "with `.tolerance = delay / 10` too"], rows, left=3)  # fmt: skip

    def costs(self):
        rows = []
        for mix in MIXES:
            first, tick, chosen = f"**{mix}**", fitting(mix), self.chosen(mix)
            smallest, largest = (tick, WHEEL_SIZES[0]), (tick, WHEEL_SIZES[-1])
            for setting in sorted({chosen, DEFAULT, smallest, largest}):
                few, many = (self.of(mix, setting, 0, n) for n in (self.few, self.many))
                cells = [length(setting[0]), f"{setting[1]:,}",
                         *map(number, (many.bytes / 1024, many.moves, few.wakes, many.wakes,
                                       many.total))]  # fmt: skip
                mark = "**" if setting == chosen else ""
                rows.append([first, *(f"{mark}{cell}{mark}" for cell in cells)])
                first = ""
        return table(["timeouts", "tick", "slots", "KiB", "moves",
                      *(f"wake-ups for 1,000, of {power(n)}" for n in (self.few, self.many)),
                      "ns with wake-ups"], rows)  # fmt: skip

    def tolerance(self):
        rows = []
        for mix in MIXES:
            plain, tolerant = (self.of(mix, DEFAULT, tolerance) for tolerance in (0, TENTH))
            cells = [f"{number(getattr(plain, what))} → {number(getattr(tolerant, what))}"
                     for what in ("wakes", "moves", "total")]  # fmt: skip
            rows.append([f"**{mix}**", *cells, roughly(tolerant.lateMean)])
        return table(["", "wake-ups for 1,000 timers", "moves of a timer", "ns with wake-ups",
                      "late, mean"], rows)  # fmt: skip

    def fine(self):
        """A row for each tick, and for who has none."""
        rows, cells = [], self.record["cells"]
        for who, tick in [*(("SystemTimer", tick) for tick in FINE_TICKS), ("Asio", 1_000)]:
            words = f"tick {length(tick * 1_000)}" if who != "Asio" else "Boost.Asio, no tick"
            rows.append([words, *(ranged([times * n for n in cells[f"{name}-{tick}"][who][metric]])
                                  for name, metric, times in FINE.values())])  # fmt: skip
        return table(["", *FINE], rows)

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
