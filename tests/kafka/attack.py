#!/usr/bin/env python3
"""Kills and pauses brokers and workers at random while users schedule, push back and cancel. Then
everything is started again, the ledger must balance, and the transactions that the brokers have
written must be whole. ./dev kafka attack calls it.

attack.py <timingwheel-kafka> <build folder> [--minutes 10] [--seed N] [--brokers 3] [--workers 3]
          [--rate N] [--partitions N] [--hasty] [--write]
"""

import argparse
import bisect
import datetime
import fcntl
import heapq
import itertools
import json
import random
import re
import secrets
import sys
import threading
import time
from collections import Counter
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "benchmark" / "page"))

import about  # noqa: E402  (found in the folder above)
from brokerlogs import Scan  # noqa: E402
from children import allEnded, reserve  # noqa: E402
from cluster import Cluster  # noqa: E402
from ledger import CANCEL, MISTAKE, PUSH_BACK, SCHEDULE, Ledger  # noqa: E402
from screen import Screen, bold, dim, green, red  # noqa: E402
from timers import (  # noqa: E402
    DEAD_LETTERS, REPLIES, STATE, TARGET, Reader, User, Worker, header, now, prepare, readReply,
    stillPending,
)  # fmt: skip

RECORD = Path(__file__).with_name("attacks.toml")
BEGIN = "\n[[attack]]\n"
KEPT = 5  # attacks
LONG = 10  # minutes; a shorter one is not for the record
SESSION, TRANSACTION = 6_000, 6_000  # milliseconds
PATIENCE = 300  # seconds without anything new
SETTLES = 10  # seconds for what should not come
FARTHEST = 60_000  # milliseconds to what is due
RECENT = 50_000  # timers that users still think of
LIMITS = (10, 20, 50, 100, 200, 500, 1_000, 2_000, 5_000, 10_000, 20_000, 30_000, 60_000)

# ---- users -------------------------------------------------------------------------------------


class Users(threading.Thread):
    """One after the other they do what lot decides, so many times a second."""

    def __init__(self, addresses, rate, seed):
        super().__init__(daemon=True)
        self.user, self.rate, self.draw = User(addresses), rate, random.Random(f"{seed}/users")
        self.ledger, self.timers = Ledger(), 0
        self.isEnding = threading.Event()
        self.failure = None

    def run(self):
        try:
            begin, done = time.monotonic(), 0
            while not self.isEnding.is_set():
                wanted = int((time.monotonic() - begin) * self.rate)
                # What an outage held up is not made good in one go.
                for _ in range(min(wanted - done, self.rate)):
                    self.command()
                done = wanted
                self.user.producer.poll(0.005)
        except Exception as problem:  # told by the main thread
            self.failure = problem

    def end(self):
        """No more commands; returns when each is confirmed."""
        self.isEnding.set()
        self.join(PATIENCE)
        if self.failure is not None:
            raise self.failure
        self.user.flush(PATIENCE)
        self.ledger.unsure |= self.user.unsure

    def command(self):
        kind = self.draw.random()
        if kind < 0.58 or self.timers == 0:
            self.timers += 1
            self.schedule(self.timers, self.soon(-1_000))
            return
        timer = max(1, self.timers - int(self.draw.random() * RECENT))
        if kind < 0.665:
            self.schedule(timer, self.soon(0))
        elif kind < 0.82:
            at = self.soon(0)
            self.user.pushBack(keyOf(timer), at, self.ledger.command(PUSH_BACK, timer, at))
        elif kind < 0.995:
            self.user.cancel(keyOf(timer), self.ledger.command(CANCEL, timer))
        else:
            self.mistake(timer)

    def soon(self, least):
        return now() + int(self.draw.triangular(least, FARTHEST, least))

    def schedule(self, timer, at):
        self.user.schedule(keyOf(timer), at, value=valueOf(timer),
                           number=self.ledger.command(SCHEDULE, timer, at),
                           more=[("order", str(timer).encode())])  # fmt: skip

    def mistake(self, timer):
        number = self.ledger.command(MISTAKE, timer)
        headers = {"timingwheel-command": "schedule", "timingwheel-at": str(now()),
                   "timingwheel-to": TARGET, "timingwheel-reply": str(number)}  # fmt: skip
        headers |= self.draw.choice([
            {"timingwheel-command": "shedule"}, {"timingwheel-at": "soon"},
            {"timingwheel-to": "no.such.topic"}, {"timingwheel-to": "not a topic"},
        ])  # fmt: skip
        self.user.write(keyOf(timer), [(n, text.encode()) for n, text in headers.items()],
                        b"", number)  # fmt: skip


