"""The part of docs/benchmarks.md about timers in a server: its tables and plots."""

import copy
from dataclasses import dataclass

import about
import plots as drawing
from figures import number
from markdown import textTable
from results import BASE, Data
from tables import cell, metricTable, usageTable

# Nanoseconds, on the machine that the goals were set for.
REFERENCE_CLOCK = 19
REFERENCE_FLOOR = 18

# ---- rows --------------------------------------------------------------------------------------

# Measurements that become a row of their own in the table of another one.
WAYS = {
    "heartbeat-batch": ("heartbeat", "batch", "clock per batch"),
    "heartbeat-2-batch": ("heartbeat-2", "batch", "clock per batch"),
    "heartbeat-many-batch": ("heartbeat-many", "batch", "clock per batch"),
    "heartbeat-many-2-batch": ("heartbeat-many-2", "batch", "clock per batch"),
    "late-250": ("late", "250", "tick 250 µs"),
    "late-50": ("late", "50", "tick 50 µs"),
}


def withWays(run):
    """The data with those measurements as contenders, each behind the one that it is a way of."""
    run = copy.deepcopy(run)
    known = {contender["id"]: contender for contender in run["contenders"]}
    ways = {}
    for sample in run["samples"]:
        if sample["measurement"] in WAYS:
            measurement, suffix, words = WAYS[sample["measurement"]]
            base = known[sample["contender"]]
            way = {**base, "id": f"{base['id']}-{suffix}", "title": f"{base['title']}, {words}",
                   "way": True}  # fmt: skip
            ways.setdefault(base["id"], {})[way["id"]] = way
            sample.update(measurement=measurement, contender=way["id"])
    first = ["SystemTimer", "SystemTimerHooks", "ManualTimer", "ManualTimerHooks"]
    place = {**{id_: i for i, id_ in enumerate(first)}, "ClockRead": len(known) + 1}
    order = sorted(known, key=lambda id_: place.get(id_, len(known)))
    run["contenders"] = [c for id_ in order for c in (known[id_], *ways.get(id_, {}).values())]
    return Data(run)


def rowsOf(data, columns, isRatio=True):
    """columns: [(heading, measurement, metric)]; the ratio is that of the first one."""
    return metricTable(data, columns, columns[0][1:] if isRatio else None,
                       "first column against SystemTimer's", absent="-")  # fmt: skip


def connections(data, measurement):
    return f"{data.counts(measurement)[0]:,}"


def pairTable(data):
    text = rowsOf(data, [
        ("one thread, ns", "pair", "ns"),
        ("two threads, ns", "pair-2", "ns"),
        ("at once, ns", "pair-at-once", "ns"),
        ("processor, one thread, %", "pair", "cpuPercent"),
        ("processor, two threads, %", "pair-2", "cpuPercent"),
    ])  # fmt: skip
    clock = cell(data.of("clock", "ClockRead", "ns"))
    return text + f"\n| {data.title('ClockRead')} | {clock} |" + " - |" * 5


def heartbeatColumns(data, metric, unit):
    return [(f"{connections(data, m)}, {threads}, {unit}", m, metric)
            for m, threads in (("heartbeat", "one thread"), ("heartbeat-2", "two threads"),
                               ("heartbeat-many", "one thread"),
                               ("heartbeat-many-2", "two threads"))]  # fmt: skip


def heartbeatTable(data):
    few = connections(data, "heartbeat")
    return rowsOf(data, [
        *heartbeatColumns(data, "ns", "ns"),
        (f"processor, {few}, one thread, %", "heartbeat", "cpuPercent"),
        (f"processor, {few}, two threads, %", "heartbeat-2", "cpuPercent"),
    ])  # fmt: skip


LATENCY = (("50 %, µs", "medianUs"), ("99 %, µs", "p99Us"), ("99.9 %, µs", "p999Us"),
           ("longest, µs", "maxUs"))  # fmt: skip


def tables(data):
    return {
        "pair-table": pairTable(data),
        "heartbeat-table": heartbeatTable(data),
        "mixed-table": rowsOf(data, [
            ("ns an operation", "mixed", "ns"),
            ("million operations a second", "mixed", "millionPerSecond"),
            ("of them expired, million a second", "mixed", "expiredMillionPerSecond"),
            ("processor, ns an operation", "mixed", "cpuNs"),
            ("processor, %", "mixed", "cpuPercent"),
        ]),
        "bulk-table": rowsOf(data, [
            ("processor from the first task on, ns a task", "bulk", "cpuNs"),
            ("all processor time, ns a task", "bulk", "allCpuNs"),
            ("elapsed, ns a task", "bulk", "ns"),
        ]),
        "storm-table": rowsOf(data, [
            *((heading, "storm", metric) for heading, metric in LATENCY),
            ("longest before the deadline, µs", "storm", "maxBeforeUs"),
            ("elapsed, ns a task", "storm", "ns"),
            ("processor of the timer, ns a task", "storm", "allCpuNs"),
        ], isRatio=False),
        "late-table": rowsOf(data, [
            *((heading, "late", metric) for heading, metric in LATENCY),
            ("early, %", "late", "earlyPercent"),
            ("processor of the timer, %", "late", "cpuPercent"),
        ], isRatio=False),
    }  # fmt: skip


