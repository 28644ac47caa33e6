#!/usr/bin/env python3
"""The project's rules about itself: tidy.py CHECK, where CHECK is one of

layers     every #include of the library goes the way that docs/architecture.md allows
style      lines of 100 columns, functions of 70 lines, no marks of unfinished work, a /// comment
           in every public header
suites     a test suite stands in one file, of its name, and a unit test in the folder of the layer
           that it tests
headers    docs/headers.md names each public one, and no other
links      relative links in the documents lead somewhere
named      the tests that the tables of promises and failures name are there
excerpts   the C++ in the cookbook and the guides is that of programs which are built and run
self-test  each of the above notices a planted violation

Prints `file: what is wrong` and exits with 1, or prints nothing and exits with 0.
"""

import fnmatch
import posixpath
import re
import sys
from collections import defaultdict
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "support"))
from runner import ROOT, TEST  # noqa: E402

ARCHITECTURE = "docs/architecture.md"
PLATFORM = re.compile(
    r"^[ \t]*#[ \t]*(?:el)?if|\b(?:__builtin_|__SIZEOF_|__GNUC__|_WIN32|pthread_|prctl\b)"
)
MAX_COLUMNS = 100
MAX_FUNCTION_LINES = 70
MARKS = re.compile(r"\b(TO" + r"DO|FIX" + r"ME|XX" + r"X|HA" + r"CK)\b")


def readTree():
    """{name: text} of all files but what is built or hidden: what the checks look at."""
    folders = (one for one in ROOT.iterdir() if one.name != "build" and one.name[0] != ".")
    files = (file for one in folders for file in (one, *one.rglob("*")) if file.is_file())
    return {file.relative_to(ROOT).as_posix(): file.read_text("utf-8", errors="replace")
            for file in files}  # fmt: skip


def named(tree, pattern):
    return {name: text for name, text in tree.items() if re.fullmatch(pattern, name)}


def library(tree):
    return named(tree, r"include/.*\.h|src/(?!apps/).*\.(h|cpp)")


def isIn(tree, name):
    """A file or a folder."""
    return name in tree or any(one.startswith(f"{name}/") for one in tree)


def readRules(tree):
    """From the blocks `layers` and `rooms` (`name -> names`) and `files` (`name: globs`), three
    dictionaries."""
    layers, rooms, files = (
        found[1] if (found := re.search(rf"^```{tag}\n(.*?)^```", tree[ARCHITECTURE], re.M | re.S))
        else "" for tag in ("layers", "rooms", "files"))  # fmt: skip
    patterns = defaultdict(list)
    for name, globs in re.findall(r"^(\w+):(.*)$", files, re.MULTILINE):
        patterns[name] += globs.split()
    arrows = ({name: others.split() for name, others in re.findall(r"(?m)^(\w+) *->(.*)$", block)}
              for block in (layers, rooms))  # fmt: skip
    return *arrows, patterns


def ownersOf(name, patterns):
    """The layers that a file belongs to: a path that names it comes before a pattern, in which **
    stands for what * does not, other folders."""

    def matches(glob):
        regex = re.escape(glob).replace(r"\*\*", ".*").replace(r"\*", "[^/]*")
        return re.fullmatch(regex, name)

    exact = [layer for layer, globs in patterns.items() if name in globs]
    return exact or [layer for layer, globs in patterns.items() if any(map(matches, globs))]


def roomOf(name, rooms):
    return next((folder for folder in name.split("/") if folder in rooms), None)


def checkRules(tree, allowed, patterns):
    order = list(allowed)
    for number, name in enumerate(order):
        for other in allowed[name]:
            if other not in order[:number]:
                yield f"{ARCHITECTURE}: {name} -> {other}: a layer depends on earlier ones only"
        row = re.search(rf"^\| {name} \|.*\| ([\w, ]+)(;.*)? \|$", tree[ARCHITECTURE], re.M)
        yield from checkSentences(tree, name, row[0] if row else "", allowed, patterns)
        claims = row[1].split(", ") if row else []
        for other in order if claims == ["any other layer"] else claims:
            if other in allowed[name] or other not in order:
                yield f"{ARCHITECTURE}: {name} does not include {other}, says the table"
        if not row:
            yield f"{ARCHITECTURE}: the table does not say what {name} does not include"
    for name in set(patterns) - set(order):
        yield f"{ARCHITECTURE}: files of {name}: there is no such layer"


