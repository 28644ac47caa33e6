#!/usr/bin/env python3
"""What docs/guarantees.md promises and what the tests show: guarantees.py <command>

check           each promise has tests that exist in the files that its row links, and a figure;
                so has each row of the bug patterns in docs/testing.md its test
table <file>    the figures of a run, which the tests wrote into <file>, sorted by promise:
                what is reached, what is asked, and whether a count is missed. With --quick a run
                may be smaller than what is asked
self-test       each of the above notices what is planted

Prints what is wrong and exits with 1.
"""

import json
import re
import sys
import tempfile
from pathlib import Path

PROMISES = [f"G{number}" for number in range(1, 32) if number != 26]  # 26 was dropped
TEST = re.compile(r"^(?:TEST|TEST_F|TEST_P|TYPED_TEST)\(\s*(\w+),\s*(\w+)\)", re.MULTILINE)
NAMED_TEST = re.compile(r"`([A-Z][\w*]*\.[A-Z*][\w*]*)`")
LINK = re.compile(r"\]\(([^)#\s]+)\)")
FIGURE = re.compile(r"\bfigure\(\s*\"(G\d+)\"")


def rows(text, heading):
    """The cells of each row of the tables below a heading, without heads and rules."""
    section = re.search(rf"^## {heading}\n(.*?)(?=^## |\Z)", text, re.MULTILINE | re.DOTALL)
    if section is None:
        return []
    lines = section.group(1).splitlines()
    found = []
    for previous, line in zip([""] + lines, lines):
        isHead = line.startswith("|") and not previous.startswith("|")
        if line.startswith("|") and not isHead and not re.match(r"^\|[-| ]+\|$", line):
            found.append([cell.strip() for cell in line.strip().strip("|").split(" | ")])
    return found


# ---- check -------------------------------------------------------------------------------------


class Sources:
    """Which tests and which figures stand in which file."""

    def __init__(self, root):
        self.tests = {}
        self.figures = set()
        for path in sorted((root / "tests").rglob("*")):
            if path.suffix not in (".cpp", ".h"):
                continue
            text = path.read_text(encoding="utf-8")
            self.tests[path.resolve()] = {".".join(match) for match in TEST.findall(text)}
            self.figures.update(FIGURE.findall(text))


def checkRow(document, name, text, sources):
    """What is wrong with a row that names tests and links their files."""
    targets = [(document.parent / link).resolve() for link in LINK.findall(text)]
    wrong = [f"{name} links {t.name}, which is not there" for t in targets if not t.exists()]
    known = set().union(*(sources.tests.get(target, set()) for target in targets))
    tests = NAMED_TEST.findall(text)
    if not tests:
        wrong.append(f"{name} names no test")
    for test in tests:
        pattern = re.compile(re.escape(test).replace(r"\*", r"\w*"))
        if not any(pattern.fullmatch(one) for one in known):
            wrong.append(f"{name} names `{test}`, which is in no file that it links")
    return wrong


def check(root):
    sources = Sources(root)
    wrong = []
    document = root / "docs" / "guarantees.md"
    text = document.read_text(encoding="utf-8")
    table = rows(text, "Which test shows what")
    named = [row[0] for row in table]
    for promise in PROMISES:
        if not re.search(rf"^\*\*{promise}\b", text, re.MULTILINE):
            wrong.append(f"{document.name}: {promise} is not stated")
        if named.count(promise) != 1:
            wrong.append(f"{document.name}: {promise} has {named.count(promise)} rows")
        if promise not in sources.figures:
            wrong.append(f'tests: no figure("{promise}", ...)')
    for row in table:
        wrong += [f"{document.name}: {what}" for what in
                  checkRow(document, row[0], " | ".join(row[1:]), sources)]

    document = root / "docs" / "testing.md"
    patterns = rows(document.read_text(encoding="utf-8"), "Bug patterns of other libraries")
    if not patterns:
        wrong.append(f"{document.name}: no bug patterns")
    for row in patterns:
        wrong += [f"{document.name}: {what}" for what in
                  checkRow(document, f'"{row[0]}"', " | ".join(row[1:]), sources)]
    return wrong