def keyOf(timer):
    return f"timer-{timer}"


def valueOf(timer):
    return b"what timer %d is for" % timer


class Watch(threading.Thread):
    """Reads the target topic as its readers do, and notes how late they get what they get."""

    def __init__(self, addresses):
        super().__init__(daemon=True)
        self.addresses, self.buckets = addresses, [0] * (len(LIMITS) + 1)
        self.seen, self.latest, self.isEnding = 0, 0, threading.Event()
        self.failure = None

    def run(self):
        try:
            self.read()
        except Exception as problem:  # told by the main thread
            self.failure = problem

    def read(self):
        reader = Reader(self.addresses, [TARGET])
        while not self.isEnding.is_set():
            for message in reader.read(0.005, 1_000):
                late = now() - int(header(message, "timingwheel-at"))
                self.buckets[bisect.bisect_left(LIMITS, late)] += 1
                self.seen += 1
                self.latest = max(self.latest, late)
        reader.close()

    def upTo(self, limit):
        """Part of all."""
        return sum(self.buckets[: LIMITS.index(limit) + 1]) / max(1, self.seen)

    def table(self):
        rows, below, names = [], 0, [inWords(limit) for limit in LIMITS]
        for name, number in zip([f"up to {n}" for n in names] + ["more"], self.buckets):
            below += number
            if number:
                rows.append((name, number, below / self.seen))
        return rows


def inWords(milliseconds):
    return f"{milliseconds} ms" if milliseconds < 1000 else f"{milliseconds // 1000} s"


# ---- bad luck ----------------------------------------------------------------------------------


