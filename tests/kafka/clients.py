"""The programs of docs/beyond, in C++, Python and Java, schedule, push back and cancel the same
timers. Their commands are the same, land in the same partitions, and are taken in; ./dev kafka
clients calls it."""

import subprocess
import sys
from collections import Counter, defaultdict
from pathlib import Path

from children import allEnded
from cluster import Cluster
from timers import COMMANDS, REPLIES, STATE, TARGET, Worker, everything, first, header, start

BEYOND = Path(__file__).resolve().parents[2] / "docs/beyond"
PARTITIONS = 8
TIMERS = [f"order-{number}" for number in range(40)]
OUTCOMES = ("scheduled", "pushed-back", "cancelled")
CLIENTS = ("C++", "Python", "Java")
# Of the C++ program's schedules, which show how a header is delivered with a timer.
EXTRA = ("currency", b"EUR")


def checkRight(addresses):
    """Each client's commands are taken in."""
    outcomes, partitions, said = defaultdict(Counter), defaultdict(set), defaultdict(list)
    for message in first(addresses, REPLIES, len(CLIENTS) * len(OUTCOMES) * len(TIMERS)):
        outcomes[message.key().decode()][header(message, "timingwheel-outcome")] += 1
    for message in everything(addresses, COMMANDS):
        timer = message.key().decode()
        partitions[timer].add(message.partition())
        said[timer].append((message.value(), sorted(
            (name, None if name == "timingwheel-at" else value)
            for name, value in message.headers())))  # fmt: skip
    for timer in TIMERS:
        assert len(partitions[timer]) == 1, f"{timer} is in {partitions[timer]}"
        assert outcomes[timer] == Counter(OUTCOMES * len(CLIENTS)), f"{timer}: {outcomes[timer]}"
        checkSame(timer, said[timer])
    assert len(set.union(*partitions.values())) == PARTITIONS, "not all partitions have a timer"
    state = {message.key(): message.value() for message in everything(addresses, STATE)
             if message.key()}  # without: where a partition stands
    assert set(state.values()) == {None}, "what is cancelled is pending"
    assert not list(everything(addresses, TARGET)), "it is delivered"


def checkSame(timer, said):
    """One client wrote after the other, and each the same but for its clock."""
    each = len(OUTCOMES)
    ofCpp, *others = (said[each * i : each * (i + 1)] for i in range(len(CLIENTS)))
    ofCpp[0][1].remove(EXTRA)
    for client, its in zip(CLIENTS[1:], others):
        assert its == ofCpp, f"{timer}: C++ writes {ofCpp}, and {client} {its}"


def main(options):
    with allEnded():
        cluster = Cluster(options.build / "clients", options.build / "jars")
        addresses = cluster.addresses
        start(options.program, cluster, PARTITIONS)
        Worker(options.program, 1, cluster.folder, addresses).start()
        for command in ([options.tenLines],
                        [sys.executable, "-B", BEYOND / "ten-lines.py"],
                        ["java", "-Dorg.slf4j.simpleLogger.defaultLogLevel=warn",
                         "-cp", cluster.path, BEYOND / "TenLines.java"]):  # fmt: skip
            subprocess.run([*command, addresses, *TIMERS], check=True, timeout=120)
        checkRight(addresses)
    print(f"C++, Python and Java write the same commands for {len(TIMERS)} timers")
