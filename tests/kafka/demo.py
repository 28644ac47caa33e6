"""A million orders that expire unless they are paid, on a broker and two workers on this machine.
In the middle a worker is killed, and started again. At the end a ledger says what became of each
order; ./dev kafka demo calls it."""

from collections import deque

from attack import Attack, Users, accountOf
from timers import HOUR, now

DELAY = SPREAD = 20_000  # milliseconds in which an order must be paid, and up to so many more
# Of a hundred.
FATES = {"are paid": 85, "are paid too late": 2, "expire": 8, "have until tomorrow": 5}
PAID_AFTER = {"are paid": 8, "are paid too late": 50}  # seconds


class Customers(Users):
    """They place an order at each step, and pay for most of them."""

    def __init__(self, addresses, options):
        super().__init__(addresses, options.rate, seed=1)
        self.count, self.steps, self.timers = options.orders, 0, 0
        self.unpaid = {fate: deque() for fate in PAID_AFTER}  # (when it is paid, the order)

    def act(self):
        self.steps += 1
        if self.timers < self.count:
            self.timers += 1
            (fate,) = self.draw.choices([*FATES], FATES.values())
            far = 24 * HOUR if fate == "have until tomorrow" else 0
            self.command("schedule", self.timers, now() + DELAY + self.draw.randrange(SPREAD) + far)
            if fate in PAID_AFTER:
                self.unpaid[fate].append((self.steps + PAID_AFTER[fate] * self.rate, self.timers))
        for orders in self.unpaid.values():
            if orders and orders[0][0] <= self.steps:
                self.command("cancel", orders.popleft()[1])


class Demo(Attack):
    NAME, BROKERS, WORKERS, PARTITIONS = "demo", 1, 2, 4

    def makeUsers(self):
        return Customers(self.cluster.addresses, self.options)

    def strike(self):
        self.say(f"{self.options.orders:,} orders, {self.options.rate:,} a second: of a hundred "
                 + ", ".join(f"{number} {fate}" for fate, number in FATES.items()))  # fmt: skip
        while self.users.timers < self.options.orders / 2:
            self.step()
        self.luck.begin(self.luck.kill(self.workers[0], seconds=4))
        while self.users.timers < self.options.orders or any(self.users.unpaid.values()):
            self.step()


def main(options):
    options.seed, options.hasty, options.minutes = 1, True, 0
    return accountOf(Demo(options))
