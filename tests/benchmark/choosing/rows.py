"""What was measured, a row for each run."""

from dataclasses import dataclass
from functools import cached_property

from stats import summarise

DEFAULT = (1_000_000, 20)  # tick in nanoseconds and wheelSize, as TimerOptions has them
TENTH = 10


@dataclass
class Row:
    """One run. Where it says "a timer" it is an average over all timeouts of the run."""

    values: dict
    wakeUpNs: float

    def __getattr__(self, name):
        try:
            return self.values[name]
        except KeyError:
            raise AttributeError(name) from None

    @property
    def setting(self):
        return self.tickNs, self.wheelSize

    @property
    def wakes(self):
        return self.wakeUps / self.count

    @property
    def movesEach(self):
        return self.moves / self.count

    @property
    def passedEach(self):
        return self.passedOver / self.count

    @property
    def lateMeanNs(self):
        return self.lateSumNs / self.fired if self.fired else 0

    @cached_property
    def cpu(self):
        """Processor time a timer in nanoseconds, or None where it was not taken."""
        times = self.values.get("cpuNs")
        return summarise(times) if times else None

    @property
    def total(self):
        """Processor time a timer with its share of the wake-ups, which were counted."""
        return self.cpu.median + self.wakes * self.wakeUpNs


class Results:
    def __init__(self, run):
        self.run = run
        self.wakeUp = summarise(self.run["wakeUpNs"])
        self.mixes = {mix["id"]: mix for mix in self.run["mixes"]}
        self.rows = [Row(values, self.wakeUp.median) for values in self.run["runs"]]
        self.index = {self.key(row): row for row in self.rows}
        self.counts = self.run["counts"]  # few, some, many
        self.main = self.counts[1]  # the number of timers of whatever does not name one

    @staticmethod
    def key(row):
        tolerance = row.toleranceDivisor
        return row.kind, row.mix, row.tickNs, row.wheelSize, tolerance, row.count

    def of(self, mix, setting, tolerance=0, count=None, kind="levelled"):
        """The row, or None if that was not measured."""
        return self.index.get((kind, mix, *setting, tolerance, count or self.main))

    def grid(self, mix, tickNs=None):
        """All combinations of the ticks and wheel sizes, without those that are mistakes."""
        ticks = {row.tickNs for row in self.rows if row.toleranceDivisor}
        sizes = {row.wheelSize for row in self.rows if row.toleranceDivisor}
        found = [row for row in self.rows if row.kind == "levelled" and row.mix == mix
                 and row.count == self.main and not row.toleranceDivisor
                 and row.tickNs in ticks and row.wheelSize in sizes]  # fmt: skip
        found = [row for row in found if tickNs is None or row.tickNs == tickNs]
        return sorted(found, key=lambda row: row.setting)

    def heapCounts(self):
        return sorted({row.count for row in self.rows if row.kind == "heap"})

    def totals(self, mix, setting):
        """Processor time a timer, wake-ups included, with few, some and many timers. Without the
        wake-ups it is taken from some: it was not measured with all of the numbers."""
        own = self.of(mix, setting).cpu.median
        wakes = [self.of(mix, setting, count=count).wakes for count in self.counts]
        return [own + each * self.wakeUp.median for each in wakes]

    def chosen(self, mix):
        """The setting to recommend: the tick that fits the shortest delay, and the default
        wheelSize, unless others save more than a tenth with few timers, with some and with many:
        then the cheapest of them."""
        rows = self.grid(mix, self.mixes[mix]["fittingTickNs"])
        default = (rows[0].tickNs, DEFAULT[1])
        usual = self.totals(mix, default)
        better = [row for row in rows
                  if all(a < 0.9 * b for a, b in zip(self.totals(mix, row.setting), usual))]
        return min(better, key=lambda row: row.total).setting if better else default
