#!/usr/bin/env python3
"""The three numbers of the README, taken from the pages that measured them.

readme.py write      puts them there
readme.py check      they are what the pages say
readme.py self-test  the check notices what is wrong

Prints what is wrong and exits with 1.
"""

import re
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
OURS = "SystemTimer"
RIVALS = ["Asio steady_timer", "libevent", "libev", "libuv", "Netty 4.2"]
BEGIN, END = "<!-- numbers: ./dev bench writes them -->", "<!-- end of the numbers -->"
PART = re.compile(f"(?<={BEGIN}\n).*?(?={END})", re.DOTALL)


@dataclass
class Number:
    what: str
    page: str
    section: str  # its heading
    column: str
    unit: str
    command: str


NUMBERS = [
    Number("schedule and cancel a request's timeout, two threads", "benchmarks.md",
           "Request timeouts", "two threads, ns", " ns", "./dev bench"),
    Number("push an idle timeout back, two threads", "benchmarks.md",
           "Heartbeats", "100,000, two threads, ns", " ns", "./dev bench"),
    Number("wait for a million timers an hour away", "comparison.md", "Far timers, and idle ones",
           "far timers: % of a core", " % of a core", "./dev bench compare"),
]  # fmt: skip


def tableOf(text, section, column):
    """{row: the median that stands in that column}"""
    heading = re.escape(section)
    part = re.search(rf"^##+ {heading}\n(.*?)(?=^##+ |\Z)", text, re.DOTALL | re.MULTILINE)
    if part is None:
        raise ValueError(f'there is no section "{section}"')
    found, place = {}, None
    for line in part.group(1).splitlines():
        cells = [cell.strip() for cell in line.strip().strip("|").split("|")]
        if not line.startswith("|"):
            place = None
        elif column in cells:
            place = cells.index(column)
        elif place is not None and (number := re.match(r"[\d,.]+", cells[place])):
            found[cells[0]] = number.group()
    if OURS not in found:
        raise ValueError(f'"{section}" has no "{column}" of {OURS}')
    return found


def rows(root):
    for number in NUMBERS:
        text = (root / "docs" / number.page).read_text(encoding="utf-8")
        medians = tableOf(text, number.section, number.column)
        others = {name: medians[name] for name in RIVALS if name in medians}
        best = min(others, key=lambda name: float(others[name].replace(",", "")))
        worst = max(others, key=lambda name: float(others[name].replace(",", "")))
        left = [name for name in RIVALS if name not in medians]
        without = f"; without {', '.join(left)}" if left else ""
        anchor = re.sub(r"[^a-z0-9 -]", "", number.section.lower()).replace(" ", "-")
        yield (
            f"| {number.what} | **{medians[OURS]}{number.unit}** | "
            f"{others[best]} ({best}) to {others[worst]} ({worst}){without} | "
            f"[{number.command}](docs/{number.page}#{anchor}) |"
        )


def block(root):
    head = (
        "| on two cores | SystemTimer | others | "
        "repeated by |\n|---|---:|---:|---|\n"
    )
    return head + "\n".join(rows(root)) + "\n"


def check(root):
    part = PART.search((root / "README.md").read_text(encoding="utf-8"))
    if part is None:
        return [f"README.md has no numbers between {BEGIN} and {END}"]
    try:
        wanted = block(root)
    except (OSError, ValueError) as error:
        return [str(error)]
    if part.group() != wanted:
        return ["README.md: its numbers are not those of the pages: readme.py write"]
    return []


def write(root):
    readme = root / "README.md"
    wanted = block(root)
    text = PART.sub(lambda _: wanted, readme.read_text(encoding="utf-8"))
    readme.write_text(text, encoding="utf-8")
    return []


def selfTest(_):
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        (root / "docs").mkdir()
        for page in {number.page for number in NUMBERS}:
            text = "".join(
                f"## {number.section}\n\n|  | x | {number.column} |\n| --- | --- | --- |\n"
                f"| {OURS} | 9 | 1.5 [1.4, 1.6] |\n| libuv | 8 | 20.5 |\n| libev | 7 | 1,000 |\n"
                for number in NUMBERS
                if number.page == page
            )
            (root / "docs" / page).write_text(text, encoding="utf-8")
        (root / "README.md").write_text(f"x\n{BEGIN}\n{END}\ny\n", encoding="utf-8")
        wrong = []
        if not check(root):
            wrong.append("an empty block is not noticed")
        write(root)
        if check(root):
            wrong.append("what was written is wrong")
        text = (root / "README.md").read_text(encoding="utf-8")
        others = "20.5 (libuv) to 1,000 (libev); without Asio steady_timer, libevent, Netty 4.2"
        if f"| **1.5 ns** | {others} |" not in text:
            wrong.append(f"another table was wanted than {text}")
        (root / "README.md").write_text(text.replace("1.5 ns", "1.4 ns"), encoding="utf-8")
        if not check(root):
            wrong.append("another number is not noticed")
    return wrong


def main():
    calls = {"write": write, "check": check, "self-test": selfTest}
    if len(sys.argv) != 2 or sys.argv[1] not in calls:
        sys.exit(__doc__)
    problems = calls[sys.argv[1]](ROOT)
    print("\n".join(problems), end="\n" if problems else "")
    sys.exit(1 if problems else 0)


if __name__ == "__main__":
    main()
