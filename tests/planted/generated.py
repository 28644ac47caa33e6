#!/usr/bin/env python3
"""Mistakes that nobody thought of, made at random: 97 of 100 must turn a test red.

Draws places of the library, its calendars, its store and what the Kafka worker does without a
broker, compiles all mistakes into one copy of the sources, and makes them one at a time. For each
it runs those tests of the fast suite that come by there. ./dev bugs --generated N calls it.

generated.py --check: what equivalent.toml says fits the sources, the generator finds what it
should, what it writes compiles, and mutants.md records that enough were caught.
"""

import datetime
import json
import os
import re
import resource
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
WITH_THREADS = ["flow", "api", "facade", "trace", "threads"]
PROGRAMS = ["platform", "base", "wheel", "timeout", "context", "run", "driver", "calendar", "kafka",
            "store", "asio", "model", *WITH_THREADS, "simulation"]  # fmt: skip
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
        # Those that did not compile before: the same choices of the same sources.
        self.drawing = folder / "dropped.json"
        old = json.loads(self.drawing.read_text()) if self.drawing.is_file() else []
        self.dropped = {place.number for place in self.places if self.identity(place) in old}
        super().__init__(folder)

    def identity(self, place):
        return [place.file, place.start, place.old, place.new]

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
        dropped = [self.identity(self.places[number - 1]) for number in sorted(self.dropped)]
        self.drawing.write_text(json.dumps(dropped))
        print(f"{len(guilty)} do not compile and are drawn anew", flush=True)
        return False


# ---- running -----------------------------------------------------------------------------------


@dataclass
class Test:
    program: str
    name: str
    processor: float = 0
    seconds: float = 0
    reached: frozenset = frozenset()
    red: str = ""


class Range:
    """Runs tests in processes of their own, with a mutant or without."""

    IDLE = 15  # seconds without work, after which a process hangs
    LONGEST = 120  # seconds, and ten times what it takes without a mutant
    CHEAP = 0.1  # seconds of processor time

    def __init__(self, field):
        self.field, self.tests = field, []

    def program(self, name):
        return self.field.build / "tests" / f"timingwheel-tests-{name}"

    def run(self, program, names, mutant=0, cost=(0.0, 0.0), reached=""):
        """What turned red, the processor time and the time that it took."""
        environment = dict(os.environ, MALLOC_PERTURB_="165", LD_BIND_NOW="1",
                           GTEST_FILTER=":".join(names),
                           TIMINGWHEEL_MUTANT=str(mutant))  # fmt: skip
        if reached:
            environment["TIMINGWHEEL_MUTANTS_REACHED"] = reached
        most = int(10 + 4 * cost[0])
        with tempfile.TemporaryFile("w+", encoding="utf-8", errors="replace") as output:
            start = time.monotonic()
            process = subprocess.Popen(
                [self.program(program), "--gtest_fail_fast", "--gtest_color=no"],
                stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.STDOUT,
                env=environment, start_new_session=True,
                preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_CPU, (most, most + 5)),
            )  # fmt: skip
            code, usage = self.wait(process, start, self.LONGEST + 10 * cost[1])
            output.seek(0)
            if code in (-signal.SIGXCPU, -signal.SIGKILL):
                code = None
            return planted.outcome(output.read(), code), usage, time.monotonic() - start

    def wait(self, process, start, longest):
        """The exit status, None if it was ended here, and the processor time."""
        pause, worked, since = 0.005, 0.0, start
        try:
            while True:
                pid, status, usage = os.wait4(process.pid, os.WNOHANG)
                if pid:
                    process.returncode = os.waitstatus_to_exitcode(status)
                    return process.returncode, usage.ru_utime + usage.ru_stime
                now, total = time.monotonic(), processorTime(process.pid)
                if total > worked + 0.05:
                    worked, since = total, now
                if now - since > self.IDLE or now - start > longest:
                    return None, worked
                time.sleep(pause)
                pause = min(pause * 1.5, 0.25)
        finally:
            if process.returncode is None:
                os.killpg(process.pid, signal.SIGKILL)
                os.waitpid(process.pid, 0)
                process.returncode = -signal.SIGKILL

    def control(self, pool):
        """Runs every test alone without a mutant: it is green, and this is what it comes by."""
        for program in PROGRAMS:
            listed = subprocess.run([self.program(program), "--gtest_list_tests"],
                                    capture_output=True, text=True, check=True)  # fmt: skip
            suite = ""
            for line in listed.stdout.splitlines():
                name = line.split("#")[0].rstrip()
                if name.startswith("  "):
                    self.tests.append(Test(program, suite + name.strip()))
                elif name.endswith("."):
                    suite = name
        list(pool.map(self.measure, self.tests))
        for test in self.tests:
            if test.red:
                print(f"without any mutant {test.red}: it is left out", flush=True)
        self.tests = [test for test in self.tests if not test.red]

    def measure(self, test):
        with tempfile.NamedTemporaryFile() as file:
            file.write(bytes(len(self.field.places) + 1))
            file.flush()
            test.red, test.processor, test.seconds = self.run(
                test.program, [test.name], cost=(30, 30), reached=file.name)  # fmt: skip
            content = Path(file.name).read_bytes()
        test.reached = frozenset(n for n, byte in enumerate(content) if byte)

    def batches(self, mutant):
        """Which tests are run together for it, one batch after the other: cheap ones first."""
        mine = [test for test in self.tests if mutant.number in test.reached]
        if mutant.kind == "memory order":  # this processor has no weaker ones
            mine = [test for test in mine if test.program == "simulation"]
        isLock = mutant.kind == "lock"
        for program in PROGRAMS[::-1] if isLock else PROGRAMS:
            cheap = [t for t in mine if t.program == program and t.processor <= self.CHEAP]
            if cheap:
                yield cheap
        dear = [test for test in mine if test.processor > self.CHEAP]
        yield from ([test] for test in sorted(
            dear, key=lambda t: (isLock and t.program in WITH_THREADS, t.processor)))

    def verdict(self, mutant):
        """What turned red, nothing if the mutant survived."""
        for batch in self.batches(mutant):
            cost = sum(t.processor for t in batch), sum(t.seconds for t in batch)
            red, _, _ = self.run(batch[0].program, [t.name for t in batch], mutant.number, cost)
            if red:
                return f"{batch[0].program}: {red}"
        return ""


