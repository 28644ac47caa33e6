"""Pairs and push-backs among many, at random: one by one, from a coarse clock, and in batches.
"""

from markdown import table
from measure import Measurement
from tables import cell

TICK = 10_000  # microseconds: a coarse clock is for such ticks
BATCHED = ("SystemTimer", "SystemTimerHooks")
COARSE = ("SystemTimerCoarse", "SystemTimerHooksCoarse")
# The load, and what stands in the table: who does it, and in which way.
LOADS = (("answers", "cancel and schedule"), ("heartbeat", "push back"))
ROWS = (("handles, one by one", "SystemTimer", ""),
        ("handles, coarse clock", "SystemTimerCoarse", ""),
        ("handles, in batches", "SystemTimer", "-batch"),
        ("hooks, one by one", "SystemTimerHooks", ""),
        ("hooks, coarse clock", "SystemTimerHooksCoarse", ""),
        ("hooks, in batches", "SystemTimerHooks", "-batch"))  # fmt: skip
SIZES = {
    "full": {"counts": (1_000, 100_000, 1_000_000), "budget": 200, "rounds": 5},
    "quick": {"counts": (1_000, 100_000), "budget": 30, "rounds": 3},
    "smoke": {"counts": (1_000, 2_000), "budget": 5, "rounds": 1},
}


def measurements(size):
    size = SIZES[size]
    for count in size["counts"]:
        options = {"count": count, "tick-us": TICK, "budget-ms": size["budget"]}
        for load, _ in LOADS:
            yield Measurement(f"many-{load}", load, options, who=(*BATCHED, *COARSE),
                              rounds=size["rounds"])  # fmt: skip
            yield Measurement(f"many-{load}-batch", f"{load}-batch", options, who=BATCHED,
                              rounds=size["rounds"])  # fmt: skip


def manyTable(data):
    counts = data.counts("many-heartbeat")
    rows = [[words, *(cell(data.of(f"many-{load}{way}", contender, "ns", count), "-")
                      for load, _ in LOADS for count in counts)]
            for words, contender, way in ROWS]  # fmt: skip
    head = ["", *(f"{words}, {count:,}, ns" for _, words in LOADS for count in counts)]
    return table(head, rows)
