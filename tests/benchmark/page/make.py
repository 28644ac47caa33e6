"""Makes a page of what was measured: its prose, with what the page.py of each of its sets makes of
the numbers in place of {{what stands in braces}}.

A page.py has values(run), what the placeholders stand for, a text or a function of the words behind
the name, and plots(run, folder).
"""

import importlib.util
import sys
from pathlib import Path

import about
from markdown import fill
from seal import sealed

BENCHMARKS = Path(__file__).resolve().parents[1]


def loadPage(set_):
    """The set's page.py: a module of its own, which finds the modules of its folder."""
    folder = BENCHMARKS / set_
    sys.path.append(str(folder))
    specification = importlib.util.spec_from_file_location(f"{set_}Page", folder / "page.py")
    module = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(module)
    return module


def filled(template, known):
    def valueOf(what):
        name, *words = what.split()
        value = known[name]
        return value(*words) if callable(value) else value

    return fill((BENCHMARKS / template).read_text(encoding="utf-8"), valueOf)


def chapter(set_, run, plots):
    """The text of a set, with its plots in the folder."""
    module = loadPage(set_)
    module.plots(run, plots)
    template = f"{set_}/page.md.in"
    common = {
        "generated": lambda: about.generated(run, template),
        "warnings": lambda: about.warnings(run),
        "machine": lambda: about.machine(run),
    }
    return filled(template, {**common, **module.values(run)})


def ofSeveral(template, runs, plots):
    """A page with prose of its own around its chapters. One that was not measured is left out."""
    commits = {run["machine"]["commit"] for run in runs.values()}
    if len(commits) > 1:
        sys.exit(f"the parts were measured at different commits: {', '.join(sorted(commits))}")
    first = next(iter(runs.values()))
    # What is measured later follows a part that kept the machine busy.
    whole = {**first, "seconds": sum(run["seconds"] for run in runs.values()),
             "whyNoJava": None, "errors": []}  # fmt: skip
    if any(run.get("size", "full") != "full" for run in runs.values()):
        whole["size"] = "quick"
    known = {
        "wheel": "", "timers": "",
        **{set_: chapter(set_, run, plots) for set_, run in runs.items()},
        "generated": about.generated(whole, template, " and in the folders beside it"),
        "warnings": about.warnings(whole),
        "dead-ends": (BENCHMARKS / "dead-ends.md").read_text(encoding="utf-8").strip(),
    }  # fmt: skip
    return filled(template, known)


def page(name, runs, docs):
    """Writes the page and its plots; returns its file."""
    template = f"{name}.md.in"
    isOfSeveral = (BENCHMARKS / template).exists()
    # A chapter alone has its plots where the page has them.
    plots = docs / ("benchmarks" if name in ("wheel", "timers") else name)
    plots.mkdir(parents=True, exist_ok=True)
    if isOfSeveral:
        text = ofSeveral(template, runs, plots)
    else:
        (set_, run), = runs.items()
        text = chapter(set_, run, plots)
    file = docs / f"{name}.md"
    file.write_text(sealed(text, plots), encoding="utf-8")
    return file
