#!/usr/bin/env python3
"""Makes docs/benchmarks.md and its plots from what the benchmarks measured.

benchmarks.md.in is the page; each part is a folder beside it with a page.md.in, whose placeholders
and plots its page.py makes of <part>.json. A part that was not measured is left out.
"""

import argparse
import importlib.util
import json
import sys
from pathlib import Path

from markdown import fill
from seal import sealed

HERE = Path(__file__).resolve().parent
BENCHMARKS = HERE.parent
PARTS = ["wheel", "timers"]


def loadPage(part):
    """The part's page.py: a module of its own, which finds the modules of its folder."""
    folder = BENCHMARKS / part
    sys.path.append(str(folder))
    specification = importlib.util.spec_from_file_location(f"{part}_page", folder / "page.py")
    module = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(module)
    return module


def chunk(part, data, plots):
    page = loadPage(part)
    page.plots(data, plots)
    known = page.values(data)
    template = (BENCHMARKS / part / "page.md.in").read_text(encoding="utf-8")
    return fill(template, lambda name: known[name.strip()])


def generated(measured):
    first = next(iter(measured.values()))
    seconds = sum(data["seconds"] for data in measured.values())
    return (f"Written by `{first['command']}` on {first['date']}, commit "
            f"{first['machine']['commit']}, in {seconds // 60} min {seconds % 60} s. Do not edit: "
            "the prose is in [benchmarks.md.in](../tests/benchmark/benchmarks.md.in) and in the "
            "folders beside it.")  # fmt: skip


def warnings(measured):
    found = []
    if any(data.get("size", "full") != "full" for data in measured.values()):
        found.append("This was a quick run: too short to conclude anything from.")
    loads = [data["machine"]["loadBefore"] for data in measured.values()]
    # What is measured later follows a part that kept the machine busy.
    if loads[0] > 0.5:
        found.append(f"The machine was not quiet: a load of {loads[0]:.1f} before the run began.")
    return "\n".join(f"> **Note:** {text}\n" for text in found).strip()


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("build", type=Path, help="where the parts' JSON files are")
    parser.add_argument("docs", type=Path, help="where benchmarks.md and benchmarks/ go")
    options = parser.parse_args()
    plots = options.docs / "benchmarks"
    plots.mkdir(parents=True, exist_ok=True)

    measured = {}
    for part in PARTS:
        file = options.build / f"{part}.json"
        if file.exists() and (BENCHMARKS / part / "page.py").exists():
            measured[part] = json.loads(file.read_text(encoding="utf-8"))
    if not measured:
        sys.exit(f"nothing was measured: there is no JSON file in {options.build}")
    commits = {data["machine"]["commit"] for data in measured.values()}
    if len(commits) > 1:
        sys.exit(f"the parts were measured at different commits: {', '.join(sorted(commits))}")
    known = {part: chunk(part, data, plots) for part, data in measured.items()}
    known["generated"] = generated(measured)
    known["warnings"] = warnings(measured)
    known["dead ends"] = (BENCHMARKS / "dead-ends.md").read_text(encoding="utf-8").strip()
    template = (BENCHMARKS / "benchmarks.md.in").read_text(encoding="utf-8")
    page = options.docs / "benchmarks.md"
    text = sealed(fill(template, lambda name: known.get(name, "")), plots)
    page.write_text(text, encoding="utf-8")
    print(f"== {page}")


if __name__ == "__main__":
    main()
