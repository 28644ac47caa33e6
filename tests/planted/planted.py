#!/usr/bin/env python3
"""Small mistakes that somebody might make, planted one at a time: each must turn a test red.

planted.py run <folder> [--list] [--times N] [<which> ...]
    Plants each bug of bugs.toml in a copy of the sources below <folder>, builds what is needed, and
    runs the tests that are expected to turn red; the whole fast suite if they do not. <which> is a
    promise (G4, W2), a number of the list, or words that the bug's sentence contains. --list only
    shows the bugs, --times has the expected tests turn red so many times.
planted.py check
    The list fits the sources: each old text is there once, each promise and each test exists.
planted.py self-test
    The check notices what is wrong with a list.

Prints what is wrong and exits with 1.
"""

import argparse
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
import tomllib
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests" / "guarantees"))
import guarantees  # noqa: E402: it stands in the folder beside this one

LIST = Path("tests") / "planted" / "bugs.toml"
FEWEST = 60
MOST_TIMES = 1000
KEYS = {"breaks", "what", "file", "old", "new", "red"}
# Folders whose programs are no part of the fast suite, or not about the library.
NOT_IN_THE_SUITE = {"demo", "leaks", "support", "walkthrough"}
INVARIANT = re.compile(r"^///   ([A-Z]\d)  ", re.MULTILINE)


@dataclass(frozen=True)
class Bug:
    number: int
    breaks: str  # a promise of docs/guarantees.md, an invariant of a wheel, or a header
    what: str
    file: str
    old: str
    new: str
    red: tuple  # names of tests, with stars

    def name(self):
        return f'{LIST.name}: bug {self.number}, "{self.what}"'

    def line(self):
        return f"{self.number:>3} {Path(self.breaks).name:<20} {self.what}"


# ---- the list ----------------------------------------------------------------------------------


def read(root):
    """The bugs, and what is wrong with the way in which they are written."""
    with open(root / LIST, "rb") as file:
        entries = tomllib.load(file).get("bug", [])
    bugs, wrong = [], []
    for number, entry in enumerate(entries, 1):
        if entry.keys() == KEYS:
            bugs.append(Bug(number=number, **dict(entry, red=tuple(entry["red"]))))
        else:
            wrong.append(f"{LIST.name}: bug {number} has {sorted(entry)}, not {sorted(KEYS)}")
    return bugs, wrong


def planted(bug, text):
    """`text` with the bug. Raises ValueError where the bug does not fit it."""
    found = text.count(bug.old)
    if found != 1:
        raise ValueError(f"{bug.name()}: its old text is {found} times in {bug.file}, not once")
    return text.replace(bug.old, bug.new)


class Tests:
    """Which program has which test."""

    def __init__(self, root):
        self.byProgram = {}
        for path, names in guarantees.Sources(root).tests.items():
            folder = path.parent.name
            if names and folder != "tests":
                program = f"timingwheel-tests-{folder}"
                self.byProgram.setdefault((folder, program), set()).update(names)

    def programs(self, patterns):
        """Those that have the tests, each with its part of the patterns."""
        found = {}
        for pattern in patterns:
            regex = re.compile(re.escape(pattern).replace(r"\*", r"\w*"))
            for (_, program), names in self.byProgram.items():
                if any(regex.fullmatch(name) for name in names):
                    found.setdefault(program, []).append(pattern)
        return found

    def suite(self):
        return [program for folder, program in self.byProgram if folder not in NOT_IN_THE_SUITE]


def invariants(root):
    headers = sorted((root / "include" / "timingwheel" / "wheel").glob("*.h"))
    return {name for path in headers for name in INVARIANT.findall(path.read_text("utf-8"))}


def check(root):
    bugs, wrong = read(root)
    tests = Tests(root)
    promises = guarantees.titles(root).keys() | invariants(root)
    for bug in bugs:
        path = root / bug.file
        if not path.is_file() or not bug.file.startswith(("include/", "src/")):
            wrong.append(f"{bug.name()}: {bug.file} is no file of the library")
            continue
        try:
            planted(bug, path.read_text(encoding="utf-8"))
        except ValueError as error:
            wrong.append(str(error))
        if bug.old == bug.new:
            wrong.append(f"{bug.name()}: its new text is the old one")
        headers = (root / folder / bug.breaks for folder in ("include", "src"))
        if bug.breaks not in promises and not any(path.is_file() for path in headers):
            wrong.append(f"{bug.name()}: there is no promise {bug.breaks}")
        if not bug.red:
            wrong.append(f"{bug.name()}: names no test")
        for test in bug.red:
            if not tests.programs([test]):
                wrong.append(f"{bug.name()}: there is no test {test}")
    if len(bugs) < FEWEST:
        wrong.append(f"{LIST.name}: {len(bugs)} bugs, not the {FEWEST} that it should have")
    for promise in guarantees.PROMISES:
        if all(bug.breaks != promise for bug in bugs):
            wrong.append(f"{LIST.name}: no bug breaks {promise}")
    return wrong


