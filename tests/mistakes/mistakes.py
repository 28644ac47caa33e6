#!/usr/bin/env python3
"""mistakes.py <compiler> <include folder>... <mistake.cpp>

Compiles what a user got wrong, and reads what the compiler says from its first error or warning on:
at most ten lines, not counting those that say which header includes which, and the first one names
the mistake. The file's comment says what it must contain:

    // says: a delay needs a unit      what every compiler says
    // g++ says: ...                   one compiler alone
    // options: -std=c++17             instead of -std=c++20
    // headers: each                   each public header takes the place of the one it includes
"""

import re
import subprocess
import sys
from pathlib import Path

MOST_LINES = 10


def publicHeaders(folder):
    names = (path.relative_to(folder).as_posix() for path in Path(folder).rglob("*.h"))
    return sorted(name for name in names if "/detail/" not in name)


def complaint(compiler, folders, text, options="-std=c++20"):
    """What the compiler says from its first error or warning on."""
    # The library's own folder, then those of Boost, which may be the system's.
    includes = ["-I", folders[0], *(word for one in folders[1:] for word in ("-idirafter", one))]
    said = subprocess.run(
        [compiler, *options.split(), *includes, "-fsyntax-only", "-fdiagnostics-color=never",
         "-xc++", "-"],
        input=text, capture_output=True, text=True, check=False).stderr  # fmt: skip
    found = re.search(r"^.*\b(error|warning):(.|\n)*", said, re.MULTILINE)
    lines = found[0].splitlines() if found else []
    return [line for line in lines if not re.match(r"(In file included| +)from .*[:,]$", line)]


def main(compiler, *rest):
    *folders, file = rest
    text = Path(file).read_text()
    told = dict(re.findall(r"^// ([\w+ ]+): (.*)$", text, re.MULTILINE))
    version = subprocess.run([compiler, "--version"], capture_output=True, text=True, check=True)
    kind = "clang++" if "clang" in version.stdout else "g++"
    wanted = told.get(f"{kind} says") or told["says"]
    programs = {"": text}
    if told.get("headers") == "each":  # but the one of macros alone, which any mode may ask
        programs = {name: re.sub("(?m)^#include <.*>$", f"#include <{name}>", text)
                    for name in publicHeaders(folders[0]) if name != "timingwheel/version.h"}
    for name, program in programs.items():
        lines = complaint(compiler, folders, program, told.get("options", "-std=c++20"))
        print("\n".join([name, *lines]))
        if not lines:
            sys.exit(f"{Path(file).name} compiles without a word")
        if wanted not in lines[0]:
            sys.exit(f"the first line does not say: {wanted}")
        if len(lines) > MOST_LINES:
            sys.exit(f"{len(lines)} lines: at most {MOST_LINES} are wanted")


if __name__ == "__main__":
    main(*sys.argv[1:])
