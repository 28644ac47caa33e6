#!/usr/bin/env python3
"""Measures a server with each kind of timeout; ./dev bench server calls it.

server.py <program> <build> [--quick] [--command TEXT]

Writes <build>/server.json, of which bench.py makes the page. Fails where the counts are wrong: an
answer is missing, an idle session is still open, or one was closed early. Times are never judged.
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

CONTENDERS = ["stock", "stock-lazy", "wheel", "wheel-deadline"]
FULL = {"sessions": 1_000_000, "closed": 100_000}
QUICK = {"sessions": 20_000, "closed": 5_000}
ROUNDS = 3


def problems(result, counts):
    expected = {**counts, "open": counts["sessions"], "early": 0, "timedOut": 0}
    yield from (f"{name}: {result[name]} instead of {count}"
                for name, count in expected.items() if result[name] != count)  # fmt: skip
    for load in ["steady", "storm", "tcp"]:
        sent, answered = result[load]["sent"], result[load]["answered"]
        if sent != answered:
            yield f"{load}: {answered} answers to {sent} packets"


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("program")
    parser.add_argument("build", type=Path)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--command", default="./dev bench server", help="what the page says")
    options = parser.parse_args()

    began = time.monotonic()
    machine = describeMachine()
    rounds = 1 if options.quick else ROUNDS
    results = {name: [] for name in CONTENDERS}
    wrong = []
    for round_ in range(rounds):
        for name in CONTENDERS:
            print(f"== {time.monotonic() - began:4.0f} s: round {round_ + 1} of {rounds}: {name}",
                  flush=True)  # fmt: skip
            command = [options.program, name] + ["--quick"] * options.quick
            run = subprocess.run(command, capture_output=True, text=True, timeout=180, check=False)
            if run.returncode:
                sys.exit(f"{name}: {run.stderr}")
            result = json.loads(run.stdout)
            results[name].append(result)
            found = problems(result, QUICK if options.quick else FULL)
            wrong += [f"{name}, round {round_ + 1}: {problem}" for problem in found]

    machine["loadAfter"] = os.getloadavg()[0]
    options.build.mkdir(parents=True, exist_ok=True)
    (options.build / "server.json").write_text(json.dumps({
        "command": options.command,
        "size": "quick" if options.quick else "full",
        "date": datetime.date.today().isoformat(),
        "seconds": round(time.monotonic() - began),
        "rounds": rounds,
        "machine": machine,
        "results": results,
    }, indent=1), encoding="utf-8")  # fmt: skip
    if wrong:
        sys.exit("\n".join(wrong))


if __name__ == "__main__":
    main()
