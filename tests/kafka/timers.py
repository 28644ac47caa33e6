"""Timers on Kafka as their users see them, and the workers that keep them."""

import re
import time
import urllib.request
from pathlib import Path

from children import Child, freePorts, waitUntil
from confluent_kafka import (
    OFFSET_BEGINNING,
    Consumer,
    KafkaError,
    KafkaException,
    Producer,
    TopicPartition,
)
from confluent_kafka.admin import AdminClient, OffsetSpec

COMMANDS, STATE, DEAD_LETTERS = "timers.commands", "timers.state", "timers.dead-letters"
REPLIES, TARGET = "timers.replies", "orders.expired"
HOUR = 3_600_000  # milliseconds


def now():
    """Milliseconds since 1970."""
    return time.time_ns() // 1_000_000


# ---- workers -----------------------------------------------------------------------------------


class Worker(Child):
    """timingwheel-kafka, and its metrics."""

    def __init__(self, program, number, cluster, options=()):
        self.number = number
        self.port = freePorts(1)[0]
        super().__init__(
            f"worker {number}",
            [program, "--brokers", cluster.addresses, "--replies", REPLIES,
             "--metrics", f"127.0.0.1:{self.port}", *options],
            cluster.folder / f"worker-{number}.log",
        )  # fmt: skip

    def metrics(self):
        """(name, partition or ""): value; empty where it does not answer."""
        if not self.isRunning or self.isPaused:
            return {}
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{self.port}/metrics", timeout=1) as page:
                text = page.read().decode()
        except OSError:
            return {}
        found = {}
        for line in text.splitlines():
            match = re.fullmatch(r'timingwheel_(\w+)(?:{partition="(\d+)"})? (\S+)', line)
            if match:
                found[match[1], match[2] or ""] = float(match[3])
        return found


def prepare(cluster, partitions, program=None, targets=(TARGET,)):
    """Makes the topics: the timers' own by the program, as its users do."""
    if program is not None:
        setUp = Child("the set-up", [program, "--brokers", cluster.addresses, "--create-topics",
                                     partitions, "--replication", cluster.replication, "--check"],
                      cluster.folder / "set-up.log")  # fmt: skip
        setUp.start()
        if setUp.process.wait() != 0:
            raise RuntimeError(f"the topics could not be made:\n{setUp.endOfLog()}")
    cluster.createTopic(REPLIES, partitions)
    for target in targets:
        # The broker's time, so that nobody need believe the worker's.
        cluster.createTopic(target, partitions, message_timestamp_type="LogAppendTime")
    wanted = {REPLIES, *targets} | ({COMMANDS, STATE, DEAD_LETTERS} if program else set())
    # The controller has said yes before all brokers know.
    waitUntil(lambda: all(wanted <= cluster.topics(port) for port in cluster.ports), 120,
              f"not all brokers know the topics {wanted}")  # fmt: skip


# ---- users -------------------------------------------------------------------------------------


class User:
    """Writes commands, in order and each once. `unsure` has the numbers of those that may be
    missing: the brokers did not confirm them."""

    def __init__(self, addresses, **settings):
        self.unsure = set()
        self.producer = Producer({
            "bootstrap.servers": addresses,
            "partitioner": "murmur2_random",  # as Java does; the default is another
            "enable.idempotence": True,
            "linger.ms": 20,
            "batch.num.messages": 10_000,
            "batch.size": 500_000,
            "queue.buffering.max.messages": 200_000,
            "delivery.report.only.error": True,
            "delivery.timeout.ms": 600_000,
            "log_level": 2,
            **settings,
        })  # fmt: skip

    def write(self, key, headers, value=None, number=None):
        while True:
            try:
                self.producer.produce(COMMANDS, value, key, headers=headers,
                                      on_delivery=None if number is None else
                                      lambda error, _: self._failed(error, number))
                return
            except BufferError:
                self.producer.poll(0.1)

    def _failed(self, error, number):
        if error is not None:
            self.unsure.add(number)

    def schedule(self, key, at, to=TARGET, value=b"", number=None, more=()):
        headers = [("timingwheel-command", b"schedule"), ("timingwheel-at", str(at).encode()),
                   ("timingwheel-to", to.encode()), *more]  # fmt: skip
        self._write(key, headers, value, number)

    def pushBack(self, key, at, number=None):
        headers = [("timingwheel-command", b"push-back"), ("timingwheel-at", str(at).encode())]
        self._write(key, headers, None, number)

    def cancel(self, key, number=None):
        self._write(key, [("timingwheel-command", b"cancel")], None, number)

    def _write(self, key, headers, value, number):
        if number is not None:
            headers.append(("timingwheel-reply", str(number).encode()))
        self.write(key, headers, value, number)

    def flush(self, seconds=600):
        if left := self.producer.flush(seconds):
            raise TimeoutError(f"{left} commands are not confirmed after {seconds} s")


