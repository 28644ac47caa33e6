#!/usr/bin/env python3
"""./dev weight: what there is beside the library, and how much of it there may be at most."""

import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PAGES = ("README.md", "docs/**/*.md")
BOUNDS = [  # what, its files, what is counted there, at most
    ("words of README and docs", PAGES, r"\S+", 40_600),  # guides and cookbook took 35,000 to this
    ("lines of README.md", ("README.md",), r"\n", 150),
    ("bytes of docs/testing.md", ("docs/testing.md",), r"(?s).", 12_288),
    ("bytes of docs/guarantees.md", ("docs/guarantees.md",), r"(?s).", 18_432),
    ("lines of Python", ("[!b]*/**/*.py", "*.py"), r"\n", 9_000),
    ("lines of tests/benchmark", ("tests/benchmark/**/*",), r"\n", 6_000),
    ("files of contenders", ("tests/benchmark/contenders/*.cpp",), r"\A", 11),
    ("lines of dev", ("dev",), r"\n", 300),
    ("golden traces", ("tests/golden/*.trace",), r"\A", 2),
    ("lines of golden traces", ("tests/golden/*.trace",), r"\n", 13_000),
    ("planted bugs", ("tests/planted/*.toml",), r"(?m)^\[\[bug\]\]", 154),
    ("lines of the walkthrough's generator", ("src/apps/walkthrough/**/*",), r"\n", 2_520),
    ("examples", ("docs/examples/*.cpp",), r"\A", 22),
    ("lines of the demo", ("src/apps/demo/*.cpp", "src/apps/demo/*.h"), r"\n", 2_000),
]  # fmt: skip


def count(patterns, counted):
    files = {file for one in patterns for file in ROOT.glob(one) if file.is_file()}
    texts = (file.read_text("latin-1") for file in files if "__pycache__" not in file.parts)
    return sum(len(re.findall(counted, text)) for text in texts)


if __name__ == "__main__":
    if sys.argv[1:] == ["--help"]:
        print(__doc__)
        sys.exit()
    if sys.argv[1:]:
        sys.exit(f"there is no place for {sys.argv[1]}")
    rows = [(what, count(files, counted), most) for what, files, counted, most in BOUNDS]
    print(f"{'what':44}{'now':>8}{'at most':>9}")
    for what, now, most in rows:
        verdict = "" if 0 < now <= most else "  TOO MUCH" if now else "  nothing is counted"
        print(f"{what:44}{now:8,}{most:9,}{verdict}")
    sys.exit(any(not 0 < now <= most for _, now, most in rows))
