#!/usr/bin/env python3
"""Random operations go through the originals in Java and through what is here, and are compared.

The originals are Kafka's timing wheel and Netty's HashedWheelTimer, as they were released. A
recorder in Java does the operations to one of them, on a clock set by hand, and writes down every
event; a program in C++ reads that, does the same, and compares line by line. Every run takes
another seed, prints it, and draws from it the shape of each trace. On the first difference this
says where it is and how to run that trace alone.

Exits with 77, and says why, where there is no Java or the jars cannot be had.
"""

import argparse
import http.client
import random
import re
import secrets
import shutil
import subprocess
import sys
import time
import zipfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "benchmark" / "page"))
from jvm import fetchJars  # noqa: E402

SKIPPED = 77
OLDEST_JAVA = 17  # the recorders are written for it
SHOWN = 12  # lines before a difference
PATIENCE = 500  # seconds

# ---- what is compared --------------------------------------------------------------------------


def upTo(draw, most):
    """As often of one size as of another."""
    return draw.randint(1, min(most, 2 ** draw.randint(1, most.bit_length())))


def kafkaShape(draw):
    """What its recorder wants to know, in that order; milliseconds."""
    return {
        "tick": draw.choice([1, 1, draw.randint(2, 10), draw.randint(1, 1000)]),
        "wheelSize": draw.choice([2, 3, 20, draw.randint(2, 64), draw.randint(2, 512)]),
        "start": draw.choice([0, 0, draw.randrange(10**6), draw.randrange(2**41, 2**55)]),
        "operations": 100 + upTo(draw, 20_000),
        "bits": draw.randint(1, 40),
        "seed": draw.randrange(2**62),
    }


def nettyShape(draw):
    """The same; nanoseconds. A tick of less than 1 ms becomes 1 ms."""
    return {
        "tick": draw.choice([10**6, 10**8, draw.randint(1, 10**6), draw.randint(10**6, 10**9)]),
        "ticksPerWheel": draw.choice([1, 2, 8, 512, draw.randint(1, 64), draw.randint(1, 1024)]),
        "start": draw.choice([1, draw.randint(1, 10**15), draw.randint(-(2**61), 2**61)]),
        "maxPending": draw.choice([0, 0, draw.randint(1, 100)]),
        "operations": 100 + upTo(draw, 20_000),
        "bits": draw.randint(10, 45),
        "seed": draw.randrange(2**62),
    }


ORIGINALS = {
    # name: (its jars in jars.txt, folder of the recorder, recorder, shape, operations)
    "kafka": ("kafka", "kafka", "org.apache.kafka.server.util.timer.WheelRecorder", kafkaShape,
              5_000_000),
    "netty-4.1": ("netty-4.1", "netty", "differential.TimerRecorder", nettyShape, 2_000_000),
    "netty-4.2": ("netty-4.2", "netty", "differential.TimerRecorder", nettyShape, 2_000_000),
}  # fmt: skip


def describe(shape):
    return ", ".join(f"{name} {value}" for name, value in shape.items())


# ---- the recorder ------------------------------------------------------------------------------


def skip(why):
    print(f"skipped: {why}")
    sys.exit(SKIPPED)


def constant(text):
    """As it stands in the constants of a Java class."""
    return b"\x01" + len(text).to_bytes(2, "big") + text.encode()


def setClockByHand(jar, classes):
    """Puts Netty's timer into `classes`, as it is but for whom it asks for the time."""
    patched = 0
    with zipfile.ZipFile(jar) as archive:
        for name in archive.namelist():
            if not name.startswith("io/netty/util/HashedWheelTimer"):
                continue
            original = archive.read(name)
            changed = original.replace(constant("java/lang/System"),
                                       constant("differential/HandSetClock"))  # fmt: skip
            patched += changed != original
            target = classes / name
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(changed)
    assert patched > 0, f"{jar} has no timer that asks System for the time"


def compileRecorder(original, build):
    """The command that runs it."""
    for program in ("javac", "java"):
        if not shutil.which(program):
            skip(f"there is no {program} on this machine (Debian: default-jdk-headless)")
    said = subprocess.run(["javac", "-version"], capture_output=True, text=True, check=True)
    version = (said.stdout + said.stderr).split()[-1]  # Java 8 says it on stderr
    if int(re.match(r"\d+", version)[0]) < OLDEST_JAVA:
        skip(f"javac is of Java {version}, Java {OLDEST_JAVA} is needed")
    try:
        jars = [jar.split("=", 1) for jar in fetchJars(build / "jars")]
    except (OSError, http.client.HTTPException) as problem:
        skip(f"the jars could not be had from Maven Central: {problem}")
    group, folder, recorder, _, _ = ORIGINALS[original]
    path = ":".join(jar for itsGroup, jar in jars if itsGroup == group)
    classes = build / original / "classes"
    shutil.rmtree(classes, ignore_errors=True)
    sources = sorted(str(source) for source in (HERE / "java" / folder).glob("*.java"))
    subprocess.run(["javac", "-Xlint:all", "-Werror", "-d", classes, "-cp", path, *sources],
                   check=True)  # fmt: skip
    if folder == "netty":
        setClockByHand(path, classes)
    return ["java", "-Xmx512m", "-XX:+UseSerialGC", "-cp", f"{classes}:{path}", recorder]