def checkSentences(tree, name, row, allowed, patterns):
    """What a row of the table says behind a semicolon."""
    files = {file: text for file, text in library(tree).items()
             if name in ownersOf(file, patterns)}  # fmt: skip
    for claim in (part.strip() for cell in row.split("|") for part in cell.split(";")[1:]):
        if claim == "nothing includes it":
            isTrue = not any(name in others for others in allowed.values())
        elif claim == "headers only":
            isTrue = not any(glob.startswith("src/") for glob in patterns[name])
        elif claim == "each .cpp has the name of a class":
            classes = {*re.findall(r"(?m)^(?:class|struct) (?:[A-Z_]+ )?(\w+)",
                                   "\n".join(library(tree).values()))}  # fmt: skip
            isTrue = {Path(one).stem for one in files if one.endswith(".cpp")} <= classes
        elif no := re.fullmatch(r"no `<(\w+)>`(?:,? (?:or|and) `<(\w+)>`)?", claim):
            isTrue = not any(re.search(rf"(?m)^#include <{header}>", text)
                             for text in files.values() for header in filter(None, no.groups()))
        elif room := re.match(r"`(\w+)`, ", claim):
            isTrue = any(room[1] in file.split("/") for file in files)
        else:
            yield f"{ARCHITECTURE}: {name}: nothing checks the claim `{claim}`"
            continue
        if not isTrue:
            yield f"{ARCHITECTURE}: {name}: it is not true that `{claim}`"


def checkLayers(tree):
    allowed, rooms, patterns = readRules(tree)
    yield from checkRules(tree, allowed, patterns)
    owners = {name: ownersOf(name, patterns) for name in library(tree)}
    for name, text in library(tree).items():
        if len(owners[name]) != 1:
            yield f"{name}: must belong to exactly one layer, not to {owners[name] or 'none'}"
            continue
        layer, isPublic = owners[name][0], name.startswith("include/")
        for bracket, path in re.findall(r'^\s*#\s*include\s*([<"])([^">]+)', text, re.MULTILINE):
            folders = (posixpath.dirname(name), "include", "src")
            places = (posixpath.normpath(f"{folder}/{path}") for folder in folders)
            target = next((place for place in places if place in tree), None)
            if target is None:
                if bracket == '"' or path.startswith("timingwheel/"):
                    yield f"{name}: {path} is not a file of the library"
                if isPublic and path.startswith("boost/heap/"):
                    yield f"{name}: Boost.Heap stays out of public headers"
                continue
            if isPublic and target.startswith("src/"):
                yield f"{name}: a public header includes {path}, which is not installed"
            for other in owners.get(target, []):
                if other not in (layer, *allowed.get(layer, [])):
                    yield f"{name}: layer {layer} must not include {path} of layer {other}"
                room, otherRoom = roomOf(name, rooms), roomOf(target, rooms)
                if other == layer and room and otherRoom not in (room, *rooms[room]):
                    yield f"{name}: {room} must not include {path} of {otherRoom or layer}"


def longFunctions(text):
    """(first line, lines) of each block that is too long and no scope of others. clang-format has
    indented it: it ends where a } stands below the line that it began with."""
    lastOf = {}  # the last line that has an indentation
    for number, line in enumerate(text.splitlines(), 1):
        words = line.lstrip()
        if not words or words.startswith("#") or re.fullmatch(r"\w+:", words):
            continue
        first, head = lastOf.get(len(line) - len(words), (number, ""))
        length = number - first + 1
        if words[0] == "}" and length > MAX_FUNCTION_LINES and not re.search(
                r"\b(namespace|class|struct|union|enum|extern)\b", head):  # fmt: skip
            yield first, length
        lastOf[len(line) - len(words)] = number, line


def checkStyle(tree):
    code = named(tree, r"(include|src)/.*\.(h|cpp)")
    others = named(tree, r"(tests|docs|test_package)/.*\.(h|cpp)"
                         r"|.*\.(py|cmake)|(.*/)?CMakeLists\.txt|dev")  # fmt: skip
    for name, text in (code | others).items():
        for number, line in enumerate(text.splitlines(), 1):
            if len(line) > MAX_COLUMNS:
                yield f"{name}:{number}: {len(line)} columns, at most {MAX_COLUMNS}"
            if MARKS.search(line):
                yield f"{name}:{number}: unfinished work: {line.strip()}"
    for name, text in code.items():
        for first, length in longFunctions(text):
            yield f"{name}:{first}: a function of {length} lines, at most {MAX_FUNCTION_LINES}"
        for number, line in enumerate(text.splitlines(), 1):
            if PLATFORM.search(line.partition("//")[0]) and not re.search(
                    r"/(platform|apps)/|TIMINGWHEEL_", name + line):  # a switch of our own
                yield f"{name}:{number}: what differs between platforms stands in platform/: {line}"
        if name.startswith("include/") and not re.search(r"^\s*///", text, re.MULTILINE):
            yield f"{name}: a public header says with /// what it is for"


