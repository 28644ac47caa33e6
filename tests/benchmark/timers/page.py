#!/usr/bin/env python3
"""Makes the chapter about timers of what timers.py measured: page.py <timers.json> <folder>.

page.md.in is the chapter with its prose; what stands in {{braces}} there is a key of values().
"""

import copy
import json
import math
import re
import sys
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent / "compare"), str(HERE.parent / "page")]

import about  # noqa: E402
import plots as drawing  # noqa: E402
from data import BASE, Data  # noqa: E402
from findings import ratioText  # noqa: E402
from plots import number  # noqa: E402
from render import table  # noqa: E402

# Nanoseconds, on the machine that the goals were set for.
REFERENCE_CLOCK = 19
REFERENCE_FLOOR = 18

drawing.COLOURS.update({
    "SystemTimer-batch": "#0b57a4",
    "SystemTimer-250": "#0b57a4",
    "SystemTimer-50": "#0b57a4",
    "SystemTimerSpin": "#2a9d8f",
    "SystemTimerSpin-50": "#2a9d8f",
    "SystemTimerSpin-250": "#2a9d8f",
    "SystemTimerHooks": "#3f7fc4",
    "SystemTimerHooks-batch": "#3f7fc4",
    "ManualTimer": "#4a4fa8",
    "ManualTimerHooks": "#8286cf",
    "ClockRead": "#6b7280",
})  # fmt: skip

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


def cell(data, measurement, contender, metric):
    summary = data.of(measurement, contender, metric)
    if summary is None:
        return "-"
    if summary.rounds == 1:
        return number(summary.median)
    return f"{number(summary.median)} [{number(summary.low)}, {number(summary.high)}]"


def metrics(data, columns, ratio=True):
    """columns: [(heading, measurement, metric)]; the ratio is that of the first one."""
    _, measurement, metric = columns[0]
    rows = []
    for contender in data.contenders:
        if not any(data.of(m, contender, k) for _, m, k in columns):
            continue
        row = [data.title(contender), *(cell(data, m, contender, k) for _, m, k in columns)]
        if ratio:
            against = ratioText(data, contender, measurement, metric)
            row.append("1" if contender == BASE else against or "-")
        rows.append(row)
    head = ["", *(heading for heading, _, _ in columns)]
    return table(head + ["first column against SystemTimer's"] if ratio else head, rows)


def connections(data, measurement):
    return f"{data.counts(measurement)[0]:,}"


def pairTable(data):
    text = metrics(data, [
        ("one thread, ns", "pair", "ns"),
        ("two threads, ns", "pair-2", "ns"),
        ("at once, ns", "pair-at-once", "ns"),
        ("processor, one thread, %", "pair", "cpuPercent"),
        ("processor, two threads, %", "pair-2", "cpuPercent"),
    ])  # fmt: skip
    clock = cell(data, "clock", "ClockRead", "ns")
    return text + f"\n| {data.title('ClockRead')} | {clock} |" + " - |" * 5


def heartbeatColumns(data, metric, unit):
    return [(f"{connections(data, m)}, {threads}, {unit}", m, metric)
            for m, threads in (("heartbeat", "one thread"), ("heartbeat-2", "two threads"),
                               ("heartbeat-many", "one thread"),
                               ("heartbeat-many-2", "two threads"))]  # fmt: skip


