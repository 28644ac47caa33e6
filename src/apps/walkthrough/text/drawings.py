"""The drawings of docs/walkthrough.md, each from what the library's wheels told."""

import math

from example import COLUMNS, counted, grouped
from svg import Drawing

FOLLOWED = 123456  # the delay of the task that is followed all the way down


def names(frame, tasks):
    return "".join(frame["tasks"][task]["name"] for task in tasks)


def levelName(level):
    return f"level {level}"


# ---- the levels at the beginning, and the way of one task -------------------------------------

LEFT, WIDE, HIGH, PITCH, TOP = 150, 31, 44, 116, 106


def topOf(level, levels):
    return TOP + (levels - 1 - level) * PITCH


def row(drawing, frame, number, reach):
    """A level: its name, its slots, its buckets."""
    level, y = frame["levels"][number], topOf(number, len(frame["levels"]))
    drawing.text(24, y + 14, levelName(number), f"strong t{number}")
    drawing.text(24, y + 31, f"slots of {grouped(level['granularity'])} ms", "small muted")
    drawing.text(24, y + 46, f"up to {grouped(reach)}", "small muted")
    held = {bucket["slot"]: bucket for bucket in level["buckets"]}
    slots = level["interval"] // level["granularity"]
    for slot in range(slots):
        x = LEFT + slot * WIDE
        bucket = held.get(slot)
        drawing.box(x + 1, y, WIDE - 2, HIGH, f"l{number}" if bucket else "slot")
        middle = x + WIDE / 2
        drawing.text(middle, y + HIGH - 6, str(slot), "onTiny" if bucket else "tiny muted middle")
        if bucket:
            drawing.text(middle, y + 21, names(frame, bucket["tasks"]), "on")
            drawing.text(middle, y + HIGH + 16, f"@{grouped(bucket['expiration'])}",
                         f"small strong middle t{number}")  # fmt: skip
    now = level["clock"] // level["granularity"] % slots
    middle = LEFT + (now + 0.5) * WIDE
    drawing.tip(middle, y - 3, "tip")
    drawing.text(middle, y - 14, "clock", "tiny muted middle")


def wayOverLevels(drawing, places, name, levels):
    """Where the followed task comes later, and the arrows between."""
    for before, after in zip(places, places[1:]):
        fromX, toX = (LEFT + (place.slot + 0.5) * WIDE for place in (before, after))
        fromY = topOf(before.level, levels) + HIGH + 22
        toY = topOf(after.level, levels) - 4
        drawing.box(toX - WIDE / 2 + 1, toY + 4, WIDE - 2, HIGH,
                    f"ghost l{after.level} s{after.level}")  # fmt: skip
        drawing.text(toX, toY + 25, name, f"big middle t{after.level}")
        drawing.text(toX, toY + 4 + HIGH - 6, str(after.slot), "tiny muted middle")
        drawing.text(toX, toY + HIGH + 20, f"@{grouped(after.expiration)}",
                     f"small strong middle t{after.level}")  # fmt: skip
        drawing.path(f"M{fromX:g} {fromY:g} C{fromX:g} {fromY + 34:g} {toX:g} {toY - 40:g} "
                     f"{toX:g} {toY - 8:g}", f"way s{before.level}")  # fmt: skip
        drawing.tip(toX, toY, f"l{before.level}")
        x, y = (fromX + toX) / 2, (fromY + toY) / 2 - 3
        drawing.box(x - 40, y - 10, 80, 20, "panel", round=10)
        drawing.text(x, y + 4, f"at {grouped(before.expiration)}", "small middle")
    drawing.text(toX, toY + HIGH + 36, "runs", "small strong middle tRun")


