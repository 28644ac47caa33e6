#!/usr/bin/env python3
"""Runs the soak, and puts what it says into record.md, with the date and the machine.

A run of less than ten minutes, or one that found something, is kept in the build folder only.
"""

import argparse
import datetime
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests" / "benchmark" / "page"))

import about  # noqa: E402  (found in the folder above)
import seal  # noqa: E402
from arguments import between  # noqa: E402

PAGE = Path(__file__).with_name("record.md")
FULL = 600


def section(run, report):
    machine = run["machine"]
    parts = [machine["processor"], f"{machine['cores']} cores", machine["memory"],
             machine["system"], machine["compiler"]]  # fmt: skip
    paragraphs = [about.generated(run), f"On {'; '.join(parts)}.", about.warnings(run),
                  report.strip()]  # fmt: skip
    return seal.sealed("\n" + "\n\n".join(filter(None, paragraphs)))


def soak(program, options, report):
    """The program's exit status. It hears of Ctrl-C itself."""
    signal.signal(signal.SIGINT, lambda *_: None)  # which the program does not inherit
    return subprocess.Popen([program, *options, "--report", report]).wait()


def checkArguments(options):
    """Refuses what the program would refuse, before anything has been changed."""
    parser = argparse.ArgumentParser(prog="./dev soak", add_help=False, allow_abbrev=False)
    parser.add_argument("minutes", nargs="?", type=between(0.01, 10_000, float))
    parser.add_argument("--seed", type=between(0, 999_999_999))
    parser.add_argument("--short", action="store_true")
    parser.add_argument("--help", "-h", action="store_true")
    parser.parse_args(options)


def main():
    parser = argparse.ArgumentParser(add_help=False, allow_abbrev=False)
    parser.add_argument("program", type=Path, help="timingwheel-soak")
    parser.add_argument("build", type=Path, help="where everything goes")
    parser.add_argument("--command", default="./dev soak", help="what the page says")
    options, ofProgram = parser.parse_known_args()  # the rest is for the program
    checkArguments(ofProgram)

    began = time.monotonic()
    options.build.mkdir(parents=True, exist_ok=True)
    report = options.build / "report.md"
    report.unlink(missing_ok=True)
    machine = about.describeMachine()
    status = soak(options.program, ofProgram, report)
    if status != 0 or not report.exists():  # also --help
        return status
    run = {
        "command": options.command,
        "date": datetime.date.today().isoformat(),
        "seconds": round(time.monotonic() - began),
        "machine": machine | {"loadAfter": os.getloadavg()[0]},
        "size": "full",
    }
    text = section(run, report.read_text(encoding="utf-8"))
    if run["seconds"] >= FULL:
        seal.writePart(PAGE, "./dev soak", text)
        print(f"== written into {PAGE.relative_to(ROOT)}")
    else:
        kept = options.build / "section.md"
        kept.write_text(text, encoding="utf-8")
        print(f"== written to {kept}: less than {FULL // 60} minutes are not for the page")
    return 0


if __name__ == "__main__":
    sys.exit(main())
