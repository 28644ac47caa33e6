#!/usr/bin/env python3
"""Measures, and writes the pages of what was measured; those of --quick stay in build/.

(nothing)  the wheel and the timers: docs/benchmarks.md; forty minutes on a quiet machine
compare    other timers beside SystemTimer: docs/comparison.md; 25 minutes
choosing   what each tick and wheelSize costs: docs/choosing.md
server     a server with a million sessions: docs/server.md; ten minutes
calendars  the next time of a calendar: docs/calendars.md
store      timeouts in a file: docs/durable.md; ten minutes, 3 GB of disk
timers     the loads of a server alone: build/bench/timers.md
wheel      the wheel alone, with as many timers as one likes, into a table
locks      what a cheaper lock would bring: docs/decisions/0009 and 0010
stale      writes into each page whether the library has changed since, and tells which
--check    counts the wheel's instructions under valgrind and the cache lines that threads share,
           and compares them with the recorded ones; --record writes them down
"""

import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "support"))
from runner import ROOT, asked, between, build, need, parser, run  # noqa: E402

PROGRAMS = ROOT / "build/release/tests/benchmark"
PYTHON = ["/usr/bin/python3", "-B"]  # which has Debian's matplotlib
# Rivals of which there is no package, and a file that shows a checkout of each.
CHECKOUTS = {"ratas": "src/timer-wheel.h", "seastar": "include/seastar/core/timer-set.hh"}
# What measures a set that is no part of bench.py, and its program.
ALONE = {"server": ("server/server.py", "server"), "calendars": ("calendars/times.py", "calendars"),
         "store": ("durable/durable.py", "durable")}  # fmt: skip
PAGES = {"all": "benchmarks", "compare": "comparison", "store": "durable"}
OPTIONS = {"all": "quick rounds vast ratas seastar", "compare": "quick rounds no-java install-java",
           "timers": "quick rounds no-java", "choosing": "quick", "server": "quick",
           "calendars": "quick", "store": "quick", "wheel": "ratas seastar", "locks": "",
           "stale": "", "check": "record"}  # fmt: skip


def parse(words):
    """The set, its options, and for `wheel` the words that bench.py looks at itself."""
    if words[:1] == ["--check"]:
        words = ["check", *words[1:]]
    elif words[:1] == [] or (words[0].startswith("-") and words[0] not in ("-h", "--help")):
        words = ["all", *words]
    made = parser("bench", __doc__)
    made.add_argument("set", choices=OPTIONS, metavar="what", help=", ".join(OPTIONS))
    name = words[0] if words[0] in OPTIONS else "all"
    for option in OPTIONS[name].split():
        if option == "rounds":
            made.add_argument("--rounds", type=between(1, 1000))
        elif option in CHECKOUTS:
            made.add_argument(f"--{option}", type=Path, metavar="DIR", help="a checkout of it")
        else:
            made.add_argument(f"--{option}", action="store_true")
    options, rest = made.parse_known_args(words)
    if rest and options.set != "wheel":
        made.error(f"there is no place for \"{' '.join(rest)}\"")
    for name, file in CHECKOUTS.items():
        folder = getattr(options, name, None)
        if folder and not (folder / file).exists():
            made.error(f"--{name} needs a checkout, with {file} in it, not \"{folder}\"")
    return options, rest


def call(*command):
    if subprocess.run(list(map(str, command)), cwd=ROOT, check=False).returncode:
        sys.exit(1)


def check(options):
    """Instructions are counted, not nanoseconds: no busy machine changes them."""
    need("instructions")
    build("release", "timingwheel-benchmark-instructions")
    record = ["--record"] if options.record else []
    counted = subprocess.run(
        [sys.executable, "-B", HERE / "wheel/instructions.py",
         PROGRAMS / "timingwheel-benchmark-instructions", ROOT / "build/release/CMakeCache.txt",
         PROGRAMS / "timingwheel-benchmark-observer",
         PROGRAMS / "timingwheel-unobserved-benchmark-observer", *record],
        stdout=subprocess.PIPE, text=True, check=False)  # fmt: skip
    print(counted.stdout.replace("nothing is compared:", "left out: ./dev bench --check:"),
          end="", flush=True)  # fmt: skip
    if counted.returncode:
        sys.exit(counted.returncode)
    run(sys.executable, "-B", HERE / "lines/lines.py", PROGRAMS / "timingwheel-benchmark-lines",
        *record)  # fmt: skip


def measure(options, said):
    """Each part of a page is measured by itself."""
    name, size = options.set, ["--quick"] if options.quick else []
    folder = ROOT / "build" / ("compare" if name == "compare" else "bench")
    pages = folder if options.quick or name == "timers" else ROOT / "docs"
    more = [*size, *(["--rounds", options.rounds] if getattr(options, "rounds", None) else [])]
    if getattr(options, "no_java", False):
        more.append("--no-java")
    if name in ALONE:
        script, program = ALONE[name]
        call(*PYTHON, HERE / script, PROGRAMS / f"timingwheel-benchmark-{program}", folder,
             "--command", said, *size)  # fmt: skip
    elif name == "all":
        vast = ["--vast"] if options.vast else []
        measuring("wheel", folder, said, *more, *vast)
        measuring("timers", folder, said, *size)
    else:
        measuring(name, folder, said, *more)
    call(*PYTHON, HERE / "bench.py", "page", PAGES.get(name, name), folder, pages)
    if name in ("all", "compare") and not options.quick:
        call(sys.executable, "-B", HERE / "page/readme.py", "write")


def measuring(set_, folder, said, *options):
    call(*PYTHON, HERE / "bench.py", "measure", set_, PROGRAMS, folder, "--command", said, *options)


def main():
    options, rest = parse(sys.argv[1:])
    name = options.set
    if name == "stale":
        run(sys.executable, "-B", HERE / "page/seal.py", "stale")
    if name == "check":
        check(options)
    need("bench", *(["java"] if getattr(options, "install_java", False) else []))
    found = {rival: getattr(options, rival, None) or "" for rival in CHECKOUTS}
    targets = ["timingwheel-benchmarks"]
    if name == "locks":
        targets = ["timingwheel-benchmark-locks", "timingwheel-benchmark-loops"]
    elif name in ALONE:
        targets = [f"timingwheel-benchmark-{ALONE[name][1]}"]
    build("release", *targets, options=[f"-DTIMINGWHEEL_{rival.upper()}={at and at.resolve()}"
                                        for rival, at in found.items()])  # fmt: skip
    if name == "locks":
        for target in targets:
            call(PROGRAMS / target)
    elif name == "wheel":
        run(*PYTHON, HERE / "bench.py", "wheel", PROGRAMS, *rest)
    else:
        measure(options, asked("bench"))


if __name__ == "__main__":
    main()
