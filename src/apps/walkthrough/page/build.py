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
    "src/base/OptionChecks.cpp",
    *(str(file.relative_to(ROOT)) for file in sorted(ROOT.glob("src/wheel/*.cpp"))),
]  # fmt: skip
CALLS = "Level Begin Schedule Cancel Wait Wake Count Frame".split()
FLAGS = [
    *"-std=c++20 -Oz -DNDEBUG -Iinclude -Isrc -idirafter /usr/include".split(),
    *"-sSINGLE_FILE=1 -sMODULARIZE=1 -sEXPORT_NAME=loadWheel -sENVIRONMENT=web".split(),
    *"-sFILESYSTEM=0 -sALLOW_MEMORY_GROWTH=1 -sEXPORTED_RUNTIME_METHODS=UTF8ToString".split(),
    "-sEXPORTED_FUNCTIONS=" + ",".join("_story" + call for call in CALLS),
]  # fmt: skip
ENGINE = re.compile(r"(?<=<script>\n)/\* (emcc [^*]*) \*/\n.*?(?=\n</script>)", re.DOTALL)


def compilerVersion():
    told = subprocess.run(["em++", "--version"], capture_output=True, text=True, check=True).stdout
    return "emcc " + re.search(r"\d+\.\d+\.\d+", told).group()


def compileEngine():
    # Debian's Emscripten finds Debian's JavaScript packages only where node is Debian's, too.
    environment = {**os.environ, "NODE_PATH": "/usr/share/nodejs"}
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "wheel.js"
        command = ["em++", *FLAGS, *SOURCES, "-o", str(out)]
        subprocess.run(command, cwd=ROOT, env=environment, check=True)
        return f"/* {compilerVersion()} */\n{out.read_text(encoding='utf-8').strip()}"


def fill(engine):
    def read(*names):
        return "\n\n".join((HERE / each).read_text(encoding="utf-8").strip() for each in names)

    page = read("page.html.in") + "\n"
    for name, text in {"style": read("page.css"), "engine": engine,
                       "script": read("story.js", "stage.js", "player.js")}.items():  # fmt: skip
        if name != "style" and "</script" in text:
            raise SystemExit(f"{name}: </script would end it")
        page = page.replace("{{" + name + "}}", text)
    return page


def check(withEngine):
    """What is wrong with the page; None if nothing is."""
    page = PAGE.read_text(encoding="utf-8")
    built = ENGINE.search(page)
    isStale = not built or page != fill(built.group())
    if not isStale and withEngine:
        if not shutil.which("em++"):
            print("skipped: Debian's emscripten is not installed")
            raise SystemExit(SKIPPED)
        if compilerVersion() != built.group(1):
            print(f"not compared: the engine, built with {built.group(1)}, not {compilerVersion()}")
        else:
            isStale = page != fill(compileEngine())
    return ("docs/walkthrough.html is not what src/apps/walkthrough makes: ./dev walkthrough "
            "renews it") if isStale else None  # fmt: skip


if __name__ == "__main__":
    if sys.argv[1:] in (["--check"], ["--check-parts"]):
        sys.exit(check(withEngine=sys.argv[1] == "--check"))
    PAGE.write_text(fill(compileEngine()), encoding="utf-8")
    print(f"== {PAGE}")
