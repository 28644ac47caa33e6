#!/usr/bin/env python3
"""components.py <cmake> <build folder> <folder>: what `cmake --install --component` installs.

Installs each component into a folder of its own, checks what is in it, and that together they are
all that is installed. <folder>/developed then has what a developer needs, without the demo.
"""

import re
import shutil
import subprocess
import sys
from pathlib import Path

# What may stand in each, as a regular expression.
COMPONENTS = {
    "timingwheel_Runtime": r"lib/libtimingwheel\.so\..*",
    "timingwheel_Development": r"include/timingwheel/.*\.h|lib/libtimingwheel\.(a|so)"
    r"|lib/cmake/timingwheel/timingwheel(Config|Targets).*\.cmake|lib/pkgconfig/timingwheel\.pc",
    "timingwheel_Calendar": r"include/timingwheel/calendar/.*\.h|lib/libtimingwheel-calendar\..*"
    r"|lib/cmake/timingwheel/timingwheelCalendar.*\.cmake|lib/pkgconfig/timingwheel-calendar\.pc"
    r"|bin/timingwheel-calendar",
    "timingwheel_Kafka": r"include/timingwheel/kafka/.*\.h|lib/libtimingwheel-kafka\..*"
    r"|lib/cmake/timingwheel/timingwheel(Kafka.*|Rdkafka)\.cmake"
    r"|lib/pkgconfig/timingwheel-kafka\.pc|bin/timingwheel-kafka",
    "timingwheel_Store": r"include/timingwheel/store/.*\.h|lib/libtimingwheel-store\..*"
    r"|lib/cmake/timingwheel/timingwheel(Store.*|Sqlite3)\.cmake"
    r"|lib/pkgconfig/timingwheel-store\.pc",
    "timingwheel_Demo": r"bin/timingwheel-(demo|orders)",
}
DEVELOPED = ("timingwheel_Runtime", "timingwheel_Development", "timingwheel_Calendar",
             "timingwheel_Kafka", "timingwheel_Store")  # fmt: skip
# Debian's CMake may have lib/<triplet>.
TRIPLET = re.compile(r"^lib/\w+-linux-\w+/")


def install(cmake, build, prefix, *options):
    command = [cmake, "--install", build, "--prefix", prefix, *options]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)


def files(prefix):
    found = (path for path in prefix.rglob("*") if path.is_symlink() or path.is_file())
    return {TRIPLET.sub("lib/", path.relative_to(prefix).as_posix()) for path in found}


def main():
    cmake, build, folder = sys.argv[1], sys.argv[2], Path(sys.argv[3])
    shutil.rmtree(folder, ignore_errors=True)
    install(cmake, build, folder / "whole")
    whole, wrong, together = files(folder / "whole"), [], set()
    for component, pattern in COMPONENTS.items():
        install(cmake, build, folder / component, "--component", component)
        found = files(folder / component)
        wrong += [f"{component} has {n}" for n in sorted(found) if not re.fullmatch(pattern, n)]
        wrong += [f"{component} has {n}, as another" for n in sorted(found & together)]
        together |= found
        print(f"{component}: {len(found)} files")
    wrong += [f"no component has {name}" for name in sorted(whole - together)]
    wrong += [f"only a component has {name}" for name in sorted(together - whole)]
    if not files(folder / "timingwheel_Development"):
        wrong.append("timingwheel_Development is empty")
    for component in DEVELOPED:
        install(cmake, build, folder / "developed", "--component", component)
    print("\n".join(wrong))
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
