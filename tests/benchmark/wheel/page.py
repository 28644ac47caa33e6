"""The part of docs/benchmarks.md about the wheel alone: its tables and plots, of wheel.json."""

from markdown import table, textTable
from stats import summarise
from style import (
    bar, finishBars, humanCount, humanTime, labelEnds, number, plt, power, rowAxes, save,
)  # fmt: skip

OURS, FLOOR = "TimingWheel", "floor"
TIMES = "\N{MULTIPLICATION SIGN}"
LOADS = [("W1", "W1 reschedule"), ("W2", "W2 fill"), ("W3a", "W3a by tick"),
         ("W3b", "W3b by jump"), ("W4", "W4 90/10"), ("W7", "W7 short"), ("next", "next()")]
COLOURS = {
    FLOOR: "#57606a",
    OURS: "#0b57a4",  # wheels: blue
    "TimingWheel-400": "#2f81c7",
    "TimingWheel-512": "#5aa2dc",
    "TimingWheel-tolerance": "#0f9aa8",
    "asio": "#c8500a",  # heaps: orange to red
    "libuv": "#b5179e",
    "libevent": "#a8795c",
    "libev": "#e3b341",
    "priority_queue": "#f08c2e",
    "multimap": "#7d3c98",  # a tree
}
OTHERS = ["#11773c", "#6b7280", "#8a6d3b"]  # for those who come later
FAR_TIMERS = 100  # as in Script.h
PAYLOAD = 16  # as in Loads.h
VAST = 20_000_000  # beyond that only the floor and the wheel take part


class Data:
    def __init__(self, data):
        self.about = data
        self.runs = {run["pending"]: run for run in data["runs"]}
        self.sizes = sorted(n for n in self.runs if n <= VAST)
        self.vast = next((n for n in self.runs if n > VAST), None)
        # What is shown for one size only.
        self.main = 10**6 if 10**6 in self.runs else self.sizes[-1]
        self.contenders = {}
        for size in self.sizes:
            for contender in self.runs[size]["contenders"]:
                self.contenders.setdefault(contender["id"], contender)

    def title(self, contender):
        return self.contenders[contender]["title"]

    def ours(self, contender):
        return self.contenders[contender]["kind"] == "wheel"

    def found(self, contender, pending):
        run = self.runs.get(pending, {"contenders": []})
        return next((c for c in run["contenders"] if c["id"] == contender), None)

    def of(self, contender, load, pending):
        """The summary, or None if it was not measured."""
        found = self.found(contender, pending)
        values = [r[load] for r in found["rounds"] if load in r] if found else []
        return summarise(values) if values else None

    def counted(self, contender, what, pending):
        found = self.found(contender, pending)
        return found["counts"].get(what) if found else None

    def measured(self, load, pending):
        return [c for c in self.contenders if self.of(c, load, pending)]

    def colour(self, contender):
        if contender in COLOURS:
            return COLOURS[contender]
        unknown = [c for c in self.contenders if c not in COLOURS]
        return OTHERS[unknown.index(contender) % len(OTHERS)]


def cell(summary):
    if summary is None:
        return ""
    text = number(summary.median)
    if summary.rounds > 1:
        text += f" [{number(summary.low)}, {number(summary.high)}]"
    return text


# ---- tables ------------------------------------------------------------------------------------


def floorOf(data, load, pending):
    """What a load is compared with: the floor's own, or its move."""
    return data.of(FLOOR, load, pending) or data.of(FLOOR, "W1", pending)


def ratio(data, contender, load, pending):
    """`to the floor / to the wheel`"""
    summary, ours = data.of(contender, load, pending), data.of(OURS, load, pending)
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
        run, rows, ratios = data.runs[n], [], []
        for c in data.contenders:
            if any(data.of(c, load, n) for load in loads):
                rows.append([data.title(c), *(cell(data.of(c, load, n)) for load in loads)])
                ratios.append([data.title(c), *(ratio(data, c, load, n) for load in loads[:-1])])
        head = [heading for _, heading in LOADS]
        parts += [f"**{power(n)} pending**, {run['rounds']} rounds; ns per operation:",
                  table(["", *head], rows),
                  "The same, as times the floor / times `TimingWheel`:",
                  table(["", *head[:-1]], ratios)]  # fmt: skip
    return "\n\n".join(parts)


def farTable(data):
    n = data.main
    rows = []
    for c in data.measured("W5", n):
        cascades, most, levels = (data.counted(c, f"W5 {what}", n)
                                  for what in ("cascades", "most", "levels"))  # fmt: skip
        rows.append([data.title(c), cell(data.of(c, "W5 next", n)), cell(data.of(c, "W5", n)),
                     number(data.of(c, "W5 wakeUps", n).median),
                     "" if cascades is None else number(cascades),
                     "" if most is None else f"{most:.0f} of {levels - 1:.0f}"])  # fmt: skip
    return table(["", "next(), ns", "schedule and expire, ns", "wake-ups of a timer",
                  "cascades of a timer", "at most, of those possible"], rows)  # fmt: skip


