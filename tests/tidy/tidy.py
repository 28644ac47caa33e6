#!/usr/bin/env python3
"""The project's rules about itself: tidy.py CHECK, where CHECK is one of

layers     every #include of the library goes the way that docs/architecture.md allows
style      lines of 100 columns, functions of 70 lines, no marks of unfinished work, a /// comment
           in every public header
suites     a test suite stands in one file, of its name, and a unit test in the folder of the layer
           that it tests
headers    docs/headers.md names each public one, or one beside it that includes it
links      relative links in the documents lead somewhere
named      the tests that the tables of promises and failures name are there
format     clang-format has nothing to change (skipped where clang-format 16 is missing)
self-test  each of the above notices a planted violation

Prints `file:line: what is wrong` and exits with 1, or prints nothing and exits with 0.
"""

import fnmatch
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

TOP = "facade"  # only what nothing includes in its turn includes it
PLATFORM = re.compile(
    r"^[ \t]*#[ \t]*(?:el)?if|\b(?:__builtin_|__SIZEOF_|__GNUC__|_WIN32|pthread_|prctl\b)"
)
NO_PLATFORM = re.compile(r"TIMINGWHEEL_")  # a switch of our own
MAX_COLUMNS = 100
MAX_FUNCTION_LINES = 70
SKIPPED = 77
MARKS = re.compile(r"\b(TO" + r"DO|FIX" + r"ME|XX" + r"X|HA" + r"CK)\b")


def files(root, *patterns):
    """Files below root, without what is built or hidden."""
    found = {path for pattern in patterns for path in root.glob(pattern) if path.is_file()}
    return sorted(
        path
        for path in found
        if not any(p.startswith(".") or p == "build" for p in path.relative_to(root).parts)
    )


def libraryFiles(root):
    programs = {root / "src" / "apps"}
    return [
        path
        for path in files(root, "include/**/*.h", "src/**/*.h", "src/**/*.cpp")
        if programs.isdisjoint(path.parents)
    ]


def lines(path):
    return path.read_text(encoding="utf-8").splitlines()


# ---- layers ------------------------------------------------------------------------------------


def fencedBlock(text, tag):
    match = re.search(r"^```" + tag + r"\n(.*?)^```", text, re.MULTILINE | re.DOTALL)
    return match.group(1).splitlines() if match else None


def readRules(document):
    """From the blocks `layers` (`name -> names`) and `files` (`name: globs`), two dictionaries."""
    text = document.read_text(encoding="utf-8")
    layers, globs = fencedBlock(text, "layers"), fencedBlock(text, "files")
    if layers is None or globs is None:
        raise SystemExit(f"{document}: needs a block tagged `layers` and one tagged `files`")
    allowed = {}
    for line in filter(str.strip, layers):
        name, _, rest = line.partition("->")
        allowed[name.strip()] = rest.split()
    patterns = {name: [] for name in allowed}
    for line in filter(str.strip, globs):
        name, _, rest = line.partition(":")
        patterns.setdefault(name.strip(), []).extend(rest.split())
    return allowed, patterns


def matches(path, pattern):
    """Like a shell: * stays within a folder, ** does not."""
    parts = {"**/": "(?:.*/)?", "**": ".*", "*": "[^/]*"}
    regex = "".join(parts.get(p, re.escape(p)) for p in re.split(r"(\*\*/|\*\*|\*)", pattern))
    return re.fullmatch(regex, path) is not None


def resolve(root, source, name):
    """The library file that an #include means, or None: then it is somebody else's."""
    for folder in (source.parent, root / "include", root / "src"):
        if (folder / name).is_file():
            return (folder / name).resolve()
    return None


