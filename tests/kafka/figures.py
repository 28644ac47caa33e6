"""What timingwheel-kafka does on one broker, beside which it runs. ./dev kafka figures calls it: it
writes into docs/beyond.md."""

import datetime
import os
import time
from functools import partial
from pathlib import Path
from signal import SIGTERM

import about
import seal
from children import allEnded, waitUntil
from cluster import Cluster
from markdown import textTable
from runner import asked
from timers import (
    HOUR, PATIENCE, SESSION, TARGET, Reader, User, Worker, header, now, start,
)  # fmt: skip

PAGE = Path(__file__).resolve().parents[2] / "docs/beyond.md"
PARTITIONS = 4
PAYLOAD = b"x" * 100
MILLION, QUICK, VAST = 1_000_000, 100_000, 10_000_000
SHARES = (0.5, 0.99, 0.999, 1)  # of what is late, which the page tells


class Set:
    """A broker, workers, and a user by whom they are measured."""

    def __init__(self, options, name, partitions=PARTITIONS):
        self.cluster = Cluster(options.build / f"figures-{name}", options.build / "jars")
        self.program, self.written = options.program, 0
        start(self.program, self.cluster, partitions)
        self.user = User(self.cluster.addresses)

    def worker(self, number, standby=1):
        worker = Worker(self.program, number, self.cluster.folder, self.cluster.addresses,
                        ["--memory-mb", 16_384, "--standby", standby])  # fmt: skip
        worker.start()
        waitUntil(worker.metrics, PATIENCE, "the worker does not answer")
        return worker

    def schedule(self, ats, payload=PAYLOAD):
        for at in ats:
            self.written += 1
            self.user.command("schedule", f"timer-{self.written:08d}", at, TARGET, payload)
        self.user.flush()

    def end(self, *workers):
        for child in (*workers, *self.cluster.brokers):
            child.kill()


def reached(worker, name, number):
    """How many seconds the metric took from above nothing to there."""
    waitUntil(lambda: worker.value(name) > 0, PATIENCE, f"{name} stays 0", every=0.02)
    begun = time.monotonic()
    waitUntil(lambda: worker.value(name) >= number, PATIENCE, f"{name} is too low", every=0.02)
    return time.monotonic() - begun


def arrivals(reader, number):
    """[(at, when it was read)], the first one first."""
    found, until = [], time.monotonic() + PATIENCE
    while len(found) < number:
        for message in reader.read(0.001, 1_000):
            found.append((int(header(message, "timingwheel-at")), now()))
        if time.monotonic() > until:
            raise TimeoutError(f"{len(found)} of {number} deliveries in {PATIENCE} s")
    return found


# ---- what is measured, as rows of tables -------------------------------------------------------