# ---- goals -------------------------------------------------------------------------------------


@dataclass
class Goal:
    what: str
    asked: float
    reached: float | None
    unit: str
    atLeast: bool = False

    def met(self):
        return self.reached >= self.asked if self.atLeast else self.reached <= self.asked

    def row(self):
        relation = "at least" if self.atLeast else "at most"
        asked = f"{relation} {self.asked:,g}{self.unit}"
        if self.reached is None:
            return [self.what, asked, "not measured"]
        reached = f"{number(self.reached)}{self.unit}"
        return [self.what, asked, f"{reached}: {'reached' if self.met() else '**missed**'}"]


def goals(data):
    def median(measurement, contender, metric="ns"):
        summary = data.of(measurement, contender, metric)
        return summary and summary.median

    speeds = [median(m, BASE, "millionPerSecond") for m in ("pair", "pair-2")]
    batch, fine, times = f"{BASE}-batch", f"{BASE}-50", "\N{MULTIPLICATION SIGN}"
    empty = median("empty", BASE, "bytes")
    kib = empty / 1024 if empty else None
    late = median("late", "SystemTimerSpin-50", "p99Us")
    spinning = max(late - 50, 0) if late else None  # the tick is what the rounding up may take
    found = [
        *(Goal(f"a heartbeat among {connections(data, m)}, the clock not read", 30,
               median(m, batch), " ns") for m in ("heartbeat", "heartbeat-many")),
        Goal("a cancel and a schedule, handles, one thread", 75, median("pair", BASE), " ns"),
        Goal("the same, hooks", 55, median("pair", "SystemTimerHooks"), " ns"),
        Goal("the same, hooks of a `ManualTimer`, no clock", 25,
             median("pair", "ManualTimerHooks"), " ns"),
        Goal("throughput of two threads against one", 1.8,
             speeds[1] / speeds[0] if all(speeds) else None, times, atLeast=True),
        Goal("many with one deadline: processor time for each task", 40,
             median("bulk", BASE, "cpuNs"), " ns"),
        Goal("schedule during a storm, 99 %", 50, median("storm", BASE, "p99Us"), " µs"),
        Goal("memory of a pending timeout, with its handle and a capture of 16 bytes", 96,
             median("memory", BASE, "bytes"), " bytes"),
        Goal("memory of a timer with nothing pending", 64, kib, " KiB"),
        Goal("lateness at a tick of 1 ms, 50 %", 600, median("late", BASE, "medianUs"), " µs"),
        Goal("lateness at a tick of 1 ms, 99 %", 1_200, median("late", BASE, "p99Us"), " µs"),
        Goal("lateness at a tick of 50 µs, 50 %", 150, median("late", fine, "medianUs"), " µs"),
        Goal("lateness at a tick of 50 µs, 99 %", 300, median("late", fine, "p99Us"), " µs"),
        Goal("the same beyond the tick, spinning, 99 %", 20, spinning, " µs"),
    ]  # fmt: skip
    return textTable(["goal", "asked", "reached"], [goal.row() for goal in found])


# ---- the chapter -------------------------------------------------------------------------------


def values(run):
    data = withWays(run)
    used = [contender for contender in data.contenders.values() if "way" not in contender]
    return {
        **tables(data),
        "run": about.generated(run),
        "warnings": about.warnings(run, aboutJava="Netty and the JDK"),
        "clock": number(data.of("clock", "ClockRead", "ns").median),
        "reference-clock": str(REFERENCE_CLOCK),
        "reference-floor": str(REFERENCE_FLOOR),
        "goals": goals(data),
        "together": connections(data, "bulk"),
        "late-count": connections(data, "late"),
        "usage": usageTable(used, "how it is used"),
    }


def latencies(data, title, measurement, limit, file):
    """From the median to the longest of all, on one logarithmic axis; `limit` is the goal."""
    medians = [data.of(measurement, c, "medianUs") for c in data.measured(measurement)]
    isEarly = any(summary.median <= 0 for summary in medians)
    heading = "dot: median; bars: 99 % and 99.9 %; cross: longest"
    heading += ("; dashed: goal for 99 %" if limit else "") + ("; arrow: early" if isEarly else "")
    drawing.latencies(data, title, [(heading, measurement, "log")],
                      [metric for _, metric in LATENCY], file, limit)  # fmt: skip


def plots(run, folder):
    data = withWays(run)
    drawing.bars(data, "Request timeouts: nanoseconds for one cancel and one schedule", [
        ("one thread", "pair", "ns"), ("two threads", "pair-2", "ns"),
        ("one thread, at once", "pair-at-once", "ns"),
    ], folder / "timers-pair.svg")  # fmt: skip
    drawing.bars(data, "Heartbeats: nanoseconds to push one idle timeout back", [
        (heading.removesuffix(", ns"), measurement, metric)
        for heading, measurement, metric in heartbeatColumns(data, "ns", "ns")[:3]
    ], folder / "timers-heartbeat.svg")  # fmt: skip
    latencies(data, "How long a call of schedule takes during a storm", "storm", 50,
              folder / "timers-storm.svg")  # fmt: skip
    latencies(data, "Lateness", "late", None, folder / "timers-late.svg")