# ---- table -------------------------------------------------------------------------------------


def titles(root):
    """From `**G1 Never early.**` the words of each promise."""
    text = (root / "docs" / "guarantees.md").read_text(encoding="utf-8")
    found = re.findall(r"^\*\*(G\d+) ([^*]+?)\.?\*\*", text, re.MULTILINE)
    return {promise: title.replace("`", "") for promise, title in found}


def holds(figure):
    reached, asked = figure["reached"], figure["asked"]
    return {
        "=": reached == asked,
        "<=": reached <= asked,
        ">=": reached >= asked,
        "": True,
    }[figure["relation"]]


def verdict(figure):
    if figure["isForAPerson"]:
        return "judge"
    if not holds(figure):
        return "MISSED"
    return "smaller" if figure["of"] < figure["askedOf"] else "ok"


def withoutType(test):
    """`Run/SystemTimer.Throws` and its like for other timers are one test."""
    return re.sub(r"/\w+(?=\.)", "/*", test)


def worst(figures):
    missed = [figure for figure in figures if verdict(figure) == "MISSED"]
    if missed:
        return missed[0]
    pick = min if figures[0]["relation"] == ">=" else max
    return pick(figures, key=lambda figure: figure["reached"])


def condense(figures):
    """Of each figure the longest runs; of those that one test made, the worst."""
    byName = {}
    for figure in figures:
        byName.setdefault((figure["promise"], figure["what"]), []).append(figure)
    kept = []
    for same in byName.values():
        longest = max(figure["of"] for figure in same)
        byTest = {}
        for figure in same:
            if figure["of"] == longest or verdict(figure) == "MISSED":
                byTest.setdefault(withoutType(figure["test"]), []).append(figure)
        kept += [dict(worst(group), test=test) for test, group in byTest.items()]
    return sorted(kept, key=lambda figure: PROMISES.index(figure["promise"]))


def number(value):
    if value == int(value):
        return f"{int(value):,}"
    return f"{value:,.3g}" if abs(value) < 100 else f"{value:,.0f}"


def cells(figure):
    reached = number(figure["reached"])
    asked = f'{figure["relation"]} {number(figure["asked"])}' if figure["relation"] else ""
    if figure["of"]:
        reached += f' of {figure["of"]:,}'
    if figure["askedOf"]:
        asked = (asked + f' of {figure["askedOf"]:,}').strip()
    return [figure["what"], reached, asked or "-", verdict(figure), figure["test"]]


def table(figures, title, isQuick):
    """The lines of the table, and what is wrong."""
    figures = condense(figures)
    head = ["figure", "reached", "asked", "", "test"]
    lines = [cells(figure) for figure in figures]
    widths = [max(len(line[i]) for line in lines + [head]) for i in range(len(head))]
    out = []

    def put(line):
        out.append("  ".join([""] + [c.ljust(w) for c, w in zip(line, widths)]).rstrip())

    put(head)
    wrong = []
    for promise in PROMISES:
        out.append(f"{promise} {title.get(promise, '')}")
        mine = [(f, line) for f, line in zip(figures, lines) if f["promise"] == promise]
        if not mine:
            wrong.append(f"{promise} has no figure")
        for figure, line in mine:
            put(line)
            if line[3] == "MISSED" or (line[3] == "smaller" and not isQuick):
                wrong.append(f'{promise} {figure["what"]}: {line[1]}, asked: {line[2]}')
    return out, wrong


def printTable(root, path, isQuick):
    text = Path(path).read_text(encoding="utf-8") if Path(path).exists() else ""
    figures = [json.loads(line) for line in text.splitlines()]
    out, wrong = table(figures, titles(root), isQuick)
    print("\n".join(out))
    verdicts = [verdict(figure) for figure in condense(figures)]
    counts = {each: verdicts.count(each) for each in ("ok", "smaller", "MISSED", "judge")}
    print("\n" + ", ".join(f"{count} {each}" for each, count in counts.items() if count))
    return wrong


# ---- self-test ---------------------------------------------------------------------------------

