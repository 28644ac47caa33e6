#!/usr/bin/env python3
"""Runs SystemTimer and its rivals under the same loads and writes what was measured as JSON.

Two programs measure, one of C++ contenders and one of Java contenders, and both are told what to
measure line by line. So everything happens in one run, interleaved: in each round each measurement
goes through all contenders of both programs before the next one begins, and each round begins with
another contender. render.py makes the page of it; ./dev bench compare calls both.
"""

import argparse
import datetime
import hashlib
import json
import os
import resource
import select
import shutil
import subprocess
import sys
import time
import urllib.request
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "page"))
import arguments  # noqa: E402
from about import describeMachine  # noqa: E402

MAVEN_CENTRAL = "https://repo1.maven.org/maven2/"
PATIENCE = 300  # seconds for one measurement
WARM_UP_ROUNDS = 2

# ---- what is measured --------------------------------------------------------------------------


@dataclass
class Measurement:
    """One load with its options, asked of each contender once a round."""

    name: str
    load: str
    options: dict
    needsTick: bool = False  # leaves out those who have none
    who: tuple | None = None  # the only ones that are asked; None: whoever can do it
    every: int = 1  # in every so many rounds only: where a round takes long

    def wants(self, contender, round_):
        if self.load not in contender["loads"]:
            return False
        if self.who is not None and contender["id"] not in self.who:
            return False
        if self.needsTick and not contender["hasTick"]:
            return False
        if contender.get("oneThread") and self.options.get("threads", 1) > 1:
            return False
        if self.options.get("count", 0) > contender["largest"]:
            return False
        # It differs from the other executor in what happens to cancelled tasks, and only there.
        if contender["id"] == "JdkExecutorKeeping" and self.load != "pair":
            return False
        return round_ % self.every == 0

    def commandLine(self, contender, round_):
        words = ["--contender", contender["id"], "--load", self.load, "--seed", str(round_ + 1)]
        for name, value in self.options.items():
            words += [f"--{name}", str(value)]
        return " ".join(words)


def curves(delays, counts, budget):
    for count in counts:
        options = {"count": count, "budget-ms": budget, "delays": delays}
        # Filling a multimap with ten million takes half a minute.
        yield Measurement(f"curve-{delays}", "curve", options, every=4 if count > 10**6 else 1)


def plan(size):
    """(rounds, measurements)"""
    rounds, budget, pairBudget, watch, expiring, far, late, threads = {
        "full": (9, 120, 250, 700, 500_000, 1_000_000, 1_000, 10_000),
        "quick": (3, 20, 50, 300, 50_000, 100_000, 300, 1_000),
        "smoke": (1, 5, 5, 50, 1_000, 1_000, 20, 100),
    }[size]
    top = {"full": 7, "quick": 5, "smoke": 3}[size]
    span = {"full": 700, "quick": 400, "smoke": 20}[size]
    measurements = [
        Measurement("pair", "pair", {"threads": 1, "budget-ms": pairBudget}),
        Measurement("pair-2", "pair", {"threads": 2, "budget-ms": pairBudget}),
        *curves("random", [10**e for e in range(2, top + 1)], budget),
        *curves("shorter", [10**e for e in range(2, min(top, 6) + 1)], budget),
        *curves("same", [10**e for e in range(2, min(top, 6) + 1, 2)], budget),
        Measurement("expiry", "expiry", {"count": expiring}),
        Measurement("far", "far", {"count": far, "budget-ms": watch}),
        Measurement("idle", "idle", {"count": 1, "budget-ms": watch}),
        Measurement("late-1", "late", {"count": late, "tick-us": 1_000, "budget-ms": span}),
        Measurement("late-100", "late",
                    {"count": late, "tick-us": 100_000, "budget-ms": span}, needsTick=True),
        Measurement("empty", "empty", {"count": 16}),
        Measurement("resident", "resident", {"count": threads, "budget-ms": watch}),
    ]  # fmt: skip
    return rounds, measurements


def warmUp(size):
    """What is thrown away before the first round, so that the Java compiler is done by then."""
    budget = 100 if size == "full" else 30
    return [
        Measurement("", "pair", {"threads": 1, "budget-ms": budget}),
        Measurement("", "curve", {"count": 10_000, "budget-ms": budget}),
        Measurement("", "curve", {"count": 10_000, "budget-ms": budget, "delays": "same"}),
        Measurement("", "expiry", {"count": 100_000 if size == "full" else 20_000}),
    ]


# ---- who measures ------------------------------------------------------------------------------


