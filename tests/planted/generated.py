#!/usr/bin/env python3
"""Mistakes that nobody thought of, made at random: 97 of 100 must turn a test red.

Draws places of the library, its calendars, its store and what the Kafka worker does without a
broker, compiles all mistakes into one copy of the sources, and makes them one at a time. For each
it runs those tests of the fast suite that come by there. ./dev bugs --generated N calls it.

generated.py --check: what equivalent.toml says fits the sources, the generator finds what it
should, what it writes compiles, and mutants.md records that enough were caught.
"""

import datetime
import re
import signal
import subprocess
import sys
import tempfile
import time
import tomllib
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import planted
from planted import HERE, ROOT, Field
from runner import asked

# A parser that tests/dev/need has got from PyPI, for any Python of the version that got it.
sys.path += map(str, (ROOT / "build/mutants/venv").glob("lib/python3*/site-packages"))
try:
    import mutants
except ImportError:
    mutants = None

# Kafka's: what decides, of which tests/kafka tests each without a broker.
MUTATED = ["src/base/*", "src/wheel/*", "src/timeout/*", "src/context/*", "src/run/*",
           "src/driver/*", "include/timingwheel/**/*.h", "src/calendar/*", "src/store/*",
           *(f"src/apps/kafka/{name}.*" for name in (
               "Command", "Intake", "PendingTimer", "PendingTimers", "StateReader"))]  # fmt: skip
PROGRAMS = ["platform", "base", "wheel", "timeout", "context", "run", "driver", "calendar", "kafka",
            "store", "asio", "model", "flow", "api", "facade", "trace", "threads",
            "simulation"]  # fmt: skip
KEEPER = Path("src/driver/TimeoutKeeper.h")  # has the lock that a Section takes
LEAST = 97  # of 100
RECORD, LAST = HERE / "mutants.md", "## The last run"
MARK = re.compile(r"timingwheel_mutant::is\((\d+)\)")
SKIPPED = 77


def sources():
    return {str(path.relative_to(ROOT)): path.read_bytes()
            for pattern in MUTATED for path in sorted(ROOT.glob(pattern))
            if path.suffix in (".h", ".cpp")}  # fmt: skip


# ---- what changes nothing ----------------------------------------------------------------------


def equivalents():
    """{(file, line, what stands there, what would): why that changes nothing}"""
    entries = tomllib.loads((HERE / "equivalent.toml").read_text("utf-8"))["equivalent"]
    return {(e["file"], e["at"], e["old"], e["new"]): e["why"] for e in entries}


def checkEquivalents():
    for (file, at, _, _), why in equivalents().items():
        path = ROOT / file
        lines = path.read_bytes().splitlines() if path.is_file() else []
        if at not in map(mutants.flat, lines):
            yield f"equivalent.toml: no line of {file} is `{at}`"
        if len(why) < 30:
            yield f"equivalent.toml: `{at}` does not say why it changes nothing"


# ---- building ----------------------------------------------------------------------------------


def withSkippedLocks(content):
    """A section can be left out: then the keeper's lock is not taken."""
    for call in (b"mutex_.lock();", b"mutex_.unlock();"):
        assert content.count(call) == 1, f"{KEEPER} has no {call.decode()}, or several"
        content = content.replace(call, b"::timingwheelSkipLocks(0) ? void() : " + call)
    return content


class Mutated(Field):
    """A copy of the sources with all mutants in it, and what is built of it."""

    def __init__(self, folder, count, seed):
        self.places, self.count = mutants.find(sources()), count
        self.order = mutants.ordered(self.places, seed)
        self.dropped = set()
        super().__init__(folder)

    def drawn(self):
        return mutants.draw(self.order, self.count, self.dropped)

    def synchronize(self):
        self.mine = {}
        for place in self.drawn():
            self.mine.setdefault(Path(place.file), []).append(place)
        super().synchronize()

    def content(self, name):
        content = super().content(name)
        if name in self.mine:
            content = mutants.rewritten(content, self.mine[name])
        return withSkippedLocks(content) if name == KEEPER else content

    def buildAll(self):
        self.build.mkdir(parents=True, exist_ok=True)
        here, library = self.tree / "tests/planted", self.build / "libmutant.so"
        self.call("g++", "-O2", "-shared", "-fPIC", "-o", library, here / "mutant.cpp")
        self.call("cmake", "--preset", "bugs", "-B", self.build,
                  f"-DCMAKE_CXX_FLAGS=-w -Wno-narrowing -include {here}/mutant.h",
                  f"-DCMAKE_CXX_STANDARD_LIBRARIES={library} -Wl,-rpath,{self.build}")  # fmt: skip
        for targets in (["timingwheel"], [f"timingwheel-tests-{name}" for name in PROGRAMS]):
            while not self.compiles(targets):
                self.synchronize()

    def compiles(self, targets):
        """Builds as much as it can; false if it had to drop mutants that do not compile."""
        try:
            self.call("cmake", "--build", self.build, "--parallel", "2", "--target", *targets,
                      "--", "-k", "0")  # fmt: skip
            return True
        except planted.BuildFailed:
            text, guilty = (self.logs / "build.log").read_text(errors="replace"), set()
            for file, line in set(re.findall(
                    r"^(?:In file included from |\s+from )?(\S+?):(\d+)[:,]", text,
                    re.M)):  # fmt: skip
                path = self.build / file
                if path.is_file() and self.tree in path.resolve().parents:
                    content = path.read_text(encoding="utf-8").splitlines()
                    guilty |= {int(n) for n in MARK.findall(content[int(line) - 1])}
            if not guilty - self.dropped:
                raise
        self.dropped |= guilty
        print(f"{len(guilty)} do not compile and are drawn anew", flush=True)
        return False


