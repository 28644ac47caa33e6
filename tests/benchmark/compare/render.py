#!/usr/bin/env python3
"""Makes docs/comparison.md and its plots from what compare.py measured.

page.md.in is the page with its prose; what stands in {{braces}} there comes from the data.
"""

import argparse
from pathlib import Path

from data import BASE, Data
import findings
import plots
import about
import seal
from markdown import fill, table, textTable
from style import number, power

HERE = Path(__file__).resolve().parent

# ---- tables ------------------------------------------------------------------------------------


def cell(data, contender, measurement, metric, count=None, bestOf=None, spread=True):
    summary = data.of(measurement, contender, metric, count)
    if summary is None:
        return ""
    text = number(summary.median)
    if spread and summary.rounds > 1:
        text += f" [{number(summary.low)}, {number(summary.high)}]"
    return f"**{text}**" if bestOf and contender in bestOf else text


def curveTable(data, measurement):
    """Rows are contenders, columns numbers pending; schedule + cancel in nanoseconds."""
    counts = data.counts(measurement)
    rows = []
    for contender in data.measured(measurement):
        row = [data.title(contender)]
        for n in counts:
            parts = [data.of(measurement, contender, m, n) for m in ("scheduleNs", "cancelNs")]
            row.append(" + ".join(number(p.median) for p in parts) if all(parts) else "")
        rows.append(row)
    head = ["schedule + cancel, ns, with so many pending", *(power(n) for n in counts)]
    thinner = sorted({data.of(measurement, c, "ns", n).rounds for c in data.measured(measurement)
                      for n in counts if data.of(measurement, c, "ns", n)})  # fmt: skip
    note = "" if len(thinner) == 1 else (
        f"\n\nAt {power(counts[-1])} a round takes long: it is the median of {thinner[0]} "
        f"rounds instead of {thinner[-1]}.")  # fmt: skip
    return table(head, rows) + note


def metricTable(data, columns, ratioOf=None):
    """columns: [(heading, measurement, metric)]; the last is the ratio to SystemTimer."""
    contenders = [c for c in data.contenders if any(data.of(m, c, k) for _, m, k in columns)]
    rows = []
    for contender in contenders:
        row = [data.title(contender)]
        row += [cell(data, contender, m, k) for _, m, k in columns]
        if ratioOf:
            same = contender == BASE
            row.append("1" if same else findings.ratioText(data, contender, *ratioOf))
        rows.append(row)
    head = ["", *(heading for heading, _, _ in columns)]
    if ratioOf:
        first = next(h for h, m, k in columns if (m, k) == ratioOf)
        head.append(f"{first}, against SystemTimer's")
    return table(head, rows)


PANELS = {
    "pair": [
        ("one thread, ns", "pair", "ns"),
        ("two threads, ns", "pair-2", "ns"),
        ("processor time, one thread, ns", "pair", "cpuNs"),
    ],
    "expiry": [
        ("elapsed, ns a task", "expiry", "ns"),
        ("processor time, ns a task", "expiry", "cpuNs"),
    ],
    "far": [
        ("far timers: % of a core", "far", "cpuPercent"),
        ("far timers: wake-ups a second", "far", "wakeUpsPerSecond"),
        ("idle: wake-ups a second", "idle", "wakeUpsPerSecond"),
    ],
    "memory": [
        ("bytes a pending timer", "far", "bytes"),
        ("bytes of an empty one", "empty", "bytes"),
    ],
}
LATE = [
    (f"{what}, {tick}", f"late-{ms}", metric)
    for tick, ms in (("tick 1 ms", 1), ("tick 100 ms", 100))
    for what, metric in (("median, µs", "medianUs"), ("99 %, µs", "p99Us"),
                         ("early, %", "earlyPercent"))
]  # fmt: skip


def tableOf(data, name):
    if name.startswith("curve"):
        return curveTable(data, name)
    if name == "late":
        return metricTable(data, LATE)
    ratio = {"pair": ("pair", "ns"), "expiry": ("expiry", "cpuNs"), "memory": ("far", "bytes")}
    return metricTable(data, PANELS[name], ratio.get(name))


# ---- about the run -----------------------------------------------------------------------------


def usage(data):
    rows = [[data.title(c), about["usage"]] for c, about in data.contenders.items()]
    return textTable(["contender", "how"], rows)


def count(data, measurement):
    return f"{data.counts(measurement)[0]:,}"


# ---- the page ----------------------------------------------------------------------------------


def page(data):
    known = {
        "generated": lambda: about.generated(data.run, "compare/page.md.in"),
        "warnings": lambda: about.warnings(data.run, aboutJava="Netty, Kafka and the JDK"),
        "prefer": lambda: findings.prefer(data),
        "left-out": lambda: findings.leftOut(data),
        "resident": lambda: findings.resident(data),
        "expected": lambda: findings.expected(data),
        "machine": lambda: about.machine(data.run),
        "usage": lambda: usage(data),
        "table": lambda name: tableOf(data, name),
        "crossing": lambda name: findings.crossings(data, name),
        "count": lambda name: count(data, name),
    }

    def valueOf(what):
        name, *arguments = what.split()
        return known[name](*arguments)

    return fill((HERE / "page.md.in").read_text(encoding="utf-8"), valueOf)


def draw(data, folder):
    folder.mkdir(parents=True, exist_ok=True)
    what = "one schedule and one cancel against the number pending"
    for name, title in (("random", f"Random deadlines: {what}"),
                        ("shorter", f"Short timeouts among long ones: {what}"),
                        ("same", f"The same delay for all: {what}")):  # fmt: skip
        plots.curves(data, f"curve-{name}", title, folder / f"curve-{name}.svg")
    many = {name: count(data, name) for name in ("expiry", "far")}
    for name, title in (("pair", "Request timeouts: one cancel and one schedule"),
                        ("expiry", f"{many['expiry']} timers expire together"),
                        ("far", f"Nothing is due: {many['far']} far timers, and a single one"),
                        ("memory", "Memory")):  # fmt: skip
        plots.bars(data, title, PANELS[name], folder / f"{name}.svg")
    plots.lateness(data, "Lateness, from the median (dot) to the 99th percentile (bar)",
                   [("tick 1 ms, where there is one", "late-1", "log"),
                    ("tick 100 ms", "late-100", "linear")], folder / "late.svg")  # fmt: skip


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("results", type=Path, help="results.json of compare.py")
    parser.add_argument("docs", type=Path, help="where comparison.md and comparison/ go")
    options = parser.parse_args()
    data = Data.read(options.results)
    draw(data, options.docs / "comparison")
    text = seal.sealed(page(data), options.docs / "comparison")
    (options.docs / "comparison.md").write_text(text, encoding="utf-8")
    print(f"== {options.docs / 'comparison.md'}")


if __name__ == "__main__":
    main()
