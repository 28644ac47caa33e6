"""What was measured: medians and quartiles over the rounds, and where curves cross."""

import math
from dataclasses import dataclass

from stats import Summary, summarise

BASE = "SystemTimer"  # whom all are compared with


@dataclass
class Crossing:
    """Where one curve stands to another, from few pending to many.

    `signs` has for each count -1 where the rival is cheaper, 1 where it costs more, 0 where the
    quartiles overlap; `at` is where the rival becomes the dearer one, if that happens once.
    """

    counts: list
    signs: list
    at: float | None


class Data:
    def __init__(self, run):
        self.run = run
        self.contenders = {c["id"]: c for c in self.run["contenders"]}
        self.samples = {}
        for sample in self.run["samples"]:
            for metric, value in sample["values"].items():
                key = (sample["measurement"], sample["contender"], sample.get("count"), metric)
                self.samples.setdefault(key, []).append(value)

    def title(self, contender):
        return self.contenders[contender]["title"]

    def isJava(self, contender):
        return self.contenders[contender]["kind"] == "java"

    def isOurs(self, contender):
        """Whether it stands out in a plot."""
        return contender == BASE or self.contenders[contender]["kind"] == "wheel"

    def counts(self, measurement):
        return sorted({s["count"] for s in self.run["samples"]
                       if s["measurement"] == measurement and "count" in s})  # fmt: skip

    def of(self, measurement, contender, metric, count=None):
        """The summary, or None if it was not measured."""
        if count is None and self.counts(measurement):
            count = self.counts(measurement)[0]
        values = self.samples.get((measurement, contender, count, metric))
        return summarise(values) if values else None

    def measured(self, measurement):
        """The contenders that took part, in their order."""
        took = {s["contender"] for s in self.run["samples"] if s["measurement"] == measurement}
        return [c for c in self.contenders if c in took]

    def among(self, columns):
        """The contenders of which any of the columns was measured: (heading, measurement, metric)
        and perhaps the count."""
        return [c for c in self.contenders
                if any(self.of(m, c, k, *n) for _, m, k, *n in columns)]  # fmt: skip

    def curve(self, measurement, contender, metric="ns"):
        """[(count, summary)]"""
        points = [(n, self.of(measurement, contender, metric, n)) for n in self.counts(measurement)]
        return [(n, summary) for n, summary in points if summary is not None]

    def crossing(self, measurement, rival, base=BASE):
        mine, theirs = dict(self.curve(measurement, base)), dict(self.curve(measurement, rival))
        counts = [n for n in mine if n in theirs]
        signs = [0 if mine[n].overlaps(theirs[n]) else
                 1 if theirs[n].median > mine[n].median else -1 for n in counts]  # fmt: skip
        at = None
        told = [sign for sign in signs if sign]
        if -1 in told and 1 in told and told == sorted(told):
            logs = [math.log(theirs[n].median / mine[n].median) for n in counts]
            for (n, a), (m, b) in zip(zip(counts, logs), list(zip(counts, logs))[1:]):
                if a < 0 <= b:
                    at = math.exp(math.log(n) + math.log(m / n) * -a / (b - a))
        return Crossing(counts, signs, at)

    def growth(self, measurement, contender):
        """How many times its cost at the fewest is its cost at the most, and that number."""
        points = self.curve(measurement, contender)
        (_, first), (top, last) = points[0], points[-1]
        times = Summary(last.median / first.median, last.low / first.high, last.high / first.low,
                        min(first.rounds, last.rounds))  # fmt: skip
        return times, top
