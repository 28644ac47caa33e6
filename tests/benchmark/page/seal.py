#!/usr/bin/env python3
"""A generated text ends with a checksum of itself and of its drawings: whoever edits it is found.

seal.py check      every generated page is what its generator wrote, and names a commit of the
                   history, without changes beside it
seal.py self-test  the check notices what is wrong

Prints what is wrong and exits with 1; exits with 77 where the rest is right and the history is not
here, in an archive or a shallow clone.
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
COMMIT = re.compile(r"^Written by `[^`]+` on [-0-9]{10}, commit (.*?), in ", re.MULTILINE)
# What is generated: a page and the folder of its drawings, or a part of a page.
PAGES = {
    "docs/benchmarks.md": "docs/benchmarks",
    "docs/choosing.md": "docs/choosing",
    "docs/comparison.md": "docs/comparison",
    "docs/testing.md": None,
}
BEGIN, END = "<!-- written by ./dev soak: begin -->", "<!-- written by ./dev soak: end -->"
PART = re.compile(f"(?<={BEGIN}\n).*?(?={END})", re.DOTALL)


def checksum(text, drawings):
    found = hashlib.sha256(text.encode())
    for file in sorted(drawings.glob("*.svg")) if drawings else []:
        found.update(f"\n{file.name}\n".encode() + file.read_bytes())
    return found.hexdigest()


def sealed(text, drawings=None):
    """The text with its seal, to be written once the drawings are there."""
    text = SEAL.sub("", text).rstrip("\n") + "\n\n"
    return f"{text}<!-- sha256 of the above: {checksum(text, drawings)} -->\n"


def generatedPart(file, drawings):
    """What the generator wrote of a page: all of it where it has drawings."""
    text = file.read_text(encoding="utf-8")
    return text if drawings else PART.search(text).group()


def checkSeal(file, drawings):
    text = generatedPart(file, drawings)
    if not SEAL.search(text):
        return [f"{file.name} has no seal: it is written by ./dev, not by hand"]
    if text.strip() != sealed(text, drawings).strip():
        return [f"{file.name}: it, or a drawing of it, was edited after it was generated"]
    return []


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
    wrong = []
    commits = COMMIT.findall(generatedPart(file, drawings))
    if not commits:
        wrong.append(f"{file.name} does not name the commit that was measured")
    for commit in commits:
        if not re.fullmatch("[0-9a-f]{7,40}", commit):
            wrong.append(f'{file.name} was measured at no commit: "{commit}"')
        elif git(root, "merge-base", "--is-ancestor", commit, "HEAD").returncode != 0:
            wrong.append(f"{file.name} names {commit}, which is not in the history")
    return wrong


def check(root, pages):
    wrong = []
    for name, drawings in pages.items():
        wrong += checkSeal(root / name, root / drawings if drawings else None)
    why = whyNoHistory(root)
    for name, drawings in {} if why else pages.items():
        wrong += checkCommits(root, root / name, drawings)
    return wrong, why


# ---- does it notice? ---------------------------------------------------------------------------


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

        def write(commit):
            stamp = f"Written by `./dev bench` on 2026-01-01, commit {commit}, in 1 min 0 s."
            page.write_text(sealed(f"# Page\n\n{stamp}\n\n17 ns", drawings))

        def found():
            return " ".join(check(root, pages)[0])

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
        git(root, *whoever, "commit", "-q", "--allow-empty", "-m", "first")
        commit = git(root, "rev-parse", "--short", "HEAD").stdout.strip()
        write(commit)
        expect(found() == "", f"complains of a commit of the history: {found()}")
        write("0000000")
        expect("not in the history" in found(), "misses a commit that is not there")
        write(f"{commit} and uncommitted changes")
        expect("measured at no commit" in found(), "misses uncommitted changes")
        page.write_text(sealed("# Page\n", drawings))
        expect("does not name" in found(), "misses a page without a commit")
    return failures


def main(arguments):
    if arguments == ["self-test"]:
        wrong, why = selfTest(), None
    elif arguments == ["check"]:
        wrong, why = check(ROOT, PAGES)
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
