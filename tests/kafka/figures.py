"""What timingwheel-kafka does on one broker, beside which it runs. ./dev kafka figures calls it: it
writes into docs/beyond.md."""

import os
import time
from itertools import pairwise, zip_longest
from pathlib import Path
from signal import SIGKILL, SIGTERM

import about
import jvm
import seal
from children import allEnded, waitUntil
from cluster import Cluster
from markdown import textTable
from measure import Run
from runner import asked
from timers import HOUR, PATIENCE, SESSION, TARGET, Reader, User, Worker, header, now, start

HERE = Path(__file__).resolve().parent
PAGE = HERE.parents[1] / "docs/beyond.md"
PARTITIONS = 4
PAYLOAD = b"x" * 100
MILLION, QUICK, VAST = 1_000_000, 100_000, 10_000_000
SHARES = (0.5, 0.99, 0.999, 1)  # of what is late, which the page tells
RATES = (1_000, 25_000)  # a second: few, and about half of what Streams delivers at most
LEAST = 1_000  # milliseconds: the session time-out that these brokers allow; else it is 6 s


class Set:
    """A broker, workers, and a user by whom they are measured."""

    def __init__(self, options, isStreams=False, partitions=PARTITIONS, session=SESSION):
        self.cluster = Cluster(options.build / "figures", options.build / "jars",
                               settings={"group.min.session.timeout.ms": LEAST})  # fmt: skip
        self.program, self.session, self.written, self.commands = options.program, session, 0, 0
        self.streams = isStreams and ":".join([self.cluster.path, *(jar for _, jar in jvm.fetchJars(
            options.build / "jars", HERE / "streams-jars.txt"))])  # fmt: skip
        start(self.program, self.cluster, partitions)
        self.user = User(self.cluster.addresses)

    def worker(self, number, standby=0):
        folder, addresses = self.cluster.folder, self.cluster.addresses
        worker = Worker(self.program, number, folder, addresses,
                        ["--memory-mb", 16_384, "--standby", standby], self.session)  # fmt: skip
        if self.streams:
            worker.command = ["java", "-Xmx1g", "-Dorg.slf4j.simpleLogger.defaultLogLevel=warn",
                              "-cp", self.streams, HERE / "StreamsTimers.java", addresses,
                              str(worker.port), folder / f"streams-{number}",
                              str(standby)]  # fmt: skip
        worker.start()
        waitUntil(worker.metrics, PATIENCE, "the worker does not answer")
        return worker

    def schedule(self, ats, payload=PAYLOAD, cancels=True):
        """And then cancels a tenth of them."""
        before = self.written
        for at in ats:
            self.written, self.commands = self.written + 1, self.commands + 1
            self.user.command("schedule", f"timer-{self.written:08d}", at, TARGET, payload)
        for timer in range(before + 1, self.written + 1, 10) if cancels else ():
            self.user.command("cancel", f"timer-{timer:08d}")
            self.commands += 1
        self.user.flush()

    def takenIn(self, *workers):
        """Returns when all commands are. How many a second, from the first one on."""
        waitUntil(lambda: any(worker.value("scheduled_total") for worker in workers), PATIENCE,
                  "no command is taken in", every=0.02)  # fmt: skip
        begun = time.monotonic()
        waitUntil(lambda: sum(worker.value(f"{what}_total") for worker in workers
                              for what in ("scheduled", "cancelled")) >= self.commands,
                  PATIENCE, "commands are left", every=0.02)  # fmt: skip
        return self.commands / (time.monotonic() - begun)

    def end(self, *workers):
        for child in (*workers, *self.cluster.brokers):
            child.kill()


def arrivals(reader, number):
    """[(at, when it was read)], the first one first."""
    found = []
    waitUntil(lambda: len(found) >= number or found.extend(
        (int(header(message, "timingwheel-at")), now()) for message in reader.read(0.001, 1_000)
    ), PATIENCE, f"there are no {number} deliveries", every=0)  # fmt: skip
    assert len(found) == number, f"{len(found)} of {number} are delivered"
    return found


# ---- what is measured, as rows of tables -------------------------------------------------------


