"""What follows from the numbers, in sentences. No sentence here claims what was not measured."""

from figures import number, power
from markdown import joined
from results import BASE

# Those that a full run has, so that one that is missing is told.
CPP = ["SystemTimer", "HashedWheelTimer", "Asio", "Heap", "Multimap", "SortedQueue", "libuv",
       "libevent", "libev", "ThreadPerTask"]  # fmt: skip
THREADS = "ThreadPerTask"
# What one may want to know of everybody. Ticks and the number pending are told in the tables.
ASKED = {
    "pair": "request timeouts",
    "curve-random": "the curves",
    "expiry": "many that expire together",
    "far": "far timers and their memory",
    "idle": "a single pending timer",
    "late-1": "lateness",
    "empty": "the memory of an empty one",
}


def faster(data, a, b, measurement, metric, count=None):
    """`a takes 2.3 times as long as b`, or that there is no difference beyond the noise."""
    first, second = (data.of(measurement, c, metric, count) for c in (a, b))
    names = data.title(a), data.title(b)
    if first.overlaps(second):
        return f"{names[0]} and {names[1]} are within noise of each other"
    if first.median > second.median:
        first, second, names = second, first, names[::-1]
    return f"{names[1]} takes {number(second.median / first.median)} times as much as {names[0]}"


# ---- curves ------------------------------------------------------------------------------------


def crossingSentence(data, measurement, rival):
    crossing = data.crossing(measurement, rival)
    name, signs, counts = data.title(rival), crossing.signs, crossing.counts
    if not counts:
        return None
    if all(sign == 1 for sign in signs):
        return f"**{name}** costs more at every number measured."
    if all(sign == -1 for sign in signs):
        return f"**{name}** costs less at every number measured."
    if all(sign == 0 for sign in signs):
        return f"**{name}** is within noise at every number measured."
    said = []
    for sign, what in ((-1, "costs less"), (0, "is within noise"), (1, "costs more")):
        where = [power(n) for n, s in zip(counts, signs) if s == sign]
        if where:
            said.append(f"{what} at {joined(where)}")
    sentence = f"**{name}** {'; '.join(said)}"
    if crossing.at:
        sentence += f". The curves cross at about {power(crossing.at)} pending"
    return sentence + "."


def crossings(data, measurement):
    lines = []
    for contender in data.measured(measurement):
        if contender != BASE:
            sentence = crossingSentence(data, measurement, contender)
            if sentence:
                lines.append("- " + sentence)
    if not lines:
        return ""
    grown, top = data.growth(measurement, BASE)
    first = data.counts(measurement)[0]
    head = (f"From {power(first)} to {power(top)} pending, SystemTimer's cost becomes "
            f"{number(grown.median)} times what it was. Compared with it:")  # fmt: skip
    return "\n".join([head, "", *lines])


# ---- what was expected -------------------------------------------------------------------------


def flatAndLevelled(data):
    """(flat wheel, wheel with levels) of the same language, for those that took part."""
    pairs = [("HashedWheelTimer", BASE), ("Netty-4.2", "Kafka")]
    return [(flat, tall) for flat, tall in pairs if {flat, tall} <= set(data.measured("pair"))]


def verdict(sign):
    return {True: "holds", False: "**does not hold**", None: "undecided (noise)"}[sign]


def less(data, a, b, measurement, metric, orEqual=False):
    """True if a is less than b beyond the noise, None if that cannot be told."""
    first, second = (data.of(measurement, c, metric) for c in (a, b))
    if first.overlaps(second):
        return True if orEqual else None
    return first.median < second.median


def expectedOfFlat(data, flat, tall):
    who = f"{data.title(flat)} against {data.title(tall)}"
    yield (f"{who}: as fast or faster for timeouts of one kind",
           less(data, flat, tall, "pair", "ns", orEqual=True),
           faster(data, flat, tall, "pair", "ns"))  # fmt: skip
    for what, measurement, metric, unit in (
        ("burns more on far timers", "far", "cpuPercent", " % of a core"),
        ("wakes more often while idle", "idle", "wakeUpsPerSecond", " a second"),
    ):
        values = [number(data.of(measurement, c, metric).median) + unit for c in (flat, tall)]
        more = less(data, tall, flat, measurement, metric)
        yield f"{who}: {what}", more, " against ".join(values)