# ---- running -----------------------------------------------------------------------------------


@dataclass
class Test:
    program: str
    name: str
    seconds: float = 0
    reached: frozenset = frozenset()


class Range:
    """Runs tests in processes of their own, with a mutant or without."""

    CHEAP = 0.1  # seconds

    def __init__(self, field, pool):
        """Runs every test alone without a mutant: it is green, and this is what it comes by."""
        self.field, tests = field, []
        for program in PROGRAMS:
            listed = subprocess.run([self.program(program), "--gtest_list_tests"],
                                    capture_output=True, text=True, check=True)  # fmt: skip
            for line in listed.stdout.splitlines():
                name = line.split("#")[0].rstrip()
                if name.startswith("  "):
                    tests.append(Test(program, suite + name.strip()))
                else:
                    suite = name
        self.tests = list(filter(None, pool.map(self.measured, tests)))

    def program(self, name):
        return self.field.build / "tests" / f"timingwheel-tests-{name}"

    def run(self, tests, mutant=0, seconds=30.0, **environment):
        """What turned red."""
        with tempfile.NamedTemporaryFile() as log:
            command = ["prlimit", f"--cpu={int(10 + 4 * seconds)}", self.program(tests[0].program),
                       "--gtest_fail_fast", "--gtest_color=no"]  # fmt: skip
            text, code = planted.execute(
                command, log.name, 60 + 10 * seconds, LD_BIND_NOW="1",
                GTEST_FILTER=":".join(test.name for test in tests),
                TIMINGWHEEL_MUTANT=str(mutant), **environment)  # fmt: skip
        return planted.outcome(text, code)

    def measured(self, test):
        with tempfile.NamedTemporaryFile() as file:
            file.write(bytes(len(self.field.places) + 1))
            file.flush()
            began = time.monotonic()
            red = self.run([test], TIMINGWHEEL_MUTANTS_REACHED=file.name)
            test.seconds = time.monotonic() - began
            test.reached = frozenset(n for n, byte in enumerate(Path(file.name).read_bytes())
                                     if byte)  # fmt: skip
        if red:
            print(f"without any mutant {red}: it is left out", flush=True)
        return None if red else test

    def verdict(self, mutant):
        """What turned red, nothing if the mutant survived: cheap tests of a program are run
        together, and first."""
        mine = [test for test in self.tests if mutant.number in test.reached]
        if mutant.kind == "memory order":  # this processor has no weaker ones
            mine = [test for test in mine if test.program == "simulation"]
        batches = [[test for test in mine if test.program == program
                    and test.seconds <= self.CHEAP] for program in PROGRAMS]  # fmt: skip
        if mutant.kind == "lock":  # what has one thread at a time finds it soonest
            batches.reverse()
        dear = [test for test in mine if test.seconds > self.CHEAP]
        for batch in [*batches, *([test] for test in sorted(dear, key=lambda t: t.seconds))]:
            red = batch and self.run(batch, mutant.number, sum(test.seconds for test in batch))
            if red:
                return f"{batch[0].program}: {red}"
        return ""


# ---- what comes of it --------------------------------------------------------------------------


def line(mutant):
    return f"{mutant.number:>5} {mutant.file}:{mutant.line}: {mutant.kind}: {mutant.text()}"


def section(options, results):
    """What is printed at the end, and recorded; and the share that is caught, of 100."""
    states = ["caught", "equivalent", "survived"]
    counts = Counter(key for mutant, state in results for key in ((mutant.kind, state), state))
    share = 100 * counts["caught"] / max(1, counts["caught"] + counts["survived"])
    rows = [[kind, *(str(counts[kind, state]) for state in states)] for kind in mutants.KINDS]
    rows = [["", "caught", "change nothing", "survive"], ["---", "---:", "---:", "---:"], *rows,
            ["all", *(str(counts[state]) for state in states)]]  # fmt: skip
    table = "\n".join(f"| {' | '.join(row)} |" for row in rows)
    survivors = "\n".join(f"- `{line(mutant).strip()}`" for mutant, state in results
                          if state == "survived")  # fmt: skip
    return share, (f"Of {len(results)} mutants of seed {options.seed}, {share:.1f} % of those that "
                   f"matter are caught.\n\n{table}\n\nSurvivors:\n\n{survivors or 'none'}\n")


def git(*arguments):
    return subprocess.run(["git", *arguments], cwd=ROOT, text=True, check=True,
                          capture_output=True).stdout.strip()  # fmt: skip


