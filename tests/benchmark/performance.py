"""docs/performance.md: what a timer and the wheel alone cost, beside what people use."""

from about import Page
from markdown import table, textTable
from measure import Measurement, conduct
from tables import Column, measuredTable, number, power

OURS, HOOKS, BATCHES, WHEEL = "SystemTimer", "SystemTimerHooks", "SystemTimerBatches", "TimingWheel"
OTHERS = ("Multimap", "Asio", "libevent", "libuv", "Netty", "Kafka", "JDK")
TIMERS = (OURS, HOOKS, "HashedWheelTimer", *OTHERS)
OTHER_WHEELS = ("TimingWheel-256", "TimingWheel-huge")
WHEELS = ("floor", WHEEL, *OTHER_WHEELS, "multimap", "ratas", "seastar")
NO_RIVALS = (OURS, WHEEL, HOOKS, BATCHES, *OTHER_WHEELS, "floor")
LOADS = ("W1", "W1b", "W2", "W3a", "W3b", "W4", "W5", "W5b")
VAST = 10**8
SIZES = {  # rounds, milliseconds for each, expiring, far, late, pending; of the wheel alone
    "full": (9, 200, 500_000, 1_000_000, 1_000, (10**2, 10**4, 10**6), (10**4, 10**6)),
    "quick": (3, 30, 50_000, 100_000, 300, (10**2, 10**4), (10**3, 10**5)),
    "smoke": (1, 5, 1_000, 1_000, 20, (10**2,), (100, 40_000)),
}