def scheduling(options, number, say, payload=PAYLOAD, hours=0.5):
    """Commands that wait in their topic are taken in. What a timer takes."""
    given = f"{number:,} due in {hours:g} h, with payloads of {len(payload)} bytes"
    say(f"takes in {given}")
    measured = Set(options, "schedule")
    first = now() + int(hours * HOUR)
    measured.schedule((first + lot * 7919 % (HOUR // 4) for lot in range(number)), payload)
    worker = measured.worker(1)
    seconds = reached(worker, "scheduled_total", number)
    time.sleep(2)
    pages = Path(f"/proc/{worker.process.pid}/statm").read_text().split()[1]
    resident = int(pages) * os.sysconf("SC_PAGE_SIZE") / number
    counted = worker.value("memory_bytes") / number
    disk = sum(file.stat().st_size for file in measured.cluster.folder.rglob("broker-1/**/*.log"))
    measured.end(worker)
    return [(f"schedules that are taken in: {given}", f"{number / seconds:,.0f} a second"),
            ("memory of each of them",
             f"{counted:.0f} bytes by its count, {resident:.0f} of the process"),
            ("disk of one broker for command and state of each", f"{disk / number:.0f} bytes")]


def delivering(options, number, say):
    """All due at once; then late by how much with few, and with half of what is possible. How many
    those are, and of each rate how late parts of them are."""
    say(f"delivers {number:,} that are due at once")
    measured = Set(options, "deliver")
    worker = measured.worker(1)
    waitUntil(lambda: worker.value("ready") == PARTITIONS, PATIENCE,
              "the worker has not all partitions")  # fmt: skip
    reader = Reader(measured.cluster.addresses, [TARGET])
    at = now() + number // 20 + 5_000
    measured.schedule(at for _ in range(number))
    reached(worker, "scheduled_total", number)
    most = number / ((arrivals(reader, number)[-1][1] - at) / 1000)
    late = []
    for rate, seconds in ((100, 60 if number == MILLION else 15),
                          (round(most / 2, -3), 20 if number == MILLION else 10)):  # fmt: skip
        say(f"{rate:,.0f} a second, for {seconds} s")
        parts = lateness(measured, worker, reader, rate, seconds)
        late.append((f"{rate:,.0f}", *(f"{part} ms" for part in parts)))
    reader.close()
    measured.end(worker)
    return f"{most:,.0f} a second", late


def lateness(measured, worker, reader, rate, seconds):
    """Milliseconds from a timer's time until a reader of committed records has it."""
    number = int(rate * seconds)
    begin = now() + 10_000 + number // 10
    measured.schedule(begin + int(1000 * i / rate) for i in range(number))
    reached(worker, "scheduled_total", measured.written)
    assert now() < begin, "the first are due before all are taken in"
    late = sorted(when - at for at, when in arrivals(reader, number))
    assert late[0] >= 0, f"early by {-late[0]} ms"
    return [late[min(number - 1, int(share * number))] for share in SHARES]


def takingOver(options, number, say, standby):
    """One partition with all of it, after its worker was killed, and after it was stopped. How long
    that takes, and how much of it the next worker itself."""
    say(f"takes a partition over with {number:,} pending, --standby {standby}")
    measured = Set(options, f"takeover-{standby}", 1)
    measured.schedule(now() + HOUR // 2 + lot for lot in range(number))
    workers = [measured.worker(1, standby), measured.worker(2, standby)]
    waitUntil(lambda: sum(w.value("pending") for w in workers) == number, PATIENCE,
              "not all commands are taken in")  # fmt: skip
    waiting, owner = sorted(workers, key=lambda worker: worker.value("pending"))
    found = []
    killed = f"its worker is killed (session time-out {SESSION / 1000:.0f} s)"
    for what, end in ((killed, owner.kill),
                      ("its worker is stopped", partial(waiting.signal, SIGTERM))):  # fmt: skip
        waitUntil(lambda w=waiting: w.value("standby_pending") == standby * number, PATIENCE,
                  "it does not follow")  # fmt: skip
        time.sleep(5)  # until it is one of the group
        read, began = waiting.value("takeover_seconds_sum"), time.monotonic()
        end()
        waitUntil(lambda w=waiting, r=read: w.value("takeover_seconds_sum") > r, PATIENCE,
                  "no successor", every=0.02)  # fmt: skip
        reading = waiting.value("takeover_seconds_sum") - read
        found.append((f"{what}, `--standby {standby}`", f"{time.monotonic() - began:.2f} s",
                      f"{reading:.2f} s"))  # fmt: skip
        assert waiting.value("pending") == number
        owner, waiting = waiting, owner
        waiting.process.wait(PATIENCE)
        waiting.start()
        waitUntil(waiting.metrics, PATIENCE, "the worker does not answer")
    measured.end(*workers)
    return found


# ---- what is told ------------------------------------------------------------------------------


def main(options):
    machine, began = about.describeMachine(javaRuns=True), time.monotonic()
    number = QUICK if options.quick else MILLION

    def say(what):
        print(f"== {time.monotonic() - began:4.0f} s: {what}", flush=True)

    with allEnded():
        rows = scheduling(options, number, say)
        rows += scheduling(options, number, say, payload=b"")
        rows += scheduling(options, VAST if options.vast else number, say, hours=24)
        most, late = delivering(options, number, say)
        over = takingOver(options, number, say, 1) + takingOver(options, number, say, 0)
    run = {
        "command": asked("kafka"),
        "size": "quick" if options.quick else "full",
        "date": datetime.date.today().isoformat(),
        "seconds": round(time.monotonic() - began),
        "machine": machine,
    }
    text = seal.sealed("\n" + "\n\n".join(filter(None, (
        about.generated(run), f"On {about.machine(run)}.", about.warnings(run),
        textTable(["one worker", ""],
                  [*rows, (f"timers that are delivered, {number:,} due at once", most)]),
        "Meanwhile nothing is scheduled: what follows only delivers.",
        textTable(["deliveries a second", "half of them late by", "99 %", "99.9 %", "all"], late),
        textTable([f"a partition with {number:,} pending", "until the next has it",
                   "of which it reads"], over),
    ))))  # fmt: skip
    if options.quick:
        print(text)
    else:
        seal.writePart(PAGE, "./dev kafka figures", text)
