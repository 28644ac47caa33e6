"""The part of docs/benchmarks.md about the wheel alone: its tables and plots."""

import json

import about
import plots as drawing
from figures import number, power
from instructions import PARTS, RECORDED
from markdown import table, textTable
from results import Data
from tables import cell, usageTable

OURS, FLOOR = "TimingWheel", "floor"
TIMES = "\N{MULTIPLICATION SIGN}"
LOADS = [("W1", "W1 reschedule"), ("W2", "W2 fill"), ("W2 first", "W2 first fill"),
         ("W3a", "W3a by tick"),
         ("W3b", "W3b by jump"), ("W4", "W4 90/10"), ("W7", "W7 short"), ("next", "next()")]
FAR_TIMERS = 100  # as in Script.h
PAYLOAD = 16  # as in Loads.h
VAST = 20_000_000  # beyond that only the floor and the wheel take part


def samplesOf(runs):
    """What was once written as a run for each number pending."""
    for run in runs:
        for contender in run["contenders"]:
            found = [("counts", contender["counts"]),
                     *(("wheel", values) for values in contender["rounds"])]  # fmt: skip
            for measurement, values in found:
                yield {"measurement": measurement, "contender": contender["id"],
                       "count": run["pending"],
                       "values": {**values, "peakBytes": run["peakBytes"]}}  # fmt: skip


class WheelData(Data):
    def __init__(self, run):
        if "runs" in run:
            known = {c["id"]: c for one in run["runs"] for c in one["contenders"]}
            run = {**run, "contenders": list(known.values()),
                   "samples": list(samplesOf(run["runs"]))}  # fmt: skip
        super().__init__(run)
        counts = self.counts("wheel")
        self.sizes = [n for n in counts if n <= VAST]
        self.vast = next((n for n in counts if n > VAST), None)
        # What is shown for one size only.
        self.main = 10**6 if 10**6 in counts else self.sizes[-1]

    def load(self, contender, load, pending):
        if load.startswith("W5"):  # far timers are so many as they are, whatever else is pending
            return self.of("far", contender, load)
        return self.of("wheel", contender, load, pending)

    def counted(self, contender, what, pending):
        found = self.of("counts", contender, what, pending)
        return found and found.median

    def having(self, load, pending):
        return [c for c in self.contenders if self.load(c, load, pending)]


# ---- tables ------------------------------------------------------------------------------------


def floorOf(data, load, pending):
    """What a load is compared with: the floor's own, or its move."""
    return data.load(FLOOR, load, pending) or data.load(FLOOR, "W1", pending)


def ratio(data, contender, load, pending):
    """`to the floor / to the wheel`"""
    summary, ours = data.load(contender, load, pending), data.load(OURS, load, pending)
    if summary is None:
        return ""
    parts = [number(summary.median / floorOf(data, load, pending).median)]
    if contender != OURS and ours:
        same = summary.overlaps(ours)
        parts.append("noise" if same else number(summary.median / ours.median))
    return " / ".join(parts)


def sizeTables(data):
    loads = [load for load, _ in LOADS]
    parts = []
    for n in data.sizes:
        rows, ratios = [], []
        for c in data.contenders:
            if any(data.load(c, load, n) for load in loads):
                rows.append([data.title(c), *(cell(data.load(c, load, n)) for load in loads)])
                ratios.append([data.title(c), *(ratio(data, c, load, n) for load in loads[:-1])])
        head = [heading for _, heading in LOADS]
        rounds = data.load(FLOOR, "W1", n).rounds
        parts += [f"**{power(n)} pending**, {rounds} rounds; ns per operation:",
                  table(["", *head], rows),
                  "The same, as times the floor / times `TimingWheel`:",
                  table(["", *head[:-1]], ratios)]  # fmt: skip
    return "\n\n".join(parts)


def farTable(data):
    n = data.main
    rows = []
    for c in data.having("W5", n):
        cascades, most, levels = (data.counted(c, f"W5 {what}", n)
                                  for what in ("cascades", "most", "levels"))  # fmt: skip
        rows.append([data.title(c), cell(data.load(c, "W5 next", n)), cell(data.load(c, "W5", n)),
                     number(data.load(c, "W5 wakeUps", n).median),
                     "" if cascades is None else number(cascades),
                     "" if most is None else f"{most:.0f} of {levels - 1:.0f}"])  # fmt: skip
    return table(["", "next(), ns", "schedule and expire, ns", "wake-ups of a timer",
                  "cascades of a timer", "at most, of those possible"], rows)  # fmt: skip


