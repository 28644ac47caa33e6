"""What follows from the numbers, in sentences and tables: nothing that was not measured."""

from draw import delays, length
from figures import number, power
from markdown import joined, table
from rows import DEFAULT, TENTH

FINEST, COARSEST = 50_000, 1_000_000_000


def literal(ns):
    """As one writes it in C++."""
    return length(ns).replace(" ", "").replace("µs", "us")


def expect(holds, claim):
    """Stands before a sentence that has no number in it."""
    if not holds:
        raise ValueError(f"the data no longer says so: {claim}")


def options(setting):
    tick, wheelSize = setting
    words = [f".tick = {literal(tick)}"] if tick != DEFAULT[0] else []
    words += [f".wheelSize = {wheelSize:,}".replace(",", "'")] if wheelSize != DEFAULT[1] else []
    return f"`{{{', '.join(words)}}}`" if words else "`{}`, the defaults"


def late(ns):
    """How late, to two digits: rounded up, where it is a bound."""
    return length(float(f"{ns:.2g}")) if ns else "0"


def thousand(row):
    """Wake-ups for a thousand timers."""
    return number(1_000 * row.wakes)


def times(small, large):
    """`3.2 times` how much; in words where it is no difference."""
    if large < 1.1 * small:
        return "as much"
    return f"{number(large / small)} times as much"


def name(results, mix):
    return results.mixes[mix]["name"]


def names(results, mixes):
    return joined(name(results, mix) for mix in mixes)


def inWords(setting):
    return f"{length(setting[0])}, {setting[1]:,} slots"


# ---- the answer --------------------------------------------------------------------------------


def withTolerance(results, mix):
    plain = results.of(mix, results.chosen(mix))
    tolerant = results.of(mix, results.chosen(mix), TENTH)
    if tolerant.wakes > 0.9 * plain.wakes:
        return "saves next to nothing"
    return f"{thousand(tolerant)}"


def decisions(results):
    rows = []
    for mix, about in results.mixes.items():
        chosen = results.of(mix, results.chosen(mix))
        default = results.of(mix, DEFAULT)
        rows.append([f"**{about['title']}**", delays(about), options(chosen.setting),
                     late(chosen.lateMostNs), thousand(chosen), thousand(default),
                     withTolerance(results, mix)])  # fmt: skip
    return table(["timeouts", "delays", "`TimerOptions`", "late by at most",
                  "wake-ups for 1,000 timers", "with the defaults",
                  "with `.tolerance = delay / 10` too"], rows, left=3)  # fmt: skip


def checkLateness(results):
    """What the page says of ticks and tolerances as such."""
    for mix, about in results.mixes.items():
        for row in results.grid(mix):
            expect(row.lateMostNs <= row.tickNs, "a timer is late by a tick at most")
            tolerant = results.of(mix, row.setting, TENTH)
            expect(tolerant is None
                   or tolerant.lateMostNs <= about["longestNs"] / TENTH + row.tickNs,
                   "a timer is late by its tolerance and a tick at most")  # fmt: skip
    rows = [row for mix in results.mixes for row in results.grid(mix)]
    share = sum(row.lateSumNs / row.tickNs for row in rows) / sum(row.fired for row in rows)
    expect(0.48 < share < 0.52, "a timer is late by half a tick on average")


def aboutTick(results):
    checkLateness(results)
    saved, finer = [], []
    for mix in results.mixes:
        chosen, default = results.of(mix, results.chosen(mix)), results.of(mix, DEFAULT)
        if chosen.tickNs > default.tickNs and chosen.total < 0.9 * default.total:
            saved.append(f"{name(results, mix)} {number(chosen.total)} ns a timer instead of the "
                         f"default tick's {number(default.total)}")  # fmt: skip
        elif chosen.tickNs < default.tickNs:
            finer.append(name(results, mix))
    text = ("**`tick`: as coarse as the shortest timeout bears.** Without a tolerance it alone "
            "decides how late a timer is: by up to a tick, by half of it on average. A hundredth "
            "of the shortest delay is what the table takes, among those measured.")  # fmt: skip
    if saved:
        text += f" In processor time, wake-ups included: {'; '.join(saved)}."
    if finer:
        text += f" A finer one than the default is for {joined(finer)}."
    return text


