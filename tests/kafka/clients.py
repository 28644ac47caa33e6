#!/usr/bin/env python3
"""The programs of docs/beyond, in C++, Python and Java, schedule, push back and cancel the same
timers. Their commands are the same, land in the same partitions, and are taken in. A client with
librdkafka's own partitioner is told what is wrong; ./dev kafka clients calls it.

clients.py <timingwheel-kafka> <build folder> <ten-lines.cpp, built>
"""

import subprocess
import sys
from collections import Counter, defaultdict
from pathlib import Path

from children import allEnded, waitUntil
from cluster import Cluster, jars
from timers import (
    COMMANDS, DEAD_LETTERS, REPLIES, ROOT, TARGET, Reader, User, Worker, everything, header, now,
    prepare, stillPending,
)  # fmt: skip

BEYOND = ROOT / "docs" / "beyond"
PARTITIONS = 8
TIMERS = [f"order-{number}" for number in range(40)]
OUTCOMES = ("scheduled", "pushed-back", "cancelled")
CLIENTS = ("C++", "Python", "Java")
# Of the C++ program's schedules, which show how a header is delivered with a timer.
EXTRA = ("currency", b"EUR")


class Check:
    def __init__(self, program, build, tenLines):
        self.cluster = Cluster(build / "clients", build / "jars")
        self.worker = Worker(program, 1, self.cluster)
        self.program, self.build, self.tenLines = program, build, tenLines
        self.failures = []

    def expect(self, condition, what):
        if not condition:
            self.failures.append(what)

    def run(self):
        self.cluster.start()
        prepare(self.cluster, PARTITIONS, self.program)
        self.worker.start()
        client = ":".join(jars(self.build / "jars", "kafka-clients|slf4j|lz4|snappy|zstd"))
        addresses = self.cluster.addresses
        for command in ([self.tenLines],
                        [sys.executable, "-B", BEYOND / "ten-lines.py"],
                        ["java", "-Dorg.slf4j.simpleLogger.defaultLogLevel=warn", "-cp", client,
                         BEYOND / "TenLines.java"]):  # fmt: skip
            subprocess.run([*command, addresses, *TIMERS], check=True, timeout=120)
        self.checkRights()
        self.checkWrongPartitioner()

    def replies(self, number):
        """The first so many."""
        found, reader = [], Reader(self.cluster.addresses, [REPLIES])
        waitUntil(lambda: found.extend(reader.read()) or len(found) >= number, 60,
                  f"there are no {number} replies")  # fmt: skip
        reader.close()
        return found

    def checkRights(self):
        outcomes = defaultdict(Counter)
        for message in self.replies(len(CLIENTS) * len(OUTCOMES) * len(TIMERS)):
            outcomes[message.key().decode()][header(message, "timingwheel-outcome")] += 1
        partitions, commands = defaultdict(set), defaultdict(list)
        for message in everything(self.cluster.addresses, COMMANDS):
            partitions[message.key().decode()].add(message.partition())
            commands[message.key().decode()].append(message)
        for timer in TIMERS:
            self.expect(len(partitions[timer]) == 1, f"{timer} is in {partitions[timer]}")
            self.expect(outcomes[timer] == Counter(OUTCOMES * len(CLIENTS)),
                        f"{timer}: {outcomes[timer]}")  # fmt: skip
            self.checkCommands(timer, commands[timer])
        self.expect(len({p for of in partitions.values() for p in of}) == PARTITIONS,
                    "the timers are not in all partitions")  # fmt: skip
        self.expect(not stillPending(self.cluster.addresses), "what is cancelled is pending")
        self.expect(not list(everything(self.cluster.addresses, TARGET)), "it is delivered")

    def checkCommands(self, timer, messages):
        """One client wrote after the other, and each the same but for its clock."""
        said = [(message.value(), sorted((name, None if name == "timingwheel-at" else value)
                                         for name, value in message.headers()))
                for message in messages]  # fmt: skip
        each = len(OUTCOMES)
        ofCpp, *others = (said[each * i : each * (i + 1)] for i in range(len(CLIENTS)))
        headers = ofCpp[0][1]
        self.expect(EXTRA in headers, f"{timer}: C++ adds no header: {headers}")
        headers[:] = [header for header in headers if header != EXTRA]
        for client, its in zip(CLIENTS[1:], others):
            self.expect(its == ofCpp, f"{timer}: C++ writes {ofCpp}, and {client} {its}")

    def checkWrongPartitioner(self):
        user = User(self.cluster.addresses, partitioner="consistent_random")
        for number, timer in enumerate(TIMERS):
            user.schedule(timer, now() + 3_600_000, number=number)
        user.flush()
        number = (len(CLIENTS) * len(OUTCOMES) + 1) * len(TIMERS)
        refused = [message for message in self.replies(number)
                   if header(message, "timingwheel-outcome") == "refused"]  # fmt: skip
        letters = list(everything(self.cluster.addresses, DEAD_LETTERS))
        self.expect(refused, "no command is refused, though its partition is wrong")
        self.expect(len(letters) == len(refused), f"{len(letters)} dead letters")
        for message in letters:
            reason = header(message, "timingwheel-reason") or "nothing"
            self.expect("murmur2" in reason, f"a dead letter says {reason}")


def main():
    if len(sys.argv) != 4:
        sys.exit(__doc__)
    with allEnded():
        check = Check(*map(Path, sys.argv[1:]))
        check.run()
    for failure in check.failures:
        print(failure)
    if not check.failures:
        print(f"C++, Python and Java write the same commands for {len(TIMERS)} timers, into the "
              "same partitions")  # fmt: skip
    return 1 if check.failures else 0


if __name__ == "__main__":
    sys.exit(main())
