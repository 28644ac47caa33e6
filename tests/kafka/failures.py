"""What timingwheel-kafka does when something fails: a broker, workers, and one mistake at a time.

    failures.py <timingwheel-kafka> <folder> [Failures.test... Disk.test...]

docs/beyond.md has the table of failures, and names these tests. Where none is named,
TIMINGWHEEL_ONE_IN=2 runs half of them: others for each TIMINGWHEEL_EXPLORE_FROM.
"""

import asyncio
import collections
import contextlib
import json
import operator
import os
import re
import shutil
import socket
import subprocess
import sys
import threading
import time
import unittest
import zlib
from functools import partial, partialmethod
from pathlib import Path

from confluent_kafka import Consumer, IsolationLevel, TopicPartition
from confluent_kafka.admin import (
    AclBinding, AclBindingFilter, AclOperation, AclPermissionType, NewPartitions, OffsetSpec,
    ResourcePatternType, ResourceType,
)  # fmt: skip

HERE = Path(__file__).resolve().parent
sys.path.insert(1, str(HERE.parent / "benchmark/page"))
from children import allEnded, freePorts, waitUntil  # noqa: E402
from cluster import Cluster, finish  # noqa: E402
from timers import SESSION, User, Worker, everything, first, header, now  # noqa: E402

PAGES = HERE.parents[1] / "docs" / "beyond"
SOON = 60  # seconds, for what must happen
DAY = 86_400_000  # milliseconds
FAR = 600_000  # milliseconds to what is not due while a test runs
PARTITIONS = 2
OWN = ("commands", "state", "dead-letters", "replies")  # topics that workers can make
IDS = [f"t{i}" for i in range(20)]  # they are in both partitions
MANY = [f"t{i}" for i in range(20_000)]  # a transaction of them is still written when one fails
TOPIC, GROUP = ResourceType.TOPIC, ResourceType.GROUP
TRANSACTIONAL_ID = ResourceType.TRANSACTIONAL_ID
PROGRAM, WORK = (Path(sys.argv.pop(1)).resolve() for _ in range(2))


class Proxy:
    """Stands before a broker. Once armed, it lets a transaction fail at the worst moment: a batch
    for the topic is written, and its answer swallowed; before the batch is sent again, the answer
    that adds the group's offsets to the transaction becomes an error.

    Or it answers as a broker does that was replaced and does not know: where the `state` ends, and
    how far the group is, as it was when it was first asked."""

    PRODUCE, LIST_OFFSETS, OFFSET_FETCH, ADD_OFFSETS = 0, 2, 9, 25
    GROUP_AUTHORIZATION_FAILED = (30).to_bytes(2)  # the client may abort, and go on

    def __init__(self, brokerPort):
        self.brokerPort, self.topic, self.isCut = brokerPort, None, asyncio.Event()
        self.asked = collections.Counter()  # by their kinds, requests
        self.isOld, self.state, self.known = False, "", {}  # by requests, answers
        listener = socket.create_server(("127.0.0.1", 0))
        self.port = listener.getsockname()[1]
        threading.Thread(target=asyncio.run, args=[self.serve(listener)], daemon=True).start()

    def arm(self, topic):
        # With its length: headers of other topics' records name it, too.
        self.topic = len(topic).to_bytes(2) + topic.encode()

    async def serve(self, listener):
        server = await asyncio.start_server(self.accept, sock=listener)
        await server.serve_forever()

    async def accept(self, fromClient, toClient):
        try:
            fromBroker, toBroker = await asyncio.open_connection("127.0.0.1", self.brokerPort)
        except OSError:
            toClient.close()
            return
        special = {}  # by their numbers, what is asked
        await asyncio.gather(self.pump(fromClient, toBroker, special, True),
                             self.pump(fromBroker, toClient, special, False))  # fmt: skip

    async def pump(self, source, to, special, isOfClient):
        with contextlib.suppress(OSError, asyncio.IncompleteReadError):
            while True:
                size = await source.readexactly(4)
                data = await source.readexactly(int.from_bytes(size))
                if isOfClient:
                    self.look(data, special)
                elif isinstance(kind := special.pop(data[:4], None), bytes):
                    known = self.known.setdefault(kind, data[4:])
                    data = data[:4] + (known if self.isOld else data[4:])
                    size = len(data).to_bytes(4)
                elif kind == self.PRODUCE:
                    self.isCut.set()
                    break
                elif kind == self.ADD_OFFSETS:
                    self.refusal = asyncio.create_task(self.refuse(to, size, data))
                    continue
                to.write(size + data)
                await to.drain()
        to.close()

    def look(self, data, special):
        kind = int.from_bytes(data[:2])
        self.asked[kind] += 1
        if self.topic and not self.isCut.is_set() and (
            kind == self.ADD_OFFSETS or kind == self.PRODUCE and self.topic in data
        ):  # fmt: skip
            special[data[4:8]] = kind
        if kind == self.OFFSET_FETCH or kind == self.LIST_OFFSETS and self.state.encode() in data:
            special[data[4:8]] = data[:4] + data[8:]

    async def refuse(self, to, size, data):
        await self.isCut.wait()
        # The client notes the cut, and does not send again yet. A worker that is right is so
        # whatever comes first.
        await asyncio.sleep(0.3)
        to.write(size + data[:8] + self.GROUP_AUTHORIZATION_FAILED + data[10:])


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
                'user_worker="secret" user_operator="secret";',
            "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
            "allow.everyone.if.no.acl.found": "true",
        }  # fmt: skip


