#!/usr/bin/env python3
"""A million orders that expire unless they are paid, on a broker and two workers on this machine.
In the middle a worker is killed, and started again. At the end a ledger says what became of each
order; ./dev kafka demo calls it.

demo.py <timingwheel-kafka> <build folder> [--orders N] [--rate N]
"""

import argparse
import json
import sys
import time
from pathlib import Path

from children import Child, allEnded, waitUntil
from cluster import Cluster
from ledger import CANCEL, SCHEDULE, Ledger
from orders import PAID, TOO_LATE, Orders, fate
from screen import Screen, bar, bold, dim, green, red
from timers import (
    REPLIES, TARGET, Reader, Worker, everything, header, now, prepare, readReply, stillPending,
    thousands,
)  # fmt: skip

PARTITIONS = 4
KILLED, AWAY = 0.5, 4  # when so many of the orders are placed; for so many seconds
PATIENCE = 180  # seconds without anything new
SESSION, TRANSACTION = 6_000, 5_000  # milliseconds


class Demo:
    def __init__(self, options, screen):
        self.options, self.screen = options, screen
        self.cluster = Cluster(options.build / "demo", options.build / "jars")
        times = ["--session-timeout-ms", SESSION, "--transaction-timeout-ms", TRANSACTION]
        self.workers = [Worker(options.program, n, self.cluster, times) for n in (1, 2)]
        self.told = dict.fromkeys(("scheduled", "cancelled", "too-late"), 0)
        self.delivered, self.last, self.killedAt = 0, time.monotonic(), None
        self.ledger = self.orders = self.customers = self.reader = None

    # ---- the course ----------------------------------------------------------------------------

    def run(self):
        """Whether the ledger balances."""
        count, rate = self.options.orders, self.options.rate
        self.orders = Orders(count, rate, begin=0)
        self.ledger = self.expectations()
        self.screen.say(f"a broker of Kafka, {PARTITIONS} partitions, two workers")
        self.cluster.start()
        prepare(self.cluster, PARTITIONS, self.options.program)
        for worker in self.workers:
            worker.start()
        waitUntil(lambda: sum(len(self.partitionsOf(w)) for w in self.workers) == PARTITIONS,
                  PATIENCE, "the workers have not taken all partitions")  # fmt: skip
        self.orders.begin = now() + 500
        self.ledger.shift(self.orders.begin)
        self.customers = Child(
            "the customers",
            [sys.executable, "-B", Path(__file__).with_name("orders.py"), self.cluster.addresses,
             count, rate, self.orders.begin], self.cluster.folder / "customers.log",
        )  # fmt: skip
        self.screen.say(f"{count:,} orders, {rate:,} a second: 85 % are paid, 2 % too late, 8 % "
                        "expire, 5 % have until tomorrow")
        self.customers.start()
        self.reader = Reader(self.cluster.addresses, [REPLIES, TARGET])
        self.watch()
        self.reader.close()
        return self.settle()

    def expectations(self):
        """A ledger of the commands that the customers will write."""
        ledger, orders = Ledger(), self.orders
        for order in range(orders.count):
            ledger.command(SCHEDULE, order, orders.due(order))
        for order in range(orders.count):
            ledger.command(CANCEL, order)
        return ledger

    def watch(self):
        """Until each command has its reply, and what is due is delivered."""
        victim, begun = self.workers[0], time.monotonic()
        answers = self.options.orders + sum(
            fate(order) in (PAID, TOO_LATE) for order in range(self.options.orders))
        end, drawn = max(self.orders.due(o) for o in self.near()), 0
        self.last = begun
        while True:
            self.take()
            if time.monotonic() - drawn > self.screen.pause:
                drawn = time.monotonic()
                self.draw()
            if self.killedAt is None and self.told["scheduled"] > KILLED * self.options.orders:
                victim.kill()
                self.killedAt = time.monotonic()
                self.screen.say(red("kill -9") + f" worker 1, after {thousands(self.placed())} "
                                "orders. Its partitions move when its session times out")
            if self.killedAt and not victim.isRunning and time.monotonic() > self.killedAt + AWAY:
                victim.start()
                self.screen.say(green("started") + " worker 1 again")
            isAnswered = sum(self.told.values()) >= answers
            if isAnswered and now() > end and not self.overdue():
                break
            if time.monotonic() - self.last > PATIENCE:
                self.screen.say(red(f"nothing new for {PATIENCE} s"))
                break
        self.draw()

    def near(self):
        """Orders enough to know when the last of today is due."""
        count = self.options.orders
        due = range(max(0, count - 40 * self.options.rate), count)
        return [o for o in due if self.orders.due(o) < self.orders.begin + 3_600_000 * 12]

    def overdue(self):
        """Whether less is delivered than the replies say."""
        pending = self.told["scheduled"] - self.told["cancelled"] - self.delivered
        return pending > sum(worker.metrics().get(("pending", p), 0) for worker in self.workers
                             for p in self.partitionsOf(worker))  # fmt: skip

    def take(self):
        for message in self.reader.read(0.05):
            self.last = time.monotonic()
            if message.topic() == TARGET:
                self.delivered += 1
            else:
                outcome = header(message, "timingwheel-outcome")
                self.told[outcome] = self.told.get(outcome, 0) + 1
                readReply(message, self.ledger)

    # ---- what is seen --------------------------------------------------------------------------

    def placed(self):
        return self.told["scheduled"]

    def partitionsOf(self, worker):
        return sorted(p for name, p in worker.metrics() if name == "pending")

    def draw(self):
        count = self.options.orders
        rows = [(name, number, bar(number / count, color)) for name, number, color in (
            ("placed", self.placed(), "blue"),
            ("paid", self.told["cancelled"], "green"),
            ("expired", self.delivered, "red"),
            ("too late", self.told["too-late"], "yellow"),
        )]  # fmt: skip
        pending = self.placed() - self.told["cancelled"] - self.delivered
        rows.append(("pending", pending, bar(pending / count, "gray")))
        live = [f"  {name:<9} {number:>11,}  {drawn}" for name, number, drawn in rows] + [""]
        plain = "  ".join(f"{name} {number:,}" for name, number, _ in rows)
        for worker in self.workers:
            metrics = worker.metrics()
            mine = sorted(p for name, p in metrics if name == "pending")
            if not worker.isRunning:
                state, short = red("killed"), "killed"
            elif not mine:
                state, short = dim("has no partition yet"), "-"
            else:
                held = sum(metrics["pending", p] for p in mine)
                short = " ".join(mine)
                state = f"partition {short}: {thousands(held)} pending, " \
                    f"{metrics['memory_bytes', ''] / 1e6:.1f} MB"  # fmt: skip
            live.append(f"  {worker.name:<9} {state}")
            plain += f"  | {worker.name}: {short}"
        self.screen.draw(live, plain)

    # ---- the account ---------------------------------------------------------------------------

    def settle(self):
        if self.customers.process.wait(PATIENCE) != 0:
            self.ledger.wrong("the customers have failed", self.customers.endOfLog())
        else:
            self.ledger.unsure.update(json.loads(self.customers.endOfLog(1)))
        self.screen.say("reads the target topic and the state, committed records only")
        latest = 0
        for message in everything(self.cluster.addresses, TARGET):
            headers = dict(message.headers())
            at, when = int(headers["timingwheel-at"]), message.timestamp()[1]
            self.ledger.delivered(int(headers["timingwheel-id"][6:]), at, when)
            latest = max(latest, when - at)
        for key, at in stillPending(self.cluster.addresses).items():
            self.ledger.isPending(int(key[6:]), at)
        # Commands that no customer wrote have no reply.
        for order in range(self.options.orders):
            if fate(order) not in (PAID, TOO_LATE):
                self.ledger.unsure.add(self.options.orders + order)
        isRight = self.ledger.settle()
        print("\n" + bold("The ledger") + "\n")
        for line in self.ledger.told():
            print("  " + line)
        print()
        for line in self.ledger.toldProblems():
            print("  " + red("wrong: ") + line)
        if isRight:
            print("  " + green("It balances") + ": none lost, none twice, none early; the broker "
                  f"has stamped the latest {latest / 1000:.1f} s after its time")
        return isRight


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("program", type=Path)
    parser.add_argument("build", type=Path)
    parser.add_argument("--orders", type=int, default=1_000_000)
    parser.add_argument("--rate", type=int, default=20_000, help="orders a second")
    options = parser.parse_args()
    with allEnded(), Screen() as screen:
        return 0 if Demo(options, screen).run() else 1


if __name__ == "__main__":
    sys.exit(main())
