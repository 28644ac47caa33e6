#!/usr/bin/env python3
"""Counts the wheel's instructions under callgrind and compares them with the recorded ones.

Unlike nanoseconds they are the same on every quiet or busy machine, so that a change which makes
the wheel slower is seen at once. They belong to a compiler: with another one nothing is compared.
A count that became much less fails as well: then record it, so that the gain cannot get lost.

What an observer costs a timer that has none is counted beside a library in which it is compiled
out: at most one test an operation.
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
# Instructions of "is there an observer": a load, a test and a jump, and what the compiler does
# otherwise around them.
TEST = 4
# Of what is counted, the operations that ask. A push-back tells nobody.
OPERATIONS = {"schedule and cancel by hook": 2, "schedule and cancel by handle": 2,
              "push back": 0, "reschedule to earlier": 1, "cascade": 1,
              "expire and run": 2}  # fmt: skip
SHARED = 0.1  # of an instruction: what a chunk or a bucket does once for all its entries


def compilerOf(cache):
    """The compiler of a build tree, as far as its code depends on it."""
    text = cache.read_text(encoding="utf-8")
    path = re.search(r"^CMAKE_CXX_COMPILER:\w+=(.*)$", text, re.MULTILINE).group(1)
    first = subprocess.run([path, "--version"], capture_output=True, text=True, check=True)
    line = first.stdout.splitlines()[0]
    name = "clang" if "clang" in line else "g++"
    major = re.search(r"(\d+)\.\d+", line).group(1)
    return f"{name} {major}, {platform.machine()}"


def profiles(program):
    """Of each load: its name, as the program gave it, and all its instructions."""
    with tempfile.TemporaryDirectory() as folder:
        command = ["valgrind", "-q", "--tool=callgrind", "--collect-atstart=no",
                   f"--callgrind-out-file={folder}/profile", program]  # fmt: skip
        subprocess.run(command, check=True, timeout=300)
        found = []
        for profile in Path(folder).iterdir():
            text = profile.read_text(encoding="utf-8")
            named = re.search(r"^desc: Trigger: Client Request: (.+)$", text, re.MULTILINE)
            if named:
                total = int(re.search(r"^totals: (\d+)", text, re.MULTILINE).group(1))
                found.append((named.group(1), total))
    if not found:
        sys.exit("callgrind wrote no counts")
    return sorted(found)


def count(program):
    """{load and number pending: instructions for an operation}"""
    counts = {}
    for name, total in profiles(program):
        load, size, operations = name.split(" ")
        if load in LOADS:
            counts[f"{load}, {int(size):,} pending"] = round(total / int(operations), 2)
    return counts


def countObserver(observable, unobservable):
    """{load: instructions for an operation because there could be an observer}, and all of them"""
    costs, all_ = {}, {}
    for (name, total), (_, without) in zip(profiles(observable), profiles(unobservable)):
        load, operations = name.rsplit(" ", maxsplit=1)
        costs[load.replace("-", " ")] = round((total - without) / int(operations), 2)
        all_[load.replace("-", " ")] = round(total / int(operations), 2)
    return {load: costs[load] for load in OPERATIONS}, all_


def checkObserver(costs, recorded):
    """What is wrong, a sentence for each. Some tests take two instructions: what is recorded says
    which, so that a second test does not hide in the third."""
    for load, cost in costs.items():
        most = min(TEST * OPERATIONS[load], recorded.get(load, cost))
        if cost > most + SHARED:
            yield f"{load}: {cost} instructions for an observer that is not there, at most {most}"


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


def printCounts(counts, costs, all_):
    for name, now in counts.items():
        print(f"    {name:24}{now:10.2f}   {LOADS[name.split(',')[0]]}")
    print("of a ManualTimer's in all, and for an observer that is not there")
    for load, cost in costs.items():
        print(f"    {load:32}{all_[load]:8.2f}{cost:8.2f}   at most {TEST * OPERATIONS[load]}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("program", type=Path, help="timingwheel-benchmark-instructions")
    parser.add_argument("cache", type=Path, help="CMakeCache.txt of its build tree")
    parser.add_argument("observable", type=Path, help="timingwheel-benchmark-observer")
    parser.add_argument("unobservable", type=Path, help="timingwheel-unobserved-benchmark-observer")
    parser.add_argument("--record", action="store_true", help="write the counts down")
    options = parser.parse_args()

    compiler, counts = compilerOf(options.cache), count(options.program)
    costs, all_ = countObserver(options.observable, options.unobservable)
    recorded = json.loads(RECORDED.read_text(encoding="utf-8")) if RECORDED.exists() else None
    print(f"{compiler}; instructions per operation")
    printCounts(counts, costs, all_)
    isComparable = recorded is not None and recorded["compiler"] == compiler and not options.record
    if problems := list(checkObserver(costs, recorded["unused observer"] if isComparable else {})):
        sys.exit("\n".join(problems))
    if options.record:
        text = json.dumps({"compiler": compiler, "instructions": counts, "timer": all_,
                           "unused observer": costs}, indent=1)  # fmt: skip
        RECORDED.write_text(text + "\n", encoding="utf-8")
        print(f"recorded in {RECORDED.name}")
    elif not isComparable:
        whose = recorded["compiler"] if recorded else "nobody"
        print(f"left out: ./dev bench --check: what is recorded is {whose}'s")
    else:
        problems = [problem for name, now in (("instructions", counts), ("timer", all_))
                    for problem in compare(now, recorded[name])]  # fmt: skip
        if problems:
            sys.exit("\n".join(problems + ["./dev bench --check --record writes them down anew"]))
        print(f"all within {TOLERANCE:.0%} of what was recorded")


if __name__ == "__main__":
    main()
