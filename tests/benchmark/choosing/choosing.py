"""What docs/choosing.md measures: what each tick and wheelSize costs, for timeouts of five kinds.

Scripts of timeouts are played to every timer. What can be counted is counted once, in the script's
time, and is the same each time; processor time is taken in every round.
"""

import punctual
from measure import Measurement, Plan

MS, S, MIN, H = 10**6, 10**9, 60 * 10**9, 3600 * 10**9  # in nanoseconds

MIXES = [
    {"id": "pacing", "name": "media pacing", "title": "media, pacing",
     "shortestNs": 5 * MS, "longestNs": 20 * MS, "spanNs": S},
    {"id": "requests", "name": "request timeouts", "title": "request timeouts",
     "shortestNs": 100 * MS, "longestNs": 30 * S, "spanNs": 30 * S,
     "cancelledPercent": 99, "answeredWithinNs": 80 * MS},
    {"id": "idle", "name": "idle connections", "title": "heartbeats, idle connections",
     "shortestNs": MIN, "longestNs": 5 * MIN, "spanNs": 5 * MIN, "pushBacks": 10},
    {"id": "orders", "name": "orders", "title": "orders",
     "shortestNs": 30 * MIN, "longestNs": 30 * MIN, "spanNs": 30 * MIN},
    {"id": "sessions", "name": "sessions", "title": "sessions, leases",
     "shortestNs": H, "longestNs": 24 * H, "spanNs": 24 * H},
]  # fmt: skip
TICKS = [MS // 20, MS, 10 * MS, 100 * MS, S]
WHEEL_SIZES = [8, 20, 64, 256, 512, 4096]
DEFAULT_WHEEL_SIZE, TENTH = 20, 10
SIZES = {  # rounds; few, some and many timers; the numbers with which heaps are measured
    "full": (9, (1_000, 100_000, 1_000_000), (10, 100, 1_000, 10_000, 100_000)),
    "quick": (5, (100, 10_000, 100_000), (10, 100, 1_000, 10_000)),
    "smoke": (2, (10, 100, 1_000), (10, 100)),
}
CONTENDERS = {"levelled": "ManualTimer", "bare": "TimingWheel", "flat": "HashedWheel",
              "heap": "priority_queue", "tree": "multimap"}  # fmt: skip
MIX = ("shortestNs", "longestNs", "spanNs", "cancelledPercent", "answeredWithinNs", "pushBacks")


def described(mix):
    """With all that a mix has, and the coarsest tick measured that makes no timeout late by more
    than a hundredth of its delay."""
    fitting = max((tick for tick in TICKS if tick <= mix["shortestNs"] // 100), default=TICKS[0])
    return {**dict.fromkeys(MIX, 0), **mix, "fittingTickNs": fitting}


class Runs:
    """What is measured, each once: {(kind, mix, tick, wheelSize, tolerance, count): whether its
    time is taken}"""

    def __init__(self):
        self.timed = {}

    def add(self, kind, mix, count, setting=(0, 0), tolerance=0, isTimed=True):
        key = (kind, mix, *setting, tolerance, count)
        self.timed[key] = self.timed.get(key, False) or isTimed

    def addWheelSizes(self, kind, mix, count, tolerance=0, isTimed=True):
        """All wheel sizes with the tick that fits."""
        for wheelSize in WHEEL_SIZES:
            self.add(kind, mix["id"], count, (mix["fittingTickNs"], wheelSize), tolerance, isTimed)

    def addCross(self, mix, count, tolerance=0, isTimed=True):
        """Those, and all ticks with the default wheel size."""
        self.addWheelSizes("levelled", mix, count, tolerance, isTimed)
        for tick in TICKS:
            self.add("levelled", mix["id"], count, (tick, DEFAULT_WHEEL_SIZE), tolerance, isTimed)

    def addMistakes(self, some):
        """What somebody might choose by mistake."""
        for mix, tick, wheelSize in (("requests", MIN, DEFAULT_WHEEL_SIZE),
                                     ("sessions", MS // 1_000, DEFAULT_WHEEL_SIZE),
                                     ("sessions", MS, 8), ("orders", MS, 1_048_576)):  # fmt: skip
            self.add("levelled", mix, some, (tick, wheelSize))
        self.add("flat", "orders", min(some, 10_000), (100 * MS, 8))


def runsOf(mixes, counts, forHeaps):
    few, some, many = counts
    runs = Runs()
    for mix in mixes:
        for tick in TICKS:
            for wheelSize in WHEEL_SIZES:
                runs.add("levelled", mix["id"], some, (tick, wheelSize))
        runs.addCross(mix, some, TENTH)
        runs.addCross(mix, few, isTimed=False)
        runs.addCross(mix, many, isTimed=False)
        # A HashedWheelTimer's tick is 1 ms at least; 100 ms and 512 slots are its defaults.
        for tick in (max(MS, mix["fittingTickNs"]), 100 * MS):
            runs.add("flat", mix["id"], some, (tick, 512))
        for count in forHeaps:
            runs.addWheelSizes("levelled", mix, count)
            runs.addWheelSizes("bare", mix, count)
            runs.add("heap", mix["id"], count)
            runs.add("tree", mix["id"], count)
    runs.addMistakes(some)
    return runs.timed


def measurement(key, load, mixes, rounds=None):
    kind, mix, tick, wheelSize, tolerance, count = key
    options = {"count": count, "seed": 1,
               "mix": " ".join(str(mixes[mix][part]) for part in MIX)}  # fmt: skip
    if tick:
        options |= {"tick-us": tick // 1_000, "wheel-size": wheelSize,
                    "tolerance-divisor": tolerance}  # fmt: skip
    name = " ".join(map(str, (load, *key)))
    return Measurement(name, load, options, who=(CONTENDERS[kind],), rounds=rounds)


def rowsOf(run, timed):
    """A row for each run; see rows.py."""
    values = {}
    for sample in run["samples"]:
        values.setdefault(sample["measurement"], []).append(sample["values"])
    for key, isTimed in timed.items():
        name = " ".join(map(str, key))
        counted = [{what: int(value) for what, value in found.items() if what != "cpuNs"}
                   for found in values[f"replay-counts {name}"]]  # fmt: skip
        for again in counted[1:]:  # all but what the allocator adds
            assert {**again, "bytes": 0} == {**counted[0], "bytes": 0}, f"{name}: not the same"
        names = ("kind", "mix", "tickNs", "wheelSize", "toleranceDivisor", "count")
        row = {**dict(zip(names, key)), **counted[0]}
        if isTimed:
            row["cpuNs"] = [found["cpuNs"] for found in values[f"replay {name}"]]
        yield row


def plan(options):
    rounds, counts, forHeaps = SIZES[options.size]
    mixes = {mix["id"]: described(mix) for mix in MIXES}
    timed = runsOf(mixes.values(), counts, forHeaps)
    smoke = options.size == "smoke"
    measurements = [
        Measurement("wake-up", "wake-up", {"count": 10 if smoke else 500}),
        *(measurement(key, "replay", mixes) for key, isTimed in timed.items() if isTimed),
        *(measurement(key, "replay-counts", mixes, rounds=2 if smoke else 1) for key in timed),
        *punctual.measurements(options.size),
    ]

    def finish(run):
        return {
            **{what: value for what, value in run.items() if what != "samples"},
            "seed": 1,
            "counts": counts,
            "mixes": list(mixes.values()),
            "runs": list(rowsOf(run, timed)),
            "wakeUpNs": [sample["values"]["ns"] for sample in run["samples"]
                         if sample["measurement"] == "wake-up"],
            "contenders": [c for c in run["contenders"] if c["program"] == "timers"],
            "samples": [sample for sample in run["samples"]
                        if sample["measurement"].startswith("punctual-")],
        }  # fmt: skip

    return Plan("queues timers", rounds, measurements, finish=finish)