def aboutWheelSize(results):
    kept = [mix for mix in results.mixes if results.chosen(mix)[1] == DEFAULT[1]]
    text = "**`wheelSize`: matters less.** "
    if kept:
        text += (f"For {names(results, kept)} no other size measured saves more than a tenth with "
                 f"each of {joined(map(power, results.counts))} timers: leave it at "
                 f"{DEFAULT[1]}.")  # fmt: skip
    for mix in results.mixes:
        if mix in kept:
            continue
        tick, size = results.chosen(mix)
        chosen, usual = results.of(mix, (tick, size)), results.of(mix, (tick, DEFAULT[1]))
        saved = number(100 * (1 - chosen.total / usual.total))
        text += (f" For {name(results, mix)}, {size:,} instead of {DEFAULT[1]} saves {saved} % of "
                 "the processor time.")  # fmt: skip
    return " ".join(filter(None, [text, aboutFew(results), aboutLargest(results)]))


def aboutFew(results):
    """Where a larger wheel saves the most with few timers, which share no wake-ups."""
    few, best = results.counts[0], None
    for mix, about in results.mixes.items():
        tick = about["fittingTickNs"]
        usual = results.of(mix, (tick, DEFAULT[1]), count=few)
        for row in results.grid(mix, tick):
            large = results.of(mix, row.setting, count=few)
            saved = 1 - large.wakes / usual.wakes
            if row.wheelSize > DEFAULT[1] and saved > 0.1 and (best is None or saved > best[0]):
                best = saved, mix, usual, large
    if best is None:
        return ""
    _, mix, usual, large = best
    return ("The fewer timers there are and the longer they wait, the more a larger one saves: "
            f"with {power(few)} {name(results, mix)}, {large.wheelSize:,} slots take "
            f"{thousand(large)} wake-ups for 1,000 timers, {usual.wheelSize:,} take "
            f"{thousand(usual)}.")  # fmt: skip


def aboutLargest(results):
    """Where the largest wheel measured has more wake-ups than the default one, and why."""
    worse = []
    for mix, about in results.mixes.items():
        tick = about["fittingTickNs"]
        largest = max(results.grid(mix, tick), key=lambda row: row.wheelSize)
        usual = results.of(mix, (tick, DEFAULT[1]))
        if about["cancelledPercent"] and largest.wakes > 1.5 * usual.wakes:
            worse.append(f"for {name(results, mix)}, {largest.wheelSize:,} slots wake "
                         f"{number(largest.wakes / usual.wakes)} times as often as "
                         f"{DEFAULT[1]}")  # fmt: skip
    if not worse:
        return ""
    return ("A larger one is not always better: a bucket whose timeouts were all cancelled still "
            f"expires, and with more slots there are more such buckets ({'; '.join(worse)}).")


def aboutOneTimer(results):
    good, bad = [], []
    for mix in results.mixes:
        chosen, tolerant = results.of(mix, results.chosen(mix)), results.of(mix, DEFAULT, TENTH)
        if chosen.tickNs <= DEFAULT[0] or tolerant is None:
            continue
        told = (f"{name(results, mix)} {number(tolerant.total)} ns against {number(chosen.total)} "
                f"with a tick of {length(chosen.tickNs)} and no tolerance")  # fmt: skip
        (good if tolerant.total <= chosen.total else bad).append(told)
    if not good:
        return ""
    text = ("**One timer for short and long timeouts: a fine tick, and a `tolerance` for the long "
            "ones.** With the default options and a tolerance of a tenth, a timer takes no more "
            f"processor time, wake-ups included: {'; '.join(good)}. It is later instead, by as "
            "much as stands [below](#when-a-tolerance).")  # fmt: skip
    return text + (f" Not so: {'; '.join(bad)}." if bad else "")


def rules(results):
    found = [aboutTick(results), aboutWheelSize(results), aboutOneTimer(results),
             heapInShort(results), flatInShort(results)]  # fmt: skip
    return "\n".join(f"- {text.strip()}" for text in found if text)


# ---- the table ---------------------------------------------------------------------------------


def settingsShown(results, mix):
    tick, _ = chosen = results.chosen(mix)
    sizes = [row.wheelSize for row in results.grid(mix, tick)]
    return sorted({chosen, DEFAULT, (tick, sizes[0]), (tick, DEFAULT[1]), (tick, sizes[-1]),
                   (FINEST, DEFAULT[1]), (COARSEST, DEFAULT[1])})  # fmt: skip


