#!/usr/bin/env python3
"""A generated text ends with a checksum of itself and of its drawings: whoever edits it is found.

seal.py check      every generated page is what its generator wrote, and names a commit of the
                   history, without changes beside it; and says that it is to be measured again
                   where the library's hot path has changed since (fresh.py), and only there
seal.py stale      writes that sentence, or takes it away, and tells what has changed
seal.py self-test  the check notices what is wrong

Prints what is wrong and exits with 1; exits with 77 where the rest is right and the history is not
here, in an archive or a shallow clone.
"""

import contextlib
import hashlib
import io
import json
import re
import subprocess
import sys
import tempfile
from pathlib import Path

import fresh

ROOT = Path(__file__).resolve().parents[3]
SKIPPED = 77
SEAL = re.compile(r"<!-- sha256 of the above: ([0-9a-f]{64}) -->\n")
COMMIT = re.compile(r"^Written by `[^`]+` on [-0-9]{10}, commit (.*?), in ", re.MULTILINE)
# What is generated: a page and the folder of its drawings, or a part of a page.
PAGES = {
    "docs/beyond/figures.md": None,
    "docs/benchmarks.md": "docs/benchmarks",
    "docs/calendars.md": "docs/calendars",
    "docs/choosing.md": "docs/choosing",
    "docs/comparison.md": "docs/comparison",
    "docs/durable.md": "docs/durable",
    "docs/server.md": "docs/server",
    "docs/testing.md": None,
    "tests/soak/record.md": None,
}
PART = re.compile(
    r"(?<=<!-- written by )(?P<command>[^:\n]+): begin -->\n(?P<text>.*?)"
    r"<!-- written by (?P=command): end -->",
    re.DOTALL,
)


def checksum(text, drawings):
    found = hashlib.sha256(text.encode())
    for file in sorted(drawings.glob("*.svg")) if drawings else []:
        found.update(f"\n{file.name}\n".encode() + file.read_bytes())
    return found.hexdigest()


def sealed(text, drawings=None):
    """The text with its seal, to be written once the drawings are there."""
    text = SEAL.sub("", text).rstrip("\n") + "\n\n"
    return f"{text}<!-- sha256 of the above: {checksum(text, drawings)} -->\n"


def generatedParts(file, drawings):
    """What generators wrote of a page: all of it where it has drawings. A part that nobody has
    measured yet is empty."""
    text = file.read_text(encoding="utf-8")
    if drawings:
        return [text]
    return [part["text"] for part in PART.finditer(text) if part["text"].strip()]


def writePart(file, command, text):
    """Writes what belongs between the marks of a command. REQUIRES: the page has them."""
    page = file.read_text(encoding="utf-8")
    part, = (part for part in PART.finditer(page) if part["command"] == command)
    file.write_text(page[: part.start("text")] + text + page[part.end("text") :], "utf-8")


def checkSeal(file, drawings):
    wrong = []
    for text in generatedParts(file, drawings):
        if not SEAL.search(text):
            wrong.append(f"{file.name} has no seal: it is written by ./dev, not by hand")
        elif text.strip() != sealed(text, drawings).strip():
            wrong.append(f"{file.name}: it, or a drawing of it, was edited after it was generated")
    return wrong


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


def checkCommits(root, file, drawings):
    wrong, commits = [], []
    for text in generatedParts(file, drawings):
        found = COMMIT.findall(text)
        if not found:
            wrong.append(f"{file.name} does not name the commit that was measured")
        commits += found
    for commit in commits:
        if not re.fullmatch("[0-9a-f]{7,40}", commit):
            wrong.append(f'{file.name} was measured at no commit: "{commit}"')
        elif git(root, "merge-base", "--is-ancestor", commit, "HEAD").returncode != 0:
            wrong.append(f"{file.name} names {commit}, which is not in the history")
    return wrong


# ---- is it still so? ---------------------------------------------------------------------------


def changesSince(root, page):
    """What has changed since a page was measured; None where its counts are in a history that is
    not here. They are those that it carries, or else those recorded at its commit."""
    then = fresh.countsOn(page)
    if then is None:
        if whyNoHistory(root):
            return None
        commits = COMMIT.findall(page)
        record = git(root, "show", f"{commits[0]}:{fresh.RECORDED}") if commits else None
        then = fresh.countsOf(record.stdout) if record and record.returncode == 0 else {}
    now = fresh.countsOf((root / fresh.RECORDED).read_text(encoding="utf-8"))
    return fresh.changes(then, now)


def checkFresh(root, file):
    text = file.read_text(encoding="utf-8")
    changed = changesSince(root, text)
    if changed is None or bool(changed) == (fresh.NOTE in text):
        return []
    what = f"does not say that it is stale ({'; '.join(changed)})" if changed else \
        "says that it is stale, and is not"  # fmt: skip
    return [f"{file.name} {what}: ./dev bench stale writes it anew"]


def markStale(root, pages):
    """Writes into each measured page whether it is stale."""
    for name, drawings in pages.items():
        file = root / name
        text = file.read_text(encoding="utf-8")
        changed = changesSince(root, text) if drawings else None
        if changed is None:
            continue
        file.write_text(sealed(fresh.withNote(text, bool(changed)), root / drawings), "utf-8")
        print(f"{name}: {'; '.join(changed) or 'nothing has changed by more than is allowed'}")


