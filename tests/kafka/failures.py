"""What timingwheel-kafka does when something fails: a broker, workers, and one mistake at a time.

    failures.py <timingwheel-kafka> <folder> [Failures.test... Disk.test...]

docs/beyond.md has the table of failures, and names these tests. Where none is named,
TIMINGWHEEL_ONE_IN=2 runs half of them: others for each TIMINGWHEEL_EXPLORE_FROM.
"""

import collections
import contextlib
import os
import re
import shutil
import socket
import struct
import subprocess
import sys
import threading
import time
import unittest
import urllib.request
import zlib
from pathlib import Path

from children import Child, allEnded, freePorts, waitUntil
from cluster import Cluster
from confluent_kafka import Consumer, KafkaException, Producer, TopicPartition
from confluent_kafka.admin import (
    AclBinding,
    AclBindingFilter,
    AclOperation,
    AclPermissionType,
    AdminClient,
    ConfigResource,
    NewPartitions,
    ResourcePatternType,
    ResourceType,
)

HERE = Path(__file__).resolve().parent
PAGE = HERE.parents[1] / "docs" / "beyond.md"
RESHARD = PAGE.with_suffix("") / "reshard.py"
SOON = 60  # seconds, for what must happen
PARTITIONS = 2
PROGRAM = WORK = None


def now():
    return int(time.time() * 1000)


class Proxy:
    """Stands before a broker. Once armed, it lets a transaction fail at the worst moment: a batch
    for the topic is written, and its answer swallowed; before the batch is sent again, the answer
    that adds the group's offsets to the transaction becomes an error."""

    PRODUCE, LIST_OFFSETS, ADD_OFFSETS = 0, 2, 25
    GROUP_AUTHORIZATION_FAILED = struct.pack(">h", 30)  # the client may abort, and go on

    def __init__(self, brokerPort):
        self.brokerPort, self.topic = brokerPort, None
        self.asked = collections.Counter()  # by their kinds, requests
        self.isCut = threading.Event()
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        threading.Thread(target=self.accept, daemon=True).start()

    def arm(self, topic):
        # With its length: headers of other topics' records name it, too.
        self.topic = struct.pack(">h", len(topic)) + topic.encode()

    def accept(self):
        while True:
            client, _ = self.listener.accept()
            try:
                broker = socket.create_connection(("127.0.0.1", self.brokerPort))
            except OSError:
                client.close()
                continue
            special = {}  # by their numbers, what is asked
            for way in ((client, broker, special, True), (broker, client, special, False)):
                threading.Thread(target=self.pump, args=way, daemon=True).start()

    def pump(self, source, to, special, isOfClient):
        try:
            with source, to, source.makefile("rb") as stream:
                while len(size := stream.read(4)) == 4:
                    data = stream.read(struct.unpack(">i", size)[0])
                    if isOfClient:
                        self.look(data, special)
                    elif (kind := special.pop(data[:4], None)) == self.PRODUCE:
                        self.isCut.set()
                        break
                    elif kind == self.ADD_OFFSETS:
                        threading.Thread(target=self.refuse, args=(to, size, data)).start()
                        continue
                    to.sendall(size + data)
        except OSError:
            pass
        finally:
            for end in (source, to):
                with contextlib.suppress(OSError):
                    end.shutdown(socket.SHUT_RDWR)

    def look(self, data, special):
        kind = struct.unpack(">h", data[:2])[0]
        self.asked[kind] += 1
        if self.topic and not self.isCut.is_set() and (
            kind == self.ADD_OFFSETS or kind == self.PRODUCE and self.topic in data
        ):  # fmt: skip
            special[data[4:8]] = kind

    def refuse(self, to, size, data):
        self.isCut.wait(SOON)
        # The client notes the cut, and does not send again yet. A worker that is right is so
        # whatever comes first.
        time.sleep(0.3)
        with contextlib.suppress(OSError):
            to.sendall(size + data[:8] + self.GROUP_AUTHORIZATION_FAILED + data[10:])


class Guarded(Cluster):
    """A broker that heeds who may do what. By another port it asks for a name and a password, and
    by a third it is behind a proxy."""

    def _settings(self, number):
        settings = super()._settings(number)
        self.namedPort, behind = freePorts(2)
        self.proxy = Proxy(behind)
        for name, port in (("listeners", behind), ("advertised.listeners", self.proxy.port)):
            settings[name] += f",NAMED://127.0.0.1:{self.namedPort},BEHIND://127.0.0.1:{port}"
        return settings | {
            "listener.security.protocol.map":
                "PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT,NAMED:SASL_PLAINTEXT,BEHIND:PLAINTEXT",
            "listener.name.named.sasl.enabled.mechanisms": "PLAIN",
            "listener.name.named.plain.sasl.jaas.config":
                "org.apache.kafka.common.security.plain.PlainLoginModule required "
                'user_worker="secret";',
            "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
            "allow.everyone.if.no.acl.found": "true",
        }  # fmt: skip