def costTable(results):
    rows = []
    for mix in results.mixes:
        first = f"**{name(results, mix)}**, {delays(results.mixes[mix])}"
        for setting in settingsShown(results, mix):
            row = results.of(mix, setting)
            byCount = [results.of(mix, setting, count=count) for count in results.counts]
            cells = [length(row.tickNs), f"{row.wheelSize:,}", late(row.lateMeanNs),
                     late(row.lateMostNs), f"{row.levels}", number(row.bytes / 1024),
                     number(row.movesEach), *(thousand(r) if r else "" for r in byCount),
                     f"{number(row.cpu.median)} [{number(row.cpu.low)}, {number(row.cpu.high)}]",
                     number(row.total)]  # fmt: skip
            if setting == results.chosen(mix):
                cells = [f"**{cell}**" for cell in cells]
            rows.append([first, *cells])
            first = ""
    head = ["timeouts", "tick", "slots", "late, mean", "at most", "levels", "KiB", "moves a timer",
            *(f"wake-ups for 1,000, of {power(n)}" for n in results.counts), "ns a timer",
            "ns with wake-ups"]  # fmt: skip
    return table(head, rows)


def aboutWakeUps(results):
    wakeUp = results.wakeUp
    cheapest = min(row.cpu.median for row in results.rows if row.kind == "levelled" and row.cpu
                   and row.count == results.main)  # fmt: skip
    dearest = max(row.cpu.median for mix in results.mixes for row in results.grid(mix))
    text = (f"A wake-up of `SystemTimer`'s thread takes {number(wakeUp.median / 1e3)} µs of "
            f"processor time here [{number(wakeUp.low / 1e3)}, {number(wakeUp.high / 1e3)}]; a "
            f"timer's schedule, moves and expiry together take {number(cheapest)} to "
            f"{number(dearest)} ns.")  # fmt: skip
    if wakeUp.median > dearest:
        text += (" So what counts is how many timers share a wake-up: the more of them there are, "
                 "and the coarser the tick, the more do.")  # fmt: skip
    return text


# ---- tolerance ---------------------------------------------------------------------------------


def toleranceTable(results):
    rows = []
    for mix, about in results.mixes.items():
        plain, tolerant = results.of(mix, DEFAULT), results.of(mix, DEFAULT, TENTH)
        share = 100 * tolerant.lateMostNs / about["longestNs"]
        rows.append([f"**{about['title']}**, {delays(about)}",
                     *(f"{value(plain)} → {value(tolerant)}" for value in (
                         thousand, lambda row: number(row.movesEach),
                         lambda row: number(row.cpu.median), lambda row: number(row.total))),
                     late(tolerant.lateMeanNs), late(tolerant.lateMostNs),
                     f"{number(share)} %"])  # fmt: skip
    return table([f"tick {inWords(DEFAULT)}", "wake-ups for 1,000 timers", "moves a timer",
                  "ns a timer", "ns with wake-ups", "late, mean", "at most",
                  "of the longest delay"], rows)  # fmt: skip


def aboutToleranceAndWheelSize(results):
    """A tolerance below a turn of the finest level does nothing: where that costs the most."""
    text = "It has to be at least `tick * wheelSize`, the width of a slot of the second level"
    found = []
    for mix, about in results.mixes.items():
        chosen = results.of(mix, results.chosen(mix))
        gained = results.of(mix, results.chosen(mix), TENTH)
        idle = [row for row in results.grid(mix, about["fittingTickNs"])
                if row.tickNs * row.wheelSize > about["longestNs"] / TENTH
                and results.of(mix, row.setting, TENTH).wakeUps == row.wakeUps]  # fmt: skip
        if idle and chosen.wakes > 1.1 * gained.wakes:
            found.append((chosen.wakes / gained.wakes, about, chosen, gained, idle[0]))
    if not found:
        return text + "."
    _, about, chosen, gained, row = max(found, key=lambda one: one[0])
    return (f"{text}. With {row.wheelSize:,} slots of {length(row.tickNs)} that is "
            f"{late(row.tickNs * row.wheelSize)}, and a tolerance of a tenth changes nothing for "
            f"{about['name']} of {delays(about)}: {thousand(row)} wake-ups for 1,000 timers. With "
            f"{chosen.wheelSize:,} slots it takes them from {thousand(chosen)} to "
            f"{thousand(gained)}.")  # fmt: skip


