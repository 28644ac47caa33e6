#!/usr/bin/env python3
"""Copies the timers of one set of topics into another, with any number of partitions:

    reshard.py BROKERS OLD_GROUP OLD_STATE OLD_COMMANDS NEW_COMMANDS

First what is pending by the old state, then the commands that the old group's workers have not
read, in the order of their time. Nobody may use either set meanwhile: docs/beyond.md says how. If
it breaks off, remove the new topics, and begin anew. It wants `pip install confluent-kafka`.
"""

import sys

from confluent_kafka import Consumer, Producer, TopicPartition

brokers, group, oldState, oldCommands, newCommands = sys.argv[1:]
consumer = Consumer({"bootstrap.servers": brokers, "group.id": group, "enable.auto.commit": False,
                     "isolation.level": "read_committed", "enable.partition.eof": True})
producer = Producer({"bootstrap.servers": brokers, "partitioner": "murmur2_random",
                     "enable.idempotence": True})  # fmt: skip


def read(topic, isUnread):
    """All that is committed there, or what of it the group has not read."""
    numbers = consumer.list_topics(topic, 30).topics[topic].partitions
    places = [TopicPartition(topic, number, 0) for number in numbers]
    if isUnread:
        for place, committed in zip(places, consumer.committed(places, 30)):
            place.offset = max(committed.offset, 0)  # the beginning where there is none
    consumer.assign(places)
    ended = set()
    while len(ended) < len(places):
        message = consumer.poll(1)
        if message is None:
            continue
        if message.error() is None:
            yield message
        elif message.error().code() == message.error()._PARTITION_EOF:
            ended.add(message.partition())
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


pending = {}
for message in read(oldState, False):
    if message.value() is None:
        pending.pop(message.key(), None)
    else:
        pending[message.key()] = (message.value(), message.headers() or [])
for key, (value, headers) in pending.items():
    # The state has the headers of a schedule, and one that says that there is no value.
    kept = [(name, text) for name, text in headers if name != "timingwheel-value"]
    write(key, value if len(kept) == len(headers) else None,
          [("timingwheel-command", b"schedule"), *kept])  # fmt: skip
latest, unread = {}, []
for message in read(oldCommands, True):
    # Clocks of users differ. What stands behind another in its partition stays behind it.
    partition = message.partition()
    latest[partition] = max(latest.get(partition, 0), message.timestamp()[1])
    unread.append((latest[partition], message))
unread.sort(key=lambda each: each[0])
for _, message in unread:
    write(message.key(), message.value(), message.headers())
if producer.flush(600):
    sys.exit(f"{newCommands}: not all is confirmed")
print(f"{len(pending)} pending timers and {len(unread)} commands are in {newCommands}")
