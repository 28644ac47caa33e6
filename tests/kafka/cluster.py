"""Brokers of Kafka on this machine: fetched as jars, started, paused, killed, and ended.

A cluster has one broker or three, each also a controller (KRaft). All listen on 127.0.0.1.
"""

import base64
import hashlib
import http.client
import os
import re
import secrets
import shutil
import subprocess
import time
import urllib.request
from pathlib import Path
from xml.etree import ElementTree

from children import Child, freePorts
from confluent_kafka import KafkaException
from confluent_kafka.admin import AdminClient, NewTopic

HERE = Path(__file__).resolve().parent
MAVEN_CENTRAL = "https://repo1.maven.org/maven2/"
MAVEN = Path.home() / ".m2"
OLDEST_JAVA = 17
START = 300  # seconds: several brokers on a busy machine take long

# ---- the jars ----------------------------------------------------------------------------------


def mirrors():
    """Where Maven of this machine's user gets what is on Maven Central."""
    try:
        settings = ElementTree.parse(MAVEN / "settings.xml")
    except (OSError, ElementTree.ParseError):
        return
    for mirror in settings.iter():
        if not mirror.tag.endswith("mirror"):
            continue
        fields = {re.sub("{.*}", "", field.tag): (field.text or "").strip() for field in mirror}
        if fields.get("mirrorOf") in ("central", "*", "external:*") and fields.get("url"):
            yield fields["url"].rstrip("/") + "/"


def isIntact(file, digest):
    return file.exists() and hashlib.sha256(file.read_bytes()).hexdigest() == digest


def fetch(path, digest, file):
    """From what Maven has fetched already, from Maven Central, or from its mirror."""
    local = MAVEN / "repository" / path
    if isIntact(local, digest):
        shutil.copy(local, file)
        return
    problems = []
    for source in (MAVEN_CENTRAL, *mirrors()):
        part = file.with_suffix(".part")
        try:
            with urllib.request.urlopen(source + path, timeout=120) as response:
                part.write_bytes(response.read())
        except (OSError, http.client.HTTPException) as problem:
            problems.append(f"{source}: {problem}")
            continue
        if isIntact(part, digest):
            part.rename(file)
            return
        problems.append(f"{source}: it is not the file whose SHA-256 begins with {digest[:12]}")
        part.unlink()
    raise OSError(f"{path} could not be had: {'; '.join(problems)}")


def jars(folder, which=".*"):
    """Those of jars.txt whose path fits, each checked."""
    folder.mkdir(parents=True, exist_ok=True)
    found = []
    for line in (HERE / "jars.txt").read_text(encoding="ascii").splitlines():
        digest, path = line.split() if line and not line.startswith("#") else (None, "")
        if digest is None or not re.search(which, path):
            continue
        jar = folder / Path(path).name
        if not isIntact(jar, digest):
            fetch(path, digest, jar)
        found.append(str(jar))
    return found


def checkJava():
    if not shutil.which("java"):
        raise SystemExit("there is no java on this machine (Debian: openjdk-17-jre-headless)")
    said = subprocess.run(["java", "-version"], capture_output=True, text=True, check=True).stderr
    version = re.search(r'version "(\d+)', said)
    if not version or int(version[1]) < OLDEST_JAVA:
        raise SystemExit(f"Java {OLDEST_JAVA} or newer is needed, not {said.splitlines()[0]}")


# ---- the brokers -------------------------------------------------------------------------------