# ---- mistakes ----------------------------------------------------------------------------------


def mistakes(results):
    found = []

    def add(what, cost, mix):
        good = results.chosen(mix)
        found.append([what, cost, inWords(good)])

    row = results.of("requests", (60_000_000_000, DEFAULT[1]))
    shortest = results.mixes["requests"]["shortestNs"]
    add(f"a tick of {length(row.tickNs)} for {name(results, 'requests')}",
        f"late by {late(row.lateMeanNs)} on average and {late(row.lateMostNs)} at most, which is "
        f"{number(row.lateMostNs / shortest)} times the shortest delay, {length(shortest)}",
        "requests")  # fmt: skip

    for setting, what in (((1_000, DEFAULT[1]), "a tick of {tick} for {title} of {delays}"),
                          ((DEFAULT[0], 8), "{slots} slots of {tick} for {title} of {delays}")):
        row = results.of("sessions", setting)
        good = results.of("sessions", results.chosen("sessions"))
        about = results.mixes["sessions"]
        add(what.format(tick=length(row.tickNs), slots=row.wheelSize, title=about["name"],
                        delays=delays(about)),
            f"{row.levels} levels instead of {good.levels}; {number(row.movesEach)} moves a timer "
            f"instead of {number(good.movesEach)}; {thousand(row)} wake-ups for 1,000 timers "
            f"instead of {thousand(good)}; processor time: {times(good.total, row.total)}",
            "sessions")  # fmt: skip

    flat = next(row for row in results.rows if row.kind == "flat" and row.wheelSize == 8)
    each = flat.passedOver / flat.wakeUps
    add(f"a flat wheel of {flat.wheelSize} slots of {length(flat.tickNs)} for {flat.count:,} "
        f"{name(results, flat.mix)} of {delays(results.mixes[flat.mix])}",
        f"each timer is looked at {number(flat.passedEach)} times before it is due; every "
        f"{length(flat.tickNs)} the thread wakes and looks at {number(each)} of them in vain",
        flat.mix)  # fmt: skip

    row = results.of("orders", (DEFAULT[0], 1_048_576))
    good = results.of("orders", results.chosen("orders"))
    usual = results.of("orders", DEFAULT)
    add(f"{row.wheelSize:,} slots of {length(row.tickNs)} for {name(results, 'orders')}",
        f"{number(row.bytes / 2**20)} MiB instead of {number(good.bytes / 1024)} KiB, in every "
        f"shard; {number(row.movesEach)} moves a timer instead of the default's "
        f"{number(usual.movesEach)}", "orders")  # fmt: skip
    return table(["mistake", "what it costs", "better"], found, left=3)


# ---- heaps -------------------------------------------------------------------------------------


def heapOf(results, mix, count):
    """The cheaper one of heap and tree."""
    return min((results.of(mix, (0, 0), count=count, kind=kind) for kind in ("heap", "tree")),
               key=lambda row: row.total)  # fmt: skip


def wheelOf(results, mix, count, kind="levelled"):
    return results.of(mix, results.chosen(mix), count=count, kind=kind)


def asGood(results, mix):
    """Up to which of the numbers measured, from the least on, a heap costs no more than a tenth
    more than the wheel; 0 if it does nowhere."""
    found = 0
    for count in results.heapCounts():
        if heapOf(results, mix, count).total > 1.1 * wheelOf(results, mix, count).total:
            break
        found = count
    return found


def heapInShort(results):
    top = results.heapCounts()[-1]
    limits = {mix: asGood(results, mix) for mix in results.mixes}
    groups = {}
    for mix, limit in limits.items():
        groups.setdefault(limit, []).append(name(results, mix))
    said = []
    for limit in sorted(groups):
        where = f"up to {power(limit)} timers"
        if limit in (0, top):
            where = f"at {'every' if limit else 'no'} number measured"
        said.append(f"{where} for {joined(groups[limit])}")
    return ("**A heap** (or a `std::multimap`) costs at most a tenth more than the wheel with the "
            f"options above {', '.join(said)}. It is never late by a tick, and wakes nobody before "
            "something is due. See [below](#when-a-heap).")  # fmt: skip


