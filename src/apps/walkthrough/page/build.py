#!/usr/bin/env python3
"""Makes docs/walkthrough.html: style, script and the engine in one file, which needs no network.

build.py                 compiles the story to WebAssembly and writes the page
build.py --check         compiles it again; fails if the page is not what comes of it
build.py --check-parts   the same for text, style and script alone; needs no compiler

The engine is the library's own wheels and src/apps/walkthrough, compiled by Debian's Emscripten.
Another version of that makes other bytes: --check then leaves the engine out, and says so.
"""

import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[3]
PAGE = ROOT / "docs" / "walkthrough.html"
SKIPPED = 77

SOURCES = [
    *("src/apps/walkthrough/" + name for name in ("Story.cpp", "Sentences.cpp", "wasm.cpp")),
    "src/core/base/OptionChecks.cpp",
    *(file.relative_to(ROOT) for file in sorted(ROOT.glob("src/core/wheel/*.cpp"))),
]
CALLS = "Level Begin Schedule Cancel Wait Wake Count Frame".split()
FLAGS = [
    *"-std=c++20 -Oz -DNDEBUG -Iinclude -Isrc -idirafter /usr/include".split(),
    *"-sSINGLE_FILE=1 -sMODULARIZE=1 -sEXPORT_NAME=loadWheel -sENVIRONMENT=web".split(),
    *"-sFILESYSTEM=0 -sALLOW_MEMORY_GROWTH=1 -sEXPORTED_RUNTIME_METHODS=UTF8ToString".split(),
    "-sEXPORTED_FUNCTIONS=" + ",".join("_story" + call for call in CALLS),
]
PARTS = {"style": ["page.css"], "script": ["story.js", "stage.js", "player.js"]}
ENGINE = re.compile(r"(?<=<script>\n)(/\* emcc [^*]* \*/)\n.*?(?=\n</script>)", re.DOTALL)


def compilerVersion():
    told = subprocess.run(["em++", "--version"], capture_output=True, text=True, check=True).stdout
    return f"/* emcc {re.search(r'[0-9]+[.][0-9]+[.][0-9]+', told)[0]} */"


def compiledEngine():
    # Debian's Emscripten finds Debian's JavaScript packages only where node is Debian's, too.
    environment = {**os.environ, "NODE_PATH": "/usr/share/nodejs"}
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "wheel.js"
        subprocess.run(["em++", *FLAGS, *SOURCES, "-o", out], cwd=ROOT, env=environment, check=True)
        return f"{compilerVersion()}\n{out.read_text(encoding='utf-8').strip()}"


def pageWith(engine):
    page = (HERE / "page.html.in").read_text(encoding="utf-8").strip() + "\n"
    parts = {name: "\n\n".join((HERE / file).read_text(encoding="utf-8").strip() for file in files)
             for name, files in PARTS.items()}  # fmt: skip
    for name, text in (parts | {"engine": engine}).items():
        assert name == "style" or "</script" not in text, f"{name}: </script would end it"
        page = page.replace("{{" + name + "}}", text)
    return page


def check(isWhole):
    page = PAGE.read_text(encoding="utf-8")
    built = ENGINE.search(page)
    isStale = not built or page != pageWith(built[0])
    if isWhole and not isStale:
        if not shutil.which("em++"):
            print("skipped: Debian's emscripten is not installed")
            sys.exit(SKIPPED)
        if compilerVersion() != built[1]:
            print(f"not compared: the engine, built with {built[1]}, not {compilerVersion()}")
        else:
            isStale = page != pageWith(compiledEngine())
    if isStale:
        sys.exit(f"{PAGE} is not what {HERE} makes: ./dev walkthrough renews it")


if __name__ == "__main__":
    if sys.argv[1:]:
        check(isWhole=sys.argv[1] == "--check")
    else:
        PAGE.write_text(pageWith(compiledEngine()), encoding="utf-8")
        print(f"== {PAGE}")
