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
from collections import defaultdict
from contextlib import suppress
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

    def ask(self, contender, round_):
        options = {"contender": contender["id"], "load": self.load, "seed": round_ + 1,
                   **self.options}  # fmt: skip
        line = " ".join(f"--{name} {value}" for name, value in options.items())
        return contender["program"].ask(line)


class Program:
    """A program that answers each line with a line of JSON, and ends when its input does."""

    def __init__(self, command, log):
        self.command, self.log = command, log
        self.start()

    def start(self):
        self.process = subprocess.Popen(self.command, stdin=subprocess.PIPE, text=True, bufsize=1,
                                        stdout=subprocess.PIPE, stderr=self.log)  # fmt: skip

    def ask(self, line):
        """The answer. A program that was ended from outside is started anew and asked again."""
        for _ in range(2):
            with suppress(BrokenPipeError):  # then it does not answer either
                self.process.stdin.write(line + "\n")
            ready, _, _ = select.select([self.process.stdout], [], [], PATIENCE)
            if ready and (answer := self.process.stdout.readline()):
                values = json.loads(answer)
                return sys.exit(f"{line}: {values['error']}") if "error" in values else values
            self.process.kill()
            status = self.process.wait()
            self.start()
        sys.exit(f"no answer (exit status {status}) to {line}")


def summary(values):
    """[median, lower quartile, upper quartile] of the rounds; of fewer than five, the ends."""
    low, median, high = min(values), statistics.median(values), max(values)
    if len(values) >= 5:
        low, median, high = statistics.quantiles(values, n=4, method="inclusive")
    return [float(f"{value:.4g}") for value in (median, low, high)]


def summarised(samples):
    """The cells of [(measurement, contender, values)]."""
    lists = defaultdict(lambda: defaultdict(lambda: defaultdict(list)))
    for name, who, values in samples:
        for metric, value in values.items():
            lists[name][who][metric].append(value)
    return {name: {who: {metric: summary(values) for metric, values in metrics.items()}
                   for who, metrics in found.items()} for name, found in lists.items()}  # fmt: skip


def wide(samples, claimed):
    """The (measurement, contender) whose rounds spread more than a table claims."""
    return {(name, who) for name, found in summarised(samples).items()
            for who, metrics in found.items() for metric, values in metrics.items()
            if (name, metric) in claimed and isWide(values)}  # fmt: skip


class Run:
    """One run of a command, and what will be recorded of it."""

    def __init__(self, command, size, javaRuns=False):
        self.command, self.size, self.began = command, size, time.monotonic()
        self.machine = describeMachine(javaRuns)

    def say(self, what):
        print(f"== {time.monotonic() - self.began:4.0f} s: {what}", flush=True)

    def rounds(self, count):
        for round_ in range(count):
            self.say(f"round {round_ + 1} of {count}")
            yield

    def record(self, rounds, cells, **more):
        """`cells` is {measurement: {who: {metric: summary}}}."""
        self.machine["loadAfter"] = round(os.getloadavg()[0], 2)
        return {"command": self.command, "size": self.size,
                "date": datetime.date.today().isoformat(),
                "seconds": round(time.monotonic() - self.began), "rounds": rounds,
                "machine": self.machine, **more, "cells": cells}  # fmt: skip


def started(options, log, hasJava):
    """The contenders, each with its program."""
    commands = [[options.programs / f"timingwheel-benchmark-{name}", "--serve"]
                for name in ("timers", "queues")]  # fmt: skip
    if hasJava:
        commands.append(jvm.command(options.build))
    programs = [Program(command, log) for command in commands]
    return [{**one, "program": program} for program in programs for one in program.ask("--list")]


def conduct(run, options, measurements, rounds, hasJava=False, claimed=()):
    """(cells, {who: (title, usage)}) of all rounds; ends the program if a measurement failed.
    `claimed`, of which (measurement, metric) a table claims that the rounds do not spread: where
    they do there are up to twice as many."""
    samples, known = [], {}
    with open(options.build / "stderr.log", "w", encoding="utf-8") as log:
        contenders = started(options, log, hasJava)
        for measurement in measurements:
            for contender in contenders:  # once before, so that the Java compiler is done
                if contender["program"].command[0] == "java" and measurement.wants(contender, 0):
                    measurement.ask(contender, 0)
        for round_ in range(2 * rounds):
            spread = wide(samples, claimed) if round_ >= rounds else set()
            if round_ >= rounds and (run.size != "full" or not spread):
                break
            run.say(f"round {round_ + 1}" + (f", of {len(spread)} that spread" if spread else ""))
            first = round_ % len(contenders)
            for measurement in measurements:
                for contender in contenders[first:] + contenders[:first]:
                    who = contender["id"]
                    isWanted = not spread or (measurement.name, who) in spread
                    if isWanted and measurement.wants(contender, round_):
                        samples.append((measurement.name, who, measurement.ask(contender, round_)))
                        known[who] = contender["title"], contender["usage"]
    return summarised(samples), known
