#!/usr/bin/env python3
"""Small mistakes that somebody might make, planted one at a time: each must turn a test red.

Each bug of bugs.toml is planted in a copy of the sources, in build/bugs. What is needed is built,
and the tests that the bug names run; the whole fast suite if they stay green. ./dev kafka bugs
takes those of kafka.toml, which only a broker shows. --generated makes mistakes at random instead,
in the library and in what the Kafka worker does without a broker.
"""

import argparse
import os
import re
import signal
import subprocess
import sys
import time
import tomllib
from dataclasses import dataclass, replace
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "support"))
from runner import ROOT, between, need, parser, pythonOf  # noqa: E402

FAILURES = "tests/kafka/failures.py"  # the tests of what only a broker shows
TEST = re.compile(r"^(?:TEST|TEST_F|TEST_P|TYPED_TEST)\(\s*(\w+),\s*(\w+)\)", re.MULTILINE)
PROMISE = re.compile(r"^\*\*(G\d+) ", re.MULTILINE)
INVARIANT = re.compile(r"^///   ([A-Z]\d)  ", re.MULTILINE)
# Folders whose programs are no part of the fast suite, or not about the library.
NOT_IN_THE_SUITE = {"demo", "leaks", "support", "walkthrough"}


class BuildFailed(Exception):
    pass


# ---- the list ----------------------------------------------------------------------------------


@dataclass(frozen=True)
class Bug:
    number: int
    breaks: str  # a promise of docs/guarantees.md, an invariant of a wheel, or a header
    what: str
    file: str
    old: str  # however it is broken into lines
    new: str
    red: tuple  # names of tests, with stars
    after: str = ""  # `old` is the first one after this

    def line(self):
        return f"{self.number:>3} {Path(self.breaks).name:<20} {self.what}"

    def plantedIn(self, text):
        """The text with the bug. Raises ValueError where it does not fit."""
        start = self.only(self.after, text, 0).end() if self.after else 0
        found = self.only(self.old, text, start, isFirst=bool(self.after))
        return text[: found.start()] + self.new + text[found.end() :]

    def only(self, piece, text, start, isFirst=False):
        pattern = re.compile(r"\s+".join(map(re.escape, piece.split())))
        found = list(pattern.finditer(text, start))
        if not found or (len(found) > 1 and not isFirst):
            raise ValueError(f"`{piece}` is {len(found)} times in {self.file}, not once")
        return found[0]


def read(name):
    entries = tomllib.loads((HERE / name).read_text(encoding="utf-8"))["bug"]
    return [Bug(number=n, **{**entry, "red": tuple(entry["red"])})
            for n, entry in enumerate(entries, 1)]  # fmt: skip


class Tests:
    """Which program has which test."""

    def __init__(self):
        self.programs = {}
        for path in sorted((ROOT / "tests").rglob("*.cpp")):
            names = {".".join(match) for match in TEST.findall(path.read_text(encoding="utf-8"))}
            if names:
                self.programs.setdefault(path.parent.name, set()).update(names)
        source = (ROOT / FAILURES).read_text(encoding="utf-8")
        self.programs[FAILURES] = {
            f"{suite.split('(')[0]}.{test}" for suite in re.split(r"^class ", source, flags=re.M)
            for test in re.findall(r"^    def (test\w+)", suite, re.MULTILINE)}  # fmt: skip

    def having(self, patterns):
        """{program: its part of the patterns}"""
        found = {}
        for pattern in patterns:
            regex = re.compile(re.escape(pattern).replace(r"\*", r"\w*"))
            for program, names in self.programs.items():
                if any(map(regex.fullmatch, names)):
                    found.setdefault(program, []).append(pattern)
        return found

    def suite(self):
        return [name for name in self.programs if name not in NOT_IN_THE_SUITE | {FAILURES}]


def check(bugs, promises=()):
    """What does not fit the sources. Each of the promises needs a bug."""
    tests = Tests()
    headers = (ROOT / "include/timingwheel/wheel").glob("*.h")
    known = {name for path in headers for name in INVARIANT.findall(path.read_text("utf-8"))}
    known |= set(PROMISE.findall((ROOT / "docs/guarantees.md").read_text("utf-8")))
    for bug in bugs:
        wrong = [f"there is no test {test}" for test in bug.red if not tests.having([test])]
        try:
            if not bug.file.startswith(("include/", "src/")):
                wrong.append(f"{bug.file} is no file of the library")
            text = (ROOT / bug.file).read_text(encoding="utf-8")
            if bug.plantedIn(text) == text:
                wrong.append("it changes nothing")
        except (OSError, ValueError) as error:
            wrong.append(str(error))
        isHeader = any((ROOT / one / bug.breaks).is_file() for one in ("include", "src"))
        if bug.breaks not in known and not isHeader:
            wrong.append(f"there is no promise {bug.breaks}")
        if not bug.red:
            wrong.append("it names no test")
        yield from (f'bug {bug.number}, "{bug.what}": {what}' for what in wrong)
    yield from (f"no bug breaks {promise}" for promise in promises
                if all(bug.breaks != promise for bug in bugs))  # fmt: skip


