"""What the program timingwheel-walkthrough-facts told, in the terms of the text."""

from dataclasses import dataclass

# What a Cost (Ways.h) counts, as the text calls it.
COLUMNS = {"threads": "threads", "slots": "slots", "comparisons": "comparisons",
           "lookedAt": "looks in vain", "moves": "moves", "wakeUps": "wake-ups"}  # fmt: skip


@dataclass
class Place:
    level: int
    slot: int
    expiration: int

    def __str__(self):
        return f"{self.level}:{self.slot}@{self.expiration}"


def grouped(number):
    return f"{number:,}"


def counted(number, what):
    return f"{grouped(number)} {what}{'' if number == 1 else 's'}"


class Story:
    """The frames of one story."""

    def __init__(self, frames):
        self.frames = frames
        self.last = frames[-1]
        self.tasks = self.last["tasks"]

    def stages(self, stage, task=None):
        return [frame for frame in self.frames
                if frame["stage"] == stage and task in (None, frame.get("task"))]  # fmt: skip

    def places(self, task):
        """Where a task was placed, one after the other."""
        placed = [*self.stages("place", task), *self.stages("cascade", task)]
        return [Place(**frame["to"]) for frame in placed]

    def beforeTheFirstWakeUp(self):
        first = self.frames.index(self.stages("wake")[0])
        return self.frames[first - 1]

    def wakeUps(self):
        """For each: the frame before it, its own, those of the tasks it took out."""
        found = []
        for i, frame in enumerate(self.frames):
            if frame["stage"] == "wake":
                found.append((self.frames[i - 1], frame, []))
            elif found and frame["stage"] in ("cascade", "run"):
                found[-1][2].append(frame)
        return found


class Facts:
    def __init__(self, document):
        self.document = document
        self.wheelSize = document["wheelSize"]
        self.stories = {name: Story(frames) for name, frames in document["stories"].items()}
        self.example = self.stories["example"]
        self.levels = document["levels"]

    def taskOf(self, delay):
        """The number of the example's task with this delay."""
        return next(i for i, task in enumerate(self.example.tasks) if task["delay"] == delay)

    def cost(self, load, way):
        names = ["threads", "list", "heap", "rounds", "long", "overflow", "ticking", "levels"]
        return self.document["ways"][load][names.index(way)]
