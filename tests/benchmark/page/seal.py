#!/usr/bin/env python3
"""What is generated is not edited, names a commit of the history, and has numbers in its tables.

seal.py check      finds what is wrong; exits with 77 where the rest is right and the history is not
                   here, in an archive or a shallow clone
seal.py stale      names each figure whose folders have changed since its commit, or that is of a
                   quick run: one a line
seal.py self-test  the check notices what is wrong

A part of a page stands between marks and ends with a checksum. ./dev bench has records instead:
pages.py checks that its pages are what these make of them.
"""

import hashlib
import re
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
SKIPPED = 77
SEAL = re.compile(r"<!-- sha256 of the above: ([0-9a-f]{64}) -->\n")
STAMP = re.compile(
    r"^Written by `(?P<command>[^`]+)` on [-0-9]{10}, commit (?P<commit>.*?), in \d+ min \d+ s\."
    r"(?: It measures (?P<folders>.*)\.)?",
    re.MULTILINE,
)
PART = re.compile(
    r"(?<=<!-- written by )(?P<command>[^:\n]+): begin -->\n(?P<text>.*?)"
    r"<!-- written by (?P=command): end -->",
    re.DOTALL,
)
TABLE = re.compile(r"^(\|[ :|-]*-[ :|-]*\|)\n((?:\|.*\n)*)", re.MULTILINE)


def sealed(text):
    text = SEAL.sub("", text).rstrip("\n") + "\n\n"
    return f"{text}<!-- sha256 of the above: {hashlib.sha256(text.encode()).hexdigest()} -->\n"


def writePart(file, command, text):
    """Writes what belongs between the marks of a command. REQUIRES: the page has them."""
    page = file.read_text(encoding="utf-8")
    part, = (part for part in PART.finditer(page) if part["command"] == command)
    file.write_text(page[: part.start("text")] + text + page[part.end("text") :], "utf-8")


def generatedTexts(root):
    """(page, text) of all that generators wrote and stamped, or sealed. A part that nobody has
    measured yet is empty."""
    found = (root.glob(pattern) for pattern in ("*.md", "docs/**/*.md", "tests/**/*.md"))
    for file in sorted(file for files in found for file in files):
        page, name = file.read_text(encoding="utf-8"), file.relative_to(root).as_posix()
        parts = [part["text"] for part in PART.finditer(page) if part["text"].strip()]
        yield from ((name, text) for text in parts)
        rest = PART.sub("", page)
        if SEAL.search(rest) or STAMP.search(rest):
            yield name, rest


def checkText(name, text):
    found = SEAL.search(text)
    if found and text.strip() != sealed(text).strip():
        yield f"{name}: what is generated was edited"
    for align, rows in TABLE.findall(text) if STAMP.search(text) else ():
        lines = rows.splitlines() if "-:" in align else [rows]
        if not lines or not all(re.search(r"\d", line.split("|", 2)[-1]) for line in lines):
            yield f"{name}: a table has no number, or a row of it has none: {rows[:60]!r}"


# ---- the history -------------------------------------------------------------------------------


def git(root, *command):
    try:
        return subprocess.run(["git", *command], cwd=root, capture_output=True, text=True)
    except OSError as problem:
        return subprocess.CompletedProcess(command, 127, "", str(problem))


def whyNoHistory(root):
    told = git(root, "rev-parse", "--is-shallow-repository")
    if told.returncode != 0:
        return "the history is not here: " + (told.stderr.strip() or "no git").splitlines()[0]
    return "the history is not here: a shallow clone" if told.stdout.strip() == "true" else None


def stamps(root):
    for name, text in generatedTexts(root):
        for stamp in STAMP.finditer(text):
            yield name, text, stamp


def checkCommits(root):
    for name, _, stamp in stamps(root):
        if not re.fullmatch("[0-9a-f]{7,40}", stamp["commit"]):
            yield f'{name} was measured at no commit: "{stamp["commit"]}"'
        elif git(root, "merge-base", "--is-ancestor", stamp["commit"], "HEAD").returncode != 0:
            yield f"{name} names {stamp['commit']}, which is not in the history"


