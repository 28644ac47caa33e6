"""Timers on Kafka as their users see them, and the workers that keep them."""

import contextlib
import functools
import http.client
import re
import subprocess
import time

from children import Child, freePorts, waitUntil
from confluent_kafka import (
    OFFSET_BEGINNING, Consumer, KafkaError, KafkaException, Producer, TopicPartition,
)  # fmt: skip

COMMANDS, STATE, DEAD_LETTERS = "timers.commands", "timers.state", "timers.dead-letters"
REPLIES, TARGET = "timers.replies", "orders.expired"
HOUR = 3_600_000  # milliseconds
SESSION = TRANSACTION = 6_000  # milliseconds: time-outs of workers
PATIENCE = 600  # seconds


def now():
    """Milliseconds since 1970."""
    return time.time_ns() // 1_000_000


# ---- workers -----------------------------------------------------------------------------------


class Worker(Child):
    """timingwheel-kafka, and its metrics."""

    def __init__(self, program, number, folder, brokers, options=("--replies", REPLIES),
                 session=SESSION):  # fmt: skip
        self.port = freePorts(1)[0]
        super().__init__(
            f"worker {number}",
            [program, "--brokers", brokers, "--metrics", f"127.0.0.1:{self.port}",
             "--session-timeout-ms", session, "--transaction-timeout-ms", TRANSACTION, *options],
            folder / f"worker-{number}.log",
        )  # fmt: skip

    def page(self, name):
        """Status and text of what it serves there; 0 if it does not answer."""
        with contextlib.suppress(OSError):
            if self.isRunning and not self.isPaused:
                worker = http.client.HTTPConnection("127.0.0.1", self.port, timeout=9)
                worker.request("GET", f"/{name}")
                answer = worker.getresponse()
                return answer.status, answer.read().decode()
        return 0, ""

    def metrics(self):
        """(name, partition or ""): value; empty where it does not answer."""
        lines = self.page("metrics")[1].splitlines()
        sample = re.compile(r'timingwheel_(\w+)(?:{partition="(\d+)"})? (\S+)')
        return {(found[1], found[2] or ""): float(found[3])
                for found in map(sample.fullmatch, lines) if found}  # fmt: skip

    def values(self, name):
        """Of a metric, for each partition that it has; or one, which is of none."""
        if not (metrics := self.metrics()):
            raise ConnectionError(f"{self.name} does not answer")
        return [value for (found, _), value in metrics.items() if found == name]

    def value(self, name):
        return sum(self.values(name))


def start(program, cluster, partitions):
    """Starts the brokers, and makes the topics: the timers' own by the program, as users do."""
    cluster.start()
    subprocess.run([program, "--brokers", cluster.addresses, "--create-topics", str(partitions),
                    "--replication", str(cluster.replication), "check", "--topics-only"],
                   check=True)  # fmt: skip
    cluster.createTopic(REPLIES, partitions)
    # The broker's time, so that nobody need believe the worker's.
    cluster.createTopic(TARGET, partitions, message_timestamp_type="LogAppendTime")
    cluster.awaitTopics(COMMANDS, STATE, DEAD_LETTERS)


# ---- users -------------------------------------------------------------------------------------


class User:
    """Writes commands, in order and each once. `unsure` has the numbers of those that may be
    missing: the brokers did not confirm them."""

    def __init__(self, addresses, topic=COMMANDS, **settings):
        self.topic, self.unsure = topic, set()
        self.producer = Producer({
            "bootstrap.servers": addresses,
            "partitioner": "murmur2_random",  # as Java does; the default is another
            "enable.idempotence": True,
            "batch.size": 500_000,
            "delivery.report.only.error": True,
            "delivery.timeout.ms": 600_000,
            "log_level": 2,
            **settings,
        })  # fmt: skip

    def command(self, kind, key, at=None, to=None, value=None, reply=None, more=(), partition=-1):
        """`reply` asks for one, which carries it."""
        asked = (("command", kind), ("at", at), ("to", to), ("reply", reply))
        headers = [(f"timingwheel-{name}", str(text)) for name, text in asked if text is not None]
        self.write(key, value, [*headers, *more], partition, reply)

    def write(self, key, value, headers, partition=-1, number=None):
        failed = functools.partial(self._failed, number)
        while True:
            try:
                self.producer.produce(self.topic, value, key, partition, failed, headers=headers)
                return
            except BufferError:
                self.producer.poll(0.1)

    def _failed(self, number, error, _):
        if error is not None:
            self.unsure.add(number)

    def flush(self, seconds=PATIENCE):
        if left := self.producer.flush(seconds):
            raise TimeoutError(f"{left} commands are not confirmed after {seconds} s")


class Reader:
    """Reads topics from their beginning, committed records only, in no group."""

    def __init__(self, addresses, topics):
        self.consumer = Consumer({
            "bootstrap.servers": addresses,
            "group.id": "reader",  # librdkafka wants one; it joins none
            "isolation.level": "read_committed",
            "enable.auto.commit": False,
            "enable.partition.eof": True,
            "auto.offset.reset": "earliest",
            "fetch.wait.max.ms": 20,
            "log_level": 2,
        })  # fmt: skip
        self.close = self.consumer.close
        metadata = self.consumer.list_topics(timeout=60).topics
        places = [(topic, number) for topic in topics for number in metadata[topic].partitions]
        self.unended = set(places)
        self.consumer.assign([TopicPartition(*place, OFFSET_BEGINNING) for place in places])

    def read(self, seconds=0.2, atMost=10_000):
        """What has come."""
        found = []
        for message in self.consumer.consume(atMost, seconds):
            error = message.error()
            if error is None:
                found.append(message)
            elif error.code() == KafkaError._PARTITION_EOF:
                self.unended.discard((message.topic(), message.partition()))
            elif error.fatal():  # what brokers that are away cause is over when they are back
                raise KafkaException(error)
        return found


def everything(addresses, topic):
    """All committed records of a topic."""
    until = time.monotonic() + PATIENCE
    with contextlib.closing(Reader(addresses, [topic])) as reader:
        while reader.unended:
            yield from reader.read()
            if time.monotonic() > until:
                raise TimeoutError(f"the end of {topic} was not reached in {PATIENCE} s")


def first(addresses, topic, number, seconds=60):
    """The first so many records of a topic, and what comes just after them."""
    found = []
    with contextlib.closing(Reader(addresses, [topic])) as reader:
        waitUntil(lambda: found.extend(reader.read()) or len(found) >= number, seconds,
                  f"there are no {number} records in {topic}")  # fmt: skip
        return found + reader.read(0.5)


def header(message, name):
    """Its text; None where there is none."""
    value = dict(message.headers() or ()).get(name)
    return value and value.decode()
