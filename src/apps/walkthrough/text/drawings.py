"""The drawings of docs/walkthrough.md, each from what the library's wheels did.

SVG by hand: a panel that is readable on a light and on a dark page. Colours have a meaning, the
same in all drawings: one for each level, amber for the delay heap, green for what runs.
"""

from html import escape

FOLLOWED = 123456  # the delay of the task that is followed all the way down

LEVELS = ("#0f9d8a", "#3b7dd8", "#8a5bd6", "#d6637a")
STYLE = """
    text { font: 13px system-ui, -apple-system, "Segoe UI", sans-serif; fill: #1f2328; }
    .panel { fill: #ffffff; stroke: #d1d9e0; } .slot { fill: #f6f8fa; stroke: #d1d9e0; }
    .muted { fill: #59636e; } .tip { fill: #818b98; }
    .title { font-size: 18px; font-weight: 600; } .strong { font-weight: 600; }
    .big { font-size: 15px; font-weight: 700; }
    .small { font-size: 11px; } .tiny { font-size: 10px; }
    .middle { text-anchor: middle; } .end { text-anchor: end; }
    .on { fill: #ffffff; font-weight: 700; font-size: 15px; text-anchor: middle; }
    .onTiny { fill: #ffffff; font-size: 10px; text-anchor: middle; }
    .ghost { fill-opacity: .14; stroke-width: 1.5; stroke-dasharray: 4 3; }
    .zoom { fill-opacity: .12; } .way { fill: none; stroke-width: 2; }
    .slot.heapLine { stroke: #c98a1b; stroke-width: 2; }
    .t0 { fill: #0a7567; } .t1 { fill: #2763b5; } .t2 { fill: #6f42c1; } .t3 { fill: #b5405a; }
    .tHeap { fill: #8f5f0a; } .tRun { fill: #1f7a43; }
""" + "".join(f"    .l{i} {{ fill: {c}; }} .s{i} {{ stroke: {c}; }}\n"
              for i, c in enumerate(LEVELS)) + """\
    @media (prefers-color-scheme: dark) {
      text { fill: #e6edf3; } .muted { fill: #9198a1; } .on, .onTiny { fill: #ffffff; }
      .panel { fill: #0d1117; stroke: #3d444d; } .slot { fill: #1b212a; stroke: #3d444d; }
      .ghost { fill-opacity: .25; } .zoom { fill-opacity: .22; }
      .t0 { fill: #3fc7b4; } .t1 { fill: #79aef5; } .t2 { fill: #b795f2; } .t3 { fill: #f08fa2; }
      .tHeap { fill: #e0a943; } .tRun { fill: #57c785; }
    }
"""  # fmt: skip


class Drawing:
    def __init__(self, height, title, description):
        self.parts = [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 1000 {height}" width="1000"'
            f' height="{height}" role="img" aria-labelledby="title description">',
            f'  <title id="title">{escape(title)}</title>',
            f'  <desc id="description">{escape(description)}</desc>',
            f"  <style>{STYLE}  </style>",
        ]
        self.box(0.5, 0.5, 999, height - 1, "panel", rim=10)
        self.text(24, 36, title, "title")

    def box(self, x, y, width, height, kind, rim=3):
        self.parts.append(f'  <rect class="{kind}" x="{x:g}" y="{y:g}" width="{width:g}"'
                          f' height="{height:g}" rx="{rim}"/>')  # fmt: skip

    def text(self, x, y, text, kind="plain"):
        self.parts.append(f'  <text class="{kind}" x="{x:g}" y="{y:g}">{escape(text)}</text>')

    def path(self, way, kind):
        self.parts.append(f'  <path class="{kind}" d="{way}"/>')

    def tip(self, x, y, kind):
        """The head of an arrow that ends at x, y."""
        self.path(f"M{x - 5:g} {y - 8:g} L{x + 5:g} {y - 8:g} L{x:g} {y:g} Z", kind)

    def done(self):
        return "\n".join([*self.parts, "</svg>"]) + "\n"


