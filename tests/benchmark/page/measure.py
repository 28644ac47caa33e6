"""Measures what a plan asks for: round by round, all contenders by turns.

A program in C++ and one in Java measure one thing at a time, as a line on their input says. In each
round each measurement goes through all contenders before the next one begins, and each round begins
with another contender.
"""

import datetime
import json
import os
import select
import statistics
import subprocess
import sys
import time
from dataclasses import dataclass

import jvm
from about import describeMachine
from tables import isWide

PATIENCE = 300  # seconds for one measurement


@dataclass
class Measurement:
    """One load with its options, asked of each contender once a round."""

    name: str
    load: str
    options: dict
    who: tuple | None = None  # the only ones that are asked; None: whoever can do it
    rounds: int | None = None  # in the first ones only

    def wants(self, contender, round_):
        return (self.load in contender["loads"]
                and (self.who is None or contender["id"] in self.who)
                and self.options.get("count", 0) <= contender.get("largest", 10**9)
                and (self.rounds is None or round_ < self.rounds))  # fmt: skip

    def commandLine(self, contender, round_):
        options = {"contender": contender["id"], "load": self.load, "seed": round_ + 1,
                   **self.options}  # fmt: skip
        return " ".join(f"--{name} {value}" for name, value in options.items())


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


def summary(values):
    """[median, lower quartile, upper quartile] of the rounds; of fewer than five, the ends."""
    values = sorted(values)
    if len(values) < 5:
        return [statistics.median(values), values[0], values[-1]]
    low, median, high = statistics.quantiles(values, n=4, method="inclusive")
    return [median, low, high]


class Run:
    """One run of a command, and what will be recorded of it."""

    def __init__(self, command, size, javaRuns=False):
        self.command, self.size, self.began = command, size, time.monotonic()
        self.machine = describeMachine(javaRuns)

    def say(self, what):
        print(f"== {time.monotonic() - self.began:4.0f} s: {what}", flush=True)

    def record(self, rounds, cells, **more):
        """`cells` is {measurement: {who: {metric: summary}}}."""
        self.machine["loadAfter"] = round(os.getloadavg()[0], 2)
        return {"command": self.command, "size": self.size,
                "date": datetime.date.today().isoformat(),
                "seconds": round(time.monotonic() - self.began), "rounds": rounds,
                "machine": self.machine, **more, "cells": cells}  # fmt: skip


def summarised(samples):
    """The cells of [(measurement, contender, values)]."""
    lists, cells = {}, {}
    for name, who, values in samples:
        for metric, value in values.items():
            lists.setdefault((name, who, metric), []).append(value)
    for (name, who, metric), values in lists.items():
        digits = [float(f"{value:.4g}") for value in summary(values)]
        cells.setdefault(name, {}).setdefault(who, {})[metric] = digits
    return cells


def conduct(run, paths, measurements, rounds, build, hasJava=False, claimed=()):
    """(cells, {who: (title, usage)}) of all rounds; ends the program if a measurement failed.
    `paths` are programs in C++; `claimed`, of which (measurement, metric) a table claims that the
    rounds do not spread."""
    build.mkdir(parents=True, exist_ok=True)
    samples, problems, known = [], [], {}
    with open(build / "stderr.log", "w", encoding="utf-8") as log:
        programs = [Program([path, "--serve"], log) for path in paths]
        contenders = []
        for path, program in zip(paths, programs):
            listed = subprocess.run([path, "--list"], capture_output=True, check=True).stdout
            contenders += [{**one, "program": program} for one in json.loads(listed)]
        if hasJava:
            java = Program(jvm.command(build), log)
            programs.append(java)
            contenders += [{**one, "program": java} for one in java.ask("--list")]
            for contender in contenders:
                for measurement in measurements:  # so that the Java compiler is done
                    if contender["program"] is java and measurement.wants(contender, 0):
                        java.ask(measurement.commandLine(contender, 0))
        def ask(measurement, contender, round_):
            known[contender["id"]] = contender["title"], contender["usage"]
            for _ in range(2):  # a program that was ended from outside is asked once more
                values = contender["program"].ask(measurement.commandLine(contender, round_))
                if "error" not in values:
                    break
            if "error" in values:
                problems.append(f"{contender['id']}, {measurement.name}: {values['error']}")
            else:
                samples.append((measurement.name, contender["id"], values))

        for round_ in range(2 * rounds):
            first, wide = round_ % len(contenders), None
            if round_ >= rounds:  # once more where they spread more than a table claims
                wide = {(name, who) for name, found in summarised(samples).items()
                        for who, metrics in found.items() for metric, summary in metrics.items()
                        if (name, metric) in claimed and isWide(summary)}  # fmt: skip
                if not wide or run.size != "full":
                    break
            run.say(f"round {round_ + 1}" + (f", of {len(wide)} that spread" if wide else ""))
            for measurement in measurements:
                for contender in contenders[first:] + contenders[:first]:
                    isWanted = not wide or (measurement.name, contender["id"]) in wide
                    if isWanted and measurement.wants(contender, round_):
                        ask(measurement, contender, round_)
        for program in programs:
            program.close()
    if problems:
        sys.exit("\n".join(problems))
    cells = summarised(samples)
    for measurement in measurements:
        if measurement.name not in {name for name, _, _ in samples}:
            sys.exit(f"nothing was measured: {measurement.name}")
    return cells, known