def chosen(bugs, which):
    """Those that any of the words names: a promise, a number, or a part of the sentence."""

    def isMeant(bug, word):
        if word.isdigit():
            return bug.number == int(word)
        return bug.breaks == word or (not re.fullmatch(r"[A-Z]\d+", word) and
                                      word.lower() in bug.what.lower())  # fmt: skip

    return [bug for bug in bugs if not which or any(isMeant(bug, word) for word in which)]


# ---- running tests -----------------------------------------------------------------------------


@dataclass
class Outcome:
    red: str = ""  # the first test that is, and how; empty if all are green
    seconds: float = 0
    ran: int = 0


def filterOf(patterns):
    """GoogleTest's, also for those of its suites that have types or values."""
    forms = ("{0}.{1}", "{0}/*.{1}", "*/{0}.{1}/*", "*/{0}/*.{1}")
    return ":".join(form.format(*p.split(".")) for p in patterns for form in forms)


def readOutcome(text, code, seconds):
    """From what GoogleTest prints; code is None if the program was ended."""
    running, red = "", ""
    for what, name in re.findall(r"\[ {0,7}(RUN|OK|FAILED|SKIPPED) +\] ([\w/]+\.[\w/]+)", text):
        if what == "FAILED" and not red:
            red = f"{name} fails"
        running = name if what == "RUN" else ""
    if not red and code is None:
        red = f"{running or 'the program'} hangs"
    elif not red and code != 0:
        red = f"{running or 'the program'} ends the program"
    return Outcome(red, seconds, len(re.findall(r"\[ RUN      \]", text)))


def run(program, patterns, limit, log):
    """Runs the tests of a program that the patterns name, all of them if there are none."""
    command = [program, "--gtest_fail_fast", "--gtest_color=no"]
    if patterns:
        command.append(f"--gtest_filter={filterOf(patterns)}")
    # Memory that was freed does not look as it did: who reads it finds out.
    environment = dict(os.environ, MALLOC_PERTURB_="165", TIMINGWHEEL_ONE_IN="1")
    start = time.monotonic()
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
        seconds = time.monotonic() - start
        output.seek(0)
        return readOutcome(output.read(), code, seconds)


# ---- planting ----------------------------------------------------------------------------------


class BuildFailed(Exception):
    pass


