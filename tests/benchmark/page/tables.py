#!/usr/bin/env python3
"""Tables of what was recorded. A table claims how far its rounds spread; one that spread more, or
that has a row or a column without a number, is an error. Run, this tests that."""

import math
import sys
from dataclasses import dataclass

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


def ranged(summary):
    """The median, and in brackets the quartiles."""
    median, low, high = map(number, summary)
    return f"{median} [{low}, {high}]" if summary[1] < summary[2] else median


def power(n):
    return "10" + "".join("⁰¹²³⁴⁵⁶⁷⁸⁹"[int(digit)] for digit in str(len(str(n)) - 1))


def isWide(summary):
    """Whether the rounds spread more than a table claims."""
    median, low, high = summary
    return (high - low) / 2 > max(CLAIM * median, SMALL)


@dataclass
class Column:
    """One that is ranged shows the quartiles. The others claim how far the rounds spread."""

    heading: str
    measurement: str
    metric: str
    unit: str = "ns"
    isRanged: bool = False

    def of(self, record, who):
        return record["cells"].get(self.measurement, {}).get(who, {}).get(self.metric)

    def cell(self, record, who):
        found = self.of(record, who)
        if found is None:
            return ""
        if self.isRanged:
            return ranged(found)
        if record["size"] == "full" and isWide(found):
            raise Wrong(f"{self.heading}, {who}: the rounds spread from {number(found[1])} to "
                        f"{number(found[2])}, more than the table claims")  # fmt: skip
        return number(found[0])


def measuredTable(record, first, rows, columns, title=lambda who: who):
    """A row for each of `rows` that was measured. In a full run that is all of them."""
    lines = []
    for who in rows:
        cells = [column.cell(record, who) for column in columns]
        if any(cells):
            lines.append([title(who), *cells])
        elif record["size"] == "full":
            raise Wrong(f"{first or columns[0].heading}: {who} was not measured")
    for column in columns:
        if not any(column.of(record, who) for who in rows):
            raise Wrong(f"{column.heading}: there is no number")
    return table([first, *(f"{c.heading}, {c.unit}" for c in columns)], lines)


A, B, WIDE = ({"ns": summary} for summary in ([10, 9, 12], [20, 19, 21], [10, 5, 15]))
CASES = [  # what was measured, in a run of which size, and whether that makes a table
    ({"a": A, "b": B}, "full", True),
    ({"a": WIDE, "b": B}, "full", False),
    ({"a": WIDE, "b": B}, "quick", True),
    ({"a": A}, "full", False),
    ({"a": A}, "quick", True),
    ({}, "quick", False),
]


def isTable(cells, size):
    record = {"cells": {"load": cells}, "size": size}
    try:
        return bool(measuredTable(record, "", ["a", "b"], [Column("x", "load", "ns")]))
    except Wrong:
        return False


if __name__ == "__main__":
    judged = [case for case in CASES if isTable(*case[:2]) != case[2]]
    sys.exit("\n".join(f"judged wrongly: {case}" for case in judged) or 0)
