"""docs/performance.md: what a timer and the wheel alone cost, beside what people use."""

from markdown import table, textTable
from measure import Measurement, conduct
from tables import Column, Wrong, isApart, measuredTable, number, power

OURS, WHEEL, HOOKS = "SystemTimer", "TimingWheel", "SystemTimerHooks"
TIMERS = (OURS, HOOKS, "HashedWheelTimer", "Multimap", "Asio", "libevent", "libuv", "Netty",
          "Kafka", "JDK")  # fmt: skip
WHEELS = ("floor", WHEEL, "TimingWheel-256", "multimap", "ratas", "seastar")
LOADS = ("W1", "W2", "W3a", "W3b", "W4")
VAST = 10**8
SIZES = {  # rounds, milliseconds for each, expiring, far, late, pending; of the wheel alone
    "full": (9, 200, 500_000, 1_000_000, 1_000, (10**2, 10**4, 10**6), (10**4, 10**6)),
    "quick": (3, 30, 50_000, 100_000, 300, (10**2, 10**4), (10**3, 10**5)),
    "smoke": (1, 5, 1_000, 1_000, 20, (10**2,), (100, 40_000)),
}


def measurements(size, vast):
    _, budget, expiring, far, late, pending, wheel = SIZES[size]
    connections = 1_000 if size == "smoke" else 100_000
    yield from (Measurement(f"pair-{threads}", "pair",
                            {"count": 1_000, "threads": threads, "budget-ms": budget})
                for threads in (1, 2))  # fmt: skip
    yield from (Measurement(f"heartbeat-{threads}", "heartbeat",
                            {"count": connections, "threads": threads, "budget-ms": budget})
                for threads in (1, 2))  # fmt: skip
    yield from (Measurement(f"{delays}-{count}", "curve",
                            {"count": count, "delays": delays, "budget-ms": budget // 2})
                for delays in ("random", "shorter") for count in pending)  # fmt: skip
    yield Measurement("expiry", "expiry", {"count": expiring})
    yield Measurement("far", "far", {"count": far, "budget-ms": 3 * budget})
    yield Measurement("idle", "idle", {"count": 1, "budget-ms": 3 * budget})
    yield Measurement("late", "late", {"count": late, "budget-ms": 3 * budget})
    few = {"operations": 1_000} if size == "smoke" else {}
    for count in wheel:
        yield Measurement(f"wheel-{count}", "wheel", {"count": count, "seed": 1, **few})
    if vast:
        yield Measurement(f"wheel-{VAST}", "wheel", {"count": VAST, "seed": 1},
                          who=("floor", WHEEL), rounds=3)  # fmt: skip


def measure(run, options):
    rounds = options.rounds or SIZES[options.size][0]
    paths = [options.programs / f"timingwheel-benchmark-{name}" for name in ("timers", "queues")]
    page = Page({"sizes": SIZES[options.size]})
    columns = [*page.cost, *page.curves, *page.waiting,
               *(column for count in (*page.wheel, VAST) for column in page.wheelColumns(count))]
    claimed = {(one.measurement, one.metric) for one in columns if not one.isRanged}
    cells, known = conduct(run, paths, list(measurements(options.size, options.vast)), rounds,
                           options.build, options.java, claimed)  # fmt: skip
    return run.record(rounds, cells, contenders=known, sizes=SIZES[options.size])


# ---- the page ----------------------------------------------------------------------------------


class Page:
    def __init__(self, record):
        self.record = record
        _, _, self.expiring, self.far, self.late, self.pending, self.wheel = record["sizes"]
        self.cost = [
            Column("schedule and cancel, one thread", "pair-1", "ns"),
            Column("schedule and cancel, two threads", "pair-2", "ns"),
            Column("push back, one thread", "heartbeat-1", "ns"),
            Column("push back, two threads", "heartbeat-2", "ns"),
            Column("expire", "expiry", "cpuNs"),
        ]
        self.curves = [Column(f"{words}, {power(n)}", f"{delays}-{n}", "ns")
                       for words, delays in (("random", "random"), ("short", "shorter"))
                       for n in self.pending]  # fmt: skip
        self.waiting = [
            Column("memory of a timeout", "far", "bytes", "bytes"),
            Column("load", "far", "cpuPercent", "% of a core", isRanged=True),
            Column("wake-ups a second", "idle", "wakeUpsPerSecond", "of one", isRanged=True),
            Column("late, half of them", "late", "medianUs", "µs", isRanged=True),
            Column("late, 99 of 100", "late", "p99Us", "µs", isRanged=True),
            Column("early", "late", "earlyPercent", "%", isRanged=True),
        ]

    def title(self, who):
        return self.record["contenders"][who][0]

    def table(self, rows, columns):
        return measuredTable(self.record, "", rows, columns, self.title)

    def wheelColumns(self, count):
        return [*(Column(load, f"wheel-{count}", load) for load in LOADS),
                Column("memory", f"wheel-{count}", "W6", "bytes")]  # fmt: skip

    def wheels(self):
        parts = []
        for count in (*self.wheel, VAST):
            rows = WHEELS if count != VAST else ("floor", WHEEL)
            if f"wheel-{count}" in self.record["cells"]:
                parts += [f"With {power(count)} pending:",
                          self.table(rows, self.wheelColumns(count))]  # fmt: skip
        return "\n\n".join(parts)

    def worse(self):
        """Every column in which somebody needs less than the library does, beyond the noise. Less
        than nothing is early, and not better."""
        rows = []
        wheel = [(column, f"the wheel alone, {power(count)} pending: {column.heading}")
                 for count in self.wheel for column in self.wheelColumns(count)]  # fmt: skip
        timers = [(column, column.heading if column not in self.curves
                   else f"schedule and cancel, {column.heading} pending")
                  for column in (*self.cost, *self.curves, *self.waiting)]  # fmt: skip
        for ours, all_, columns in ((OURS, TIMERS, timers), (WHEEL, WHEELS, wheel)):
            for column, words in columns:
                mine = column.of(self.record, ours)
                less = [(column.of(self.record, who), who) for who in all_
                        if who not in (ours, HOOKS, "TimingWheel-256", "floor")]  # fmt: skip
                less = sorted((found, who) for found, who in less
                              if found and isApart(found, mine)
                              and 0 <= found[0] < 0.98 * mine[0])  # fmt: skip
                if less:
                    rows.append([words, f"{number(mine[0])} {column.unit}",
                                 ", ".join(f"{self.title(who)} {number(found[0])}"
                                           for found, who in less)])  # fmt: skip
        return textTable(["figure", "this library", "less, beyond the noise"], rows) if rows \
            else "In none of the figures."  # fmt: skip

    def contenders(self):
        return textTable(["", "used as"], [list(self.record["contenders"][who])
                                           for who in (*TIMERS, *WHEELS)
                                           if who in self.record["contenders"]])  # fmt: skip

    def values(self):
        return {
            "worse": self.worse, "contenders": self.contenders, "wheels": self.wheels,
            "cost": lambda: self.table(TIMERS, self.cost),
            "curves": lambda: self.table([who for who in TIMERS if who != HOOKS], self.curves),
            "waiting": lambda: self.table(TIMERS, self.waiting),
            "far": lambda: f"{self.far:,}",
            "late": lambda: f"{self.late:,}",
            "expiring": lambda: f"{self.expiring:,}",
        }  # fmt: skip

    def readme(self):
        """Three figures, of the same run."""
        rows = []
        for what, column in (
            ("schedule and cancel a request's timeout, two threads", self.cost[1]),
            ("push an idle timeout back, two threads", self.cost[3]),
            (f"wait for {self.far:,} timers an hour away", self.waiting[1]),
        ):
            mine = column.of(self.record, OURS)
            others = sorted((column.of(self.record, who)[0], self.title(who))
                            for who in ("Multimap", "Asio", "libevent", "libuv", "Netty", "Kafka",
                                        "JDK") if column.of(self.record, who))  # fmt: skip
            if mine is None or not others:
                raise Wrong(f"README.md: there is no number of: {what}")
            (least, best), (most, worst) = others[0], others[-1]
            rows.append([what, f"**{number(mine[0])} {column.unit}**",
                         f"{number(least)} ({best}) to {number(most)} ({worst})"])  # fmt: skip
        cores = self.record["machine"]["cores"]
        quick = ", a quick run" if self.record["size"] == "quick" else ""
        return table([f"on {cores} cores{quick}", OURS, "others"], rows)


def render(record):
    """{placeholder: value} of the page, and {page: text} of the parts of others."""
    page = Page(record)
    return page.values(), {"README.md": page.readme}
