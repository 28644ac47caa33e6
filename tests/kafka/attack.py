"""Kills and pauses brokers and workers at random while users schedule, push back and cancel. Then
everything is started again, the ledger must balance, and the transactions that the brokers have
written must be whole. ./dev kafka attack calls it."""

import datetime
import heapq
import itertools
import json
import os
import random
import re
import signal
import threading
import time
from array import array
from collections import Counter
from contextlib import closing
from pathlib import Path

import about
from brokerlogs import Scan
from children import allEnded, reserve
from cluster import Cluster
from ledger import ENDS, Ledger
from runner import asked
from timers import (
    DEAD_LETTERS, HOUR, REPLIES, SESSION, STATE, TARGET, Reader, User, Worker, everything, header,
    now, start,
)  # fmt: skip

RECORD = Path(__file__).with_name("attacks.toml")
BEGIN = "\n[[attack]]\n"
PATIENCE = 300  # seconds without anything new
SETTLES = 10  # seconds for what should not come
FARTHEST = 60_000  # milliseconds to what is due
HORIZON = 8  # seconds: the workers read most of it back from the state
RECENT = 50_000  # timers that users still think of
QUORUM_LOST = 8  # once in so many times two brokers are paused together
SHOWN = 5  # seconds from one line that says how it stands to the next

# ---- users -------------------------------------------------------------------------------------


class Users(threading.Thread):
    """One after the other they do what lot decides, so many times a second."""

    def __init__(self, addresses, rate, seed):
        super().__init__(daemon=True)
        self.user, self.rate, self.draw = User(addresses), rate, random.Random(f"{seed}/users")
        self.ledger, self.timers = Ledger(), 0
        self.isEnding = threading.Event()

    def run(self):
        begin, done = time.monotonic(), 0
        while not self.isEnding.is_set():
            wanted = int((time.monotonic() - begin) * self.rate)
            # What an outage held up is not made good in one go.
            for _ in range(min(wanted - done, self.rate)):
                self.act()
            done = wanted
            self.user.producer.poll(0.005)

    def end(self):
        """No more commands; returns when each is confirmed."""
        self.isEnding.set()
        self.join(PATIENCE)
        self.user.flush(PATIENCE)
        self.ledger.unsure |= self.user.unsure

    def act(self):
        """The next command."""
        kind = self.draw.random()
        if kind < 0.58 or self.timers == 0:
            self.timers += 1
            self.command("schedule", self.timers, self.soon(-1_000))
            return
        timer = max(1, self.timers - int(self.draw.random() * RECENT))
        if kind < 0.665:
            self.command("schedule", timer, self.soon(0))
        elif kind < 0.82:
            self.command("push-back", timer, self.soon(0))
        elif kind < 0.995:
            self.command("cancel", timer)
        else:
            number = self.ledger.command("mistake", timer)
            kind, at, to = self.draw.choice([
                ("shedule", now(), TARGET), ("schedule", "soon", TARGET),
                ("schedule", now(), "no.such.topic"), ("schedule", now(), "not a topic"),
            ])  # fmt: skip
            self.user.command(kind, keyOf(timer), at, to, b"", number)

    def soon(self, least):
        return now() + int(self.draw.triangular(least, FARTHEST, least))

    def command(self, kind, timer, at=None):
        number, given = self.ledger.command(kind, timer, at or 0), {}
        if kind == "schedule":
            given = {"to": TARGET, "value": keyOf(timer), "more": [("order", keyOf(timer))]}
        self.user.command(kind, keyOf(timer), at, reply=number, **given)


def keyOf(timer):
    return f"timer-{timer}"


# ---- bad luck ----------------------------------------------------------------------------------


