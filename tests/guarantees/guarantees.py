#!/usr/bin/env python3
"""What docs/guarantees.md promises and what the tests show: guarantees.py <command>

check           each promise is stated, a test shows it, and a figure; each tag names a promise
list            which tests show which promise, and which bug pattern of other libraries
table <file>    the figures of a run, which the tests wrote into <file>, sorted by promise:
                what is reached, what is asked, and whether a count is missed. With --quick a run
                may be smaller than what is asked
self-test       each of the above notices what is planted

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

PROMISES = [f"G{number}" for number in range(1, 32) if number != 26]  # 26 was dropped
COMMENTED = re.compile(rf"((?:^//.*\n)*){TEST.pattern}", re.MULTILINE)
TAG = re.compile(r"^///? (?:Shows )?(G\d+(?:, G\d+)*)\b", re.MULTILINE)
OF_THE_FILE = re.compile(r"^// Shows (G\d+(?:, G\d+)*)\.$", re.MULTILINE)
PATTERN = re.compile(r"[Bb]ug pattern: (.*?)(?:\.(?: |$)|$)")
FIGURE = re.compile(r"\bfigure\(\s*\"(G\d+)\"")
DOCUMENT = (ROOT / "docs/guarantees.md").read_text(encoding="utf-8")
TESTS = {path.relative_to(ROOT).as_posix(): path.read_text("utf-8")
         for end in ("cpp", "h") for path in sorted(ROOT.glob(f"tests/**/*.{end}"))}  # fmt: skip


def shown(tests):
    """{promise: the tests that show it}, and each bug pattern with its test."""
    found, patterns = defaultdict(list), []
    for name, text in tests.items():
        ofTheFile = OF_THE_FILE.findall(text)
        for comment, suite, test in COMMENTED.findall(text):
            for promise in re.findall(r"G\d+", " ".join(ofTheFile + TAG.findall(comment))):
                found[promise].append(f"{name}: {suite}.{test}")
            words = re.sub(r"\s*\n///? *", " ", comment.strip())
            patterns += [f"{one}\n    {suite}.{test}" for one in PATTERN.findall(words)]
    return found, patterns


def titles(document):
    """From `**G1 Never early.**` the words of each promise."""
    found = re.findall(r"^\*\*(G\d+) ([^*]+?)\.?\*\*", document, re.MULTILINE)
    return {promise: title.replace("`", "") for promise, title in found}


def check(tests=TESTS, document=DOCUMENT):
    found, patterns = shown(tests)
    figures, stated = set(FIGURE.findall("\n".join(tests.values()))), titles(document)
    wrong = [f"tests: {tag} is no promise" for tag in found if tag not in PROMISES]
    for promise in PROMISES:
        if promise not in stated:
            wrong.append(f"guarantees.md: {promise} is not stated")
        if promise not in found:
            wrong.append(f"tests: none shows {promise}")
        if promise not in figures:
            wrong.append(f'tests: no figure("{promise}", ...)')
    return wrong if patterns else [*wrong, "tests: no bug pattern"]


def printTests():
    found, patterns = shown(TESTS)
    for promise, title in titles(DOCUMENT).items():
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


def table(figures, isQuick):
    """The lines of the table, and what is wrong. Of runs with the same figure it has one."""
    byName = defaultdict(list)
    for figure in figures:
        byName[figure["promise"], figure["what"]].append(figure)
    kept = [max(same, key=badness) for same in byName.values()]
    rows = [["figure", "reached", "asked", "", "test"], *map(cells, kept)]
    widths = [max(map(len, column)) for column in zip(*rows)]
    lines = ["  ".join(["", *map(str.ljust, row, widths)]).rstrip() for row in rows]
    out, wrong = lines[:1], []
    for promise, title in titles(DOCUMENT).items():
        mine = [index for index, figure in enumerate(kept, 1) if figure["promise"] == promise]
        out += [f"{promise} {title}", *(lines[index] for index in mine)]
        wrong += [] if mine else [f"{promise} has no figure"]
        wrong += [lines[index].strip() for index in mine
                  if rows[index][3] == "MISSED" or (rows[index][3] == "smaller" and not isQuick)]
    counts = Counter(row[3] for row in rows[1:])
    return [*out, "", ", ".join(f"{count} {each}" for each, count in counts.items())], wrong


def printTable(path, isQuick):
    text = Path(path).read_text(encoding="utf-8") if Path(path).exists() else ""
    out, wrong = table([json.loads(line) for line in text.splitlines()], isQuick)
    print("\n".join(out))
    return wrong


def selfTest():
    other = {name: text.replace("G7", "G26") for name, text in TESTS.items()}
    without = {name: text.replace("ug pattern:", "") for name, text in TESTS.items()}
    found = [*check(other), *check(document=DOCUMENT.replace("**G7 ", "**")), *check(without)]
    wrong = {"tests: G26 is no promise", "tests: none shows G7", 'tests: no figure("G7", ...)',
             "guarantees.md: G7 is not stated", "tests: no bug pattern"}.symmetric_difference(found)

    figure = {"what": "what", "reached": 0, "relation": "=", "asked": 0, "isForAPerson": False,
              "of": 10, "askedOf": 10, "test": "S.T"}  # fmt: skip
    good = [{**figure, "promise": promise} for promise in PROMISES]
    for changes, isQuick, isWrong in [
        ({}, False, False), ({"promise": "G2"}, True, True), ({"reached": 1}, True, True),
        ({"relation": "<=", "reached": 1}, True, True), ({"of": 9}, False, True),
        ({"of": 9}, True, False),
        ({"isForAPerson": True, "relation": "<=", "reached": 9}, False, False),
    ]:  # fmt: skip
        if bool(table([{**good[0], **changes}, *good[1:]], isQuick)[1]) != isWrong:
            wrong.add(f"judges {changes}{', quick' * isQuick} badly")
    return [f"self-test: {what}" for what in wrong]


def main(command="", *rest):
    commands = {"check": check, "list": printTests, "self-test": selfTest, "table": printTable}
    if command not in commands:
        sys.exit(__doc__)
    if command == "table":
        rest = rest[0], rest[1:] == ("--quick",)
    sys.exit("\n".join(commands[command](*rest)) or None)


if __name__ == "__main__":
    main(*sys.argv[1:])
