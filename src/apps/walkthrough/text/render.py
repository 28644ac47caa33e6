#!/usr/bin/env python3
"""Makes docs/walkthrough.md and its drawings from what timingwheel-walkthrough-facts prints.

render.py <that program>           writes them
render.py <that program> --check   fails if they are not what comes of it

walkthrough.md.in is the page with its prose; what stands in {{braces}} is a Python expression over
the stories of the library's wheels.
"""

import json
import re
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import drawings

HERE = Path(__file__).resolve().parent
DOCS = HERE.parents[3] / "docs"

# No number in the prose is typed by hand, but names of levels, code, the time 0 and a year.
NOT_TYPED = re.compile(
    r"{{.*?}}|`\.levelSizes.*?`|\[Decision \d+(?=\])|\]\([^)]*\)|[Ll]evels? \d\b|\b(time|at) 0\b"
    r"|\(1987\)|`tests/\S+`|^\d+\. ", re.MULTILINE)  # fmt: skip


def text(place):
    return f"{place.level}:{place.slot}@{place.expiration}"


class Story:
    """The frames of one story."""

    def __init__(self, frames):
        self.frames, self.last, self.tasks = frames, frames[-1], frames[-1].tasks

    def stages(self, stage, task=None):
        return [frame for frame in self.frames
                if frame.stage == stage and task in (None, frame.task)]  # fmt: skip

    def sentence(self, stage, number=0, task=None):
        return self.stages(stage, task)[number].sentence

    def places(self, task):
        """Where a task was placed, one after the other."""
        return [frame.to for stage in ("place", "cascade") for frame in self.stages(stage, task)]

    def taskOf(self, delay):
        return next(i for i, task in enumerate(self.tasks) if task.delay == delay)

    def beforeTheFirstWakeUp(self):
        return self.wakeUps()[0][0]

    def wakeUps(self):
        """For each: the frame before it, its own, those of the tasks it took out."""
        found = []
        for before, frame in zip(self.frames, self.frames[1:]):
            if frame.stage == "wake":
                found.append((before, frame, []))
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
        self.levels, self.ms, self.text = self.example.last.levels, ms, text
        self.slots = self.levels[0].slots

    def width(self, level):
        return ms(self.levels[level].granularity)

    def reach(self, level):
        return f"{self.levels[level].interval - 1:,}"

    def expiration(self, delay):
        """Of the last bucket of the example's task."""
        return f"{self.example.places(self.example.taskOf(delay))[-1].expiration:,}"

    def exampleTable(self):
        rows = []
        for number, task in enumerate(self.example.tasks):
            assert task.endedAt == task.deadline, task
            first, *places = map(text, self.example.places(number))
            wakes = [frame.now for frame in self.example.stages("cascade", number)]
            cascades = [f"at {at:,} to `{place}`" for at, place in zip(wakes, places)]
            rows.append([f"**{task.name}** {task.delay:,}", f"`{first}`",
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
            left, heap = vars(woken)["from"], taken[-1].heap
            rows.append([f"{woken.now:,}", f"{woken.now - before.now:,}",
                         f"{left.level}:{left.slot}", ", ".join(did),
                         " ".join(f"{bucket.expiration:,}" for bucket in heap)
                         or "empty"])  # fmt: skip
        return table(["at", "slept, ms", "bucket", "its tasks", "heap after"], rows)

    def slept(self, at):
        return next(ms(woken.now - before.now) for before, woken, _ in self.example.wakeUps()
                    if woken.now == at)  # fmt: skip

    def valueOf(self, asked):
        known = {name: getattr(self, name) for name in dir(self) if not name.startswith("_")}
        try:
            return str(eval(asked, known))
        except (AssertionError, LookupError, StopIteration) as error:
            raise SystemExit(f"walkthrough.md.in: {{{{{asked}}}}}: "
                             f"the library no longer does that: {error!r}") from error  # fmt: skip


def files(facts):
    template = (HERE / "walkthrough.md.in").read_text(encoding="utf-8")
    for line in NOT_TYPED.sub("", template).splitlines():
        if re.search(r"\d", line):
            raise SystemExit(f"walkthrough.md.in: a number is typed by hand: {line}")
    page = re.sub(r"{{(.*?)}}", lambda match: facts.valueOf(match.group(1)), template)
    return {DOCS / "walkthrough.md": page,
            **{DOCS / "walkthrough" / name: drawn
               for name, drawn in drawings.allOf(facts).items()}}  # fmt: skip


def main(program, *options):
    told = subprocess.run([program], capture_output=True, text=True, check=False)
    if told.returncode != 0:
        sys.exit(f"{told.stderr}\n{program} ended with {told.returncode}: the library no longer "
                 "does what docs/walkthrough.md tells")  # fmt: skip
    made = files(Facts(json.loads(told.stdout, object_hook=lambda of: SimpleNamespace(**of))))
    if options == ("--check",):
        found = {*made, *DOCS.glob("walkthrough/*.svg")}
        stale = [str(file) for file in found
                 if not file.exists() or file.read_text("utf-8") != made.get(file)]  # fmt: skip
        if stale:
            sys.exit(f"not what the library does: {', '.join(stale)}: ./dev walkthrough does that")
    else:
        for file, written in made.items():
            file.write_text(written, encoding="utf-8")


if __name__ == "__main__":
    main(*sys.argv[1:])