class World:
    """Topics of one test's own, its workers, and a user of them."""

    def __init__(self, cluster, name):
        self.cluster, self.name, self.group = cluster, name, name
        self.folder = WORK / "failures" / name
        shutil.rmtree(self.folder, ignore_errors=True)
        self.topics = {part: f"{name}.{part}" for part in
                       ("commands", "state", "dead-letters", "replies", "target")}  # fmt: skip
        self.producer = Producer({"bootstrap.servers": cluster.addresses, "log_level": 0,
                                  "partitioner": "murmur2_random", "enable.idempotence": True})
        cluster.createTopic(self.topics["target"], PARTITIONS)
        self.workers = []

    def worker(self, *options, create=True, brokers=None, session=6_000):
        """Starts one more."""
        number = len(self.workers)
        port = freePorts(1)[0]
        command = [PROGRAM, "--brokers", brokers or self.cluster.addresses, "--group", self.group,
                   "--session-timeout-ms", session, "--transaction-timeout-ms", "5000",
                   "--metrics", f"127.0.0.1:{port}"]  # fmt: skip
        for part in ("commands", "state", "dead-letters", "replies"):
            command += [f"--{part}", self.topics[part]]
        if create:
            command += ["--create-topics", PARTITIONS, "--replication", self.cluster.replication]
        worker = Child(f"worker {number}", [*command, *options], self.folder / f"worker-{number}")
        worker.metricsPort = port
        worker.start()
        self.workers.append(worker)
        return worker

    def ready(self, *options):
        """A worker that has taken all partitions over."""
        worker = self.worker(*options)
        self.awaitLog(worker, "taken over", PARTITIONS)
        return worker

    def log(self, worker):
        return worker.log.read_text() if worker.log.exists() else ""

    def awaitLog(self, worker, words, times=1):
        waitUntil(lambda: self.log(worker).count(words) >= times, SOON,
                  f"{worker.name} does not say {words!r}:\n{worker.endOfLog()}")  # fmt: skip

    def samples(self, worker, name):
        with urllib.request.urlopen(f"http://127.0.0.1:{worker.metricsPort}/metrics") as answer:
            found = re.findall(rf"^timingwheel_{name}(?:{{.*}})? (\S+)$", answer.read().decode(),
                               re.M)  # fmt: skip
        return list(map(float, found))

    def metric(self, worker, name):
        return sum(self.samples(worker, name))

    def fires(self, worker, alert):
        """Whether what a rule of docs/beyond.md asks is so now, of any partition. A total was 0."""
        ((name, sign, bound),) = re.findall(
            rf"alert: {alert}, expr: '?(?:increase\()?timingwheel_(\w+)(?:\[\w+\]\))?"
            r" (==|>) (\d+)", PAGE.read_text())  # fmt: skip
        is_ = {"==": float.__eq__, ">": float.__gt__}[sign]
        return any(is_(sample, float(bound)) for sample in self.samples(worker, name))

    def awaitAlert(self, worker, alert, fires=True):
        waitUntil(lambda: self.fires(worker, alert) == fires, SOON,
                  f"{alert} {'does not fire' if fires else 'fires'}")  # fmt: skip

    def command(self, kind, key, at=None, to="target", value=b"payload", partition=-1, **headers):
        """Produces one. Headers of the user's come by name."""
        own = [("timingwheel-command", kind), ("timingwheel-reply", "asked")]
        if at is not None:
            own.append(("timingwheel-at", str(at)))
        if kind == "schedule":
            own.append(("timingwheel-to", self.topics.get(to, to)))
        self.raw(key, value, [*own, *headers.items()], partition)

    def schedule(self, ids, at, to="target", value=b"payload"):
        """Produces many."""
        for key in ids:
            self.producer.produce(self.topics["commands"], key=key, value=value, headers=[
                ("timingwheel-command", "schedule"), ("timingwheel-at", str(at)),
                ("timingwheel-to", self.topics.get(to, to))])
            self.producer.poll(0)
        self.producer.flush()

    def raw(self, key, value, headers, partition=-1):
        self.producer.produce(self.topics["commands"], key=key, value=value, headers=headers,
                              partition=partition)  # fmt: skip
        self.producer.flush()

    def read(self, part, isolation="read_committed"):
        """All that is in a topic now, as a list of (key, value, headers, time)."""
        consumer = Consumer({"bootstrap.servers": self.cluster.addresses, "group.id": "reader",
                             "isolation.level": isolation, "enable.partition.eof": True,
                             "log_level": 0})
        topic = self.topics[part]
        partitions = consumer.list_topics(topic, timeout=20).topics[topic].partitions
        consumer.assign([TopicPartition(topic, number, 0) for number in partitions])
        found, ended, until = [], set(), time.monotonic() + SOON
        while len(ended) < len(partitions) and time.monotonic() < until:
            message = consumer.poll(1)
            if message is None:
                continue
            if message.error():
                ended.add(message.partition())
                continue
            ended.discard(message.partition())
            headers = {name: value and value.decode() for name, value in message.headers() or []}
            key = message.key() and message.key().decode()
            found.append((key, message.value(), headers, message.timestamp()[1]))
        consumer.close()
        return found

    def await_(self, part, count):
        """The records of a topic, once there are so many; and no more come."""
        waitUntil(lambda: len(self.read(part)) >= count, SOON,
                  f"{part}: {len(self.read(part))} of {count} records")  # fmt: skip
        time.sleep(0.5)
        return self.read(part)

    def outcomes(self, count):
        return [headers["timingwheel-outcome"] for _, _, headers, _ in
                self.await_("replies", count)]  # fmt: skip


