#!/usr/bin/env python3
"""Counts the cache lines that threads share in a pair, a push-back and an expiry.

lines.py <timingwheel-benchmark-lines> [--record]

Two threads use one timer, each its own shard. valgrind's lackey tells the address of every load and
store; the program does one operation at a time, so each address belongs to a thread. A line is
shared if one thread writes it in its operation and the other reads or writes it in its own. Aimed
at is none: then no operation of a thread waits for another core. There may be no more than
recorded. With one shard for both threads there must be some, or the method sees nothing. Unlike
time it is the same on any number of cores.
"""

import argparse
import json
import subprocess
import sys
import tempfile
from collections import defaultdict
from pathlib import Path

RECORDED = Path(__file__).resolve().parent / "lines.json"
LINE = 64  # bytes
OPERATIONS = {
    "handle-pair": "schedule and cancel, handles",
    "hook-pair": "schedule and cancel, hooks",
    "handle-push-back": "push-back, handles",
    "hook-push-back": "push-back, hooks",
    "expiry": "expiry, on the driver's thread",
}
PAIRS = ("handle-pair", "hook-pair")


def traced(program, shards):
    """{operation and thread: (lines read, lines written)}"""
    with tempfile.TemporaryDirectory() as folder:
        log = Path(folder) / "trace"
        command = ["valgrind", "--tool=lackey", "--trace-mem=yes", f"--log-file={log}", program,
                   str(shards)]  # fmt: skip
        run = subprocess.run(command, check=True, timeout=300, capture_output=True, text=True)
        told = map(str.split, run.stdout.splitlines())
        markers = {int(address, 16): name for address, name in told}
        found, now = defaultdict(lambda: (set(), set())), None
        with open(log, encoding="ascii", errors="replace") as trace:
            for entry in trace:
                if entry[:3] not in (" L ", " S ", " M "):
                    continue
                address, _, size = entry[3:].partition(",")
                address = int(address, 16)
                if address in markers:
                    now = None if markers[address] == "end" else markers[address]
                elif now:
                    lines = range(address // LINE, (address + int(size) - 1) // LINE + 1)
                    if entry[1] != "S":
                        found[now][0].update(lines)
                    if entry[1] != "L":
                        found[now][1].update(lines)
    return found


def shared(one, other):
    """Lines that one of the two writes and the other uses."""
    (read, written), (otherRead, otherWritten) = one, other
    return len(written & (otherRead | otherWritten) | otherWritten & read)


def count(program, shards):
    """{operation: lines, by what they are shared with}"""
    found = traced(program, shards)
    counts = {}
    for operation, words in OPERATIONS.items():
        mine = found[f"{operation}-0"]
        if not mine[1]:
            sys.exit(f"lackey's trace has no {operation}")
        if operation != "expiry":
            counts[words] = {"written": len(mine[1]),
                             "shared": shared(mine, found[f"{operation}-1"])}  # fmt: skip
            continue
        # The driver's thread expires what thread 0 scheduled, while thread 1 may schedule.
        others = [found[f"{pair}-1"] for pair in PAIRS]
        counts[words] = {
            "written": len(mine[1]),
            "shared": max(len(mine[1] & (read | written)) for read, written in others),
            "looked at": max(len(mine[0] & written) for _, written in others),
        }
    return counts


def problems(own, one, recorded):
    for words, counts in own.items():
        if counts["shared"] > (most := recorded[words]["shared"]):
            yield f"{words}: {counts['shared']} cache lines are shared, at most {most} were"
    if not all(counts["shared"] for words, counts in one.items()):
        yield "with one shard for both threads nothing is shared: the method sees nothing"


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("program", type=Path, help="timingwheel-benchmark-lines")
    parser.add_argument("--record", action="store_true", help="write the counts down")
    options = parser.parse_args()
    own, one = count(options.program, 2), count(options.program, 1)
    for heading, counts in (("a shard for each thread", own), ("one shard", one)):
        print(f"cache lines, {heading}")
        for words, found in counts.items():
            print(f"    {words:32}{', '.join(f'{n} {what}' for what, n in found.items())}")
    if options.record:
        text = json.dumps({"own shards": own, "one shard": one}, indent=1)
        RECORDED.write_text(text + "\n", encoding="utf-8")
        print(f"recorded in {RECORDED.name}")
    recorded = json.loads(RECORDED.read_text(encoding="utf-8"))["own shards"]
    if found := list(problems(own, one, recorded)):
        sys.exit("\n".join(found))


if __name__ == "__main__":
    main()