GOOD_ROW = "| G{0} | `Suite.Name*` in [T.cpp](../tests/T.cpp) |"


def writeProject(root, replace=("", "")):
    def write(path, text):
        path.parent.mkdir(exist_ok=True)
        path.write_text(text.replace(*replace) if replace[0] else text, encoding="utf-8")

    numbers = [promise[1:] for promise in PROMISES]
    stated = "\n".join(f"**G{n} Words {n}.** More.\n" for n in numbers)
    shown = "\n".join(GOOD_ROW.format(n) for n in numbers)
    write(root / "docs" / "guarantees.md",
          f"{stated}\n## Which test shows what\n\n| promise | by |\n|---|---|\n{shown}\n")
    write(root / "docs" / "testing.md",
          "## Bug patterns of other libraries\n\n| pattern | test |\n|---|---|\n"
          "| it is late | `Suite.NameA` in [T.cpp](../tests/T.cpp) |\n")
    figures = "\n".join(f'    figure("G{n}", "what", 0, exactly(0));' for n in numbers)
    write(root / "tests" / "T.cpp", f"TEST(Suite, NameA) {{\n{figures}\n}}\n")


def figureOf(promise, **changes):
    return {"promise": promise, "what": "what", "reached": 0, "relation": "=", "asked": 0,
            "isForAPerson": False, "of": 10, "askedOf": 10, "isSanitized": False,
            "test": "S.T", **changes}


def selfTest():
    wrong = []

    def expect(condition, what):
        if not condition:
            wrong.append(what)

    row = "| G7 | `Suite.Name*` in [T.cpp](../tests/T"
    planted = {
        "a test that is not there": ("| G7 | `Suite.Name*`", "| G7 | `Suite.Other`"),
        "a row without a test": ("| G7 | `Suite.Name*`", "| G7 | nothing"),
        "a row that is missing": (GOOD_ROW.format(7) + "\n", ""),
        "a promise that is not stated": ("**G7 ", "**"),
        "a promise without a figure": ('figure("G7"', 'figure("G8"'),
        "a file that is not there": (row, row.replace("tests/T", "tests/U")),
        "a bug pattern whose test is gone": ("`Suite.NameA`", "`Suite.NameB`"),
        "bug patterns that are gone": ("## Bug patterns", "## Patterns"),
    }
    with tempfile.TemporaryDirectory() as folder:
        writeProject(Path(folder))
        expect(check(Path(folder)) == [], f"complains of a good project: {check(Path(folder))}")
    for what, replace in planted.items():
        with tempfile.TemporaryDirectory() as folder:
            writeProject(Path(folder), replace)
            expect(check(Path(folder)), f"does not notice {what}")

    good = [figureOf(promise) for promise in PROMISES]
    expect(table(good, {}, False)[1] == [], "complains of good figures")
    expect(table(good[1:], {}, True)[1], "does not notice a promise without a figure")
    for changes in ({"reached": 1}, {"relation": "<=", "reached": 1}, {"of": 9}):
        bad = [figureOf("G1", **changes)] + good[1:]
        expect(table(bad, {}, False)[1], f"does not notice {changes}")
    smaller = [figureOf("G1", of=9)] + good[1:]
    expect(table(smaller, {}, True)[1] == [], "complains of a smaller figure in a quick run")
    expect(table(good + [figureOf("G1", of=9)], {}, False)[1] == [], "takes the smaller of two")
    expect(table(good + [figureOf("G1", of=9, reached=1)], {}, True)[1],
           "hides what a smaller run missed")
    judged = [figureOf("G1", isForAPerson=True, relation="<=", reached=9)] + good[1:]
    expect(table(judged, {}, False)[1] == [], "judges what is for a person")
    return wrong


def main(arguments):
    root = Path(__file__).resolve().parents[2]
    if arguments == ["check"]:
        wrong = check(root)
    elif arguments == ["self-test"]:
        wrong = selfTest()
    elif arguments[:1] == ["table"] and len(arguments) in (2, 3):
        wrong = printTable(root, arguments[1], arguments[2:] == ["--quick"])
    else:
        print(__doc__)
        return 2
    for line in wrong:
        print(line)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
