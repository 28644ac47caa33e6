#!/usr/bin/env python3
"""Small mistakes in what only a broker shows, planted one at a time: each must turn a test of
tests/kafka/failures.py red.

kafka.py run <build folder>   with the interpreter that failures.py needs; ./dev kafka bugs does it
kafka.py check                the list fits the sources, and the tests are there

Prints what is wrong and exits with 1.
"""

import re
import subprocess
import sys
import tomllib
from pathlib import Path

import planted

ROOT = Path(__file__).resolve().parents[2]
LIST = Path(__file__).with_suffix(".toml")
FAILURES = Path("tests") / "kafka" / "failures.py"
LIMIT = 400  # seconds


def read():
    entries = tomllib.loads(LIST.read_text(encoding="utf-8"))["bug"]
    return [planted.Bug(number=n, **entry) for n, entry in enumerate(entries, 1)]


def check():
    source = (ROOT / FAILURES).read_text(encoding="utf-8")
    tests = set(re.findall(r"^    def (test\w+)", source, re.MULTILINE))
    for bug in read():
        try:
            planted.planted(bug, (ROOT / bug.file).read_text(encoding="utf-8"))
        except ValueError as error:
            yield str(error)
        if not (ROOT / "src" / bug.breaks).is_file():
            yield f"{bug.name()}: there is no {bug.breaks}"
        for test in bug.red:
            if test.split(".")[1] not in tests:
                yield f"{bug.name()}: there is no test {test}"


def isRed(field, folder, tests, log):
    field.make(["timingwheel-kafka"])
    program = field.build / "src" / "apps" / "kafka" / "timingwheel-kafka"
    command = [sys.executable, "-B", field.tree / FAILURES, program, folder, *tests]
    with open(field.logs / log, "w", encoding="utf-8") as output:
        done = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=output,
                              stderr=subprocess.STDOUT, timeout=LIMIT, check=False)  # fmt: skip
    return done.returncode != 0


def run(folder):
    field, bugs, survivors = planted.Field(ROOT, folder / "planted"), read(), 0
    field.call("cmake", "--preset", "bugs", "-B", str(field.build))
    tests = dict.fromkeys(test for bug in bugs for test in bug.red)  # each once
    if isRed(field, folder, tests, "none.log"):
        yield f"a test is red without any bug: see {field.logs}/none.log"
        return
    for bug in bugs:
        path = field.tree / bug.file
        text = path.read_text(encoding="utf-8")
        path.write_text(planted.planted(bug, text), encoding="utf-8")
        found = isRed(field, folder, bug.red, f"{bug.number}.log")
        print(f"{bug.line()}: {'red' if found else 'SURVIVED'}", flush=True)
        path.write_text(text, encoding="utf-8")
        survivors += not found
    if survivors:
        yield f"{survivors} of {len(bugs)} bugs survived: see {field.logs}"


def main(arguments):
    if arguments == ["check"]:
        wrong = check()
    elif len(arguments) == 2 and arguments[0] == "run":
        wrong = run(Path(arguments[1]).resolve())
    else:
        sys.exit(__doc__)
    wrong = list(wrong)
    print("\n".join(wrong), end="\n" if wrong else "")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