def heartbeatTable(data):
    few = connections(data, "heartbeat")
    return metrics(data, [
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
        "mixed-table": metrics(data, [
            ("ns an operation", "mixed", "ns"),
            ("million operations a second", "mixed", "millionPerSecond"),
            ("of them expired, million a second", "mixed", "expiredMillionPerSecond"),
            ("processor, ns an operation", "mixed", "cpuNs"),
            ("processor, %", "mixed", "cpuPercent"),
        ]),
        "bulk-table": metrics(data, [
            ("processor from the first task on, ns a task", "bulk", "cpuNs"),
            ("all processor time, ns a task", "bulk", "allCpuNs"),
            ("elapsed, ns a task", "bulk", "ns"),
        ]),
        "storm-table": metrics(data, [
            *((heading, "storm", metric) for heading, metric in LATENCY),
            ("longest before the deadline, µs", "storm", "maxBeforeUs"),
            ("elapsed, ns a task", "storm", "ns"),
            ("processor of the timer, ns a task", "storm", "allCpuNs"),
        ], ratio=False),
        "late-table": metrics(data, [
            *((heading, "late", metric) for heading, metric in LATENCY),
            ("early, %", "late", "earlyPercent"),
            ("processor of the timer, %", "late", "cpuPercent"),
        ], ratio=False),
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
    rows = [goal.row() for goal in found]
    return table(["goal", "asked", "reached"], rows).replace("---:", "---")


# ---- the chapter -------------------------------------------------------------------------------


def usage(data):
    rows = [[about["title"], about["usage"]] for about in data.contenders.values()
            if "way" not in about]  # fmt: skip
    return table(["contender", "how it is used"], rows).replace("---:", "---")


def values(run):
    """What the placeholders of page.md.in stand for, given the contents of timers.json."""
    data = withWays(run)
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
        "machine": about.machine(run),
        "usage": usage(data),
    }  # fmt: skip


# ---- plots -------------------------------------------------------------------------------------


def mark(axes, y, summaries, tint):
    """A dot at the median, bars at the 99th and 99.9th percentile, a cross at the longest."""
    early = summaries[0].median <= 0  # then an arrow to where a logarithmic axis does not go
    median, p99, p999, longest = (max(summary.median, 1e-2) for summary in summaries)
    if early:
        median = min(1.0, p99)
    axes.plot([median, p99], [y, y], color=tint, linewidth=5, alpha=0.45, solid_capstyle="round")
    axes.plot([p99, longest], [y, y], color=tint, linewidth=1.2, alpha=0.55)
    axes.plot(median, y, "<" if early else "o", color=tint, markersize=7)
    axes.plot(p99, y, "|", color=tint, markersize=12, markeredgewidth=2.4)
    axes.plot(p999, y, "|", color=tint, markersize=8, markeredgewidth=1.6)
    axes.plot(longest, y, "x", color=tint, markersize=5, markeredgewidth=1.4)


def latencies(data, title, measurement, limit, file):
    """From the median to the longest of all, on one logarithmic axis; `limit` is the goal."""
    drawn = [c for c in data.contenders if data.of(measurement, c, "medianUs")]
    placed = drawing.rows(data, drawn)
    figure, (axes,) = drawing.rowAxes(data, placed, 1, title)
    axes.set_xscale("log")
    early = any(data.of(measurement, c, "medianUs").median <= 0 for c in drawn)
    goal = ("; dashed: goal for 99 %" if limit else "") + ("; arrow: early" if early else "")
    axes.set_title(f"dot: median; bars: 99 % and 99.9 %; cross: longest{goal}", fontsize=9,
                   weight="normal")  # fmt: skip
    if limit:
        axes.axvline(limit, color=drawing.INK, linewidth=0.9, linestyle=(0, (4, 3)), alpha=0.6)
    for y, contender in placed:
        summaries = [data.of(measurement, contender, metric) for _, metric in LATENCY]
        mark(axes, y, summaries, drawing.colour(data, contender))
    low, high = (math.log10(edge) for edge in axes.get_xlim())
    axes.set_xlim(10 ** math.floor(low), 10 ** math.ceil(high))
    axes.minorticks_off()
    axes.xaxis.set_major_formatter(lambda us, _: drawing.humanTime(us * 1e3))
    drawing.save(figure, file)


def plots(run, folder):
    """Draws the plots that page.md.in shows into the folder."""
    data = withWays(run)
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
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


def main():
    file, folder = Path(sys.argv[1]), Path(sys.argv[2])
    run = json.loads(file.read_text(encoding="utf-8"))
    known = values(run)
    plots(run, folder / "benchmarks")
    text = re.sub(r"{{(.*?)}}", lambda match: known[match.group(1).strip()],
                  (HERE / "page.md.in").read_text(encoding="utf-8"))  # fmt: skip
    (folder / "timers.md").write_text(re.sub(r"\n{3,}", "\n\n", text), encoding="utf-8")
    print(f"== {folder / 'timers.md'}")


if __name__ == "__main__":
    main()