def checkRules(document, allowed, patterns):
    order = list(allowed)
    included = {other for dependencies in allowed.values() for other in dependencies}
    for name, dependencies in allowed.items():
        for other in dependencies:
            if other not in allowed:
                yield f"{document}: {name} -> {other}: there is no such layer"
            elif other == TOP and name in included:
                yield f"{document}: {name} -> {TOP}: {name} is included, {TOP} is not"
            elif order.index(other) >= order.index(name):
                yield f"{document}: {name} -> {other}: a layer depends on earlier ones only"
    for name in patterns:
        if name not in allowed:
            yield f"{document}: files of {name}: there is no such layer"
    for name, (claims, sentences) in readClaims(document).items():
        includers = sorted(other for other in allowed if name in allowed[other])
        only = re.search(r"\bonly ([^;]+) include it", sentences)
        told = sorted(re.split(r", | and ", only[1])) if only else includers
        if re.search(r"nothing includes", sentences):
            told = []
        if told != includers:
            yield f"{document}: {name}: included by {told}, says the table; the arrows say "\
                f"{includers}"
        folders = {pattern.split("/")[0] for pattern in patterns.get(name, ())}
        if "headers only" in sentences and "src" in folders:
            yield f"{document}: {name}: headers only, says the table; its files are in src"
        if name not in allowed:
            yield f"{document}: the table has {name}: there is no such layer"
        elif claims == ["any other layer"]:
            if allowed[name]:
                yield f"{document}: {name} includes {', '.join(allowed[name])}"
        else:
            for other in claims:
                if other not in allowed:
                    yield f"{document}: {name} does not include {other}: there is no such layer"
                elif other in allowed[name]:
                    yield f"{document}: {name} does not include {other}, says the table; the "\
                        "arrows say it may"


def readClaims(document):
    """From the table whose last column is "does not include": each layer, what stands there, and
    the sentences of its row that a semicolon or a comma begins."""
    claims, isInside = {}, False
    for line in document.read_text(encoding="utf-8").splitlines():
        cells = [cell.strip() for cell in line.strip().strip("|").split("|")]
        if line.startswith("|") and cells[-1] == "does not include":
            isInside = True
        elif not line.startswith("|"):
            isInside = False
        elif isInside and not set(cells[0]) <= set("-: "):
            names, _, more = cells[-1].partition(";")
            claims[cells[0]] = [name.strip() for name in names.split(",")], f"{cells[1]}; {more}"
    return claims


def ownersOf(name, patterns):
    """The layers that a file belongs to: a path that names it comes before a pattern."""
    named = [layer for layer, globs in patterns.items() if name in globs]
    return named or [l for l, globs in patterns.items() if any(matches(name, g) for g in globs)]


def checkLayers(root):
    document = root / "docs" / "architecture.md"
    if not document.is_file():
        yield f"{document}: missing, so there are no layers to check"
        return
    allowed, patterns = readRules(document)
    yield from checkRules(document, allowed, patterns)

    layerOf = {}
    for path in libraryFiles(root):
        name = path.relative_to(root).as_posix()
        owners = ownersOf(name, patterns)
        if len(owners) != 1:
            yield f"{path}:1: must belong to exactly one layer, not to {owners or 'none'}"
        layerOf[path.resolve()] = owners[0] if owners else None

    for path, layer in layerOf.items():
        if layer is None:
            continue
        public = root.resolve() / "include" in path.parents
        for number, line in enumerate(lines(path), 1):
            match = re.match(r'\s*#\s*include\s*([<"])([^">]+)', line)
            if not match:
                continue
            bracket, name = match.groups()
            target = resolve(root, path, name)
            if target is None:
                if bracket == '"' or name.startswith("timingwheel/"):
                    yield f"{path}:{number}: {name} is not a file of the library"
                if public and name.startswith("boost/heap/"):
                    yield f"{path}:{number}: Boost.Heap stays out of public headers"
                continue
            other = layerOf.get(target)
            if public and root.resolve() / "src" in target.parents:
                yield f"{path}:{number}: a public header includes {name}, which is not installed"
            if other is not None and other != layer and other not in allowed.get(layer, []):
                yield f"{path}:{number}: layer {layer} must not include {name} of layer {other}"


# ---- style -------------------------------------------------------------------------------------