class BadLuck:
    """What happens to brokers and workers, and when. Of brokers one is away at a time, and the
    next only when all replicas are in step again; but once in so many times two are paused
    together, and there is no quorum.

    A broker that was killed is started again when others lead what it led, or at once if `isHasty`:
    docs/beyond.md says what that may cause."""

    QUORUM_LOST = 8

    def __init__(self, cluster, workers, seed, isHasty, say):
        self.cluster, self.workers, self.isHasty, self.say = cluster, workers, isHasty, say
        self.draw = random.Random(f"{seed}/luck")
        self.counts, self.next, self.order = Counter(), [], 0
        self.ends = []  # of what ended by itself
        self.struck = set()
        for worker in workers:
            self.rest(12, lambda worker=worker: self.strikeWorker(worker))
        self.rest(15, self.strikeBroker)

    def after(self, seconds, what):
        self.order += 1
        heapq.heappush(self.next, (time.monotonic() + seconds, self.order, what))

    def rest(self, mean, what):
        self.after(min(self.draw.expovariate(1 / mean), 4 * mean), what)

    def step(self):
        """Does what is due."""
        while self.next and self.next[0][0] <= time.monotonic():
            heapq.heappop(self.next)[2]()
        self.supervise()

    def supervise(self):
        """Starts again what has ended by itself, as any supervisor does."""
        for child in (*self.cluster.brokers, *self.workers):
            if not child.isRunning and child not in self.struck:
                self.counts[f"{child.name.split()[0]} that ended by itself"] += 1
                self.ends.append(f"{child.name}, with {child.process.returncode}: "
                                 f"“{child.endOfLog(1)[:200]}”")  # fmt: skip
                self.say(f"{self.ends[-1]}: it has ended by itself")
                self.struck.add(child)
                self.after(1, lambda child=child: self.start(child))

    def start(self, child):
        """Now, or as soon as that does no harm."""
        if child.isRunning or self.mayStart(child):
            self.struck.discard(child)
            if not child.isRunning:
                child.start()
        else:
            self.after(0.5, lambda: self.start(child))

    def mayStart(self, child):
        return self.isHasty or self.cluster.count == 1 or child in self.workers or \
            not self.cluster.isLeader(child)  # fmt: skip

    def strikeWorker(self, worker):
        def goesOn(act):
            act()
            self.rest(30, lambda: self.strikeWorker(worker))

        self.strike("worker", worker, (0.2, 4), (SESSION / 1000 + 1, SESSION / 1000 + 10), (0, 8),
                    goesOn)  # fmt: skip

    def strikeBroker(self):
        if not self.isInStep():
            self.after(1, self.strikeBroker)
            return

        def goesOn(act):
            act()
            self.rest(25, self.strikeBroker)

        brokers = self.draw.sample(self.cluster.brokers, min(2, self.cluster.count))
        if self.draw.randrange(self.QUORUM_LOST) == 0:
            away = self.draw.uniform(4, 15)
            self.counts["losses of the quorum"] += 1
            self.say(f"{red('SIGSTOP')} {' and '.join(b.name for b in brokers)} for {away:.1f} s")
            for broker in brokers:
                broker.pause()
            self.after(away, lambda: goesOn(lambda: [broker.resume() for broker in brokers]))
        else:
            self.strike("broker", brokers[0], (0.5, 6), (10, 25), (0, 10), goesOn)

    def strike(self, what, child, short, long, away, goesOn):
        kind = self.draw.choice(("killed", "killed", "paused", "paused for long"))
        if kind == "killed":
            seconds = self.draw.uniform(*away)
            self.struck.add(child)
            child.kill()
            self.after(seconds, lambda: goesOn(lambda: self.start(child)))
        else:
            seconds = self.draw.uniform(*(short if kind == "paused" else long))
            child.pause()
            self.after(seconds, lambda: goesOn(child.resume))
        self.counts[f"{what} {kind}"] += 1
        sign = red("kill -9") if kind == "killed" else red("SIGSTOP")
        self.say(f"{sign} {child.name} for {seconds:.1f} s")

    def isInStep(self):
        """Whether each broker says that all have what the others have."""
        for broker, port in zip(self.cluster.brokers, self.cluster.ports):
            metadata = self.cluster.metadata(port) if broker.isRunning else None
            if metadata is None or any(
                len(partition.isrs) < self.cluster.replication
                for topic in metadata.topics.values() for partition in topic.partitions.values()
            ):  # fmt: skip
                return False
        return True

    def end(self):
        """All run again."""
        self.next.clear()
        for child in (*self.cluster.brokers, *self.workers):
            child.resume()
            self.start(child)
        while self.next:
            self.step()
            time.sleep(0.02)
        self.cluster.wait()

    def told(self):
        """How often what struck, and why anything ended that nothing had struck."""
        names = sorted(self.counts)
        text = ", ".join(f"{self.counts[name]} × {name}" for name in names)
        return f"{text}. By itself ended {'; '.join(self.ends)}" if self.ends else text


# ---- all of it ---------------------------------------------------------------------------------


