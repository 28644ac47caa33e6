#!/usr/bin/env python3
"""coverage.py <gcovr's summary.json>: prints which lines and branches of the engine the tests
reached, file by file, and fails where a file falls below what any change can be expected to keep.

The floor is one for all files but the very short ones, and low enough that neither threads, which
meet differently each time, nor lines that no test can reach matter: it catches what nobody tests.
No test reaches the messages of broken invariants, a slot of more than 2^33 entries, the line behind
a switch whose cases all return, and a system that refuses a thread (factories that throw are)."""

import json
import sys

LEAST_LINES = 85  # percent,
SHORTEST = 20  # of a file of so many lines


def share(covered, total):
    return f"{100 * covered / total:.1f} %" if total else "-"


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    with open(sys.argv[1], encoding="utf-8") as file:
        summary = json.load(file)
    rows = [("file", "lines", "", "branches", "")]
    below = []
    files = sorted(summary["files"], key=lambda entry: entry["filename"])
    for entry in files + [summary | {"filename": "all"}]:
        lines, branches = entry["line_total"], entry["branch_total"]
        if lines == 0:
            continue
        reached = entry["line_covered"]
        rows.append((entry["filename"], share(reached, lines), f"{reached}/{lines}",
                     share(entry["branch_covered"], branches),
                     f"{entry['branch_covered']}/{branches}"))  # fmt: skip
        if lines >= SHORTEST and 100 * reached < LEAST_LINES * lines:
            below.append(entry["filename"])
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    for name, *figures in rows:
        print(name.ljust(widths[0]), *(f.rjust(w) for f, w in zip(figures, widths[1:])))
    if below:
        sys.exit(f"less than {LEAST_LINES} % of the lines of {', '.join(below)} are tested")


if __name__ == "__main__":
    main()