class Program:
    """A program that answers each line with a line of JSON."""

    def __init__(self, command, log):
        self.command, self.log = command, log
        self.start()

    def start(self):
        self.process = subprocess.Popen(self.command, stdin=subprocess.PIPE, text=True, bufsize=1,
                                        stdout=subprocess.PIPE, stderr=self.log)  # fmt: skip

    def ask(self, line):
        """The answer; if none comes, an error, and the program is started anew."""
        try:
            self.process.stdin.write(line + "\n")
            self.process.stdin.flush()
        except BrokenPipeError:
            pass  # then it does not answer either
        ready, _, _ = select.select([self.process.stdout], [], [], PATIENCE)
        answer = self.process.stdout.readline() if ready else ""
        if answer:
            return json.loads(answer)
        self.process.kill()
        status = self.process.wait()
        self.start()
        return {"error": f"no answer (exit status {status}) to {line}"}

    def close(self):
        self.process.stdin.close()
        self.process.wait(timeout=60)


def fetchJars(folder, download=True):
    """The jars of java/jars.txt as `group=path`; downloads those that are not there yet."""
    folder.mkdir(parents=True, exist_ok=True)
    jars = []
    for line in (HERE / "java" / "jars.txt").read_text().splitlines():
        if not line or line.startswith("#"):
            continue
        group, digest, path = line.split()
        jar = folder / Path(path).name
        if not jar.exists() and not download:
            raise OSError(f"{jar.name} is missing; `./dev bench compare` gets it")
        if not jar.exists():
            with urllib.request.urlopen(MAVEN_CENTRAL + path, timeout=120) as response:
                jar.with_suffix(".part").write_bytes(response.read())
            jar.with_suffix(".part").rename(jar)
        found = hashlib.sha256(jar.read_bytes()).hexdigest()
        if found != digest:
            jar.unlink()
            raise OSError(f"{jar.name}: its SHA-256 is {found} instead of {digest}")
        jars.append(f"{group}={jar}")
    return jars


def availableMemory():
    for line in Path("/proc/meminfo").read_text().splitlines():
        if line.startswith("MemAvailable"):
            return int(line.split()[1]) * 1024
    return 0


