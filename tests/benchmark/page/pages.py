"""Pages, and parts of pages, made of what is recorded: recorded/<name>.json has the last run of
each, so that prose can change without a run, and two pages show the same figure."""

import json
from pathlib import Path

import about
import choosing
import components
import performance
from markdown import fill, withPart
from tables import Wrong

BENCHMARKS = Path(__file__).resolve().parents[1]
RECORDED = BENCHMARKS / "recorded"
WHOLE = {"performance": performance.Performance, "choosing": choosing.Choosing}
PARTS = {"server": ("docs/asio.md", components.server),
         "calendars": ("docs/clocks.md", components.calendars),
         "store": ("docs/store.md", components.store)}  # fmt: skip


def save(record, file):
    lines = [f"{json.dumps(name)}: {json.dumps(value)}" for name, value in record.items()]
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text("{" + ",\n ".join(lines) + "}\n", encoding="utf-8")


def made(name, record, root):
    """{file: text} of all that a record is shown in."""

    def renewed(page, command, text):
        return {root / page: withPart((root / page).read_text(encoding="utf-8"), command, text)}

    if name in PARTS:
        page, render = PARTS[name]
        text = "\n\n".join(filter(None, (
            about.generated(record), about.warnings(record), render(record),
            f"Medians of {record['rounds']} rounds, in brackets the least and the most, on "
            f"{about.machine(record)}.")))  # fmt: skip
        return renewed(page, f"./dev bench {name}", f"\n{text}\n\n")
    page = WHOLE[name](record)
    template = (BENCHMARKS / f"{name}.md.in").read_text(encoding="utf-8")
    files = {root / "docs" / f"{name}.md": fill(template, page.valueOf).strip() + "\n"}
    if name == "performance":
        files |= renewed("README.md", "./dev bench", f"{page.readme()}\n")
    return files


def write(name, record, root):
    """Writes all of its pages, or, if one is wrong, none."""
    for file, text in made(name, record, root).items():
        file.write_text(text, encoding="utf-8")
        print(f"== {file}")


def recorded():
    for name in (*WHOLE, *PARTS):
        yield name, json.loads((RECORDED / f"{name}.json").read_text(encoding="utf-8"))


def check(root):
    """What is wrong: a page that is not what its record makes of it."""
    for name, record in recorded():
        try:
            for file, text in made(name, record, root).items():
                if file.read_text(encoding="utf-8") != text:
                    yield f"{file} is not what {name}.json makes of it: run.py pages"
        except Wrong as problem:
            yield f"{name}: {problem}"
