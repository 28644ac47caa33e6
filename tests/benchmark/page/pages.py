"""Pages, and parts of pages, made of what is recorded: recorded/<name>.json has the last run of
each, so that prose can change without a run, and two pages show the same figure."""

import json
from pathlib import Path

import about
import choosing
import components
import performance
from markdown import fill
from tables import CLAIM, Wrong

BENCHMARKS = Path(__file__).resolve().parents[1]
RECORDED = BENCHMARKS / "recorded"
WHOLE = {"performance": performance, "choosing": choosing}
PARTS = {"server": ("asio.md", components.server), "calendars": ("clocks.md", components.calendars),
         "store": ("store.md", components.store)}  # fmt: skip
MARKS = "<!-- written by {0}: begin -->\n", "<!-- written by {0}: end -->"
OF_README = "<!-- numbers: ./dev bench writes them -->\n", "<!-- end of the numbers -->"


def commandOf(name):
    return "./dev bench" if name == "performance" else f"./dev bench {name}"


def save(record, file):
    lines = [f"{json.dumps(name)}: {json.dumps(value)}" for name, value in record.items()]
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text("{" + ",\n ".join(lines) + "}\n", encoding="utf-8")


def withPart(page, marks, text):
    begin, end = marks
    if begin not in page or end not in page:
        raise Wrong(f"there is no {begin.strip()}")
    before, _, rest = page.partition(begin)
    return f"{before}{begin}{text}{end}{rest.partition(end)[2]}"


def made(name, record, root):
    """{file: text} of all that a record is shown in."""
    if name in PARTS:
        page, render = PARTS[name]
        text = "\n\n".join(filter(None, (
            about.generated(record), about.warnings(record), render(record),
            f"Medians of {record['rounds']} rounds, in brackets the least and the most, on "
            f"{about.machine(record)}.")))  # fmt: skip
        file = root / "docs" / page
        marks = [mark.format(commandOf(name)) for mark in MARKS]
        return {file: withPart(file.read_text(encoding="utf-8"), marks, f"\n{text}\n\n")}
    values, parts = WHOLE[name].render(record)
    values |= {
        "generated": lambda: about.generated(record),
        "warnings": lambda: about.warnings(record),
        "machine": lambda: about.machine(record),
        "rounds": lambda: str(record["rounds"]),
        "claim": lambda: f"{100 * CLAIM:.0f}",
    }
    template = BENCHMARKS / f"{name}.md.in"
    text = fill(template.read_text(encoding="utf-8"), lambda what: values[what]())
    files = {root / "docs" / f"{name}.md": text.strip() + "\n"}
    for page, render in parts.items():
        old = (root / page).read_text(encoding="utf-8")
        files[root / page] = withPart(old, OF_README, f"{render()}\n")
    return files


def recorded():
    for name in (*WHOLE, *PARTS):
        file = RECORDED / f"{name}.json"
        yield name, json.loads(file.read_text(encoding="utf-8"))


def write(root):
    for name, record in recorded():
        for file, text in made(name, record, root).items():
            file.write_text(text, encoding="utf-8")


def check(root):
    """What is wrong: a page that is not what its record makes of it."""
    wrong = []
    for name, record in recorded():
        try:
            wrong += [f"{file.relative_to(root)} is not what {name}.json makes of it: run.py pages"
                      for file, text in made(name, record, root).items()
                      if not file.exists() or file.read_text(encoding="utf-8") != text]  # fmt: skip
        except Wrong as problem:
            wrong += [f"{name}: {line}" for line in str(problem).splitlines()]
    return wrong
