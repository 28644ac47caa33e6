#!/usr/bin/env python3
"""components.py <cmake> <build folder> <folder>: what `cmake --install --component` installs.

Installs each component into a folder of its own, checks what is in it, and that together they are
all that is installed. <folder>/developed then has what a developer needs, without programs.
"""

import re
import shutil
import subprocess
import sys
from pathlib import Path

COMPONENTS = {  # the files of each, as a regular expression, without those of the ones above it
    "Calendar": r"(?i)calendar",
    "Daemon": r"^bin/timingwheel-kafka$",
    "Kafka": r"(?i)kafka",
    "Store": r"(?i)store|sqlite3",
    "Demo": r"^bin/timingwheel-(demo|orders)$",
    "Runtime": r"^lib/libtimingwheel\.so\.",
    "Development": r"^(include/timingwheel/.*\.h|lib/libtimingwheel\.(a|so)"
    r"|lib/cmake/timingwheel/.*\.cmake|lib/pkgconfig/timingwheel\.pc"
    r"|share/gdb/auto-load/.*libtimingwheel\..*-gdb\.py)$",
}
# Debian's CMake may have lib/<triplet>.
TRIPLET = re.compile(r"^lib/\w+-linux-\w+/")


def installed(prefix, *options):
    """The files that are there then."""
    cmake, build, _ = sys.argv[1:]
    subprocess.run([cmake, "--install", build, "--prefix", prefix, *options],
                   check=True, stdout=subprocess.DEVNULL)  # fmt: skip
    found = (path for path in prefix.rglob("*") if path.is_symlink() or path.is_file())
    names = (path.relative_to(prefix).as_posix() for path in found)
    # The path of what gdb loads has the prefix in it.
    return {TRIPLET.sub("lib/", name.replace(prefix.as_posix(), "")) for name in names}


def main(folder):
    shutil.rmtree(folder, ignore_errors=True)
    rest, wrong = installed(folder / "whole"), []
    for name, pattern in COMPONENTS.items():
        component = "--component", f"timingwheel_{name}"
        wanted = {file for file in rest if re.search(pattern, file)}
        found = installed(folder / name, *component)
        wrong += [f"{name} has, or lacks, {file}" for file in found ^ wanted]
        rest -= wanted
        print(f"{name}: {len(found)} files")
        if name not in ("Demo", "Daemon"):
            installed(folder / "developed", *component)
    return "\n".join([*wrong, *(f"no component has {file}" for file in rest)]) or 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[3])))
