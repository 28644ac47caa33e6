"""Measures what a plan asks for: round by round, all contenders by turns.

A program in C++ and one in Java measure one thing at a time, and are told what to measure line by
line. So everything happens in one run, interleaved: in each round each measurement goes through all
contenders before the next one begins, and each round begins with another contender.
"""

import datetime
import json
import os
import resource
import select
import subprocess
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import jvm
from about import describeMachine

PATIENCE = 300  # seconds for one measurement
WARM_UP_ROUNDS = 2


@dataclass
class Measurement:
    """One load with its options, asked of each contender once a round."""

    name: str
    load: str
    options: dict
    needsTick: bool = False  # leaves out those who have none
    who: tuple | None = None  # the only ones that are asked; None: whoever can do it
    every: int = 1  # in every so many rounds only: where a round takes long
    rounds: int | None = None  # in the first ones only

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
        return round_ % self.every == 0 and (self.rounds is None or round_ < self.rounds)

    def commandLine(self, contender, round_):
        words = ["--contender", contender["id"], "--load", self.load]
        for name, value in {"seed": round_ + 1, **self.options}.items():
            words += [f"--{name}", str(value)]
        return " ".join(words)


@dataclass
class Plan:
    """What is measured for a page, by which program."""

    program: str  # or several, with a blank between them
    rounds: int
    measurements: list
    warmUps: tuple = ()  # what is thrown away before the first round
    takesPart: Callable = lambda contender: True
    first: Callable = lambda contender: 0  # the order of the contenders
    hasJava: bool = False
    jars: Path | None = None  # where they are; without that they are downloaded
    finish: Callable = lambda run: run  # makes what is written of what was measured


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


def listed(program):
    """The contenders of a program in C++."""
    return json.loads(subprocess.run([program, "--list"], capture_output=True, check=True).stdout)


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


# ---- the run -----------------------------------------------------------------------------------


def interleaved(cpp, java):
    """C++ and Java contenders by turns."""
    both = [c for pair in zip(cpp, java) for c in pair]
    return both + cpp[len(java) :] + java[len(cpp) :]


def run(programs, contenders, plan, say):
    """(samples, errors) of all rounds."""
    samples, errors = [], []

    def ask(contender, measurement, round_):
        program = programs["java" if contender["kind"] == "java" else contender["program"]]
        return program.ask(measurement.commandLine(contender, round_))

    for contender in contenders:
        times = WARM_UP_ROUNDS if contender["kind"] == "java" else 1
        for measurement in [*plan.warmUps] * times:
            if measurement.wants(contender, 0):
                ask(contender, measurement, 0)
    for round_ in range(plan.rounds):
        say(f"round {round_ + 1} of {plan.rounds}")
        first = round_ % len(contenders)
        rotated = contenders[first:] + contenders[:first]
        for measurement in plan.measurements:
            for contender in rotated:
                if not measurement.wants(contender, round_):
                    continue
                began = time.monotonic()
                values = ask(contender, measurement, round_)
                where = {"measurement": measurement.name, "contender": contender["id"],
                         "round": round_, "seconds": round(time.monotonic() - began, 2),
                         **measurement.options}  # fmt: skip
                if "error" in values:
                    say(f"{contender['id']}, {measurement.name}: {values['error']}")
                    errors.append({**where, "error": values["error"]})
                else:
                    samples.append({**where, "values": values})
    return samples, errors


def missing(contenders, measurements, samples):
    """For a smoke test: who was not measured under a load in which it takes part."""
    measured = {(s["contender"], s["measurement"]) for s in samples}
    return [f"{contender['id']} was not measured: {measurement.name}"
            for measurement in measurements for contender in contenders
            if measurement.wants(contender, 0)
            and (contender["id"], measurement.name) not in measured]  # fmt: skip


def conduct(plan, options):
    """Does what is planned. Returns what belongs into the file, and what went wrong."""
    began = time.monotonic()
    options.build.mkdir(parents=True, exist_ok=True)

    def say(text):
        print(f"== {time.monotonic() - began:4.0f} s: {text}", flush=True)

    with open(options.build / "stderr.log", "w", encoding="utf-8") as log:
        java, whyNoJava = None, None
        if plan.hasJava:
            java, whyNoJava = (None, "it was not wanted (`--no-java`)") if options.no_java \
                else jvm.startJava(Program, options.build, log, options.jars or plan.jars)
            if java is None:
                say(f"without Java: {whyNoJava}")
        paths = {name: options.programs / f"timingwheel-benchmark-{name}"
                 for name in plan.program.split()}  # fmt: skip
        built = [{**contender, "program": name} for name, path in paths.items()
                 for contender in listed(path)]  # fmt: skip
        cppContenders = sorted(filter(plan.takesPart, built), key=plan.first)
        javaContenders = [{**contender, "kind": "java"}
                          for contender in (java.ask("--list") if java else [])
                          if plan.takesPart(contender)]  # fmt: skip
        contenders = interleaved(cppContenders, javaContenders)

        machine = describeMachine(java is not None)
        programs = {name: Program([path, "--serve"], log) for name, path in paths.items()}
        programs["java"] = java
        samples, errors = run(programs, contenders, plan, say)
        for running in filter(None, programs.values()):
            running.close()

    machine["loadAfter"] = os.getloadavg()[0]
    say(f"{len(samples)} measurements")
    problems = [f"{e['contender']}, {e['measurement']}: {e['error']}" for e in errors]
    problems += missing(contenders, plan.measurements, samples)
    return plan.finish({
        "command": options.command,
        "size": options.size,
        "date": datetime.date.today().isoformat(),
        "seconds": round(time.monotonic() - began),
        "rounds": plan.rounds,
        "machine": machine,
        "whyNoJava": whyNoJava,
        "mostThreads": mostThreads(),
        "contenders": cppContenders + javaContenders,
        "leftOut": [contender for contender in built if not plan.takesPart(contender)],
        "errors": errors,
        "samples": samples,
    }), problems
