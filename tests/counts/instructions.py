"""Counts the wheel's instructions under callgrind and compares them with the recorded ones.

Unlike nanoseconds they are the same on every quiet or busy machine, so that a change which makes
the wheel slower is seen at once. They belong to a compiler: with another one nothing is compared.
A count that became much less fails as well: then record it, so that the gain cannot get lost.

What an observer costs a timer that has none is counted beside a library in which it is compiled
out: at most one test an operation.
"""

import json
import platform
import re
import subprocess
import sys
import tempfile
from pathlib import Path

RECORDED = Path(__file__).resolve().parent / "instructions.json"
TOLERANCE = 0.02  # of the count: what a patch release of the compiler may change
# docs/performance.md says what they do; "step" finds nothing that is due.
LOADS = ("W1", "W2", "W3a", "W3b", "W4", "step")
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
    path = re.search(r"(?m)^CMAKE_CXX_COMPILER:\w+=(.*)$", cache.read_text(encoding="utf-8"))[1]
    told = subprocess.run([path, "--version"], capture_output=True, text=True, check=True).stdout
    name = "clang" if "clang" in told.splitlines()[0] else "g++"
    return f"{name} {re.search(r'([0-9]+)[.][0-9]+', told)[1]}, {platform.machine()}"


def counted(program):
    """{load: all its instructions, and its operations}"""
    found = {}
    with tempfile.TemporaryDirectory() as folder:
        command = ["valgrind", "-q", "--tool=callgrind", "--collect-atstart=no",
                   f"--callgrind-out-file={folder}/profile", program]  # fmt: skip
        subprocess.run(command, check=True, timeout=300)
        for profile in Path(folder).iterdir():
            text = profile.read_text(encoding="utf-8")
            # As the program named it.
            if named := re.search(r"(?m)^desc: Trigger: Client Request: (.+) (\d+)$", text):
                total = re.search(r"(?m)^totals: (\d+)", text)[1]
                found[named[1].replace("-", " ")] = int(total), int(named[2])
    return found


def counts(folder):
    """{what is recorded: {load: instructions for an operation}}"""
    wheel = counted(folder / "timingwheel-benchmark-instructions")
    timer = counted(folder / "timingwheel-benchmark-observer")
    without = counted(folder / "timingwheel-unobserved-benchmark-observer")
    found = {"instructions": {}, "timer": {}, "unused observer": {}}
    for name, (total, times) in sorted(wheel.items()):
        load, size = name.split()
        if load in LOADS:
            found["instructions"][f"{load}, {int(size):,} pending"] = round(total / times, 2)
    for load in OPERATIONS:
        total, times = timer[load]
        found["timer"][load] = round(total / times, 2)
        found["unused observer"][load] = round((total - without[load][0]) / times, 2)
    return found


def differences(now, recorded):
    """A sentence for each."""
    if now.keys() != recorded.keys():
        yield "what is counted is not what was recorded"
    for name in now.keys() & recorded.keys():
        more = now[name] / recorded[name] - 1
        if abs(more) > TOLERANCE:
            less = ": if that was meant, record it" if more < 0 else ""
            yield f"{name}: {now[name]} instructions instead of {recorded[name]}, {more:+.1%}{less}"


def check(folder, cache, isToBeRecorded):
    """`folder` has the programs, `cache` is the CMakeCache.txt of their build tree."""
    compiler, now = compilerOf(cache), counts(folder)
    for heading, numbers in now.items():
        print(f"{heading}: of each operation, by {compiler}")
        print(*(f"    {load:32}{number:10.2f}" for load, number in numbers.items()), sep="\n")
    recorded = json.loads(RECORDED.read_text(encoding="utf-8"))
    isComparable = recorded["compiler"] == compiler and not isToBeRecorded
    problems = []
    for load, cost in now["unused observer"].items():
        # Some tests take two instructions: what is recorded says which, so that a second test does
        # not hide in the third.
        most = recorded["unused observer"][load] if isComparable else TEST * OPERATIONS[load]
        if cost > most + SHARED:
            problems.append(f"{load}: {cost} for an observer that is not there, at most {most}")
    for name in ("instructions", "timer") if isComparable else ():
        problems += differences(now[name], recorded[name])
    if problems:
        sys.exit("\n".join([*problems, "./dev bench --check --record writes them down anew"]))
    if isToBeRecorded:
        text = json.dumps({"compiler": compiler, **now}, indent=1)
        RECORDED.write_text(text + "\n", encoding="utf-8")
    elif not isComparable:
        print(f"left out: ./dev bench --check: what is recorded is {recorded['compiler']}'s")
