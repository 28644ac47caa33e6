#!/usr/bin/env python3
"""The end of ./dev test: what did not run, and why, and what each part cost.

summary.py <folder>

The folder holds what the run has written down:

stages.tsv       for each stage its part of budget.toml, processor seconds, and seconds
left-out.tsv     for each step that ./dev left out: the part, the step, why
<part>/*.xml     what ctest says of each test, in JUnit's form

A part that took more than twice its share of processor time is pointed at, and no more: on a busy
host, or a slow one, each takes more. Exits with 1 where a part has no share, and in CI (CI=true)
where something did not run that budget.toml does not excuse: ./dev has installed what it needs.
"""

import fnmatch
import os
import re
import sys
import tomllib
import xml.etree.ElementTree as ElementTree
from pathlib import Path

BUDGET = Path(__file__).resolve().parent / "budget.toml"
TOO_MUCH = 2  # times its share
# A reason is one line: what follows it may be something that the library has printed.
REASON = re.compile(r"^skipped: (.+)$|: Skipped\n(?!\[ +SKIPPED)(.+)$", re.MULTILINE)


def rows(file, columns):
    if not file.exists():
        return []
    lines = file.read_text(encoding="utf-8").splitlines()
    found = [tuple(line.split("\t")) for line in lines]
    assert all(len(row) == columns for row in found), f"{file}: {found}"
    return found


# ---- what did not run --------------------------------------------------------------------------


def reasonOf(case):
    """What the test printed of it; ctest's own word where it printed nothing."""
    output = case.findtext("system-out") or ""
    found = REASON.search(output)
    if found:
        return (found.group(1) or found.group(2)).strip()
    skipped = case.find("skipped")
    message = skipped.get("message", "") if skipped is not None else ""
    return f"it does not say why ({message or case.get('status')})"


def notRun(file):
    """(test, why) of each test of a file that neither passed nor failed."""
    for case in ElementTree.parse(file).getroot().iter("testcase"):
        if case.get("status") in ("notrun", "disabled"):
            yield case.get("name").split("  #")[0], reasonOf(case)


def leftOut(folder):
    """{(what, why): parts}"""
    found = {}
    for part, step, why in rows(folder / "left-out.tsv", 3):
        found.setdefault((step, why), []).append(part)
    for file in sorted(folder.glob("*/*.xml")):
        for test, why in notRun(file):
            found.setdefault((test.removeprefix("left-out."), why), []).append(file.parent.name)
    return found


def isExcused(what, why, excuses):
    return any(fnmatch.fnmatchcase(what, excuse["what"]) and re.search(excuse["why"], why)
               for excuse in excuses)  # fmt: skip


def tellLeftOut(found, excuses, isCI):
    """Prints it, and returns what is wrong."""
    if not found:
        print("everything ran: no test was skipped, no step was left out")
        return []
    print("did not run:")
    wrong = []
    for (what, why), parts in sorted(found.items()):
        print(f"    {what} ({', '.join(sorted(set(parts)))}): {why}")
        if isCI and not isExcused(what, why, excuses):
            wrong.append(f"{what} did not run, though ./dev installs what it needs: {why}")
    return wrong


# ---- what it cost ------------------------------------------------------------------------------


def spent(folder):
    """{part: (processor seconds, seconds)}"""
    found = {}
    for part, processor, seconds in rows(folder / "stages.tsv", 3):
        before = found.get(part, (0, 0))
        found[part] = (before[0] + float(processor), before[1] + float(seconds))
    return found


def tellCosts(found, parts):
    """Prints them, and returns what is wrong."""
    print(f"{'minutes of':<16}{'processor':>10}{'its share':>11}{'on the clock':>14}")
    wrong = []
    for part, (processor, seconds) in found.items():
        share = parts.get(part, {}).get("minutes")
        if share is None:
            wrong.append(f"{part} has no share in {BUDGET.name}")
            share = 0
        isTooMuch = share and processor / 60 > TOO_MUCH * share
        print(f"{part:<16}{processor / 60:>10.1f}{share:>11.1f}{seconds / 60:>14.1f}",
              *([f"<- more than {TOO_MUCH} times its share"] if isTooMuch else []))  # fmt: skip
    whole = [sum(values) / 60 for values in zip(*found.values())] or [0, 0]
    share = sum(parts.get(part, {}).get("minutes", 0) for part in found)
    print(f"{'together':<16}{whole[0]:>10.1f}{share:>11.1f}{whole[1]:>14.1f}")
    return wrong


def summarise(folder, budget, isCI):
    wrong = tellLeftOut(leftOut(folder), budget.get("excuse", []), isCI)
    print()
    return wrong + tellCosts(spent(folder), budget["part"])


def read(file):
    budget = tomllib.loads(file.read_text(encoding="utf-8"))
    whole = sum(part["minutes"] for part in budget["part"].values())
    assert whole <= budget["minutes"], f"{file}: {whole:.1f} minutes, {budget['minutes']} at most"
    return budget


def main(arguments):
    if len(arguments) != 1:
        print(__doc__)
        return 2
    wrong = summarise(Path(arguments[0]), read(BUDGET), os.environ.get("CI") == "true")
    for line in wrong:
        print(f"wrong: {line}")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