def processorTime(pid):
    """Its own, and that of its children that are gone."""
    try:
        text = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8")
    except OSError:
        return 0.0
    return sum(map(int, text.rsplit(")", 1)[1].split()[11:15])) / os.sysconf("SC_CLK_TCK")


# ---- what comes of it --------------------------------------------------------------------------


def folderOf(file):
    parts = Path(file).parts
    return "include" if parts[0] == "include" else parts[2] if parts[1] == "apps" else parts[1]


def table(results):
    """Of each kind in each folder: how many are caught, change nothing, survive."""
    folders = [*sorted({folderOf(mutant.file) for mutant, _ in results}), "all"]
    lines = [["", *folders], ["---"] * (len(folders) + 1)]
    for kind in [*mutants.KINDS, "all"]:
        lines.append([kind])
        for folder in folders:
            mine = Counter(state for mutant, state in results if kind in (mutant.kind, "all")
                           and folder in (folderOf(mutant.file), "all"))  # fmt: skip
            lines[-1].append("/".join(str(mine[state]) for state in
                                      ("caught", "equivalent", "survived")) if mine else "")
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def line(mutant):
    return f"{mutant.number:>5} {mutant.file}:{mutant.line}: {mutant.kind}: {mutant.text()}"


def section(options, results):
    """What is printed at the end, and recorded; and the share that is caught, of 100."""
    states = Counter(state for _, state in results)
    share = 100 * states["caught"] / max(1, states["caught"] + states["survived"])
    survivors = "\n".join(f"- `{line(mutant).strip()}`" for mutant, state in results
                          if state == "survived")  # fmt: skip
    return share, f"""{len(results)} mutants of seed {options.seed}:

- {states['caught']} are caught,
- {states['equivalent']} are shown to change nothing,
- {states['survived']} survive: {share:.1f} % of those that matter are caught.

Each cell says how many are caught / change nothing / survive.

{table(results)}

Survivors:

{survivors or 'none'}
"""


def git(*arguments):
    return subprocess.run(["git", *arguments], cwd=ROOT, text=True, check=True,
                          capture_output=True).stdout.strip()  # fmt: skip


