#!/usr/bin/env python3
"""singleheader.py FILE: the core of the library as one header, timingwheel.hpp.in filled in.

Each file of the project stands there once, behind the ones that it includes.
"""

import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
OURS = re.compile(r'# *include [<"]((?:timingwheel|core)/[^>"]+)[>"]')


def readVersion():
    header = (ROOT / "include/timingwheel/version.h").read_text(encoding="utf-8")
    return ".".join(re.findall(r"#define \w+_(?:MAJOR|MINOR|PATCH) +(\d+)", header))


def filledIn(template, words):
    text = template.read_text(encoding="utf-8")
    return re.sub(r"@([A-Z0-9_]+)@", lambda found: words[found[1]], text)


def textOf(name, seen, condition=""):
    """A file, behind what it includes and is not in `seen`. A header of ours that others include on
    a condition, which all must have, stands between that `#if` and its `#endif`."""
    if name in seen:
        if seen[name] not in ("", condition):
            sys.exit(f"{name} is included also without {seen[name]}")
        return ""
    seen[name] = condition
    path = ROOT / ("include" if name.startswith("timingwheel/") else "src") / name
    before, own, within = "", "", ""
    for line in path.read_text(encoding="utf-8").splitlines(keepends=True):
        if line.startswith(("#if", "#el", "#endif")):
            within = line if line.startswith("#if") else ""
        if ours := OURS.match(line):
            before += textOf(ours[1], seen, within or condition)
        elif line not in seen and line != "#pragma once\n":
            own += line
        if line.startswith("#include") and not condition:
            seen[line] = ""
    own = f"\n// ---- {name}\n\n{own}"
    return f"{before}{condition}{own}#endif\n" if condition else before + own


def singleHeader():
    seen = {}

    def texts(pattern):
        files = sorted((ROOT / "src").glob(pattern))
        names = (file.relative_to(ROOT / "src").as_posix() for file in files)
        return "".join(textOf(name, seen) for name in names if name not in seen)

    licence = (ROOT / "LICENSE").read_text(encoding="utf-8").strip().replace("\n", "\n// ")
    words = {"VERSION": readVersion(), "LICENCE": licence}
    words["PUBLIC"] = textOf("timingwheel/timingwheel.h", seen)
    words["PUBLIC"] += textOf("timingwheel/detail/FreeKeptNodes.h", seen)  # for tests
    words["INSIDE"], words["SOURCES"] = texts("core/**/*.h"), texts("core/**/*.cpp")
    macros = re.findall(r"# *define (TIMINGWHEEL_\w+)", words["INSIDE"] + words["SOURCES"])
    words["UNDEFINED"] = "\n".join(f"#undef {macro}" for macro in sorted(set(macros)))
    text = filledIn(ROOT / "src/package/timingwheel.hpp.in", words)
    return re.sub(r"\n{3,}", "\n\n", text).replace("// \n", "//\n")


if __name__ == "__main__":
    if len(sys.argv) != 2 or sys.argv[1].startswith("-"):
        sys.exit(__doc__)
    Path(sys.argv[1]).write_text(singleHeader(), encoding="utf-8")