def measurements(size, vast):
    _, budget, expiring, far, late, pending, wheel = SIZES[size]
    connections, few = (1_000, {"operations": 1_000}) if size == "smoke" else (100_000, {})
    for load, count in (("pair", 1_000), ("heartbeat", connections)):
        for threads in (1, 2):
            options = {"count": count, "threads": threads, "budget-ms": budget}
            yield Measurement(f"{load}-{threads}", load, options)
    for delays in ("random", "shorter"):
        for count in pending:
            options = {"count": count, "delays": delays, "budget-ms": budget // 2}
            yield Measurement(f"{delays}-{count}", "curve", options)
    together = ((load, expiring) for load in ("expiry", "burst", "storm"))
    for load, count in (*together, ("far", far), ("idle", 1), ("late", late)):
        yield Measurement(load, load, {"count": count, "budget-ms": 3 * budget})
    for count in wheel:
        yield Measurement(f"wheel-{count}", "wheel", {"count": count, "seed": 1, **few})
    if vast:
        yield Measurement(f"wheel-{VAST}", "wheel", {"count": VAST, "seed": 1},
                          who=("floor", WHEEL), rounds=3)  # fmt: skip


def measure(run, options):
    sizes = SIZES[options.size]
    page = Performance({"sizes": sizes})
    columns = [*page.timerColumns, *(one for n in (*page.wheel, VAST) for one in wheelColumns(n))]
    claimed = {(one.measurement, one.metric) for one in columns if not one.isRanged}
    plan = list(measurements(options.size, options.vast))
    cells, known = conduct(run, options, plan, sizes[0], options.java, claimed)
    return run.record(sizes[0], cells, contenders=known, sizes=sizes)


def wheelColumns(count):
    isVast = count == VAST  # in few rounds
    return [*(Column(load, f"wheel-{count}", load, isRanged=isVast) for load in LOADS),
            Column("memory", f"wheel-{count}", "W6", "bytes")]  # fmt: skip


class Performance(Page):
    def __init__(self, record):
        super().__init__(record)
        _, _, self.expiring, self.far, self.late, self.pending, self.wheel = record["sizes"]
        self.costs = [
            Column("schedule and cancel, one thread", "pair-1", "ns"),
            Column("schedule and cancel, two threads", "pair-2", "ns", isRanged=True),
            Column("push back, one thread", "heartbeat-1", "ns", isRanged=True),
            Column("push back, two threads", "heartbeat-2", "ns", isRanged=True),
            Column("expire", "expiry", "cpuNs", isRanged=True),
            Column("expire at once", "burst", "cpuNs", isRanged=True),
            Column("schedule meanwhile, 99 of 100", "storm", "p99Us", "µs", isRanged=True),
            Column("schedule meanwhile, 999 of 1,000", "storm", "p999Us", "µs", isRanged=True),
        ]
        self.withMany = [Column(f"{words}, {power(n)}", f"{delays}-{n}", "ns")
                         for words, delays in (("random", "random"), ("short", "shorter"))
                         for n in self.pending]  # fmt: skip
        self.whileWaiting = [
            Column("memory of a timeout", "far", "bytes", "bytes"),
            Column("load", "far", "cpuPercent", "% of a core", isRanged=True),
            Column("wake-ups a second", "idle", "wakeUpsPerSecond", "of one", isRanged=True),
            Column("late, half of them", "late", "medianUs", "µs", isRanged=True),
            Column("late, 99 of 100", "late", "p99Us", "µs", isRanged=True),
            Column("early", "late", "earlyPercent", "%", isRanged=True),
        ]
        self.timerColumns = [*self.costs, *self.withMany, *self.whileWaiting]

    def title(self, who):
        return self.record["contenders"][who][0]

    def table(self, rows, columns):
        return measuredTable(self.record, "", rows, columns, self.title)

    def cost(self):
        return self.table(TIMERS, self.costs)

    def curves(self):
        return self.table((OURS, HOOKS, BATCHES, *TIMERS[2:]), self.withMany)

    def waiting(self):
        return self.table(TIMERS, self.whileWaiting)

    def wheels(self):
        parts = []
        for count in (*self.wheel, VAST):
            rows = WHEELS if count != VAST else ("floor", WHEEL)
            if f"wheel-{count}" in self.record["cells"]:
                parts += [f"With {power(count)} pending:", self.table(rows, wheelColumns(count))]
        return "\n\n".join(parts)

    def figures(self):
        """Of each column: its words, itself, who it is about, and whom that is compared to."""
        for column in self.timerColumns:
            words = "schedule and cancel, {} pending" if column in self.withMany else "{}"
            yield words.format(column.heading), column, OURS, TIMERS
        for count in self.wheel:
            for column in wheelColumns(count):
                words = f"the wheel alone, {power(count)} pending: {column.heading}"
                yield words, column, WHEEL, WHEELS

    def worse(self):
        """Every column in which somebody needs less than the library does, beyond the noise. Less
        than nothing is early, and not better."""
        rows = []
        for words, column, ours, all_ in self.figures():
            mine = column.of(self.record, ours)
            less = sorted((found, self.title(who)) for who in all_ if who not in NO_RIVALS
                          and (found := column.of(self.record, who))
                          and 0 <= found[0] < 0.98 * mine[0] and found[2] < mine[1])  # fmt: skip
            if less:
                rows.append([words, f"{number(mine[0])} {column.unit}",
                             ", ".join(f"{title} {number(found[0])}"
                                       for found, title in less)])  # fmt: skip
        return textTable(["figure", "this library", "less, beyond the noise"], rows) if rows \
            else "In none of the figures."  # fmt: skip

    def contenders(self):
        known = self.record["contenders"]
        order = (*TIMERS, BATCHES, *WHEELS)
        return textTable(["", "used as"], [known[who] for who in order if who in known])

    def readme(self):
        """What a user of C++ compares, of the same run."""
        columns = *self.costs[:4], self.whileWaiting[0]
        rows = [[self.title(who), *(number(found[0]) if found else ""
                                    for found in (one.of(self.record, who) for one in columns))]
                for who in (OURS, HOOKS, "Multimap", "libevent", "libuv", "Asio")]  # fmt: skip
        quick = ", a quick run" if self.record["size"] == "quick" else ""
        heads = (f"{one.heading}, {one.unit}" for one in columns)
        return table([f"on {self.record['machine']['cores']} cores{quick}", *heads], rows)
