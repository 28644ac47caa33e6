#!/usr/bin/env python3
"""Measures what the next time of a calendar costs; ./dev bench calendars calls it.

times.py <program> <build> [--quick] [--command TEXT]

Writes <build>/calendars.json, of which bench.py makes the page. Times are never judged.
"""

import argparse
import datetime
import json
import os
import subprocess
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "page"))
from about import describeMachine  # noqa: E402

TIMES, QUICK = 1_000_000, 2_000
ROUNDS = 5


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("program")
    parser.add_argument("build", type=Path)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--command", default="./dev bench calendars", help="what the page says")
    options = parser.parse_args()

    began = time.monotonic()
    machine = describeMachine()
    times = QUICK if options.quick else TIMES
    rounds = 1 if options.quick else ROUNDS
    results = []
    for round_ in range(rounds):
        print(f"== {time.monotonic() - began:4.0f} s: round {round_ + 1}", flush=True)
        run = subprocess.run([options.program, str(times)], capture_output=True, text=True,
                             check=True)  # fmt: skip
        results.append(json.loads(run.stdout))

    machine["loadAfter"] = os.getloadavg()[0]
    options.build.mkdir(parents=True, exist_ok=True)
    (options.build / "calendars.json").write_text(json.dumps({
        "command": options.command,
        "size": "quick" if options.quick else "full",
        "date": datetime.date.today().isoformat(),
        "seconds": round(time.monotonic() - began),
        "machine": machine,
        "times": times,
        "rounds": rounds,
        "results": results,
    }, indent=1), encoding="utf-8")  # fmt: skip


if __name__ == "__main__":
    main()