def checkSuites(tree):
    *_, patterns = readRules(tree)
    layers, fileOf = defaultdict(set), {}  # from `Shard` the layers of Shard.h and Shard.cpp
    for name in library(tree):
        layers[Path(name).stem].update(ownersOf(name, patterns))
    for name, text in named(tree, r"tests/.*Test\.cpp").items():
        tested = Path(name).stem.removesuffix("Test")
        for suite in sorted({suite for suite, _ in TEST.findall(text)}):
            plain = suite.removesuffix("Test").removesuffix("Death")
            if tested not in plain and plain not in tested:
                yield f"{name}: the suite {suite} belongs into a file of its name"
            if fileOf.setdefault(suite, name) != name:
                yield f"{name}: the suite {suite} also stands in {fileOf[suite]}"
        _, kind, layer, *_ = name.split("/")
        if kind == "unit" and layers[tested] and layer not in layers[tested]:
            yield f"{name}: {tested} is of layer {' and '.join(sorted(layers[tested]))}"


def checkHeaders(tree):
    document, folder = "docs/headers.md", "include/timingwheel/"
    rows = re.findall(r"^\| (`.*?) \| ", tree[document], re.MULTILINE)
    told = set(re.findall(r"`([\w/]+\.h)`", "\n".join(rows)))
    headers = {name.removeprefix(folder) for name in tree
               if name.startswith(folder) and "/detail/" not in name}  # fmt: skip
    for name in headers - told:
        yield f"{document}: the table of headers does not name {name}"
    for name in told - headers:
        yield f"{document}: the table of headers names {name}, which is not there"