def expectedOfCurve(data):
    mine, top = data.growth("curve-shorter", BASE)
    first = data.counts("curve-shorter")[0]
    for rival in ("Heap", "Asio", "Multimap", "SortedQueue", "JdkExecutor"):
        if rival not in data.measured("curve-shorter"):
            continue
        theirs, reached = data.growth("curve-shorter", rival)
        if reached != top:
            continue
        yield (f"SystemTimer's cost grows less than that of {data.title(rival)}, from "
               f"{power(first)} to {power(top)} pending, short timeouts among long ones",
               None if mine.overlaps(theirs) else theirs.median > mine.median,
               f"{number(mine.median)} times against {number(theirs.median)} times")  # fmt: skip


def expected(data):
    lines = ["| expected | | measured |", "|---|---|---|"]
    pairs = flatAndLevelled(data)
    for flat, tall in pairs:
        lines += [f"| {a} | {verdict(b)} | {c} |" for a, b, c in expectedOfFlat(data, flat, tall)]
    lines += [f"| {a} | {verdict(b)} | {c} |" for a, b, c in expectedOfCurve(data)]
    if ("HashedWheelTimer", BASE) not in pairs:
        lines += ["", "`HashedWheelTimer` did not exist when this was measured."]
    return "\n".join(lines)


# ---- when to prefer which ----------------------------------------------------------------------


def cheapest(data, measurement, metric, count=None, without=()):
    """The best in C++ and those within its noise."""
    found = [(data.of(measurement, c, metric, count), c) for c in data.contenders
             if not data.isJava(c) and c not in without]  # fmt: skip
    found = sorted(((s, c) for s, c in found if s is not None), key=lambda pair: pair[0].median)
    return [c for s, c in found if s.overlaps(found[0][0])], found[0][0]


def slowToFill(data):
    """Who cannot be recommended for many timers, however good it is at something else."""
    for contender in data.measured("curve-random"):
        count, summary = data.curve("curve-random", contender)[-1]
        if summary.median > 20 * data.of("curve-random", BASE, "ns", count).median:
            yield contender


def names(data, contenders):
    return joined(data.title(c) for c in contenders)


def least(contenders, summary):
    """The lowest median; of several within the noise of each other it is the first one's."""
    return ("from " if len(contenders) > 1 else "") + number(summary.median)


def preferByCount(data):
    counts = data.counts("curve-shorter")
    for what, n in (("few", counts[0]), ("many", counts[-1])):
        for measurement, how in (("curve-random", "deadlines are random"),
                                 ("curve-shorter", "short timeouts come and go among long ones"),
                                 ("curve-same", "all delays are the same")):  # fmt: skip
            if n not in data.counts(measurement):
                continue
            best, summary = cheapest(data, measurement, "ns", n)
            mine = data.of(measurement, BASE, "ns", n)
            rest = "" if BASE in best else f"; SystemTimer takes {number(mine.median)} ns"
            yield (f"**{what.capitalize()} timers ({power(n)} pending), {how}:** the cheapest to "
                   f"schedule and cancel from one thread {verb(best)} {names(data, best)} "
                   f"({least(best, summary)} ns{rest}).")  # fmt: skip


def verb(contenders):
    return "are" if len(contenders) > 1 else "is"


# ---- what is left out ---------------------------------------------------------------------------


def whereItStops(data, contender):
    largest = data.contenders[contender]["largest"]
    if largest >= max(data.counts("curve-random")):
        return None
    why = "more would take minutes to fill or to go through"
    if contender == THREADS and (limit := data.run.get("mostThreads")):
        why = (f"each is a thread, and this machine lets a process have {limit['count']:,} "
               f"({limit['by']})")  # fmt: skip
    return f"**{data.title(contender)}** is measured with up to {power(largest)} pending: {why}."


def whatItMisses(data, contender):
    missing = [what for measurement, what in ASKED.items() if data.measured(measurement)
               and contender not in data.measured(measurement)]  # fmt: skip
    if not missing:
        return None
    return f"**{data.title(contender)}** has no part in: {', '.join(missing)}."


