#!/usr/bin/env python3
"""Measures what timeouts that survive the process cost; ./dev bench store calls it.

durable.py <program> <build> [--quick] [--command TEXT]

Writes <build>/durable.json, of which bench.py makes the page. Fails where a timeout is lost, early,
or delivered twice. Times are never judged.
"""

import json
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "page"))
from alone import Run  # noqa: E402

# Changes of each group: enough for a second or more.
FULL = {1: 2_000, 10: 20_000, 100: 100_000, 1_000: 300_000, 10_000: 500_000}
QUICK = {1: 20, 10: 100, 100: 500, 1_000: 2_000, 10_000: 20_000}
ROUNDS = 3


def main():
    run = Run("durable", __doc__)
    isQuick = run.options.quick
    counts, rounds = (QUICK, 1) if isQuick else (FULL, ROUNDS)
    deliveries, rate, late, near, many = (2_000, 500, 500, 2_000, 20_000) if isQuick \
        else (300_000, 1_000, 20_000, 100_000, 10_000_000)  # fmt: skip
    folder = run.options.build / "durable"
    folder.mkdir(parents=True, exist_ok=True)
    file = str(folder / "timeouts.db")

    def measure(what, *numbers):
        command = [run.options.program, what, file, *map(str, numbers)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            sys.exit(f"{what}: {done.stderr}")
        return json.loads(done.stdout)

    results = []
    for round_ in range(rounds):
        run.say(f"round {round_ + 1} of {rounds}")
        results.append({
            "groups": {str(group): {what: measure(what, group, count)["perSecond"]
                                    for what in ("schedule", "raw")}
                       for group, count in counts.items()},
            "deliver": measure("deliver", deliveries)["perSecond"],
            "late": measure("late", rate, late),
        })  # fmt: skip
    run.say(f"{near:,} timeouts that are near")
    measure("near", near)
    ofNear = measure("start")
    run.say(f"{many:,} timeouts in a file")
    made = measure("make", many)
    run.say("starts with them")
    starts = [measure("start") for _ in range(ROUNDS)]
    wrong = [start["pending"] for start in starts if start["pending"] != many]
    for path in folder.iterdir():
        path.unlink()
    folder.rmdir()
    run.write(rounds, results, many=many, made=made, starts=starts, rate=rate,
              deliveries=deliveries, near=near, ofNear=ofNear)  # fmt: skip
    if wrong:
        sys.exit(f"{wrong} instead of {many} are pending")


if __name__ == "__main__":
    main()
