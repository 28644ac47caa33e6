#!/usr/bin/env python3
"""What docs/guarantees.md promises and what the tests show: guarantees.py <command>

check           each promise is stated, a test shows it, and a figure; each tag names a promise
list            which tests show which promise, and which bug pattern of other libraries
table <file>    the figures of a run, which the tests wrote into <file>, sorted by promise:
                what is reached, what is asked, and whether a count is missed. With --quick a run
                may be smaller than what is asked

A test shows what the comment above it begins with ("// G4, G12: ..."), and what its file says of
all its tests ("// Shows G4."). Prints what is wrong and exits with 1.
"""

import json
import re
import sys
from collections import Counter, defaultdict
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "support"))
from runner import ROOT, TEST  # noqa: E402

PROMISES = [f"G{number}" for number in range(1, 33) if number != 26]  # 26 was dropped
COMMENTED = re.compile(rf"((?:^//.*\n)*){TEST.pattern}", re.MULTILINE)
TAG = re.compile(r"^///? (?:Shows )?(G\d+(?:, G\d+)*)\b", re.MULTILINE)
OF_THE_FILE = re.compile(r"^// Shows (G\d+(?:, G\d+)*)\.$", re.MULTILINE)
PATTERN = re.compile(r"[Bb]ug pattern: (.*?)(?:\.(?: |$)|$)")
FIGURE = re.compile(r"\bfigure\(\s*\"(G\d+)\"")
# From `**G1 Never early.**` the words of each promise.
TITLES = dict(re.findall(r"^\*\*(G\d+) ([^*]+?)\.?\*\*",
                         (ROOT / "docs/guarantees.md").read_text("utf-8"), re.MULTILINE))
TESTS = {path.relative_to(ROOT).as_posix(): path.read_text("utf-8")
         for end in ("cpp", "h") for path in sorted(ROOT.glob(f"tests/**/*.{end}"))}  # fmt: skip


def shown():
    """{promise: the tests that show it}, and each bug pattern with its test."""
    found, patterns = defaultdict(list), []
    for name, text in TESTS.items():
        ofTheFile = OF_THE_FILE.findall(text)
        for comment, suite, test in COMMENTED.findall(text):
            for promise in re.findall(r"G\d+", " ".join(ofTheFile + TAG.findall(comment))):
                found[promise].append(f"{name}: {suite}.{test}")
            words = re.sub(r"\s*\n///? *", " ", comment.strip())
            patterns += [f"{one}\n    {suite}.{test}" for one in PATTERN.findall(words)]
    return found, patterns


def check():
    found, patterns = shown()
    figures = set(FIGURE.findall("\n".join(TESTS.values())))
    wrong = [f"tests: {tag} is no promise" for tag in found if tag not in PROMISES]
    for promise in PROMISES:
        if promise not in TITLES:
            wrong.append(f"guarantees.md: {promise} is not stated")
        if promise not in found:
            wrong.append(f"tests: none shows {promise}")
        if promise not in figures:
            wrong.append(f'tests: no figure("{promise}", ...)')
    return wrong if patterns else [*wrong, "tests: no bug pattern"]


def printTests():
    found, patterns = shown()
    for promise, title in TITLES.items():
        print("\n  ".join([f"{promise} {title}", *found[promise]]))
    print("\n  ".join(["\nBug patterns of other libraries", *patterns]))
    return []


def verdict(figure):
    reached, asked = figure["reached"], figure["asked"]
    holds = {"=": reached == asked, "<=": reached <= asked, ">=": reached >= asked, "": True}
    if figure["isForAPerson"]:
        return "judge"
    if not holds[figure["relation"]]:
        return "MISSED"
    return "smaller" if figure["of"] < figure["askedOf"] else "ok"


def badness(figure):
    """What is missed comes before all, then the longest run, then the worst."""
    sign = -1 if figure["relation"] == ">=" else 1
    return verdict(figure) == "MISSED", figure["of"], sign * figure["reached"]


def number(value):
    if value == int(value):
        return f"{int(value):,}"
    return f"{value:,.3g}" if abs(value) < 100 else f"{value:,.0f}"


def cells(figure):
    reached = number(figure["reached"]) + (f" of {figure['of']:,}" if figure["of"] else "")
    asked = [figure["relation"], number(figure["asked"])] if figure["relation"] else []
    asked += [f"of {figure['askedOf']:,}"] if figure["askedOf"] else []
    return [figure["what"], reached, " ".join(asked) or "-", verdict(figure), figure["test"]]


def printTable(path, *options):
    """Prints the table, and returns what is wrong. Of runs with the same figure it has one."""
    text = Path(path).read_text(encoding="utf-8") if Path(path).exists() else ""
    byName = defaultdict(list)
    for figure in map(json.loads, text.splitlines()):
        byName[figure["promise"], figure["what"]].append(figure)
    kept = [max(same, key=badness) for same in byName.values()]
    rows = [["figure", "reached", "asked", "", "test"], *map(cells, kept)]
    widths = [max(map(len, column)) for column in zip(*rows)]
    lines = ["  ".join(["", *map(str.ljust, row, widths)]).rstrip() for row in rows]
    print(lines[0])
    wrong, verdicts = [], ["MISSED"] if "--quick" in options else ["MISSED", "smaller"]
    for promise, title in TITLES.items():
        mine = [index for index, figure in enumerate(kept, 1) if figure["promise"] == promise]
        print("\n".join([f"{promise} {title}", *(lines[index] for index in mine)]))
        wrong += [] if mine else [f"{promise} has no figure"]
        wrong += [lines[index].strip() for index in mine if rows[index][3] in verdicts]
    counts = Counter(row[3] for row in rows[1:])
    print("\n" + ", ".join(f"{count} {each}" for each, count in counts.items()))
    return wrong


def main(command="", *rest):
    commands = {"check": check, "list": printTests, "table": printTable}
    if command not in commands:
        sys.exit(__doc__)
    sys.exit("\n".join(commands[command](*rest)) or None)


if __name__ == "__main__":
    main(*sys.argv[1:])
