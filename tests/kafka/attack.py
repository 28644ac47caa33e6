"""Kills and pauses brokers and workers at random while users schedule, push back and cancel. Then
everything is started again, the ledger must balance, and the transactions that the brokers have
written must be whole. ./dev kafka attack calls it."""

import datetime
import heapq
import itertools
import json
import os
import random
import signal
import threading
import time
from array import array
from collections import Counter
from contextlib import closing
from pathlib import Path

import about
from brokerlogs import Scan
from children import Child, allEnded, reserve
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
FEW = 500  # timers, the first, which recur now and then
QUORUM_LOST = 8  # once in so many times two brokers are paused together
SHOWN = 5  # seconds from one line that says how it stands to the next

# ---- users -------------------------------------------------------------------------------------


class Users(threading.Thread):
    """One after the other they do what lot decides, so many times a second."""

    def __init__(self, addresses, rate, seed):
        super().__init__(daemon=True)
        self.user, self.rate, self.draw = User(addresses), rate, random.Random(f"{seed}/users")
        self.ledger, self.timers = Ledger(), FEW
        self.turns, self.recurring = Counter(), set()  # of the first few
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
        timer = max(FEW + 1, self.timers - int(self.draw.random() * RECENT))
        if kind < 0.02:
            self.actOnFew(1 + self.draw.randrange(FEW))
        elif kind < 0.58 or self.timers == FEW:
            self.timers += 1
            self.command("schedule", self.timers, self.soon(-1_000))
        elif kind < 0.665:
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

    def actOnFew(self, timer):
        """They recur at times. No time is in the grid of the one before: it shows its command."""
        self.turns[timer] += 1
        at = self.soon(0) // 1_000 * 1_000 + 1 + self.turns[timer] % 999
        kind = self.draw.choice(("recur", "recur", "recur", "schedule", "push-back", "cancel"))
        if kind == "recur":
            every, byCalendar = self.draw.randint(2, 5), self.draw.random() < 0.5
            missed = self.draw.choice(("skip", "catch-up"))
            rule = ("cron", f"*/{every} * * * * *") if byCalendar else ("every", str(1_000 * every))
            headers = [(f"timingwheel-{name}", text) for name, text in (rule, ("missed", missed))]
            number = self.command("schedule", timer, at, headers)
            self.ledger.rules[number] = 1_000 * every, byCalendar, missed == "catch-up"
            self.recurring.add(timer)
            return
        self.command(kind, timer, None if kind == "cancel" else at)
        if kind != "push-back":
            self.recurring.discard(timer)

    def soon(self, least):
        return now() + int(self.draw.triangular(least, FARTHEST, least))

    def command(self, kind, timer, at=None, headers=()):
        """Its number. `headers` are those of a rule."""
        number, given = self.ledger.command(kind, timer, at or 0), {}
        if kind == "schedule":
            more = [("order", str(number)), *headers]
            given = {"to": TARGET, "value": keyOf(timer), "more": more}
        self.user.command(kind, keyOf(timer), at, reply=number, **given)
        return number


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
        self.late, self.isOver, self.allRan = array("q"), threading.Event(), float("inf")
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
        self.endRecurring()
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
                for message in reader.read(0.005, 1_000):
                    at = int(header(message, "timingwheel-at"))
                    self.late.append(now() - at)
                    if at > self.allRan:
                        self.users.recurring.discard(timerOf(message.key()))

    def endRecurring(self):
        """Cancels what recurs, once each was delivered again since all ran again."""
        recurring = list(self.users.recurring)
        self.allRan, until = now(), time.monotonic() + PATIENCE
        while self.users.recurring and time.monotonic() < until:
            self.step()
        for timer in list(self.users.recurring):
            self.ledger.wrong("recurs no more", f"timer {timer}")
        for timer in recurring:
            self.users.command("cancel", timer)
        self.users.user.flush(PATIENCE)

    def operate(self):
        """Asks the set, one question after the other. A cancel's outcome is among the replies."""
        child = Child("operator", (), self.cluster.folder / "operator.log")
        for what in itertools.cycle(("check", "forecast", "list", "show ID", "cancel ID")):
            words = what.replace("ID", keyOf(self.users.timers)).split()
            child.command = [self.options.program, *words, "--replies", REPLIES, "--brokers",
                             self.cluster.addresses]  # fmt: skip
            child.start()
            while child.isRunning:
                yield 0.2
            self.luck.counts[f"{words[0]} with {child.process.returncode}"] += 1
            if child.process.returncode not in (0, 1):
                self.ledger.wrong(f"an end of {words[0]}", child.endOfLog(1))

    def makeUsers(self):
        return Users(self.cluster.addresses, self.options.rate, self.options.seed)

    def strike(self):
        self.say(f"seed {self.options.seed}: {self.options.minutes:g} minutes")
        for worker in self.workers:
            self.luck.begin(self.luck.strikeWorker(worker))
        self.luck.begin(self.luck.strikeBrokers())
        self.luck.begin(self.operate())
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
            if not (text := header(message, "timingwheel-reply")).isdigit():  # the operator's
                text = self.ledger.command("cancel", timerOf(message.key()))
            outcome = header(message, "timingwheel-outcome")
            self.ledger.replied(int(text), outcome, message.timestamp()[1])
        elif message.topic() == DEAD_LETTERS:
            letters[int(header(message, "timingwheel-reply") or -1)] += 1
        else:
            headers = dict(message.headers())
            schedule, at = int(headers["order"]), int(headers["timingwheel-at"])
            self.ledger.delivered(schedule, at, message.timestamp()[1])
            timer = keyOf(self.ledger.timers[schedule]).encode()
            if (message.key(), message.value(), headers["timingwheel-id"]) != 3 * (timer,):
                self.ledger.wrong("another key, value or id", f"of {headers['timingwheel-id']}")

    def look(self):
        """Whether the brokers have written the transactions as they should."""
        self.scan = Scan(self.cluster.folder, [TARGET, REPLIES, DEAD_LETTERS, STATE])
        for example in self.scan.wrong:
            self.ledger.wrong("a transaction that was not written", example)
        committed = sum(number for name, number in self.scan.committed.items()
                        if name.startswith(f"{TARGET}-"))  # fmt: skip
        if committed != self.ledger.deliveries.total():
            self.ledger.wrong("deliveries in the brokers' logs", f"{committed:,}")


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
        **{name: ledger.counts[name] for name in ("accepted", *ENDS, "recurred", "pushed-back",
           "too-late", "refused")},
        "within-a-second": f"{100 * sum(ms <= 1_000 for ms in late) / len(late):.1f} %",
        "latest": f"{max(late) / 1000:.1f} s", "logs": attack.scan.told(),
        "wrong": ledger.toldProblems(),
    }  # fmt: skip
    return "".join(f"{name} = {json.dumps(value, ensure_ascii=False)}\n"
                   for name, value in row.items())  # fmt: skip


def endAll(failure):
    """A thread that fails ends the attack."""
    threading.__excepthook__(failure)
    os.kill(os.getpid(), signal.SIGTERM)


def accountOf(attack, isWritten=False):
    """Its exit status. The record keeps the last ten attacks, each with its seed."""
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
        RECORD.write_text(BEGIN.join([head, *rows[-9:], row]), "utf-8")
        print(f"== written into {RECORD.name}")
    return 1 if attack.ledger.problems else 0


def main(options):
    return accountOf(Attack(options), options.write)
