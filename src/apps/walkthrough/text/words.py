"""What stands in the {{braces}} of walkthrough.md.in."""

from example import COLUMNS, grouped
from markdown import table, textTable

MS_OF_YEAR = 1000 * 60 * 60 * 24 * 365.25


def short(value):
    return f"{value:.1f}" if value < 100 else grouped(round(value))


def span(ticks):
    """A time in ms as one says it; rounded to three digits from minutes on."""
    for unit, length in (("years", MS_OF_YEAR), ("days", 86_400_000), ("h", 3_600_000),
                         ("min", 60_000), ("s", 1000)):  # fmt: skip
        if ticks >= length:
            value = ticks / length
            return f"{value:.3g} {unit}" if value < 1000 else f"{grouped(round(value))} {unit}"
    return f"{ticks} ms"


UNITS = ["seconds", "minutes", "hours", "days"]  # levels as in a clock


def timeOfDay(second):
    day, second = divmod(second, 86_400)
    time = f"{second // 3600}:{second // 60 % 60:02}:{second % 60:02}"
    return f"{time} of day {day + 1}" if day else time


class Words:
    def __init__(self, facts):
        self.facts = facts
        self.example = facts.example

    def valueOf(self, asked):
        name, *arguments = asked.split()
        try:
            return str(getattr(self, name)(*arguments))
        except (AssertionError, LookupError, StopIteration) as error:
            raise SystemExit(f"walkthrough.md.in: {{{{{asked}}}}}: "
                             f"the library no longer does that: {error!r}") from error  # fmt: skip

    # ---- the example ---------------------------------------------------------------------------

    def wheelSize(self):
        return self.facts.wheelSize

    def granularity(self, level):
        return f"{grouped(self.facts.levels[int(level)]['granularity'])} ms"

    def reach(self, level):
        return grouped(self.facts.levels[int(level)]["interval"] - 1)

    def tasks(self):
        return len(self.example.tasks)

    def wakeUps(self):
        return self.example.last["wakeUps"]

    def last(self):
        return f"{grouped(self.example.last['now'])} ms"

    def armed(self):
        return len(self.example.beforeTheFirstWakeUp()["heap"])

    def slots(self):
        return len(self.example.last["levels"]) * self.facts.wheelSize

    def delay(self, delay):
        return f"{grouped(self.example.tasks[self.facts.taskOf(int(delay))]['delay'])} ms"

    def expiration(self, delay, number):
        place = self.example.places(self.facts.taskOf(int(delay)))[int(number)]
        return grouped(place.expiration)

    def exampleTable(self):
        rows = []
        for number, task in enumerate(self.example.tasks):
            places = self.example.places(number)
            why = self.example.stages("place", number)[0]["sentence"].split(" That bucket")[0]
            wakes = [frame["now"] for frame in self.example.stages("cascade", number)]
            cascades = [f"at {grouped(at)} to `{place}`" for at, place in zip(wakes, places[1:])]
            rows.append([f"**{task['name']}** {grouped(task['delay'])}", f"`{places[0]}`", why,
                         ", ".join(cascades) or "none", grouped(task["endedAt"])])  # fmt: skip
        return textTable(["delay, ms", "place", "why", "cascades", "runs at"], rows)

    def wayDown(self):
        task = self.facts.taskOf(123456)
        told = [*self.example.stages("place", task), *self.example.stages("cascade", task),
                *self.example.stages("run", task)]  # fmt: skip
        return "\n".join(f"{i}. {frame['sentence']}" for i, frame in enumerate(told, 1))

    def wakeUpTable(self):
        def heap(frame):
            return " ".join(grouped(b["expiration"]) for b in frame["heap"]) or "empty"

        rows = []
        for before, woken, taken in self.example.wakeUps():
            did = []
            for frame in taken:
                name = frame["tasks"][frame["task"]]["name"]
                to = frame.get("to")
                did.append(f"{name} to {to['level']}:{to['slot']}" if to else f"**{name} runs**")
            bucket = f"{woken['from']['level']}:{woken['from']['slot']}"
            rows.append([grouped(woken["now"]), grouped(woken["now"] - before["now"]), heap(before),
                         bucket, ", ".join(did), heap(taken[-1])])  # fmt: skip
        return textTable(["at", "slept, ms", "heap before", "bucket", "its tasks", "heap after"],
                         rows)  # fmt: skip

    def wakeUpAt(self, at):
        return next(wakeUp for wakeUp in self.example.wakeUps() if wakeUp[1]["now"] == int(at))

    def wokenBefore(self, at):
        return f"{grouped(self.wakeUpAt(at)[0]['now'])} ms"

    def slept(self, at):
        before, woken, _ = self.wakeUpAt(at)
        return f"{grouped(woken['now'] - before['now'])} ms"

    def runSentence(self, delay):
        return self.example.stages("run", self.facts.taskOf(int(delay)))[0]["sentence"]

    def wholeStory(self):
        return "\n".join(f"{i}. {frame['sentence']}" for i, frame in
                         enumerate(self.example.frames, 1))  # fmt: skip

    # ---- the other stories ---------------------------------------------------------------------

    def sentence(self, story, stage, number):
        return self.facts.stories[story].stages(stage)[int(number)]["sentence"]

    def cell(self, story, task, number):
        return f"`{self.facts.stories[story].places(int(task))[int(number)]}`"

    def way(self, story, task):
        return self.journey([str(p) for p in self.facts.stories[story].places(int(task))])

    def delayOf(self, story, task, unit="ms"):
        return f"{grouped(self.facts.stories[story].tasks[int(task)]['delay'])} {unit}"

    def deadlineOf(self, story, task):
        return grouped(self.facts.stories[story].tasks[int(task)]["deadline"])

    def scheduledOf(self, story, task):
        return grouped(self.facts.stories[story].tasks[int(task)]["scheduledAt"])

    def waited(self, story):
        return f"{grouped(self.facts.stories[story].stages('wait')[0]['now'])} ms"

    def ringClock(self):
        return self.facts.document["ringClock"]

    @staticmethod
    def journey(places):
        return ", then ".join(f"`{place}`" for place in places)

    def journeyOf(self, name):
        told = self.facts.document[name]
        places = [f"{p['level']}:{p['slot']}@{p['expiration']}" for p in told["places"]]
        assert told["ran"] == told["deadline"]
        return self.journey(places)

    def leftBehind(self):
        first = self.facts.document["leftBehind"]["places"][0]
        assert first["expiration"] < self.facts.stories["idle"].tasks[0]["scheduledAt"]
        return self.journeyOf("leftBehind")

    def pushedWay(self):
        return self.journeyOf("pushedBack")

    def pushedFrom(self):
        return f"{self.facts.document['pushedFrom']} ms"

    def pushedDeadline(self):
        return f"{self.facts.document['pushedBack']['deadline']} ms"

    def beyondWay(self):
        return self.journeyOf("beyond")

    def beyondDeadline(self):
        return f"{self.facts.document['beyond']['deadline']} ms"

    # ---- levels as in a clock ------------------------------------------------------------------

    def clockSizes(self):
        return ", ".join(str(size) for size in self.facts.document["clockSizes"])

    @staticmethod
    def open():
        return "{"

    @staticmethod
    def close():
        return "}"

    def clockSlot(self, task):
        place = self.facts.stories["clock"].places(int(task))[0]
        assert place.level == 1 and self.clockLevels() == len(UNITS)
        return place.slot

    def clockStart(self):
        return timeOfDay(self.facts.stories["clock"].frames[0]["now"])

    def clockTable(self):
        story = self.facts.stories["clock"]
        rows = []
        for number, task in enumerate(story.tasks):
            assert task["endedAt"] == task["deadline"], task
            ways = [f"slot {place.slot} of the {UNITS[place.level]}, "
                    f"at {timeOfDay(place.expiration)}"
                    for place in story.places(number)]  # fmt: skip
            rows.append([f"**{task['name']}**", timeOfDay(task["deadline"]), ways[0],
                         "<br>".join(ways[1:]) or "none"])  # fmt: skip
        return textTable(["task", "due at", "its bucket, and when that expires", "cascades"], rows)

    def clockWay(self, task):
        story, task = self.facts.stories["clock"], int(task)
        told = [*story.stages("place", task), *story.stages("cascade", task),
                *story.stages("run", task)]  # fmt: skip
        return "\n".join(f"{i}. {frame['sentence']}" for i, frame in enumerate(told, 1))

    def clockLevels(self):
        """What a level of the story is built for: checked, since the prose says it."""
        levels = self.facts.stories["clock"].last["levels"]
        widths = [level["granularity"] for level in levels]
        assert widths == [1, 60, 3600, 86400] and levels[-1]["slots"] == 24, levels
        return len(levels)

    # ---- the flat wheel ------------------------------------------------------------------------

    def flatEntry(self, task):
        frame = self.facts.stories["flat"].beforeTheFirstWakeUp()
        return next(e for e in frame["flat"]["entries"] if e["task"] == int(task))

    def flatSlots(self):
        return self.facts.stories["flat"].last["flat"]["slots"]

    def flatSlot(self, task):
        return self.flatEntry(task)["slot"]

    def flatRounds(self, task):
        return self.flatEntry(task)["rounds"]

    def flatPass(self, task):
        deadline = self.facts.stories["flat"].tasks[int(task)]["deadline"]
        return f"{deadline - self.flatRounds(task) * self.flatSlots()} s"

    # ---- the ways ------------------------------------------------------------------------------

    def cost(self, load, way, what):
        return grouped(self.facts.cost(load, way)[what])

    def perTask(self, load, way, what):
        cost = self.facts.cost(load, way)
        return short(cost[what] / cost["tasks"])

    def cancelledOf(self, load):
        return grouped(self.facts.cost(load, "heap")["cancelled"])

    def loadTasks(self, load):
        return grouped(self.facts.cost(load, "heap")["tasks"])

    def longest(self):
        return f"{grouped(self.facts.document['waysLongest'])} ms"

    def waysTable(self, load):
        rows = []
        for cost in self.facts.document["ways"][load]:
            assert cost["onTime"] + cost["cancelled"] == cost["tasks"], cost
            rows.append([cost["way"], *(grouped(cost[key]) for key in COLUMNS)])
        return table(["way", *COLUMNS.values()], rows)

    # ---- costs ---------------------------------------------------------------------------------

    def everyDelay(self):
        return grouped(sum(level["tasks"] for level in self.facts.document["moves"]))

    def movesLevels(self):
        return len(self.facts.document["moves"])

    def movesWakeUps(self):
        return grouped(self.facts.document["movesWakeUps"])

    def movesFactor(self):
        factor = 1 - 1 / self.facts.wheelSize
        for number, level in enumerate(self.facts.document["moves"]):
            assert level["most"] == number, level
            assert abs(level["moves"] - number * factor * level["tasks"]) < 1e-6, level
        return f"{factor:g}"

    def movesTable(self):
        rows = [[f"level {number}", grouped(level["tasks"]), str(level["most"]),
                 f"{level['moves'] / level['tasks']:.2f}"]
                for number, level in enumerate(self.facts.document["moves"])]  # fmt: skip
        return table(["first placed on", "tasks", "moves at most", "on average"], rows)

    def levelsTable(self):
        rows = [[f"level {number}", span(level["granularity"]), span(level["interval"])]
                for number, level in enumerate(self.facts.levels[:8])]  # fmt: skip
        return table(["", "a slot", "the whole ring"], rows)

    def levelCount(self):
        return len(self.facts.levels)

    def maxTick(self):
        return grouped(self.facts.document["maxTick"])

    def maxYears(self):
        return f"{self.facts.document['maxTick'] / MS_OF_YEAR / 1e6:.0f}"

    def widths(self):
        widths = [level["granularity"] for level in self.facts.levels[:5]]
        assert widths == [self.facts.wheelSize**k for k in range(5)]
        return ", ".join(map(grouped, widths))

    def roundingTable(self):
        def ms(micros):
            return f"{micros / 1000:g} ms"

        rows = []
        for asked in self.facts.document["rounding"]:
            due = asked["now"] + asked["delay"]
            assert asked["ran"] >= due and asked["ran"] == asked["deadline"]
            times = [asked["tick"], asked["now"], asked["delay"], due, asked["deadline"],
                     asked["ran"], asked["ran"] - due]  # fmt: skip
            rows.append([ms(time) for time in times])
        return table(["tick", "scheduled at", "delay", "due", "deadline", "runs at", "late by"],
                     rows)  # fmt: skip