def orders(build, chosen):
    """What the recorder is told, as a file."""
    file = build / "shapes.txt"
    file.write_text("".join(" ".join(map(str, shape.values())) + "\n" for shape in chosen))
    return open(file, encoding="ascii")


# ---- the comparison ----------------------------------------------------------------------------


class Comparison:
    def __init__(self, options):
        self.original, self.replay, self.seed = options.original, options.replay, options.seed
        self.build = options.build / self.original
        self.recorder = compileRecorder(self.original, options.build)

    def shape(self, trace):
        return ORIGINALS[self.original][3](random.Random(f"{self.seed}/{trace}"))

    def shapes(self, operations):
        """As many as it takes for so many operations."""
        found = []
        while operations > 0:
            found.append(self.shape(len(found)))
            operations -= found[-1]["operations"]
        return found

    def run(self, chosen):
        """The number of lines, or the difference: trace, line, expected and actual."""
        log = self.build / "recorder.log"
        with orders(self.build, chosen) as told, open(log, "w", encoding="utf-8") as errors:
            java = subprocess.Popen(self.recorder, stdin=told, stdout=subprocess.PIPE,
                                    stderr=errors)  # fmt: skip
            cpp = subprocess.Popen([self.replay, self.original.split("-", maxsplit=1)[0]],
                                   stdin=java.stdout, stdout=subprocess.PIPE,
                                   text=True)  # fmt: skip
            java.stdout.close()  # so that the recorder ends when the replay does
            try:
                said = cpp.communicate(timeout=PATIENCE)[0].splitlines()
            except subprocess.TimeoutExpired:
                java.kill()
                cpp.kill()
                sys.exit(f"with this seed there is no end after {PATIENCE} s")
            failed = java.wait()
        if cpp.returncode == 0 and not failed and said[0] == str(len(chosen)):
            return int(said[1]), None
        if cpp.returncode != 1:
            sys.exit(f"with this seed the recorder ended with {failed} ({log}), the replay with "
                     f"{cpp.returncode}")  # fmt: skip
        trace, line, expected, actual = said
        return 0, (int(trace) - 1, int(line), expected, actual)

    def report(self, shape, trace, difference):
        _, line, expected, actual = difference
        file = self.build / f"trace-{self.seed}-{trace}.txt"
        with orders(self.build, [shape]) as told, open(file, "w", encoding="ascii") as out:
            subprocess.run(self.recorder, stdin=told, stdout=out, check=True)
        before = file.read_text().splitlines()[max(0, line - 1 - SHOWN):line - 1]
        print(f"seed {self.seed}, trace {trace} ({describe(shape)})")
        print(f"differs in line {line} of {file}:")
        print("".join(f"{'':12}{text}\n" for text in before), end="")
        print(f"  {self.original:>9} {expected}")
        print(f"  {'here':>9} {actual}")
        print("this trace alone:")
        print(f"  {Path(__file__).resolve()} {self.original} {self.replay.resolve()} "
              f"{self.build.parent.resolve()} --seed {self.seed} --trace {trace}")  # fmt: skip


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("original", choices=ORIGINALS)
    parser.add_argument("replay", type=Path, help="timingwheel-differential-replay")
    parser.add_argument("build", type=Path, help="where jars, classes and traces go")
    parser.add_argument("--seed", type=int, default=secrets.randbits(32))
    parser.add_argument("--operations", type=int, help="about so many")
    parser.add_argument("--trace", type=int, help="only this one of the seed's traces")
    options = parser.parse_args()

    comparison = Comparison(options)
    began = time.monotonic()
    print(f"seed {options.seed}", flush=True)
    first, chosen = 0, []
    if options.trace is None:
        chosen = comparison.shapes(options.operations or ORIGINALS[options.original][4])
    else:
        first, chosen = options.trace, [comparison.shape(options.trace)]
    lines, difference = comparison.run(chosen)
    if difference is not None:
        comparison.report(chosen[difference[0]], first + difference[0], difference)
        sys.exit(1)
    operations = sum(shape["operations"] for shape in chosen)
    print(f"no difference: {len(chosen)} traces, {operations} operations, {lines} lines, "
          f"{time.monotonic() - began:.0f} s")  # fmt: skip


if __name__ == "__main__":
    main()