def scheduling(measured, number, payload=PAYLOAD, hours=0.5):
    """Commands that wait in their topic are taken in. The worker, how many a second, and rows of
    that and of what a timer takes."""
    first, pending = now() + int(hours * HOUR), number * 9 // 10
    measured.schedule((first + lot * 7919 % (HOUR // 4) for lot in range(number)), payload)
    worker = measured.worker(1)
    rate = measured.takenIn(worker)
    time.sleep(2)
    pages = Path(f"/proc/{worker.process.pid}/statm").read_text().split()[1]
    resident = int(pages) * os.sysconf("SC_PAGE_SIZE") / pending
    counted = worker.value("memory_bytes") / pending
    folder = measured.cluster.folder
    files = [*folder.glob("broker-1/**/*.log"), *folder.glob("streams-1/**/*.sst")]
    disk = sum(file.stat().st_size for file in files) / pending
    given = f"{number:,} due in {hours:g} h, with payloads of {len(payload)} bytes"
    return worker, rate, [
        (f"commands that are taken in: {given}", f"{rate:,.0f} a second"),
        ("memory of each that is pending",
         f"{resident:.0f} bytes of the process" + f", {counted:.0f} by its count" * bool(counted)),
        ("disk of one broker and of the worker for each", f"{disk:.0f} bytes")]  # fmt: skip


def delivering(measured, worker, rate, number):
    """All due at once: how many a second. Then how late parts of them are at some rates."""
    reader = Reader(measured.cluster.addresses, [TARGET])
    at = now() + 5_000 + number // 20 + round(2_000 * number / rate)
    measured.schedule(at for _ in range(number))
    measured.takenIn(worker)
    assert now() < at, "they are due before all are taken in"
    expected = number * 9 // 10
    most = expected / ((arrivals(reader, expected)[-1][1] - at) / 1000)
    late = []
    for each in RATES:
        timers = each * (20 if number == MILLION else 10)
        begin = now() + 5_000 + timers // 20 + round(2_000 * timers / rate)
        measured.schedule((begin + 1000 * i // each for i in range(timers)), cancels=False)
        measured.takenIn(worker)
        assert now() < begin, "the first are due before all are taken in"
        found = sorted(when - at for at, when in arrivals(reader, timers))
        assert found[0] >= 0, f"early by {-found[0]} ms"
        late.append((f"{each:,}", *(f"{found[min(timers - 1, int(share * timers))]} ms"
                                    for share in SHARES)))  # fmt: skip
    reader.close()
    measured.end(worker)
    return f"{most:,.0f} a second", late


def takingOver(options, number, isStreams, standby, session=SESSION):
    """One partition with all of it, after its worker was killed, and after it was stopped. For how
    long nothing of it comes, where a timer is due each 10 ms."""
    measured = Set(options, isStreams, 1, session)
    measured.schedule(now() + HOUR // 2 + lot * 7919 % (HOUR // 4) for lot in range(number))
    workers = [measured.worker(1, standby), measured.worker(2, standby)]
    measured.takenIn(*workers)
    reader, found = Reader(measured.cluster.addresses, [TARGET]), []
    for signal, what in ((SIGKILL, f"is killed (session time-out {session / 1000:g} s)"),
                         (SIGTERM, "is stopped")):  # fmt: skip
        waitUntil(lambda: sum(w.value("ready") for w in workers) == 1, PATIENCE, "none has it")
        waiting, owner = sorted(workers, key=lambda worker: worker.value("ready"))
        waitUntil(lambda w=waiting: (isStreams or w.page("readyz")[0] == 200) and (
            not standby or [lag < 1_000 for lag in w.values("standby_lag")] == [True]), PATIENCE,
                  "it does not follow")  # fmt: skip
        time.sleep(5)  # until Streams' is one of the group, as ours is
        begin = now() + 1_000
        measured.schedule((begin + 10 * i for i in range(500)), cancels=False)
        time.sleep(2)
        owner.signal(signal)
        came = arrivals(reader, 500)
        gap = max(after - before for (_, before), (_, after) in pairwise(came))
        found.append((f"{number:,} pending, `--standby {standby}`, its worker {what}",
                      f"{gap / 1000:.2f} s"))  # fmt: skip
        owner.process.wait(PATIENCE)
        owner.start()
        waitUntil(owner.metrics, PATIENCE, "the worker does not answer")
    reader.close()
    measured.end(*workers)
    return found


def sideBySide(what, rows):
    """A table of ours and of those of Streams, which may be fewer."""
    both = zip_longest(*rows, fillvalue=("", "–"))
    return textTable([what, "timingwheel-kafka", "Kafka Streams"],
                     [(*ours, theirs[1]) for ours, theirs in both])  # fmt: skip


# ---- what is told ------------------------------------------------------------------------------


def main(options):
    run = Run(asked("kafka"), "quick" if options.quick else "full", javaRuns=True)
    number, say = QUICK if options.quick else MILLION, run.say
    rows, late, over = [[], []], [], [[], []]
    with allEnded():
        for isStreams, name in enumerate(("timingwheel-kafka", "Kafka Streams")):
            say(f"{name} takes in and delivers {number:,}")
            measured = Set(options, isStreams)
            worker, rate, rows[isStreams] = scheduling(measured, number)
            most, lateOf = delivering(measured, worker, rate, number)
            rows[isStreams].append((f"timers that are delivered, {number:,} due at once", most))
            late += [(name, *row) for row in lateOf]
            for standby in (1, 0)[: 1 if isStreams else 2]:
                say(f"{name} takes a partition over, --standby {standby}")
                over[isStreams] += takingOver(options, number, isStreams, standby)
        for many, size, hours in (number, 0, 0.5), (VAST if options.vast else number, 100, 24):
            say(f"takes in {many:,} of {size} bytes, due in {hours:g} h")
            measured = Set(options)
            worker, _, found = scheduling(measured, many, PAYLOAD[:size], hours)
            measured.end(worker)
            rows[0].extend(found)
        for many, session in ([(VAST, SESSION)] if options.vast else []) + [(number, LEAST)]:
            say(f"takes a partition over with {many:,}, and a session of {session} ms")
            over[0].extend(takingOver(options, many, False, 1, session))
    text = about.sealed(
        run.record(1, {}), sideBySide("one worker", rows),
        "Meanwhile nothing is scheduled: what follows only delivers.",
        textTable(["", "deliveries a second", "half late by", "99 %", "99.9 %", "all"], late),
        sideBySide("how long nothing comes from a partition", over))  # fmt: skip
    if options.quick:
        print(text)
    else:
        seal.writePart(PAGE, "./dev kafka figures", text)
