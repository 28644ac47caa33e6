"""Whether a page was measured with the library as it is: by the instructions of its hot path.

./dev bench --check counts them and fails where they are not those recorded in instructions.json. A
page carries what was recorded when it was measured. Where the record of now differs from that by
more than the allowance, the page has to say so, in a sentence that ./dev bench stale writes.
"""

import json
import re

RECORDED = "tests/benchmark/wheel/instructions.json"
GROUPS = ("instructions", "parts", "timer")  # of the record: what an operation takes
ALLOWANCE = 0.1  # of a count
LINE = re.compile(r"^<!-- instructions: ({.*}) -->$", re.MULTILINE)
NOTE = (
    "> **Note:** Measured before the instruction counts of the library's hot path changed by more "
    f"than {100 * ALLOWANCE:.0f} %: to be measured again.\n\n"
)


def countsOf(record):
    """{what: instructions} of a record's text; an older one has fewer."""
    record = json.loads(record)
    return {what: n for group in GROUPS for what, n in record.get(group, {}).items()}


def countsLine(counts):
    return f"<!-- instructions: {json.dumps(counts)} -->"


def countsOn(page):
    """Those that a page carries; None if it is older than that."""
    found = LINE.search(page)
    return json.loads(found.group(1)) if found else None


def changes(then, now):
    """What differs by more than is allowed, a phrase for each; all of it if nothing is in both."""
    both = [what for what in then if what in now]
    if not both:
        return ["nothing that was counted then is counted now"]
    return [f"{what}: {then[what]:g} instructions then, {now[what]:g} now" for what in both
            if abs(now[what] - then[what]) > ALLOWANCE * then[what]]  # fmt: skip


def withNote(page, isStale):
    """The page with the sentence, behind who wrote it, or without."""
    page = page.replace(NOTE, "")
    if not isStale:
        return page
    written = re.search(r"^Written by .*\n\n(?:<!-- instructions: .*\n\n)?", page, re.MULTILINE)
    return page[: written.end()] + NOTE + page[written.end() :]
