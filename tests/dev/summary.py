#!/usr/bin/env python3
"""The end of ./dev test: what did not run, and why, and what each part cost.

summary.py <folder>

The folder holds what the run has written down:

stages.tsv       for each stage its part of budget.toml, build or run, processor seconds, seconds
left-out.tsv     for each step that was left out: the part, the step, why
<part>/*.xml     what ctest says of each test, in JUnit's form

Exits with 1 where a part has no share. In CI (CI=true) also where a part took more than twice its
share of processor time, and where something did not run that budget.toml does not excuse: ./dev
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
TOO_MUCH = 2  # times its share
# A reason is one line: what follows it may be something that the library has printed.
REASON = re.compile(r"^skipped: (.+)$|: Skipped\n(?!\[ +SKIPPED)(.+)$", re.MULTILINE)


def rows(file):
    return [line.split("\t") for line in file.read_text().splitlines()] if file.exists() else []


def notRun(file):
    """(test, why) of each test of a file that neither passed nor failed."""
    for case in ElementTree.parse(file).getroot().iter("testcase"):
        if case.get("status") in ("notrun", "disabled"):
            skipped = case.find("skipped")
            message = skipped.get("message") if skipped is not None else ""
            found = REASON.search(case.findtext("system-out") or "")
            why = found and (found[1] or found[2]).strip()
            yield (case.get("name").split("  #")[0].removeprefix("left-out."),
                   why or f"it does not say why ({message or case.get('status')})")  # fmt: skip


def leftOut(folder):
    """{(what, why): parts}"""
    found = defaultdict(set)
    for part, step, why in rows(folder / "left-out.tsv"):
        found[step, why].add(part)
    for file in folder.glob("*/*.xml"):
        for what in notRun(file):
            found[what].add(file.parent.name)
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
    line = "{:<18}{:>10.1f}{:>9.1f}{:>7.1f}{:>7.1f}{:>14.1f}  {}"
    print("\nprocessor minutes  compiling  running   both  share  on the clock")
    for part, took in spent.items():
        both, share = took["build"] + took["run"], shares.get(part, 0)
        isTooMuch = both > TOO_MUCH * share
        print(line.format(part, took["build"], took["run"], both, share, took["clock"],
                          "TOO MUCH" * isTooMuch).rstrip())  # fmt: skip
        if not share:
            yield f"{part} has no share in {BUDGET.name}"
        elif isTooMuch and isCI:
            yield f"{part} took {both:.1f} minutes, more than {TOO_MUCH} times its {share}"
    all_ = sum(spent.values(), Counter())
    print(line.format("together", all_["build"], all_["run"], all_["build"] + all_["run"],
                      sum(shares.get(part, 0) for part in spent), all_["clock"], "").rstrip())


def read(file):
    budget = tomllib.loads(file.read_text(encoding="utf-8"))
    whole = sum(budget["share"].values())
    assert whole <= budget["whole"], f"{file}: {whole} minutes, {budget['whole']} at most"
    return budget


def summarise(folder, budget, isCI):
    return [*tellLeftOut(folder, budget["excuses"]["all"], isCI),
            *tellCosts(folder, budget["share"], isCI)]  # fmt: skip


if __name__ == "__main__":
    wrong = summarise(Path(sys.argv[1]), read(BUDGET), os.environ.get("CI") == "true")
    sys.exit("\n".join(f"wrong: {line}" for line in wrong) or None)
