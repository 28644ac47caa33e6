#!/usr/bin/env python3
"""Schedules a timer of timingwheel-kafka, pushes it back and cancels it: ten-lines.py BROKERS ID...

It needs `pip install confluent-kafka`.
"""

import sys
import time

from confluent_kafka import Producer

producer = Producer({
    "bootstrap.servers": sys.argv[1],
    "partitioner": "murmur2_random",  # as Java's clients do; librdkafka's default is another
    "enable.idempotence": True,
})  # fmt: skip


def command(name, timer, payload=None, **headers):
    named = {f"timingwheel-{header}": text for header, text in headers.items()}
    producer.produce("timers.commands", key=timer, value=payload,
                     headers={"timingwheel-command": name, **named})  # fmt: skip


def after(seconds):
    return str(int(1000 * (time.time() + seconds)))


for order in sys.argv[2:]:
    # A reply says what became of a command; it is for those who ask.
    command("schedule", order, '{"total": "12.50"}', at=after(1800), to="orders.expired", reply="1")
    command("push-back", order, at=after(3600), reply="2")
    command("cancel", order, reply="3")
producer.flush()
