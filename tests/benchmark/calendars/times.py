#!/usr/bin/env python3
"""Measures what the next time of a calendar costs; ./dev bench calendars calls it.

times.py <program> <build> [--quick] [--command TEXT]

Writes <build>/calendars.json, of which bench.py makes the page. Times are never judged.
"""

import json
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "page"))
from alone import Run  # noqa: E402

TIMES, QUICK = 1_000_000, 2_000
ROUNDS = 5


def main():
    run = Run("calendars", __doc__)
    times, rounds = (QUICK, 1) if run.options.quick else (TIMES, ROUNDS)
    results = []
    for round_ in range(rounds):
        run.say(f"round {round_ + 1} of {rounds}")
        command = [run.options.program, str(times)]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        results.append(json.loads(done.stdout))
    run.write(rounds, results, times=times)


if __name__ == "__main__":
    main()
