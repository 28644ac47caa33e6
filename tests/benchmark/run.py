#!/usr/bin/env python3
"""Runs the benchmarks and writes their pages; ./dev bench calls it.

run.py [--vast] [--ratas DIR] [--seastar DIR]   docs/performance.md, and README's figures
run.py choosing | server | calendars | store    docs/choosing.md, and the rows of their pages
run.py --check [--record]                       counts instructions and shared cache lines
run.py pages [--check]                          writes the pages of what is recorded, or checks
"""

import json
import shutil
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent / name) for name in ("benchmark", "benchmark/page", "counts",
                                                     "support")]  # fmt: skip
import choosing  # noqa: E402
import components  # noqa: E402
import instructions  # noqa: E402
import lines  # noqa: E402
import measure  # noqa: E402
import pages  # noqa: E402
import performance  # noqa: E402
import runner  # noqa: E402
from runner import ROOT  # noqa: E402
from tables import Wrong  # noqa: E402

MEASURED = {"performance": performance.measure, "choosing": choosing.measure,
            "server": components.measureServer, "calendars": components.measureCalendars,
            "store": components.measureStore}  # fmt: skip
NEEDED = {"ratas": "src/timer-wheel.h", "seastar": "include/seastar/core/timer-set.hh"}


def built(what, target, options):
    runner.need(what)
    rivals = [f"-DTIMINGWHEEL_{name.upper()}={path.resolve()}" for name in NEEDED
              if (path := getattr(options, name))]  # fmt: skip
    return runner.build("release", target, options=rivals) / "tests"


def checkCounts(options):
    folder = built("instructions", "timingwheel-benchmark-instructions", options) / "counts"
    instructions.check(folder, ROOT / "build/release/CMakeCache.txt", options.record)
    lines.check(folder, options.record)


def run(options):
    """Measures, and writes the record and the pages: a full run in their places."""
    if options.programs is None:
        options.programs = built("bench", "timingwheel-benchmarks", options) / "benchmark"
    isSmoke = options.size == "smoke"
    options.build = options.programs / "smoke" / options.what if isSmoke else ROOT / "build/bench"
    options.java = not isSmoke and bool(shutil.which("javac"))
    command = runner.asked("bench")
    for path in filter(None, (options.ratas, options.seastar)):
        command = command.replace(str(path), "DIR")
    options.build.mkdir(parents=True, exist_ok=True)
    one = measure.Run(command, options.size, options.java and options.what == "performance")
    record = json.loads(json.dumps(MEASURED[options.what](one, options)))
    file = f"{options.what}.json"
    pages.save(record, options.build / file)
    isKept = options.size == "full" or options.write
    if not isKept:  # pages to write into
        shutil.copytree(ROOT / "docs", options.build / "docs", dirs_exist_ok=True)
        shutil.copy(ROOT / "README.md", options.build)
    try:
        pages.write(options.what, record, ROOT if isKept else options.build)
    except Wrong as problem:
        sys.exit(f"{problem}\nNothing is written; {options.build} has what was measured.")
    if isKept:
        pages.save(record, pages.RECORDED / file)


def parse():
    parser = runner.parser("bench", __doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("what", nargs="?", choices=[*MEASURED, "pages"], default="performance")
    size = parser.add_mutually_exclusive_group()
    for name, words in (("quick", "too short to conclude anything from; into build/bench"),
                        ("smoke", "hardly measured, without Java: for tests")):  # fmt: skip
        size.add_argument(f"--{name}", dest="size", action="store_const", const=name, help=words,
                          default="full")  # fmt: skip
    parser.add_argument("--vast", action="store_true", help="10^8 timers too: they take 5 GB")
    parser.add_argument("--ratas", type=Path, help="a checkout of github.com/jsnell/ratas")
    parser.add_argument("--seastar", type=Path, help="a checkout of github.com/scylladb/seastar")
    parser.add_argument("--check", action="store_true", help="count instructions, or check pages")
    parser.add_argument("--record", action="store_true", help="write the counts down")
    parser.add_argument("--write", action="store_true", help="a quick run, too, into its place")
    parser.add_argument("--programs", type=Path, help="where they are built; else they are built")
    options = parser.parse_args()
    for name, file in NEEDED.items():
        if (path := getattr(options, name)) and not (path / file).exists():
            parser.error(f'--{name} wants a checkout, with {file} in it, not "{path}"')
    isComplete = options.ratas and options.seastar and shutil.which("javac")
    isMeasured = options.what == "performance" and options.size == "full" and not options.check
    if isMeasured and not isComplete:
        parser.error("a full run needs javac, --ratas and --seastar; --quick does without")
    return options


def main():
    options = parse()
    if options.what == "pages" and options.check:
        sys.exit("\n".join(pages.check(ROOT)) or 0)
    elif options.what == "pages":
        for name, record in pages.recorded():
            pages.write(name, record, ROOT)
    elif options.check:
        checkCounts(options)
    else:
        run(options)


if __name__ == "__main__":
    main()
