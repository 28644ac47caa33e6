#!/usr/bin/env python3
"""What is generated is not edited, names a commit of the history, and has numbers in its tables.

seal.py check      finds what is wrong; exits with 77 where the rest is right and the history is not
                   here, in an archive or a shallow clone
seal.py stale      names each figure whose folders have changed since its commit, or that is of a
                   quick run: one a line
seal.py self-test  both notice what is wrong

A part of a page stands between marks and ends with a checksum. ./dev bench has records instead:
pages.py checks that its pages are what these make of them.
"""

import hashlib
import re
import subprocess
import sys
import tempfile
from pathlib import Path

from markdown import MARKS, withPart

ROOT = Path(__file__).resolve().parents[3]
SKIPPED = 77
SEAL = re.compile(r"<!-- sha256 of the above: ([0-9a-f]{64}) -->\n")
COMPONENTS = [f"include/timingwheel/{name}" for name in ("calendar", "kafka", "store")]
STAMP = re.compile(
    r"^Written by `(?P<command>[^`]+)` on [-0-9]{10}, commit (?P<commit>.*?), in \d+ min \d+ s\."
    r"(?: It measures (?P<folders>.*)\.)?",
    re.MULTILINE,
)
PART = re.compile(
    MARKS[0].format(r"(?P<command>[^:\n]+)") + r"(?P<text>.*?)" + MARKS[1].format(r"(?P=command)"),
    re.DOTALL,
)
TABLE = re.compile(r"^(\|[ :|-]*-[ :|-]*\|)\n((?:\|.*\n)*)", re.MULTILINE)


def sealed(text):
    text = SEAL.sub("", text).rstrip("\n") + "\n\n"
    return f"{text}<!-- sha256 of the above: {hashlib.sha256(text.encode()).hexdigest()} -->\n"


def writePart(file, command, text):
    """Writes what belongs between the marks of a command. REQUIRES: the page has them."""
    file.write_text(withPart(file.read_text(encoding="utf-8"), command, text), encoding="utf-8")


def git(root, *command):
    return subprocess.run(["git", *command], cwd=root, capture_output=True, text=True)


def whyNoHistory(root):
    told = git(root, "rev-parse", "--is-shallow-repository")
    why = "a shallow clone" if told.stdout.strip() == "true" else told.stderr.strip()
    return why and f"the history is not here: {why}"


def generatedTexts(root):
    """(page, text, its stamp) of all that generators wrote and stamped, or sealed. A part that
    nobody has measured yet is empty."""
    found = (root.glob(pattern) for pattern in ("*.md", "docs/**/*.md", "tests/**/*.md"))
    for file in sorted(file for files in found for file in files):
        page, name = file.read_text(encoding="utf-8"), file.relative_to(root).as_posix()
        for text in [*(part["text"] for part in PART.finditer(page)), PART.sub("", page)]:
            stamp = STAMP.search(text)
            if stamp or SEAL.search(text):
                yield name, text, stamp


def check(root, hasHistory=True):
    for name, text, stamp in generatedTexts(root):
        if SEAL.search(text) and text.strip() != sealed(text).strip():
            yield f"{name}: what is generated was edited"
        for align, rows in TABLE.findall(text):
            lines = rows.splitlines() if "-:" in align else [rows]
            if not lines or not all(re.search(r"\d", line.split("|", 2)[-1]) for line in lines):
                yield f"{name}: a table has no number, or a row of it has none: {rows[:60]!r}"
        if not stamp or not hasHistory:
            continue
        commit = stamp["commit"]
        if not re.fullmatch("[0-9a-f]{7,40}", commit):
            yield f'{name} was measured at no commit: "{commit}"'
        elif git(root, "merge-base", "--is-ancestor", commit, "HEAD").returncode:
            yield f"{name} names {commit}, which is not in the history"


def stale(root):
    """A line for each figure that is not of this code."""
    for name, text, stamp in generatedTexts(root):
        if not stamp:
            continue
        folders = re.findall("`([^`]+)`", stamp["folders"] or "")
        since = ("diff", "--quiet", "-I", r"^\s*//", stamp["commit"], "--")  # not by comments
        # A component's headers are measured where they are named.
        others = [f":!{part}" for part in COMPONENTS if part not in folders]
        changed = [folder for folder in folders if git(root, *since, folder, *others).returncode]
        why = [f"changed since {stamp['commit']}: {', '.join(changed)}"] if changed else []
        why += [] if folders else ["it does not name the folders that it measures"]
        why += ["it is of a quick run"] if "> **Note:** This is a" in text else []
        if why:
            yield f"stale: {name}, {stamp['command']}: {'; '.join(why)}"


# ---- does it notice? ---------------------------------------------------------------------------

TEXT = """Written by `./dev b` on 2026-01-01, commit {commit}, in 1 min 0 s. {folders}

{note}

| a | b |
| --- | ---: |
{row}"""
RIGHT = {"folders": "It measures `src`.", "note": "", "row": "| x | 17 ns |\n"}
PLANTED = [  # what differs from a right page, and what is said of it
    ({}, ""),
    ({"row": "| x1 | |\n"}, "no number"),
    ({"row": ""}, "no number"),
    ({"commit": "0000000"}, "not in the history"),
    ({"commit": "0000000 and uncommitted changes"}, "measured at no commit"),
    ({"folders": ""}, "does not name"),
    ({"folders": "It measures `src`, `docs`."}, "changed since"),
    ({"note": "> **Note:** This is a quick run: too short."}, "quick run"),
]


def selfTest():
    with tempfile.TemporaryDirectory() as folder:
        root, page = Path(folder), Path(folder) / "docs" / "page.md"
        if not whyNoHistory(root):
            yield "no history: not noticed"
        for file in (page, root / "src" / "a"):
            file.parent.mkdir()
            file.write_text("before")
        git(root, "init", "-q")
        git(root, "add", "-A")
        git(root, "-c", "user.name=a", "-c", "user.email=b", "commit", "-q", "-m", "first")
        commit = git(root, "rev-parse", "--short", "HEAD").stdout.strip()
        for changes, wanted in PLANTED:
            text = TEXT.format(**{"commit": commit, **RIGHT, **changes})
            part = withPart("".join(MARKS).format("x"), "x", sealed(text))
            for written in (text, part, part.replace("min 0", "min 1")):
                page.write_text(written)
                expected = wanted if "min 0" in written else "edited"
                found = " ".join([*check(root), *stale(root)])
                if (expected not in found) if expected else found:
                    yield f"{changes}: {found or 'not noticed'}"


def main(command):
    why = whyNoHistory(ROOT)
    if command == "stale":
        for line in [] if why else stale(ROOT):
            print(line)
        return 0
    wrong = list(selfTest() if command == "self-test" else check(ROOT, not why))
    if command == "check" and why and not wrong:
        print(f"skipped: {why}")
        return SKIPPED
    return "\n".join(wrong) or 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
