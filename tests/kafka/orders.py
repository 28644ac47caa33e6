#!/usr/bin/env python3
"""The demo's customers: orders that expire unless they are paid. Which does what is drawn from its
number, so that whoever knows the number knows the order.

orders.py <addresses> <orders> <rate> <begin, ms>    writes their commands, which takes a process
"""

import json
import sys
import time

DELAY = 20_000  # milliseconds in which an order must be paid, and up to SPREAD more
SPREAD = 20_000
PAYS_AFTER, PAYS_TOO_LATE_AFTER = 8, 50  # seconds
TOMORROW = 24 * 3_600_000
PAID, TOO_LATE, EXPIRES, FAR = range(4)
FATES = bytes([PAID] * 85 + [TOO_LATE] * 2 + [EXPIRES] * 8 + [FAR] * 5)  # of a hundred


def lot(number):
    """Spread evenly over 32 bits."""
    number = (number ^ number >> 16) * 0x45D9F3B & 0xFFFFFFFF
    number = (number ^ number >> 16) * 0x45D9F3B & 0xFFFFFFFF
    return number ^ number >> 16


def fate(order):
    return FATES[lot(order) % 100]


class Orders:
    """`count` orders, `rate` a second from `begin` on."""

    def __init__(self, count, rate, begin):
        self.count, self.rate, self.begin = count, rate, begin

    def due(self, order):
        placed = self.begin + order * 1000 // self.rate
        far = TOMORROW if fate(order) == FAR else 0
        return placed + DELAY + far + lot(order + 0x1000000) % SPREAD

    def key(self, order):
        return f"order-{order:07d}"

    def steps(self):
        """What happens at each step, of which there are `rate` in a second: (step, order, whether
        it is placed or paid)."""
        soon, late = PAYS_AFTER * self.rate, PAYS_TOO_LATE_AFTER * self.rate
        for step in range(self.count + late):
            if step < self.count:
                yield step, step, True
            if 0 <= step - soon < self.count and fate(step - soon) == PAID:
                yield step, step - soon, False
            if 0 <= step - late and fate(step - late) == TOO_LATE:
                yield step, step - late, False


def place(orders, user):
    """The number of a command is its order's, and for what is paid as many more as there are
    orders."""
    for step, order, isPlaced in orders.steps():
        if step % 64 == 0:
            ahead = orders.begin / 1000 + step / orders.rate - time.time()
            if ahead > 0.02:
                time.sleep(ahead)
        if isPlaced:
            user.schedule(orders.key(order), orders.due(order), value=b'{"total": "12.50"}',
                          number=order)  # fmt: skip
        else:
            user.cancel(orders.key(order), number=orders.count + order)
    user.flush()


def main():
    from timers import User

    addresses, *numbers = sys.argv[1:]
    user = User(addresses)
    place(Orders(*map(int, numbers)), user)
    print(json.dumps(sorted(user.unsure)))


if __name__ == "__main__":
    main()