def heapColumn(drawing, frame, x, y):
    width, high, pitch = 178, 36, 43
    drawing.text(x, y, "delay heap", "strong tHeap")
    drawing.text(x, y + 17, "the earliest bucket first", "small muted")
    y += 30
    for i, bucket in enumerate(frame["heap"]):
        top = y + i * pitch
        drawing.box(x, top, width, high, "slot" if i else "slot heapLine", round=5)
        drawing.box(x + 8, top + 8, 40, high - 16, f"l{bucket['level']}", round=4)
        drawing.text(x + 28, top + 23, names(frame, bucket["tasks"]), "on")
        drawing.text(x + 58, top + 16, f"at {grouped(bucket['expiration'])}", "strong")
        where = f"level {bucket['level']}, slot {bucket['slot']}"
        drawing.text(x + 58, top + 30, where, "small muted")
    below = y + len(frame["heap"]) * pitch + 10
    first = frame["heap"][0]["expiration"]
    drawing.text(x, below, f"The driver sleeps until {grouped(first)}.", "small")
    drawing.text(x, below + 17, "Nothing ticks.", "small")


def levels(facts):
    frame = facts.example.beforeTheFirstWakeUp()
    tasks = frame["tasks"]
    task = facts.taskOf(FOLLOWED)
    places = facts.example.places(task)
    count = len(frame["levels"])
    height = topOf(0, count) + HIGH + 92
    path = ", ".join(f"{place.level}:{place.slot} at {place.expiration}" for place in places)
    drawing = Drawing(
        1000, height, "A timing wheel with four levels, and one task's way down",
        f"Level by level, {facts.wheelSize} slots each, and what is in them at time 0. "
        f"Task {tasks[task]['name']} is due at {FOLLOWED}. Its buckets, level:slot at the time "
        f"when they expire: {path}.",
    )  # fmt: skip
    title = f"Where {len(tasks)} tasks are at time 0, and how one of them comes down"
    drawing.text(24, 36, title, "title")
    legend = "  ·  ".join(f"{t['name']} {grouped(t['delay'])}" for t in tasks)
    drawing.text(24, 60, f"due in ms:  {legend}", "muted")
    for number, level in enumerate(frame["levels"]):
        row(drawing, frame, number, level["clock"] + level["interval"] - 1)
    wayOverLevels(drawing, places, tasks[task]["name"], count)
    heapColumn(drawing, frame, 800, TOP + 8)
    y = height - 26
    drawing.box(24, y - 12, 22, 16, "l1")
    drawing.text(54, y, "a bucket with its tasks, and @ when it expires", "small")
    drawing.box(330, y - 12, 22, 16, "ghost l1 s1")
    drawing.text(360, y, f"where {tasks[task]['name']} comes later", "small")
    drawing.path(f"M520 {y - 4} L546 {y - 4}", "way s1")
    drawing.tip(552, y - 4, "l1", "right")
    drawing.text(560, y, "a cascade: its bucket expires, it goes to a lower level", "small")
    return drawing.done()


# ---- one task, level by level ------------------------------------------------------------------