def memoryTable(data):
    sizes, rows = data.sizes, []
    for c in data.having("W6", data.main):
        bytes_ = [data.load(c, "W6", n) for n in sizes]
        rows.append([data.title(c), *(f"{b.median:.1f}" if b else "" for b in bytes_),
                     f"{data.load(c, 'W6', data.main).median - PAYLOAD:.1f}"])  # fmt: skip
    return table(["bytes of a timer, with so many pending", *map(power, sizes),
                  f"without the payload, {power(data.main)}"], rows)  # fmt: skip


def toleranceTable(data):
    n, rows = data.main, []
    for c in (OURS, "TimingWheel-tolerance"):
        if data.load(c, "W2", n) is None:
            continue
        counts = [1e6 * data.counted(c, f"W3 {what}", n) for what in ("cascades", "wakeUps")]
        rows.append([data.title(c), *(f"{round(count):,}" for count in counts),
                     f"{data.counted(c, 'W3 most', n):.0f}",
                     *(cell(data.load(c, load, n)) for load in ("W2", "W3a", "W3b"))])  # fmt: skip
    return table(["", "cascades of 10⁶ timers", "wake-ups for 10⁶ timers",
                  "cascades of one timer, at most", "W2 fill, ns",
                  "W3a by tick, ns", "W3b by jump, ns"], rows)  # fmt: skip


def partsTable():
    """Where the time goes while the caches hold everything: counted by ./dev bench --check."""
    parts = json.loads(RECORDED.read_text(encoding="utf-8"))["parts"]
    sizes = list(dict.fromkeys(name.split(", ")[1] for name in parts))
    rows = [[words, *(f"{parts[f'{words}, {size}']:.0f}" for size in sizes)]
            for words in PARTS.values()]  # fmt: skip
    return table(["instructions", *sizes], rows)


# ---- goals -------------------------------------------------------------------------------------


class Goals:
    """Rows of figure, asked, reached and verdict: each is a multiple of what the same run measured
    of somebody else. A figure that was not measured says so."""

    def __init__(self, data):
        self.data, self.rows = data, []

    def ns(self, contender, load, pending):
        summary = self.data.load(contender, load, pending)
        return summary.median if summary else None

    def add(self, figure, asked, limit, reached, unit=" ns"):
        if limit is None or reached is None:
            self.rows.append([figure, asked.replace(": LIMIT", ""), "not measured", ""])
            return
        self.rows.append([figure, asked.replace("LIMIT", number(limit) + unit),
                          f"{number(reached)}{unit}",
                          "yes" if round(reached, 2) <= limit else "**no**"])  # fmt: skip

    def times(self, who, load, pending, factor, whose=FLOOR, of=None):
        """At most so many times what that contender took for the same, or for another load."""
        theirs = self.ns(whose, of or load, pending)
        heading = dict(LOADS)[load]
        self.add(f"{heading}, {SLOTS[who]}, {power(pending)} pending",
                 f"at most {factor} {TIMES} {whose}: LIMIT" if factor != 1
                 else f"at most {whose}: LIMIT",
                 theirs and factor * theirs, self.ns(who, load, pending))  # fmt: skip

    def ahead(self, who, load, pending):
        """Faster than whoever else is measured."""
        others = [(self.ns(c, load, pending), self.data.title(c)) for c in self.data.contenders
                  if self.data.contenders[c]["kind"] == "rival"]  # fmt: skip
        best = min((each for each in others if each[0] is not None), default=(None, "whoever"))
        self.add(f"{dict(LOADS)[load]}, {SLOTS[who]}, {power(pending)} pending",
                 f"ahead of the fastest other, {best[1]}: LIMIT", best[0],
                 self.ns(who, load, pending))  # fmt: skip


SLOTS = {OURS: "20 slots", "TimingWheel-256": "256 slots", "TimingWheel-512": "512 slots",
         "TimingWheel-tolerance": "with tolerance"}  # fmt: skip


def besideOthers(found):
    wide = "TimingWheel-256"
    for load, first in (("W3a", 10**4), ("W3b", 10**3)):
        for pending in (10**3, 10**4, 10**5, 10**6, 10**7):
            if pending >= first:
                found.ahead(wide, load, pending)
    for load, factor in (("W1", 1.25), ("W2", 1.7), ("W4", 1.25)):
        for pending in (10**3, 10**4, 10**5):
            found.times(wide, load, pending, factor, "ratas")
        for pending in (10**6, 10**7):
            found.times(wide, load, pending, 1, "ratas")
    for load, factor in (("W1", 1.5), ("W2", 1.5), ("W4", 1.5), ("W3a", 1.6), ("W3b", 1.6)):
        for pending in (10**3, 10**4, 10**5):
            found.times(OURS, load, pending, factor, "ratas")