def memoryTable(data):
    sizes, rows = data.sizes, []
    for c in data.measured("W6", data.main):
        bytes_ = [data.of(c, "W6", n) for n in sizes]
        rows.append([data.title(c), *(f"{b.median:.1f}" if b else "" for b in bytes_),
                     f"{data.of(c, 'W6', data.main).median - PAYLOAD:.1f}"])  # fmt: skip
    return table(["bytes of a timer, with so many pending", *map(power, sizes),
                  f"without the payload, {power(data.main)}"], rows)  # fmt: skip


def toleranceTable(data):
    n, rows = data.main, []
    for c in (OURS, "TimingWheel-tolerance"):
        if data.found(c, n) is None:
            continue
        counts = [1e6 * data.counted(c, f"W3 {what}", n) for what in ("cascades", "wakeUps")]
        rows.append([data.title(c), *(f"{round(count):,}" for count in counts),
                     *(cell(data.of(c, load, n)) for load in ("W2", "W3a", "W3b"))])  # fmt: skip
    return table(["", "cascades of 10⁶ timers", "wake-ups for 10⁶ timers", "W2 fill, ns",
                  "W3a by tick, ns", "W3b by jump, ns"], rows)  # fmt: skip


# ---- goals -------------------------------------------------------------------------------------


class Goals:
    """Rows of figure, asked, reached and verdict. A figure that was not measured says so."""

    def __init__(self, data):
        self.data, self.rows = data, []

    def ns(self, contender, load, pending):
        summary = self.data.of(contender, load, pending)
        return summary.median if summary else None

    def add(self, figure, asked, limit, reached, unit=" ns"):
        if limit is None or reached is None:
            self.rows.append([figure, asked, "not measured", ""])
            return
        self.rows.append([figure, asked.replace("LIMIT", number(limit) + unit),
                          f"{number(reached)}{unit}",
                          "yes" if round(reached, 2) <= limit else "**no**"])  # fmt: skip

    def timesFloor(self, figure, load, pending, factor):
        floor = self.ns(FLOOR, "W1", pending)
        self.add(f"{figure}, {power(pending)} pending", f"at most {factor} {TIMES} floor: LIMIT",
                 floor and factor * floor, self.ns(OURS, load, pending))  # fmt: skip

    def aboveFloor(self, figure, load, pending, more):
        floor = self.ns(FLOOR, load, pending)
        self.add(f"{figure}, {power(pending)} pending", f"at most floor + {more} ns: LIMIT",
                 floor and floor + more, self.ns(OURS, load, pending))  # fmt: skip

    def scaled(self, figure, contender, load, pending, most):
        floor = self.ns(FLOOR, "W1", pending)
        self.add(f"{figure}, {power(pending)} pending",
                 f"at most {most} ns {TIMES} floor / 18 ns: LIMIT", floor and most * floor / 18,
                 self.ns(contender, load, pending))  # fmt: skip


WAYS = (("W3a", "by tick"), ("W3b", "by jump"))


def goals(data):
    found, million = Goals(data), 10**6
    found.timesFloor("W1 reschedule", "W1", million, 1.3)
    found.aboveFloor("W1 reschedule", "W1", 10**5, 3)
    found.aboveFloor("W2 fill", "W2", million, 3)
    for load, way in WAYS:
        found.scaled(f"{load} expire {way}, 20 slots", OURS, load, million, 60)
        asio = found.ns("asio", load, million)
        found.add(f"{load} expire {way}, {power(million)} pending", "at most 1/4 of Asio's: LIMIT",
                  asio / 4 if asio else None, found.ns(OURS, load, million))  # fmt: skip
    for slots in (400, 512):
        for load, way in WAYS:
            found.scaled(f"{load} expire {way}, {slots} slots", f"TimingWheel-{slots}", load,
                         million, 30)  # fmt: skip
    for load, way in WAYS:
        found.scaled(f"{load} expire {way}, with tolerance", "TimingWheel-tolerance", load,
                     million, 20)  # fmt: skip
    cascades = data.counted("TimingWheel-tolerance", "W3 cascades", million)
    found.add(f"W3 with tolerance, {power(million)} pending", "no cascade", 0, cascades, " a timer")
    found.timesFloor("W4 90/10", "W4", million, 1.6)
    found.add("W5 next(), far timers", "at most 5 ns", 5, found.ns(OURS, "W5 next", data.main))
    levels = data.counted(OURS, "W5 levels", data.main)
    found.add("W5 cascades of a timer", "at most one for each level: LIMIT",
              levels - 1 if levels else None, data.counted(OURS, "W5 most", data.main), "")
    bytes_ = found.ns(OURS, "W6", million)
    found.add(f"W6 bytes of an entry, {power(million)} pending", "at most 40 bytes", 40,
              bytes_ and round(bytes_, 1), " bytes")  # fmt: skip
    if data.vast:
        found.timesFloor("W1 reschedule", "W1", data.vast, 1.5)
        peak = data.runs[data.vast]["peakBytes"] / 1e9
        found.add(f"{power(data.vast)} pending, memory of the process", "at most 5 GB", 5, peak,
                  " GB")  # fmt: skip
    return textTable(["figure", "asked", "reached", ""], found.rows)


