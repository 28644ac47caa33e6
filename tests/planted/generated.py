#!/usr/bin/env python3
"""Mistakes that nobody thought of, made by lot: 95 of 100 must turn a test red.

generated.py run <folder> --generated N [--seed S] [--only NUMBER...] [--survivors] [--list]
    Draws N places of the library below its facade and of the public headers, compiles all mistakes
    into one copy of the sources below <folder>, and makes them one at a time. For each it runs
    those tests of the fast suite that come by there. --only repeats single ones, --survivors those
    that survived the last time; --list only shows what is drawn.
generated.py check
    What equivalent.toml says fits the sources.
generated.py self-test
    The generator finds what it should in a small text, and what it writes compiles.

Prints what is wrong and exits with 1.
"""

import argparse
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

ROOT = Path(__file__).resolve().parents[2]
HERE = Path("tests") / "planted"
EQUIVALENT = HERE / "equivalent.toml"
KEYS = {"file", "at", "old", "new", "why"}
MUTATED = ("src/base/*", "src/wheel/*", "src/timeout/*", "src/context/*", "src/run/*",
           "src/driver/*", "include/timingwheel/**/*.h")  # fmt: skip
WITH_THREADS = ["flow", "api", "facade", "trace", "threads"]
PROGRAMS = ["platform", "base", "wheel", "timeout", "context", "run", "driver", "model",
            *WITH_THREADS, "simulation"]  # fmt: skip
KEEPER = Path("src") / "driver" / "TimeoutKeeper.h"  # has the lock that a Section takes
LEAST = 0.95
SKIPPED = 77
MARK = re.compile(r"timingwheel_mutant::is\((\d+)\)")

sys.path.insert(0, str(ROOT / HERE))
# A parser that ./dev has got from PyPI, for any Python of the version that got it.
sys.path += map(str, (ROOT / "build" / "mutants" / "venv").glob("lib/python3*/site-packages"))
import planted  # noqa: E402: it stands in this folder

try:
    import mutants
except ImportError:
    mutants = None  # the parser is in a folder of its own: ./dev bugs, ./dev test


def sources(root):
    return {str(path.relative_to(root)): path.read_bytes()
            for pattern in MUTATED for path in sorted(root.glob(pattern))
            if path.suffix in (".h", ".cpp")}  # fmt: skip


# ---- what changes nothing ----------------------------------------------------------------------


def readEquivalent(root):
    path = root / EQUIVALENT
    if not path.is_file():
        return []
    return tomllib.loads(path.read_text(encoding="utf-8")).get("equivalent", [])


def isListed(mutant, entries):
    return any((mutant.file, mutant.at, mutant.old, mutant.new) ==
               (e["file"], e["at"], e["old"], e["new"]) for e in entries)  # fmt: skip


def check(root):
    wrong = []
    for number, entry in enumerate(readEquivalent(root), 1):
        name = f"{EQUIVALENT.name}: number {number}"
        if entry.keys() != KEYS:
            wrong.append(f"{name} has {sorted(entry)}, not {sorted(KEYS)}")
            continue
        path = root / entry["file"]
        lines = path.read_text(encoding="utf-8").splitlines() if path.is_file() else []
        if all(re.sub(r"\s+", " ", re.sub("//.*", "", line)).strip() != entry["at"]
               for line in lines):  # fmt: skip
            wrong.append(f"{name}: no line of {entry['file']} is `{entry['at']}`")
        if len(entry["why"]) < 30:
            wrong.append(f"{name} does not say why it changes nothing")
    withSkippedLocks((root / KEEPER).read_bytes())
    return wrong


# ---- building ----------------------------------------------------------------------------------


def withSkippedLocks(content):
    """A section can be left out: then the keeper's lock is not taken."""
    for call in (b"mutex_.lock();", b"mutex_.unlock();"):
        assert content.count(call) == 1, f"{KEEPER} has no {call.decode()}, or several"
        content = content.replace(call, b"::timingwheelSkipLocks(0) ? void() : " + call)
    return content


