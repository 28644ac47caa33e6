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
import secrets
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "benchmark" / "page"))
from jvm import compileJava, fetchJars  # noqa: E402

SKIPPED = 77


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


ORIGINALS = {  # name, and group in jars.txt: folder of the recorder, recorder, shape, operations
    "kafka": ("kafka", "org.apache.kafka.server.util.timer.WheelRecorder", kafkaShape, 5_000_000),
    "netty-4.1": ("netty", "differential.TimerRecorder", nettyShape, 2_000_000),
    "netty-4.2": ("netty", "differential.TimerRecorder", nettyShape, 2_000_000),
}


def constant(text):
    """As it stands in the constants of a Java class."""
    return b"\x01" + len(text).to_bytes(2, "big") + text.encode()


def setClockByHand(jar, classes):
    """Puts Netty's timer into `classes`, as it is but for whom it asks for the time."""
    with zipfile.ZipFile(jar) as archive:
        names = [name for name in archive.namelist()
                 if name.startswith("io/netty/util/HashedWheelTimer")]  # fmt: skip
        archive.extractall(classes, names)
    code = {classes / name: (classes / name).read_bytes() for name in names}
    asked, set_ = constant("java/lang/System"), constant("differential/HandSetClock")
    assert any(asked in one for one in code.values()), f"{jar}: no timer asks System for the time"
    for file, one in code.items():
        file.write_bytes(one.replace(asked, set_))


def compileRecorder(original, build):
    """The command that runs it. Raises OSError if there is no Java, or no jar."""
    folder, recorder, _, _ = ORIGINALS[original]
    jars = [jar for group, jar in fetchJars(build / "jars") if group == original]
    classes = build / original / "classes"
    compileJava(classes, jars, (HERE / "java" / folder).glob("*.java"))
    if folder == "netty":
        setClockByHand(*jars, classes)
    path = ":".join([str(classes), *jars])
    return ["java", "-Xmx512m", "-XX:+UseSerialGC", "-cp", path, recorder]


def shapeOf(options, trace):
    _, _, shape, _ = ORIGINALS[options.original]
    return shape(random.Random(f"{options.seed}/{trace}"))


def enough(options):
    """{number of a trace: its shape}: as many as the original's number of operations takes."""
    shapes, left = {}, ORIGINALS[options.original][3]
    while left > 0:
        shapes[len(shapes)] = shape = shapeOf(options, len(shapes))
        left -= shape["operations"]
    return shapes


def record(recorder, shapes, **where):
    """Starts the recorder, which reads a line for each trace."""
    lines = "".join(" ".join(map(str, shape.values())) + "\n" for shape in shapes)
    with tempfile.TemporaryFile("w+") as told:
        told.write(lines)
        told.seek(0)
        return subprocess.Popen(recorder, stdin=told, **where)


def report(options, recorder, trace, line, expected, actual):
    shape = shapeOf(options, trace)
    file = options.build / options.original / f"trace-{options.seed}-{trace}.txt"
    with open(file, "w", encoding="ascii") as out:
        record(recorder, [shape], stdout=out).wait()
    sys.exit(f"seed {options.seed}, trace {trace}, {shape}\n"
             f"differs in line {line} of {file}:\n"
             f"  {options.original:>9} {expected}\n"
             f"  {'here':>9} {actual}\n"
             "this trace alone:\n"
             f"  {Path(__file__).resolve()} {options.original} {options.replay.resolve()} "
             f"{options.build.resolve()} --seed {options.seed} --trace {trace}")  # fmt: skip


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("original", choices=ORIGINALS)
    parser.add_argument("replay", type=Path, help="timingwheel-differential-replay")
    parser.add_argument("build", type=Path, help="where jars, classes and traces go")
    parser.add_argument("--seed", type=int, default=secrets.randbits(32))
    parser.add_argument("--trace", type=int, help="only this one of the seed's traces")
    options = parser.parse_args()

    try:
        recorder = compileRecorder(options.original, options.build)
    except (OSError, http.client.HTTPException) as problem:
        print(f"skipped: no Java (Debian: default-jdk-headless), or no jars: {problem}")
        sys.exit(SKIPPED)
    print(f"seed {options.seed}", flush=True)
    alone = options.trace
    shapes = enough(options) if alone is None else {alone: shapeOf(options, alone)}
    java = record(recorder, shapes.values(), stdout=subprocess.PIPE)
    cpp = subprocess.run([options.replay, options.original.split("-")[0]], stdin=java.stdout,
                         stdout=subprocess.PIPE, text=True)  # fmt: skip
    java.stdout.close()  # so that the recorder ends if the replay has
    failed, said = java.wait(), cpp.stdout.splitlines()
    if cpp.returncode == 1:
        trace, line, expected, actual = said
        report(options, recorder, list(shapes)[int(trace) - 1], line, expected, actual)
    if cpp.returncode or failed or said[0] != str(len(shapes)):
        sys.exit(f"the recorder ended with {failed}, the replay with {cpp.returncode}: {said}")
    operations = sum(shape["operations"] for shape in shapes.values())
    print(f"no difference: {len(shapes)} traces, {operations} operations, {said[1]} lines")


if __name__ == "__main__":
    main()