class BadLuck:
    """What happens to brokers and workers, and when. Of brokers one is away at a time, and the
    next only when all replicas are in step again; but once in so many times two are paused
    together, and there is no quorum.

    A broker that was killed is started again when others lead what it led, or at once if `isHasty`:
    docs/beyond.md says what that may cause."""

    def __init__(self, cluster, workers, seed, isHasty, say):
        self.cluster, self.isHasty, self.say = cluster, isHasty, say
        self.children = [*cluster.brokers, *workers]
        self.draw = random.Random(f"{seed}/luck")
        self.courses, self.order = [], itertools.count()
        self.counts, self.struck = Counter(), set()
        self.ends = []  # of what ended by itself

    def begin(self, course, seconds=0):
        """A course of events yields how long it rests until it goes on."""
        heapq.heappush(self.courses, (time.monotonic() + seconds, next(self.order), course))

    def step(self):
        """Does what is due, and starts again what has ended by itself, as any supervisor does."""
        while self.courses and self.courses[0][0] <= time.monotonic():
            _, _, course = heapq.heappop(self.courses)
            if (seconds := next(course, None)) is not None:
                self.begin(course, seconds)
        for child in self.children:
            if not child.isRunning and child not in self.struck:
                self.ends.append(f"{child.name}, with {child.process.returncode}: "
                                 f"“{child.endOfLog(1)[:200]}”")  # fmt: skip
                self.say(f"{self.ends[-1]}: it has ended by itself")
                self.struck.add(child)
                self.begin(self.start(child), 1)

    def start(self, child):
        """As soon as that does no harm."""
        mayHarm = child in self.cluster.brokers and not self.isHasty
        while mayHarm and not child.isRunning and self.cluster.isLeader(child):
            yield 0.5
        if not child.isRunning:
            child.start()
        self.struck.discard(child)

    def rest(self, mean):
        return min(self.draw.expovariate(1 / mean), 4 * mean)

    def strikeWorker(self, worker):
        yield self.rest(12)
        while True:
            long = (SESSION / 1000 + 1, SESSION / 1000 + 10)
            yield from self.strike("worker", worker, (0.2, 4), long, (0, 8))
            yield self.rest(30)

    def strikeBrokers(self):
        yield self.rest(15)
        while True:
            while not self.cluster.isInStep():
                yield 1
            brokers = self.draw.sample(self.cluster.brokers, 2)
            if self.draw.randrange(QUORUM_LOST) == 0:
                yield from self.pause("losses of the quorum", brokers, (4, 15))
            else:
                yield from self.strike("broker", brokers[0], (0.5, 6), (10, 25), (0, 10))
            yield self.rest(25)

    def strike(self, what, child, short, long, away):
        kind = self.draw.choice(("killed", "killed", "paused", "paused for long"))
        if kind == "killed":
            yield from self.kill(child, self.draw.uniform(*away))
        else:
            yield from self.pause(f"{what} {kind}", [child], short if kind == "paused" else long)

    def kill(self, child, seconds):
        self.counts[f"{child.name.split()[0]} killed"] += 1
        self.say(f"kill -9 {child.name} for {seconds:.1f} s")
        self.struck.add(child)
        child.kill()
        yield seconds
        yield from self.start(child)

    def pause(self, what, children, bounds):
        seconds = self.draw.uniform(*bounds)
        self.counts[what] += 1
        self.say(f"SIGSTOP {' and '.join(child.name for child in children)} for {seconds:.1f} s")
        for child in children:
            child.pause()
        yield seconds
        for child in children:
            child.resume()

    def end(self):
        """All run again."""
        self.courses.clear()
        for child in self.children:
            child.resume()
            if not child.isRunning:
                self.struck.add(child)
                self.begin(self.start(child))
        while self.courses:
            self.step()
            time.sleep(0.02)
        self.cluster.wait()

    def told(self):
        """How often what struck, and why anything ended that nothing had struck."""
        text = ", ".join(f"{number} × {name}" for name, number in sorted(self.counts.items()))
        return f"{text}. By itself ended {'; '.join(self.ends)}" if self.ends else text


# ---- all of it ---------------------------------------------------------------------------------