class Cluster:
    """REQUIRES: 1 broker, or 3. Its data is below the folder, and is made anew."""

    def __init__(self, folder, jarFolder, brokers=1):
        checkJava()
        self.folder, self.count = folder, brokers
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        self.path = ":".join(jars(jarFolder))
        ports = freePorts(2 * brokers)
        self.ports, self.controllers = ports[:brokers], ports[brokers:]
        self.id = base64.urlsafe_b64encode(secrets.token_bytes(16)).decode().rstrip("=")
        self.brokers = [self._broker(number) for number in range(brokers)]

    @property
    def addresses(self):
        return ",".join(f"127.0.0.1:{port}" for port in self.ports)

    @property
    def replication(self):
        return min(self.count, 3)

    def _settings(self, number):
        voters = ",".join(f"{n + 1}@127.0.0.1:{p}" for n, p in enumerate(self.controllers))
        port, controller = self.ports[number], self.controllers[number]
        inSync = 2 if self.count >= 3 else 1
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
        }

    def _java(self, log):
        return ["java", "-Xmx512m", "-XX:+ExitOnOutOfMemoryError", "-Djava.awt.headless=true",
                f"-Dorg.slf4j.simpleLogger.defaultLogLevel={log}",
                "-Dorg.slf4j.simpleLogger.showDateTime=true",
                "-Dorg.slf4j.simpleLogger.dateTimeFormat=HH:mm:ss.SSS",
                "-cp", self.path]  # fmt: skip

    def _broker(self, number):
        file = self.folder / f"broker-{number + 1}.properties"
        settings = self._settings(number)
        file.write_text("".join(f"{name}={value}\n" for name, value in settings.items()))
        return Child(f"broker {number + 1}", [*self._java("warn"), "kafka.Kafka", file],
                     self.folder / f"broker-{number + 1}.log")  # fmt: skip

    def start(self):
        """Returns when all brokers answer."""
        formatting = []
        for broker in self.brokers:
            command = [*self._java("error"), "kafka.tools.StorageTool", "format",
                       f"--cluster-id={self.id}",  # which may begin with a dash
                       "-c", broker.command[-1]]  # fmt: skip
            formatting.append(Child(f"{broker.name}'s storage", command, broker.log))
            formatting[-1].start()
        for tool in formatting:
            if tool.process.wait(START) != 0:
                raise RuntimeError(f"{tool.name} could not be formatted:\n{tool.endOfLog()}")
        for broker in self.brokers:
            broker.start()
        self.wait()

    def wait(self, seconds=START):
        """Returns when each broker answers, and knows of all."""
        until = time.monotonic() + seconds
        for broker, port in zip(self.brokers, self.ports):
            while not self._answers(port):
                if not broker.isRunning:
                    raise RuntimeError(f"{broker.name} has ended:\n{broker.endOfLog()}")
                if time.monotonic() > until:
                    raise TimeoutError(f"{broker.name} does not answer after {seconds} s")
                time.sleep(0.2)

    def metadata(self, port):
        """What one broker knows; None where it does not answer."""
        admin = AdminClient({"bootstrap.servers": f"127.0.0.1:{port}", "log_level": 0})
        try:
            return admin.list_topics(timeout=1)
        except KafkaException:
            return None

    def isLeader(self, broker):
        """Whether another broker takes it for the leader of anything, or none answers."""
        number = self.brokers.index(broker) + 1
        for other, port in zip(self.brokers, self.ports):
            if other is broker or not other.isRunning or other.isPaused:
                continue
            metadata = self.metadata(port)
            if metadata is not None:
                return any(partition.leader == number for topic in metadata.topics.values()
                           for partition in topic.partitions.values())  # fmt: skip
        return True

    def _answers(self, port):
        metadata = self.metadata(port)
        return metadata is not None and len(metadata.brokers) == self.count

    def topics(self, port):
        """That this broker knows, and can lead to."""
        metadata = self.metadata(port)
        return {name for name, topic in metadata.topics.items() if topic.error is None
                and all(p.leader >= 0 for p in topic.partitions.values())} if metadata else set()

    def createTopic(self, name, partitions, **settings):
        admin = AdminClient({"bootstrap.servers": self.addresses, "log_level": 2})
        topic = NewTopic(name, partitions, self.replication,
                         config={key.replace("_", "."): str(v) for key, v in settings.items()})
        for future in admin.create_topics([topic]).values():
            future.result(60)

    def diskBytes(self):
        return sum(file.stat().st_size for file in self.folder.rglob("*.log")
                   if file.is_file() and not os.path.islink(file))  # fmt: skip
