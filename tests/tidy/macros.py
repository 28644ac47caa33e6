#!/usr/bin/env python3
"""macros.py <compiler> <include folder>...: other people's macros leave the public headers alone.

Compiles every public header after macros that well-known headers define. What our headers include
of others comes before them: those look after themselves. Of Asio that is Boost's: old ones of both
kinds do not compile together.
"""

import re
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "mistakes"))
from mistakes import complaint, publicHeaders  # noqa: E402

NAMES = Path(__file__).with_suffix(".txt")


def main(compiler, *folders):
    texts = [path.read_text() for path in Path(folders[0]).rglob("*.h")]
    others = re.findall(r"(?m)^# *include <(?!timingwheel/|asio/)(.*)>", "\n".join(texts))
    others = sorted(set(others))
    lines = [f"#if __has_include(<{name}>)\n#include <{name}>\n#endif" for name in others]
    names = re.sub("(?m)^#.*", "", NAMES.read_text()).replace("()", "(a, b)")
    lines += [f"#define {name} a macro of others" for name in re.findall(r"\w+(?:\(.*?\))?", names)]
    lines += [f"#include <{name}>" for name in publicHeaders(folders[0])]
    sys.exit("\n".join(complaint(compiler, folders, "\n".join(lines))) or None)


if __name__ == "__main__":
    main(*sys.argv[1:])