class Attack:
    """Brokers, workers and users, and the ledger of what these are told and get."""

    NAME, BROKERS, WORKERS, PARTITIONS = "attack", 3, 3, 6

    def __init__(self, options):
        self.options, self.began, self.shown = options, time.monotonic(), 0
        self.late, self.isOver = array("q"), threading.Event()
        # Several may run on a machine.
        number = next(n for n in itertools.count(1) if reserve(f"{self.NAME} {n}"))
        self.cluster = Cluster(options.build / f"{self.NAME}-{number}", options.build / "jars",
                               self.BROKERS)  # fmt: skip
        self.workers = [Worker(options.program, number, self.cluster.folder, self.cluster.addresses,
                               ("--replies", REPLIES, "--horizon-s", HORIZON))
                        for number in range(1, self.WORKERS + 1)]  # fmt: skip
        self.luck = BadLuck(self.cluster, self.workers, options.seed, options.hasty, self.say)

    def run(self):
        start(self.options.program, self.cluster, self.PARTITIONS)
        for worker in self.workers:
            worker.start()
        self.users = self.makeUsers()
        self.ledger = self.users.ledger
        self.users.start()
        threading.Thread(target=self.watch, daemon=True).start()
        self.strike()
        self.say("no more bad luck: all run again, and users come to their end")
        self.luck.end()
        self.users.end()
        self.drain()
        self.isOver.set()
        for child in self.luck.children:
            child.kill()
        self.say("reads what the brokers have written")
        self.look()
        self.ledger.settle()

    def watch(self):
        """Notes by how many milliseconds readers of the target topic get late what they get."""
        with closing(Reader(self.cluster.addresses, [TARGET])) as reader:
            while not self.isOver.is_set():
                self.late.extend(now() - int(header(message, "timingwheel-at"))
                                 for message in reader.read(0.005, 1_000))  # fmt: skip

    def makeUsers(self):
        return Users(self.cluster.addresses, self.options.rate, self.options.seed)

    def strike(self):
        self.say(f"seed {self.options.seed}: {self.options.minutes:g} minutes")
        for worker in self.workers:
            self.luck.begin(self.luck.strikeWorker(worker))
        self.luck.begin(self.luck.strikeBrokers())
        until = time.monotonic() + 60 * self.options.minutes
        while time.monotonic() < until:
            self.step()

    def step(self):
        self.luck.step()
        away = (f"  | {child.name} is {'paused' if child.isRunning else 'killed'}"
                for child in self.luck.children
                if child.isPaused or not child.isRunning)  # fmt: skip
        self.show(f"commands {len(self.ledger.kinds):,}  timers {self.users.timers:,}  "
                  f"delivered {len(self.late):,}{''.join(away)}")  # fmt: skip
        time.sleep(0.02)

    def say(self, text):
        print(f"{time.monotonic() - self.began:5.0f} s  {text}", flush=True)

    def show(self, text):
        """How it stands, now and then."""
        if time.monotonic() > self.shown + SHOWN:
            self.shown = time.monotonic()
            self.say(text)

    def drain(self):
        """Reads all that was said and delivered, until nothing more comes."""
        ledger, letters = self.ledger, Counter()
        reader = Reader(self.cluster.addresses, [REPLIES, TARGET, DEAD_LETTERS])
        last, quiet = time.monotonic(), 0
        while quiet <= SETTLES or quiet <= PATIENCE and not self.isDone():
            self.luck.step()
            found = reader.read()
            for message in found:
                self.account(message, letters)
            if found:
                last = time.monotonic()
            quiet = time.monotonic() - last
            self.show(f"delivered {ledger.deliveries.total():,}, nothing new for {quiet:.0f} s")
        reader.close()
        for message in everything(self.cluster.addresses, STATE):
            if not message.key():
                continue  # where the partition stands
            timer = timerOf(message.key())
            ledger.pending.pop(timer, None)
            if message.value() is not None:
                ledger.pending[timer] = int(header(message, "timingwheel-at"))
        for command, kind in enumerate(ledger.kinds):
            if letters[command] != (kind == "mistake" and ledger.outcomes[command] is not None):
                ledger.wrong("dead letters", f"{letters[command]} for command {command}")

    def isDone(self):
        """Whether all is answered, and the workers say that they have each partition once, and
        nothing pending that is not far away."""
        far = sum(at > now() + HOUR for at in self.ledger.ats)
        pending = [(partition, value) for worker in self.workers for (name, partition), value
                   in worker.metrics().items() if name == "pending"]  # fmt: skip
        return len(dict(pending)) == len(pending) == self.PARTITIONS and \
            sum(value for _, value in pending) == far and self.ledger.unanswered() <= 0  # fmt: skip

    def account(self, message, letters):
        if message.topic() == REPLIES:
            self.ledger.replied(int(header(message, "timingwheel-reply")),
                                header(message, "timingwheel-outcome"))  # fmt: skip
        elif message.topic() == DEAD_LETTERS:
            letters[int(header(message, "timingwheel-reply") or -1)] += 1
        else:
            headers = dict(message.headers())
            timer = timerOf(headers["timingwheel-id"])
            self.ledger.delivered(timer, int(headers["timingwheel-at"]), message.timestamp()[1])
            given = (message.key(), message.value(), headers.get("order"))
            if given != 3 * (headers["timingwheel-id"],):
                self.ledger.wrong("another key, value or header", f"timer {timer}")

    def look(self):
        """Whether the brokers have written the transactions as they should."""
        self.scan = Scan(self.cluster.folder, [TARGET, REPLIES, DEAD_LETTERS, STATE])
        for example in self.scan.wrong:
            self.ledger.wrong("a transaction that was not written", example)
        committed = sum(number for name, number in self.scan.committed.items()
                        if name.startswith(f"{TARGET}-"))  # fmt: skip
        if committed != self.ledger.deliveries.total():
            self.ledger.wrong("deliveries in the brokers' logs", f"{committed:,}")

    def fates(self):
        """By the brokers' logs, what became of timers that are told as wrong."""
        wrong = re.findall(r"timer (\d+),", " ".join(self.ledger.toldProblems()))
        return [f"timer {timer}: {'; '.join(self.scan.fates(keyOf(timer).encode()))}"
                for timer in sorted(set(wrong))]  # fmt: skip