class Attack:
    def __init__(self, options, screen):
        self.options, self.screen = options, screen
        # Several may run on a machine.
        number = next(n for n in itertools.count(1) if reserve(f"attack {n}"))
        self.cluster = Cluster(options.build / f"attack-{number}", options.build / "jars",
                               options.brokers)  # fmt: skip
        self.workers = [
            Worker(options.program, number + 1, self.cluster,
                   ["--session-timeout-ms", SESSION, "--transaction-timeout-ms", TRANSACTION])
            for number in range(options.workers)
        ]  # fmt: skip
        self.users = self.watch = self.luck = self.scan = None

    def run(self):
        """Whether the ledger balances, and the brokers' logs are right."""
        self.screen.say(f"seed {self.options.seed}: {self.options.brokers} brokers, "
                        f"{self.options.workers} workers, {self.options.partitions} partitions, "
                        f"{self.options.minutes:g} minutes")  # fmt: skip
        self.cluster.start()
        prepare(self.cluster, self.options.partitions, self.options.program)
        for worker in self.workers:
            worker.start()
        addresses = self.cluster.addresses
        self.users = Users(addresses, self.options.rate, self.options.seed)
        self.watch = Watch(addresses)
        self.users.start()
        self.watch.start()
        self.luck = BadLuck(self.cluster, self.workers, self.options.seed, self.options.hasty,
                            self.screen.say)  # fmt: skip
        self.strike()
        self.screen.say("no more bad luck: all run again, and users come to their end")
        self.luck.end()
        self.users.end()
        self.drain()
        self.look()
        return self.users.ledger.settle()

    def strike(self):
        until, drawn = time.monotonic() + 60 * self.options.minutes, 0
        while time.monotonic() < until:
            for thread in (self.users, self.watch):
                if thread.failure is not None:
                    raise thread.failure
            self.luck.step()
            if time.monotonic() - drawn > max(1, self.screen.pause):
                drawn = time.monotonic()
                self.draw()
            time.sleep(0.02)

    def draw(self):
        states = []
        for child in (*self.cluster.brokers, *self.workers):
            state = red("killed") if not child.isRunning else \
                red("paused") if child.isPaused else green("runs")  # fmt: skip
            states.append((child.name, state))
        numbers = f"commands {len(self.users.ledger.kinds):,}  timers {self.users.timers:,}  " \
            f"delivered {self.watch.seen:,}"  # fmt: skip
        away = [f"{name} {state}" for name, state in states if state != green("runs")]
        live = [f"  {name:<10} {state}" for name, state in states]
        self.screen.draw([f"  {numbers}", "", *live], "  | ".join([numbers, *away]))

    def drain(self):
        """Reads all that was said and delivered, until nothing more comes."""
        ledger, letters = self.users.ledger, Counter()
        reader = Reader(self.cluster.addresses, [REPLIES, TARGET, DEAD_LETTERS])
        last, drawn, lastDue = time.monotonic(), 0, max(ledger.ats)
        while True:
            self.luck.step()
            found = reader.read()
            for message in found:
                self.account(message, letters)
            if found:
                last = time.monotonic()
            quiet = time.monotonic() - last
            isDone = ledger.unanswered() <= 0 and now() > lastDue and self.isEmpty()
            if (isDone and quiet > SETTLES) or quiet > PATIENCE:
                break
            if time.monotonic() - drawn > self.screen.pause:
                drawn = time.monotonic()
                text = f"without reply {ledger.unanswered():,}, " \
                    f"delivered {ledger.deliveries.total():,}"  # fmt: skip
                self.screen.draw(["  " + text], text)
        reader.close()
        for key, at in stillPending(self.cluster.addresses).items():
            ledger.isPending(int(key[6:]), at)
        for command, kind in enumerate(ledger.kinds):
            if letters[command] != (kind == MISTAKE and ledger.outcomes[command] is not None):
                ledger.wrong("dead letters", f"{letters[command]} for command {command}")
        self.watch.isEnding.set()
        self.watch.join(30)

    def look(self):
        """Whether the brokers have written the transactions as they should."""
        for child in (*self.workers, *self.cluster.brokers):
            child.kill()
        self.screen.say("reads what the brokers have written")
        ledger, self.scan = self.users.ledger, Scan(self.cluster.folder,
                                                    [TARGET, REPLIES, DEAD_LETTERS, STATE])
        for example in self.scan.wrong:
            ledger.wrong("a transaction that was not written", example)
        committed = sum(number for name, number in self.scan.committed.items()
                        if name.startswith(f"{TARGET}-"))  # fmt: skip
        if committed != ledger.deliveries.total():
            ledger.wrong("deliveries in the brokers' logs", f"{committed:,}")

    def fates(self):
        """By the brokers' logs, what became of timers that are told as wrong."""
        for timer in sorted(set(re.findall(r"timer (\d+),", " ".join(
                self.users.ledger.toldProblems())))):  # fmt: skip
            yield f"timer {timer}: {'; '.join(self.scan.fates(keyOf(timer).encode()))}"

    def account(self, message, letters):
        ledger = self.users.ledger
        if message.topic() == REPLIES:
            readReply(message, ledger)
        elif message.topic() == DEAD_LETTERS:
            letters[int(header(message, "timingwheel-reply") or -1)] += 1
        else:
            headers = dict(message.headers())
            timer = int(headers["timingwheel-id"][6:])
            at, when = int(headers["timingwheel-at"]), message.timestamp()[1]
            ledger.delivered(timer, at, when)
            if (message.key(), message.value(), headers.get("order")) != (
                keyOf(timer).encode(), valueOf(timer), str(timer).encode(),
            ):  # fmt: skip
                ledger.wrong("another key, value or header", f"timer {timer}")

    def isEmpty(self):
        """Whether the workers say so, each partition once."""
        pending = [(name, value) for worker in self.workers
                   for name, value in worker.metrics().items() if name[0] == "pending"]  # fmt: skip
        partitions = [name for name, _ in pending]
        return len(set(partitions)) == len(partitions) == self.options.partitions and \
            sum(value for _, value in pending) == 0  # fmt: skip