def names(frame, tasks):
    return "".join(frame.tasks[task].name for task in tasks)


# ---- the levels at the beginning, and the way of one task -------------------------------------

LEFT, WIDE, HIGH, PITCH, TOP = 150, 31, 44, 116, 106


def topOf(level, levels):
    return TOP + (levels - 1 - level) * PITCH


def row(drawing, frame, number):
    """A level: its name, its slots, its buckets."""
    level, y = frame.levels[number], topOf(number, len(frame.levels))
    drawing.text(24, y + 14, f"level {number}", f"strong t{number}")
    drawing.text(24, y + 31, f"slots of {level.granularity:,} ms", "small muted")
    drawing.text(24, y + 46, f"up to {level.clock + level.interval - 1:,}", "small muted")
    held = {bucket.slot: bucket for bucket in level.buckets}
    for slot in range(level.slots):
        x, bucket = LEFT + slot * WIDE, held.get(slot)
        drawing.box(x + 1, y, WIDE - 2, HIGH, f"l{number}" if bucket else "slot")
        middle = x + WIDE / 2
        drawing.text(middle, y + HIGH - 6, str(slot), "onTiny" if bucket else "tiny muted middle")
        if bucket:
            drawing.text(middle, y + 21, names(frame, bucket.tasks), "on")
            drawing.text(middle, y + HIGH + 16, f"@{bucket.expiration:,}",
                         f"small strong middle t{number}")  # fmt: skip
    middle = LEFT + (level.clock // level.granularity % level.slots + 0.5) * WIDE
    drawing.tip(middle, y - 3, "tip")
    drawing.text(middle, y - 14, "clock", "tiny muted middle")


def wayOverLevels(drawing, places, name, levels):
    """Where the followed task comes later, and the arrows between."""
    for before, after in zip(places, places[1:]):
        fromX, toX = (LEFT + (place.slot + 0.5) * WIDE for place in (before, after))
        fromY = topOf(before.level, levels) + HIGH + 22
        toY = topOf(after.level, levels) - 4
        colour = f"t{after.level}"
        drawing.box(toX - WIDE / 2 + 1, toY + 4, WIDE - 2, HIGH,
                    f"ghost l{after.level} s{after.level}")  # fmt: skip
        drawing.text(toX, toY + 25, name, f"big middle {colour}")
        drawing.text(toX, toY + 4 + HIGH - 6, str(after.slot), "tiny muted middle")
        drawing.text(toX, toY + HIGH + 20, f"@{after.expiration:,}",
                     f"small strong middle {colour}")  # fmt: skip
        drawing.path(f"M{fromX:g} {fromY:g} C{fromX:g} {fromY + 34:g} {toX:g} {toY - 40:g} "
                     f"{toX:g} {toY - 8:g}", f"way s{before.level}")  # fmt: skip
        drawing.tip(toX, toY, f"l{before.level}")
        x, y = (fromX + toX) / 2, (fromY + toY) / 2 - 3
        drawing.box(x - 40, y - 10, 80, 20, "panel", rim=10)
        drawing.text(x, y + 4, f"at {before.expiration:,}", "small middle")
    drawing.text(toX, toY + HIGH + 36, "runs", "small strong middle tRun")


def levels(facts):
    frame = facts.example.beforeTheFirstWakeUp()
    task = facts.example.taskOf(FOLLOWED)
    places = facts.example.places(task)
    count, name = len(frame.levels), frame.tasks[task].name
    height = topOf(0, count) + HIGH + 92
    path = ", ".join(f"{place.level}:{place.slot} at {place.expiration}" for place in places)
    drawing = Drawing(
        height, f"Where {len(frame.tasks)} tasks are at time 0, and how one of them comes down",
        "Level by level, what is in the slots at time 0. "
        f"Task {name} is due at {FOLLOWED}. Its buckets, level:slot at the time when they expire: "
        f"{path}.",
    )  # fmt: skip
    legend = "  ·  ".join(f"{each.name} {each.delay:,}" for each in frame.tasks)
    drawing.text(24, 60, f"due in ms:  {legend}", "muted")
    for number in range(count):
        row(drawing, frame, number)
    wayOverLevels(drawing, places, name, count)
    x, y = 800, TOP + 8
    drawing.text(x, y, "delay heap", "strong tHeap")
    drawing.text(x, y + 17, "the earliest bucket first", "small muted")
    for i, bucket in enumerate(frame.heap):
        top = y + 30 + 43 * i
        drawing.box(x, top, 178, 38, "slot" if i else "slot heapLine", rim=6)
        drawing.box(x + 7, top + 8, 36, 22, f"l{bucket.level}", rim=4)
        drawing.text(x + 25, top + 24, names(frame, bucket.tasks), "on")
        drawing.text(x + 51, top + 17, f"{bucket.expiration:,}", "strong")
        drawing.text(x + 51, top + 31, f"level {bucket.level}, slot {bucket.slot}", "small muted")
    y += 40 + 43 * len(frame.heap)
    drawing.text(x, y, f"The driver sleeps until {frame.heap[0].expiration:,}.", "small")
    drawing.text(x, y + 17, "Nothing ticks.", "small")
    y = height - 26
    drawing.box(24, y - 12, 22, 16, "l1")
    drawing.text(54, y, "a bucket with its tasks, and @ when it expires", "small")
    drawing.box(330, y - 12, 22, 16, "ghost l1 s1")
    drawing.text(360, y, f"where {name} comes later: each arrow is a cascade", "small")
    return drawing.done()


def way(facts):
    places = facts.example.places(facts.example.taskOf(FOLLOWED))
    rings = facts.example.last.levels
    left, cell, high, pitch, top = 150, 40.5, 34, 104, 84
    end = left + rings[0].slots * cell
    height = top + (len(places) - 1) * pitch + high + 84
    drawing = Drawing(
        height, "A slot of one level is the whole ring of the level below",
        f"The way of {FOLLOWED:,} ms down the levels: "
        + ", ".join(f"{place.level}:{place.slot}" for place in places) + ".",
    )  # fmt: skip
    start = 0
    for i, place in enumerate(places):
        ring, y, isLast = rings[place.level], top + i * pitch, i + 1 == len(places)
        drawing.text(24, y + 14, f"level {place.level}", f"strong t{place.level}")
        drawing.text(24, y + 31, f"slots of {ring.granularity:,} ms", "small muted")
        x, below = left + place.slot * cell, y + high
        if not isLast:
            drawing.path(f"M{x:g} {below} L{x + cell:g} {below} L{end:g} {below + 70} "
                         f"L{left} {below + 70} Z", f"zoom l{place.level}")  # fmt: skip
        for slot in range(ring.slots):
            isHere = slot == place.slot
            drawing.box(left + slot * cell + 1, y, cell - 2, high,
                        f"l{place.level}" if isHere else "slot")  # fmt: skip
            drawing.text(left + (slot + 0.5) * cell, y + 22, str(slot),
                         "on" if isHere else "small muted middle")  # fmt: skip
        drawing.text(left, y - 7, f"{start:,} ms", "small muted")
        drawing.text(end, y - 7, f"{start + ring.interval:,} ms", "small muted end")
        drawing.text(x + cell / 2, below + 18,
                     f"expires at {place.expiration:,}: {'runs' if isLast else 'cascades'}",
                     f"strong middle t{place.level}")  # fmt: skip
        start = place.expiration
    terms = [(place.slot, rings[place.level].granularity) for place in places]
    total = sum(slot * width for slot, width in terms)
    told = " + ".join(f"{slot} × {width:,}" for slot, width in terms)
    drawing.text(500, height - 22, f"{told} = {total:,}", "title middle")
    return drawing.done()


def allOf(facts):
    return {f"{drawn.__name__}.svg": drawn(facts) for drawn in (levels, way)}
