"""Medians and quartiles over the rounds."""

import statistics
from dataclasses import dataclass


@dataclass
class Summary:
    """Median and quartiles of the rounds; of fewer than five, least and greatest."""

    median: float
    low: float
    high: float
    rounds: int

    def overlaps(self, other):
        """True if a difference cannot be told from noise: never from fewer than three rounds."""
        if min(self.rounds, other.rounds) < 3:
            return True
        return self.low <= other.high and other.low <= self.high


def summarise(values):
    values = sorted(values)
    if len(values) < 5:
        return Summary(statistics.median(values), values[0], values[-1], len(values))
    low, median, high = statistics.quantiles(values, n=4, method="inclusive")
    return Summary(median, low, high, len(values))
