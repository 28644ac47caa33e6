#!/usr/bin/env python3
"""Mistakes that nobody thought of, made at random: a test must turn red.

Draws places of the library, its calendars, its store and what the Kafka worker does without a
broker, compiles all mistakes into one copy of the sources, and makes them one at a time. For each
it runs those tests of the fast suite that come by there. ./dev bugs --generated N calls it.
"""

import datetime
import re
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter, defaultdict
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import SimpleNamespace

import mutants
import planted
from planted import LEAST, RECORD, ROOT, Field
from runner import asked, git

# Kafka's: what decides, of which tests/kafka tests each without a broker.
MUTATED = ["src/core/base/*", "src/core/wheel/*", "src/core/timeout/*", "src/core/flat/*",
           "src/core/driver/**/*", "include/timingwheel/**/*.h", "src/components/calendar/*",
           "src/components/store/*",
           *(f"src/components/kafka/daemon/{name}.*" for name in (
               "Command", "Delivery", "Intake", "Pending*", "Recurrence", "State*"))]  # fmt: skip
PROGRAMS = ["base", "wheel", "timeout", "driver", "flat", "calendar", "kafka", "store", "asio",
            "model", "flow", "public", "facade", "trace", "threads", "simulation"]  # fmt: skip
LOCK = Path("src/core/driver/lock/Lock.h")  # the one that a Hold takes
LAST = "## The last run"
MARK = re.compile(r"timingwheel_mutant::is\((\d+)\)")


def sources():
    return {str(path.relative_to(ROOT)): path.read_bytes()
            for pattern in MUTATED for path in sorted(ROOT.glob(pattern))
            if path.suffix in (".h", ".cpp")}  # fmt: skip


def withSkippedLocks(content):
    """A hold can be left out: then the keeper's lock is not taken, of whatever kind it is."""
    for head in (b"void lock() noexcept {", b"void unlock() noexcept {"):
        assert content.count(head) == 1, f"{LOCK} has no {head.decode()}, or several"
        content = content.replace(head, head + b" if (::timingwheelSkipLocks(0)) return;")
    return content


class Mutated(Field):
    """A copy of the sources with all mutants in it, and what is built of it."""

    CHEAP = 0.1  # seconds of a test

    def __init__(self, folder, count, seed):
        self.places, self.count = mutants.find(sources()), count
        self.order = mutants.ordered(self.places, seed)
        self.dropped = set()
        super().__init__(folder)

    def drawn(self):
        return mutants.draw(self.order, self.count, self.dropped)

    def synchronize(self):
        self.mine = defaultdict(list)
        for place in self.drawn():
            self.mine[Path(place.file)].append(place)
        super().synchronize()

    def content(self, name):
        content = super().content(name)
        if name in self.mine:
            content = mutants.rewritten(content, self.mine[name])
        return withSkippedLocks(content) if name == LOCK else content

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
            place = r"^(?:In file included from |\s+from )?(\S+?):(\d+)[:,]"
            for file, line in set(re.findall(place, text, re.MULTILINE)):
                path = self.build / file
                if path.is_file() and self.tree in path.resolve().parents:
                    found = MARK.findall(path.read_text("utf-8").splitlines()[int(line) - 1])
                    guilty.update(map(int, found))
            if not guilty - self.dropped:
                raise
        self.dropped |= guilty
        print(f"{len(guilty)} do not compile and are drawn anew", flush=True)
        return False

    def program(self, name):
        return self.build / "tests" / f"timingwheel-tests-{name}"

    def redWith(self, tests, mutant=0, **environment):
        """What turned red."""
        seconds = sum(test.seconds for test in tests) or 30
        with tempfile.NamedTemporaryFile() as log:
            command = ["prlimit", f"--cpu={int(10 + 4 * seconds)}", self.program(tests[0].program),
                       "--gtest_fail_fast", "--gtest_color=no"]  # fmt: skip
            return planted.outcome(*planted.execute(
                command, log.name, 60 + 10 * seconds, LD_BIND_NOW="1",
                GTEST_FILTER=":".join(test.name for test in tests),
                TIMINGWHEEL_MUTANT=str(mutant), **environment))  # fmt: skip

    def measureAll(self, pool):
        """Runs every test alone without a mutant: it is green, and this is what it comes by."""
        tests = []
        for program in PROGRAMS:
            listed = subprocess.run([self.program(program), "--gtest_list_tests"],
                                    capture_output=True, text=True, check=True)  # fmt: skip
            for suite, names in re.findall(r"^(\S+).*\n((?:  .*\n)+)", listed.stdout, re.MULTILINE):
                tests += [SimpleNamespace(program=program, name=suite + name, seconds=0)
                          for name in re.findall(r"^  (\S+)", names, re.MULTILINE)]
        self.tests = list(filter(None, pool.map(self.measured, tests)))

    def measured(self, test):
        with tempfile.NamedTemporaryFile() as file:
            file.write(bytes(len(self.places) + 1))
            file.flush()
            began = time.monotonic()
            red = self.redWith([test], TIMINGWHEEL_MUTANTS_REACHED=file.name)
            test.seconds = time.monotonic() - began
            reached = enumerate(Path(file.name).read_bytes())
            test.reached = frozenset(number for number, byte in reached if byte)
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
        batches += [[test] for test in sorted(dear, key=lambda test: test.seconds)]
        for batch in filter(None, batches):
            red = self.redWith(batch, mutant.number)
            if red:
                return f"{batch[0].program}: {red}"
        return ""