class World(unittest.TestCase):
    """Brokers that all tests of a class share; and of each test topics, workers, and a user."""

    @classmethod
    def setUpClass(cls):
        cls.cluster = cls.makeCluster()
        for broker in cls.cluster.brokers:
            cls.addClassCleanup(broker.kill)
        cls.cluster.start()

    def setUp(self):
        self.name = self.group = self._testMethodName.removeprefix("test")
        self.folder = WORK / "failures" / self.name
        shutil.rmtree(self.folder, ignore_errors=True)
        self.topics = {part: f"{self.name}.{part}" for part in (*OWN, "target")}
        self.makeTopic("target")
        self.user = User(self.cluster.addresses, self.topics["commands"])
        self.workers = []

    def makeTopic(self, part, partitions=PARTITIONS, **settings):
        """Its name."""
        topic = self.topics.setdefault(part, f"{self.name}.{part}")
        self.cluster.createTopic(topic, partitions, **settings)
        return topic

    def committed(self, use=lambda user, places: None):
        """How far the group is."""
        places = [TopicPartition(self.topics["commands"], number) for number in range(PARTITIONS)]
        with contextlib.closing(Consumer({"bootstrap.servers": self.cluster.addresses,
                                          "group.id": self.group})) as user:  # fmt: skip
            use(user, places := user.committed(places, 20))
        return places

    def removeTopic(self, part):
        finish(self.cluster.admin.delete_topics([self.topics[part]]))

    def names(self):
        """Options: of which group and topics."""
        return ["--group", self.group,
                *(word for part in OWN for word in (f"--{part}", self.topics[part]))]  # fmt: skip

    def ask(self, *words, status=0, brokers=None):
        """A subcommand's answer."""
        done = subprocess.run(
            [PROGRAM, *words, "--json", "--brokers", brokers or self.cluster.addresses,
             *self.names()], capture_output=True, text=True, timeout=SOON)  # fmt: skip
        self.assertEqual(done.returncode, status, done.stderr)
        return json.loads(done.stdout)

    def worker(self, *options, create=PARTITIONS, brokers=None, session=SESSION):
        """Starts one more."""
        mine = self.names()
        if create:
            mine += ["--create-topics", create, "--replication", self.cluster.replication]
        worker = Worker(PROGRAM, len(self.workers), self.folder, brokers or self.cluster.addresses,
                        [*mine, *options], session)  # fmt: skip
        self.addCleanup(worker.kill)
        worker.start()
        self.workers.append(worker)
        return worker

    def ready(self, *options, **how):
        """A worker that has taken all partitions over."""
        worker = self.worker(*options, **how)
        self.awaitLog(worker, "taken over", how.get("create") or PARTITIONS)
        return worker

    def awaitLog(self, worker, words, times=1):
        waitUntil(lambda: worker.said().count(words) >= times, SOON,
                  f"{worker.log} does not say {words!r}")  # fmt: skip

    def awaitMetric(self, worker, name, wanted=None, above=None):
        isSo = partial(operator.eq, wanted) if above is None else partial(operator.lt, above)
        waitUntil(lambda: isSo(worker.value(name)), SOON, f"{name} is not {wanted or 'more'}")

    def awaitAlert(self, worker, alert, fires=True):
        """Until what a rule of docs/beyond asks is so of any partition. A total was 0."""
        ((name, sign, bound),) = re.findall(
            rf"alert: {alert}\n +expr: (?:increase\()?timingwheel_(\w+)(?:\[\w+\]\))?"
            r" (==|>) (\d+)", (PAGES / "prometheus-rules.yml").read_text())  # fmt: skip
        is_ = {"==": operator.eq, ">": operator.gt}[sign]
        waitUntil(lambda: fires == any(is_(value, float(bound))
                                       for value in worker.values(name)), SOON,
                  f"{alert} {'does not fire' if fires else 'fires'}")  # fmt: skip

    def command(self, kind, key, at=None, to="target", value=b"payload", partition=-1, **headers):
        """Writes one, which asks for a reply. Headers of the user's come by name."""
        to = self.topics.get(to, to) if kind == "schedule" else None
        self.user.command(kind, key, at, to, value, "asked", headers.items(), partition)
        self.user.flush()

    def schedule(self, ids, at, to="target", value=b"payload", every=0):
        """Writes many, whose times are so many milliseconds apart. They ask for no reply."""
        for number, key in enumerate(ids):
            self.user.command("schedule", key, at + int(number * every), self.topics[to], value)
        self.user.flush()

    def takeIn(self, worker, ids, at, **how):
        """Returns when these alone are pending."""
        self.schedule(ids, at, **how)
        self.awaitMetric(worker, "pending", len(ids))

    def leave(self, ids, milliseconds, **how):
        """A worker takes in what is due so much later, and stops."""
        worker = self.ready()
        self.takeIn(worker, ids, now() + milliseconds, **how)
        self.assertEqual(worker.stop(), 0)

    def read(self, part):
        """All that is in a topic now."""
        return list(everything(self.cluster.addresses, self.topics[part]))

    def awaitRecords(self, part, count):
        """Those of a topic, once there are so many; and no more come."""
        return first(self.cluster.addresses, self.topics[part], count, SOON)

    def outcomes(self, count):
        return [header(each, "timingwheel-outcome") for each in self.awaitRecords("replies", count)]

    def assertDelivered(self, ids, part="target"):
        """Each once, none before its time."""
        delivered = self.awaitRecords(part, len(ids))
        self.assertEqual(sorted(header(each, "timingwheel-id") for each in delivered), sorted(ids))
        for each in delivered:
            self.assertGreaterEqual(each.timestamp()[1], int(header(each, "timingwheel-at")))

    def assertDeadLetter(self, key, value, reason=""):
        """It is the only one."""
        (letter,) = self.awaitRecords("dead-letters", 1)
        self.assertEqual((letter.key(), letter.value()), (key.encode(), value))
        self.assertIn(reason, header(letter, "timingwheel-reason").lower())


