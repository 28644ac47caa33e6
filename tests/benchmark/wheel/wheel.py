#!/usr/bin/env python3
"""Runs the wheel's benchmark with several numbers pending and writes all that was measured as JSON.

Each number is a run of the program of its own, in which all contenders take turns. ./dev bench
calls this, and makes docs/benchmarks.md of it.
"""

import argparse
import datetime
import json
import os
import subprocess
import sys
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "page"))
import arguments  # noqa: E402
from about import describeMachine  # noqa: E402

VAST = ["--pending", 100_000_000, "--rounds", 3, "--only", "TimingWheel"]


def plan(options):
    """What the program is asked, run by run."""
    sizes = {
        "full": [(10**5, 15), (10**6, 9), (10**7, 9)],
        "quick": [(10**5, 3), (10**6, 1)],
        "smoke": [(1_000, 1), (40_000, 1)],
    }[options.size]
    for pending, rounds in sizes:
        asked = ["--pending", pending, "--rounds", options.rounds or rounds]
        yield asked + (["--operations", 1_000] if options.size == "smoke" else [])
    if options.vast:
        yield VAST


def run(program, asked, file):
    subprocess.run([program, *map(str, asked), "--json", file], check=True,
                   stdout=subprocess.DEVNULL)  # fmt: skip
    return json.loads(file.read_text(encoding="utf-8"))


def parse():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("program", type=Path, help="timingwheel-benchmark-wheel")
    parser.add_argument("build", type=Path, help="where wheel.json goes")
    parser.add_argument("--quick", dest="size", action="store_const", const="quick",
                        default="full", help="too short to conclude anything from")  # fmt: skip
    parser.add_argument("--smoke", dest="size", action="store_const", const="smoke",
                        help="a second, for tests")  # fmt: skip
    parser.add_argument("--rounds", type=arguments.rounds,
                        help="how many, instead of what the size says")  # fmt: skip
    parser.add_argument("--vast", action="store_true",
                        help="also with 10^8 pending, which takes 5 GB")  # fmt: skip
    parser.add_argument("--command", default="./dev bench", help="what the page says")
    return parser.parse_args()


def main():
    options = parse()
    began = time.monotonic()
    options.build.mkdir(parents=True, exist_ok=True)
    machine = describeMachine()
    runs = []
    for asked in plan(options):
        print(f"== {time.monotonic() - began:4.0f} s: {' '.join(map(str, asked))}", flush=True)
        runs.append(run(options.program, asked, options.build / "wheel-run.json"))
    machine["loadAfter"] = os.getloadavg()[0]
    data = {
        "command": options.command,
        "size": "quick" if options.rounds and options.rounds < 5 else options.size,
        "date": datetime.date.today().isoformat(),
        "seconds": round(time.monotonic() - began),
        "machine": machine,
        "runs": runs,
    }
    file = options.build / "wheel.json"
    file.write_text(json.dumps(data, indent=1), encoding="utf-8")
    print(f"== {time.monotonic() - began:4.0f} s: {file}")


if __name__ == "__main__":
    main()
