#!/usr/bin/env python3
"""What users asked for, what they were told, and what they got: does it balance?

The replies say which deliveries there must have been. A cancel that was "too-late" means that the
timer had been delivered, and so does a schedule that found nothing to replace. What was pending
last is pending still, or was delivered. The target topic must hold exactly those deliveries; and of
timers that recur each time, from the first until a command moved or ended it.

ledger.py self-test    each way to be wrong is noticed, and the attacks in attacks.toml balance
"""

import tomllib
from array import array
from collections import Counter, defaultdict, deque
from pathlib import Path

# What may be said to each kind of command.
OUTCOMES = {
    "schedule": ("scheduled", "replaced"),
    "push-back": ("pushed-back", "too-late"),
    "cancel": ("cancelled", "too-late"),
    "mistake": ("refused",),
}
ENDS = ("delivered", "cancelled", "replaced", "pending")


class Ledger:
    """Timers are numbered, and so are commands. The replies to those of one timer are in the order
    in which they were taken in."""

    def __init__(self):
        self.kinds, self.timers, self.ats = [], array("I"), array("q")  # of commands
        self.outcomes = []  # what was said to them, or None
        self.order, self.whens = array("I"), array("q")  # of replies: to which command, and when
        self.rules = {}  # schedule: milliseconds, whether by the calendar, whether it catches up
        self.unsure = set()  # commands of which the producer does not know whether they arrived
        self.deliveries = Counter()  # (schedule, at): how often
        self.recurred = defaultdict(deque)  # schedule that recurs: its (at, when), as delivered
        self.pending = {}  # timer: at, by the state topic
        self.problems = {}  # kind: [how many, the first examples]
        self.counts = Counter()

    def command(self, kind, timer, at=0):
        """Its number."""
        self.timers.append(timer)
        self.kinds.append(kind)
        self.ats.append(at)
        self.outcomes.append(None)
        return len(self.kinds) - 1

    def replied(self, command, outcome, when=0):
        if not 0 <= command < len(self.outcomes):
            self.wrong("a reply to no command", command)
        elif self.outcomes[command] is not None:
            self.wrong("two replies to one command", command)
        elif outcome not in OUTCOMES[self.kinds[command]]:
            self.wrong(f'a {self.kinds[command]} that was "{outcome}"', command)
        else:
            self.outcomes[command] = outcome
            self.order.append(command)
            self.whens.append(when)

    def delivered(self, schedule, at, when):
        """What that command scheduled, with the time of the record."""
        self.deliveries[schedule, at] += 1
        if schedule in self.rules:
            self.recurred[schedule].append((at, when))
        if when < at:
            self.wrong("delivered early", f"timer {self.timers[schedule]}, by {at - when} ms")

    def wrong(self, what, example):
        found = self.problems.setdefault(what, [0, []])
        found[0] += 1
        if len(found[1]) < 5:
            found[1].append(str(example))

    # ---- the account ---------------------------------------------------------------------------

    def unanswered(self):
        return sum(outcome is None for outcome in self.outcomes) - len(self.unsure)

    def settle(self):
        """Fills in `problems` and `counts`."""
        expected, last = self._replay()
        pending = dict(self.pending)
        for timer, (schedule, at) in last.items():
            if pending.get(timer) == at:
                del pending[timer]
                self.counts["pending"] += 1
            else:
                expected[schedule, at] += 1
        for timer in pending:
            self.wrong("pending by the state, and not by the replies", f"timer {timer}")
        for (schedule, at), times in expected.items():
            got, example = self.deliveries[schedule, at], self._named(schedule, at)
            if got < times:
                self.wrong("lost", example)
            elif got > times:
                self.wrong("delivered twice", f"{example}: {got} times")
        for schedule, at in self.deliveries.keys() - expected.keys():
            self.wrong("delivered, though it was cancelled, replaced or moved, or one is missing",
                       self._named(schedule, at))  # fmt: skip
        for (schedule, _), times in self.deliveries.items():
            self.counts["recurred" if schedule in self.rules else "delivered"] += times
        if self.counts["accepted"] != sum(self.counts[end] for end in ENDS):
            self.wrong("the sum does not balance", dict(self.counts))

    def _named(self, schedule, at):
        return f"timer {self.timers[schedule]}, due at {at}"

    def _replay(self):
        """What must have been delivered, by the replies, and what was pending last."""
        expected, pending, counts = Counter(), {}, self.counts
        for command, outcome in enumerate(self.outcomes):
            if outcome is None and command not in self.unsure:
                self.wrong("no reply", f"{self.kinds[command]} of timer {self.timers[command]}")
        for command, when in zip(self.order, self.whens):
            outcome, timer, kind = self.outcomes[command], self.timers[command], self.kinds[command]
            counts[outcome] += 1
            if kind == "mistake":
                continue
            schedule, before = pending.pop(timer, (command, None))
            wasPending = outcome not in ("scheduled", "too-late")
            if before is None:
                if wasPending:
                    self.wrong(f'"{outcome}", and nothing was pending', f"timer {timer}")
            elif schedule in self.rules:
                expected.update(self._turn(schedule, before, when))
                if not wasPending:
                    self.wrong("recurs no more", self._named(schedule, before))
            elif not wasPending:
                expected[schedule, before] += 1
            if kind == "schedule":
                counts["accepted"] += 1
                schedule = command
            if outcome in ("scheduled", "replaced", "pushed-back"):
                pending[timer] = schedule, self.ats[command]
        return expected, pending

    def _turn(self, schedule, first, until):
        """What was delivered as it must be of a timer that recurs, from the first time until a
        command. At the most, what had passed at a delivery is left out before the next."""
        every, isByCalendar, catchesUp = self.rules[schedule]
        got, base, last = self.recurred[schedule], 0 if isByCalendar else first, first
        while got and first <= got[0][0] <= min(last, until) and (got[0][0] - first) % every == 0:
            at, when = got.popleft()
            yield schedule, at
            first, last = (time - (time - base) % every + every
                           for time in (at, at if catchesUp else max(at, when)))  # fmt: skip

    def toldProblems(self):
        """Each kind with its number and examples."""
        return [f"{number:,} × {what}: {'; '.join(examples)}{' ...' * (number > len(examples))}"
                for what, (number, examples) in self.problems.items()]  # fmt: skip