def checkAll():
    promises = PROMISE.findall((ROOT / "docs/guarantees.md").read_text("utf-8"))
    return [*check(read("bugs.toml"), promises), *check(read("kafka.toml"))]


def selfTest():
    """The check notices what is wrong with a list; a bug is found however its lines are broken."""
    good = read("bugs.toml")[0]
    assert not list(check([good], [good.breaks]))
    assert list(check([good], ["G99"])) == ["no bug breaks G99"]
    for bad in ({"old": "nosuch"}, {"old": "#include"}, {"file": "src/nosuch.cpp"}, {"red": ()},
                {"file": "docs/guarantees.md"}, {"new": good.old}, {"breaks": "G77"},
                {"red": ("HashedWheel.NoSuch",)}, {"after": "nosuch"}):  # fmt: skip
        assert list(check([replace(good, **bad)])), f"takes {bad}"
    text = "if (a) x = 1;\nif (b)\n    x = 1;\nx = 1;"
    found = replace(good, old="x = 1;", new="y();", after="if (b)").plantedIn(text)
    assert found == "if (a) x = 1;\nif (b)\n    y();\nx = 1;", found
    assert replace(good, old="if (b) x", new="").plantedIn(text).count("x = 1;") == 2
    for printed, code, red in [("", 0, ""), ("[  FAILED  ] S/T.B (0 ms)\n", 1, "S/T.B fails"),
                               ("", -6, "S/T.B ends the program"), ("", None, "S/T.B hangs")]:
        found = outcome(f"[ RUN      ] S/T.B\n{printed}", code)
        assert found == red, f'takes "{found}" for "{red}"'


def chosen(bugs, which):
    """Those that any of the words names: a promise, a number, or a part of the sentence."""

    def isMeant(bug, word):
        if word.isdigit() or re.fullmatch(r"[A-Z]\d+", word):
            return word in (str(bug.number), bug.breaks)
        return word.lower() in bug.what.lower()

    return [bug for bug in bugs if not which or any(isMeant(bug, word) for word in which)]


# ---- planting ----------------------------------------------------------------------------------


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


class Field:
    """A copy of the sources, and what is built of it. The user's own tree is never touched."""

    def __init__(self, folder):
        self.tree, self.build, self.logs = folder / "tree", folder / "build", folder / "logs"
        self.tests, self.seconds = Tests(), {}
        self.logs.mkdir(parents=True, exist_ok=True)
        self.synchronize()

    def content(self, name):
        return (ROOT / name).read_bytes()

    def synchronize(self):
        """Only what differs is written, so that little has to be built again."""
        names = [path.relative_to(ROOT) for path in ROOT.rglob("*") if path.is_file()]
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

    def make(self, programs):
        targets = ["timingwheel-kafka" if name == FAILURES else f"timingwheel-tests-{name}"
                   for name in programs]  # fmt: skip
        self.call("cmake", "--build", str(self.build), "--parallel", "2", "--target", *targets)

    def run(self, program, patterns, log, limit):
        """What turns red, and how; nothing if all is green."""
        # Memory that was freed does not look as it did: who reads it finds out.
        environment = dict(os.environ, MALLOC_PERTURB_="165", TIMINGWHEEL_ONE_IN="1")
        if program == FAILURES:
            command = [pythonOf("kafka"), "-B", self.tree / FAILURES,
                       self.build / "src/apps/kafka/timingwheel-kafka", ROOT / "build/kafka",
                       *patterns]  # fmt: skip
        else:
            command = [self.build / f"tests/timingwheel-tests-{program}", "--gtest_fail_fast",
                       "--gtest_color=no"]  # fmt: skip
            if patterns:
                command.append(f"--gtest_filter={filterOf(patterns)}")
        with open(self.logs / log, "w+", encoding="utf-8", errors="replace") as output:
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
            text = output.read()
        if program == FAILURES:
            return "" if code == 0 else f"a test of {', '.join(patterns)}"
        if patterns and "[ RUN      ]" not in text:
            raise BuildFailed(f"{program} has no test {', '.join(patterns)}")
        return outcome(text, code)

    def measure(self, bugs):
        """Builds, and runs all that is to turn red: it must not be red already."""
        self.call("cmake", "--preset", "bugs", "-B", str(self.build))
        programs = self.tests.having(dict.fromkeys(test for bug in bugs for test in bug.red))
        self.make(programs)
        for program, patterns in programs.items():
            began, log = time.monotonic(), f"{Path(program).stem}.log"
            red = self.run(program, patterns, log, limit=1800)
            if red:
                raise SystemExit(f"without any bug {red}: see {self.logs / log}")
            self.seconds[program] = time.monotonic() - began

    def tryBug(self, bug, times):
        """What turns red, and whether that was expected."""
        path, log = self.tree / bug.file, f"{bug.number}.log"
        text = path.read_text(encoding="utf-8")
        path.write_text(bug.plantedIn(text), encoding="utf-8")
        programs = self.tests.having(bug.red)
        try:
            self.make(programs)
            for _ in range(times):
                reds = (self.run(program, patterns, log, 60 + 5 * self.seconds[program])
                        for program, patterns in programs.items())  # fmt: skip
                red = next(filter(None, reds), "")
                if not red:
                    return ("" if FAILURES in programs else self.suite(log)), False
            return red, True
        finally:
            path.write_text(text, encoding="utf-8")

    def suite(self, log):
        """The first test of the whole fast suite that turns red."""
        self.make(self.tests.suite())
        reds = (self.run(program, [], log, limit=300) for program in self.tests.suite())
        return next(filter(None, reds), "")


