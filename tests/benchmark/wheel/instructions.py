#!/usr/bin/env python3
"""Counts the wheel's instructions under callgrind and compares them with the recorded ones.

Unlike nanoseconds they are the same on every quiet or busy machine, so that a change which makes
the wheel slower is seen at once. They belong to a compiler: with another one nothing is compared.
A count that became much less fails as well: then record it, so that the gain cannot get lost.
"""

import argparse
import json
import platform
import re
import subprocess
import sys
import tempfile
from pathlib import Path

RECORDED = Path(__file__).resolve().parent / "instructions.json"
TOLERANCE = 0.02  # of the count: what a patch release of the compiler may change
LOADS = {"W1": "reschedule", "W2": "fill", "W3a": "expire by tick", "W3b": "expire by jump",
         "W4": "90 % rescheduled, 10 % expiring"}  # fmt: skip


def compilerOf(cache):
    """The compiler of a build tree, as far as its code depends on it."""
    text = cache.read_text(encoding="utf-8")
    path = re.search(r"^CMAKE_CXX_COMPILER:\w+=(.*)$", text, re.MULTILINE).group(1)
    first = subprocess.run([path, "--version"], capture_output=True, text=True, check=True)
    line = first.stdout.splitlines()[0]
    name = "clang" if "clang" in line else "g++"
    major = re.search(r"(\d+)\.\d+", line).group(1)
    return f"{name} {major}, {platform.machine()}"


def count(program):
    """{load and number pending: instructions for an operation}"""
    with tempfile.TemporaryDirectory() as folder:
        command = ["valgrind", "-q", "--tool=callgrind", "--collect-atstart=no",
                   f"--callgrind-out-file={folder}/profile", program]  # fmt: skip
        subprocess.run(command, check=True, timeout=300)
        counts = {}
        for profile in Path(folder).iterdir():
            text = profile.read_text(encoding="utf-8")
            named = re.search(r"^desc: Trigger: Client Request: (\S+) (\d+) (\d+)$", text, re.M)
            if named and named.group(1) in LOADS:
                load, pending, operations = named.groups()
                total = int(re.search(r"^totals: (\d+)", text, re.MULTILINE).group(1))
                counts[f"{load}, {int(pending):,} pending"] = round(total / int(operations), 2)
    if not counts:
        sys.exit("callgrind wrote no counts")
    return dict(sorted(counts.items()))


def compare(counts, recorded):
    """What is wrong, a sentence for each."""
    if counts.keys() != recorded.keys():
        yield "what is counted is not what was recorded"
        return
    for name, now in counts.items():
        before = recorded[name]
        if now > before * (1 + TOLERANCE):
            yield f"{name}: {now} instructions instead of {before}, {now / before - 1:+.1%}"
        elif now < before * (1 - TOLERANCE):
            yield (f"{name}: only {now} instructions instead of {before}, {now / before - 1:+.1%}: "
                   "if that was meant, record it")  # fmt: skip


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("program", type=Path, help="timingwheel-benchmark-instructions")
    parser.add_argument("cache", type=Path, help="CMakeCache.txt of its build tree")
    parser.add_argument("--record", action="store_true", help="write the counts down")
    options = parser.parse_args()

    compiler, counts = compilerOf(options.cache), count(options.program)
    recorded = json.loads(RECORDED.read_text(encoding="utf-8")) if RECORDED.exists() else None
    print(f"{compiler}; instructions per operation")
    for name, now in counts.items():
        print(f"    {name:24}{now:10.2f}   {LOADS[name.split(',')[0]]}")
    if options.record:
        text = json.dumps({"compiler": compiler, "instructions": counts}, indent=1)
        RECORDED.write_text(text + "\n", encoding="utf-8")
        print(f"recorded in {RECORDED.name}")
    elif recorded is None or recorded["compiler"] != compiler:
        whose = recorded["compiler"] if recorded else "nobody"
        print(f"nothing is compared: what is recorded is {whose}'s")
    else:
        problems = list(compare(counts, recorded["instructions"]))
        if problems:
            sys.exit("\n".join(problems + ["./dev bench --check --record writes them down anew"]))
        print(f"all within {TOLERANCE:.0%} of what was recorded")


if __name__ == "__main__":
    main()