def way(facts):
    task = facts.taskOf(FOLLOWED)
    places = facts.example.places(task)
    left, cell, high, pitch, top = 150, 40.5, 34, 104, 84
    end = left + facts.wheelSize * cell
    height = top + (len(places) - 1) * pitch + high + 84
    drawing = Drawing(
        1000, height, f"The way of {grouped(FOLLOWED)} ms down the levels",
        "Each level divides one slot of the level above into "
        f"{facts.wheelSize}: " + ", ".join(map(str, places)) + ".",
    )  # fmt: skip
    drawing.text(24, 36, "A slot of one level is the whole ring of the level below", "title")
    start = 0
    for i, place in enumerate(places):
        level = facts.levels[place.level]
        y = top + i * pitch
        drawing.text(24, y + 14, levelName(place.level), f"strong t{place.level}")
        drawing.text(24, y + 31, f"slots of {grouped(level['granularity'])} ms", "small muted")
        x = left + place.slot * cell
        below = y + high
        if i + 1 < len(places):
            drawing.path(f"M{x:g} {below} L{x + cell:g} {below} L{end:g} {below + 70} "
                         f"L{left} {below + 70} Z", f"zoom l{place.level}")  # fmt: skip
        for slot in range(facts.wheelSize):
            isHere = slot == place.slot
            drawing.box(left + slot * cell + 1, y, cell - 2, high,
                        f"l{place.level}" if isHere else "slot")  # fmt: skip
            drawing.text(left + (slot + 0.5) * cell, y + 22, str(slot),
                         "on" if isHere else "small muted middle")  # fmt: skip
        drawing.text(left, y - 7, f"{grouped(start)} ms", "small muted")
        drawing.text(end, y - 7, f"{grouped(start + level['interval'])} ms", "small muted end")
        label = f"expires at {grouped(place.expiration)}"
        label += ": cascades" if i + 1 < len(places) else ": runs"
        drawing.text(x + cell / 2, below + 18, label, f"strong middle t{place.level}")
        start = place.expiration
    terms = [f"{place.slot} × {grouped(facts.levels[place.level]['granularity'])}"
             for place in places]  # fmt: skip
    total = sum(place.slot * facts.levels[place.level]["granularity"] for place in places)
    drawing.text(500, height - 22, " + ".join(terms) + f" = {grouped(total)}", "title middle")
    return drawing.done()


# ---- the heap, before and after ----------------------------------------------------------------


def pill(drawing, x, y, frame, bucket, kind="slot"):
    drawing.box(x, y, 122, 40, kind, round=6)
    drawing.box(x + 7, y + 8, 34, 24, f"l{bucket['level']}", round=4)
    drawing.text(x + 24, y + 25, names(frame, bucket["tasks"]), "on")
    drawing.text(x + 48, y + 18, grouped(bucket["expiration"]), "strong")
    drawing.text(x + 48, y + 32, f"{bucket['level']}:{bucket['slot']}", "small muted")


def heapStep(drawing, y, wakeUp):
    before, woken, taken = wakeUp
    after = taken[-1]
    at = woken["now"]
    drawing.text(24, y, f"Wake-up at {grouped(at)}", "strong tHeap")
    said = [f"{woken['tasks'][frame['task']]['name']} runs" if frame["stage"] == "run" else
            f"{woken['tasks'][frame['task']]['name']} cascades to "
            f"{frame['to']['level']}:{frame['to']['slot']}" for frame in taken]  # fmt: skip
    drawing.text(190, y, "The bucket leaves the heap. " + ", ".join(said) + ".", "muted")
    known = [bucket["expiration"] for bucket in before["heap"]]
    for i, (label, frame) in enumerate((("before", before), ("after", after))):
        top = y + 16 + i * 54
        drawing.text(24, top + 25, label, "muted")
        for j, bucket in enumerate(frame["heap"]):
            isChanged = (i == 0 and j == 0) or (i == 1 and bucket["expiration"] not in known)
            pill(drawing, 84 + j * 132, top, frame, bucket,
                 "slot heapLine" if isChanged else "slot")  # fmt: skip


def heap(facts):
    times = [facts.example.places(facts.taskOf(delay))[0].expiration for delay in (25, 399)]
    shown = [wakeUp for wakeUp in facts.example.wakeUps() if wakeUp[1]["now"] in times]
    drawing = Drawing(
        1000, 60 + 152 * len(shown), "The delay heap before and after two wake-ups",
        "The earliest bucket leaves, and the bucket into which a task cascades enters.",
    )  # fmt: skip
    drawing.text(24, 36, "The delay heap holds buckets, the earliest first", "title")
    for i, wakeUp in enumerate(shown):
        heapStep(drawing, 74 + i * 152, wakeUp)
    return drawing.done()


# ---- a ring that is used again -----------------------------------------------------------------


