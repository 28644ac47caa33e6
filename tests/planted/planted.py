#!/usr/bin/env python3
"""Small mistakes that somebody might make, planted one at a time: each must turn a test red.

Each bug of bugs.toml is planted in a copy of the sources, in build/bugs. What is needed is built,
and the tests that the bug names run. ./dev kafka bugs takes those of kafka.toml, which only a
broker shows. --generated makes mistakes at random instead, in the library and in what the Kafka
worker does without a broker.
"""

import argparse
import fnmatch
import os
import re
import signal
import subprocess
import sys
import tomllib
from collections import defaultdict
from pathlib import Path
from types import SimpleNamespace

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "support"))
from runner import ROOT, TEST, between, need, parser, pythonOf  # noqa: E402

HANGS = 1800  # seconds after which a program that has no watchdog hangs
FAILURES = "tests/kafka/failures.py"  # the tests of what only a broker shows
RECORD, LEAST = HERE / "mutants.md", 97  # of 100 made at random


class BuildFailed(Exception):
    pass


class Bug(SimpleNamespace):
    """Has a number, and the fields that the head of bugs.toml explains."""

    def line(self):
        return f"{self.number:>3} {Path(self.breaks).name:<20} {self.what}"

    def isMeant(self, word):
        """By a promise, a number, or a part of the sentence."""
        if word.isdigit() or re.fullmatch(r"[A-Z]\d+", word):
            return word in (str(self.number), self.breaks)
        return word.lower() in self.what.lower()

    def plantedIn(self, text):
        """The text with the bug. Raises ValueError where it does not fit."""
        pattern = r"\s+".join(map(re.escape, self.old.split()))
        planted, count = re.subn(pattern, lambda _: self.new, text)
        if count != 1:
            raise ValueError(f"`{self.old}` is {count} times in {self.file}, not once")
        return planted


def read(name):
    entries = tomllib.loads((HERE / name).read_text("utf-8"))["bug"]
    return [Bug(number=number, **entry) for number, entry in enumerate(entries, 1)]


def testsByProgram():
    found = defaultdict(set)
    for path in (ROOT / "tests").rglob("*.cpp"):
        found[path.parent.name].update(map(".".join, TEST.findall(path.read_text("utf-8"))))
    for suite in re.split(r"^class ", (ROOT / FAILURES).read_text("utf-8"), flags=re.MULTILINE):
        names = re.findall(r"^    (?:def )?(test\w+)", suite, re.MULTILINE)
        found[FAILURES].update(f"{suite.split('(')[0]}.{name}" for name in names)
    return found


TESTS = testsByProgram()


def programsOf(patterns):
    """{program: its part of the patterns}"""
    found = defaultdict(list)
    for pattern in dict.fromkeys(patterns):
        for program, names in TESTS.items():
            if fnmatch.filter(names, pattern):
                found[program].append(pattern)
    return found


def check(bugs, promises=""):
    """What does not fit the sources. Each of those promises needs a bug."""
    for bug in bugs:
        wrong = [f"there is no test {test}" for test in bug.red or [""] if not programsOf([test])]
        try:
            text = (ROOT / bug.file).read_text("utf-8")
            if bug.plantedIn(text) == text or not bug.file.startswith(("include/", "src/")):
                wrong.append("it changes nothing of the library")
        except (OSError, ValueError) as error:
            wrong.append(str(error))
        yield from (f'bug {bug.number}, "{bug.what}": {what}' for what in wrong)
    stated = set(re.findall(r"^\*\*(G\d+) ", promises, re.MULTILINE))
    yield from (f"no bug breaks {one}" for one in stated - {bug.breaks for bug in bugs})


def equivalents():
    """Mistakes made at random that change nothing."""
    return tomllib.loads((HERE / "equivalent.toml").read_text("utf-8"))["equivalent"]


def checkGenerated():
    """What is said of mistakes made at random."""
    for one in equivalents():
        lines = (ROOT / one["file"]).read_text("utf-8").splitlines()
        if not any(" ".join(line.split()).startswith(one["at"]) for line in lines):
            yield f"equivalent.toml: no line of {one['file']} is `{one['at']}`"
    recorded = re.search(r"([\d.]+) % of those that matter", RECORD.read_text("utf-8"))
    if not recorded or float(recorded[1]) < LEAST:
        yield f"{RECORD.name}: {recorded[1] if recorded else 0} % are caught, not {LEAST} %"


def filterOf(patterns):
    """GoogleTest's, also for those of its suites that have types or values."""
    forms = ("{0}.{1}", "{0}/*.{1}", "*/{0}.{1}/*", "*/{0}/*.{1}")
    return ":".join(form.format(*p.split(".")) for p in patterns for form in forms)


def outcome(text, code):
    """What is red by what GoogleTest printed; code is None if the program was ended."""
    running = ""
    for what, name in re.findall(r"\[ {0,7}(RUN|OK|FAILED|SKIPPED) +\] ([\w/]+\.[\w/]+)", text):
        if what == "FAILED":
            return f"{name} fails"
        running = name if what == "RUN" else ""
    if code == 0:
        return ""
    return f"{running or 'the program'} {'hangs' if code is None else 'ends the program'}"


def execute(command, log, limit, **environment):
    """What it printed, and its exit status: None if it had to be ended."""
    # Memory that was freed does not look as it did: who reads it finds out.
    environment = {**os.environ, "MALLOC_PERTURB_": "165", **environment}
    with open(log, "w+", encoding="utf-8", errors="replace") as output:
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=output,
                                   stderr=subprocess.STDOUT, env=environment,
                                   start_new_session=True)  # fmt: skip
        try:
            code = process.wait(limit)
        except subprocess.TimeoutExpired:
            code = None
        finally:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()
        output.seek(0)
        return output.read(), code


