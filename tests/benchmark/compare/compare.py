"""What docs/comparison.md measures: SystemTimer and its rivals under the same loads."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "page"))
from jvm import fetchJars  # noqa: E402, F401  (tests/differential takes it from here)
from measure import Measurement, Plan  # noqa: E402
from punctual import measurements as punctuality  # noqa: E402


def curves(delays, counts, budget):
    for count in counts:
        options = {"count": count, "budget-ms": budget, "delays": delays}
        # Filling a multimap with ten million takes half a minute.
        yield Measurement(f"curve-{delays}", "curve", options, every=4 if count > 10**6 else 1)


def warmUps(size):
    """So that the Java compiler is done by then."""
    budget = 100 if size == "full" else 30
    return [
        Measurement("", "pair", {"threads": 1, "budget-ms": budget}),
        Measurement("", "curve", {"count": 10_000, "budget-ms": budget}),
        Measurement("", "curve", {"count": 10_000, "budget-ms": budget, "delays": "same"}),
        Measurement("", "expiry", {"count": 100_000 if size == "full" else 20_000}),
    ]


def plan(options):
    size = options.size
    rounds, budget, pairBudget, watch, expiring, far, late, threads = {
        "full": (9, 120, 250, 700, 500_000, 1_000_000, 1_000, 10_000),
        "quick": (3, 20, 50, 300, 50_000, 100_000, 300, 1_000),
        "smoke": (1, 5, 5, 50, 1_000, 1_000, 20, 100),
    }[size]
    top = {"full": 7, "quick": 5, "smoke": 3}[size]
    span = {"full": 700, "quick": 400, "smoke": 20}[size]
    measurements = [
        Measurement("pair", "pair", {"count": 1_000, "threads": 1, "budget-ms": pairBudget}),
        Measurement("pair-2", "pair", {"count": 1_000, "threads": 2, "budget-ms": pairBudget}),
        *curves("random", [10**e for e in range(2, top + 1)], budget),
        *curves("shorter", [10**e for e in range(2, min(top, 6) + 1)], budget),
        *curves("same", [10**e for e in range(2, min(top, 6) + 1, 2)], budget),
        Measurement("expiry", "expiry", {"count": expiring}),
        Measurement("far", "far", {"count": far, "budget-ms": watch}),
        Measurement("idle", "idle", {"count": 1, "budget-ms": watch}),
        Measurement("late-1", "late", {"count": late, "tick-us": 1_000, "budget-ms": span}),
        Measurement("late-100", "late",
                    {"count": late, "tick-us": 100_000, "budget-ms": span}, needsTick=True),
        Measurement("empty", "empty", {"count": 16}),
        Measurement("resident", "resident", {"count": threads, "budget-ms": watch}),
    ]  # fmt: skip
    measurements += punctuality(size)
    return Plan(
        "timers", options.rounds or rounds, measurements,
        warmUps=() if size == "smoke" else warmUps(size),
        takesPart=lambda contender: not contender.get("variant"),
        # The one that all are compared with comes first.
        first=lambda contender: contender["id"] != "SystemTimer",
        hasJava=True,
    )  # fmt: skip
