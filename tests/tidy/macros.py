#!/usr/bin/env python3
"""macros.py <compiler> <include folder>...: other people's macros leave the public headers alone.

Compiles every public header after macros that well-known headers define. What our headers include
of others comes before them: those look after themselves. Needs of a component's other libraries are
none, as no public header includes them.
"""

import re
import subprocess
import sys
from pathlib import Path

# Of windows.h; X11; Qt; glibc; Arduino; curses; gettext; what people write themselves.
NAMES = """
    ABSOLUTE CALLBACK CONST DELETE ERROR FALSE IN NO_ERROR OPAQUE OPTIONAL OUT PASCAL RELATIVE
    STRICT TRANSPARENT TRUE VOID far interface near small
    Above Always Below Bool Complex CurrentTime Expose False None Status Success True Unsorted
    emit signals slots forever
    I complex linux unix
    B0 B1 DEC HEX HIGH INPUT LOW OCT OUTPUT PI
    ERR OK
    DEBUG INFO WARNING
"""
# These take arguments: a name that no parenthesis follows stays as it is.
FUNCTIONS = """
    max min GetCurrentTime GetMessage GetObject SendMessage Yield
    foreach Q_FOREACH
    howmany major makedev minor roundup
    abs bit constrain F lowByte round sq
    MAX MIN check require verify
    _ _T N_ T
"""


def main(compiler, *folders):
    root = Path(folders[0])
    ours, others = [], set()
    for header in sorted(root.rglob("*.h")):
        ours.append(header.relative_to(root).as_posix())
        others |= set(re.findall(r"(?m)^# *include <(?!timingwheel/)(.*)>", header.read_text()))
    program = [f"#if __has_include(<{name}>)\n#include <{name}>\n#endif" for name in sorted(others)]
    program += [f"#define {name} a macro of others" for name in NAMES.split()]
    program += [f"#define {name}(a, b) a macro of others" for name in FUNCTIONS.split()]
    program += [f"#include <{name}>" for name in ours if "/detail/" not in name]
    includes = [option for folder in folders[1:] for option in ("-idirafter", folder)]
    command = [compiler, "-std=c++20", "-fsyntax-only", "-I", root, *includes, "-xc++", "-"]
    sys.exit(subprocess.run(command, input="\n".join(program), text=True, check=False).returncode)


if __name__ == "__main__":
    main(*sys.argv[1:])
