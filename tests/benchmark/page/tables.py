#!/usr/bin/env python3
"""Tables of what was recorded. A table claims how far its rounds spread; one that spread more, or
that has a row or a column without a number, is an error. Run, this tests that."""

import math
import sys

from markdown import table

CLAIM = 0.3  # half of the rounds lie this near to the median, at most
SMALL = 0.5  # below that, in the unit of its column, a number may spread as it likes


class Wrong(Exception):
    """The page cannot be written."""


def number(value):
    """Three digits, for people."""
    if abs(value) < 0.005:
        return "0"
    digits = 2 - math.floor(math.log10(abs(value)))
    return f"{value:,.{min(max(digits, 0), 2)}f}".replace("-", "\N{MINUS SIGN}")


def power(n):
    exponent = len(str(int(n))) - 1
    return "10" + "".join("⁰¹²³⁴⁵⁶⁷⁸⁹"[int(digit)] for digit in str(exponent))


def isApart(less, more):
    """Whether the rounds of one lie below those of the other."""
    return less[2] < more[1]


def isWide(summary):
    """Whether the rounds spread more than a table claims."""
    median, low, high = summary
    return (high - low) / 2 > max(CLAIM * median, SMALL)


class Column:
    """`factor` makes of what was measured what is shown; a ranged one shows the quartiles."""

    def __init__(self, heading, measurement, metric, unit="ns", factor=1, isRanged=False):
        self.heading, self.measurement, self.metric = heading, measurement, metric
        self.unit, self.factor, self.isRanged = unit, factor, isRanged

    def of(self, record, who):
        found = record["cells"].get(self.measurement, {}).get(who, {}).get(self.metric)
        return found and [self.factor * value for value in found]

    def cell(self, record, who):
        found = self.of(record, who)
        if found is None:
            return ""
        median, low, high = found
        if not self.isRanged:
            if record["size"] == "full" and isWide(found):
                raise Wrong(f"{self.heading}, {who}: the rounds spread from {number(low)} to "
                            f"{number(high)}, more than the table claims")  # fmt: skip
            return number(median)
        return number(median) + (f" [{number(low)}, {number(high)}]" if low < high else "")


def measuredTable(record, first, rows, columns, title=lambda who: who):
    """A row for each of `rows` that was measured. In a full run that is all of them."""
    lines, wrong = [], []
    for who in rows:
        cells = []
        for column in columns:
            try:
                cells.append(column.cell(record, who))
            except Wrong as problem:
                wrong.append(str(problem))
        if any(cells):
            lines.append([title(who), *cells])
        elif record["size"] == "full":
            wrong.append(f"{first or columns[0].heading}: {who} was not measured")
    wrong += [f"{column.heading}: there is no number" for column in columns
              if not any(column.of(record, who) for who in rows)]  # fmt: skip
    if wrong:
        raise Wrong("\n".join(wrong))
    return table([first, *(f"{c.heading}, {c.unit}" for c in columns)], lines)


def selfTest():
    """The names of the cases that are judged wrongly."""
    good = {"a": {"ns": [10, 9, 12]}, "b": {"ns": [20, 19, 21]}}
    wide = {**good, "a": {"ns": [10, 5, 15]}}
    cases = {
        "all is there": (good, "full", True),
        "rounds that spread more than is claimed": (wide, "full", False),
        "the same in a quick run": (wide, "quick", True),
        "one was not measured": ({"a": good["a"]}, "full", False),
        "the same in a quick run of fewer": ({"a": good["a"]}, "quick", True),
        "no number": ({}, "quick", False),
    }
    for what, (cells, size, isRight) in cases.items():
        try:
            measuredTable({"cells": {"load": cells}, "size": size}, "", ["a", "b"],
                          [Column("x", "load", "ns")])  # fmt: skip
            found = True
        except Wrong:
            found = False
        if found != isRight:
            yield what


if __name__ == "__main__":
    sys.exit("\n".join(selfTest()) or 0)
