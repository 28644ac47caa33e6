"""What the chapter about timers measures: loads that a server puts on a timer."""

import many
import punctual
from measure import Measurement, Plan

OURS = ("SystemTimer", "SystemTimerHooks")
MANUAL = ("ManualTimer", "ManualTimerHooks")
LOOPS = ("Asio", "libuv", "libevent", "libev")
JAVA = ("Netty-4.2", "JdkTimer")
FINE_TICKS = ("SystemTimer", "SystemTimerSpin")  # those that can have a tick below 1 ms

UNDER_WAY = 1_000  # requests, in each thread

SIZES = {
    "full": {"rounds": 11, "budget": 200, "connections": (100_000, 1_000_000),
             "together": 1_000_000, "late": 1_000, "span": 700},
    "quick": {"rounds": 3, "budget": 30, "connections": (10_000, 100_000), "together": 100_000,
              "late": 300, "span": 300},
    "smoke": {"rounds": 1, "budget": 5, "connections": (1_000, 2_000), "together": 1_000,
              "late": 20, "span": 20},
}  # fmt: skip


def heartbeats(size):
    """With few and many connections, by one thread and by two."""
    few, many = size["connections"]
    everyone = (*OURS, *MANUAL, "HashedWheelTimer", "Heap", *LOOPS)
    # To schedule a million first takes longer than to measure.
    fewer = (*OURS, *MANUAL, "HashedWheelTimer", "Heap", "libevent")
    for name, count, who in (("", few, everyone), ("-many", many, fewer)):
        for threads, suffix in ((1, ""), (2, "-2")):
            options = {"count": count, "threads": threads, "budget-ms": size["budget"]}
            yield Measurement(f"heartbeat{name}{suffix}", "heartbeat", options, who=who)
            yield Measurement(f"heartbeat{name}{suffix}-batch", "heartbeat-batch", options,
                              who=OURS)  # fmt: skip


def asked(size):
    budget = size["budget"]
    threaded = (*OURS, "HashedWheelTimer", "Heap", *LOOPS)
    late = {"count": size["late"], "budget-ms": size["span"]}
    return [
        *(Measurement(part, part, {"budget-ms": budget // 4})
          for part in ("clock", "lock", "allocation")),
        Measurement("pair", "pair", {"count": UNDER_WAY, "threads": 1, "budget-ms": budget},
                    who=(*threaded, *MANUAL, "Multimap", *JAVA)),
        Measurement("pair-2", "pair", {"count": UNDER_WAY, "threads": 2, "budget-ms": budget},
                    who=(*threaded, "Multimap", *JAVA)),
        Measurement("pair-at-once", "pair", {"count": 1, "budget-ms": budget // 2},
                    who=(*threaded, *MANUAL, *JAVA)),
        *heartbeats(size),
        Measurement("mixed", "mixed", {"threads": 2, "budget-ms": budget}, who=threaded),
        Measurement("bulk", "bulk", {"count": size["together"]}, who=(*threaded, *MANUAL, *JAVA)),
        Measurement("storm", "storm", {"count": size["together"]}, who=threaded),
        Measurement("memory", "far", {"count": size["together"] // 10, "budget-ms": 10},
                    who=("SystemTimer",)),
        Measurement("empty", "empty", {"count": 20}, who=("SystemTimer",)),
        Measurement("late", "late", {"tick-us": 1_000, **late},
                    who=(*FINE_TICKS, "HashedWheelTimer", "Heap", *LOOPS)),
        Measurement("late-250", "late", {"tick-us": 250, **late}, who=FINE_TICKS),
        Measurement("late-50", "late", {"tick-us": 50, **late}, who=FINE_TICKS),
    ]  # fmt: skip


def warmUps(size):
    """Of which the Java compiler needs some."""
    together = size["together"] // 10
    return [
        Measurement("", "pair", {"threads": 1, "budget-ms": 2 * size["budget"]}, who=JAVA),
        Measurement("", "bulk", {"count": together}, who=JAVA),
    ]


def plan(options):
    smoke, size = options.size == "smoke", SIZES[options.size]
    measurements = [*asked(size), *many.measurements(options.size),
                    *punctual.measurements(options.size, spins=True)]  # fmt: skip
    who = {contender for m in measurements if m.who for contender in m.who} | {"ClockRead"}
    for measurement in measurements if smoke else []:  # everybody with every load
        measurement.who = None
    return Plan(
        "timers", options.rounds or size["rounds"], measurements,
        warmUps=() if smoke else warmUps(size),
        takesPart=lambda contender: smoke or contender["id"] in who,
        first=lambda contender: contender["id"] != "SystemTimer",
        hasJava=True,
        # Nothing big is downloaded unasked: they are there once ./dev bench compare has run.
        jars=options.build.parent / "compare" / "jars",
    )  # fmt: skip
