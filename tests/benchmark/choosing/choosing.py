#!/usr/bin/env python3
"""Measures what each tick and wheelSize costs, and writes it as JSON.

timingwheel-benchmark-choosing does all of the measuring; this adds where and when. render.py makes
the page of it; ./dev bench choosing calls both.
"""

import argparse
import datetime
import json
import os
import subprocess
import time
from pathlib import Path

import shared  # noqa: F401  (where the next one is found)
from about import describeMachine


def measure(program, size):
    run = subprocess.run([program, "--size", size], stdout=subprocess.PIPE, check=True)
    return json.loads(run.stdout)


def counted(result):
    """What must be the same each time: all but processor time and what the allocator adds."""
    return [{key: value for key, value in run.items() if key not in ("cpuNs", "bytes")}
            for run in result["runs"]]  # fmt: skip


def parse():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("program", type=Path, help="timingwheel-benchmark-choosing")
    parser.add_argument("build", type=Path, help="where everything goes")
    parser.add_argument("--size", choices=["full", "quick", "smoke"], default="full")
    parser.add_argument("--command", default="./dev bench choosing", help="what the page says")
    return parser.parse_args()


def main():
    options = parse()
    began = time.monotonic()
    options.build.mkdir(parents=True, exist_ok=True)
    machine = describeMachine(javaRuns=False)
    result = measure(options.program, options.size)
    machine["loadAfter"] = os.getloadavg()[0]
    result |= {
        "command": options.command,
        "date": datetime.date.today().isoformat(),
        "seconds": round(time.monotonic() - began),
        "machine": machine,
    }
    file = options.build / "choosing.json"
    file.write_text(json.dumps(result, indent=1), encoding="utf-8")
    print(f"== {time.monotonic() - began:4.0f} s: {len(result['runs'])} measurements in {file}")
    if options.size == "smoke":
        assert counted(measure(options.program, "smoke")) == counted(result), "it is not the same"


if __name__ == "__main__":
    main()