def runAll(options):
    """Says what is wrong."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    folder = ROOT / "build/mutants"
    field = Mutated(folder, options.generated, options.seed)
    memory, equivalent = folder / "results.json", equivalents()
    states = json.loads(memory.read_text()) if memory.is_file() else {}

    def chosen():
        return [mutant for mutant in field.drawn()
                if mutant.number in (options.only or [mutant.number])
                and (not options.survivors or states.get(str(mutant.number)) == "survived")
               ]  # fmt: skip

    if options.list:
        print("\n".join(map(line, chosen())))
        return []
    if options.write and (options.only or options.survivors or git("status", "--porcelain")):
        return ["--write records all mutants of a commit: nothing may differ from it"]
    print(f"{len(field.places)} places; building. See {field.logs}", flush=True)
    field.buildAll()
    results, range_ = [], Range(field)

    def tryOne(mutant):
        red = range_.verdict(mutant)
        isNothing = (mutant.file, mutant.at, mutant.old, mutant.new) in equivalent
        state = "caught" if red else "equivalent" if isNothing else "survived"
        print(f"{line(mutant)}: {red or state.upper()}", flush=True)
        if red and isNothing:
            print("      equivalent.toml says that it changes nothing", flush=True)
        results.append((mutant, state))
        states[str(mutant.number)] = state
        memory.write_text(json.dumps(states))

    with ThreadPoolExecutor(2) as pool:
        print("running every test without a mutant", flush=True)
        range_.control(pool)
        list(pool.map(tryOne, chosen()))
    share, said = section(options, sorted(results, key=lambda result: result[0].number))
    print(f"\n{said}")
    if options.write:
        before = RECORD.read_text(encoding="utf-8").split(LAST)[0].rstrip()
        stamp = (f"Written by `./dev bugs {' '.join(sys.argv[1:])}` on {datetime.date.today()}, "
                 f"commit {git('rev-parse', '--short', 'HEAD')}. Do not edit.")  # fmt: skip
        RECORD.write_text(f"{before}\n\n{LAST}\n\n{stamp}\n\n{said}", encoding="utf-8")
    return [f"{share:.1f} % are caught, not {LEAST} %"] if share < LEAST else []


# ---- check -------------------------------------------------------------------------------------

SMALL = """#include <atomic>
#include <mutex>
enum class Color { red, green };
class Lamp {
public:
    static constexpr int kMost = 3 + 4;
    bool isLit(int power) noexcept {
        std::lock_guard const lock{mutex_};
        ++asked_;
        if (power < kMost && !broken_) return seen_.load(std::memory_order_acquire) != Color::red;
        for (int i = 0; i + 1 < power; ++i) {
            if (i == 5) break;
        }
        return false;  // a comment
    }
    int scaled(int power) const noexcept { return power * 4 / asked_; }

private:
    std::mutex mutex_;
    int asked_ = 0;
    int answered_ = 0;
    bool broken_ = false;
    std::atomic<Color> seen_{Color::green};
};
static_assert(Lamp::kMost < 8);
bool light(int power) { return Lamp{}.isLit(power) && Lamp{}.scaled(power) > 0; }
"""

EXPECTED = {
    "condition: power < kMost && !broken_", "condition: !broken_", "condition: false",
    "comparison: power < kMost", "comparison: i == 5", "comparison: i + 1 < power",
    "statement: ++asked_;", "statement: break;", "off by one: i + 1", "off by one: 5",
    "arithmetic: power * 4 / asked_", "arithmetic: power * 4", "wrong member: asked_",
    "wrong state: Color::red", "memory order: seen_.load(std::memory_order_acquire)",
    "lock: std::lock_guard const lock{mutex_};",
}  # fmt: skip


def checkGenerator():
    text = SMALL.encode()
    places = mutants.find({"Lamp.h": text})
    yield from (f"finds no {missed}" for missed in
                EXPECTED - {f"{place.kind}: {place.old}" for place in places})
    yield from (f"takes what the compiler must know for a place: {place.at}" for place in places
                if "kMost = " in place.at or "static_assert" in place.at)

    def drawing(seed):
        mine = mutants.draw(mutants.ordered(mutants.find({"Lamp.h": text}), seed), 12)
        return [(place.number, place.new) for place in mine]

    if drawing(1) != drawing(1) or len(drawing(1)) != 12:
        yield "draws others, or not 12, from the same seed"
    if all(drawing(1) == drawing(seed) for seed in range(2, 6)):
        yield "draws the same ones from any seed"
    mutants.ordered(places, 1)
    rewritten = mutants.rewritten(text, places)
    done = subprocess.run(["g++", "-std=c++20", "-w", "-fsyntax-only", "-include",
                           HERE / "mutant.h", "-xc++", "-"], input=rewritten, capture_output=True,
                          check=False)  # fmt: skip
    if done.returncode != 0:
        yield f"writes what does not compile:\n{done.stderr.decode()}\n{rewritten.decode()}"
    if {int(n) for n in MARK.findall(rewritten.decode())} != {place.number for place in places}:
        yield "leaves out some of the places that it was given"


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
