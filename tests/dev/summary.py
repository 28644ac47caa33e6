#!/usr/bin/env python3
"""The end of ./dev test: what did not run, and why, and what each part cost.

summary.py <folder>

The folder holds what the run has written down:

stages.tsv       for each stage its part of budget.toml, build or run, processor seconds, seconds
left-out.tsv     for each step that was left out: the part, the step, why
<part>/*.xml     what ctest says of each test, in JUnit's form

Exits with 1 where a part has no share. In CI (CI=true) also where a part took more than three times
its share of processor time, and where something did not run that budget.toml does not excuse: ./dev
has installed what it needs.
"""

import fnmatch
import os
import re
import sys
import textwrap
import tomllib
import xml.etree.ElementTree as ElementTree
from collections import Counter, defaultdict
from pathlib import Path

BUDGET = Path(__file__).resolve().parent / "budget.toml"
TOO_MUCH = 3  # times its share
# A reason is one line: what follows it may be something that the library has printed.
REASON = re.compile(r"^skipped: (.+)$|: Skipped\n(?!\[ +SKIPPED)(.+)$", re.MULTILINE)


def rows(file):
    return [line.split("\t") for line in file.read_text().splitlines()] if file.exists() else []


def leftOut(folder):
    """{(what neither passed nor failed, why): the parts in which that is so}"""
    found = defaultdict(set)
    for part, step, why in rows(folder / "left-out.tsv"):
        found[step, why].add(part)
    for file in folder.glob("*/*.xml"):
        for case in ElementTree.parse(file).iter("testcase"):
            if case.get("status") not in ("notrun", "disabled"):
                continue
            said = REASON.search(case.findtext("system-out") or "")
            code = case.find("skipped[@message]")
            why = ((said[1] or said[2]).strip() if said else
                   f"it does not say why ({'' if code is None else code.get('message')})")
            name = case.get("name").split("  #")[0].removeprefix("left-out.")
            found[name, why].add(file.parent.name)
    return found


def tellLeftOut(folder, excuses, isCI):
    """Prints it, and returns what is wrong."""
    found = leftOut(folder)
    print("\ndid not run:" if found else "\nno test was skipped, no step left out")
    for (what, why), parts in sorted(found.items()):
        print(textwrap.fill(f"{what} ({', '.join(sorted(parts))}): {why}", 110,
                            initial_indent="    ", subsequent_indent="        "))  # fmt: skip
        if isCI and not any(fnmatch.fnmatchcase(what, excused) and re.search(because, why)
                            for excused, because in excuses):  # fmt: skip
            yield f"{what} did not run, though ./dev installs what it needs: {why}"


def tellCosts(folder, shares, isCI):
    """Prints them, and returns what is wrong."""
    spent = defaultdict(Counter)
    for part, kind, processor, seconds in rows(folder / "stages.tsv"):
        spent[part] += Counter({kind: float(processor) / 60, "clock": float(seconds) / 60})
    shares = {part: shares.get(part, 0) for part in spent}
    print("\nprocessor minutes  compiling  running   both  share  on the clock")
    for part, took, share in [*((part, took, shares[part]) for part, took in spent.items()),
                              ("together", sum(spent.values(), Counter()), sum(shares.values()))]:
        both = took["build"] + took["run"]
        isTooMuch = both > TOO_MUCH * share and part != "together"
        print(f"{part:<18}{took['build']:>10.1f}{took['run']:>9.1f}{both:>7.1f}{share:>7.1f}"
              f"{took['clock']:>14.1f}{'  TOO MUCH' if isTooMuch else ''}")  # fmt: skip
        if not share and part != "together":
            yield f"{part} has no share in {BUDGET.name}"
        elif isTooMuch and isCI:
            yield f"{part} took {both:.1f} minutes, more than {TOO_MUCH} times its {share}"


if __name__ == "__main__":
    budget, isCI = tomllib.loads(BUDGET.read_text("utf-8")), os.environ.get("CI") == "true"
    assert sum(budget["share"].values()) <= budget["whole"], f"{BUDGET}: more than the whole"
    wrong = [*tellLeftOut(Path(sys.argv[1]), budget["excuses"]["all"], isCI),
             *tellCosts(Path(sys.argv[1]), budget["share"], isCI)]  # fmt: skip
    sys.exit("\n".join(f"wrong: {line}" for line in wrong) or None)
