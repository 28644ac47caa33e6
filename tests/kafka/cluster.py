"""Brokers of Kafka on this machine: fetched as jars, started, paused, killed, and ended.

A cluster has one broker or three, each also a controller (KRaft). All listen on 127.0.0.1.
"""

import base64
import secrets
import shutil
from itertools import chain
from pathlib import Path

import jvm
from children import Child, freePorts, waitUntil
from confluent_kafka import KafkaException
from confluent_kafka.admin import AdminClient, NewTopic

JARS = Path(__file__).with_name("jars.txt")
START = 300  # seconds: several brokers on a busy machine take long


def finish(futures):
    """Returns when brokers have done all that they were asked for."""
    for future in futures.values():
        future.result(60)


class Cluster:
    """REQUIRES: 1 broker, or 3. Its data is below the folder, and is made anew."""

    def __init__(self, folder, jars, brokers=1, settings=()):
        self.folder, self.replication, self.settings = folder, brokers, dict(settings)
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        self.path = ":".join(jar for _, jar in jvm.fetchJars(jars, JARS))
        ports = freePorts(2 * brokers)
        self.ports, self.controllers = ports[:brokers], ports[brokers:]
        self.addresses = ",".join(f"127.0.0.1:{port}" for port in self.ports)
        self.id = base64.urlsafe_b64encode(secrets.token_bytes(16)).decode().rstrip("=")
        self.brokers = [self._broker(number) for number in range(brokers)]

    def _settings(self, number):
        voters = ",".join(f"{n + 1}@127.0.0.1:{p}" for n, p in enumerate(self.controllers))
        port, controller = self.ports[number], self.controllers[number]
        inSync = 2 if self.replication == 3 else 1
        return {
            "process.roles": "broker,controller",
            "node.id": number + 1,
            "controller.quorum.voters": voters,
            "controller.listener.names": "CONTROLLER",
            "listeners": f"PLAINTEXT://127.0.0.1:{port},CONTROLLER://127.0.0.1:{controller}",
            "advertised.listeners": f"PLAINTEXT://127.0.0.1:{port}",
            "log.dirs": self.folder / f"broker-{number + 1}",
            "default.replication.factor": self.replication,
            "min.insync.replicas": inSync,
            "offsets.topic.replication.factor": self.replication,
            "transaction.state.log.replication.factor": self.replication,
            "transaction.state.log.min.isr": inSync,
            # Few, so that starting takes little; more would only help more brokers.
            "offsets.topic.num.partitions": 6,
            "transaction.state.log.num.partitions": 6,
            "group.initial.rebalance.delay.ms": 0,
            "broker.session.timeout.ms": 6_000,
            "auto.create.topics.enable": "false",
        } | self.settings

    def _java(self, log):
        return ["java", "-Xmx512m", "-XX:+ExitOnOutOfMemoryError", "-Djava.awt.headless=true",
                f"-Dorg.slf4j.simpleLogger.defaultLogLevel={log}",
                "-Dorg.slf4j.simpleLogger.showDateTime=true",
                "-Dorg.slf4j.simpleLogger.dateTimeFormat=HH:mm:ss.SSS", "-cp", self.path]

    def _broker(self, number):
        file = self.folder / f"broker-{number + 1}.properties"
        settings = self._settings(number)
        file.write_text("".join(f"{name}={value}\n" for name, value in settings.items()))
        return Child(f"broker {number + 1}", [*self._java("warn"), "kafka.Kafka", file],
                     self.folder / f"broker-{number + 1}.log")  # fmt: skip

    def start(self):
        """Returns when all brokers answer."""
        for broker in self.brokers:
            command = [*self._java("error"), "kafka.tools.StorageTool", "format",
                       f"--cluster-id={self.id}",  # which may begin with a dash
                       "-c", broker.command[-1]]  # fmt: skip
            tool = Child(f"{broker.name}'s storage", command, broker.log)
            tool.start()
            if tool.process.wait(START) != 0:
                raise RuntimeError(f"{tool.name} could not be formatted:\n{tool.endOfLog()}")
        for broker in self.brokers:
            broker.start()
        self.wait()
        self.admin = AdminClient({"bootstrap.servers": self.addresses, "log_level": 0})

    def wait(self):
        """Returns when each broker answers, and knows of all."""
        for broker, port in zip(self.brokers, self.ports):
            waitUntil(lambda: not broker.isRunning or (known := self.metadata(port))
                      and len(known.brokers) == len(self.brokers), START,
                      f"{broker.name} does not answer")  # fmt: skip
            if not broker.isRunning:
                raise RuntimeError(f"{broker.name} has ended:\n{broker.endOfLog()}")

    def metadata(self, port):
        """What one broker knows; None where it does not answer."""
        admin = AdminClient({"bootstrap.servers": f"127.0.0.1:{port}", "log_level": 0})
        try:
            return admin.list_topics(timeout=1)
        except KafkaException:
            return None

    def partitions(self, port):
        """All that one broker knows; none where it does not answer."""
        metadata = self.metadata(port)
        topics = metadata.topics.values() if metadata else ()
        return [partition for topic in topics for partition in topic.partitions.values()]

    def isInStep(self):
        """Whether each broker says that all have what the others have."""
        known = [self.partitions(port) for port in self.ports]
        return all(known) and all(len(each.isrs) == self.replication for each in chain(*known))

    def isLeader(self, broker):
        """Whether another broker takes it for the leader of anything, or none answers."""
        number = self.brokers.index(broker) + 1
        for other, port in zip(self.brokers, self.ports):
            if other is not broker and (known := self.partitions(port)):
                return any(partition.leader == number for partition in known)
        return True

    def _knows(self, port, name):
        """Whether this broker does, and can lead to it."""
        metadata = self.metadata(port)
        topic = metadata and metadata.topics.get(name)
        return topic and not topic.error and all(p.leader >= 0 for p in topic.partitions.values())

    def awaitTopics(self, *names):
        """The controller says yes before all brokers know them."""
        waitUntil(lambda: all(self._knows(port, name) for port in self.ports for name in names),
                  120, f"not all brokers know {names}")  # fmt: skip

    def createTopic(self, name, partitions, **settings):
        config = {key.replace("_", "."): str(value) for key, value in settings.items()}
        finish(self.admin.create_topics(
            [NewTopic(name, partitions, self.replication, config=config)]))  # fmt: skip
        self.awaitTopics(name)
