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
# Macros alone, which any mode of the compiler may ask.
OF_ANY_MODE = "timingwheel/version.h"


def said(text, what):
    found = re.search(rf"^// {re.escape(what)}: (.*)$", text, re.MULTILINE)
    return found and found.group(1)


def programs(text, folder):
    """The name and the text of each program that is to be refused."""
    headers = sorted(path.relative_to(folder).as_posix() for path in Path(folder).rglob("*.h")
                     if "detail" not in path.parts)  # fmt: skip
    if said(text, "headers") != "each":
        return [("", text)]
    return [(header, re.sub("(?m)^#include <.*>$", f"#include <{header}>", text))
            for header in headers if header != OF_ANY_MODE]  # fmt: skip


def complaint(compiler, folders, text):
    """What the compiler prints from its first error or warning on."""
    options = (said(text, "options") or "-std=c++20").split()
    # The library's own folder, then those of Boost, which may be the system's.
    includes = ["-I", folders[0]]
    for folder in folders[1:]:
        includes += ["-idirafter", folder]
    printed = subprocess.run(
        [compiler, *options, *includes, "-fsyntax-only", "-fdiagnostics-color=never", "-xc++", "-"],
        input=text, capture_output=True, text=True, check=False).stderr.splitlines()  # fmt: skip
    first = next((i for i, line in enumerate(printed) if re.search(r"\b(error|warning):", line)),
                 None)  # fmt: skip
    if first is None:
        return []
    isInclude = re.compile(r"(In file included| +)from .*[:,]$")
    return [line for line in printed[first:] if not isInclude.match(line)]


def main(compiler, *rest):
    *folders, file = rest
    text = Path(file).read_text()
    version = subprocess.run([compiler, "--version"], capture_output=True, text=True, check=True)
    kind = "clang++" if "clang" in version.stdout else "g++"
    wanted = said(text, f"{kind} says") or said(text, "says")
    for name, program in programs(text, folders[0]):
        lines = complaint(compiler, folders, program)
        print("\n".join([name, *lines] if lines else [name, "it compiles"]))
        if not lines:
            sys.exit(f"{Path(file).name} compiles without a word")
        if wanted not in lines[0]:
            sys.exit(f"the first line does not say: {wanted}")
        if len(lines) > MOST_LINES:
            sys.exit(f"{len(lines)} lines: at most {MOST_LINES} are wanted")


if __name__ == "__main__":
    main(*sys.argv[1:])
