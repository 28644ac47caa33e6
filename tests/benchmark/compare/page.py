"""docs/comparison.md: its tables and plots."""

from functools import partial

import about
import findings
import plots as drawing
import punctual
from figures import number, power
from markdown import table
from results import BASE, Data
from tables import metricTable, usageTable

# ---- tables ------------------------------------------------------------------------------------


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


RATIOS = {"pair": ("pair", "ns"), "expiry": ("expiry", "cpuNs"), "memory": ("far", "bytes")}


def tableOf(data, name):
    if name.startswith("curve"):
        return curveTable(data, name)
    columns, ratio = PANELS.get(name, LATE), RATIOS.get(name)
    of = next((heading for heading, *what in columns if tuple(what) == ratio), "")
    return metricTable(data, columns, ratio, f"{of}, against SystemTimer's")


def count(data, measurement):
    return f"{data.counts(measurement)[0]:,}"


# ---- the page ----------------------------------------------------------------------------------


def values(run):
    data = Data(run)
    return {
        "warnings": about.warnings(run, aboutJava="Netty, Kafka and the JDK"),
        "prefer": findings.prefer(data),
        "left-out": findings.leftOut(data),
        "resident": findings.resident(data),
        "expected": findings.expected(data),
        "usage": usageTable(data.contenders.values()),
        "table": partial(tableOf, data),
        "crossing": partial(findings.crossings, data),
        "count": partial(count, data),
        "punctuality": punctual.punctuality(data),
        "punctuality-words": punctual.words(data),
    }


def panelOf(data, measurement, language, isJava):
    contenders = [c for c in data.measured(measurement) if data.isJava(c) == isJava]
    dashed = () if BASE in contenders else (BASE,)
    return language, measurement, "ns", [*contenders, *dashed], dashed


def plots(run, folder):
    data = Data(run)
    what = "one schedule and one cancel"
    for name, title in (("random", "Random deadlines"),
                        ("shorter", "Short timeouts among long ones"),
                        ("same", "The same delay for all")):  # fmt: skip
        measurement = f"curve-{name}"
        panels = [panelOf(data, measurement, "C++", False)]
        if any(map(data.isJava, data.measured(measurement))):
            panels.append(panelOf(data, measurement, "JVM (dashed: SystemTimer in C++)", True))
        drawing.curves(data, f"{title}: {what} against the number pending", what, panels,
                       folder / f"{measurement}.svg")  # fmt: skip
    many = {name: count(data, name) for name in ("expiry", "far")}
    for name, title in (("pair", "Request timeouts: one cancel and one schedule"),
                        ("expiry", f"{many['expiry']} timers expire together"),
                        ("far", f"Nothing is due: {many['far']} far timers, and a single one"),
                        ("memory", "Memory")):  # fmt: skip
        drawing.bars(data, title, PANELS[name], folder / f"{name}.svg")
    drawing.latencies(data, "Lateness, from the median (dot) to the 99th percentile (bar)",
                      [("tick 1 ms, where there is one", "late-1", "log"),
                       ("tick 100 ms", "late-100", "linear")], ("medianUs", "p99Us"),
                      folder / "late.svg")  # fmt: skip