# ---- does it notice? ---------------------------------------------------------------------------

# Of two timers that recur, each of which is moved once: command, at and when. One catches up.
RECURRED = (
    (11, 100, 100), (11, 1100, 2500), (11, 3100, 3100), (11, 9500, 9500), (11, 10500, 10500),
    *((12, at, 9000) for at in (100, 1000, 2000, 5500, 6000, 7000)),
)  # fmt: skip
# Commands, and what was said to them, a second apart.
COMMANDS = """
schedule 1 100 scheduled    schedule 2 100 scheduled     cancel 2 0 cancelled
schedule 3 100 scheduled    push-back 3 200 pushed-back  cancel 3 0 too-late
schedule 4 100 scheduled    schedule 4 300 replaced      schedule 5 100 scheduled
schedule 5 100 scheduled    mistake 6 0 refused          schedule 8 100 scheduled
schedule 9 100 scheduled    push-back 8 9500 pushed-back push-back 9 5500 pushed-back
schedule 8 100 replaced     cancel 8 0 cancelled         cancel 9 0 cancelled
""".split()


def story(change=lambda ledger: None):
    """Timers that come to all ends there are; `change` makes it wrong."""
    ledger, words = Ledger(), iter(COMMANDS)
    ledger.rules = {11: (1000, False, False), 12: (1000, True, True), 15: (1000, False, True)}
    for number, (kind, timer, at, outcome) in enumerate(zip(words, words, words, words)):
        ledger.replied(ledger.command(kind, int(timer), int(at)), outcome, 1000 * number)
    ledger.unsure.add(ledger.command("schedule", 7, 100))
    once = [(schedule, at, at) for schedule, at in ((0, 100), (3, 200), (8, 100), (9, 100))]
    for delivery in (*once, *RECURRED):
        ledger.delivered(*delivery)
    ledger.pending[4] = 300
    change(ledger)
    ledger.settle()
    return ledger