def runAll(options):
    """Says what is wrong."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    field = Mutated(ROOT / "build/mutants", options.generated, options.seed)
    equivalent, began = equivalents(), time.monotonic()

    def chosen():
        return [mutant for mutant in field.drawn()
                if mutant.number in (options.only or [mutant.number])]  # fmt: skip

    if options.list:
        print("\n".join(map(line, chosen())))
        return []
    if options.write and (options.only or git("status", "--porcelain")):
        return ["--write records all mutants of a commit: nothing may differ from it"]
    print(f"{len(field.places)} places; building. See {field.logs}", flush=True)
    field.buildAll()
    results = []

    def tryOne(mutant):
        red = range_.verdict(mutant)
        isNothing = (mutant.file, mutant.at, mutant.old, mutant.new) in equivalent
        state = "caught" if red else "equivalent" if isNothing else "survived"
        print(f"{line(mutant)}: {red or state.upper()}", flush=True)
        if red and isNothing:
            print("      equivalent.toml says that it changes nothing", flush=True)
        results.append((mutant, state))

    with ThreadPoolExecutor(2) as pool:
        print("running every test without a mutant", flush=True)
        range_ = Range(field, pool)
        list(pool.map(tryOne, chosen()))
    share, said = section(options, sorted(results, key=lambda result: result[0].number))
    print(f"\n{said}")
    if options.write:
        before = RECORD.read_text(encoding="utf-8").split(LAST)[0].rstrip()
        minutes, seconds = divmod(round(time.monotonic() - began), 60)
        stamp = (f"Written by `{asked('bugs')}` on {datetime.date.today()}, commit "
                 f"{git('rev-parse', '--short', 'HEAD')}, in {minutes} min {seconds} s. It "
                 "measures `include`, `src`.")  # fmt: skip
        RECORD.write_text(f"{before}\n\n{LAST}\n\n{stamp}\n\n{said}", encoding="utf-8")
    return [f"{share:.1f} % are caught, not {LEAST} %"] if share < LEAST else []


# ---- check -------------------------------------------------------------------------------------

SMALL = """#include <atomic>
#include <mutex>
enum class Color { red, green };
struct Lamp {
    static constexpr int kMost = 3 + 4;
    bool isLit(int power) noexcept {
        std::lock_guard const lock{mutex_};
        ++asked_;
        if (power < kMost && !broken_) return seen_.load(std::memory_order_acquire) != Color::red;
        for (int i = 0; i + 1 < power; ++i)
            if (i == 5) break;
        return false;  // a comment
    }
    int scaled(int power) const noexcept { return power * 4 / asked_; }
    std::mutex mutex_;
    int asked_ = 0;
    int answered_ = 0;
    bool broken_ = false;
    std::atomic<Color> seen_{Color::green};
};
static_assert(Lamp::kMost < 8);
"""
EXPECTED = """condition: power < kMost && !broken_
condition: !broken_
condition: false
comparison: power < kMost
comparison: i + 1 < power
statement: ++asked_;
statement: break;
off by one: i + 1
off by one: 5
arithmetic: power * 4 / asked_
wrong member: asked_
wrong state: Color::red
memory order: seen_.load(std::memory_order_acquire)
lock: std::lock_guard const lock{mutex_};"""


def checkGenerator():
    text = SMALL.encode()

    def drawing(seed, count=12):
        return mutants.draw(mutants.ordered(mutants.find({"Lamp.h": text}), seed), count)

    places = drawing(1, 1000)
    found = [f"{place.kind}: {place.old}" for place in places]
    yield from (f"finds no {one}" for one in EXPECTED.splitlines() if one not in found)
    yield from (f"takes what the compiler must know for a place: {place.at}" for place in places
                if "kMost = " in place.at or "static_assert" in place.at)
    if drawing(1) != drawing(1) or len(drawing(1)) != 12 or drawing(1) == drawing(2) == drawing(3):
        yield "draws others from the same seed, not 12, or the same ones from any seed"
    rewritten = mutants.rewritten(text, places)
    done = subprocess.run(["g++", "-std=c++20", "-w", "-fsyntax-only", "-include",
                           HERE / "mutant.h", "-xc++", "-"], input=rewritten, capture_output=True,
                          check=False)  # fmt: skip
    if done.returncode or len(set(MARK.findall(rewritten.decode()))) != len(places):
        yield f"writes what does not compile: {done.stderr.decode()}\n{rewritten.decode()}"


def check():
    yield from checkEquivalents()
    yield from checkGenerator()
    withSkippedLocks((ROOT / KEEPER).read_bytes())
    recorded = re.search(r"([\d.]+) % of those that matter", RECORD.read_text(encoding="utf-8"))
    if recorded and float(recorded[1]) < LEAST:
        yield f"{RECORD.name}: {recorded[1]} % are caught, not {LEAST} %"


def main():
    if mutants is None:
        print("skipped: the parser is not installed: ./dev test installs it")
        return SKIPPED
    _, options = planted.parse()
    wrong = list(check()) if options.check else runAll(options)
    return "\n".join(wrong) or None


if __name__ == "__main__":
    sys.exit(main())