class Reader:
    """Reads topics from their beginning, committed records only, in no group."""

    def __init__(self, addresses, topics, **settings):
        self.consumer = Consumer({
            "bootstrap.servers": addresses,
            "group.id": "reader",  # librdkafka wants one; it joins none
            "isolation.level": "read_committed",
            "enable.auto.commit": False,
            "enable.partition.eof": True,
            "auto.offset.reset": "earliest",
            "queued.max.messages.kbytes": 65_536,
            "fetch.wait.max.ms": 20,
            "log_level": 2,
            **settings,
        })  # fmt: skip
        self.ended = set()
        metadata = self.consumer.list_topics(timeout=60).topics
        self.all = [(topic, number) for topic in topics for number in metadata[topic].partitions]
        self.consumer.assign([TopicPartition(*place, OFFSET_BEGINNING) for place in self.all])

    def read(self, seconds=0.2, atMost=10_000):
        """What has come."""
        found = []
        for message in self.consumer.consume(atMost, seconds):
            error = message.error()
            if error is None:
                found.append(message)
            elif error.code() == KafkaError._PARTITION_EOF:
                self.ended.add((message.topic(), message.partition()))
            elif error.fatal():  # what brokers that are away cause is over when they are back
                raise KafkaException(error)
        return found

    def readAll(self, seconds=600):
        """What there is: until each partition has been at its end."""
        until = time.monotonic() + seconds
        while len(self.ended) < len(self.all):
            yield from self.read()
            if time.monotonic() > until:
                raise TimeoutError(f"the end was not reached in {seconds} s")

    def close(self):
        self.consumer.close()


def everything(addresses, topic):
    """All committed records of a topic."""
    reader = Reader(addresses, [topic])
    try:
        yield from reader.readAll()
    finally:
        reader.close()


def count(addresses, topic):
    """Offsets of a topic: its records, and the marks of its transactions."""
    admin = AdminClient({"bootstrap.servers": addresses, "log_level": 0})
    partitions = admin.list_topics(topic, timeout=10).topics[topic].partitions
    latest = admin.list_offsets(
        {TopicPartition(topic, number): OffsetSpec.latest() for number in partitions}
    )
    return sum(future.result(10).offset for future in latest.values())


def header(message, name):
    """Its text; None where there is none."""
    for key, value in message.headers() or ():
        if key == name:
            return value.decode()
    return None


def stillPending(addresses):
    """key: due time, by the state topic."""
    found = {}
    for message in everything(addresses, STATE):
        if message.value() is None:
            found.pop(message.key(), None)
        else:
            found[message.key()] = int(header(message, "timingwheel-at"))
    return found


# ---- all of it ---------------------------------------------------------------------------------


def readReply(message, ledger):
    """Its command's number stands in it."""
    headers = dict(message.headers())
    ledger.replied(int(headers["timingwheel-reply"]), headers["timingwheel-outcome"].decode())


def thousands(number):
    return f"{round(number):,}"


ROOT = Path(__file__).resolve().parents[2]