def check(root):
    wrong = [line for name, text in generatedTexts(root) for line in checkText(name, text)]
    why = whyNoHistory(root)
    return wrong + ([] if why else list(checkCommits(root))), why


def stale(root):
    """A line for each figure that is not of this code."""
    for name, text, stamp in stamps(root):
        folders = re.findall("`([^`]+)`", stamp["folders"] or "")
        changed = [folder for folder in folders
                   if git(root, "diff", "--quiet", stamp["commit"], "--", folder).returncode]
        why = [f"changed since {stamp['commit']}: {', '.join(changed)}"] if changed else []
        why += [] if folders else ["it does not name the folders that it measures"]
        why += ["it is of a quick run"] if "> **Note:** This is a" in text else []
        if why:
            yield f"{name}, {stamp['command']}: {'; '.join(why)}"


# ---- does it notice? ---------------------------------------------------------------------------


def selfTest():
    failures = []

    def expect(what, found, wanted):
        if (wanted not in found) if wanted else found:
            failures.append(f"{what}: {found or 'not noticed'}")

    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        (root / "docs").mkdir()
        (root / "src").mkdir()
        (root / "src" / "a").write_text("1")
        page = root / "docs" / "page.md"
        mark = "<!-- written by ./dev b: {} -->\n"
        page.write_text("a\n" + mark.format("begin") + mark.format("end"))

        def write(commit, folders="It measures `src`.", note="", table="| x | 17 ns |",
                  whole=False):  # fmt: skip
            text = (f"Written by `./dev b` on 2026-01-01, commit {commit}, in 1 min 0 s. {folders}"
                    f"\n\n{note}\n\n| a | b |\n| --- | ---: |\n{table}\n")  # fmt: skip
            if whole:
                page.write_text(text)
            else:
                writePart(page, "./dev b", sealed(text))

        def found():
            return " ".join(check(root)[0])

        write("0000000")
        expect("no history", whyNoHistory(root) or "", "not here")
        expect("a sealed part", found(), "")
        text = page.read_text()
        page.write_text(text.replace("17 ns", "16 ns"))
        expect("an edited number", found(), "edited")
        write("0000000", table="| x1 | |")
        expect("an empty table", found(), "no number")
        write("0000000", table="")
        expect("a table without rows", found(), "no number")
        git(root, "init", "-q")
        git(root, "add", "-A")
        git(root, "-c", "user.name=a", "-c", "user.email=b", "commit", "-q", "-m", "first")
        commit = git(root, "rev-parse", "--short", "HEAD").stdout.strip()
        for whole in (False, True):
            page.write_text(text)
            write(commit, whole=whole)
            expect("a commit of the history", found(), "")
            expect("a fresh page", " ".join(stale(root)), "")
            (root / "src" / "a").write_text("2")
            expect("a folder that has changed", " ".join(stale(root)), f"changed since {commit}")
            (root / "src" / "a").write_text("1")
            write(commit, folders="", whole=whole)
            expect("no folders", " ".join(stale(root)), "does not name")
            write(commit, note="> **Note:** This is a quick run: too short.", whole=whole)
            expect("a quick run", " ".join(stale(root)), "quick run")
            write("0000000", whole=whole)
            expect("another commit", found(), "not in the history")
            write(f"{commit} and uncommitted changes", whole=whole)
            expect("uncommitted changes", found(), "measured at no commit")
    return failures


def main(arguments):
    why = None
    if arguments == ["self-test"]:
        wrong = selfTest()
    elif arguments == ["check"]:
        wrong, why = check(ROOT)
    elif arguments == ["stale"]:
        for line in [] if whyNoHistory(ROOT) else stale(ROOT):
            print(f"stale: {line}")
        return 0
    else:
        print(__doc__)
        return 2
    for line in wrong:
        print(line)
    if not wrong and why:
        print(f"skipped: {why}")
        return SKIPPED
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