def ring(facts):
    clock = facts.document["ringClock"]
    taken = {place["slot"]: place["expiration"] for place in facts.document["ring"]}
    left, cell = 150, 40.5
    drawing = Drawing(
        1000, 156, f"Level 0 with the clock at {clock}",
        "Which deadline each slot takes: " +
        ", ".join(f"slot {slot} takes {deadline}" for slot, deadline in sorted(taken.items())),
    )  # fmt: skip
    drawing.text(24, 36, f"Level 0 when the clock stands at {clock}", "title")
    drawing.text(24, 96, "takes deadline", "small muted")
    drawing.text(24, 122, "slot", "small muted")
    for slot in range(facts.wheelSize):
        x = left + slot * cell
        deadline = taken.get(slot)
        kind = "slot" if deadline is None else "l0"
        if deadline is not None and deadline >= facts.wheelSize:
            kind = "ghost l0 s0"
        drawing.box(x + 1, 72, cell - 2, 36, kind)
        if deadline is not None:
            drawing.text(x + cell / 2, 95, str(deadline),
                         "on" if kind == "l0" else "strong middle t0")  # fmt: skip
        drawing.text(x + cell / 2, 122, str(slot), "small muted middle")
    middle = left + (clock + 0.5) * cell
    drawing.tip(middle, 69, "tip")
    drawing.text(middle, 57, "clock", "small muted middle")
    drawing.text(left, 144, "the next turn", "small t0")
    drawing.text(left + (clock + 1) * cell, 144, "this turn", "small t0")
    return drawing.done()


# ---- the flat wheel ----------------------------------------------------------------------------


def clockFace(drawing, flat, tasks, cx, cy, outer, inner):
    slots = flat["slots"]
    held = {entry["slot"]: entry for entry in flat["entries"]}

    def point(slot, radius):
        angle = 2 * math.pi * slot / slots - math.pi / 2
        return cx + radius * math.cos(angle), cy + radius * math.sin(angle)

    for slot in range(slots):
        a, b = point(slot - 0.5, outer), point(slot + 0.5, outer)
        c, d = point(slot + 0.5, inner), point(slot - 0.5, inner)
        kind = "l0" if slot in held else "slot"
        drawing.path(f"M{a[0]:.1f} {a[1]:.1f} A{outer} {outer} 0 0 1 {b[0]:.1f} {b[1]:.1f} "
                     f"L{c[0]:.1f} {c[1]:.1f} A{inner} {inner} 0 0 0 {d[0]:.1f} {d[1]:.1f} Z",
                     kind)  # fmt: skip
        x, y = point(slot, (outer + inner) / 2)
        if slot in held:
            drawing.text(x, y + 5, tasks[held[slot]["task"]]["name"], "on")
        x, y = point(slot, outer + 14)
        drawing.text(x, y + 4, str(slot), "small muted middle")
    x, y = point(flat["clock"] % slots, inner - 8)
    drawing.path(f"M{cx} {cy} L{x:.1f} {y:.1f}", "line")
    drawing.add(f'<circle class="tip" cx="{cx}" cy="{cy}" r="4"/>')


