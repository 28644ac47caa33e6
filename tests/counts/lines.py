"""Counts the cache lines that threads share in a pair, a push-back and an expiry.

Two threads use one timer, each its own shard. valgrind's lackey tells the address of every load and
store; the program does one operation at a time, so each address belongs to a thread. A line is
shared if one thread writes it in its operation and the other reads or writes it in its own. Aimed
at is none: then no operation of a thread waits for another core. There may be no more than
recorded. With one shard for both threads there must be some, or the method sees nothing. Unlike
time it is the same on any number of cores.
"""

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
# What the other thread may do meanwhile. The driver's expires what thread 0 scheduled.
OTHERS = {operation: (operation,) for operation in OPERATIONS} | {
    "expiry": ("handle-pair", "hook-pair")
}


def traced(program, shards):
    """Of each operation and thread, the lines that it reads, and those that it writes."""
    read, written, now = defaultdict(set), defaultdict(set), None
    with tempfile.NamedTemporaryFile("r", encoding="ascii", errors="replace") as trace:
        command = ["valgrind", "--tool=lackey", "--trace-mem=yes", f"--log-file={trace.name}",
                   program, str(shards)]  # fmt: skip
        told = subprocess.run(command, check=True, timeout=300, capture_output=True, text=True)
        lines = map(str.split, told.stdout.splitlines())
        markers = {int(address, 16): name for address, name in lines}
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
                    read[now].update(lines)
                if entry[1] != "L":
                    written[now].update(lines)
    return read, written


def count(program, shards):
    """{operation: how many lines it writes, and how many of them, and of those that it only reads,
    the other thread uses}"""
    read, written = traced(program, shards)
    counts = {}
    for operation, words in OPERATIONS.items():
        mine, others = f"{operation}-0", [f"{other}-1" for other in OTHERS[operation]]
        if not written[mine]:
            sys.exit(f"lackey's trace has no {operation}")
        counts[words] = {
            "written": len(written[mine]),
            "shared": max(len(written[mine] & (read[one] | written[one])) for one in others),
            "looked at": max(len(read[mine] & written[one]) for one in others),
        }
    return counts


def check(folder, isToBeRecorded):
    program = folder / "timingwheel-benchmark-lines"
    own, one = count(program, 2), count(program, 1)
    for heading, counts in (("a shard for each thread", own), ("one shard", one)):
        print(f"cache lines, {heading}")
        for words, found in counts.items():
            print(f"    {words:32}{', '.join(f'{n} {what}' for what, n in found.items())}")
    if isToBeRecorded:
        RECORDED.write_text(json.dumps(own, indent=1) + "\n", encoding="utf-8")
    recorded = json.loads(RECORDED.read_text(encoding="utf-8"))
    wrong = [f"{words}: {counts[what]} cache lines are {what}, at most {most} were"
             for words, counts in own.items() for what in ("shared", "looked at")
             if counts[what] > (most := recorded[words][what])]  # fmt: skip
    if not all(counts["shared"] for counts in one.values()):
        wrong.append("with one shard for both threads nothing is shared: the method sees nothing")
    if wrong:
        sys.exit("\n".join(wrong))
