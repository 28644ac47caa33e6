"""What the chapter about the wheel alone measures: with several numbers pending."""

from measure import Measurement, Plan

VAST = 10**8  # takes 5 GB; only the floor and the wheel take part
SIZES = {
    "full": [(10**2, 9), (10**3, 9), (10**4, 9), (10**5, 15), (10**6, 9), (10**7, 3)],
    "quick": [(10**2, 3), (10**3, 3), (10**5, 3), (10**6, 1)],
    "smoke": [(100, 1), (40_000, 1)],
}
KINDS = ["floor", "wheel", "rival"]


def measurementOf(load):
    """Where what was measured of a load is found."""
    return "far" if load.startswith("W5") else "wheel"


def of(pending, rounds, who=None, isFar=False, **more):
    """All loads with so many pending, and far timers; then what is the same in every round."""
    options = {"count": pending, "seed": 1, **more}
    yield Measurement("wheel", "wheel", options, who=who, rounds=rounds)
    if isFar:
        yield Measurement("far", "far", options, who=who, rounds=rounds)
    # For so many it would need four bytes for each, to count what fewer show as well.
    if pending < VAST:
        yield Measurement("counts", "counts", options, who=who, rounds=1)


def planOf(measurements):
    return Plan(
        "queues", max(m.rounds for m in measurements), measurements,
        takesPart=lambda contender: "wheel" in contender["loads"],
        first=lambda contender: KINDS.index(contender["kind"]),
    )  # fmt: skip


def plan(options):
    few = {"operations": 1_000} if options.size == "smoke" else {}
    measurements = []
    for pending, rounds in SIZES[options.size]:
        # Far timers are a hundred, however many are pending otherwise.
        isFar = pending == SIZES[options.size][0][0]
        measurements += of(pending, options.rounds or rounds, isFar=isFar, **few)
    if options.vast:
        measurements += of(VAST, 3, who=("floor", "TimingWheel"))
    made = planOf(measurements)
    if options.rounds and options.rounds < 5:
        made.finish = lambda run: {**run, "size": "quick"}
    return made
