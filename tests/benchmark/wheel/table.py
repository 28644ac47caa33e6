"""./dev bench wheel: the wheel alone, with as many timers as one likes, as a table."""

import json
import sys
import tempfile
from pathlib import Path

from measure import Measurement, conduct, listed
from results import Data
from wheel import measurementOf, of, planOf

LOADS = [("W1", "W1 reschedule"), ("W2", "W2 fill"), ("W2 first", "W2 first fill"),
         ("W3a", "W3a by tick"),
         ("W3b", "W3b by jump"), ("W4", "W4 90/10"), ("W7", "W7 short"), ("next", "next()"),
         ("W5 next", "W5 next()"), ("W5", "W5 far"), ("W6", "W6 bytes")]  # fmt: skip


def wanted(options):
    """The floor is always measured: the others are compared with it."""
    program = options.programs / "timingwheel-benchmark-queues"
    known = [contender["id"] for contender in listed(program) if "wheel" in contender["loads"]]
    return tuple(id_ for id_ in known if id_ == "floor" or not options.only
                 or any(id_ == name if name in known else name in id_ for name in options.only))


def print_(options, data):
    print(f"pending {options.pending}, wheel size {options.wheel_size}, {options.rounds} rounds; "
          "ns per operation (x the floor)")  # fmt: skip
    for load, heading in LOADS:
        print(heading)
        # Nothing expires on the floor: what expires is compared with a move.
        floor = (data.of("wheel", "floor", load) or data.of("wheel", "floor", "W1")).median
        for contender in data.contenders:
            if found := data.of(measurementOf(load), contender, load):
                print(f"    {data.title(contender):26}{found.median:10.1f} "
                      f"[{found.low:.1f}, {found.high:.1f}] ({found.median / floor:.2f})")
    print("cascades and wake-ups, of a timer")
    for contender in data.measured("counts"):
        counts = [f"{load} " + ", ".join(
            f"{data.of('counts', contender, f'{load} {what}').median:.2f}"
            for what in ("cascades", "wakeUps")) for load in ("W3", "W5")]  # fmt: skip
        print(f"    {data.title(contender):26}{'; '.join(counts)}")
    peak = max(sample["values"].get("peakBytes", 0) for sample in data.run["samples"])
    print(f"at most {peak / 1e6:.1f} MB of memory")


def main(options):
    more = {"operations": options.operations, "wheel-size": options.wheel_size,
            "seed": options.seed}  # fmt: skip
    measurements = list(
        of(options.pending, options.rounds, who=wanted(options), isFar=True, **more)
    )
    if options.check:
        measurements = [Measurement("check", "check", measurements[0].options,
                                    who=measurements[0].who, rounds=1)]  # fmt: skip
    with tempfile.TemporaryDirectory() as folder:
        options.build, options.size, options.command = Path(folder), "full", "./dev bench wheel"
        run, problems = conduct(planOf(measurements), options)
    if problems:
        sys.exit("\n".join(problems))
    if options.check:
        print("\n".join(sample["contender"] for sample in run["samples"]))
        return
    print_(options, Data(run))
    if options.json:
        options.json.write_text(json.dumps(run, indent=1) + "\n", encoding="utf-8")