# ---- what is told ------------------------------------------------------------------------------


def report(attack):
    """For people at a terminal."""
    ledger, watch = attack.users.ledger, attack.watch
    print("\n" + bold("Bad luck") + "\n\n  " + attack.luck.told())
    print("\n" + bold("The ledger") + "\n")
    for line in ledger.told():
        print("  " + line)
    print("\n" + bold("How late readers got it") + "\n")
    for name, number, below in watch.table():
        print(f"  {name:<12} {number:>10,}  {100 * below:6.2f} %  " + dim("▇" * round(
            40 * number / watch.seen)))  # fmt: skip
    print(f"\n  the latest: {watch.latest / 1000:.1f} s\n")
    print(bold("What the brokers have written") + f"\n\n  {attack.scan.told()}\n")
    for line in ledger.toldProblems():
        print("  " + red("wrong: ") + line)
    for line in attack.fates():
        print("  " + line)
    print(f"  {green('It balances')}: none lost, none twice, none early, none after its cancel"
          if not ledger.problems else f"  again: --seed {attack.options.seed}")  # fmt: skip


def record(run, attack):
    """The last five, each with its seed. Two attacks may end at the same time."""
    ledger, watch, options = attack.users.ledger, attack.watch, attack.options
    row = {
        "by": options.command, "commit": run["machine"]["commit"], "date": run["date"],
        "seed": options.seed, "how": "hasty" if options.hasty else "gently",
        "minutes": options.minutes,
        "machine": "{processor}; {cores} cores; {memory}; {system}".format(**run["machine"]),
        "children": f"{options.brokers} brokers, {options.workers} workers, "
                    f"{options.partitions} partitions",
        "luck": attack.luck.told(), "commands": len(ledger.kinds),
        **{name: ledger.counts[name] for name in ("accepted", "delivered", "cancelled", "replaced",
           "pending", "pushed-back", "too-late", "refused")},
        "within-a-second": f"{100 * watch.upTo(1_000):.1f} %",
        "latest": f"{watch.latest / 1000:.1f} s", "logs": attack.scan.told(),
        "wrong": ledger.toldProblems(), "fates": list(attack.fates()),
    }  # fmt: skip
    text = "".join(f"{name} = {json.dumps(value, ensure_ascii=False)}\n"
                   for name, value in row.items())  # fmt: skip
    with open(RECORD, "r+", encoding="utf-8") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        head, *rows = file.read().split(BEGIN)
        file.seek(0)
        file.write(BEGIN.join([head, *rows[-(KEPT - 1) :], text]))
        file.truncate()


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("program", type=Path)
    parser.add_argument("build", type=Path)
    parser.add_argument("--minutes", type=float, default=10)
    parser.add_argument("--seed", type=int, default=secrets.randbelow(10**9))
    parser.add_argument("--brokers", type=int, choices=(1, 3), default=3)
    parser.add_argument("--workers", type=int, default=3)
    parser.add_argument("--partitions", type=int, default=6)
    parser.add_argument("--rate", type=int, default=3_000, help="commands a second")
    parser.add_argument("--hasty", action="store_true", help="start killed brokers again at once")
    parser.add_argument("--write", action="store_true", help=f"into {RECORD.name}")
    parser.add_argument("--command", default="./dev kafka attack", help="what the record says")
    options = parser.parse_args()
    if options.write and options.minutes < LONG:
        parser.error(f"--write wants {LONG} minutes or more")
    run = {"machine": about.describeMachine(), "date": datetime.date.today().isoformat()}
    with allEnded(), Screen() as screen:
        attack = Attack(options, screen)
        isRight = attack.run()
    report(attack)
    if options.write:
        record(run, attack)
        print(f"== written into {RECORD.name}")
    return 0 if isRight else 1


if __name__ == "__main__":
    sys.exit(main())