class Field:
    """A copy of the sources, and what is built of it. The user's own tree is never touched."""

    def __init__(self, folder):
        self.tree, self.build, self.logs = folder / "tree", folder / "build", folder / "logs"
        self.logs.mkdir(parents=True, exist_ok=True)
        self.synchronize()

    def content(self, name):
        return (ROOT / name).read_bytes()

    def synchronize(self):
        """Only what differs is written, so that little has to be built again."""
        names = {path.relative_to(ROOT) for path in ROOT.rglob("*") if path.is_file()}
        names = {n for n in names if n.parts[0] != "build" and not n.parts[0].startswith(".")}
        for name in names:
            copy, content = self.tree / name, self.content(name)
            if not copy.is_file() or copy.read_bytes() != content:
                copy.parent.mkdir(parents=True, exist_ok=True)
                copy.write_bytes(content)
        for copy in self.tree.rglob("*"):
            if copy.is_file() and copy.relative_to(self.tree) not in names:
                copy.unlink()

    def call(self, *command):
        log = self.logs / "build.log"
        with open(log, "w", encoding="utf-8") as output:
            done = subprocess.run(command, cwd=self.tree, stdin=subprocess.DEVNULL, stdout=output,
                                  stderr=subprocess.STDOUT, check=False)  # fmt: skip
        if done.returncode != 0:
            lines = log.read_text(encoding="utf-8", errors="replace").splitlines()
            errors = [line for line in lines if "error" in line.lower()]
            raise BuildFailed("\n".join((errors or lines)[:10]))

    def redOf(self, tests, log):
        """Builds what is needed. What turns red first, and how; nothing if all is green."""
        programs = programsOf(tests)
        targets = ["timingwheel-kafka" if name == FAILURES else f"timingwheel-tests-{name}"
                   for name in programs]  # fmt: skip
        self.call("cmake", "--build", self.build, "--parallel", "2", "--target", *targets)
        reds = (self.run(program, mine, self.logs / log) for program, mine in programs.items())
        return next(filter(None, reds), "")

    def run(self, program, patterns, log):
        if program == FAILURES:
            command = [pythonOf("kafka"), "-B", self.tree / FAILURES,
                       self.build / "src/components/kafka/daemon/timingwheel-kafka",
                       ROOT / "build/kafka", *patterns]  # fmt: skip
            return "" if execute(command, log, HANGS)[1] == 0 else f"one of {patterns}"
        command = [self.build / f"tests/timingwheel-tests-{program}", "--gtest_fail_fast",
                   "--gtest_color=no", f"--gtest_filter={filterOf(patterns)}"]  # fmt: skip
        text, code = execute(command, log, HANGS, TIMINGWHEEL_ONE_IN="1")
        if "[ RUN      ]" not in text:
            raise BuildFailed(f"{program} has no test {', '.join(patterns)}")
        return outcome(text, code)


def plant(folder, bugs):
    """Plants them, and says what is wrong."""
    field = Field(folder)
    print(f"building, and running the tests without any bug; see {field.logs}", flush=True)
    field.call("cmake", "--preset", "bugs", "-B", field.build)
    if red := field.redOf([test for bug in bugs for test in bug.red], "none.log"):
        sys.exit(f"without any bug {red}: see {field.logs}/none.log")
    for bug in bugs:
        path = field.tree / bug.file
        text = path.read_text("utf-8")
        path.write_text(bug.plantedIn(text), "utf-8")
        try:
            red = field.redOf(bug.red, f"{bug.number}.log")
        except BuildFailed as error:
            red = f"it is no bug of the program:\n{error}"
            yield f"{bug.line()}: {red}"
        finally:
            path.write_text(text, "utf-8")
        print(f"{bug.line()}: {red or 'SURVIVED'}", flush=True)
        if not red:
            yield f"{bug.line()}: it survived"


def parse():
    made = parser("bugs", __doc__)
    made.add_argument("--kafka", action="store_true", help=argparse.SUPPRESS)
    made.add_argument("--check", action="store_true", help="that the lists fit the sources")
    made.add_argument("which", nargs="*", help="a promise, a number of the list, or words")
    lot = made.add_argument_group("mistakes made at random")
    lot.add_argument("--generated", type=between(1, 100_000), metavar="N", help="so many")
    lot.add_argument("--seed", type=between(0, 999_999_999), default=1,
                     help="the same seed and sources: the same mistakes")
    lot.add_argument("--only", type=between(1, 1_000_000), nargs="+", metavar="NUMBER",
                     help="single ones, by the numbers that were printed")
    lot.add_argument("--write", action="store_true", help="record what came of it: mutants.md")
    return made, made.parse_args()


def main():
    made, options = parse()
    if options.check:
        promises = (ROOT / "docs/guarantees.md").read_text("utf-8")
        return [*check(read("bugs.toml"), promises), *check(read("kafka.toml")), *checkGenerated()]
    if options.generated:
        need("mutants")
        python = pythonOf("mutants")
        os.execv(python, [python, "-B", HERE / "generated.py", *sys.argv[1:]])
    bugs = [bug for bug in read("kafka.toml" if options.kafka else "bugs.toml")
            if not options.which or any(map(bug.isMeant, options.which))]  # fmt: skip
    if not bugs:
        made.error(f"no bug of the list is meant by {' '.join(options.which)}")
    need("kafka" if options.kafka else "test")
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # so that no test program is left behind
    folder = ROOT / "build" / ("kafka/planted" if options.kafka else "bugs")
    return list(check(bugs)) or list(plant(folder, bugs))


if __name__ == "__main__":
    sys.exit("\n".join(main() or []) or None)