def check(root, pages):
    wrong = []
    for name, drawings in pages.items():
        wrong += checkSeal(root / name, root / drawings if drawings else None)
        if drawings:
            wrong += checkFresh(root, root / name)
    why = whyNoHistory(root)
    for name, drawings in {} if why else pages.items():
        wrong += checkCommits(root, root / name, drawings)
    return wrong, why


# ---- does it notice? ---------------------------------------------------------------------------


def selfTestStale(root, pages, write, record, found):
    """The history's only commit has a record."""
    commit = git(root, "rev-parse", "--short", "HEAD").stdout.strip()
    failures = []
    for what, counts, now, isStale in (
        ("counts of the page, within the allowance", {"W1": 100, "old": 1}, 109, False),
        ("counts of the page, beyond it", {"W1": 100, "old": 1}, 111, True),
        ("fewer instructions", {"W1": 100}, 89, True),
        ("counts that nobody takes any more", {"old": 1}, 109, True),
        ("counts of the page's commit, within the allowance", None, 110, False),
        ("counts of the page's commit, beyond it", None, 130, True),
    ):
        record(W1=now)
        write(commit, counts)
        if ("stale" in found()) != isStale:
            failures.append(f"{what}: {found() or 'not told'}")
        with contextlib.redirect_stdout(io.StringIO()):
            markStale(root, pages)
        if found() or (fresh.NOTE in (root / "page.md").read_text()) != isStale:
            failures.append(f"{what}, once it is marked: {found()}")
    record(W1=109)  # as at the commit of the last one, which says that it is stale
    if "is not" not in found():
        failures.append("misses a page that says that it is stale, and is not")
    return failures


def selfTest():
    failures = []

    def expect(condition, what):
        if not condition:
            failures.append(what)

    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        page, drawings = root / "page.md", root / "page"
        drawings.mkdir()
        (drawings / "a.svg").write_text("<svg>")
        pages = {"page.md": "page"}

        def write(commit, counts=None):
            stamp = f"Written by `./dev bench` on 2026-01-01, commit {commit}, in 1 min 0 s."
            line = fresh.countsLine(counts) if counts else ""
            page.write_text(sealed(f"# Page\n\n{stamp}\n\n{line}\n\n17 ns", drawings))

        def record(**counts):
            (root / fresh.RECORDED).write_text(json.dumps({"instructions": counts}))

        def found():
            return " ".join(check(root, pages)[0])

        (root / fresh.RECORDED).parent.mkdir(parents=True)
        record(W1=109, W2=50)
        write("0000000")
        expect(whyNoHistory(root) is not None, "takes a folder for a clone")
        expect(found() == "", "complains of a page that was only generated")
        page.write_text(page.read_text().replace("17 ns", "16 ns"))
        expect("edited" in found(), "misses a number that was edited")
        write("0000000")
        (drawings / "a.svg").write_text("<svg/>")
        expect("edited" in found(), "misses an edited drawing")
        page.write_text("Written by `./dev bench` on 2026-01-01, commit 0000000, in 1 min 0 s.\n")
        expect("no seal" in found(), "misses a page without a seal")

        git(root, "init", "-q")
        whoever = ("-c", "user.name=a", "-c", "user.email=b")
        git(root, "add", "-A")
        git(root, *whoever, "commit", "-q", "-m", "first")
        commit = git(root, "rev-parse", "--short", "HEAD").stdout.strip()
        write(commit)
        expect(found() == "", f"complains of a commit of the history: {found()}")
        write("0000000")
        expect("not in the history" in found(), "misses a commit that is not there")
        write(f"{commit} and uncommitted changes")
        expect("measured at no commit" in found(), "misses uncommitted changes")
        failures += selfTestStale(root, pages, write, record, found)
        page.write_text(sealed("# Page\n", drawings))
        expect("does not name" in found(), "misses a page without a commit")
        failures += selfTestParts(root, commit)
    return failures


def selfTestParts(root, commit):
    """A page with prose of its own, of which two commands write a part each."""
    page, failures = root / "parts.md", []
    marks = "<!-- written by ./dev {0}: begin -->\n<!-- written by ./dev {0}: end -->\n"
    stamp = f"Written by `./dev b` on 2026-01-01, commit {commit}, in 1 min 0 s."
    page.write_text("a\n" + marks.format("a") + "b\n" + marks.format("b"))
    writePart(page, "./dev b", sealed(f"{stamp}\n\n17 ns"))
    for what, change, wanted in (
        ("one part that is right, and one that is empty", ("", ""), ""),
        ("a number that was edited in a part", ("17 ns", "16 ns"), "edited"),
        ("a part without a seal", (SEAL.search(page.read_text()).group(), ""), "no seal"),
    ):
        text = page.read_text()
        page.write_text(text.replace(*change))
        found = " ".join(check(root, {"parts.md": None})[0])
        if (wanted not in found) if wanted else found:
            failures.append(f"{what}: {found or 'not told'}")
        page.write_text(text)
    return failures


def main(arguments):
    if arguments == ["self-test"]:
        wrong, why = selfTest(), None
    elif arguments == ["check"]:
        wrong, why = check(ROOT, PAGES)
    elif arguments == ["stale"]:
        wrong, why = markStale(ROOT, PAGES) or [], None
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