def plant(folder, bugs, times):
    """Plants them, and says what is wrong."""
    start = time.monotonic()
    field = Field(folder)
    print(f"building, and running the tests without any bug; see {field.logs}", flush=True)
    field.measure(bugs)
    survivors, unexpected, wrong = [], [], []
    for bug in bugs:
        print(f"{bug.line()}: ", end="", flush=True)
        try:
            red, isExpected = field.tryBug(bug, times)
        except BuildFailed as error:
            wrong.append(f"{bug.line()}: it is no bug of the program:\n{error}")
            print("DOES NOT BUILD", flush=True)
            continue
        if not isExpected:
            (unexpected if red else survivors).append(bug)
        print(f"{red or 'SURVIVED'}{'' if isExpected or not red else ', unexpectedly'}", flush=True)
    minutes = (time.monotonic() - start) / 60
    print(f"\n{len(bugs)} bugs, {len(survivors)} survived; {minutes:.0f} minutes")
    for bug in unexpected:
        print(f"{bug.line()}: what it names stays green, or not every time")
    return wrong + [f"survived: {bug.line()}" for bug in survivors]


def parse():
    made = parser("bugs", __doc__)
    made.add_argument("--list", action="store_true", help="only show the bugs")
    made.add_argument("--times", type=between(1, 1000), default=1, metavar="N",
                      help="the expected tests must turn red so many times")
    made.add_argument("--kafka", action="store_true", help=argparse.SUPPRESS)
    made.add_argument("--check", action="store_true", help="that the lists fit the sources")
    made.add_argument("which", nargs="*", help="a promise, a number of the list, or words")
    lot = made.add_argument_group("mistakes made at random")
    lot.add_argument("--generated", type=between(1, 100_000), metavar="N", help="so many")
    lot.add_argument("--seed", type=between(0, 999_999_999), default=1,
                     help="the same seed and sources: the same mistakes")
    lot.add_argument("--only", type=between(1, 1_000_000), nargs="+", metavar="NUMBER",
                     help="single ones, by the numbers that were printed")
    lot.add_argument("--survivors", action="store_true", help="those that survived the last time")
    lot.add_argument("--write", action="store_true", help="record what came of it: mutants.md")
    return made, made.parse_args()


def main():
    made, options = parse()
    if options.generated:
        need("mutants")
        python = pythonOf("mutants")
        os.execv(python, [python, "-B", HERE / "generated.py", *sys.argv[1:]])
    if options.check:
        selfTest()
        sys.exit("\n".join(checkAll()) or None)
    bugs = chosen(read("kafka.toml" if options.kafka else "bugs.toml"), options.which)
    if not bugs:
        made.error(f"no bug of the list is meant by {' '.join(options.which)}")
    if options.list:
        sys.exit(print("\n".join(bug.line() for bug in bugs)))
    need("kafka" if options.kafka else "test")
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # so that no test program is left behind
    wrong = list(check(bugs)) or plant(
        ROOT / "build" / ("kafka/planted" if options.kafka else "bugs"), bugs, options.times)
    sys.exit("\n".join(wrong) or None)


if __name__ == "__main__":
    main()
