#!/usr/bin/env python3
"""Makes docs/walkthrough.md and its drawings from what timingwheel-walkthrough-facts prints.

walkthrough.md.in is the page with its prose; what stands in {{braces}} is a Python expression over
the stories of the library's wheels. With --compare it fails if the page is not as in a folder.
"""

import argparse
import difflib
import json
import re
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import drawings

HERE = Path(__file__).resolve().parent

# No number in the prose is typed by hand, but names of levels, code, the time 0 and a year.
NOT_TYPED = re.compile(
    r"{{.*?}}|`\.levelSizes.*?`|\[Decision \d+(?=\])|\]\([^)]*\)|[Ll]evels? \d\b|\b(time|at) 0\b"
    r"|\(1987\)|^\d+\. ", re.MULTILINE)  # fmt: skip


def text(place):
    return f"{place.level}:{place.slot}@{place.expiration}"


class Story:
    """The frames of one story."""

    def __init__(self, frames):
        self.frames = frames
        self.last = frames[-1]
        self.tasks = self.last.tasks

    def stages(self, stage, task=None):
        return [frame for frame in self.frames
                if frame.stage == stage and task in (None, frame.task)]  # fmt: skip

    def sentence(self, stage, number=0, task=None):
        return self.stages(stage, task)[number].sentence

    def places(self, task):
        """Where a task was placed, one after the other."""
        placed = [*self.stages("place", task), *self.stages("cascade", task)]
        return [frame.to for frame in placed]

    def taskOf(self, delay):
        return next(i for i, task in enumerate(self.tasks) if task.delay == delay)

    def beforeTheFirstWakeUp(self):
        return self.frames[self.frames.index(self.stages("wake")[0]) - 1]

    def wakeUps(self):
        """For each: the frame before it, its own, those of the tasks it took out."""
        found = []
        for i, frame in enumerate(self.frames):
            if frame.stage == "wake":
                found.append((self.frames[i - 1], frame, []))
            elif found and frame.stage in ("cascade", "run"):
                found[-1][2].append(frame)
        return found


def ms(ticks):
    return f"{ticks:,} ms"


def table(header, rows):
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


class Facts:
    """What the template's expressions may use."""

    def __init__(self, document):
        for name in ("example", "again", "twice", "cancelled"):
            setattr(self, name, Story(getattr(document, name)))
        self.slots = self.example.last.levels[0].slots

    def width(self, level):
        return ms(self.example.last.levels[level].granularity)

    def reach(self, level):
        return f"{self.example.last.levels[level].interval - 1:,}"

    def expiration(self, delay):
        """Of the last bucket of the example's task."""
        return f"{self.example.places(self.example.taskOf(delay))[-1].expiration:,}"

    def exampleTable(self):
        rows = []
        for number, task in enumerate(self.example.tasks):
            assert task.endedAt == task.deadline, task
            places = self.example.places(number)
            wakes = [frame.now for frame in self.example.stages("cascade", number)]
            cascades = [f"at {at:,} to `{text(place)}`" for at, place in zip(wakes, places[1:])]
            rows.append([f"**{task.name}** {task.delay:,}", f"`{text(places[0])}`",
                         ", ".join(cascades) or "none", f"{task.endedAt:,}"])  # fmt: skip
        return table(["delay, ms", "first place", "cascades", "runs at"], rows)

    def wayDown(self):
        task = self.example.taskOf(drawings.FOLLOWED)
        told = [frame for stage in ("place", "cascade", "run")
                for frame in self.example.stages(stage, task)]  # fmt: skip
        return "\n".join(f"{i}. {frame.sentence}" for i, frame in enumerate(told, 1))

    def wakeUpTable(self):
        rows = []
        for before, woken, taken in self.example.wakeUps():
            did = [f"{frame.tasks[frame.task].name} to {frame.to.level}:{frame.to.slot}"
                   if frame.to else f"**{frame.tasks[frame.task].name} runs**"
                   for frame in taken]  # fmt: skip
            left = vars(woken)["from"]
            rows.append([f"{woken.now:,}", f"{woken.now - before.now:,}",
                         f"{left.level}:{left.slot}", ", ".join(did),
                         " ".join(f"{bucket.expiration:,}" for bucket in taken[-1].heap)
                         or "empty"])  # fmt: skip
        return table(["at", "slept, ms", "bucket", "its tasks", "heap after"], rows)

    def slept(self, at):
        return next(ms(woken.now - before.now) for before, woken, _ in self.example.wakeUps()
                    if woken.now == at)  # fmt: skip

    def valueOf(self, asked):
        known = {name: getattr(self, name) for name in dir(self) if not name.startswith("_")}
        try:
            return str(eval(asked, {"ms": ms, "text": text, **known}))
        except (AssertionError, LookupError, StopIteration) as error:
            raise SystemExit(f"walkthrough.md.in: {{{{{asked}}}}}: "
                             f"the library no longer does that: {error!r}") from error  # fmt: skip


def files(facts):
    template = (HERE / "walkthrough.md.in").read_text(encoding="utf-8")
    for line in NOT_TYPED.sub("", template).splitlines():
        if re.search(r"\d", line):
            raise SystemExit(f"walkthrough.md.in: a number is typed by hand: {line}")
    page = re.sub(r"{{(.*?)}}", lambda match: facts.valueOf(match.group(1)), template)
    return {"walkthrough.md": page,
            **{f"walkthrough/{name}": text for name, text in drawings.allOf(facts).items()}}


def differences(made, folder):
    """What is not as in the folder, as lines to be printed."""
    for path in {*made, *(f"walkthrough/{svg.name}" for svg in folder.glob("walkthrough/*.svg"))}:
        old = (folder / path).read_text(encoding="utf-8") if (folder / path).exists() else ""
        yield from list(difflib.unified_diff(
            old.splitlines(), made.get(path, "").splitlines(), f"docs/{path}",
            "what the library does now", lineterm="", n=0))[:20]  # fmt: skip


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("program", help="timingwheel-walkthrough-facts")
    parser.add_argument("folder", type=Path, help="where the page is written")
    parser.add_argument("--compare", type=Path, help="fail if it is not as in this folder")
    options = parser.parse_args()

    told = subprocess.run([options.program], capture_output=True, text=True, check=False)
    if told.returncode != 0:
        raise SystemExit(f"{told.stderr}\n{options.program} ended with {told.returncode}: the "
                         "library no longer does what docs/walkthrough.md tells")  # fmt: skip
    made = files(Facts(json.loads(told.stdout, object_hook=lambda of: SimpleNamespace(**of))))
    for name, text in made.items():
        path = options.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    found = list(differences(made, options.compare)) if options.compare else []
    if found:
        print(*found, sep="\n")
        print("\ndocs/walkthrough.md is not what the library does: ./dev walkthrough renews it")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