def anchors(text):
    """Those that a Markdown file's headings get."""
    headings = re.findall(r"^#+\s+(.*?)\s*$", withoutBlocks(text), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", one.lower()).replace(" ", "-") for one in headings}


def withoutBlocks(text):
    return re.sub(r"^\s*```.*?^\s*```", "", text, flags=re.MULTILINE | re.DOTALL)


def checkLinks(tree):
    for name, text in named(tree, r".*\.md").items():
        prose = re.sub(r"`[^`\n]*`", "", withoutBlocks(text))
        for link in re.findall(r"\]\((?![a-z]+:)([^)\s]+)\)", prose):
            path, _, anchor = link.partition("#")
            target = posixpath.normpath(posixpath.join(posixpath.dirname(name), path))
            if path and not isIn(tree, target):
                yield f"{name}: {link} leads nowhere"
            elif anchor and anchor not in anchors(tree.get(target if path else name, "")):
                yield f"{name}: {link}: no such heading"


def checkNamed(tree):
    """`Suite.Name` of C++, where stars stand for anything; `testName` and `tests/...` of Python."""
    cpp = [".".join(found) for text in named(tree, r"tests/.*Test\.cpp").values()
           for found in TEST.findall(text)]  # fmt: skip
    python = "\n".join(named(tree, r"tests/.*\.py").values())
    for document in ("docs/beyond.md", "docs/store.md"):
        rows = "\n".join(re.findall(r"^\|.*", tree[document], re.MULTILINE))
        for span in re.findall("`([^`\n]+)`", rows):
            isThere = True
            if span.startswith("tests/"):
                isThere = isIn(tree, span)
            elif re.fullmatch(r"test[A-Z]\w*", span):
                isThere = f"\n    def {span}(" in python or f"\n    {span} = " in python
            elif re.fullmatch(r"[A-Z]\w*[.][*A-Z]\S*", span):
                isThere = fnmatch.filter(cpp, span)
            if not isThere:
                yield f"{document}: there is no test {span}"


def checkExcerpts(tree):
    pages, programs = (
        {name: re.sub(r"(?m)^\s+", "", text) for name, text in named(tree, files).items()} for files
        in (r"README\.md|docs/(cookbook|migrating/.*)\.md",
            r"docs/(examples|cookbook|migrating)/.*\.cpp"))
    for name, text in pages.items():
        for block in re.findall("(?ms)^```cpp\n(.*?)^```", text):
            if not any(f"\n{block}" in f"\n{program}" for program in programs.values()):
                yield f"{name}: no program has these lines: {block.partition(chr(10))[0]}"


def rules(claim, files=""):
    return f"```layers\nx ->\ny -> x\n```\n```files\n{files}```\n| x | a; {claim} | y |\n"


# check, file, what is put there, what must be said
PLANTED = [
    (checkLayers, "src/core/wheel/X.h", '#include "core/driver/Shard.h"\n', "must not include"),
    (checkLayers, "src/core/wheel/X.h", "#include <timingwheel/wheel/W.h>\n", "not a file"),
    (checkLayers, "include/timingwheel/Tick.h", '#include "core/flat/CellQueue.h"\n',
     "not installed"),
    (checkLayers, "include/timingwheel/Tick.h", "#include <boost/heap/heap.hpp>\n", "Boost.Heap"),
    (checkLayers, "src/stray/Stray.cpp", "\n", "exactly one layer"),
    (checkLayers, "src/core/driver/run/X.h", '#include "core/driver/Shard.h"\n', "run must not"),
    (checkLayers, "src/components/store/X.h", "#include <timingwheel/calendar/TimeZone.h>\n",
     "store must not include"),
    (checkLayers, ARCHITECTURE, "```layers\nx -> y\n```\n```files\n```\n", "earlier ones only"),
    (checkLayers, ARCHITECTURE, "```layers\nx ->\ny -> x\n```\n```files\n```\n"
     "| y | what it holds | x; nothing includes it |\n", "y does not include x"),
    (checkLayers, ARCHITECTURE, rules("nothing includes it"), "not true that `nothing includes"),
    (checkLayers, ARCHITECTURE, rules("no `<array>`", "x: src/**\n"), "not true that `no `<array"),
    (checkLayers, ARCHITECTURE, rules("is beautiful", "x: src/**\n"), "nothing checks the claim"),
    (checkLayers, ARCHITECTURE, rules("headers only", "x: src/x/*\n"), "not true that `headers"),
    (checkStyle, "src/core/wheel/X.cpp", "// " + "x" * MAX_COLUMNS + "\n", "columns"),
    (checkStyle, "src/core/wheel/X.cpp", "struct X {\n    X() : a{1} {\n" + "        f();\n" * 70
     + "    }\n};\n", "a function of"),
    (checkStyle, "src/core/wheel/X.cpp", "int x = __builtin_ctz(8);\n", "stands in platform/"),
    (checkStyle, "src/core/wheel/X.cpp", "// TO" + "DO\n", "unfinished"),
    (checkStyle, "include/timingwheel/X.h", "#include <vector>\n", "///"),
    (checkSuites, "tests/unit/wheel/HeapTest.cpp", "TEST_F(Stack, A) {}\n", "of its name"),
    (checkSuites, "tests/z/TickScaleTest.cpp", "TEST(TickScale, A) {}\n", "also stands in"),
    (checkSuites, "tests/unit/facade/ShardTest.cpp", "\n", "Shard is of layer driver"),
    (checkHeaders, "docs/headers.md", "| `Tick.h`, `Gone.h` | x |\n", "which is not there"),
    (checkHeaders, "docs/headers.md", "| `Timer.h` | `Tick.h` |\n", "does not name Tick.h"),
    (checkLinks, "docs/x.md", "[x](nowhere.md)\n", "leads nowhere"),
    (checkLinks, "docs/x.md", "[x](architecture.md#c)\n", "no such heading"),
    (checkNamed, "docs/beyond.md", "| x | `testGone` |\n", "no test testGone"),
    (checkNamed, "docs/store.md", "| x | `Wheel.Gone*` |\n", "no test Wheel.Gone*"),
    (checkNamed, "docs/store.md", "| x | `tests/gone.py` |\n", "no test tests/gone.py"),
    (checkExcerpts, "docs/cookbook.md", "```cpp\nint x;\n```\n", "no program has these lines"),
]  # fmt: skip


def checkSelf(tree):
    for check, name, text, expected in PLANTED:
        if not any(expected in problem for problem in check({**tree, name: text})):
            yield f"{check.__name__} does not say `{expected}` of what is planted in {name}"


CHECKS = {"layers": checkLayers, "style": checkStyle, "suites": checkSuites,
          "headers": checkHeaders, "links": checkLinks, "named": checkNamed,
          "excerpts": checkExcerpts, "self-test": checkSelf}  # fmt: skip

if __name__ == "__main__":
    if len(sys.argv) != 2 or sys.argv[1] not in CHECKS:
        sys.exit(__doc__)
    sys.exit("\n".join(CHECKS[sys.argv[1]](readTree())) or None)