def leftOut(data):
    """Whom a reader may look for and not find here, and where to find it."""
    lines = []
    absent = [c for c in CPP if c not in data.contenders]
    if absent:
        lines.append(f"**Not measured in this run:** {joined(absent)}, whose libraries or sources "
                     "the program was built without.")  # fmt: skip
    for contender in data.contenders:
        lines += filter(None, (whereItStops(data, contender), whatItMisses(data, contender)))
    others = [contender["title"] for contender in data.run.get("leftOut", [])
              if contender["id"] != "ClockRead"]  # fmt: skip
    if others:
        lines.append(f"**Other ways to use this library** are measured in [benchmarks.md]"
                     f"(benchmarks.md#timers-in-a-server): {'; '.join(others)}.")  # fmt: skip
    lines.append(
        "**Heartbeats, a mix of everything, a schedule during a storm** are in [benchmarks.md]"
        "(benchmarks.md#timers-in-a-server), whose tables name those who take part. Request "
        "timeouts and lateness are measured there too, in a run of its own. It does not say who "
        "is to be preferred; what this page says of that follows from the numbers of this page.")
    return "\n".join(f"- {line}" for line in lines)


def resident(data):
    """What a thread takes, where that was measured."""
    if THREADS not in data.measured("resident"):
        return ""
    summary = data.of("resident", THREADS, "bytes")
    return ("What a pending timer takes as a thread of its own is not on the heap: with "
            f"{data.counts('resident')[0]:,} pending {number(summary.median / 1024)} KiB are "
            "resident for each, and the kernel keeps a stack for it on top of that.")  # fmt: skip


def preferByUse(data):
    slow = [c for c in slowToFill(data) if not data.isJava(c)]
    if slow:
        yield (f"**Not for many timers:** {names(data, slow)}. The tables below tell why, and the "
               "next points leave that out.")  # fmt: skip
    for what, measurement, metric, unit in (
        ("Several threads schedule and cancel", "pair-2", "ns", " ns"),
        ("Many expire together", "expiry", "cpuNs", " ns of processor time a task"),
        ("Memory counts", "far", "bytes", " bytes for a pending timer"),
        ("Punctuality counts", "late-1", "medianUs", " µs late in the median"),
    ):
        best, summary = cheapest(data, measurement, metric, without=slow)
        mine = data.of(measurement, BASE, metric)
        rest = "" if BASE in best else f"; SystemTimer: {number(mine.median)}{unit}"
        fine = data.of("punctual-late-1", BASE, metric) if measurement == "late-1" else None
        if fine:
            rest += f", and {number(fine.median)}{unit} with a tick of 1 µs"
        yield f"**{what}:** {names(data, best)} ({least(best, summary)}{unit}{rest})."


def preferByDuty(data):
    restless = [c for c in data.measured("idle")
                if data.of("idle", c, "wakeUpsPerSecond").median >= 1]  # fmt: skip
    if restless:
        told = joined(f"{data.title(c)} ({number(data.of('idle', c, 'wakeUpsPerSecond').median)} "
                      "a second)" for c in restless)  # fmt: skip
        yield f"**The machine should sleep while nothing is due:** anything but {told}."
    early = [(data.of(m, c, "earlyPercent").median, c, tick)
             for m, tick in (("late-1", "1 ms"), ("late-100", "100 ms")) for c in data.measured(m)
             if data.of(m, c, "earlyPercent").median > 0]  # fmt: skip
    if early:
        told = joined(f"{data.title(c)} (at {tick}, {number(p)} % of its tasks)"
                      for p, c, tick in early)  # fmt: skip
        yield f"**A task must never run early:** not {told}."
    else:
        yield "**A task must never run early:** nobody was early."


def asioCost(data):
    if not {"Asio", BASE} <= set(data.measured("pair")):
        return ""
    return "For request timeouts, " + faster(data, "Asio", BASE, "pair", "cpuNs") + \
        ", in processor time."  # fmt: skip


def prefer(data):
    found = [*preferByCount(data), *preferByUse(data), *preferByDuty(data)]
    rules = [
        "**A program that runs an Asio `io_context` anyway:** its `steady_timer` needs no second "
        f"thread. {asioCost(data)}",
        "**Handles that may outlive their task, cancels that tell the truth, tasks that may "
        "throw, a `stop()` that returns what is left:** SystemTimer. The hand-written rivals are "
        "measured without any of that; see [guarantees.md](guarantees.md).",
    ]
    head = "Of those that are measured on this page, in this run:\n\n"
    return head + "\n".join(f"- {sentence}" for sentence in found + rules)