NOT_CODE = re.compile(
    r"//[^\n]*|/\*.*?\*/"  # comments
    r'|R"(?P<d>[^ ()\\\t\v\f\n]*)\(.*?\)(?P=d)"'  # raw strings
    r'|"(?:\\.|[^"\\\n])*"'  # strings
    r"|(?<![0-9A-Fa-f])'(?:\\.|[^'\\\n])+'"  # characters, but not the ' in 1'000
    r"|^[ \t]*#(?:[^\n]*\\\n)*[^\n]*",  # preprocessor lines
    re.DOTALL | re.MULTILINE,
)


def withoutTemplateHeads(head):
    """`template <class T> void f()` -> `void f()`, so that `class` below means a class."""
    while (start := re.search(r"\btemplate\s*<", head)) is not None:
        depth, end = 1, start.end()
        while depth > 0 and end < len(head):
            depth += {"<": 1, ">": -1}.get(head[end], 0)
            end += 1
        head = head[: start.start()] + head[end:]
    return head


def functionBlocks(text):
    """(first line, last line) of every function body, found by counting braces.

    Roughly: a block that stands directly in a namespace or class, and is not one itself.
    """
    blanked = NOT_CODE.sub(lambda m: re.sub(r"[^\n]", " ", m.group()), text)
    stack, head, line, parentheses = [], "", 1, 0
    for c in blanked:
        line += c == "\n"
        if c == "(":
            parentheses += 1
        elif c == ")":
            parentheses -= 1
        if parentheses == 0 and c == "{":
            scope = withoutTemplateHeads(head).split("(")[0]
            if re.search(r"\b(namespace|class|struct|union|enum|extern)\b", scope):
                stack.append(("scope", line))
            elif all(kind == "scope" for kind, _ in stack):
                stack.append(("function", line))
            else:
                stack.append(("inner", line))
            head = ""
        elif parentheses == 0 and c == "}" and stack:
            kind, start = stack.pop()
            if kind == "function":
                yield start, line
            head = ""
        elif parentheses == 0 and c == ";":
            head = ""
        else:
            head += c


def checkStyle(root):
    code = ("include/**/*.h", "src/**/*.h", "src/**/*.cpp")
    others = ("tests/**/*.h", "tests/**/*.cpp", "docs/examples/*.cpp", "test_package/*.cpp")
    scripts = ("**/*.py", "**/CMakeLists.txt", "**/*.cmake", "dev")
    for path in files(root, *code, *others, *scripts):
        for number, line in enumerate(lines(path), 1):
            if len(line) > MAX_COLUMNS:
                yield f"{path}:{number}: {len(line)} columns, at most {MAX_COLUMNS}"
            if MARKS.search(line):
                yield f"{path}:{number}: unfinished work: {line.strip()}"
    for path in files(root, *code):
        for first, last in functionBlocks(path.read_text(encoding="utf-8")):
            if last - first + 1 > MAX_FUNCTION_LINES:
                length = last - first + 1
                yield f"{path}:{first}: a function of {length} lines, at most {MAX_FUNCTION_LINES}"
    for path in files(root, *code):
        place = path.relative_to(root).parts
        if "platform" in place or "apps" in place:
            continue
        for number, line in enumerate(lines(path), 1):
            if PLATFORM.search(line.partition("//")[0]) and not NO_PLATFORM.search(line):
                yield f"{path}:{number}: what differs between platforms stands in platform/: {line}"
    for path in files(root, "include/**/*.h"):
        if not any(line.lstrip().startswith("///") for line in lines(path)):
            yield f"{path}:1: a public header says with /// what it is for"


# ---- suites ------------------------------------------------------------------------------------

SUITE = re.compile(r"^(?:TYPED_)?TEST(?:_[FP])?\(\s*(\w+),", re.MULTILINE)


def layersByName(root):
    """From `Shard` the layers of Shard.h and Shard.cpp."""
    _, patterns = readRules(root / "docs" / "architecture.md")
    found = {}
    for path in libraryFiles(root):
        owners = ownersOf(path.relative_to(root).as_posix(), patterns)
        found.setdefault(path.stem, set()).update(owners)
    return found