class Field:
    """A copy of the sources, and what is built of it. The user's own tree is never touched."""

    SLOWER = 5  # so much longer than without the bug a test may take,
    MORE = 20  # and so many seconds
    WHOLE = 100  # a whole program
    UNHURRIED = 600  # the same on a busy machine, before there is a bug to find

    def __init__(self, root, folder):
        self.root = root
        self.tree = folder / "tree"
        self.build = folder / "build"
        self.logs = folder / "logs"
        self.tests = Tests(root)
        self.seconds = {}  # what the expected tests of a program take without a bug
        self.logs.mkdir(parents=True, exist_ok=True)
        self.synchronize()

    def synchronize(self):
        """Only what differs is written, so that little has to be built again."""
        wanted = set()
        for path in sorted(self.root.rglob("*")):
            name = path.relative_to(self.root)
            if name.parts[0] == "build" or name.parts[0].startswith(".") or not path.is_file():
                continue
            wanted.add(name)
            copy = self.tree / name
            if not copy.is_file() or copy.read_bytes() != path.read_bytes():
                copy.parent.mkdir(parents=True, exist_ok=True)
                copy.write_bytes(path.read_bytes())
        for copy in self.tree.rglob("*"):
            if copy.is_file() and copy.relative_to(self.tree) not in wanted:
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

    def configure(self):
        self.call("cmake", "--preset", "bugs", "-B", str(self.build))

    def make(self, programs):
        self.call("cmake", "--build", str(self.build), "--parallel", "2", "--target", *programs)

    def run(self, program, patterns, limit, log):
        return run(str(self.build / "tests" / program), patterns, limit, self.logs / log)

    def measure(self, bugs):
        """Builds, and runs all that is expected to turn red: it must not be red already."""
        self.configure()
        programs = self.tests.programs(sorted({test for bug in bugs for test in bug.red}))
        self.make(programs)
        for program, patterns in programs.items():
            outcome = self.run(program, patterns, self.UNHURRIED, f"{program}.log")
            if outcome.red:
                raise SystemExit(f"without any bug {outcome.red}: see {self.logs}/{program}.log")

    def expected(self, bug, log):
        """The first of the expected tests that turns red."""
        total = Outcome()
        for program, patterns in self.tests.programs(bug.red).items():
            outcome = self.run(program, patterns, self.limit(program, patterns), log)
            total = Outcome(outcome.red, total.seconds + outcome.seconds, total.ran + outcome.ran)
            if outcome.ran == 0:
                raise BuildFailed(f"{program} has no test {', '.join(patterns)}")
            if outcome.red:
                break
        return total

    def limit(self, program, patterns):
        log = (self.logs / f"{program}.log").read_text(encoding="utf-8", errors="replace")
        regexes = [re.compile(r"(?:\w+/)?" + re.escape(p).replace(r"\*", r"\w*")
                              .replace(r"\.", r"(?:/\w+)?\.") + r"(?:/\w+)?")
                   for p in patterns]  # fmt: skip
        took = sum(int(milliseconds) / 1000
                   for name, milliseconds in re.findall(r"\[ +OK \] (\S+) \((\d+) ms\)", log)
                   if any(regex.fullmatch(name) for regex in regexes))  # fmt: skip
        return self.MORE + self.SLOWER * took

    def any(self, log):
        """The first test of the whole fast suite that turns red."""
        programs = self.tests.suite()
        self.make(programs)
        for program in programs:
            outcome = self.run(program, [], self.WHOLE, log)
            if outcome.red:
                return outcome
        return Outcome()

    def tryBug(self, bug, times):
        """What turns red, whether that was expected. Raises BuildFailed."""
        path = self.tree / bug.file
        text = path.read_text(encoding="utf-8")
        log = f"{bug.number}.log"
        path.write_text(planted(bug, text), encoding="utf-8")
        try:
            self.make(self.tests.programs(bug.red))
            for _ in range(times):
                outcome = self.expected(bug, log)
                if not outcome.red:
                    return self.any(log).red, False
            return outcome.red, True
        finally:
            path.write_text(text, encoding="utf-8")


def table(bugs, survivors, title):
    """How many bugs break what, and how many of those survived."""
    lines = []
    for breaks in dict.fromkeys(bug.breaks for bug in bugs):
        mine = [bug for bug in bugs if bug.breaks == breaks]
        left = sum(bug in survivors for bug in mine)
        lines.append(f"{Path(breaks).name:<20} {len(mine):>3}  "
                     f"{f'{left} SURVIVED' if left else 'all red':<12}"
                     f"{title.get(breaks, '')}".rstrip())  # fmt: skip
    return lines


def plant(root, folder, bugs, times):
    start = time.monotonic()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # so that no test program is left behind
    field = Field(root, folder)
    print(f"building, and running the tests without any bug; see {field.logs}", flush=True)
    field.measure(bugs)
    survivors, surprises, wrong = [], [], []
    for bug in bugs:
        print(f"{bug.line()}: ", end="", flush=True)
        try:
            red, isExpected = field.tryBug(bug, times)
        except BuildFailed as error:
            wrong.append(f"{bug.name()} is no bug of the program:\n{error}")
            print("DOES NOT BUILD", flush=True)
            continue
        if not red:
            survivors.append(bug)
        elif not isExpected:
            surprises.append(bug)
        print(f"{red or 'SURVIVED'}{'' if isExpected or not red else ', unexpectedly'}", flush=True)

    print("\n" + "\n".join(table(bugs, survivors, guarantees.titles(root))))
    minutes = (time.monotonic() - start) / 60
    print(f"\n{len(bugs)} bugs, {len(survivors)} survived; {minutes:.0f} minutes")
    for bug in surprises:
        print(f"{bug.name()}: what it names stays green, or not every time")
    return wrong + [f"{bug.name()} survived" for bug in survivors]


# ---- self-test ---------------------------------------------------------------------------------

GOOD = """[[bug]]
breaks = "{breaks}"
what = "Mistake {number}"
file = "src/One.cpp"
old = 'line {number};'
new = 'other line {number};'
red = ["Suite.Name*"]
"""


