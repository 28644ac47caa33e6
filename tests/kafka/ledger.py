#!/usr/bin/env python3
"""What users asked for, what they were told, and what they got: does it balance?

The replies say which deliveries there must have been. A cancel that was "too-late" means that the
timer had been delivered, and so does a schedule that found nothing to replace. What was pending
last is pending still, or was delivered. The target topic must hold exactly those deliveries.

ledger.py self-test    each way to be wrong is noticed, and the attacks in attacks.toml balance
"""

import tomllib
from array import array
from collections import Counter
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
    """Timers are numbered, and so are commands, in the order in which they were written. Commands
    of one timer are in that order in the log, too."""

    def __init__(self):
        self.kinds, self.timers, self.ats = [], array("I"), array("q")  # of commands
        self.outcomes = []  # what was said to them, or None
        self.unsure = set()  # commands of which the producer does not know whether they arrived
        self.deliveries = Counter()  # (timer, at): how often
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

    def replied(self, command, outcome):
        if not 0 <= command < len(self.outcomes):
            self.wrong("a reply to no command", command)
        elif self.outcomes[command] is not None:
            self.wrong("two replies to one command", command)
        elif outcome not in OUTCOMES[self.kinds[command]]:
            self.wrong(f'a {self.kinds[command]} that was "{outcome}"', command)
        else:
            self.outcomes[command] = outcome

    def delivered(self, timer, at, when):
        """With the time of its record."""
        self.deliveries[timer, at] += 1
        if when < at:
            self.wrong("delivered early", f"timer {timer}: {at - when} ms")

    def wrong(self, what, example):
        found = self.problems.setdefault(what, [0, []])
        found[0] += 1
        if len(found[1]) < 5:
            found[1].append(str(example))

    # ---- the account ---------------------------------------------------------------------------

    def unanswered(self):
        return sum(outcome is None for outcome in self.outcomes) - len(self.unsure)

    def settle(self):
        """Fills in `problems` and `counts`; whether the ledger balances."""
        expected, last = self._replay()
        pending = dict(self.pending)
        for timer, at in last.items():
            # A timer that was delivered and scheduled anew for the same time counts twice.
            if pending.get(timer) == at:
                del pending[timer]
                self.counts["pending"] += 1
            else:
                expected[timer, at] += 1
        for timer in pending:
            self.wrong("pending by the state, and not by the replies", f"timer {timer}")
        for (timer, at), times in expected.items():
            got = self.deliveries[timer, at]
            if got < times:
                self.wrong("lost", f"timer {timer}, due at {at}")
            elif got > times:
                self.wrong("delivered twice", f"timer {timer}, due at {at}: {got} times")
        for timer, at in self.deliveries.keys() - expected.keys():
            self.wrong("delivered, though it was cancelled, replaced or pushed back",
                       f"timer {timer}, due at {at}")  # fmt: skip
        self.counts["delivered"] = self.deliveries.total()
        if self.counts["accepted"] != sum(self.counts[end] for end in ENDS):
            self.wrong("the sum does not balance", dict(self.counts))
        return not self.problems

    def _replay(self):
        """What must have been delivered, by the replies, and what was pending last."""
        expected, pending, counts = Counter(), {}, self.counts
        for command, outcome in enumerate(self.outcomes):
            timer, kind = self.timers[command], self.kinds[command]
            if outcome is None:
                if command not in self.unsure:
                    self.wrong("no reply", f"{kind} {command} of timer {timer}")
                continue
            counts[outcome] += 1
            if kind == "mistake":
                continue
            before = pending.pop(timer, None)
            if outcome in ("scheduled", "too-late"):
                if before is not None:
                    expected[timer, before] += 1
            elif before is None:
                self.wrong(f'"{outcome}", and nothing was pending', f"timer {timer}")
            if kind == "schedule":
                counts["accepted"] += 1
            if outcome in ("scheduled", "replaced", "pushed-back"):
                pending[timer] = self.ats[command]
        return expected, pending

    def toldProblems(self):
        """Each kind with its number and examples."""
        return [f"{number:,} × {what}: {'; '.join(examples)}{' ...' * (number > len(examples))}"
                for what, (number, examples) in self.problems.items()]  # fmt: skip


