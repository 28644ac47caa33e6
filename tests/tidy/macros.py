#!/usr/bin/env python3
"""macros.py <compiler> <include folder>...: other people's macros leave the public headers alone.

Compiles every public header after macros that well-known headers define. What our headers include
of others comes before them: those look after themselves.
"""

import re
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "mistakes"))
from mistakes import complaint, publicHeaders  # noqa: E402

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
    texts = [path.read_text() for path in Path(folders[0]).rglob("*.h")]
    others = re.findall(r"(?m)^# *include <(?!timingwheel/)(.*)>", "\n".join(texts))
    lines = [f"#if __has_include(<{name}>)\n#include <{name}>\n#endif" for name in set(others)]
    lines += [f"#define {name} a macro of others" for name in NAMES.split()]
    lines += [f"#define {name}(a, b) a macro of others" for name in FUNCTIONS.split()]
    lines += [f"#include <{name}>" for name in publicHeaders(folders[0])]
    sys.exit("\n".join(complaint(compiler, folders, "\n".join(lines))) or None)


if __name__ == "__main__":
    main(*sys.argv[1:])