class Field(planted.Field):
    """A copy of the sources with all mutants in it, and what is built of it."""

    def __init__(self, root, folder, count, seed):
        self.drawing = folder / "drawn.json"
        self.places = mutants.find(sources(root))
        self.order = mutants.ordered(self.places, seed)
        self.count = count
        self.dropped = self.readDropped()
        super().__init__(root, folder)

    def readDropped(self):
        """Those that did not compile before: the same choices of the same sources."""
        self.identity = [[p.file, p.start, p.old, p.new] for p in self.places]
        if not self.drawing.is_file():
            return set()
        before = json.loads(self.drawing.read_text(encoding="utf-8"))
        old = {json.dumps(p) for p in before["dropped"]}
        return {p.number for p in self.places
                if json.dumps([p.file, p.start, p.old, p.new]) in old}  # fmt: skip

    def drawn(self):
        return mutants.draw(self.order, self.count, self.dropped)

    def write(self, path, content):
        """Only if it differs, so that little has to be built again."""
        if not path.is_file() or path.read_bytes() != content:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)

    def synchronize(self):
        original = {path.relative_to(self.root): path for path in sorted(self.root.rglob("*"))
                    if path.is_file()}  # fmt: skip
        wanted = {name: path.read_bytes() for name, path in original.items()
                  if name.parts[0] != "build" and not name.parts[0].startswith(".")}  # fmt: skip
        mine = {}
        for place in self.drawn():
            mine.setdefault(Path(place.file), []).append(place)
        for name, content in wanted.items():
            if name in mine:
                content = mutants.rewritten(content, mine[name]).encode()
            if name == KEEPER:
                content = withSkippedLocks(content)
            self.write(self.tree / name, content)
        for copy in self.tree.rglob("*"):
            if copy.is_file() and copy.relative_to(self.tree) not in wanted:
                copy.unlink()

    def configure(self):
        self.build.mkdir(parents=True, exist_ok=True)
        self.call("g++", "-O2", "-shared", "-fPIC", "-o", f"{self.build}/libmutant.so",
                  str(HERE / "mutant.cpp"))  # fmt: skip
        self.call("cmake", "--preset", "bugs", "-B", str(self.build),
                  f"-DCMAKE_CXX_FLAGS=-w -Wno-narrowing -include {self.tree}/{HERE}/mutant.h",
                  f"-DCMAKE_CXX_STANDARD_LIBRARIES={self.build}/libmutant.so "
                  f"-Wl,-rpath,{self.build}")  # fmt: skip

    def compiles(self, targets):
        """Builds as much as it can. Drops the mutants that do not compile, and says if there are
        none of them."""
        log = self.logs / "build.log"
        with open(log, "w", encoding="utf-8") as output:
            done = subprocess.run(["cmake", "--build", str(self.build), "--parallel", "2",
                                   "--target", *targets, "--", "-k", "0"], stdout=output,
                                  stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL,
                                  check=False)  # fmt: skip
        if done.returncode == 0:
            return True
        text = log.read_text(encoding="utf-8", errors="replace")
        guilty = set()
        for file, line in set(re.findall(r"^(?:In file included from |\s+from )?(\S+?):(\d+)[:,]",
                                         text, re.MULTILINE)):  # fmt: skip
            path = Path(file) if file.startswith("/") else self.build / file
            if path.is_file() and self.tree in path.resolve().parents:
                content = path.read_text(encoding="utf-8").splitlines()
                guilty |= {int(n) for n in MARK.findall(content[int(line) - 1])}
        if not guilty - self.dropped:
            errors = [line for line in text.splitlines() if "error" in line.lower()]
            raise planted.BuildFailed("\n".join((errors or text.splitlines())[:10]))
        self.dropped |= guilty
        self.remember()
        print(f"{len(guilty)} do not compile and are drawn anew", flush=True)
        self.synchronize()
        return False

    def buildAll(self):
        self.configure()
        for targets in (["timingwheel"], [f"timingwheel-tests-{name}" for name in PROGRAMS]):
            while not self.compiles(targets):
                pass

    def remember(self):
        dropped = [self.identity[number - 1] for number in sorted(self.dropped)]
        self.drawing.write_text(json.dumps({"dropped": dropped}), encoding="utf-8")


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
        self.field = field
        self.tests = []

    def program(self, name):
        return str(self.field.build / "tests" / f"timingwheel-tests-{name}")

    def run(self, program, names, mutant=0, cost=(0.0, 0.0), reached=None):
        """What turned red, the processor time and the time that it took."""
        environment = dict(os.environ, MALLOC_PERTURB_="165", LD_BIND_NOW="1",
                           TIMINGWHEEL_MUTANT=str(mutant))  # fmt: skip
        environment["GTEST_FILTER"] = ":".join(names)
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
            outcome = planted.readOutcome(output.read(), code, 0)
        if code in (-signal.SIGXCPU, -signal.SIGKILL) and "ends" in outcome.red:
            outcome.red = outcome.red.replace("ends the program", "does not end")
        return outcome.red, usage, time.monotonic() - start

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

    def control(self, jobs):
        """Runs every test alone without a mutant: it is green, and this is what it comes by."""
        for program in PROGRAMS:
            listed = subprocess.run([self.program(program), "--gtest_list_tests"],
                                    capture_output=True, text=True, check=True)  # fmt: skip
            suite = ""
            for line in listed.stdout.splitlines():
                words = line.split("#")[0].rstrip()
                if words.startswith("  "):
                    self.tests.append(Test(program, suite + words.strip()))
                elif words.endswith("."):
                    suite = words
        with ThreadPoolExecutor(jobs) as pool:
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
        order = PROGRAMS if mutant.kind != "lock" else PROGRAMS[::-1]
        for program in order:
            cheap = [t for t in mine if t.program == program and t.processor <= self.CHEAP]
            if cheap:
                yield cheap
        dear = [test for test in mine if test.processor > self.CHEAP]
        for test in sorted(dear, key=lambda t: (t.program in WITH_THREADS and
                                                mutant.kind == "lock", t.processor)):  # fmt: skip
            yield [test]

    def verdict(self, mutant):
        """What turned red, nothing if the mutant survived, and how many tests came by."""
        ran = 0
        for batch in self.batches(mutant):
            ran += len(batch)
            cost = sum(t.processor for t in batch), sum(t.seconds for t in batch)
            red, _, _ = self.run(batch[0].program, [t.name for t in batch], mutant.number, cost)
            if red:
                return f"{batch[0].program}: {red}", ran
        return "", ran