def checkSuites(root):
    layers, fileOf = layersByName(root), {}
    for path in files(root, "tests/**/*Test.cpp"):
        name = path.stem.removesuffix("Test")
        for suite in sorted(set(SUITE.findall(path.read_text(encoding="utf-8")))):
            plain = suite.removesuffix("Test").removesuffix("Death")
            if name not in plain and plain not in name:
                yield f"{path}:1: the suite {suite} belongs into a file of its name"
            if fileOf.setdefault(suite, path) != path:
                yield f"{path}:1: the suite {suite} also stands in {fileOf[suite]}"
        *_, kind, layer, _ = path.parts
        if kind == "unit" and layer not in layers.get(name, {layer}):
            yield f"{path}:1: {name} is of layer {' and '.join(sorted(layers[name]))}"


# ---- links -------------------------------------------------------------------------------------


def anchors(path):
    """The anchors that a Markdown file's headings get."""
    text = re.sub(r"^```.*?^```", "", path.read_text(encoding="utf-8"), flags=re.M | re.S)
    headings = re.findall(r"^#+\s+(.*?)\s*$", text, re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", h.lower()).replace(" ", "-") for h in headings}


def checkLinks(root):
    for path in files(root, "**/*.md"):
        fenced = False
        for number, line in enumerate(lines(path), 1):
            if line.lstrip().startswith("```"):
                fenced = not fenced
            if fenced:
                continue
            for link in re.findall(r"\]\(([^)\s]+)\)", re.sub(r"`[^`]*`", "", line)):
                if re.match(r"[a-z]+:", link):
                    continue
                name, _, anchor = link.partition("#")
                target = path.parent / name if name else path
                if not target.exists():
                    yield f"{path}:{number}: {link} leads nowhere"
                elif anchor and target.suffix == ".md" and anchor not in anchors(target):
                    yield f"{path}:{number}: {link}: no such heading"


# ---- headers -----------------------------------------------------------------------------------


def checkHeaders(root):
    document, include = root / "docs/headers.md", root / "include/timingwheel"
    if not document.is_file():
        return
    rows = [line for line in lines(document) if line.startswith("| `")]
    named = set(re.findall(r"`([\w/]+\.h)`", "\n".join(row.split(" | ")[0] for row in rows)))
    reached, todo = set(), sorted(named)
    while todo:
        name = todo.pop()
        if name in reached or not (include / name).is_file():
            continue
        reached.add(name)
        folder = Path(name).parent
        text = (include / name).read_text(encoding="utf-8")
        found = re.findall(r"#include <timingwheel/([\w/]+\.h)>", text)
        todo += [one for one in found if folder != Path() and Path(one).parent == folder]
    for path in files(root, "include/timingwheel/**/*.h"):
        name = path.relative_to(include)
        if "detail" not in name.parts and name.as_posix() not in reached:
            yield f"{document}: the table of headers does not name {name}"
    for name in sorted(named):
        if not (include / name).is_file():
            yield f"{document}: the table of headers names {name}, which is not there"


# ---- named -------------------------------------------------------------------------------------

TABLES = ("docs/beyond.md", "docs/store.md")
CPP_TEST = re.compile(r"^(?:TYPED_)?TEST(?:_[FP])?\(\s*(\w+),\s*(\w+)\)", re.MULTILINE)
PYTHON_TEST = re.compile(r"^    def (test\w+)\(", re.MULTILINE)


def checkNamed(root):
    """`Suite.Name` of C++, where stars stand for anything; `testName` and `tests/...` of Python."""
    cpp = {".".join(found) for path in files(root, "tests/**/*Test.cpp")
           for found in CPP_TEST.findall(path.read_text(encoding="utf-8"))}  # fmt: skip
    python = {name for path in files(root, "tests/**/*.py")
              for name in PYTHON_TEST.findall(path.read_text(encoding="utf-8"))}  # fmt: skip
    for document in filter(Path.exists, (root / name for name in TABLES)):
        for number, line in enumerate(lines(document), 1):
            spans = re.findall("`([^`]+)`", line) if line.startswith("|") else ()
            for span in spans:
                isThere = True
                if span.startswith("tests/"):
                    isThere = (root / span).exists()
                elif re.fullmatch(r"test[A-Z]\w*", span):
                    isThere = span in python
                elif re.fullmatch(r"[A-Z]\w*[.][*A-Z]\S*", span):
                    isThere = fnmatch.filter(cpp, span)
                if not isThere:
                    yield f"{document}:{number}: there is no test {span}"


# ---- format ------------------------------------------------------------------------------------


def clangFormat():
    """Versions differ in what they make of the same style, so only version 16 is asked."""
    for name in ("clang-format-16", "clang-format"):
        if shutil.which(name):
            version = subprocess.run([name, "--version"], capture_output=True, text=True).stdout
            if re.search(r"version 16\.", version):
                return name
    return None


def checkFormat(root):
    program = clangFormat()
    if program is None:
        print("skipped: clang-format 16 is not installed")
        sys.exit(SKIPPED)
    patterns = [f"{d}/**/*.{e}" for d in ("include", "src", "tests", "docs", "test_package")
                for e in ("h", "cpp")]  # fmt: skip
    sources = files(root, *patterns)
    if not sources:
        return
    command = [program, "--style=file", "--dry-run", *map(str, sources)]
    output = subprocess.run(command, capture_output=True, text=True).stderr
    for line in output.splitlines():
        if "-Wclang-format-violations" in line:
            yield line.replace("code should be clang-formatted", "run ./dev lint --fix")


# ---- self-test ---------------------------------------------------------------------------------

CLEAN = {
    "docs/architecture.md": "# A\n\n## The b-part\n\n[x](#the-b-part)\n"
    "```layers\nbase ->\nwheel -> base\nfacade -> base wheel\n```\n"
    "```files\nbase: include/timingwheel/*.h\nwheel: include/timingwheel/wheel/** src/wheel/**\n"
    "facade: src/facade/**\n```\n"
    "| layer | does not include |\n|---|---|\n| base | any other layer |\n| wheel | facade |\n",
    "include/timingwheel/Tick.h": "/// A tick.\n#include <cstdint>\nnamespace n {\n"
    "template <class T>\nstruct S {\n    int a{1'000};\n    int f(S x = {}) { return x.a; }\n};\n"
    "}\n",
    "src/wheel/Heap.h": '#include "timingwheel/Tick.h"\n',
    "src/facade/Timer.cpp": '#include "wheel/Heap.h"\n#include <timingwheel/Tick.h>\n',
    "tests/unit/wheel/HeapTest.cpp": "TEST(HeapTest, A) {}\nTYPED_TEST(FullHeap, A) {}\n",
}
LONG_FUNCTION = "namespace n {\nvoid f() {\n" + "    f();\n" * MAX_FUNCTION_LINES + "}\n}\n"
LONG_CONSTRUCTOR = "struct X {\n    X() : a{1} {\n" + "f();\n" * MAX_FUNCTION_LINES + "}\n};\n"
# check, file, what is put there, what must be said
PLANTED = [
    (checkLayers, "src/wheel/Heap.h", '#include "facade/Timer.cpp"\n', "must not include"),
    (checkLayers, "include/timingwheel/Tick.h", "#include <timingwheel/wheel/W.h>\n", "not a file"),
    (checkLayers, "include/timingwheel/Tick.h", '#include "wheel/Heap.h"\n', "not installed"),
    (checkLayers, "include/timingwheel/Tick.h", "#include <boost/heap/heap.hpp>\n", "Boost.Heap"),
    (checkLayers, "src/stray/Stray.cpp", "\n", "exactly one layer"),
    (checkLayers, "docs/architecture.md",
     "```layers\nfacade ->\nx -> facade\ny -> x\n```\n```files\n```\n",
     "x is included, facade is not"),
    (checkLayers, "docs/architecture.md", "```layers\nx -> y\ny ->\n```\n```files\n```\n",
     "earlier ones only"),
    (checkLayers, "docs/architecture.md", "```layers\nx ->\ny -> x\n```\n```files\n```\n"
     "| layer | does not include |\n|---|---|\n| y | x |\n", "says the table"),
    (checkStyle, "src/wheel/Long.cpp", "// " + "x" * MAX_COLUMNS + "\n", "columns"),
    (checkStyle, "src/wheel/Long.cpp", LONG_FUNCTION, "a function of"),
    (checkStyle, "src/wheel/Long.cpp", LONG_CONSTRUCTOR, "a function of"),
    (checkStyle, "src/wheel/System.cpp", "#if defined(__linux__)\n", "stands in platform/"),
    (checkStyle, "src/wheel/Builtin.cpp", "int x = __builtin_ctz(8);\n", "stands in platform/"),
    (checkStyle, "src/wheel/Mark.cpp", "// TO" + "DO\n", "unfinished"),
    (checkStyle, "include/timingwheel/Bare.h", "#include <vector>\n", "///"),
    (checkSuites, "tests/unit/wheel/HeapTest.cpp", "TEST_F(Stack, A) {}\n", "of its name"),
    (checkSuites, "tests/flow/FullHeapTest.cpp", "TEST(FullHeap, A) {}\n", "also stands in"),
    (checkSuites, "tests/unit/facade/HeapTest.cpp", "\n", "Heap is of layer wheel"),
    (checkHeaders, "docs/headers.md", "| `Tick.h`, `Gone.h` | x |\n", "which is not there"),
    (checkHeaders, "docs/headers.md", "| `Timer.h` | `Tick.h` |\n", "does not name Tick.h"),
    (checkLayers, "docs/architecture.md", "```layers\nx ->\ny -> x\n```\n```files\n```\n"
     "| layer | holds | does not include |\n|---|---|---|\n| x | a; nothing includes it | y |\n",
     "included by []"),
    (checkLinks, "docs/x.md", "[x](nowhere.md)\n", "leads nowhere"),
    (checkLinks, "docs/x.md", "[x](architecture.md#c)\n", "no such heading"),
    (checkNamed, "docs/beyond.md", "| x | `testGone` |\n", "no test testGone"),
    (checkNamed, "docs/store.md", "| x | `Wheel.Gone*` |\n", "no test Wheel.Gone*"),
    (checkNamed, "docs/store.md", "| x | `tests/gone.py` |\n", "no test tests/gone.py"),
    (checkFormat, "src/wheel/Ugly.cpp", "int  f( ) ;\n", "lint --fix"),
]  # fmt: skip


def write(root, name, text):
    (root / name).parent.mkdir(parents=True, exist_ok=True)
    (root / name).write_text(text, encoding="utf-8")


def checkSelf(root):
    # The planted files live in a folder of their own; the style is the project's.
    for check, name, text, expected in [(c, None, None, None) for c in CHECKS.values()] + PLANTED:
        if check is checkSelf or (check is checkFormat and (clangFormat() is None or name is None)):
            continue
        with tempfile.TemporaryDirectory() as folder:
            tree = Path(folder)
            shutil.copy(root / ".clang-format", tree)
            for cleanName, cleanText in CLEAN.items():
                write(tree, cleanName, cleanText)
            if name:
                write(tree, name, text)
            found = list(check(tree))
        if name and not any(expected in problem for problem in found):
            yield f"{check.__name__} did not notice `{expected}` planted in {name}, but {found}"
        if not name and found:
            yield f"{check.__name__} complains about a clean tree: {found}"


CHECKS = {
    "layers": checkLayers,
    "style": checkStyle,
    "suites": checkSuites,
    "headers": checkHeaders,
    "links": checkLinks,
    "named": checkNamed,
    "format": checkFormat,
    "self-test": checkSelf,
}


def main():
    if len(sys.argv) != 2 or sys.argv[1] not in CHECKS:
        sys.exit(__doc__)
    problems = list(CHECKS[sys.argv[1]](Path(__file__).resolve().parents[2]))
    print("\n".join(problems), end="\n" if problems else "")
    sys.exit(1 if problems else 0)


if __name__ == "__main__":
    main()