def flat(facts):
    story = facts.stories["flat"]
    frame = story.beforeTheFirstWakeUp()
    entries = {entry["task"]: entry for entry in frame["flat"]["entries"]}
    ran = {task["endedAt"]: task["name"] for task in story.tasks}
    passes = {}
    for number, entry in entries.items():
        deadline = frame["tasks"][number]["deadline"]
        for turn in range(1, entry["rounds"] + 1):
            passes[deadline - turn * frame["flat"]["slots"]] = frame["tasks"][number]["name"]
    last = max(ran)
    drawing = Drawing(
        1000, 330, f"A flat wheel with {frame['flat']['slots']} slots",
        "Its hand visits a slot every second: " + ", ".join(
            f"{task['name']} of {task['delay']} s is in slot {entries[i]['slot']} with "
            f"{counted(entries[i]['rounds'], 'round')} to go"
            for i, task in enumerate(frame["tasks"])) + ".",
    )  # fmt: skip
    drawing.text(24, 36, "A flat wheel walks every tick", "title")
    clockFace(drawing, frame["flat"], frame["tasks"], 160, 186, 112, 62)
    for i, task in enumerate(frame["tasks"]):
        rounds = entries[i]["rounds"]
        went = "no round" if rounds == 0 else "1 round" if rounds == 1 else f"{rounds} rounds"
        drawing.text(330, 84 + 22 * i, f"{task['name']}: {task['delay']} s, slot "
                     f"{entries[i]['slot']}, {went} to go")  # fmt: skip
    left, cell = 404, 54
    for y, label in ((172, "flat"), (252, "levels")):
        drawing.text(330, y + 21, label, "strong")
    for tick in range(1, last + 1):
        x = left + (tick - 1) * cell
        here = "run" if tick in ran else "ghost l0 s0"
        drawing.box(x + 1, 172, cell - 2, 34, here)
        drawing.box(x + 1, 252, cell - 2, 34, "run" if tick in ran else "slot")
        for y in (172, 252):
            if tick in ran:
                drawing.text(x + cell / 2, y + 22, ran[tick], "on")
        if tick in passes:
            drawing.text(x + cell / 2, 193, passes[tick], "strong middle t0")
            drawing.text(x + cell / 2, 160, "passed over", "small muted middle")
        drawing.text(x + cell / 2, 222, f"{tick} s", "small muted middle")
        drawing.text(x + cell / 2, 302, f"{tick} s", "small muted middle")
    drawing.text(left, 142, f"{counted(frame['flat']['slots'], 'slot')}: "
                 f"{story.last['flat']['ticksWalked']} wake-ups", "muted")  # fmt: skip
    drawing.text(left, 243, f"level 0 of {counted(facts.wheelSize, 'slot')}: "
                 f"{story.last['wakeUps']} wake-ups", "muted")  # fmt: skip
    return drawing.done()


# ---- the way there -----------------------------------------------------------------------------

def ladder(facts):
    costs = facts.document["ways"]["mostlyCancelled"]
    left, column, pitch, top = 286, 116, 40, 88
    most = max(cost[key] for cost in costs for key in COLUMNS)
    tasks, cancelled = costs[0]["tasks"], costs[0]["cancelled"]
    drawing = Drawing(
        1000, top + pitch * len(costs) + 40, "What each way costs",
        f"{tasks} tasks of which {cancelled} are cancelled. " + ". ".join(
            cost["way"] + ": " + ", ".join(f"{name} {cost[key]}" for key, name in COLUMNS.items())
            for cost in costs) + ".",
    )  # fmt: skip
    longest = grouped(facts.document["waysLongest"])
    drawing.text(24, 36, f"{grouped(tasks)} tasks within {longest} ms, of which "
                 f"{grouped(cancelled)} are cancelled", "title")  # fmt: skip
    for i, name in enumerate(COLUMNS.values()):
        drawing.text(left + i * column, 70, name, "strong")
    for j, cost in enumerate(costs):
        y = top + j * pitch
        isLast = j == len(costs) - 1
        drawing.text(24, y + 18, cost["way"], "strong" if isLast else "")
        for i, key in enumerate(COLUMNS):
            x, value = left + i * column, cost[key]
            drawing.text(x, y + 10, grouped(value), "small" if value else "small muted")
            drawing.box(x, y + 16, column - 14, 7, "slot", round=2)
            if value:
                length = (column - 14) * max(0.02, math.log10(value) / math.log10(most))
                drawing.box(x, y + 16, length, 7, "run" if isLast else "l1", round=2)
    drawing.text(24, top + pitch * len(costs) + 20,
                 "Bars are logarithmic. Looks in vain: times a task was looked at, was not due, "
                 "and stayed.", "small muted")  # fmt: skip
    return drawing.done()


def allOf(facts):
    return {f"{drawn.__name__}.svg": drawn(facts)
            for drawn in (levels, way, heap, ring, flat, ladder)}  # fmt: skip