def processorTime(pid):
    """Its own, and that of its children that are gone."""
    try:
        text = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8")
    except OSError:
        return 0.0
    return sum(map(int, text.rsplit(")", 1)[1].split()[11:15])) / os.sysconf("SC_CLK_TCK")


# ---- what comes of it --------------------------------------------------------------------------


def folderOf(file):
    path = Path(file)
    if path.parts[0] == "src":
        return "/".join(path.parts[:2])
    return "include/wheel" if "wheel" in path.parts[2:-1] else "include"


def table(results):
    """Of each kind in each folder: how many there were, and which were not caught."""
    folders = sorted({folderOf(mutant.file) for mutant, _ in results})
    header = ["", *folders, "all"]
    rows = []
    for kind in [*mutants.KINDS, "all"]:
        row = [kind]
        for folder in [*folders, "all"]:
            mine = Counter(state for mutant, state in results
                           if kind in (mutant.kind, "all")
                           and folder in (folderOf(mutant.file), "all"))  # fmt: skip
            row.append(f"{mine['caught']}/{mine['equivalent']}/{mine['survived']}"
                       if mine else "")  # fmt: skip
        rows.append(row)
    widths = [max(len(row[i]) for row in [header, *rows]) for i in range(len(header))]
    return "\n".join("| " + " | ".join(c.ljust(w) for c, w in zip(row, widths)) + " |"
                     for row in [header, ["-" * w for w in widths], *rows])  # fmt: skip


def line(mutant):
    return f"{mutant.number:>5} {mutant.file}:{mutant.line}: {mutant.kind}: {mutant.text()}"


def summary(options, results):
    """Prints it; returns what is wrong."""
    print("\ncaught / shown to change nothing / survived")
    print(table(results))
    states = Counter(state for _, state in results)
    matter = states["caught"] + states["survived"]
    share = states["caught"] / matter if matter else 1
    print(f"\n{len(results)} mutants: {states['caught']} caught, {states['equivalent']} shown to "
          f"change nothing, {states['survived']} survived: {100 * share:.1f} % caught")
    for mutant, state in results:
        if state == "survived":
            print(f"{line(mutant)}\n      ./dev bugs --generated {options.generated} "
                  f"--seed {options.seed} --only {mutant.number}")  # fmt: skip
    if share < LEAST:
        return [f"{100 * share:.1f} % are caught, not {100 * LEAST:.0f} %"]
    return []


def chosen(options, drawn, before):
    if options.only:
        drawn = [mutant for mutant in drawn if mutant.number in options.only]
    if options.survivors:
        drawn = [m for m in drawn if before.get(str(m.number)) == "survived"]
    return drawn