# What is made wrong, and what must be said.
PLANTED = (
    (lambda ledger: ledger.delivered(0, 100, 100), "delivered twice"),
    (lambda ledger: ledger.delivered(1, 100, 100), "though it was cancelled"),
    (lambda ledger: ledger.delivered(3, 100, 100), "though it was cancelled"),
    (lambda ledger: ledger.delivered(6, 100, 100), "though it was cancelled"),
    (lambda ledger: ledger.deliveries.subtract([(0, 100)]), "lost: timer 1"),
    (lambda ledger: ledger.deliveries.subtract([(3, 200)]), "lost: timer 3"),
    (lambda ledger: ledger.pending.clear(), "lost: timer 4"),
    (lambda ledger: ledger.pending.update({2: 100}), "not by the replies"),
    (lambda ledger: ledger.pending.update({4: 100}), "lost: timer 4"),
    (lambda ledger: ledger.delivered(11, 11500, 11499), "delivered early: timer 8"),
    (lambda ledger: ledger.replied(0, "scheduled"), "two replies"),
    (lambda ledger: ledger.replied(99, "scheduled"), "a reply to no command"),
    (lambda ledger: ledger.command("cancel", 1), "no reply"),
    (lambda ledger: ledger.replied(ledger.command("cancel", 1), "refused"), 'that was "refused"'),
    (lambda ledger: ledger.replied(ledger.command("cancel", 2), "cancelled"),
     "nothing was pending"),
    (lambda ledger: ledger.outcomes.__setitem__(2, "too-late"), "lost: timer 2"),
    (lambda ledger: ledger.outcomes.__setitem__(7, "scheduled"), "lost: timer 4"),
    (lambda ledger: ledger.delivered(11, 10500, 10500), "delivered twice: timer 8"),
    (lambda ledger: ledger.delivered(11, 11400, 11400), "or one is missing: timer 8"),
    (lambda ledger: ledger.delivered(11, 12500, 12500), "or one is missing: timer 8"),
    (lambda ledger: ledger.delivered(12, 9000, 9000), "or one is missing: timer 9"),
    (lambda ledger: ledger.recurred[12].popleft(), "or one is missing: timer 9"),
    (lambda ledger: (ledger.recurred[11].__setitem__(4, (10500, 99_000)),
                     ledger.delivered(11, 15500, 99_000)), "or one is missing: timer 8"),
    (lambda ledger: ledger.outcomes.__setitem__(17, "too-late"), "recurs no more: timer 9"),
)  # fmt: skip


def selfTest():
    right = story()
    assert not right.problems, f"complains of what is right: {right.toldProblems()}"
    assert right.counts.items() >= {"accepted": 10, "delivered": 4, "cancelled": 3, "replaced": 2,
                                    "pending": 1, "recurred": 11}.items(), right.counts  # fmt: skip
    for number, (change, wanted) in enumerate(PLANTED):
        told = " ".join(story(change).toldProblems())
        assert wanted in told, f"plant {number}: misses {wanted!r}: {told or 'nothing'}"
    for row in tomllib.loads(Path(__file__).with_name("attacks.toml").read_text())["attack"]:
        # With haste, brokers may lose something.
        balances = not row["wrong"] and row["accepted"] == sum(row[end] for end in ENDS)
        assert balances or row["how"] == "hasty", f"attack {row['seed']} does not balance"


if __name__ == "__main__":
    selfTest()