def besideFloor(found):
    million = 10**6
    found.times(OURS, "W1", million, 1.3)
    found.times(OURS, "W1", 10**5, 1.5)
    found.times(OURS, "W2", million, 1.8)
    for who, factor in ((OURS, 3.3), ("TimingWheel-256", 1.7), ("TimingWheel-512", 1.7),
                        ("TimingWheel-tolerance", 1.1)):  # fmt: skip
        for load in ("W3a", "W3b"):
            found.times(who, load, million, factor, of="W1")
    found.times(OURS, "W4", million, 1.6, of="W1")


def goals(data):
    found, million = Goals(data), 10**6
    besideFloor(found)
    besideOthers(found)
    few = data.sizes[0]
    found.add("next() of far timers", f"at most a move of the floor, {power(few)} pending: LIMIT",
              found.ns(FLOOR, "W1", few), found.ns(OURS, "W5 next", few))  # fmt: skip
    cascades = data.counted("TimingWheel-tolerance", "W3 most", million)
    found.add(f"W3 with tolerance, {power(million)} pending", "at most one cascade of a timer", 1,
              cascades, "")  # fmt: skip
    levels = data.counted(OURS, "W5 levels", data.main)
    found.add("W5 cascades of a timer", "at most one for each level: LIMIT",
              levels - 1 if levels else None, data.counted(OURS, "W5 most", data.main), "")
    bytes_ = found.ns(OURS, "W6", million)
    found.add(f"W6 bytes of an entry, {power(million)} pending", "at most 40 bytes", 40,
              bytes_ and round(bytes_, 1), " bytes")  # fmt: skip
    if data.vast:
        found.times(OURS, "W1", data.vast, 1.5)
        peak = found.ns(OURS, "peakBytes", data.vast) / 1e9
        found.add(f"{power(data.vast)} pending, memory of the process", "at most 5 GB", 5, peak,
                  " GB")  # fmt: skip
    return textTable(["figure", "asked", "reached", ""], found.rows)


def belowFloor(data):
    """Who needs less than the floor, which is that of one kind of list only."""
    found = []
    for n in data.sizes:
        for load, heading in LOADS:
            floor = data.load(FLOOR, load, n)
            for c in data.contenders if floor else ():
                theirs = data.load(c, load, n)
                if theirs and theirs.median < floor.median and not theirs.overlaps(floor):
                    found.append(f"{data.title(c)} ({heading}, {power(n)} pending: "
                                 f"{number(theirs.median)} ns, floor {number(floor.median)})")
    if not found:
        return "Nobody needed less in this run."
    return f"Less than that needed, in this run: {'; '.join(found)}."


# ---- plots -------------------------------------------------------------------------------------


def plots(run, folder):
    data = WheelData(run)
    size = f"with {power(data.main)} pending"

    def curves(title, panels, name):
        drawing.curves(data, title, "for one timer",
                       [(heading, "wheel", load, data.contenders, (FLOOR,))
                        for load, heading in panels], folder / name)  # fmt: skip

    def bars(title, panels, name, contenders):
        drawing.bars(data, title, [(heading, "far", load) if load.startswith("W5")
                                   else (heading, "wheel", load, data.main)
                                   for heading, load in panels], folder / name, contenders)

    bars(f"The wheel beside the floor, ns, {size}",
         [(heading, load) for load, heading in LOADS if load in ("W1", "W2", "W3b", "W4")],
         "wheel-floor.svg", [c for c in data.contenders if c == FLOOR or data.isOurs(c)])
    curves("Schedule", [("W1", "W1: reschedule a random one"), ("W2", "W2: fill")],
           "wheel-schedule.svg")  # fmt: skip
    curves("Expire", [("W3b", "W3b: by jumps to the next expiration"),
                      ("W4", "W4: 90 % rescheduled, 10 % expire")], "wheel-expire.svg")
    bars(f"Far timers, and memory {size}",
         [("far: schedule and expire, ns", "W5"), ("far: wake-ups of a timer", "W5 wakeUps"),
          ("bytes of a pending timer", "W6")], "wheel-far.svg", list(data.contenders))


# ---- the page ----------------------------------------------------------------------------------


def values(run):
    data = WheelData(run)
    return {
        "farTimers": str(FAR_TIMERS),
        "pending": power(data.main),
        "goals": goals(data),
        "sizes": sizeTables(data),
        "far": farTable(data),
        "memory": memoryTable(data),
        "tolerance": toleranceTable(data),
        "parts": partsTable(),
        "below-floor": belowFloor(data),
        "machine": about.machine(run, saysRounds=False),
        "usage": usageTable(data.contenders.values()),
    }
