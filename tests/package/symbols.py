#!/usr/bin/env python3
"""symbols.py <nm> <library>...: what a compiled library brings into a program that links it.

Every name that it defines for others (in an archive: that is not local, weak ones included; in a
shared library: that is exported) is one of these:

- of timingwheel itself: no namespace but timingwheel and std stands in it;
- of std, instantiated with types of std or timingwheel: the standard library is the platform's, so
  the program has the same one;
- of Boost, instantiated with a type that no program instantiates anything with. TimerTaskTag has
  Boost's version in its name as well, for the code of Boost.Intrusive that programs contain too.

Anything else could be in the program in another version: the linker would keep one of the two, and
have both sides use it. This holds for an optimised library. Without optimisation g++ also emits
five functions and two constants of Boost.Heap and its bases, which have no data to differ in.

Prints what is wrong and exits with 1.
"""

import re
import subprocess
import sys

STANDARD = {"std", "__gnu_cxx", "timingwheel"}
OURS_ALONE = ("timingwheel::v1::detail::TimerTaskTag<", "timingwheel::v1::DelayHeap::")
# What the compiler and the linker define by themselves.
SYSTEMS = re.compile(r"DW\.ref\.\w+|_init|_fini|_edata|_end|__bss_start|_\.stapsdt\.base")
# A name before :: that is not inside another one.
OUTERMOST = re.compile(r"(?<![\w:>)\]}])([A-Za-z_]\w*)::")
FEWEST = 10


def defined(nm, library):
    options = [] if library.endswith(".a") else ["--dynamic"]
    command = [nm, "--demangle", "--defined-only", "--format=bsd", *options, library]
    printed = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    # Of the small letters u, v, w and i are not local: unique ones, weak ones, indirect functions.
    return set(re.findall(r"(?m)^[0-9a-f]* +[A-Zuvwi] (.+)", printed))


def isAllowed(name):
    namespaces = set(OUTERMOST.findall(name))
    if not namespaces:
        return SYSTEMS.fullmatch(name)
    return namespaces <= STANDARD or any(type_ in name for type_ in OURS_ALONE)


def main(nm, *libraries):
    wrong = []
    for library in libraries:
        names = defined(nm, library)
        print(f"{library}: {len(names)} names")
        wrong += [f"{library}: defines {name}" for name in sorted(names) if not isAllowed(name)]
        if len(names) < FEWEST:
            wrong.append(f"{library}: {nm} shows only {len(names)} names")
    return "\n".join(wrong) or 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
