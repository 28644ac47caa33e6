#!/usr/bin/env python3
"""What timingwheel-kafka does on one broker, beside which it runs; ./dev kafka figures calls it.

figures.py <timingwheel-kafka> <build folder> [--quick] [--vast] [--command TEXT]

Writes <build>/figures.json, and what it found into docs/beyond.md; a quick run into
<build>/figures.md.
"""

import argparse
import datetime
import json
import os
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "benchmark" / "page"))

import about  # noqa: E402  (found in the folder above)
import seal  # noqa: E402
from children import allEnded, waitUntil  # noqa: E402
from cluster import Cluster  # noqa: E402
from timers import HOUR, ROOT, TARGET, Reader, User, Worker, header, now, prepare  # noqa: E402

PAGE = ROOT / "docs" / "beyond.md"
PARTITIONS = 4
PAYLOAD = b"x" * 100
MILLION, QUICK, VAST = 1_000_000, 100_000, 10_000_000
SESSION, TRANSACTION = 6_000, 6_000  # milliseconds
PATIENCE = 600  # seconds


class Set:
    """A broker, a worker and what they are measured with."""

    def __init__(self, options, name, partitions, memory=4_096):
        self.cluster = Cluster(options.build / f"figures-{name}", options.build / "jars")
        self.options = ["--session-timeout-ms", SESSION, "--transaction-timeout-ms", TRANSACTION,
                        "--memory-mb", memory]  # fmt: skip
        self.program, self.partitions, self.written = options.program, partitions, 0
        self.cluster.start()
        prepare(self.cluster, partitions, self.program)
        self.user = User(self.cluster.addresses)

    def worker(self, number):
        worker = Worker(self.program, number, self.cluster, self.options)
        worker.start()
        return worker

    def schedule(self, ats, payload=PAYLOAD):
        for at in ats:
            self.written += 1
            self.user.schedule(f"timer-{self.written:08d}", at, value=payload)
        self.user.flush(PATIENCE)

    def end(self, *workers):
        for child in (*workers, *self.cluster.brokers):
            child.kill()


def value(worker, name):
    """The sum over its partitions."""
    return sum(number for (found, _), number in worker.metrics().items() if found == name)


def hasAll(worker, partitions):
    return sum(name == "pending" for name, _ in worker.metrics()) == partitions


def reached(worker, name, number):
    """When the metric was above nothing, and when it was there."""
    begun = None
    until = time.monotonic() + PATIENCE
    while time.monotonic() < until:
        before, found = time.monotonic(), value(worker, name)
        if begun is None and found > 0:
            begun = before
        if found >= number:
            return begun, time.monotonic()
        time.sleep(0.02)
    raise TimeoutError(f"{name} has not come to {number} in {PATIENCE} s")


def percentile(sorted_, share):
    return sorted_[min(len(sorted_) - 1, int(share * len(sorted_)))]


def arrivals(reader, number):
    """[(at, when it was read)], the first one first."""
    found, until = [], time.monotonic() + PATIENCE
    while len(found) < number:
        for message in reader.read(0.001, 1_000):
            found.append((int(header(message, "timingwheel-at")), now()))
        if time.monotonic() > until:
            raise TimeoutError(f"{len(found)} of {number} deliveries in {PATIENCE} s")
    return found


# ---- what is measured --------------------------------------------------------------------------


def scheduling(options, number, say, payload=PAYLOAD):
    """Commands that wait in their topic are taken in. What a timer takes."""
    say(f"takes in {number:,} schedules with payloads of {len(payload)} bytes")
    measured = Set(options, "schedule", PARTITIONS, memory=16_384)
    far = now() + 24 * HOUR
    measured.schedule((far + lot * 7919 % HOUR for lot in range(number)), payload)
    worker = measured.worker(1)
    begun, ended = reached(worker, "scheduled_total", number)
    time.sleep(2)
    result = {
        "timers": number,
        "payload": len(payload),
        "rate": number / (ended - begun),
        "bytes": value(worker, "memory_bytes") / number,
        "resident": worker.residentBytes() / number,
        "disk": measured.cluster.diskBytes() / number,
    }
    measured.end(worker)
    return result


def delivering(options, number, say):
    """All due at once; then late by how much with few, and with half of what is possible."""
    say(f"delivers {number:,} that are due at once")
    measured = Set(options, "deliver", PARTITIONS)
    worker = measured.worker(1)
    waitUntil(lambda: hasAll(worker, PARTITIONS), PATIENCE, "the worker has not all partitions")
    reader = Reader(measured.cluster.addresses, [TARGET])
    at = now() + number // 20 + 5_000
    measured.schedule(at for _ in range(number))
    reached(worker, "scheduled_total", number)
    found = arrivals(reader, number)
    rate = number / ((found[-1][1] - at) / 1000)
    light, seconds = 100, 60 if number == MILLION else 15
    say(f"{light} a second, for {seconds} s")
    late = {light: lateness(measured, worker, reader, light, seconds)}
    half, seconds = round(rate / 2, -3), 20 if number == MILLION else 10
    say(f"{half:,.0f} a second, for {seconds} s")
    late[half] = lateness(measured, worker, reader, half, seconds)
    reader.close()
    measured.end(worker)
    return {"timers": number, "rate": rate,
            "late": [{"rate": rate_, **figures} for rate_, figures in late.items()]}  # fmt: skip


