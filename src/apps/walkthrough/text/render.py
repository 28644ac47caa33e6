#!/usr/bin/env python3
"""Makes docs/walkthrough.md and its drawings from what timingwheel-walkthrough-facts tells.

walkthrough.md.in is the page with its prose; what stands in {{braces}} there comes from the
library. With --compare nothing but the comparison with what stands in a folder counts.
"""

import argparse
import difflib
import json
import re
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[3]
sys.path.insert(0, str(ROOT / "tests" / "benchmark" / "page"))

import drawings  # noqa: E402
from example import Facts  # noqa: E402
from markdown import fill  # noqa: E402
from words import Words  # noqa: E402

# No number in the prose is typed by hand: they come from the braces. Names of levels are names, the
# clock begins at 0, and a year is a year.
NOT_TYPED = re.compile(
    r"{{.*?}}|\[Decision \d+(?=\])|\]\([^)]*\)|[Ll]evels? \d\b|\b(time|at) 0\b|\(1987\)"
)


def typedNumbers(template):
    listed = re.sub(r"^\d+\. ", "", template, flags=re.MULTILINE)
    prose = NOT_TYPED.sub("", listed)
    return [line.strip() for line in prose.splitlines() if re.search(r"\d", line)]


def ask(program):
    told = subprocess.run([program], capture_output=True, text=True, check=False)
    if told.returncode != 0:
        raise SystemExit(f"{told.stderr}\n{program} ended with {told.returncode}: the library no "
                         "longer does what docs/walkthrough.md tells")  # fmt: skip
    return told.stdout


def files(facts):
    template = (HERE / "walkthrough.md.in").read_text(encoding="utf-8")
    for line in typedNumbers(template):
        raise SystemExit(f"walkthrough.md.in: a number is typed by hand: {line}")
    words = Words(facts)
    made = {"walkthrough.md": fill(template, words.valueOf)}
    for name, drawing in drawings.allOf(facts).items():
        made[f"walkthrough/{name}"] = drawing
    return made


def differences(made, folder):
    """What is not as in the folder, as lines to be printed."""
    for name, text in made.items():
        path = folder / name
        committed = path.read_text(encoding="utf-8") if path.exists() else ""
        yield from list(difflib.unified_diff(
            committed.splitlines(), text.splitlines(), f"{path}", "what the library does now",
            lineterm="", n=0))[:20]  # fmt: skip
    for path in sorted((folder / "walkthrough").glob("*.svg")):
        if f"walkthrough/{path.name}" not in made:
            yield f"{path}: nobody draws it any more"


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("program", help="timingwheel-walkthrough-facts")
    parser.add_argument("folder", type=Path, help="where the page is written")
    parser.add_argument("--compare", type=Path, help="fail if it is not as in this folder")
    options = parser.parse_args()

    made = files(Facts(json.loads(ask(options.program))))
    for name, text in made.items():
        path = options.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    if options.compare is None:
        return 0
    found = list(differences(made, options.compare))
    if found:
        print(*found, sep="\n")
        print("\ndocs/walkthrough.md is not what the library does: ./dev walkthrough renews it")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