# ---- does it notice? ---------------------------------------------------------------------------


def story(change=lambda ledger: None):
    """Five timers that come to all ends there are, and a mistake; `change` makes it wrong."""
    ledger = Ledger()
    for kind, timer, at, outcome in (
        ("schedule", 1, 100, "scheduled"),
        ("schedule", 2, 100, "scheduled"),
        ("cancel", 2, 0, "cancelled"),
        ("schedule", 3, 100, "scheduled"),
        ("push-back", 3, 200, "pushed-back"),
        ("cancel", 3, 0, "too-late"),
        ("schedule", 4, 100, "scheduled"),
        ("schedule", 4, 300, "replaced"),
        ("schedule", 5, 100, "scheduled"),
        ("schedule", 5, 100, "scheduled"),
        ("mistake", 6, 0, "refused"),
    ):
        ledger.replied(ledger.command(kind, timer, at), outcome)
    ledger.unsure.add(ledger.command("schedule", 7, 100))
    for timer, at in ((1, 100), (3, 200), (5, 100), (5, 100)):
        ledger.delivered(timer, at, at)
    ledger.pending[4] = 300
    change(ledger)
    ledger.settle()
    return ledger


def forget(ledger, timer, at):
    ledger.deliveries[timer, at] -= 1
    ledger.deliveries += Counter()


# What is made wrong, and what must be said.
PLANTED = (
    (lambda ledger: ledger.delivered(1, 100, 100), "delivered twice"),
    (lambda ledger: ledger.delivered(5, 100, 100), "delivered twice"),
    (lambda ledger: ledger.delivered(2, 100, 100), "though it was cancelled"),
    (lambda ledger: ledger.delivered(3, 100, 100), "though it was cancelled"),
    (lambda ledger: ledger.delivered(4, 100, 100), "though it was cancelled"),
    (lambda ledger: forget(ledger, 1, 100), "lost: timer 1"),
    (lambda ledger: forget(ledger, 3, 200), "lost: timer 3"),
    (lambda ledger: forget(ledger, 5, 100), "lost: timer 5"),
    (lambda ledger: ledger.pending.clear(), "lost: timer 4"),
    (lambda ledger: ledger.pending.update({2: 100}), "not by the replies"),
    (lambda ledger: ledger.pending.update({4: 100}), "lost: timer 4"),
    (lambda ledger: (forget(ledger, 1, 100), ledger.delivered(1, 100, 99)), "delivered early"),
    (lambda ledger: ledger.replied(0, "scheduled"), "two replies"),
    (lambda ledger: ledger.replied(99, "scheduled"), "a reply to no command"),
    (lambda ledger: ledger.command("cancel", 1), "no reply"),
    (lambda ledger: ledger.replied(ledger.command("cancel", 1), "refused"), 'that was "refused"'),
    (lambda ledger: ledger.replied(ledger.command("cancel", 2), "cancelled"),
     "nothing was pending"),
    (lambda ledger: ledger.outcomes.__setitem__(2, "too-late"), "lost: timer 2"),
    (lambda ledger: ledger.outcomes.__setitem__(7, "scheduled"), "lost: timer 4"),
)  # fmt: skip


def selfTest():
    right = story()
    assert not right.problems, f"complains of what is right: {right.toldProblems()}"
    assert right.counts.items() >= {"accepted": 7, "delivered": 4, "cancelled": 1, "replaced": 1,
                                    "pending": 1}.items(), right.counts  # fmt: skip
    for number, (change, wanted) in enumerate(PLANTED):
        told = " ".join(story(change).toldProblems())
        assert wanted in told, f"plant {number}: misses {wanted!r}: {told or 'nothing'}"
    for row in tomllib.loads(Path(__file__).with_name("attacks.toml").read_text())["attack"]:
        # With haste, brokers may lose something.
        balances = not row["wrong"] and row["accepted"] == sum(row[end] for end in ENDS)
        assert balances or row["how"] == "hasty", f"attack {row['seed']} does not balance"


if __name__ == "__main__":
    selfTest()