class Failures(World):
    @classmethod
    def makeCluster(cls):
        return Guarded(WORK / "failures/cluster", WORK / "jars")

    # -- nothing fails

    def testNothing(self):
        worker = self.ready("--librdkafka", "ssl.key.password=hidden")
        options = json.loads(worker.page("config")[1])
        self.assertEqual(options["librdkafka.ssl.key.password"], "***")
        self.assertIn("".join(f" {name}={value}" for name, value in options.items()), worker.said())
        at = now() + 1500
        self.command("schedule", "a", at, colour="red")
        self.command("schedule", "b", at, value=None)
        self.command("push-back", "b", at + 500)
        self.command("schedule", "c", at)
        self.command("cancel", "c")
        self.command("cancel", "nobody")
        self.assertDelivered(["a", "b"])
        delivered = {each.key(): each for each in self.read("target")}
        self.assertEqual(delivered[b"a"].value(), b"payload")
        self.assertEqual(header(delivered[b"a"], "colour"), "red")
        self.assertEqual(header(delivered[b"a"], "timingwheel-at"), str(at))
        self.assertIsNone(delivered[b"b"].value())
        self.assertEqual(sorted(self.outcomes(6)), ["cancelled", "pushed-back", "scheduled",
                                                    "scheduled", "scheduled", "too-late"])
        self.command("schedule", "a", now() - 3_650 * DAY)  # again, and long past: at once
        self.assertDelivered(["a", "a", "b"])
        self.assertEqual(worker.value("delivered_total"), 3)
        self.assertEqual(worker.value("pending"), 0)
        self.assertEqual(worker.stop(), 0)
        # Tools that show how far a group is show it of this one.
        self.assertEqual(sum(each.offset for each in self.committed()), len(self.read("commands")))

    def testASetIsAsked(self):
        """By each subcommand, while a worker goes on."""
        worker, at, other = self.ready(), now() + FAR, self.makeTopic("other", 1)
        self.takeIn(worker, IDS, at, every=FAR)
        self.command("schedule", "t0", at - 1, to="other")
        self.command("cancel", "t1")
        self.assertEqual(sorted(self.outcomes(2)), ["cancelled", "replaced"])
        listed, ofOther = self.ask("list", "--limit", "3"), self.ask("list", "--to", other)
        self.assertEqual([each["id"] for each in listed["timers"]], ["t0", "t2", "t3"])
        self.assertEqual((listed["pending"], ofOther["pending"]), (19, 1))
        shown = self.ask("show", "t0")
        self.assertEqual((shown["due_ms"], shown["to"], shown["value"]), (at - 1, other, "payload"))
        self.assertFalse(self.ask("show", "t1", status=1)["pending"])
        outcomes = [self.ask("cancel", "t2", status=status)["outcome"] for status in (0, 1)]
        self.assertEqual(outcomes, ["cancelled", "too-late"])
        self.assertEqual([row["timers"] for row in self.ask("forecast")["forecast"]],
                         [0, 0, 4, 14, 0, 0, 0])  # fmt: skip
        for each in self.ask("check")["group"]["partitions"]:
            self.assertEqual((each["lag"], each["worker"]["host"]), (0, "/127.0.0.1"))
        self.assertEqual(worker.stop(), 0)
        for each in self.ask("check", status=1)["group"]["partitions"]:
            self.assertIsNone(each["worker"])

    # -- workers

    def testAWorkerIsKilled(self):
        """Another has followed it, and reads little more."""
        worker, ids, far = self.ready(), MANY[:2_000], [f"far{i}" for i in range(100_000)]
        self.takeIn(worker, far, now() + FAR)
        self.awaitLog(standby := self.worker(), "taken over")  # one of two; it follows the other
        self.assertEqual(standby.value("pending") + standby.value("standby_pending"), len(far))
        self.schedule(ids, now(), value=b"", every=2)
        self.awaitMetric(worker, "delivered_total", above=0)
        worker.kill()
        self.assertDelivered(ids)
        self.assertEqual(standby.value("pending"), len(far))
        for read in re.findall(r"(\d+) records read", standby.said()):
            self.assertLess(int(read), 1_000)

    def testATimerIsFar(self):
        """What lies beyond the horizon is read in time, by its worker and by the next."""
        options = ("--horizon-s", "4")
        worker = self.ready(*options)
        self.takeIn(worker, MANY, now() + 20_000, every=0.1)
        self.assertLess(worker.value("memory_bytes"), 100 * len(MANY))
        self.command("push-back", MANY[7], now() + 12_000)
        for key in MANY[:5]:
            self.command("cancel", key)
        self.assertEqual(self.outcomes(6).count("cancelled"), 5)
        self.awaitMetric(worker, "delivered_total", above=0)
        worker.kill()
        self.worker(*options)
        self.assertDelivered(MANY[5:])

    def testATimerRecurs(self):
        """At each of its times once, whoever delivers it; or it skips times that have passed."""
        worker, at, times = self.ready(), now() + 1_000, {b"caught up": [], b"skipped": []}
        rule = {"timingwheel-every": "1000"}
        self.command("schedule", "skipped", at, **rule)
        self.command("schedule", "caught up", at, **rule, **{"timingwheel-missed": "catch-up"})
        self.awaitMetric(worker, "delivered_total", above=5)
        worker.kill()
        self.awaitMetric(self.ready(), "delivered_total", above=20)
        for key in times:
            self.command("cancel", key)
        self.assertEqual(sorted(self.outcomes(4)), 2 * ["cancelled"] + 2 * ["scheduled"])
        for each in self.read("target"):
            times[each.key()].append(int(header(each, "timingwheel-at")))
            self.assertGreaterEqual(each.timestamp()[1], times[each.key()][-1])
        all_, some = (times[key] for key in times)
        self.assertEqual(all_, list(range(at, all_[-1] + 1, 1_000)))
        self.assertEqual(some, sorted({*some} & {*range(at, some[-1] + 1, 1_000)}))
        self.assertLess(len(some), len(all_))

    def testAWorkerIsStopped(self):
        stopped, other = self.ready(), self.worker()
        self.awaitLog(other, "taken over")
        self.schedule(IDS, now() + 3_000)
        self.assertEqual(stopped.stop(), 0)
        self.awaitLog(other, "taken over", PARTITIONS)
        self.assertDelivered(IDS)

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
        worker = self.ready()
        self.schedule(IDS, now() + 2_000)
        self.awaitMetric(worker, "scheduled_total", len(IDS))
        with self.brokerIsKilled():
            self.awaitAlert(worker, "TimersAreOverdue")
            self.awaitAlert(worker, "PartitionStandsStill")
        self.assertDelivered(IDS)
        self.awaitMetric(worker, "ready", PARTITIONS)
        self.awaitAlert(worker, "TimersAreOverdue", False)

    def checkReadiness(self, session, words=""):
        """Of a worker that has nothing to do, while a broker is away."""
        worker = self.ready(session=session)
        self.awaitMetric(worker, "ready", PARTITIONS)
        self.assertEqual(worker.page("readyz"), (200, "ok\n"))
        with self.brokerIsKilled():
            self.awaitLog(worker, words)
            self.awaitAlert(worker, "PartitionStandsStill")
            self.assertRegex(str(worker.page("readyz")), "^.503, 'partition . stands still")
            self.assertEqual(worker.page("healthz"), (200, "ok\n"))
        self.awaitMetric(worker, "ready", PARTITIONS)

    testABrokerIsKilledWhileNothingIsDue = partialmethod(checkReadiness, 600_000)
    testABrokerIsKilledAndPartitionsAreLost = partialmethod(checkReadiness, SESSION, "lost: part")

    def testATransactionFailsWhoseBatchIsWritten(self):
        """A broker must not take what is sent anew for what was aborted."""
        proxy = self.cluster.proxy
        worker = self.ready("--librdkafka", "retry.backoff.ms=1000",
                            brokers=f"127.0.0.1:{proxy.port}")  # fmt: skip
        self.command("schedule", "a", now())
        self.assertDelivered(["a"])
        proxy.arm(self.topics["target"])
        self.command("schedule", "a", now())  # taken in and delivered by one transaction
        self.awaitMetric(worker, "delivered_total", 2)
        self.assertTrue(proxy.isCut.is_set())
        self.assertGreater(worker.value("aborted_transactions_total"), 0)
        self.assertDelivered(["a", "a"])

    def testABrokerDoesNotKnowThatItWasReplaced(self):
        proxy = self.cluster.proxy
        proxy.state, brokers = self.topics["state"], f"127.0.0.1:{proxy.port}"
        worker, kept = self.ready(brokers=brokers), [f"kept{i}" for i in range(20)]
        self.schedule(IDS, now())
        self.assertDelivered(IDS)
        self.takeIn(worker, kept, now() + 15_000)
        self.assertEqual(worker.stop(), 0)
        proxy.isOld = True
        self.addCleanup(setattr, proxy, "isOld", False)
        self.assertEqual(self.ready(brokers=brokers).value("pending"), len(kept))
        self.assertDelivered(IDS + kept)

    def testNoBrokerIsThere(self):
        worker = self.worker(brokers="127.0.0.1:1", create=0)
        self.assertRefused(worker, "to ask 127.0.0.1:1 for the topics")

    # -- commands

    def testACommandIsMalformed(self):
        self.ready("--targets", f"nowhere,{self.name}.*")
        self.user.write(None, b"x", [])
        self.command("explode", "a")
        self.command("schedule", "b", "soon")
        self.command("schedule", "c", now(), to="no such topic")
        self.command("schedule", "d", now(), to="nowhere")
        self.command("schedule", "e", now(), to="commands")
        self.command("schedule", "f", now() + 4_000 * DAY)
        self.command("schedule", "g", now() // 1000)
        self.command("schedule", "h", now(), to="elsewhere")
        for partition in range(PARTITIONS):
            self.command("schedule", "good", now(), partition=partition)
        self.assertDelivered(["good"])
        letters = self.awaitRecords("dead-letters", 10)
        reasons = " ".join(header(letter, "timingwheel-reason") for letter in letters)
        for part in ("the key is empty", '"explode"', '"soon"', '"no such topic"',
                     "nowhere: there is no such topic", "a topic of the timers' own",
                     "elsewhere: --targets allows nowhere, A", "the latest is",
                     "the earliest is", "murmur2"):  # fmt: skip
            self.assertIn(part, reasons)

    def userOfTransactions(self):
        user = User(self.cluster.addresses, self.topics["commands"], **{
            "transactional.id": self.name, "transaction.timeout.ms": 600_000})  # fmt: skip
        user.producer.init_transactions()
        return user

    def testAUsersTransactionStaysOpen(self):
        worker, user = self.ready(), self.userOfTransactions()
        user.producer.begin_transaction()
        for _ in range(1_000):
            user.command("schedule", "a", now(), self.topics["target"])
        user.flush()
        self.command("schedule", "a", now())  # behind it
        self.awaitAlert(worker, "CommandsWait")
        self.assertEqual(self.read("target"), [])
        user.producer.abort_transaction()
        self.assertDelivered(["a"])
        self.awaitAlert(worker, "CommandsWait", False)

    def testAUsersTransactionsCostNoRequests(self):
        """Their ends are offsets without a command."""
        proxy = self.cluster.proxy
        worker, user = self.ready(brokers=f"127.0.0.1:{proxy.port}"), self.userOfTransactions()
        for key in IDS:
            user.producer.begin_transaction()
            user.command("schedule", key, now(), self.topics["target"])
            user.producer.commit_transaction()
            if key == IDS[0]:
                self.assertDelivered([key])
                asked = proxy.asked[proxy.LIST_OFFSETS]
                self.assertGreater(asked, 0)
        self.assertDelivered(IDS)
        self.awaitAlert(worker, "CommandsWait", False)
        self.assertEqual(proxy.asked[proxy.LIST_OFFSETS], asked)
        self.assertEqual(worker.value("lost_commands_total"), 0)

    # -- deliveries

    def checkOthersAreDelivered(self, to, value, reason):
        """The target refuses one timer, but not the others of its transaction."""
        self.ready()
        at = now() + 5_000
        self.command("schedule", "refused", at, to=to, value=value)
        self.schedule(MANY, at)
        self.assertDelivered(MANY)
        self.assertDeadLetter("refused", value, reason)

    def testADeliveryIsTooLarge(self):
        self.makeTopic("small", 1, max_message_bytes=2_000)
        self.checkOthersAreDelivered("small", b"x" * 10_000, "too large")

    def testAWorkerMayNotWrite(self):
        closed = self.makeTopic("closed", 1)
        self.forbid(TOPIC, [closed], AclOperation.WRITE)
        self.checkOthersAreDelivered("closed", b"payload", "authorization failed")

    def testABatchIsTooLarge(self):
        """A broker refuses a batch of records for the sum of them, or for one of them."""
        self.makeTopic("narrow", 1, max_message_bytes=20_000)
        self.ready()
        together, beside = MANY[:200], [f"s{i}" for i in range(20)]
        self.schedule(together, now() + 3_000, to="narrow", value=b"x" * 1_000)
        self.assertDelivered(together, "narrow")
        self.assertEqual(self.read("dead-letters"), [])
        at, large = now() + 3_000, b"x" * 30_000
        self.schedule(beside[:10], at, to="narrow", value=b"x")
        self.schedule(["large"], at, to="narrow", value=large)
        self.schedule(beside[10:], at, to="narrow", value=b"x")
        self.assertDelivered(together + beside, "narrow")
        self.assertDeadLetter("large", large)

    def testADeadLetterIsTooLarge(self):
        self.makeTopic("dead-letters", 1, max_message_bytes=5_000)
        self.makeTopic("small", 1, max_message_bytes=2_000)
        self.ready()
        at = now() + 2_000
        self.schedule(["large"], at, to="small", value=b"x" * 10_000)
        self.schedule(["medium"], at, to="small", value=b"x" * 3_000)
        self.schedule(IDS, at)
        self.assertDelivered(IDS)
        letters = {each.key(): each.value() for each in self.awaitRecords("dead-letters", 2)}
        self.assertEqual(letters, {b"large": None, b"medium": b"x" * 3_000})

    def testTheDeadLettersAreGone(self):
        """What should go there is not dropped, and its offset not committed."""
        worker = self.ready()
        self.removeTopic("dead-letters")
        self.command("schedule", "a", "soon")
        self.awaitLog(worker, "begins anew: the state and the dead letters must be written")
        self.makeTopic("dead-letters", 1)
        self.assertDeadLetter("a", b"payload", '"soon"')

    def testACommandIsTooLargeForTheState(self):
        self.makeTopic("state", cleanup_policy="compact", max_message_bytes=5_000)
        worker = self.ready()
        at, large = now() + 6_000, b"x" * 20_000
        self.command("schedule", "a", at)
        self.awaitMetric(worker, "pending", 1)
        self.schedule(IDS[:10], at)
        self.command("schedule", "a", at + 60_000, value=large)
        self.schedule(IDS[10:], at)
        self.assertDelivered(["a", *IDS])
        self.assertEqual(self.outcomes(2), ["scheduled", "refused"])
        self.assertDeadLetter("a", large, "too large")

    def testATargetIsNew(self):
        """Made after somebody has named another that is not there, and used at once."""
        self.ready()
        for number in range(10):
            self.command("schedule", f"nowhere{number}", now(), to="nowhere")
            self.command("schedule", f"t{number}", now(), to=self.makeTopic(f"new{number}", 1))
        letters = self.awaitRecords("dead-letters", 10)
        self.assertEqual({header(each, "timingwheel-to") for each in letters}, {"nowhere"})
        self.assertEqual(self.outcomes(20).count("scheduled"), 10)

    def testATargetIsRemoved(self):
        """One that is new to the worker's client, and one that it knows: it goes on to ask for that
        one's leader."""
        for part in ("brief", "known"):
            self.makeTopic(part, 1)
        worker = self.ready()
        self.schedule(["first"], now(), to="known")
        self.assertDelivered(["first"], "known")
        at = now() + 3_000
        self.schedule(["lost"], at, to="brief")
        self.schedule(["lost, too"], at, to="known")
        self.schedule(IDS, at)
        self.awaitMetric(worker, "pending", 2 + len(IDS))
        for part in ("brief", "known"):
            self.removeTopic(part)
        self.assertDelivered(IDS)
        letters = self.awaitRecords("dead-letters", 2)
        self.assertEqual(sorted(each.key() for each in letters), [b"lost", b"lost, too"])

    # -- topics

    def assertRefused(self, worker, *words):
        self.assertEqual(worker.process.wait(SOON), 1)
        for each in words:
            self.assertIn(each, worker.said())

    def testATopicIsMissing(self):
        self.assertRefused(self.worker(create=0), "is not there", "--create-topics")

    def checkTopic(self, reason, part, partitions=PARTITIONS, **settings):
        self.makeTopic(part, partitions, **settings)
        self.assertRefused(self.worker(), reason)

    testTheStateIsNotCompacted = partialmethod(checkTopic, "is delete: it must be compact", "state")
    testTombstonesAreRemovedTooSoon = partialmethod(
        checkTopic, "delete.retention.ms is 1000: it must be an hour", "state",
        cleanup_policy="compact", delete_retention_ms=1000)  # fmt: skip
    checkCompacted = partialmethod(checkTopic, "it must be delete", cleanup_policy="compact")
    testTheCommandsAreCompacted = partialmethod(checkCompacted, "commands")
    testTheDeadLettersAreCompacted = partialmethod(checkCompacted, "dead-letters")
    testTheTopicsHaveOtherNumbersOfPartitions = partialmethod(
        checkTopic, "they must have as many", "commands", PARTITIONS + 1)

    def testTheNumberOfPartitionsIsChanged(self):
        self.leave(IDS, FAR)
        # An offset that was set by hand does not say by how many partitions it was.
        self.committed(lambda user, places: user.commit(asynchronous=False, offsets=[
            TopicPartition(place.topic, place.partition, place.offset) for place in places]))
        self.addPartitions(PARTITIONS + 1, "commands", "state")
        self.awaitLog(self.worker(), "the number of partitions was changed: a timer is in")

    def removeCommands(self):
        """All that are there, as retention does."""
        ends = [TopicPartition(self.topics["commands"], number, -1) for number in range(PARTITIONS)]
        finish(self.cluster.admin.delete_records(ends))

    def testRetentionRemovesCommands(self):
        self.leave(IDS, FAR)
        self.schedule([f"lost{i}" for i in range(20)], now())
        self.removeCommands()
        worker = self.ready()
        self.awaitMetric(worker, "lost_commands_total", 20)
        self.assertIn("are lost: retention removed them unread", worker.said())
        self.assertEqual(worker.value("pending"), len(IDS))
        self.command("schedule", "after", now())
        self.assertDelivered(["after"])

    def testRetentionRemovesCommandsOfAFullWorker(self):
        """The worker runs on, and its client leaps over what is not there any more."""
        worker = self.ready("--memory-mb", "1", "--batch", "100")
        self.schedule(MANY, now() + 10_000, value=b"x" * 400)  # more than it reads ahead
        self.awaitMetric(worker, "memory_bytes", above=1e6)
        self.assertLess(worker.value("memory_bytes"), 2e6)
        self.removeCommands()
        self.schedule([f"after{i}" for i in range(20)], now())
        self.awaitMetric(worker, "lost_commands_total", above=0)
        self.awaitMetric(worker, "commands_lag", 0)
        lost = worker.value("lost_commands_total")
        self.assertIn("are lost: retention removed them unread", worker.said())
        self.awaitMetric(worker, "delivered_total", len(MANY) + 20 - lost)

    def testTheOffsetIsGone(self):
        """The state has it, too."""
        self.leave(IDS, 10_000)
        finish(self.cluster.admin.delete_consumer_groups([self.group]))
        self.assertEqual(self.ready().value("pending"), len(IDS))
        self.assertDelivered(IDS)

    # -- in the middle of something

    def openTransactions(self):
        """Whether deliveries have any."""
        latest = {TopicPartition(self.topics["target"], number): OffsetSpec.latest()
                  for number in range(PARTITIONS)}  # fmt: skip
        ends = []
        for isolation in IsolationLevel:
            found = self.cluster.admin.list_offsets(latest, isolation_level=isolation)
            ends.append([end.result(20).offset for end in found.values()])
        return ends[0] != ends[1]

    def testAWorkerIsPausedWithATransactionOpen(self):
        paused, begin = self.ready(), now() + 6_000
        self.schedule(MANY, begin, value=b"x", every=1 / 3)
        self.awaitMetric(paused, "delivered_total", above=0)
        paused.pause()
        while not self.openTransactions():
            self.assertLess(now(), begin + 6_000, "it is never in the middle of a transaction")
            paused.resume()
            time.sleep(0.01)
            paused.pause()
        self.ready()
        paused.resume()  # and goes on with its transaction
        self.awaitLog(paused, "lost")
        self.assertDelivered(MANY)

    def testTheClockIsSet(self):
        worker, at = self.worker(), now() + 1_800_000
        worker.kill()
        library, isAhead = self.folder / "ahead.so", self.folder / "is-ahead"
        subprocess.run(["cc", "-shared", "-fPIC", "-o", library, HERE / "clock.c"], check=True)
        worker.environment = os.environ | {"LD_PRELOAD": str(library),
                                           "AN_HOUR_AHEAD_IF": str(isAhead)}  # fmt: skip
        worker.start()
        self.awaitLog(worker, "taken over", PARTITIONS)
        self.takeIn(worker, ["a"], at)
        isAhead.touch()
        (delivered,) = self.awaitRecords("target", 1)
        self.assertEqual(delivered.key(), b"a")
        isAhead.unlink()
        self.command("schedule", "b", now() + 3_000)
        self.command("schedule", "c", at)
        (delivered,) = (each for each in self.awaitRecords("target", 2) if each.key() != b"a")
        self.assertEqual(delivered.key(), b"b")
        self.assertGreaterEqual(delivered.timestamp()[1], int(header(delivered, "timingwheel-at")))
        self.assertEqual(worker.value("pending"), 1)

    # -- rights

    def rule(self, kind, name, user, operation, permission=AclPermissionType.ALLOW):
        return AclBinding(kind, name, ResourcePatternType.LITERAL, user, "*", operation, permission)

    def forbid(self, kind, names, operation):
        """All may do all there, but workers not this."""
        rules = []
        for name in names:
            rules += [self.rule(kind, name, "User:*", AclOperation.ALL),
                      self.rule(kind, name, "User:ANONYMOUS", operation, AclPermissionType.DENY)]
        finish(self.cluster.admin.create_acls(rules))

    def checkRight(self, operation, kind, *names):
        """A worker without it says so, and goes on when it has it. Nothing is lost meanwhile."""
        what = kind.name.replace("_", " ").title()
        names = [name.format(group=self.group, **self.topics) for name in names]
        meanwhile = [f"meanwhile{i}" for i in range(20)]
        self.leave(IDS, 15_000)
        self.forbid(kind, names, AclOperation[operation])
        worker = self.worker(create=0)
        self.schedule(meanwhile, now())
        self.awaitLog(worker, f"{what} authorization failed")
        time.sleep(1)
        self.assertTrue(worker.isRunning, worker.said())
        self.assertEqual(self.read("target"), [])
        rules = [AclBindingFilter(kind, name, ResourcePatternType.LITERAL, None, None,
                                  AclOperation.ANY, AclPermissionType.ANY)
                 for name in names]  # fmt: skip
        finish(self.cluster.admin.delete_acls(rules))
        self.assertDelivered(IDS + meanwhile)
        self.assertEqual(self.read("dead-letters"), [])

    testAWorkerMayNotWriteTheState = partialmethod(checkRight, "WRITE", TOPIC, "{state}")
    testAWorkerMayNotReadTheState = partialmethod(checkRight, "READ", TOPIC, "{state}")
    testAWorkerMayNotReadTheCommands = partialmethod(checkRight, "READ", TOPIC, "{commands}")
    testAWorkerMayNotJoinTheGroup = partialmethod(checkRight, "READ", GROUP, "{group}")
    testAWorkerMayNotUseTransactions = partialmethod(
        checkRight, "WRITE", TRANSACTIONAL_ID, "{group}-0", "{group}-1")

    def testAWorkerMayNotSeeTheSettings(self):
        self.ready().stop()
        state = self.topics["state"]
        self.forbid(TOPIC, [state], AclOperation.DESCRIBE_CONFIGS)
        self.assertRefused(self.worker(create=0), f"the settings of topic {state}")

    def testAWorkerHasNoMoreRightsThanItNeeds(self):
        """Those of docs/beyond.md's table."""
        see, settings = AclOperation.DESCRIBE, AclOperation.DESCRIBE_CONFIGS
        read, write = AclOperation.READ, AclOperation.WRITE
        rights = {
            (TOPIC, self.topics["commands"]): (read, see, settings),
            (TOPIC, self.topics["state"]): (read, write, see, settings),
            (TOPIC, self.topics["dead-letters"]): (write, see, settings),
            (TOPIC, self.topics["replies"]): (write, see, settings),
            (TOPIC, self.topics["target"]): (write, see),
            (GROUP, self.group): (read, see),
            **{(TRANSACTIONAL_ID, f"{self.group}-{partition}"): (write, see)
               for partition in range(PARTITIONS)},
        }  # fmt: skip
        ofAsking = {
            (TOPIC, self.topics["commands"]): (write, see, settings),
            (TOPIC, self.topics["state"]): (read, see, settings),
            (TOPIC, self.topics["dead-letters"]): (see, settings),
            (TOPIC, self.topics["replies"]): (read, see, settings),
            (GROUP, self.group): (see,),
        }
        rules = [self.rule(*right, "User:ANONYMOUS", AclOperation.ALL) for right in rights]
        rules += [self.rule(*right, f"User:{user}", operation)
                  for user, its in (("worker", rights), ("operator", ofAsking))
                  for right, operations in its.items() for operation in operations]  # fmt: skip
        self.ready().stop()  # the topics are there
        finish(self.cluster.admin.create_acls(rules))
        named = ("--librdkafka", "security.protocol=sasl_plaintext", "sasl.mechanisms=PLAIN",
                 "sasl.password=secret")  # fmt: skip
        brokers = f"127.0.0.1:{self.cluster.namedPort}"
        worker = self.ready(*named, "sasl.username=worker", create=0, brokers=brokers)
        for words, status in ((("list",), 0), (("cancel", "a"), 1), (("check",), 0)):
            self.ask(*words, *named, "sasl.username=operator", brokers=brokers, status=status)
        self.command("schedule", "a", now() + 500)
        self.command("push-back", "a", now() + 1_000)
        self.command("schedule", "nonsense", "soon")
        self.assertDelivered(["a"])
        self.assertDeadLetter("nonsense", b"payload")
        self.assertNotIn("authorization", worker.said().lower())

    # -- what is in the topics, and how they are set

    def testSettingsCouldBeBetter(self):
        days = 2 * DAY
        self.makeTopic("commands", retention_ms=60_000)
        self.makeTopic("state", cleanup_policy="compact", segment_ms=days,
                       segment_bytes=2**31 - 1, min_compaction_lag_ms=days)  # fmt: skip
        worker = self.ready()
        for part, setting in (("commands", "retention.ms is 60000"),
                              ("state", f"segment.ms is {days}"),
                              ("state", f"segment.bytes is {2**31 - 1}"),
                              ("state", f"min.compaction.lag.ms is {days}")):  # fmt: skip
            self.assertIn(f"warning topic {self.topics[part]}: {setting}: ", worker.said())

    def testTheStateHasAMalformedRecord(self):
        self.leave(IDS, 6_000)
        stranger = User(self.cluster.addresses, self.topics["state"])
        for key in (*IDS, ""):  # of which some belong to the other partition
            stranger.write(key, b"?", [], partition=0)
        stranger.write("stranger", b"?", [("timingwheel-at", "soon"), ("timingwheel-to", "target")])
        stranger.flush()
        self.assertIn("foreign record, ignored", self.ready().said())
        self.command("schedule", "stranger", now())
        self.assertDelivered([*IDS, "stranger"])

    def testATakeOverDoesNotFitIntoMemory(self):
        self.leave(ids := [f"t{i}" for i in range(100_000)], 15_000, value=b"x" * 400)
        worker = self.worker("--memory-mb", "1")
        self.awaitLog(worker, "does not fit into --memory-mb 1", 2)
        self.awaitAlert(worker, "PartitionStandsStill")
        self.assertGreater(worker.value("pending"), 0)
        self.awaitAlert(worker, "TimersAreOverdue")
        self.assertEqual(worker.stop(), 0)
        self.ready("--memory-mb", "5")  # for a tenth of them
        self.assertDelivered(ids)

    # -- partitions are added

    def addPartitions(self, number, *parts):
        more = [NewPartitions(self.topics[part], number) for part in parts]
        finish(self.cluster.admin.create_partitions(more))

    def awaitStandstill(self, worker, partitions):
        for partition in range(partitions):
            self.awaitLog(worker, f"partition {partition}: begins anew: the number of partitions "
                          "was changed")  # fmt: skip
        self.awaitAlert(worker, "PartitionStandsStill")
        self.awaitAlert(worker, "TakeOversFail")

    def startWith(self, partitions):
        """A worker and 100 timers."""
        worker, ids = self.ready(create=partitions), MANY[:100]
        for key in ids:
            value = key.encode() if key != "t1" else None
            self.command("schedule", key, now() + FAR, value=value, colour="red")
        self.awaitMetric(worker, "pending", len(ids))
        return worker, ids

    def cancelSome(self, ids):
        """By one who knows how many partitions there are now."""
        self.user = User(self.cluster.addresses, self.topics["commands"])
        for key in ids[::2]:
            self.command("cancel", key)

    def checkMoved(self, ids):
        """Timers move, as docs/beyond.md says, and each cancel wins and is answered once."""
        kept = ids[1::2]
        for worker in self.workers:
            worker.stop()
        old, self.group = dict(self.topics), f"{self.name}-new"
        self.topics |= {part: f"{self.name}.new-{part}" for part in ("commands", "state")}
        self.assertEqual(self.worker("check", "--topics-only", create=5).process.wait(SOON), 0)
        subprocess.run([sys.executable, "-B", PAGES / "reshard.py",
                        self.cluster.addresses, old["state"], old["commands"],
                        self.topics["commands"]],
                       check=True, timeout=SOON, capture_output=True)  # fmt: skip
        self.worker(create=0)
        self.user = User(self.cluster.addresses, self.topics["commands"])
        for key in kept:
            self.command("push-back", key, now())
        self.assertDelivered(kept)
        for each in self.read("target"):
            self.assertEqual(each.value(), each.key() if each.key() != b"t1" else None)
            self.assertEqual(header(each, "colour"), "red")
        outcomes = collections.Counter(self.outcomes(2 * len(ids)))
        self.assertEqual(outcomes, {"scheduled": len(ids), "cancelled": len(ids) - len(kept),
                                    "pushed-back": len(kept)})  # fmt: skip
        self.assertEqual(self.read("dead-letters"), [])

    def testTwoPartitionsBecomeThree(self):
        """Of the commands, and they come at once."""
        worker, ids = self.startWith(2)
        self.addPartitions(3, "commands")
        self.cancelSome(ids)
        self.awaitStandstill(worker, 2)
        self.checkMoved(ids)

    def testThreePartitionsBecomeFour(self):
        """Of both topics. Nobody writes before it is noticed; and a worker takes the new ones."""
        worker, ids = self.startWith(3)
        self.addPartitions(4, "commands", "state")
        self.awaitStandstill(worker, 3)
        self.assertEqual(worker.value("pending"), len(ids))
        self.cancelSome(ids)
        worker.stop()
        self.awaitStandstill(self.worker(create=0), 4)
        self.checkMoved(ids)

    # -- memory

    def testAFullWorkerTakesCancels(self):
        """Those of one partition, while another waits for memory; and they make room for it."""
        worker = self.ready("--memory-mb", "1", "--batch", "100")
        at, value, count = now() + FAR, b"x" * 600, 1_000
        for key in MANY[: 3 * count]:  # of timers that are not there: to learn their partitions
            self.user.command("cancel", key)
        self.user.flush()
        keys = [[], []]
        for each in self.read("commands"):
            keys[each.partition()].append(each.key())
        cancelled, waiting = (each[:count] for each in keys)
        self.takeIn(worker, cancelled, at, value=value)
        self.schedule(waiting, at, value=value)
        self.awaitMetric(worker, "memory_bytes", above=1e6)
        self.command("push-back", cancelled[0], at + 1)
        self.assertEqual(self.outcomes(1), ["pushed-back"])
        self.assertGreater(worker.value("commands_lag"), 0)
        for key in cancelled:
            self.user.command("cancel", key)
        self.user.flush()
        self.awaitMetric(worker, "cancelled_total", count)
        self.awaitMetric(worker, "pending", count)


class Disk(World):
    """With a broker of its own, whose files cannot grow: as if its disk were full."""

    @classmethod
    def makeCluster(cls):
        cluster = Cluster(WORK / "failures/full", WORK / "jars")
        (broker,) = cluster.brokers
        cls.unlimited = broker.command
        broker.command = ["prlimit", "--fsize=30000000", "--", *broker.command]
        return cluster

    def testTheDiskIsFull(self):
        (broker,) = self.cluster.brokers
        self.ready()
        at, until, written = now() + 20_000, time.monotonic() + SOON, []
        while broker.isRunning and time.monotonic() < until:
            key = f"t{len(written)}"
            self.user.command("schedule", key, at, self.topics["target"], b"x" * 300_000)
            self.user.producer.poll(0.05)
            written.append(key)
        self.assertFalse(broker.isRunning, "the broker has room for all of it")
        self.assertGreater(len(written), 20)
        broker.command = self.unlimited
        broker.start()
        self.cluster.wait()
        self.user.flush()
        self.assertEqual(self.user.unsure, set())
        self.assertDelivered(written)


class Three(World):
    """With three brokers of their own, which by themselves would let one confirm alone."""

    @classmethod
    def makeCluster(cls):
        return Cluster(WORK / "failures/three", WORK / "jars", 3, {"min.insync.replicas": 1})

    def testATopicDoesNotSurviveABroker(self):
        parts = ("commands", "dead-letters")
        for part in parts:
            self.makeTopic(part, min_insync_replicas=1)
        said = self.ready().said()
        for part in parts:
            self.assertIn(f"warning topic {self.topics[part]}: min.insync.replicas is 1: ", said)
        self.assertEqual(said.count("min.insync.replicas"), 2)

    def testTheQuorumIsLost(self):
        worker, ids = self.ready(), []
        self.assertNotIn("min.insync.replicas", worker.said())  # it has set what is right
        for away in ("paused", "killed"):
            new = [f"{away}{i}" for i in range(20)]
            ids += new
            at = now() + 5_000
            self.takeIn(worker, new, at)
            for broker in self.cluster.brokers[1:]:
                broker.pause() if away == "paused" else broker.kill()
            time.sleep(max(0, at - now()) / 1000 + 10)  # they are due while there is no quorum
            self.assertTrue(worker.isRunning)
            self.assertLess(worker.value("delivered_total"), len(ids))
            for broker in self.cluster.brokers[1:]:
                broker.resume() if away == "paused" else broker.start()
            self.cluster.wait()
            self.assertDelivered(ids)


def load_tests(_loader, suites, _pattern):
    """A part of them, by lot."""
    oneIn, seed = (int(os.environ.get(f"TIMINGWHEEL_{name}", 1)) for name in
                   ("ONE_IN", "EXPLORE_FROM"))  # fmt: skip
    tests = [test for suite in suites for test in suite
             if zlib.crc32(f"{seed} {test.id()}".encode()) % oneIn == 0]  # fmt: skip
    print(f"one in {oneIn}, by seed {seed}: {len(tests)} tests")
    return unittest.TestSuite(tests)


if __name__ == "__main__":
    with allEnded():
        unittest.main(testRunner=unittest.TextTestRunner(verbosity=2, descriptions=False))
