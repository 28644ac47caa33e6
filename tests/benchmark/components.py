"""A few figures for the pages of the parts: a server on Asio, calendars, timeouts in a file. Their
programs measure by themselves, and say by their exit status if something was lost or early."""

import json
import subprocess
import sys
import tempfile
from pathlib import Path

from measure import summarised
from tables import Column, measuredTable, number

CONTENDERS = {"stock": "Asio's timer", "wheel": "`asio::steady_timer`",
              "wheel-deadline": "`asio::Deadline`"}  # fmt: skip
GROUPS = {1: 2_000, 100: 100_000, 10_000: 500_000}  # changes a commit: how many in all


def asked(*command):
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"{' '.join(map(str, command))}: {done.stderr}")
    return json.loads(done.stdout)


# ---- a server on Asio --------------------------------------------------------------------------


def wrongOf(result, isQuick):
    """An answer is missing, an idle session is still open, or one was closed early."""
    sessions, closed = (20_000, 5_000) if isQuick else (1_000_000, 100_000)
    wanted = {"sessions": sessions, "open": sessions, "closed": closed, "early": 0}
    yield from (f"{name}: {result[name]} instead of {count}" for name, count in wanted.items()
                if result[name] != count)  # fmt: skip
    yield from (f"{load}: not each packet was answered" for load in ("steady", "storm")
                if result[load]["sent"] != result[load]["answered"])  # fmt: skip


def measureServer(run, options):
    isQuick, samples = options.size != "full", []
    rounds = 1 if isQuick else 3
    for _ in run.rounds(rounds):
        for name in CONTENDERS:
            result = asked(options.programs / "timingwheel-benchmark-server", name,
                           *["--quick"] * isQuick)  # fmt: skip
            if wrong := list(wrongOf(result, isQuick)):
                sys.exit("\n".join(wrong))
            samples.append(("server", name, {
                "bytes": result["bytes"], "processor": result["processor"],
                "p99": result["steady"]["p99"], "storm": result["storm"]["p99"],
                "closing": result["closing"]}))  # fmt: skip
    return run.record(rounds, summarised(samples))


def server(record):
    columns = [Column("memory of a session", "server", "bytes", "bytes"),
               Column("processor time of a packet", "server", "processor", "µs"),
               Column("answered within, 99 of 100", "server", "p99", "µs", True),
               Column("the same in a storm", "server", "storm", "µs", True),
               Column("storm: all closed after", "server", "closing", "ms", True)]  # fmt: skip
    return (f"{measuredTable(record, '', CONTENDERS, columns, CONTENDERS.get)}\n\n"
            "A server with a session for each peer, all on one UDP socket. Each session has an "
            "idle timeout, and every\npacket pushes it back. In the storm, a tenth as many "
            "sessions fall silent at one moment.")  # fmt: skip


# ---- calendars ---------------------------------------------------------------------------------


def measureCalendars(run, options):
    times, rounds = (1_000_000, 5) if options.size == "full" else (2_000, 1)
    samples = []
    for _ in run.rounds(rounds):
        found = asked(options.programs / "timingwheel-benchmark-calendars", times)
        samples += [("calendars", rule, values) for rule, values in found.items()]
    return run.record(rounds, summarised(samples), times=times)


def calendars(record):
    columns = [Column("in UTC", "calendars", "UTC"),
               Column("in Zurich", "calendars", "Europe/Zurich"),
               Column("to read the rule", "calendars", "reading")]  # fmt: skip
    rules = record["cells"]["calendars"]
    return (f"{measuredTable(record, 'the next time', rules, columns)}\n\n"
            f"Each is the mean of {record['times']:,} next times after random ones of ten years. "
            "Rare times cost more: the search goes\nfrom month to month.")  # fmt: skip


# ---- timeouts in a file ------------------------------------------------------------------------


def measureStore(run, options):
    isFull = options.size == "full"
    rounds, part, many = (3, 1, 10_000_000) if isFull else (1, 50, 20_000)
    samples = []

    def ask(what, *numbers):
        return asked(options.programs / "timingwheel-benchmark-durable", what,
                     Path(folder) / "timeouts.db", *numbers)  # fmt: skip

    with tempfile.TemporaryDirectory(dir=options.build) as folder:
        for _ in run.rounds(rounds):
            for group, count in GROUPS.items():
                samples += [(f"{group}", what, ask(what, group, count // part))
                            for what in ("schedule", "raw")]  # fmt: skip
            samples.append(("deliver", "timer", ask("deliver", 300_000 // part)))
            samples.append(("late", "timer", ask("late", 1_000, 20_000 // part)))
        run.say(f"{many:,} timeouts in a file, and starts with them")
        ask("make", many)
        for _ in range(rounds):
            found = ask("start")
            if found.pop("pending") != many:
                sys.exit("some are missing")
            samples.append(("start", "timer", found))
    return run.record(rounds, summarised(samples), many=many)


def store(record):
    def of(name, metric, unit, who="timer", isRanged=False):
        return Column(name, name, metric, unit, isRanged).cell(record, who) + f" {unit}"

    rows = [[f"schedule, {group:,} in a commit",
             of(f"{group}", "perSecond", "a second", "schedule"),
             f"SQLite's `INSERT` alone: {of(f'{group}', 'perSecond', 'a second', 'raw')}"]
            for group in GROUPS]  # fmt: skip
    rows += [
        ["deliver what came due while nothing ran", of("deliver", "perSecond", "a second"),
         "removed from the file"],
        ["lateness at 1,000 a second, half of them", of("late", "half", "ms", isRanged=True),
         f"99 of 100: {of('late', 'hundredth', 'ms', isRanged=True)}"],
        [f"start with {record['many']:,}", of("start", "seconds", "s", isRanged=True),
         f"memory: {number(record['cells']['start']['timer']['memory'][0])} MiB more"],
    ]  # fmt: skip
    lines = ["| | | |", "| --- | ---: | --- |", *("| " + " | ".join(row) + " |" for row in rows)]
    return ("\n".join(lines) + "\n\nIds have 16 bytes, payloads 40. A lone caller that waits for "
            "each commit has the first row; many callers share\ncommits.")  # fmt: skip