def mostThreads():
    """How many threads this machine lets a process have at most, and what says so."""
    def kernel(name):
        return int(Path("/proc/sys", name.replace(".", "/", 1)).read_text())

    limits = [(kernel(name), f"`{name}`") for name in ("kernel.pid_max", "kernel.threads-max")]
    # A stack and the page that guards it.
    limits.append((kernel("vm.max_map_count") // 2, "`vm.max_map_count`, of which each takes two"))
    users = resource.getrlimit(resource.RLIMIT_NPROC)[0]
    if users != resource.RLIM_INFINITY:
        limits.append((users, "`ulimit -u`"))
    return dict(zip(("count", "by"), min(limits)))


def startJava(build, log, jarFolder=None):
    """The Java program, or None and why not. Without a folder of jars it gets them."""
    if not shutil.which("javac"):
        return None, "there is no Java compiler on the machine (`--install-java` gets one)"
    try:
        jars = fetchJars(jarFolder or build / "jars", download=jarFolder is None)
    except OSError as problem:
        return None, f"the jars could not be had: {problem}"
    classes = build / "classes"
    shutil.rmtree(classes, ignore_errors=True)
    path = ":".join(jar.split("=", 1)[1] for jar in jars if not jar.startswith("netty-4.1="))
    sources = [str(source) for source in sorted((HERE / "java").rglob("*.java"))]
    subprocess.run(["javac", "-Xlint:all,-try", "-Werror", "-d", str(classes), "-cp", path,
                    *sources], check=True)  # fmt: skip
    gigabytes = max(1, min(8, availableMemory() // 2**30 // 2))
    # With so much room for young objects hardly a collection falls into a measurement. With Java's
    # default, what Netty burnt on a million far timers was anything from 7 to 27 % of a core from
    # one round to the next, instead of 37 to 41 %; presumably because collections move the timers.
    young = gigabytes * 1024 * 3 // 8
    command = ["java", f"-Xmx{gigabytes}g", f"-Xmn{young}m", "-cp", str(classes), "compare.Main",
               *jars]  # fmt: skip
    return Program(command, log), None


# ---- the run -----------------------------------------------------------------------------------


def interleaved(cpp, java):
    """C++ and Java contenders by turns."""
    both = [c for pair in zip(cpp, java) for c in pair]
    return both + cpp[len(java) :] + java[len(cpp) :]


def run(programs, contenders, rounds, measurements, warmUps, say):
    samples, errors = [], []
    for contender in contenders:
        for measurement in warmUps * (WARM_UP_ROUNDS if contender["kind"] == "java" else 1):
            if measurement.wants(contender, 0):
                programs[contender["kind"]].ask(measurement.commandLine(contender, 0))
    for round_ in range(rounds):
        say(f"round {round_ + 1} of {rounds}")
        first = round_ % len(contenders)
        rotated = contenders[first:] + contenders[:first]
        for measurement in measurements:
            for contender in rotated:
                if not measurement.wants(contender, round_):
                    continue
                began = time.monotonic()
                values = programs[contender["kind"]].ask(measurement.commandLine(contender, round_))
                where = {"measurement": measurement.name, "contender": contender["id"],
                         "round": round_, "seconds": round(time.monotonic() - began, 2),
                         **measurement.options}  # fmt: skip
                if "error" in values:
                    say(f"{contender['id']}, {measurement.name}: {values['error']}")
                    errors.append({**where, "error": values["error"]})
                else:
                    samples.append({**where, "values": values})
    return samples, errors


def contendersOf(kind, all_):
    found = [{**contender, "kind": kind} for contender in all_]
    # The one that all are compared with comes first.
    return sorted(found, key=lambda contender: contender["id"] != "SystemTimer")


def expectAll(contenders, measurements, samples):
    """For the smoke test: each contender was measured under each load that it takes part in."""
    measured = {(s["contender"], s["measurement"]) for s in samples}
    for measurement in measurements:
        for contender in contenders:
            if measurement.wants(contender, 0):
                assert (contender["id"], measurement.name) in measured, (contender, measurement)


def conduct(options, rounds, measurements, warmUps, takesPart=lambda contender: True):
    """Does what is asked for with both programs. Returns what belongs into the file."""
    began = time.monotonic()
    options.build.mkdir(parents=True, exist_ok=True)

    def say(text):
        print(f"== {time.monotonic() - began:4.0f} s: {text}", flush=True)

    with open(options.build / "stderr.log", "w", encoding="utf-8") as log:
        java, whyNoJava = (None, "it was not wanted (`--no-java`)") if options.no_java \
            else startJava(options.build, log, options.jars)  # fmt: skip
        if java is None:
            say(f"without Java: {whyNoJava}")
        listed = subprocess.run([options.program, "--list"], capture_output=True, check=True)
        built = json.loads(listed.stdout)
        cppContenders = contendersOf("cpp", filter(takesPart, built))
        javaContenders = contendersOf("java", filter(takesPart, java.ask("--list") if java else []))
        contenders = interleaved(cppContenders, javaContenders)

        machine = describeMachine(java is not None)
        programs = {"cpp": Program([options.program, "--serve"], log), "java": java}
        samples, errors = run(programs, contenders, rounds, measurements, warmUps, say)
        for program in programs.values():
            if program:
                program.close()

    machine["loadAfter"] = os.getloadavg()[0]
    say(f"{len(samples)} measurements")
    return {
        "command": options.command,
        "size": options.size,
        "date": datetime.date.today().isoformat(),
        "seconds": round(time.monotonic() - began),
        "rounds": rounds,
        "machine": machine,
        "whyNoJava": whyNoJava,
        "mostThreads": mostThreads(),
        "contenders": cppContenders + javaContenders,
        "leftOut": [contender for contender in built if not takesPart(contender)],
        "errors": errors,
        "samples": samples,
    }


def parser(description, command):
    """The options that conduct() needs."""
    made = argparse.ArgumentParser(description=description.split("\n", maxsplit=1)[0])
    made.add_argument("program", type=Path, help="timingwheel-benchmark-compare")
    made.add_argument("build", type=Path, help="where everything goes")
    made.add_argument("--rounds", type=arguments.rounds,
                      help="how many, instead of what the size says")  # fmt: skip
    made.add_argument("--no-java", action="store_true")
    made.add_argument("--jars", type=Path, help="where they are; without that they are downloaded")
    made.add_argument("--command", default=command, help="what the page says")
    return made


def main():
    made = parser(__doc__, "./dev bench compare")
    made.add_argument("--size", choices=["full", "quick", "smoke"], default="full")
    options = made.parse_args()
    smoke = options.size == "smoke"
    rounds, measurements = plan(options.size)
    result = conduct(options, options.rounds or rounds, measurements,
                     [] if smoke else warmUp(options.size),
                     takesPart=lambda contender: not contender.get("variant"))  # fmt: skip
    file = options.build / "results.json"
    file.write_text(json.dumps(result, indent=1), encoding="utf-8")
    print(f"== {file}")
    if smoke:
        expectAll(result["contenders"], measurements, result["samples"])
        sys.exit(1 if result["errors"] else 0)


if __name__ == "__main__":
    main()
