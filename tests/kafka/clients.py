#!/usr/bin/env python3
"""The programs of docs/beyond, in Python and in Java, schedule, push back and cancel the same
timers. Their commands land in the same partitions, and are taken in. A client with librdkafka's own
partitioner is told what is wrong; ./dev kafka clients calls it.

clients.py <timingwheel-kafka> <build folder>
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


class Check:
    def __init__(self, program, build):
        self.cluster = Cluster(build / "clients", build / "jars")
        self.worker = Worker(program, 1, self.cluster)
        self.program, self.build, self.failures = program, build, []

    def expect(self, condition, what):
        if not condition:
            self.failures.append(what)

    def run(self):
        self.cluster.start()
        prepare(self.cluster, PARTITIONS, self.program)
        self.worker.start()
        client = ":".join(jars(self.build / "jars", "kafka-clients|slf4j|lz4|snappy|zstd"))
        addresses = self.cluster.addresses
        for command in ([sys.executable, "-B", BEYOND / "ten-lines.py"],
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
        for message in self.replies(2 * len(OUTCOMES) * len(TIMERS)):
            outcomes[message.key().decode()][header(message, "timingwheel-outcome")] += 1
        partitions = defaultdict(set)
        for message in everything(self.cluster.addresses, COMMANDS):
            partitions[message.key().decode()].add(message.partition())
        for timer in TIMERS:
            self.expect(len(partitions[timer]) == 1, f"{timer} is in {partitions[timer]}")
            self.expect(outcomes[timer] == Counter(OUTCOMES * 2), f"{timer}: {outcomes[timer]}")
        self.expect(len({p for of in partitions.values() for p in of}) == PARTITIONS,
                    "the timers are not in all partitions")  # fmt: skip
        self.expect(not stillPending(self.cluster.addresses), "what is cancelled is pending")
        self.expect(not list(everything(self.cluster.addresses, TARGET)), "it is delivered")

    def checkWrongPartitioner(self):
        user = User(self.cluster.addresses, partitioner="consistent_random")
        for number, timer in enumerate(TIMERS):
            user.schedule(timer, now() + 3_600_000, number=number)
        user.flush()
        refused = [message for message in self.replies((2 * len(OUTCOMES) + 1) * len(TIMERS))
                   if header(message, "timingwheel-outcome") == "refused"]  # fmt: skip
        letters = list(everything(self.cluster.addresses, DEAD_LETTERS))
        self.expect(refused, "no command is refused, though its partition is wrong")
        self.expect(len(letters) == len(refused), f"{len(letters)} dead letters")
        for message in letters:
            reason = header(message, "timingwheel-reason") or "nothing"
            self.expect("murmur2" in reason, f"a dead letter says {reason}")


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    with allEnded():
        check = Check(Path(sys.argv[1]), Path(sys.argv[2]))
        check.run()
    for failure in check.failures:
        print(failure)
    if not check.failures:
        print(f"Python and Java agree on the partitions of {len(TIMERS)} timers")
    return 1 if check.failures else 0


if __name__ == "__main__":
    sys.exit(main())