def heapTable(results):
    rows = []
    for mix, about in results.mixes.items():
        cells = []
        for count in results.heapCounts():
            heap, wheel = heapOf(results, mix, count), wheelOf(results, mix, count)
            pair = [number(heap.total / 1e3), number(wheel.total / 1e3)]
            cheaper = int(heap.total > wheel.total)
            pair[cheaper] = f"**{pair[cheaper]}**"
            cells.append(" : ".join(pair))
        rows.append([f"**{about['title']}**", *cells])
    return table(["heap : wheel, µs a timer with wake-ups",
                  *(f"{power(n)} timers" for n in results.heapCounts())], rows)  # fmt: skip


def aboutHeaps(results):
    heaps = [row for row in results.rows if row.kind in ("heap", "tree")]
    expect(not any(row.lateMostNs for row in heaps), "a heap is never late")
    expect(all(0.99 * row.fired <= row.wakeUps <= row.fired for row in heaps),
           "a heap wakes for each that fires")  # fmt: skip
    count = results.heapCounts()[-1]
    heapAhead = [mix for mix in results.mixes if heapOf(results, mix, count).cpu.median
                 < 0.9 * wheelOf(results, mix, count).cpu.median]  # fmt: skip
    text = ("Late: 0, always. What it does cost is a wake-up for every timer that fires, unless "
            "two are due at the very same nanosecond. A tick brings neighbours together.")
    if heapAhead:
        told = joined(f"{name(results, mix)} ({number(heapOf(results, mix, count).cpu.median)} ns "
                      f"against {number(wheelOf(results, mix, count).cpu.median)})"
                      for mix in heapAhead)  # fmt: skip
        text += (f" Without wake-ups the heap takes less even with {power(count)} timers for "
                 f"{told}.")  # fmt: skip
    for mix, about in results.mixes.items():
        if about["cancelledPercent"]:
            text += (f" Of {count:,} {name(results, mix)}, {heapOf(results, mix, count).fired:,} "
                     "fire.")  # fmt: skip
    bare = []
    for mix in results.mixes:
        alone, whole = (wheelOf(results, mix, count, kind).cpu for kind in ("bare", "levelled"))
        bare.append(f"{name(results, mix)} {number(alone.median)} ns instead of "
                    f"{number(whole.median)}")  # fmt: skip
    text += (" What is measured are bare containers, without anything that makes a timer of them: "
             "no handle, no answer to `cancel()`, no statistics. What the wheel costs without "
             f"that, `TimingWheel` alone, with {power(count)} timers: {'; '.join(bare)}.")
    return text


# ---- the flat wheel ----------------------------------------------------------------------------


def flatRows(results):
    for mix in results.mixes:
        tick = max(DEFAULT[0], results.mixes[mix]["fittingTickNs"])
        yield mix, results.of(mix, (tick, 512), kind="flat")


def levelledBeside(results, mix, flat):
    """The wheel with levels at the same tick."""
    return results.of(mix, (flat.tickNs, results.chosen(mix)[1]))


def flatInShort(results):
    told = "; ".join(f"{name(results, mix)} {thousand(flat)} wake-ups for 1,000 timers instead of "
                     f"{thousand(levelledBeside(results, mix, flat))}"
                     for mix, flat in flatRows(results)
                     if flat.wakes > 1.5 * levelledBeside(results, mix, flat).wakes)  # fmt: skip
    text = ("**`HashedWheelTimer`**, the flat wheel, if you want Netty's contract: it wakes for "
            "every tick while anything is pending")  # fmt: skip
    return text + (f" ({told})" if told else "") + ". See [below](#when-the-flat-wheel)."


def flatTable(results):
    rows = []
    for mix, flat in flatRows(results):
        levelled = levelledBeside(results, mix, flat)
        rows.append([f"**{name(results, mix)}**", length(flat.tickNs), number(flat.passedEach),
                     thousand(flat), thousand(levelled), number(flat.total),
                     number(levelled.total)])  # fmt: skip
    return table(["512 slots", "tick", "looked at in vain, times a timer",
                  "wake-ups for 1,000 timers", "with levels", "ns a timer with wake-ups",
                  "with levels"], rows)  # fmt: skip