def section(options, results):
    """What is printed at the end, and recorded; and the share that is caught, of 100."""
    states = ["caught", "equivalent", "survived"]
    counts = Counter(key for mutant, state in results for key in ((mutant.kind, state), state))
    share = 100 * counts["caught"] / max(1, counts["caught"] + counts["survived"])
    rows = [[kind, *(str(counts[kind, state]) for state in states)] for kind in mutants.KINDS]
    rows = [["", "caught", "change nothing", "survive"], ["---", "---:", "---:", "---:"], *rows,
            ["all", *(str(counts[state]) for state in states)]]  # fmt: skip
    table = "\n".join(f"| {' | '.join(row)} |" for row in rows)
    survivors = "\n".join(f"- `{mutant.told().strip()}`" for mutant, state in results
                          if state == "survived")  # fmt: skip
    return share, (f"Of {len(results)} mutants of seed {options.seed}, {share:.1f} % of those that "
                   f"matter are caught.\n\n{table}\n\nSurvivors:\n\n{survivors or 'none'}\n")


def runAll(options):
    """Says what is wrong."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    if options.write and (options.only or git("status", "--porcelain")):
        return ["--write records all mutants of a commit: nothing may differ from it"]
    field = Mutated(ROOT / "build/mutants", options.generated, options.seed)
    equivalent = {(e["file"], e["at"], e["old"], e["new"]) for e in planted.equivalents()}
    began, results = time.monotonic(), []
    print(f"{len(field.places)} places; building. See {field.logs}", flush=True)
    field.buildAll()

    def tryOne(mutant):
        red = field.verdict(mutant)
        isNothing = (mutant.file, mutant.at, mutant.old, mutant.new) in equivalent
        state = "caught" if red else "equivalent" if isNothing else "survived"
        print(f"{mutant.told()}: {red or state.upper()}", flush=True)
        if red and isNothing:
            print("      equivalent.toml says that it changes nothing", flush=True)
        results.append((mutant, state))

    with ThreadPoolExecutor(2) as pool:
        print("running every test without a mutant", flush=True)
        field.measureAll(pool)
        list(pool.map(tryOne, (mutant for mutant in field.drawn()
                               if mutant.number in (options.only or [mutant.number]))))
    share, said = section(options, sorted(results, key=lambda result: result[0].number))
    print(f"\n{said}")
    if options.write:
        before = RECORD.read_text("utf-8").split(LAST)[0].rstrip()
        minutes, seconds = divmod(round(time.monotonic() - began), 60)
        stamp = (f"Written by `{asked('bugs')}` on {datetime.date.today()}, commit "
                 f"{git('rev-parse', '--short', 'HEAD')}, in {minutes} min {seconds} s. It "
                 "measures `include`, `src`.")  # fmt: skip
        RECORD.write_text(f"{before}\n\n{LAST}\n\n{stamp}\n\n{said}", "utf-8")
    return [f"{share:.1f} % are caught, not {LEAST} %"] if share < LEAST else []


if __name__ == "__main__":
    sys.exit("\n".join(runAll(planted.parse()[1])) or None)
