#!/usr/bin/env python3
"""Uses timers of all kinds in all ways with four threads, and accounts for every timeout.

Ten minutes or more are written into record.md, with the date and the machine. The report of each
run is kept in build/soak.
"""

import signal
import subprocess
import sys
from pathlib import Path

TESTS = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(TESTS / "benchmark" / "page"), str(TESTS / "support")]

import about  # noqa: E402  (found in the folders above)
import seal  # noqa: E402
from measure import Run  # noqa: E402
from runner import ROOT, asked, between, build, need, parser  # noqa: E402

PAGE = Path(__file__).with_name("record.md")
FULL = 600


def main():
    made = parser("soak", __doc__)
    made.add_argument("minutes", nargs="?", type=between(0.01, 10_000, float), help="10")
    made.add_argument("--seed", type=between(0, 999_999_999), help="of everything random")
    made.add_argument("--short", action="store_true", help="some seconds, as the test does")
    made.parse_args()
    need("test")
    program = build("release", "timingwheel-soak") / "tests/soak/timingwheel-soak"
    folder = ROOT / "build/soak"
    folder.mkdir(parents=True, exist_ok=True)
    report = folder / "report.md"
    report.unlink(missing_ok=True)
    run = Run(asked("soak"), "full")
    signal.signal(signal.SIGINT, lambda *_: None)  # which the program does not inherit
    status = subprocess.Popen([program, *sys.argv[1:], "--report", report]).wait()
    if status != 0 or not report.exists():
        return status
    record = run.record(1, {})
    if record["seconds"] >= FULL:
        text = about.sealed(record, report.read_text(encoding="utf-8").strip())
        seal.writePart(PAGE, "./dev soak", text)
        print(f"== written into {PAGE.relative_to(ROOT)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