def timerOf(key):
    return int(key.removeprefix(b"timer-"))


# ---- what is told ------------------------------------------------------------------------------


def told(attack, machine):
    """The attack as a table of TOML."""
    ledger, late, options = attack.ledger, attack.late, attack.options
    row = {
        "by": asked("kafka"), "commit": machine["commit"],
        "date": datetime.date.today().isoformat(), "seed": options.seed,
        "how": "hasty" if options.hasty else "gently", "minutes": options.minutes,
        "machine": "{processor}; {cores} cores; {memory}; {system}".format(**machine),
        "luck": attack.luck.told(), "commands": len(ledger.kinds),
        **{name: ledger.counts[name] for name in ("accepted", *ENDS, "pushed-back", "too-late",
           "refused")},
        "within-a-second": f"{100 * sum(ms <= 1_000 for ms in late) / len(late):.1f} %",
        "latest": f"{max(late) / 1000:.1f} s", "logs": attack.scan.told(),
        "wrong": ledger.toldProblems(), "fates": attack.fates(),
    }  # fmt: skip
    return "".join(f"{name} = {json.dumps(value, ensure_ascii=False)}\n"
                   for name, value in row.items())  # fmt: skip


def endAll(failure):
    """A thread that fails ends the attack."""
    threading.__excepthook__(failure)
    os.kill(os.getpid(), signal.SIGTERM)


def accountOf(attack, isWritten=False):
    """Its exit status. The record keeps the last five attacks, each with its seed."""
    threading.excepthook = endAll
    machine = about.describeMachine()
    with allEnded():
        attack.run()
    row = told(attack, machine)
    print(f"\n{row}")
    if not attack.ledger.problems:
        print("It balances: none lost, none twice, none early, none after its cancel")
    if isWritten:
        head, *rows = RECORD.read_text("utf-8").split(BEGIN)
        RECORD.write_text(BEGIN.join([head, *rows[-4:], row]), "utf-8")
        print(f"== written into {RECORD.name}")
    return 1 if attack.ledger.problems else 0


def main(options):
    return accountOf(Attack(options), options.write)
