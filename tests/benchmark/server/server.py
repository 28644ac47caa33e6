#!/usr/bin/env python3
"""Measures a server with each kind of timeout; ./dev bench server calls it.

server.py <program> <build> [--quick] [--command TEXT]

Writes <build>/server.json, of which bench.py makes the page. Fails where the counts are wrong: an
answer is missing, an idle session is still open, or one was closed early. Times are never judged.
"""

import json
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "page"))
from alone import Run  # noqa: E402

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
    run = Run("server", __doc__)
    isQuick = run.options.quick
    rounds = 1 if isQuick else ROUNDS
    results = {name: [] for name in CONTENDERS}
    wrong = []
    for round_ in range(rounds):
        for name in CONTENDERS:
            run.say(f"round {round_ + 1} of {rounds}: {name}")
            command = [run.options.program, name] + ["--quick"] * isQuick
            done = subprocess.run(command, capture_output=True, text=True, timeout=180,
                                  check=False)  # fmt: skip
            if done.returncode:
                sys.exit(f"{name}: {done.stderr}")
            result = json.loads(done.stdout)
            results[name].append(result)
            found = problems(result, QUICK if isQuick else FULL)
            wrong += [f"{name}, round {round_ + 1}: {problem}" for problem in found]
    run.write(rounds, results)
    if wrong:
        sys.exit("\n".join(wrong))


if __name__ == "__main__":
    main()