def lateness(measured, worker, reader, rate, seconds):
    """Milliseconds from a timer's time until a reader of committed records has it."""
    number = int(rate * seconds)
    begin = now() + 10_000 + number // 10
    measured.schedule(begin + int(1000 * i / rate) for i in range(number))
    reached(worker, "scheduled_total", measured.written)
    assert now() < begin, "the first are due before all are taken in"
    late = sorted(when - at for at, when in arrivals(reader, number))
    assert late[0] >= 0, f"early by {-late[0]} ms"
    return {f"p{name}": percentile(late, share) for name, share in
            (("50", 0.5), ("99", 0.99), ("99.9", 0.999), ("100", 1))}  # fmt: skip


def takingOver(options, number, say):
    """One partition with all of it: by a worker that waits, and by the next after a stop."""
    say(f"takes a partition over with {number:,} pending")
    measured = Set(options, "takeover", 1)
    measured.schedule(now() + 24 * HOUR + lot for lot in range(number))
    workers = [measured.worker(1), measured.worker(2)]
    waitUntil(lambda: sum(value(w, "pending") for w in workers) == number, PATIENCE,
              "not all commands are taken in")  # fmt: skip
    owner, other = sorted(workers, key=lambda w: -value(w, "pending"))
    results = {"timers": number, "session": SESSION / 1000}
    for name, end in (("killed", owner.kill), ("stopped", other.stop)):
        successor = other if name == "killed" else owner
        if name == "stopped":
            owner.start()  # waits for its turn
            waitUntil(successor.metrics, PATIENCE, "the worker does not answer")
            time.sleep(2)
        read, began = value(successor, "takeover_seconds_sum"), time.monotonic()
        end()
        waitUntil(lambda w=successor, r=read: value(w, "takeover_seconds_sum") > r, PATIENCE,
                  "no successor", every=0.02)  # fmt: skip
        results[name] = {"seconds": time.monotonic() - began,
                         "reading": value(successor, "takeover_seconds_sum") - read}  # fmt: skip
        assert value(successor, "pending") == number
    measured.end(*workers)
    return results


# ---- what is told ------------------------------------------------------------------------------

# Timers, partitions, workers.
SIZES = (10_000_000, 12, 3), (100_000_000, 48, 6), (1_000_000_000, 240, 20)


def section(run):
    parts = run["results"]
    schedule, deliver, over = parts["schedule"], parts["deliver"], parts["takeover"]
    machine = run["machine"]
    lines = [
        "",
        about.generated(run), "",
        f"On {machine['processor']}; {machine['cores']} cores; {machine['memory']}; "
        f"{machine['system']}; {machine['java']}.", "",
        about.warnings(run), "",
        "| one worker | |", "|---|---|",
        f"| schedules that are taken in | {schedule['rate']:,.0f} a second |",
        f"| timers that are delivered, all due at once | {deliver['rate']:,.0f} a second |",
    ]  # fmt: skip
    for memory in filter(None, (schedule, parts.get("vast"), parts["empty"])):
        payload = f"payloads of {memory['payload']} bytes" if memory["payload"] else "no payloads"
        lines.append(f"| memory of a pending timer, with {memory['timers']:,} and {payload} "
                     f"| {memory['bytes']:.0f} bytes by its count, {memory['resident']:.0f} of "
                     "the process |")  # fmt: skip
    lines.append(f"| disk of one broker for a pending timer: its command, and its state "
                 f"| {schedule['disk']:.0f} bytes |")  # fmt: skip
    lines += ["", "Meanwhile nothing is scheduled: what follows only delivers."]
    lines += ["", "| deliveries a second | half of them late by | 99 % | 99.9 % | all |",
              "|---|---|---|---|---|"]  # fmt: skip
    for late in deliver["late"]:
        lines.append(f"| {late['rate']:,.0f} | {late['p50']} ms | {late['p99']} ms | "
                     f"{late['p99.9']} ms | {late['p100']} ms |")  # fmt: skip
    lines += ["", f"| a partition with {over['timers']:,} pending | until the next has it | of "
              "which it reads |", "|---|---|---|"]  # fmt: skip
    killed = f"its worker is killed (session time-out {over['session']:.0f} s)"
    for name, what in (("killed", killed),
                       ("stopped", "its worker is stopped")):  # fmt: skip
        seconds, reading = over[name]["seconds"], over[name]["reading"]
        lines.append(f"| {what} | {seconds:.1f} s | {reading:.1f} s |")
    return seal.sealed("\n".join(lines).replace("\n\n\n\n", "\n\n") + "\n")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("program", type=Path)
    parser.add_argument("build", type=Path)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--vast", action="store_true", help="ten million pending, too")
    parser.add_argument("--command", default="./dev kafka figures", help="what the page says")
    options = parser.parse_args()
    machine, began = about.describeMachine(javaRuns=True), time.monotonic()
    number = QUICK if options.quick else MILLION

    def say(what):
        print(f"== {time.monotonic() - began:4.0f} s: {what}", flush=True)

    with allEnded():
        results = {"schedule": scheduling(options, number, say),
                   "empty": scheduling(options, number, say, payload=b"")}  # fmt: skip
        if options.vast:
            results["vast"] = scheduling(options, VAST, say)
        results["deliver"] = delivering(options, number, say)
        results["takeover"] = takingOver(options, number, say)
    run = {
        "command": options.command,
        "size": "quick" if options.quick else "full",
        "date": datetime.date.today().isoformat(),
        "seconds": round(time.monotonic() - began),
        "machine": machine | {"loadAfter": os.getloadavg()[0]},
        "results": results,
    }
    (options.build / "figures.json").write_text(json.dumps(run, indent=1), encoding="utf-8")
    text = section(run)
    if options.quick:
        (options.build / "figures.md").write_text(text, encoding="utf-8")
        print(f"== written to {options.build / 'figures.md'}")
    else:
        seal.writePart(PAGE, "./dev kafka figures", text)
        print(f"== written into {PAGE.relative_to(ROOT)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
