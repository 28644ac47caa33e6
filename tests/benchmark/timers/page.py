"""The part of docs/benchmarks.md about timers in a server: its tables and plots."""

import copy
import json
from dataclasses import dataclass
from pathlib import Path

import about
import many
import plots as drawing
import punctual
from figures import number
from markdown import table, textTable
from results import BASE, Data
from tables import cell, metricTable, usageTable

# ---- rows --------------------------------------------------------------------------------------

# Measurements that become a row of their own in the table of another one.
WAYS = {
    "heartbeat-batch": ("heartbeat", "batch", "in batches"),
    "heartbeat-2-batch": ("heartbeat-2", "batch", "in batches"),
    "heartbeat-many-batch": ("heartbeat-many", "batch", "in batches"),
    "heartbeat-many-2-batch": ("heartbeat-many-2", "batch", "in batches"),
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


def linesTable():
    """What ./dev bench --check counts under valgrind, whatever the machine."""
    file = Path(__file__).resolve().parents[1] / "lines" / "lines.json"
    counted = json.loads(file.read_text(encoding="utf-8"))
    rows = []
    for words, own in counted["own shards"].items():
        reached = "none" if not own["shared"] else f"**{own['shared']}**"
        rows.append([words, str(own["written"]), reached,
                     str(counted["one shard"][words]["shared"])])  # fmt: skip
    return table(["", "lines that 32 of them write", "of these, used by another thread: none asked",
                  "with one shard for both"], rows)  # fmt: skip


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
            ("processor in all, ns a task", "bulk", "allCpuNs"),
            ("elapsed, ns a task", "bulk", "ns"),
            ("processor from the first task on, ns a task", "bulk", "cpuNs"),
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
    of: str  # what the limit is made of
    asked: float | None
    reached: float | None
    unit: str
    atLeast: bool = False

    def met(self):
        return self.reached >= self.asked if self.atLeast else self.reached <= self.asked

    def row(self):
        relation = "at least" if self.atLeast else "at most"
        if self.reached is None or self.asked is None:
            return [self.what, f"{relation} {self.of}" if self.of else "", "not measured"]
        limit = f"{number(self.asked)}{self.unit}"
        asked = f"{relation} {self.of}: {limit}" if self.of else f"{relation} {limit}"
        reached = f"{number(self.reached)}{self.unit}"
        return [self.what, asked, f"{reached}: {'reached' if self.met() else '**missed**'}"]


TIMES = "\N{MULTIPLICATION SIGN}"


class Limits:
    """Goals from what the same run measured."""

    def __init__(self, data):
        self.data = data

    def median(self, measurement, contender, metric="ns"):
        summary = self.data.of(measurement, contender, metric)
        return summary and summary.median

    def part(self, name):
        return self.median(name, "ClockRead")

    def pair(self, contender, what, parts, factor):
        """Against the parts that it cannot do without."""
        known = [times * self.part(part) for part, times in parts if self.part(part)]
        words = {"clock": "a clock reading", "lock": "two locks", "allocation": "an allocation"}
        of = f"{factor} {TIMES} ({' + '.join(words[part] for part, _ in parts)})"
        return Goal(what, of, factor * sum(known) if len(known) == len(parts) else None,
                    self.median("pair", contender), " ns")  # fmt: skip

    def rival(self, what, measurement, metric, contender, rival, factor, unit):
        theirs = self.median(measurement, rival, metric)
        name = self.data.title(rival) if rival in self.data.contenders else rival
        return Goal(what, f"{factor} {TIMES} {name}" if factor != 1 else name,
                    theirs and factor * theirs, self.median(measurement, contender, metric),
                    unit)  # fmt: skip

    def late(self, what, contender, metric, tick, share):
        """What a user sees: the tick's part, and twice what Asio needs to be woken."""
        theirs = self.median("late", "Asio", metric)
        return Goal(what, f"{'half the' if share < 1 else 'the'} tick + 2 {TIMES} Asio",
                    theirs and share * tick + 2 * theirs,
                    self.median("late", contender, metric), " µs")  # fmt: skip


def goals(data):
    limits = Limits(data)
    hooks = (("clock", 1), ("lock", 2))
    speeds = [limits.median(m, BASE, "millionPerSecond") for m in ("pair", "pair-2")]
    empty = limits.median("empty", BASE, "bytes")
    fine, spinning = f"{BASE}-50", "SystemTimerSpin-50"
    found = [
        limits.pair("SystemTimerHooks", "a cancel and a schedule, hooks, one thread", hooks, 1.2),
        limits.pair(BASE, "the same, handles", (*hooks, ("allocation", 1)), 1.4),
        Goal("throughput of two threads against one", "", 1.9,
             speeds[1] / speeds[0] if all(speeds) else None, TIMES, atLeast=True),
        limits.rival("many with one deadline, in all, handles", "bulk", "allCpuNs", BASE,
                     "Netty-4.2", 1.3, " ns"),
        limits.rival("the same, hooks", "bulk", "allCpuNs", "SystemTimerHooks", "Netty-4.2", 1,
                     " ns"),
        limits.rival("a cancel and a schedule, `HashedWheelTimer`, one thread", "pair", "ns",
                     "HashedWheelTimer", "Netty-4.2", 1, " ns"),
        limits.rival("the same, two threads", "pair-2", "ns", "HashedWheelTimer", "Netty-4.2", 1,
                     " ns"),
        limits.rival("schedule during a storm, 99 %", "storm", "p99Us", BASE, "Asio", 1, " µs"),
        Goal("memory of a pending timeout, with its handle and a capture of 16 bytes", "", 96,
             limits.median("memory", BASE, "bytes"), " bytes"),
        Goal("memory of a timer with nothing pending", "", 64, empty and empty / 1024, " KiB"),
        limits.late("lateness at a tick of 1 ms, 50 %", BASE, "medianUs", 1_000, 0.5),
        limits.late("lateness at a tick of 1 ms, 99 %", BASE, "p99Us", 1_000, 1),
        limits.late("lateness at a tick of 50 µs, 50 %", fine, "medianUs", 50, 0.5),
        limits.late("lateness at a tick of 50 µs, 99 %", fine, "p99Us", 50, 1),
        limits.late("the same, spinning, 99 %", spinning, "p99Us", 50, 1),
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
        **{part: number(data.of(part, "ClockRead", "ns").median)
           for part in ("clock", "lock", "allocation")},
        "under-way": connections(data, "pair"),
        "goals": goals(data),
        "lines": linesTable(),
        "many": many.manyTable(data),
        "punctuality": punctual.punctuality(data),
        "punctuality-words": punctual.words(data),
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
    asio = data.of("storm", "Asio", "p99Us")
    latencies(data, "How long a call of schedule takes during a storm", "storm",
              asio and asio.median, folder / "timers-storm.svg")  # fmt: skip
    latencies(data, "Lateness", "late", None, folder / "timers-late.svg")
    punctual.plot(data, folder / "timers-ticks.svg")
