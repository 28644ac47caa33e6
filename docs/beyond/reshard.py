#!/usr/bin/env python3
"""Copies the timers of one set of topics into another, with any number of partitions:

    reshard.py BROKERS OLD_STATE OLD_COMMANDS NEW_COMMANDS

First what is pending by the old state, then the commands that it has not taken in, in the order of
their time. Nobody may use either set meanwhile: docs/beyond.md says how. If it breaks off, remove
the new topics, and begin anew. It needs `pip install confluent-kafka`.
"""

import sys

from confluent_kafka import Consumer, Producer, TopicPartition

brokers, oldState, oldCommands, newCommands = sys.argv[1:]
consumer = Consumer({"bootstrap.servers": brokers, "group.id": "reshard",
                     "enable.auto.commit": False, "auto.offset.reset": "earliest",
                     "isolation.level": "read_committed", "enable.partition.eof": True})
producer = Producer({"bootstrap.servers": brokers, "partitioner": "murmur2_random",
                     "enable.idempotence": True, "message.max.bytes": 30_000_000})  # fmt: skip


def read(topic, offsets):
    """All that is committed there from these offsets on."""
    numbers = consumer.list_topics(topic, 30).topics[topic].partitions
    places = [TopicPartition(topic, number, offsets.get(number, 0)) for number in numbers]
    consumer.assign(places)
    ended = set()
    while len(ended) < len(places):
        if (message := consumer.poll(1)) is None:
            continue
        if message.error() is None:
            yield message
        elif message.error().code() == message.error()._PARTITION_EOF:
            ended.add(message.partition())
            place = TopicPartition(topic, message.partition())
            if message.offset() < consumer.get_watermark_offsets(place, cached=True)[1]:
                sys.exit(f"{topic}: a transaction is open, and hides what is behind it: end it")
        else:
            sys.exit(f"{message.topic()}: {message.error()}")


def write(key, value, headers):
    while True:
        try:
            producer.produce(newCommands, value, key, headers=headers, on_delivery=confirm)
            return
        except BufferError:
            producer.poll(0.1)


def confirm(error, _):
    if error is not None:
        sys.exit(f"{newCommands}: {error}")


pending, position, latest, unread = {}, {}, {}, []
for message in read(oldState, {}):
    if not message.key():  # how far the partition's commands are taken in
        position[message.partition()] = int(message.value())
    elif message.value() is None:
        pending.pop(message.key(), None)
    else:
        pending[message.key()] = (message.value(), message.headers() or [])
for message in read(oldCommands, position):
    # Clocks of users differ. What stands behind another in its partition stays behind it.
    partition = message.partition()
    latest[partition] = max(latest.get(partition, 0), message.timestamp()[1])
    unread.append((latest[partition], message))
for key, (value, headers) in pending.items():
    # The state has the headers of a schedule, and one that says that there is no value.
    kept = [(name, text) for name, text in headers if name != "timingwheel-value"]
    write(key, value if kept == headers else None, [("timingwheel-command", b"schedule"), *kept])
unread.sort(key=lambda each: each[0])
for _, message in unread:
    write(message.key(), message.value(), message.headers())
if producer.flush(600):
    sys.exit(f"{newCommands}: not all is confirmed")
print(f"{len(pending)} pending timers and {len(unread)} commands are in {newCommands}")