def writeProject(root, replace=("", "")):
    def write(path, text):
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        changed = text.replace(*replace, 1) if replace[0] else text
        (root / path).write_text(changed, encoding="utf-8")

    promises = (guarantees.PROMISES * FEWEST)[:FEWEST]
    write(LIST, "\n".join(GOOD.format(number=number, breaks=promise)
                          for number, promise in enumerate(promises, 1)))  # fmt: skip
    write("src/One.cpp", "".join(f"line {number};\n" for number in range(1, FEWEST + 1)))
    write("docs/guarantees.md", "".join(f"**{p} Words.** More.\n" for p in guarantees.PROMISES))
    write("tests/unit/wheel/T.cpp", "TEST(Suite, NameA) {}\nTYPED_TEST(Suite, NameB) {}\n")


def selfTest():
    wrong = []

    def expect(condition, what):
        if not condition:
            wrong.append(what)

    planted = {
        "a text that is gone": ("line 7;\n", ""),
        "a text that is there twice": ("line 7;\n", "line 7; line 7;\n"),
        "a file that is gone": ("src/One.cpp", "src/Two.cpp"),
        "a file that is not the library's": ("src/One.cpp", "docs/guarantees.md"),
        "a mistake that changes nothing": ("new = 'other line 7;'", "new = 'line 7;'"),
        "a promise that is not made": ('breaks = "G7"', 'breaks = "G77"'),
        "a promise that no bug breaks": ("**G31", "**G32"),
        "a test that is gone": ("Suite.Name*", "Suite.Other*"),
        "a bug without a test": ('["Suite.Name*"]', "[]"),
        "a bug that says nothing": ('what = "Mistake 7"\n', ""),
        "a list that is too short": (GOOD.format(number=FEWEST, breaks="G31"), ""),
    }
    with tempfile.TemporaryDirectory() as folder:
        writeProject(Path(folder))
        expect(check(Path(folder)) == [], f"complains of a good list: {check(Path(folder))}")
        bugs, _ = read(Path(folder))
        expect([bug.number for bug in chosen(bugs, ["G25", "mistake 60"])] == [25, 55, 60],
               "does not choose by promise and words")  # fmt: skip
        expect(Tests(Path(folder)).programs(["Suite.NameB"]) ==
               {"timingwheel-tests-wheel": ["Suite.NameB"]}, "does not find a program")  # fmt: skip
    for what, replace in planted.items():
        with tempfile.TemporaryDirectory() as folder:
            writeProject(Path(folder), replace)
            expect(check(Path(folder)), f"does not notice {what}")

    green = "[ RUN      ] S/T.A\n[       OK ] S/T.A (2 ms)\n[ RUN      ] S/T.B\n"
    for text, code, red in [
        (green + "[       OK ] S/T.B (0 ms)\n", 0, ""),
        (green + "[  FAILED  ] S/T.B (0 ms)\n[  FAILED  ] S/T.B\n", 1, "S/T.B fails"),
        (green, -6, "S/T.B ends the program"),
        (green, None, "S/T.B hangs"),
    ]:
        found = readOutcome(text, code, 1.0)
        expect((found.red, found.ran) == (red, 2), f'takes "{found.red}" for "{red}"')
    return wrong


def times(written):
    if not re.fullmatch(r"[0-9]{1,4}", written) or not 1 <= int(written) <= MOST_TIMES:
        raise argparse.ArgumentTypeError(f"{written} is not from 1 to {MOST_TIMES}")
    return int(written)


def main(arguments):
    parser = argparse.ArgumentParser(prog="./dev bugs", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--list", action="store_true", help="only show the bugs")
    parser.add_argument("--times", type=times, default=1, metavar="N",
                        help="the expected tests must turn red so many times")
    parser.add_argument("which", nargs="*", help="a promise, a number of the list, or words")
    if arguments == ["check"]:
        wrong = check(ROOT)
    elif arguments == ["self-test"]:
        wrong = selfTest()
    elif arguments[:1] == ["run"] and len(arguments) > 1:
        options = parser.parse_args(arguments[2:])
        wrong = check(ROOT)
        bugs = chosen(read(ROOT)[0], options.which)
        if not bugs:
            wrong.append(f"no bug of the list is meant by {' '.join(options.which)}")
        if options.list:
            for bug in bugs:
                print(bug.line())
        elif not wrong:
            wrong = plant(ROOT, Path(arguments[1]).resolve(), bugs, options.times)
    else:
        print(__doc__)
        return 2
    for line in wrong:
        print(line)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