class Failures(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.cluster = Guarded(WORK / "failures/cluster", WORK / "jars")
        cls.cluster.start()

    @classmethod
    def tearDownClass(cls):
        for broker in cls.cluster.brokers:
            broker.kill()

    def setUp(self):
        name = re.sub("^test", "", self._testMethodName)
        self.world = World(self.cluster, name)

    def tearDown(self):
        for worker in self.world.workers:
            worker.kill()

    def assertDelivered(self, ids):
        """Each once, none before its time."""
        delivered = self.world.await_("target", len(ids))
        self.assertEqual(sorted(headers["timingwheel-id"] for _, _, headers, _ in delivered),
                         sorted(ids))  # fmt: skip
        for _, _, headers, written in delivered:
            self.assertGreaterEqual(written, int(headers["timingwheel-at"]))

    # -- nothing fails

    def testNothing(self):
        world = self.world
        worker = world.ready()
        at = now() + 1500
        world.command("schedule", "a", at, colour="red")
        world.command("schedule", "b", at, value=None)
        world.command("push-back", "b", at + 500)
        world.command("schedule", "c", at)
        world.command("cancel", "c")
        world.command("cancel", "nobody")
        self.assertDelivered(["a", "b"])
        records = {key: (value, headers) for key, value, headers, _ in world.read("target")}
        self.assertEqual(records["a"][0], b"payload")
        self.assertEqual(records["a"][1]["colour"], "red")
        self.assertEqual(records["a"][1]["timingwheel-at"], str(at))
        self.assertIsNone(records["b"][0])
        self.assertEqual(sorted(world.outcomes(6)), ["cancelled", "pushed-back", "scheduled",
                                                     "scheduled", "scheduled", "too-late"])
        self.assertEqual(world.metric(worker, "delivered_total"), 2)
        self.assertEqual(world.metric(worker, "pending"), 0)
        self.assertEqual(worker.stop(), 0)

    # -- workers

    def testAWorkerIsKilled(self):
        world = self.world
        first, ids = world.ready(), [f"t{i}" for i in range(2_000)]
        for number, key in enumerate(ids):
            world.producer.produce(world.topics["commands"], key=key, value=b"", headers=[
                ("timingwheel-command", "schedule"), ("timingwheel-to", world.topics["target"]),
                ("timingwheel-at", str(now() + number % 4_000))])
        world.producer.flush()
        waitUntil(lambda: world.metric(first, "delivered_total") > 0, SOON, "nothing delivered")
        first.kill()
        world.worker()
        self.assertDelivered(ids)

    def testAWorkerIsPaused(self):
        world = self.world
        first = world.ready()
        for i in range(20):
            world.command("schedule", f"t{i}", now() + 4_000)
        first.pause()
        second = world.worker()
        world.awaitLog(second, "taken over", PARTITIONS)
        waitUntil(lambda: world.metric(second, "delivered_total") == 20, SOON, "not delivered")
        first.resume()  # it believes that it owns them, and that they are due
        world.awaitLog(first, "lost")
        self.assertDelivered([f"t{i}" for i in range(20)])

    def testAWorkerIsStopped(self):
        world = self.world
        first = world.ready()
        second = world.worker()
        world.awaitLog(second, "taken over")
        for i in range(20):
            world.command("schedule", f"t{i}", now() + 3_000)
        self.assertEqual(first.stop(), 0)
        world.awaitLog(second, "taken over", PARTITIONS)
        self.assertDelivered([f"t{i}" for i in range(20)])

    # -- brokers

    @contextlib.contextmanager
    def brokerIsKilled(self):
        (broker,) = self.cluster.brokers
        broker.kill()
        try:
            yield
        finally:
            broker.start()
            self.cluster.wait()

    def testABrokerIsKilled(self):
        world = self.world
        worker = world.ready()
        for i in range(20):
            world.command("schedule", f"t{i}", now() + 2_000)
        waitUntil(lambda: len(world.read("replies")) == 20, SOON, "not taken in")
        with self.brokerIsKilled():
            world.awaitAlert(worker, "TimersAreOverdue")
            world.awaitAlert(worker, "PartitionStandsStill")
        self.assertDelivered([f"t{i}" for i in range(20)])
        self.awaitReady(worker)
        world.awaitAlert(worker, "TimersAreOverdue", False)

    def awaitReady(self, worker):
        waitUntil(lambda: self.world.metric(worker, "ready") == PARTITIONS, SOON, "it is not ready")

    def checkReadiness(self, session, words=""):
        """Of a worker that has nothing to do, while a broker is away."""
        world = self.world
        worker = world.worker(session=session)
        world.awaitLog(worker, "taken over", PARTITIONS)
        self.awaitReady(worker)
        with self.brokerIsKilled():
            world.awaitLog(worker, words)
            world.awaitAlert(worker, "PartitionStandsStill")
        self.awaitReady(worker)

    def testABrokerIsKilledWhileNothingIsDue(self):
        self.checkReadiness(session=600_000)

    def testABrokerIsKilledAndPartitionsAreLost(self):
        self.checkReadiness(6_000, "lost: partition")

    def testATransactionFailsWhoseBatchIsWritten(self):
        """A broker must not take what is sent anew for what was aborted."""
        world = self.world
        proxy = self.cluster.proxy
        worker = world.worker("--librdkafka", "retry.backoff.ms=1000",
                              brokers=f"127.0.0.1:{proxy.port}")  # fmt: skip
        world.awaitLog(worker, "taken over", PARTITIONS)
        world.command("schedule", "a", now())
        self.assertDelivered(["a"])
        proxy.arm(world.topics["target"])
        world.command("schedule", "a", now())  # taken in and delivered by one transaction
        waitUntil(lambda: world.metric(worker, "delivered_total") == 2, SOON, "not delivered")
        self.assertTrue(proxy.isCut.is_set())
        self.assertGreater(world.metric(worker, "aborted_transactions_total"), 0)
        self.assertDelivered(["a", "a"])

    def testNoBrokerIsThere(self):
        worker = self.world.worker(brokers="127.0.0.1:1", create=False)
        self.assertEqual(worker.process.wait(SOON), 1)
        self.assertIn("to ask 127.0.0.1:1 for the topics", self.world.log(worker))

    # -- commands

    def testACommandIsMalformed(self):
        world = self.world
        world.ready()
        world.raw(None, b"x", [])
        world.raw("a", b"x", [("timingwheel-command", "explode")])
        world.command("schedule", "b", "soon")
        world.command("schedule", "c", now(), to="no such topic")
        world.command("schedule", "d", now(), to="nowhere")
        world.command("schedule", "e", now(), to="commands")
        world.command("schedule", "f", now() + 4_000 * 86_400_000)
        world.command("schedule", "g", now() // 1000)
        world.command("schedule", "good", now())
        self.assertDelivered(["good"])
        letters = world.await_("dead-letters", 8)
        reasons = " ".join(headers["timingwheel-reason"] for _, _, headers, _ in letters)
        for part in ("the key is empty", '"explode"', '"soon"', '"no such topic"',
                     "nowhere: there is no such topic", "a topic of the timers' own",
                     "the latest is", "the earliest is"):  # fmt: skip
            self.assertIn(part, reasons)

    def testACommandIsInAnotherPartition(self):
        world = self.world
        world.ready()
        for partition in range(PARTITIONS):
            world.command("schedule", "a", now(), partition=partition)
        self.assertDelivered(["a"])
        (letter,) = world.await_("dead-letters", 1)
        self.assertIn("murmur2", letter[2]["timingwheel-reason"])

    def testAnIdIsScheduledAgain(self):
        world = self.world
        world.ready()
        world.command("schedule", "a", now())
        self.assertDelivered(["a"])
        world.command("schedule", "a", now() + 60_000)
        world.command("schedule", "a", now() + 500)
        self.assertDelivered(["a", "a"])
        self.assertEqual(world.outcomes(3), ["scheduled", "scheduled", "replaced"])

    def testATimeIsLongPast(self):
        world = self.world
        world.ready()
        world.command("schedule", "a", now() - 3_650 * 86_400_000)
        self.assertDelivered(["a"])

    def testAUsersTransactionStaysOpen(self):
        world = self.world
        worker = world.ready()
        user = Producer({"bootstrap.servers": self.cluster.addresses,
                         "partitioner": "murmur2_random", "transactional.id": world.name + "-user"})
        user.init_transactions()
        user.begin_transaction()
        headers = [("timingwheel-command", "schedule"), ("timingwheel-at", str(now())),
                   ("timingwheel-to", world.topics["target"])]
        for _ in range(1_000):
            user.produce(world.topics["commands"], key="a", headers=headers)
        user.flush()
        world.command("schedule", "a", now())  # behind it
        world.awaitAlert(worker, "CommandsWait")
        self.assertEqual(world.read("target"), [])
        user.abort_transaction()
        self.assertDelivered(["a"])
        world.awaitAlert(worker, "CommandsWait", False)

    def testAUsersTransactionsCostNoRequests(self):
        """Their ends are offsets without a command."""
        world, proxy = self.world, self.cluster.proxy
        worker = world.worker(brokers=f"127.0.0.1:{proxy.port}")
        world.awaitLog(worker, "taken over", PARTITIONS)
        user = Producer({"bootstrap.servers": self.cluster.addresses,
                         "partitioner": "murmur2_random", "transactional.id": world.name + "-user"})
        user.init_transactions()
        ids = [f"t{i}" for i in range(10)]
        for key in ids:
            user.begin_transaction()
            user.produce(world.topics["commands"], key=key, headers=[
                ("timingwheel-command", "schedule"), ("timingwheel-at", str(now())),
                ("timingwheel-to", world.topics["target"])])
            user.commit_transaction()
            if key == ids[0]:
                self.assertDelivered(ids[:1])
                asked = proxy.asked[proxy.LIST_OFFSETS]
                self.assertGreater(asked, 0)
        self.assertDelivered(ids)
        world.awaitAlert(worker, "CommandsWait", False)
        self.assertEqual(proxy.asked[proxy.LIST_OFFSETS], asked)
        self.assertEqual(world.metric(worker, "lost_commands_total"), 0)

    # -- deliveries

    def testADeliveryIsTooLarge(self):
        world = self.world
        self.cluster.createTopic(world.name + ".small", 1, max_message_bytes=2_000)
        world.ready()
        # So many that their transaction fails while it is still being written.
        at, ids = now() + 5_000, [f"t{i}" for i in range(20_000)]
        world.command("schedule", "large", at, to=world.name + ".small", value=b"x" * 10_000)
        world.schedule(ids, at)
        self.assertDelivered(ids)
        (letter,) = world.await_("dead-letters", 1)
        self.assertEqual((letter[0], letter[1]), ("large", b"x" * 10_000))
        self.assertIn("too large", letter[2]["timingwheel-reason"].lower())

    def testABatchIsTooLarge(self):
        """A broker refuses a batch of records for the sum of them, or for one of them."""
        world = self.world
        target = world.topics["narrow"] = world.name + ".narrow"
        self.cluster.createTopic(target, 1, max_message_bytes=20_000)
        world.ready()
        together, beside = [f"t{i}" for i in range(200)], [f"s{i}" for i in range(20)]
        world.schedule(together, now() + 3_000, to="narrow", value=b"x" * 1_000)
        world.await_("narrow", len(together))
        self.assertEqual(world.read("dead-letters"), [])
        at = now() + 3_000
        world.schedule(beside[:10], at, to="narrow", value=b"x")
        world.schedule(["large"], at, to="narrow", value=b"x" * 30_000)
        world.schedule(beside[10:], at, to="narrow", value=b"x")
        delivered = world.await_("narrow", len(together) + len(beside))
        self.assertEqual(sorted(key for key, *_ in delivered), sorted(together + beside))
        (letter,) = world.await_("dead-letters", 1)
        self.assertEqual((letter[0], letter[1]), ("large", b"x" * 30_000))

    def testADeadLetterIsTooLarge(self):
        world = self.world
        self.cluster.createTopic(world.topics["dead-letters"], 1, max_message_bytes=5_000)
        self.cluster.createTopic(world.name + ".small", 1, max_message_bytes=2_000)
        world.ready()
        at, ids = now() + 2_000, [f"t{i}" for i in range(20)]
        world.schedule(["large"], at, to=world.name + ".small", value=b"x" * 10_000)
        world.schedule(["medium"], at, to=world.name + ".small", value=b"x" * 3_000)
        world.schedule(ids, at)
        self.assertDelivered(ids)
        letters = {key: value for key, value, *_ in world.await_("dead-letters", 2)}
        self.assertEqual(letters, {"large": None, "medium": b"x" * 3_000})

    def testTheDeadLettersAreGone(self):
        """What should go there is not dropped, and its offset not committed."""
        world = self.world
        worker, topic = world.ready(), world.topics["dead-letters"]
        admin = AdminClient({"bootstrap.servers": self.cluster.addresses})
        admin.delete_topics([topic])[topic].result(20)
        world.command("schedule", "a", "soon")
        world.awaitLog(worker, "begins anew: the state and the dead letters must be written")
        self.cluster.createTopic(topic, 1)
        (letter,) = world.await_("dead-letters", 1)
        self.assertIn('"soon"', letter[2]["timingwheel-reason"])

    def testACommandIsTooLargeForTheState(self):
        world = self.world
        self.cluster.createTopic(world.topics["state"], PARTITIONS, cleanup_policy="compact",
                                 max_message_bytes=5_000)  # fmt: skip
        worker = world.ready()
        at, ids = now() + 6_000, [f"t{i}" for i in range(20)]
        world.command("schedule", "a", at)
        waitUntil(lambda: world.metric(worker, "pending") == 1, SOON, "not taken in")
        world.schedule(ids[:10], at)
        world.command("schedule", "a", at + 60_000, value=b"x" * 20_000)
        world.schedule(ids[10:], at)
        self.assertDelivered(["a", *ids])
        self.assertEqual(world.outcomes(2), ["scheduled", "refused"])
        (letter,) = world.await_("dead-letters", 1)
        self.assertEqual((letter[0], letter[1]), ("a", b"x" * 20_000))
        self.assertIn("too large", letter[2]["timingwheel-reason"].lower())

    def testATargetIsNew(self):
        """Made after somebody has named another that is not there, and used at once."""
        world = self.world
        world.ready()
        targets = [world.name + f".new{i}" for i in range(10)]
        for number, target in enumerate(targets):
            world.command("schedule", f"nowhere{number}", now(), to="nowhere")
            self.cluster.createTopic(target, 1)
            waitUntil(lambda name=target: name in world.producer.list_topics(timeout=20).topics,
                      SOON, "the broker does not know the topic")  # fmt: skip
            world.command("schedule", f"t{number}", now(), to=target)
        letters = world.await_("dead-letters", len(targets))
        self.assertEqual({headers["timingwheel-to"] for _, _, headers, _ in letters}, {"nowhere"})
        self.assertEqual(world.outcomes(2 * len(targets)).count("scheduled"), len(targets))

    def testATargetIsRemoved(self):
        world = self.world
        self.cluster.createTopic(world.name + ".brief", 1)
        worker = world.ready()
        at = now() + 3_000
        world.command("schedule", "lost", at, to=world.name + ".brief")
        for i in range(20):
            world.command("schedule", f"t{i}", at)
        waitUntil(lambda: world.metric(worker, "pending") == 21, SOON, "not taken in")
        admin = AdminClient({"bootstrap.servers": self.cluster.addresses})
        admin.delete_topics([world.name + ".brief"])[world.name + ".brief"].result(20)
        self.assertDelivered([f"t{i}" for i in range(20)])
        (letter,) = world.await_("dead-letters", 1)
        self.assertEqual(letter[0], "lost")

    def testATargetIsRemovedAfterADelivery(self):
        """The worker's client knows the topic, and goes on to ask for its leader."""
        world = self.world
        brief = world.topics["brief"] = world.name + ".brief"
        self.cluster.createTopic(brief, 1)
        worker = world.ready()
        world.schedule(["first"], now(), to="brief")
        world.await_("brief", 1)
        at = now() + 3_000
        world.schedule(["lost"], at, to="brief")
        world.schedule([f"t{i}" for i in range(20)], at)
        waitUntil(lambda: world.metric(worker, "pending") == 21, SOON, "not taken in")
        admin = AdminClient({"bootstrap.servers": self.cluster.addresses})
        admin.delete_topics([brief])[brief].result(20)
        self.assertDelivered([f"t{i}" for i in range(20)])
        (letter,) = world.await_("dead-letters", 1)
        self.assertEqual(letter[0], "lost")

    def testAWorkerMayNotWrite(self):
        world = self.world
        self.cluster.createTopic(world.name + ".closed", 1)
        deny = AclBinding(ResourceType.TOPIC, world.name + ".closed", ResourcePatternType.LITERAL,
                          "User:ANONYMOUS", "*", AclOperation.WRITE, AclPermissionType.DENY)
        see = AclBinding(ResourceType.TOPIC, world.name + ".closed", ResourcePatternType.LITERAL,
                         "User:*", "*", AclOperation.DESCRIBE, AclPermissionType.ALLOW)
        admin = AdminClient({"bootstrap.servers": self.cluster.addresses})
        for done in admin.create_acls([deny, see]).values():
            done.result(20)
        world.ready()
        # So many that their transaction fails while it is still being written.
        at, ids = now() + 5_000, [f"t{i}" for i in range(20_000)]
        world.command("schedule", "refused", at, to=world.name + ".closed")
        world.schedule(ids, at)
        self.assertDelivered(ids)
        (letter,) = world.await_("dead-letters", 1)
        self.assertEqual(letter[0], "refused")
        self.assertIn("authorization failed", letter[2]["timingwheel-reason"].lower())

    # -- topics

    def assertRefused(self, worker, words):
        self.assertEqual(worker.process.wait(SOON), 1)
        self.assertIn(words, self.world.log(worker))

    def testATopicIsMissing(self):
        worker = self.world.worker(create=False)
        self.assertRefused(worker, "is not there")
        self.assertIn("--create-topics", self.world.log(worker))

    def testTheStateIsNotCompacted(self):
        self.cluster.createTopic(self.world.topics["state"], PARTITIONS)
        self.assertRefused(self.world.worker(), "cleanup.policy is delete: it must be compact")

    def testTombstonesAreRemovedTooSoon(self):
        self.cluster.createTopic(self.world.topics["state"], PARTITIONS, cleanup_policy="compact",
                                 delete_retention_ms=1000)  # fmt: skip
        self.assertRefused(self.world.worker(), "delete.retention.ms is 1000: it must be an hour")

    def testTheCommandsAreCompacted(self):
        self.cluster.createTopic(self.world.topics["commands"], PARTITIONS,
                                 cleanup_policy="compact")  # fmt: skip
        self.assertRefused(self.world.worker(), "cleanup.policy is compact: it must be delete")

    def testTheTopicsHaveOtherNumbersOfPartitions(self):
        self.cluster.createTopic(self.world.topics["commands"], PARTITIONS + 1)
        self.assertRefused(self.world.worker(), "they must have as many")

    def testTheNumberOfPartitionsIsChanged(self):
        world = self.world
        first = world.ready()
        for i in range(20):
            world.command("schedule", f"t{i}", now() + 600_000)
        waitUntil(lambda: world.metric(first, "pending") == 20, SOON, "not taken in")
        first.stop()
        # An offset that was set by hand does not say by how many partitions it was.
        user = Consumer({"bootstrap.servers": self.cluster.addresses, "group.id": world.group})
        places = [TopicPartition(world.topics["commands"], number) for number in range(PARTITIONS)]
        user.commit(offsets=[TopicPartition(place.topic, place.partition, place.offset)
                             for place in user.committed(places, 20)], asynchronous=False)
        user.close()
        self.addPartitions(PARTITIONS + 1, "commands", "state")
        world.awaitLog(world.worker(), "the number of partitions was changed: a timer is in")

    def testRetentionRemovesCommands(self):
        world = self.world
        first = world.ready()
        for i in range(20):
            world.command("schedule", f"before{i}", now() + 600_000)
        waitUntil(lambda: world.metric(first, "pending") == 20, SOON, "not taken in")
        first.stop()
        for i in range(20):
            world.command("schedule", f"lost{i}", now())
        admin = AdminClient({"bootstrap.servers": self.cluster.addresses})
        ends = [TopicPartition(world.topics["commands"], i, -1) for i in range(PARTITIONS)]
        for done in admin.delete_records(ends).values():
            done.result(20)
        second = world.ready()
        self.assertIn("are lost: retention removed them unread", world.log(second))
        self.assertEqual(world.metric(second, "lost_commands_total"), 20)
        self.assertEqual(world.metric(second, "pending"), 20)
        world.command("schedule", "after", now())
        self.assertDelivered(["after"])

    def testRetentionRemovesCommandsOfAFullWorker(self):
        """The worker runs on, and its client leaps over what is not there any more."""
        world = self.world
        worker = world.ready("--memory-mb", "1", "--batch", "100")
        ids = [f"t{i}" for i in range(6_000)]
        world.schedule(ids, now() + 10_000, value=b"x" * 400)
        waitUntil(lambda: world.metric(worker, "memory_bytes") > 1e6, SOON, "memory is not full")
        admin = AdminClient({"bootstrap.servers": self.cluster.addresses})
        ends = [TopicPartition(world.topics["commands"], i, -1) for i in range(PARTITIONS)]
        for done in admin.delete_records(ends).values():
            done.result(20)
        for number in range(20):
            world.command("schedule", f"after{number}", now())
        waitUntil(lambda: world.metric(worker, "lost_commands_total") > 0, SOON, "none is lost")
        waitUntil(lambda: world.metric(worker, "commands_lag") == 0, SOON, "not taken in")
        lost = int(world.metric(worker, "lost_commands_total"))
        self.assertIn("are lost: retention removed them unread", world.log(worker))
        waitUntil(lambda: world.metric(worker, "delivered_total") == len(ids) + 20 - lost, SOON,
                  f"{lost} are lost, and more are not delivered")  # fmt: skip

    def testTheOffsetIsGone(self):
        world = self.world
        first = world.ready()
        world.command("schedule", "a", now() + 600_000)
        waitUntil(lambda: world.metric(first, "pending") == 1, SOON, "not taken in")
        first.stop()
        admin = AdminClient({"bootstrap.servers": self.cluster.addresses})
        admin.delete_consumer_groups([world.name])[world.name].result(20)
        second = world.worker()
        world.awaitLog(second, "has no offset in")
        world.awaitAlert(second, "TakeOversFail")
        world.awaitAlert(second, "PartitionStandsStill")

    # -- in the middle of something

    def openTransactions(self, topic):
        """Whether there are any."""
        ends = []
        for isolation in ("read_uncommitted", "read_committed"):
            reader = Consumer({"bootstrap.servers": self.cluster.addresses, "group.id": "reader",
                               "isolation.level": isolation, "log_level": 0})
            ends.append([reader.get_watermark_offsets(TopicPartition(topic, number), 20)[1]
                         for number in range(PARTITIONS)])  # fmt: skip
            reader.close()
        return ends[0] != ends[1]

    def testAWorkerIsPausedWithATransactionOpen(self):
        world = self.world
        first, begin, ids = world.ready(), now() + 6_000, [f"t{i}" for i in range(20_000)]
        for number, key in enumerate(ids):
            world.producer.produce(world.topics["commands"], key=key, value=b"x", headers=[
                ("timingwheel-command", "schedule"), ("timingwheel-to", world.topics["target"]),
                ("timingwheel-at", str(begin + number // 3))])
        world.producer.flush()
        waitUntil(lambda: world.metric(first, "delivered_total") > 0, SOON, "nothing delivered")
        first.pause()
        while not self.openTransactions(world.topics["target"]):
            self.assertLess(now(), begin + 6_000, "it is never in the middle of a transaction")
            first.resume()
            time.sleep(0.01)
            first.pause()
        second = world.worker()
        world.awaitLog(second, "taken over", PARTITIONS)
        first.resume()  # and goes on with its transaction
        world.awaitLog(first, "lost")
        self.assertDelivered(ids)

    def testTheClockIsSet(self):
        world = self.world
        worker, at = world.worker(), now() + 1_800_000
        worker.kill()
        library, isAhead = self.world.folder / "ahead.so", self.world.folder / "is-ahead"
        subprocess.run(["cc", "-shared", "-fPIC", "-o", library, HERE / "clock.c"], check=True)
        worker.environment = os.environ | {"LD_PRELOAD": str(library),
                                           "AN_HOUR_AHEAD_IF": str(isAhead)}  # fmt: skip
        worker.start()
        world.awaitLog(worker, "taken over", PARTITIONS)
        world.command("schedule", "a", at)
        waitUntil(lambda: world.metric(worker, "pending") == 1, SOON, "not taken in")
        isAhead.touch()
        ((key, *_),) = world.await_("target", 1)
        self.assertEqual(key, "a")
        isAhead.unlink()
        world.command("schedule", "b", now() + 3_000)
        world.command("schedule", "c", at)
        _, (key, _, headers, written) = world.await_("target", 2)
        self.assertEqual(key, "b")
        self.assertGreaterEqual(written, int(headers["timingwheel-at"]))
        self.assertEqual(world.metric(worker, "pending"), 1)

    # -- rights

    def acls(self, kind, name, operation):
        """That all may do all there, but workers not this."""
        def rule(user, what, permission):
            return AclBinding(kind, name, ResourcePatternType.LITERAL, user, "*", what, permission)

        return [rule("User:*", AclOperation.ALL, AclPermissionType.ALLOW),
                rule("User:ANONYMOUS", operation, AclPermissionType.DENY)]  # fmt: skip

    def checkRight(self, kind, names, operation, words):
        """A worker without it says so, and goes on when it has it. Nothing is lost meanwhile."""
        world = self.world
        before, meanwhile = ([f"{name}{i}" for i in range(8)] for name in ("before", "meanwhile"))
        worker, at = world.ready(), now() + 15_000  # they are in both partitions
        for key in before:
            world.command("schedule", key, at)
        waitUntil(lambda: world.metric(worker, "pending") == len(before), SOON, "not taken in")
        worker.stop()
        admin = AdminClient({"bootstrap.servers": self.cluster.addresses})
        for done in admin.create_acls([acl for name in names for acl in
                                       self.acls(kind, name, operation)]).values():  # fmt: skip
            done.result(20)
        worker = world.worker(create=False)
        for key in meanwhile:
            world.command("schedule", key, now())
        world.awaitLog(worker, words)
        time.sleep(1)
        self.assertTrue(worker.isRunning, self.world.log(worker))
        self.assertEqual(world.read("target"), [])
        filters = [AclBindingFilter(kind, name, ResourcePatternType.LITERAL, None, None,
                                    AclOperation.ANY, AclPermissionType.ANY)
                   for name in names]  # fmt: skip
        for done in admin.delete_acls(filters).values():
            done.result(20)
        self.assertDelivered(before + meanwhile)
        self.assertEqual(world.read("dead-letters"), [])

    def testAWorkerMayNotWriteTheState(self):
        self.checkRight(ResourceType.TOPIC, [self.world.topics["state"]], AclOperation.WRITE,
                        "Topic authorization failed")  # fmt: skip

    def testAWorkerMayNotReadTheState(self):
        self.checkRight(ResourceType.TOPIC, [self.world.topics["state"]], AclOperation.READ,
                        "Topic authorization failed")  # fmt: skip

    def testAWorkerMayNotReadTheCommands(self):
        self.checkRight(ResourceType.TOPIC, [self.world.topics["commands"]], AclOperation.READ,
                        "Topic authorization failed")  # fmt: skip

    def testAWorkerMayNotJoinTheGroup(self):
        self.checkRight(ResourceType.GROUP, [self.world.name], AclOperation.READ,
                        "Group authorization failed")  # fmt: skip

    def testAWorkerMayNotUseTransactions(self):
        ids = [f"{self.world.name}-{partition}" for partition in range(PARTITIONS)]
        self.checkRight(ResourceType.TRANSACTIONAL_ID, ids, AclOperation.WRITE,
                        "Transactional Id authorization failed")  # fmt: skip

    def testAWorkerMayNotSeeTheSettings(self):
        world = self.world
        world.ready().stop()
        admin = AdminClient({"bootstrap.servers": self.cluster.addresses})
        acls = self.acls(ResourceType.TOPIC, world.topics["state"], AclOperation.DESCRIBE_CONFIGS)
        for done in admin.create_acls(acls).values():
            done.result(20)
        self.assertRefused(world.worker(create=False), f"the settings of topic {world.name}.state")

    def testAWorkerHasNoMoreRightsThanItNeeds(self):
        # Those of docs/beyond.md's table.
        world, all_ = self.world, AclOperation.ALL
        see, settings = AclOperation.DESCRIBE, AclOperation.DESCRIBE_CONFIGS
        read, write = AclOperation.READ, AclOperation.WRITE
        rights = {(ResourceType.TOPIC, world.topics[part]): operations for part, operations in {
            "commands": (read, see, settings), "state": (read, write, see, settings),
            "dead-letters": (write, see, settings), "replies": (write, see, settings),
            "target": (write, see)}.items()}  # fmt: skip
        rights[ResourceType.GROUP, world.name] = (read, see)
        rights[ResourceType.TRANSACTIONAL_ID, world.name + "-"] = (write, see)
        acls = []
        for (kind, name), operations in rights.items():
            shape = ResourcePatternType.PREFIXED if kind == ResourceType.TRANSACTIONAL_ID else \
                ResourcePatternType.LITERAL  # fmt: skip
            wanted = [("User:worker", operation) for operation in operations]
            acls += [AclBinding(kind, name, shape, user, "*", operation, AclPermissionType.ALLOW)
                     for user, operation in (*wanted, ("User:ANONYMOUS", all_))]  # fmt: skip
        world.ready().stop()  # the topics are there
        admin = AdminClient({"bootstrap.servers": self.cluster.addresses})
        for done in admin.create_acls(acls).values():
            done.result(20)
        named = {"security.protocol": "sasl_plaintext", "sasl.mechanisms": "PLAIN",
                 "sasl.username": "worker", "sasl.password": "secret"}  # fmt: skip
        options = [word for item in named.items() for word in ("--librdkafka", "=".join(item))]
        worker = world.worker(*options, create=False,
                              brokers=f"127.0.0.1:{self.cluster.namedPort}")  # fmt: skip
        world.awaitLog(worker, "taken over", PARTITIONS)
        world.command("schedule", "a", now() + 500)
        world.command("push-back", "a", now() + 1_000)
        world.command("schedule", "nonsense", "soon")
        self.assertDelivered(["a"])
        self.assertEqual(len(world.await_("dead-letters", 1)), 1)
        self.assertNotIn("authorization", world.log(worker).lower())

    # -- what is in the topics, and how they are set

    def testSettingsCouldBeBetter(self):
        world, days = self.world, 2 * 86_400_000
        self.cluster.createTopic(world.topics["commands"], PARTITIONS, retention_ms=60_000)
        self.cluster.createTopic(world.topics["state"], PARTITIONS, cleanup_policy="compact",
                                 segment_ms=days, segment_bytes=2**31 - 1,
                                 min_compaction_lag_ms=days)  # fmt: skip
        worker = world.ready()
        for topic, setting in (("commands", "retention.ms is 60000"),
                               ("state", f"segment.ms is {days}"),
                               ("state", f"segment.bytes is {2**31 - 1}"),
                               ("state", f"min.compaction.lag.ms is {days}")):
            self.assertRegex(world.log(worker), f"warning topic {world.topics[topic]}: {setting}: ")

    def testTheStateHasAMalformedRecord(self):
        world = self.world
        first = world.ready()
        at, ids = now() + 6_000, [f"a{i}" for i in range(8)]  # in both partitions
        for key in ids:
            world.command("schedule", key, at)
        waitUntil(lambda: world.metric(first, "pending") == len(ids), SOON, "not taken in")
        first.stop()
        for headers in ([], [("timingwheel-at", "soon"), ("timingwheel-to", "target")]):
            world.producer.produce(world.topics["state"], key="stranger", value=b"?",
                                   headers=headers)  # fmt: skip
        world.producer.flush()
        second = world.ready()
        self.assertIn("is not of ours, and left", world.log(second))
        world.command("schedule", "stranger", now())
        self.assertDelivered([*ids, "stranger"])

    def testATakeOverDoesNotFitIntoMemory(self):
        world = self.world
        first, at, ids = world.ready(), now() + 15_000, [f"t{i}" for i in range(20_000)]
        for key in ids:
            world.producer.produce(world.topics["commands"], key=key, value=b"x" * 400, headers=[
                ("timingwheel-command", "schedule"), ("timingwheel-to", world.topics["target"]),
                ("timingwheel-at", str(at))])
        world.producer.flush()
        waitUntil(lambda: world.metric(first, "pending") == len(ids), SOON, "not taken in")
        first.stop()
        second = world.worker("--memory-mb", "1")
        world.awaitLog(second, "does not fit into --memory-mb 1", 2)
        world.awaitAlert(second, "PartitionStandsStill")
        self.assertGreater(world.metric(second, "pending"), 0)
        world.awaitAlert(second, "TimersAreOverdue")
        self.assertEqual(second.stop(), 0)
        world.ready()
        self.assertDelivered(ids)

    # -- partitions are added

    def addPartitions(self, number, *parts):
        admin = AdminClient({"bootstrap.servers": self.cluster.addresses})
        more = [NewPartitions(self.world.topics[part], number) for part in parts]
        for done in admin.create_partitions(more).values():
            done.result(20)

    def awaitStandstill(self, worker, partitions):
        for partition in range(partitions):
            self.world.awaitLog(worker, f"partition {partition}: begins anew: the number of "
                                "partitions was changed")  # fmt: skip
        self.world.awaitAlert(worker, "PartitionStandsStill")
        self.world.awaitAlert(worker, "TakeOversFail")

    def startWith(self, partitions):
        """A worker, 100 timers, and the options that make topics."""
        world, ids = self.world, [f"t{i}" for i in range(100)]
        make = ("--replication", self.cluster.replication, "--create-topics")
        worker = world.worker(*make, partitions, create=False)
        world.awaitLog(worker, "taken over", partitions)
        for key in ids:
            value = key.encode() if key != "t1" else None
            world.command("schedule", key, now() + 600_000, value=value, colour="red")
        waitUntil(lambda: world.metric(worker, "pending") == len(ids), SOON, "not taken in")
        return worker, ids, make

    def cancelSome(self, ids):
        """By one who knows how many partitions there are now."""
        self.world.producer = Producer(
            {"bootstrap.servers": self.cluster.addresses, "log_level": 0,
             "partitioner": "murmur2_random", "enable.idempotence": True})  # fmt: skip
        for key in ids[::2]:
            self.world.command("cancel", key)

    def checkMoved(self, ids, make):
        """Timers move, as docs/beyond.md says, and each cancel wins and is answered once."""
        world, kept = self.world, ids[1::2]
        for worker in world.workers:
            worker.stop()
        old, world.group = dict(world.topics), f"{world.name}-new"
        world.topics |= {part: f"{world.name}.new-{part}" for part in ("commands", "state")}
        self.assertEqual(world.worker(*make, 5, "--check", create=False).process.wait(SOON), 0)
        subprocess.run([sys.executable, "-B", RESHARD, self.cluster.addresses, world.name,
                        old["state"], old["commands"], world.topics["commands"]],
                       check=True, timeout=SOON, capture_output=True)  # fmt: skip
        world.worker(create=False)
        for key in kept:
            world.command("push-back", key, now())
        self.assertDelivered(kept)
        for key, value, headers, _ in world.read("target"):
            self.assertEqual(value, key.encode() if key != "t1" else None)
            self.assertEqual(headers["colour"], "red")
        outcomes = collections.Counter(world.outcomes(2 * len(ids)))
        self.assertEqual(outcomes, {"scheduled": len(ids), "cancelled": len(ids) - len(kept),
                                    "pushed-back": len(kept)})  # fmt: skip
        self.assertEqual(world.read("dead-letters"), [])

    def testTwoPartitionsBecomeThree(self):
        """Of the commands, and they come at once."""
        worker, ids, make = self.startWith(2)
        self.addPartitions(3, "commands")
        self.cancelSome(ids)
        self.awaitStandstill(worker, 2)
        self.checkMoved(ids, make)

    def testThreePartitionsBecomeFour(self):
        """Of both topics. Nobody writes before it is noticed; and a worker takes the new ones."""
        worker, ids, make = self.startWith(3)
        self.addPartitions(4, "commands", "state")
        self.awaitStandstill(worker, 3)
        self.assertEqual(self.world.metric(worker, "pending"), len(ids))
        self.cancelSome(ids)
        worker.stop()
        self.awaitStandstill(self.world.worker(create=False), 4)
        self.checkMoved(ids, make)

    def testNobodyMayAddPartitions(self):
        """As docs/beyond.md has it forbidden."""
        world = self.world
        world.ready()
        admin = AdminClient({"bootstrap.servers": self.cluster.addresses})
        topic = world.topics["commands"]
        for done in admin.create_acls(self.acls(ResourceType.TOPIC, topic,
                                                AclOperation.ALTER)).values():  # fmt: skip
            done.result(20)
        with self.assertRaisesRegex(KafkaException, "TOPIC_AUTHORIZATION_FAILED"):
            self.addPartitions(PARTITIONS + 1, "commands")
        world.command("schedule", "a", now())
        self.assertDelivered(["a"])

    # -- memory

    def testMemoryIsFull(self):
        world = self.world
        worker = world.ready("--memory-mb", "1", "--batch", "500")
        at, ids = now() + 8_000, [f"t{i}" for i in range(6_000)]
        for key in ids:
            world.producer.produce(world.topics["commands"], key=key, value=b"x" * 400, headers=[
                ("timingwheel-command", "schedule"), ("timingwheel-to", world.topics["target"]),
                ("timingwheel-at", str(at))])
        world.producer.flush()
        waitUntil(lambda: world.metric(worker, "memory_bytes") > 1e6, SOON, "memory is not full")
        self.assertLess(world.metric(worker, "memory_bytes"), 2e6)
        self.assertDelivered(ids)

    def testAFullWorkerTakesCancels(self):
        """Those of one partition, while another waits for memory; and they make room for it."""
        world = self.world
        worker = world.ready("--memory-mb", "1", "--batch", "100")
        at, value, count = now() + 600_000, b"x" * 600, 1_000
        cancel, keys = [("timingwheel-command", "cancel")], ([], [])
        for number in range(3 * count):  # of timers that are not there: to learn their partitions
            world.producer.produce(world.topics["commands"], key=f"t{number}", headers=cancel,
                                   on_delivery=lambda _, m: keys[m.partition()].append(m.key()))
        world.producer.flush()
        cancelled, waiting = (each[:count] for each in keys)
        world.schedule(cancelled, at, value=value)
        waitUntil(lambda: world.metric(worker, "pending") == count, SOON, "not taken in")
        world.schedule(waiting, at, value=value)
        waitUntil(lambda: world.metric(worker, "memory_bytes") > 1e6, SOON, "memory is not full")
        world.command("push-back", cancelled[0], at + 1)
        self.assertEqual(world.outcomes(1), ["pushed-back"])
        self.assertGreater(world.metric(worker, "commands_lag"), 0)
        for key in cancelled:
            world.producer.produce(world.topics["commands"], key=key, headers=cancel)
        world.producer.flush()
        waitUntil(lambda: world.metric(worker, "cancelled_total") == count
                  and world.metric(worker, "pending") == count, SOON, "not taken in")


class Disk(unittest.TestCase):
    """With a broker of its own, whose files cannot grow: as if its disk were full."""

    def testTheDiskIsFull(self):
        cluster = Cluster(WORK / "failures/full", WORK / "jars")
        (broker,) = cluster.brokers
        unlimited = broker.command
        broker.command = ["prlimit", "--fsize=30000000", "--", *unlimited]
        cluster.start()
        world, confirmed = World(cluster, "DiskIsFull"), []
        try:
            world.ready()
            headers = [("timingwheel-command", "schedule"), ("timingwheel-at", str(now() + 20_000)),
                       ("timingwheel-to", world.topics["target"])]
            until = time.monotonic() + SOON
            for number in range(1_000):
                world.producer.produce(
                    world.topics["commands"], key=f"t{number}", value=b"x" * 300_000,
                    headers=headers,
                    on_delivery=lambda error, message: error or confirmed.append(message.key()))
                world.producer.poll(0.05)
                if not broker.isRunning or time.monotonic() > until:
                    break
            waitUntil(lambda: not broker.isRunning, SOON, "the broker has room for all of it")
            self.assertGreater(len(confirmed), 20)
            broker.command = unlimited
            broker.start()
            cluster.wait()
            wanted = {key.decode() for key in confirmed}
            waitUntil(lambda: wanted <= {key for key, *_ in world.read("target")}, 3 * SOON,
                      "what was confirmed is not delivered", every=1)  # fmt: skip
            delivered = [key for key, *_ in world.read("target")]
            self.assertEqual(len(delivered), len(set(delivered)))
        finally:
            for child in (*world.workers, broker):
                child.kill()


class Durable(Cluster):
    """Three brokers, which by themselves would let one confirm alone."""

    def _settings(self, number):
        return super()._settings(number) | {"min.insync.replicas": 1}


class Three(unittest.TestCase):
    """With three brokers of their own."""

    @classmethod
    def setUpClass(cls):
        cls.cluster = Durable(WORK / "failures/three", WORK / "jars", 3)
        cls.cluster.start()

    @classmethod
    def tearDownClass(cls):
        for broker in cls.cluster.brokers:
            broker.kill()

    def setUp(self):
        self.world = World(self.cluster, re.sub("^test", "", self._testMethodName))

    def tearDown(self):
        for worker in self.world.workers:
            worker.kill()

    assertDelivered = Failures.assertDelivered

    def testTopicsAreMadeToSurviveABroker(self):
        world = self.world
        worker = world.ready()
        admin = AdminClient({"bootstrap.servers": self.cluster.addresses})
        topics = [world.topics[part] for part in ("commands", "state", "dead-letters", "replies")]
        for name in topics:
            resource = ConfigResource(ConfigResource.Type.TOPIC, name)
            settings = admin.describe_configs([resource])[resource].result(20)
            self.assertEqual(settings["min.insync.replicas"].value, "2", name)
        self.assertNotIn("min.insync.replicas", world.log(worker))

    def testATopicDoesNotSurviveABroker(self):
        world = self.world
        for part in ("commands", "dead-letters"):
            self.cluster.createTopic(world.topics[part], PARTITIONS, min_insync_replicas=1)
        worker = world.ready()
        for part in ("commands", "dead-letters"):
            self.assertRegex(world.log(worker), f"warning topic {world.topics[part]}: "
                             "min.insync.replicas is 1: ")  # fmt: skip
        self.assertEqual(world.log(worker).count("min.insync.replicas"), 2)

    def testTheQuorumIsLost(self):
        world, ids = self.world, []
        worker = world.ready()
        for away in ("paused", "killed"):
            ids += (new := [f"{away}{i}" for i in range(20)])
            at = now() + 5_000
            for key in new:
                world.command("schedule", key, at)
            waitUntil(lambda: world.metric(worker, "pending") == 20, SOON, "not taken in")
            for broker in self.cluster.brokers[1:]:
                broker.pause() if away == "paused" else broker.kill()
            time.sleep(max(0, at - now()) / 1000 + 10)  # they are due while there is no quorum
            self.assertTrue(worker.isRunning)
            self.assertLess(world.metric(worker, "delivered_total"), len(ids))
            for broker in self.cluster.brokers[1:]:
                broker.resume() if away == "paused" else broker.start()
            self.cluster.wait()
            self.assertDelivered(ids)


def load_tests(_loader, suites, _pattern):
    """A part of them, by lot."""
    oneIn, seed = (int(os.environ.get(f"TIMINGWHEEL_{name}", 1)) for name in
                   ("ONE_IN", "EXPLORE_FROM"))  # fmt: skip
    tests = [test for suite in suites for test in suite]
    tests = [test for test in tests if zlib.crc32(f"{seed} {test.id()}".encode()) % oneIn == 0]
    if oneIn > 1:
        print(f"one in {oneIn}, by seed {seed}: {len(tests)} tests")
    return unittest.TestSuite(tests)


def main():
    global PROGRAM, WORK
    PROGRAM, WORK = (Path(sys.argv.pop(1)).resolve() for _ in range(2))
    with allEnded():
        unittest.main(verbosity=2)


if __name__ == "__main__":
    main()