# ---- plots -------------------------------------------------------------------------------------


def drawCurve(axes, data, contender, load):
    points = [(n, data.of(contender, load, n)) for n in data.sizes]
    points = [(n, summary) for n, summary in points if summary]
    if not points:
        return None
    tint, ours = data.colour(contender), contender == OURS
    axes.plot([n for n, _ in points], [s.median for _, s in points], color=tint, zorder=3,
              marker="o", markersize=4.5 if ours else 3.5, linewidth=2.8 if ours else 1.7,
              linestyle=(0, (2, 2)) if contender == FLOOR else "-")  # fmt: skip
    axes.fill_between([n for n, _ in points], [s.low for _, s in points],
                      [s.high for _, s in points], color=tint, alpha=0.15, linewidth=0)  # fmt: skip
    return points[-1][0], points[-1][1].median, data.title(contender), tint, ours


def curves(data, title, panels, file):
    figure, all_ = plt.subplots(1, len(panels), figsize=(6 * len(panels), 4.9), sharey=True)
    drawn = []
    for axes, (load, heading) in zip(all_, panels):
        axes.set(xscale="log", yscale="log", xlabel="timers pending", title=heading)
        axes.set_xlim(data.sizes[0] * 0.7, data.sizes[-1] * 1.4)
        ends = [drawCurve(axes, data, c, load) for c in data.contenders]
        axes.set_xticks(data.sizes, [humanCount(n) for n in data.sizes])
        axes.minorticks_off()
        drawn.append((axes, [end for end in ends if end]))
    all_[0].set_ylabel("for one timer")
    all_[0].yaxis.set_major_formatter(humanTime)
    figure.suptitle(title, x=0.01, y=0.985, ha="left", fontsize=12.5, weight="bold")
    figure.subplots_adjust(left=0.07, top=0.85, bottom=0.115, right=0.835, wspace=0.5)
    for axes, ends in drawn:
        labelEnds(axes, ends, distance=0.06)
    save(figure, file)


def bars(data, contenders, title, panels, file):
    """panels: [(heading, load)], of the main size."""
    rows = [(i, data.title(c), data.colour(c), data.ours(c)) for i, c in enumerate(contenders)]
    figure, all_ = rowAxes(rows, len(panels), title)
    for axes, (heading, load) in zip(all_, panels):
        axes.set_title(heading, fontsize=10, weight="normal")
        for (y, _, tint, ours), contender in zip(rows, contenders):
            summary = data.of(contender, load, data.main)
            if summary:
                bar(axes, y, summary, tint, ours)
        finishBars(axes)
    save(figure, file)


def plots(raw, folder):
    data = Data(raw)
    size = f"with {power(data.main)} pending"
    wheels = [c for c in data.contenders if c == FLOOR or data.ours(c)]
    bars(data, wheels, f"The wheel beside the floor, ns, {size}",
         [(heading, load) for load, heading in LOADS if load in ("W1", "W2", "W3b", "W4")],
         folder / "wheel-floor.svg")  # fmt: skip
    curves(data, "Schedule", [("W1", "W1: reschedule a random one"), ("W2", "W2: fill")],
           folder / "wheel-schedule.svg")  # fmt: skip
    curves(data, "Expire", [("W3b", "W3b: by jumps to the next expiration"),
                            ("W4", "W4: 90 % rescheduled, 10 % expire")],
           folder / "wheel-expire.svg")  # fmt: skip
    bars(data, list(data.contenders), f"Far timers, and memory {size}",
         [("far: schedule and expire, ns", "W5"), ("far: wake-ups of a timer", "W5 wakeUps"),
          ("bytes of a pending timer", "W6")], folder / "wheel-far.svg")  # fmt: skip


# ---- the page ----------------------------------------------------------------------------------


def machine(data):
    about = data.about["machine"]
    parts = [about[key] for key in ("processor", "memory", "system", "compiler")]
    parts.insert(1, f"{about['cores']} cores")
    return (f"{'; '.join(parts)}; load average {about['loadBefore']:.2f} before and "
            f"{about['loadAfter']:.2f} after.")  # fmt: skip


def usage(data):
    return textTable(["contender", "how"],
                     [[c["title"], c["usage"]] for c in data.contenders.values()])  # fmt: skip


def values(raw):
    """What the placeholders of page.md.in stand for."""
    data = Data(raw)
    return {
        "farTimers": str(FAR_TIMERS),
        "pending": power(data.main),
        "goals": goals(data),
        "sizes": sizeTables(data),
        "far": farTable(data),
        "memory": memoryTable(data),
        "tolerance": toleranceTable(data),
        "machine": machine(data),
        "usage": usage(data),
    }
