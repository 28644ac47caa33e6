#!/usr/bin/env python3
"""What takes brokers of Kafka, on this machine: builds timingwheel-kafka and starts them.

demo      two workers and a million orders of which most are paid; kills one of the two in the
          middle, and accounts for every order; three minutes
attack    kills and pauses brokers and workers at random while users schedule, push back and
          cancel; then accounts for every timer
figures   measures us and Kafka Streams, and writes the rows of docs/beyond.md; fifteen minutes
failures  lets brokers, workers and users fail in each way of docs/beyond.md's table, or in those
          that are named: Failures.testAWorkerIsKilled; ten minutes
clients   has the programs of docs/beyond in C++, Python and Java write commands, and compares them
bugs      plants mistakes in what only a broker shows; a quarter of an hour
"""

import importlib
import os
import secrets
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[1:1] = [str(HERE.parent / folder) for folder in ("support", "benchmark/page")]
from runner import ROOT, between, build, need, parser, pythonOf, run  # noqa: E402


def parse():
    made = parser("kafka", __doc__)
    commands = made.add_subparsers(dest="command", required=True, metavar="command")
    one = commands.add_parser("demo")
    one.add_argument("--orders", type=between(1_000, 100_000_000), default=1_000_000)
    one.add_argument("--rate", type=between(100, 1_000_000), default=20_000, help="orders a second")
    one = commands.add_parser("attack")
    one.add_argument("--minutes", type=between(0.1, 10_000, float), default=10)
    one.add_argument("--seed", type=between(0, 999_999_999), default=secrets.randbelow(10**9))
    one.add_argument("--rate", type=between(10, 100_000), default=3_000, help="commands a second")
    one.add_argument("--hasty", action="store_true",
                     help="start killed brokers again at once, which Kafka does not always stand")
    one.add_argument("--write", action="store_true", help="a run of ten minutes or more")
    one = commands.add_parser("figures")
    one.add_argument("--quick", action="store_true", help="fewer timers; only prints them")
    one.add_argument("--vast", action="store_true", help="ten million timers, too")
    commands.add_parser("failures").add_argument("test", nargs="*")
    commands.add_parser("clients")
    commands.add_parser("bugs")
    options = made.parse_args()
    if options.command == "attack" and options.write and options.minutes < 10:
        made.error("--write wants 10 minutes or more")
    return options


def main():
    options = parse()
    need("kafka", *(["java"] if options.command in ("clients", "figures") else []))
    python = pythonOf("kafka")
    if Path(sys.executable) != python:
        os.execv(python, [python, "-B", __file__, *sys.argv[1:]])
    if options.command == "bugs":
        run(python, "-B", "tests/planted/planted.py", "--kafka")
    built = build("release", "timingwheel-kafka", "timingwheel-ten-lines")
    options.build = ROOT / "build/kafka"
    options.program = built / "src/components/kafka/daemon/timingwheel-kafka"
    options.tenLines = built / "tests/timingwheel-ten-lines"
    if options.command == "failures":
        run(python, "-B", HERE / "failures.py", options.program, options.build, *options.test)
    sys.exit(importlib.import_module(options.command).main(options))


if __name__ == "__main__":
    main()