def runAll(options, folder):
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    field = Field(ROOT, folder, options.generated, options.seed)
    entries = readEquivalent(ROOT)
    print(f"{len(field.places)} places; building. See {field.logs}", flush=True)
    field.buildAll()
    memory = folder / "results.json"
    before = json.loads(memory.read_text(encoding="utf-8")) if memory.is_file() else {}
    drawn = chosen(options, field.drawn(), before)
    print("running every test without a mutant", flush=True)
    range_ = Range(field)
    range_.control(options.jobs)
    results = []

    def tryOne(mutant):
        red, ran = range_.verdict(mutant)
        isNothing = isListed(mutant, entries)
        state = "caught" if red else "equivalent" if isNothing else "survived"
        said = red or {"equivalent": "shown to change nothing",
                       "survived": f"SURVIVED {ran} tests"}[state]  # fmt: skip
        print(f"{line(mutant)}: {said}", flush=True)
        if red and isNothing:
            print(f"      {EQUIVALENT.name} says that it changes nothing", flush=True)
        results.append((mutant, state))
        before[str(mutant.number)] = state
        memory.write_text(json.dumps(before), encoding="utf-8")

    with ThreadPoolExecutor(options.jobs) as pool:
        list(pool.map(tryOne, drawn))
    return summary(options, sorted(results, key=lambda r: r[0].number))


# ---- self-test ---------------------------------------------------------------------------------

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


def selfTest():
    wrong = []
    text = SMALL.encode()
    places = mutants.find({"Lamp.h": text})
    found = {f"{place.kind}: {place.old}" for place in places}
    for missed in sorted(EXPECTED - found):
        wrong.append(f"finds no {missed}")
    for place in places:
        if "kMost = " in place.at or "static_assert" in place.at:
            wrong.append(f"takes what the compiler must know for a place: {place.at}")
    kinds = {place.kind for place in places}
    wrong += [f"has no place for {kind}" for kind in mutants.KINDS if kind not in kinds]

    def drawing(seed):
        mine = mutants.draw(mutants.ordered(mutants.find({"Lamp.h": text}), seed), 12)
        return [(place.number, place.new) for place in mine]

    if drawing(1) != drawing(1):
        wrong.append("draws other ones from the same seed")
    if all(drawing(1) == drawing(seed) for seed in range(2, 6)):
        wrong.append("draws the same ones from any seed")
    if len(drawing(1)) != 12:
        wrong.append(f"draws {len(drawing(1))}, not 12")
    mutants.ordered(places, 1)
    rewritten = mutants.rewritten(text, places)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "Lamp.cpp"
        path.write_text(rewritten, encoding="utf-8")
        done = subprocess.run(["g++", "-std=c++20", "-w", "-fsyntax-only", "-include",
                               ROOT / HERE / "mutant.h", path], capture_output=True, text=True,
                              check=False)  # fmt: skip
        if done.returncode != 0:
            wrong.append(f"writes what does not compile:\n{done.stderr}\n{rewritten}")
    if {int(n) for n in MARK.findall(rewritten)} != {place.number for place in places}:
        wrong.append("leaves out some of the places that it was given")
    return wrong


def main(arguments):
    parser = argparse.ArgumentParser(prog="./dev bugs", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--generated", type=int, required=True, metavar="N")
    parser.add_argument("--seed", type=int, default=1, metavar="S")
    parser.add_argument("--only", type=int, nargs="+", metavar="NUMBER")
    parser.add_argument("--survivors", action="store_true")
    parser.add_argument("--list", action="store_true")
    parser.add_argument("--jobs", type=int, default=2, metavar="N")
    if arguments == ["check"]:
        wrong = check(ROOT)
    elif mutants is None:
        print("the parser is not installed: ./dev test and ./dev bugs --generated install it")
        return SKIPPED
    elif arguments == ["self-test"]:
        wrong = selfTest()
    elif arguments[:1] == ["run"] and len(arguments) > 1:
        options = parser.parse_args(arguments[2:])
        folder = Path(arguments[1]).resolve()
        wrong = check(ROOT)
        if options.list:
            drawn = Field(ROOT, folder, options.generated, options.seed).drawn()
            print("\n".join(line(mutant) for mutant in chosen(options, drawn, {})))
        elif not wrong:
            wrong = runAll(options, folder)
    else:
        print(__doc__)
        return 2
    for said in wrong:
        print(said)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
