#!/usr/bin/env python3
"""Makes docs/walkthrough.html: style, script and the engine in one file, which needs no network.

build.py           compiles the story to WebAssembly and writes the page
build.py --check   fails if its text, style or script, or what the engine is made of, has changed

The engine is the library's own wheels and src/apps/walkthrough, compiled by Debian's Emscripten.
Its first line in the page is a digest of what it is made of, so --check needs no compiler.
"""

import hashlib
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[3]
PAGE = ROOT / "docs" / "walkthrough.html"

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
ENGINE = re.compile(r"(?<=<script>\n)(/\* made of \w+ \*/)\n.*?(?=\n</script>)", re.DOTALL)
INCLUDE = re.compile(r'^#include [<"]((?:timingwheel|core|apps)/[^>"]+)', re.MULTILINE)
COMMENT = re.compile(r"^ *//.*\n", re.MULTILINE)


def digest():
    """Of the flags, and of the sources without their comments."""
    texts, left = {}, [str(name) for name in SOURCES]
    while left:
        if (name := left.pop()) in texts:
            continue
        texts[name] = COMMENT.sub("", (ROOT / name).read_text(encoding="utf-8"))
        left += [("include/" if each.startswith("timingwheel/") else "src/") + each
                 for each in INCLUDE.findall(texts[name])]  # fmt: skip
    made = repr((FLAGS, sorted(texts.items())))
    return f"/* made of {hashlib.sha256(made.encode()).hexdigest()[:16]} */"


def compiledEngine():
    # Debian's Emscripten finds Debian's JavaScript packages only where node is Debian's, too.
    environment = {**os.environ, "NODE_PATH": "/usr/share/nodejs"}
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "wheel.js"
        subprocess.run(["em++", *FLAGS, *SOURCES, "-o", out], cwd=ROOT, env=environment, check=True)
        return f"{digest()}\n{out.read_text(encoding='utf-8').strip()}"


def pageWith(engine):
    page = (HERE / "page.html.in").read_text(encoding="utf-8").strip() + "\n"
    parts = {name: "\n\n".join((HERE / file).read_text(encoding="utf-8").strip() for file in files)
             for name, files in PARTS.items()}  # fmt: skip
    for name, text in (parts | {"engine": engine}).items():
        assert name == "style" or "</script" not in text, f"{name}: </script would end it"
        page = page.replace("{{" + name + "}}", text)
    return page


def check():
    page = PAGE.read_text(encoding="utf-8")
    engine = ENGINE.search(page)
    if not engine or engine[1] != digest() or page != pageWith(engine[0]):
        sys.exit(f"{PAGE} is not what {HERE} makes: ./dev walkthrough renews it")


if __name__ == "__main__":
    if sys.argv[1:]:
        check()
    else:
        PAGE.write_text(pageWith(compiledEngine()), encoding="utf-8")
        print(f"== {PAGE}")
