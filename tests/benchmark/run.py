#!/usr/bin/env python3
"""Runs the benchmarks and writes their pages; ./dev bench calls it.

run.py [--vast] [--ratas DIR] [--seastar DIR]   docs/performance.md, and README's figures
run.py choosing | server | calendars | store    docs/choosing.md, and the rows of their pages
run.py --check [--record]                       counts instructions and shared cache lines
run.py pages [--check]                          writes the pages of what is recorded, or checks
"""

import argparse
import json
import shutil
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path[:0] = [str(HERE), str(HERE / "page"), str(HERE.parent / "support")]
import choosing  # noqa: E402
import components  # noqa: E402
import measure  # noqa: E402
import pages  # noqa: E402
import performance  # noqa: E402
from runner import between  # noqa: E402
from tables import Wrong  # noqa: E402

PROGRAMS = ROOT / "build" / "release" / "tests" / "benchmark"
MEASURED = {"performance": performance.measure, "choosing": choosing.measure,
            "server": components.measureServer, "calendars": components.measureCalendars,
            "store": components.measureStore}  # fmt: skip
NEEDED = {"ratas": "src/timer-wheel.h", "seastar": "include/seastar/core/timer-set.hh"}


def build(preset, options):
    installs = ROOT / "tests" / "dev" / "need"  # what is missing; ./dev has done so without it
    if installs.exists() and subprocess.run([installs, preset.removeprefix("bench-")]).returncode:
        sys.exit(1)
    rivals = [f"-DTIMINGWHEEL_{name.upper()}={path.resolve()}" for name in NEEDED
              if (path := getattr(options, name))]  # fmt: skip
    subprocess.run(["cmake", "--preset", "release", *rivals], cwd=ROOT, check=True)
    subprocess.run(["cmake", "--build", "--preset", preset], cwd=ROOT, check=True)


def checkCounts(options):
    build("bench-instructions", options)
    folder, record = ROOT / "build" / "release" / "tests" / "counts", ["--record"] * options.record
    for script, *arguments in (
        ("instructions.py", folder / "timingwheel-benchmark-instructions",
         ROOT / "build/release/CMakeCache.txt", folder / "timingwheel-benchmark-observer",
         folder / "timingwheel-unobserved-benchmark-observer"),
        ("lines.py", folder / "timingwheel-benchmark-lines"),
    ):  # fmt: skip
        command = [sys.executable, "-B", ROOT / "tests" / "counts" / script, *arguments, *record]
        if subprocess.run(command).returncode:
            sys.exit(1)


def run(options):
    """Measures, and writes the record and the pages: a full run in their places."""
    if options.programs is None:
        build("bench", options)
        options.programs = PROGRAMS
    options.java = not options.no_java and bool(shutil.which("javac"))
    command = " ".join(["./dev bench", *sys.argv[1:]])
    for name in NEEDED:
        if path := getattr(options, name):
            command = command.replace(str(path), "DIR")
    one = measure.Run(command, options.size, options.java and options.what == "performance")
    record = MEASURED[options.what](one, options)
    isFull = options.size == "full"
    root = ROOT if isFull or options.write else options.build
    file = (pages.RECORDED if root == ROOT else options.build) / f"{options.what}.json"
    pages.save(record, options.build / f"{options.what}.json")
    if root != ROOT:  # pages to write into
        for page in [ROOT / "README.md", *ROOT.glob("docs/*.md")]:
            copy = root / page.relative_to(ROOT)
            copy.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(page, copy)
    try:
        made = pages.made(options.what, json.loads(json.dumps(record)), root)
    except Wrong as problem:
        sys.exit(f"{problem}\nNothing is written; {options.build} has what was measured.")
    pages.save(record, file)
    for page, text in made.items():
        page.write_text(text, encoding="utf-8")
        print(f"== {page}")


def parse():
    parser = argparse.ArgumentParser(prog="./dev bench", allow_abbrev=False,
                                     description=__doc__.split("\n", maxsplit=1)[0])  # fmt: skip
    parser.add_argument("what", nargs="?", choices=[*MEASURED, "pages"], default="performance")
    size = parser.add_mutually_exclusive_group()
    for name, words in (("quick", "too short to conclude anything from; into build/bench"),
                        ("smoke", "all with every load, hardly measured: for tests")):  # fmt: skip
        size.add_argument(f"--{name}", dest="size", action="store_const", const=name, help=words)
    parser.add_argument("--rounds", type=between(1, 1000),
                        help="how many, instead of what the size says")
    parser.add_argument("--vast", action="store_true", help="10^8 timers too: they take 5 GB")
    parser.add_argument("--ratas", type=Path, help="a checkout of github.com/jsnell/ratas")
    parser.add_argument("--seastar", type=Path, help="a checkout of github.com/scylladb/seastar")
    parser.add_argument("--no-java", action="store_true")
    parser.add_argument("--check", action="store_true", help="count instructions, or check pages")
    parser.add_argument("--record", action="store_true", help="write the counts down")
    parser.add_argument("--write", action="store_true", help="a quick run, too, into its place")
    parser.add_argument("--programs", type=Path, help="where they are built; else they are built")
    parser.add_argument("--build", type=Path, default=ROOT / "build" / "bench")
    parser.set_defaults(size="full")
    options = parser.parse_args()
    for name, file in NEEDED.items():
        if (path := getattr(options, name)) and not (path / file).exists():
            parser.error(f"--{name} wants a checkout, with {file} in it, not \"{path}\"")
    isComplete = options.ratas and options.seastar and shutil.which("javac")
    if options.what == "performance" and options.size == "full" and not options.check \
            and not isComplete:  # fmt: skip
        parser.error("a full run needs javac, --ratas and --seastar; --quick does without")
    return options


def main():
    options = parse()
    if options.what == "pages" and options.check:
        wrong = pages.check(ROOT)
        print("\n".join(wrong), end="\n" if wrong else "")
        sys.exit(bool(wrong))
    elif options.what == "pages":
        pages.write(ROOT)
    elif options.check:
        checkCounts(options)
    else:
        run(options)


if __name__ == "__main__":
    main()
