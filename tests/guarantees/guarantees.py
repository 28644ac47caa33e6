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
import tempfile
from pathlib import Path

PROMISES = [f"G{number}" for number in range(1, 32) if number != 26]  # 26 was dropped
TEST = re.compile(r"((?:^//.*\n)*)^(?:TEST|TEST_F|TEST_P|TYPED_TEST)\(\s*(\w+),\s*(\w+)\)", re.M)
TAG = re.compile(r"^///? (?:Shows )?(G\d+(?:, G\d+)*)\b", re.MULTILINE)
OF_THE_FILE = re.compile(r"^// Shows (G\d+(?:, G\d+)*)\.$", re.MULTILINE)
PATTERN = re.compile(r"[Bb]ug pattern: (.*?)(?:\.(?: |$)|$)")
FIGURE = re.compile(r"\bfigure\(\s*\"(G\d+)\"")


# ---- what the tests show -----------------------------------------------------------------------


class Sources:
    """Which tests and which figures stand in which file, and what they show."""

    def __init__(self, root):
        self.tests = {}
        self.figures = set()
        self.shown = {}  # {promise: {file: the tests in it, or * for all}}
        self.patterns = []  # a bug pattern, and its test
        self.tags = set()
        for path in sorted((root / "tests").rglob("*")):
            if path.suffix in (".cpp", ".h"):
                self.read(path, path.relative_to(root).as_posix())

    def read(self, path, name):
        text = path.read_text(encoding="utf-8")
        tests = TEST.findall(text)
        self.tests[path.resolve()] = {f"{suite}.{test}" for _, suite, test in tests}
        self.figures.update(FIGURE.findall(text))
        self.tags.update(re.findall(r"G\d+", " ".join(TAG.findall(text))))
        if tests:
            for promise in re.findall(r"G\d+", " ".join(OF_THE_FILE.findall(text))):
                self.shown.setdefault(promise, {})[name] = ["*"]
        for comment, suite, test in tests:
            for promise in re.findall(r"G\d+", " ".join(TAG.findall(comment))):
                shown = self.shown.setdefault(promise, {}).setdefault(name, [])
                shown += [] if shown == ["*"] else [f"{suite}.{test}"]
            words = re.sub(r"\s*\n///? *", " ", comment.strip())
            self.patterns += [(one, f"{suite}.{test}") for one in PATTERN.findall(words)]


def check(root):
    sources, text = Sources(root), (root / "docs/guarantees.md").read_text(encoding="utf-8")
    wrong = [f"tests: {tag} is no promise" for tag in sorted(sources.tags - set(PROMISES))]
    for promise in PROMISES:
        if not re.search(rf"^\*\*{promise}\b", text, re.MULTILINE):
            wrong.append(f"guarantees.md: {promise} is not stated")
        if promise not in sources.shown:
            wrong.append(f"tests: none shows {promise}")
        if promise not in sources.figures:
            wrong.append(f'tests: no figure("{promise}", ...)')
    if not sources.patterns:
        wrong.append("tests: no bug pattern")
    return wrong


def printTests(root):
    sources, title = Sources(root), titles(root)
    for promise in PROMISES:
        print(f"{promise} {title.get(promise, '')}")
        for name, shown in sources.shown.get(promise, {}).items():
            print(f"  {name}{': all' if shown == ['*'] else ''}")
            print("".join(f"    {test}\n" for test in shown if test != "*"), end="")
    print("\nBug patterns of other libraries")
    for pattern, test in sources.patterns:
        print(f"  {pattern}\n    {test}")
    return []


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

def writeProject(root, replace=("", "")):
    def write(path, text):
        path.parent.mkdir(exist_ok=True)
        path.write_text(text.replace(*replace) if replace[0] else text, encoding="utf-8")

    numbers = [promise[1:] for promise in PROMISES]
    write(root / "docs" / "guarantees.md", "".join(f"**G{n} Words {n}.** More.\n" for n in numbers))
    figures = "".join(f'    figure("G{n}", "what", 0, exactly(0));\n' for n in numbers)
    tagged = "".join(f"// G{n}: what.\nTEST(S, G{n}) {{}}\n" for n in numbers if n != "31")
    write(root / "tests" / "T.cpp",
          f"// G7, G8. A bug\n// pattern: it is late.\nTEST(S, A) {{\n{figures}}}\n{tagged}")
    write(root / "tests" / "U.cpp", "// Shows G31.\n\nTEST_F(U, A) {}\n")


def figureOf(promise, **changes):
    return {"promise": promise, "what": "what", "reached": 0, "relation": "=", "asked": 0,
            "isForAPerson": False, "of": 10, "askedOf": 10, "isSanitized": False,
            "test": "S.T", **changes}


def selfTest():
    wrong = []

    def expect(condition, what):
        if not condition:
            wrong.append(what)

    planted = {
        "a promise without a test": ("// G6: ", "// "),
        "a promise whose file has no test": ("TEST_F(U", "NOTEST(U"),
        "a promise that is not stated": ("**G7 ", "**"),
        "a promise without a figure": ('figure("G7"', 'figure("G8"'),
        "a tag of no promise": ("// G7, G8", "// G26, G8"),
        "bug patterns that are gone": ("pattern:", "-"),
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
    elif arguments == ["list"]:
        wrong = printTests(root)
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
