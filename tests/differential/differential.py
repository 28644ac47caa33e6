#!/usr/bin/env python3
"""Random operations go through Kafka's own timing wheel and through this one, and are compared.

A recorder in Java does them to Kafka's released classes and writes down every event, in the format
of tests/golden/*.trace; a program in C++ reads that, does the same, and compares line by line.
Every run takes another seed, prints it, and draws from it the shape of each trace. On the first
difference this says where it is and how to run that trace alone.

Exits with 77, and says why, where there is no Java or the jars cannot be had.
"""

import argparse
import http.client
import random
import secrets
import shutil
import subprocess
import sys
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "benchmark" / "compare"))
from compare import fetchJars  # noqa: E402

SKIPPED = 77
SHOWN = 12  # lines before a difference


def upTo(draw, most):
    """As often of one size as of another."""
    return draw.randint(1, min(most, 2 ** draw.randint(1, most.bit_length())))


def kafkaShape(draw):
    """tick wheelSize start operations bits seed"""
    return {
        "tick": draw.choice([1, 1, draw.randint(2, 10), draw.randint(1, 1000)]),
        "wheelSize": draw.choice([2, 3, 20, draw.randint(2, 64), draw.randint(2, 512)]),
        "start": draw.choice([0, 0, draw.randrange(10**6), draw.randrange(2**41, 2**55)]),
        "operations": 100 + upTo(draw, 20_000),
        "bits": draw.randint(1, 40),
        "seed": draw.randrange(2**62),
    }


def shapes(seed, operations):
    """As many as it takes for so many operations."""
    found = []
    while operations > 0:
        found.append(kafkaShape(random.Random(f"{seed}/{len(found)}")))
        operations -= found[-1]["operations"]
    return found


def describe(shape):
    return ", ".join(f"{name} {value}" for name, value in shape.items())


# ---- the recorder ------------------------------------------------------------------------------


def skip(why):
    print(f"skipped: {why}")
    sys.exit(SKIPPED)


def compileRecorder(build):
    """The command that runs it."""
    for program in ("javac", "java"):
        if not shutil.which(program):
            skip(f"there is no {program} on this machine (Debian: default-jdk-headless)")
    try:
        jars = dict(group.split("=", 1)[::-1] for group in fetchJars(build / "jars"))
    except (OSError, http.client.HTTPException) as problem:
        skip(f"the jars could not be had from Maven Central: {problem}")
    path = ":".join(jar for jar, group in jars.items() if group == "kafka")
    classes = build / "classes"
    shutil.rmtree(classes, ignore_errors=True)
    sources = sorted(str(source) for source in (HERE / "java").glob("*.java"))
    subprocess.run(["javac", "-Xlint:all", "-Werror", "-d", classes, "-cp", path, *sources],
                   check=True)  # fmt: skip
    return ["java", "-Xmx512m", "-XX:+UseSerialGC", "-cp", f"{classes}:{path}",
            "org.apache.kafka.server.util.timer.WheelRecorder"]  # fmt: skip


def orders(build, chosen):
    """What the recorder is told, as a file."""
    file = build / "shapes.txt"
    file.write_text("".join(" ".join(map(str, s.values())) + "\n" for s in chosen))
    return open(file, encoding="ascii")


# ---- the comparison ----------------------------------------------------------------------------


def compare(recorder, replay, build, chosen):
    """What the replay says: None and the number of lines, or the difference and nothing."""
    with orders(build, chosen) as told, open(build / "recorder.log", "w") as log:
        java = subprocess.Popen(recorder, stdin=told, stdout=subprocess.PIPE, stderr=log)
        cpp = subprocess.Popen([replay], stdin=java.stdout, stdout=subprocess.PIPE, text=True)
        java.stdout.close()  # so that the recorder ends when the replay does
        said = cpp.communicate()[0].splitlines()
        failed = java.wait()
    if cpp.returncode == 0 and not failed and said[0] == str(len(chosen)):
        return None, int(said[1])
    if cpp.returncode != 1:
        sys.exit(f"with this seed the recorder ended with {failed} ({build / 'recorder.log'}), "
                 f"the replay with {cpp.returncode}")  # fmt: skip
    number, line, expected, actual = said
    return (int(number) - 1, int(line), expected, actual), 0


def report(recorder, build, shape, options, difference, trace):
    _, line, expected, actual = difference
    file = build / f"trace-{options.seed}-{trace}.txt"
    with orders(build, [shape]) as told, open(file, "w") as out:
        subprocess.run(recorder, stdin=told, stdout=out, check=True)
    before = file.read_text().splitlines()[max(0, line - 1 - SHOWN):line - 1]
    print(f"seed {options.seed}, trace {trace} ({describe(shape)})")
    print(f"differs in line {line} of {file}:")
    print("".join(f"         {text}\n" for text in before), end="")
    print(f"  Kafka: {expected}")
    print(f"  here:  {actual}")
    print("this trace alone:")
    print(f"  python3 -B {Path(__file__).resolve()} {options.replay.resolve()} {build.resolve()} "
          f"--seed {options.seed} --trace {trace}")  # fmt: skip


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("replay", type=Path, help="timingwheel-differential-replay")
    parser.add_argument("build", type=Path, help="where jars, classes and traces go")
    parser.add_argument("--seed", type=int, default=secrets.randbits(32))
    parser.add_argument("--operations", type=int, default=5_000_000, help="about so many")
    parser.add_argument("--trace", type=int, help="only this one of the seed's traces")
    options = parser.parse_args()

    options.build.mkdir(parents=True, exist_ok=True)
    recorder = compileRecorder(options.build)
    began = time.monotonic()
    print(f"seed {options.seed}", flush=True)
    chosen = shapes(options.seed, options.operations)
    first = 0
    if options.trace is not None:
        first = options.trace
        chosen = [kafkaShape(random.Random(f"{options.seed}/{first}"))]
    difference, lines = compare(recorder, options.replay, options.build, chosen)
    if difference is not None:
        shape = chosen[difference[0]]
        report(recorder, options.build, shape, options, difference, first + difference[0])
        sys.exit(1)
    operations = sum(shape["operations"] for shape in chosen)
    print(f"no difference: {len(chosen)} traces, {operations} operations, {lines} lines, "
          f"{time.monotonic() - began:.0f} s")  # fmt: skip


if __name__ == "__main__":
    main()
