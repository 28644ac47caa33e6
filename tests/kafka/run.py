#!/usr/bin/env python3
"""What takes brokers of Kafka, on this machine: builds timingwheel-kafka and starts them.

demo      two workers and a million orders of which most are paid; kills one of the two in the
          middle, and accounts for every order; three minutes
attack    kills and pauses brokers and workers at random while users schedule, push back and
          cancel; then accounts for every timer
figures   measures, and writes the rows of docs/beyond.md; seven minutes on a quiet machine
failures  lets brokers, workers and users fail in each way of docs/beyond.md's table, or in those
          that are named: Failures.testAWorkerIsKilled; ten minutes
clients   has the programs of docs/beyond in C++, Python and Java write commands, and compares them
bugs      plants mistakes in what only a broker shows; a quarter of an hour
"""

import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "support"))
from runner import asked, between, build, need, parser, pythonOf, run  # noqa: E402


def parse():
    made = parser("kafka", __doc__)
    commands = made.add_subparsers(dest="command", required=True, metavar="command")
    one = commands.add_parser("demo")
    one.add_argument("--orders", type=between(1_000, 100_000_000))
    one.add_argument("--rate", type=between(100, 1_000_000), help="orders a second")
    one = commands.add_parser("attack")
    one.add_argument("--minutes", type=between(0.1, 10_000, float))
    one.add_argument("--seed", type=between(0, 999_999_999))
    one.add_argument("--brokers", type=int, choices=(1, 3))
    one.add_argument("--workers", type=between(1, 16))
    one.add_argument("--partitions", type=between(1, 64))
    one.add_argument("--rate", type=between(10, 100_000), help="commands a second")
    one.add_argument("--hasty", action="store_true",
                     help="start killed brokers again at once, which Kafka does not always stand")
    one.add_argument("--write", action="store_true", help="a run of ten minutes or more")
    one = commands.add_parser("figures")
    one.add_argument("--quick", action="store_true", help="three minutes, into build/kafka")
    one.add_argument("--vast", action="store_true", help="ten million timers, too")
    commands.add_parser("failures").add_argument("test", nargs="*")
    commands.add_parser("clients")
    commands.add_parser("bugs")
    return made.parse_args().command


def main():
    command, rest = parse(), sys.argv[2:]
    need("kafka", *(["java"] if command == "clients" else []))
    python = [pythonOf("kafka"), "-B"]
    if command == "bugs":
        run(*python, "tests/planted/planted.py", "--kafka")
    folder = build("release", "timingwheel-kafka", "timingwheel-ten-lines")
    if command == "clients":
        rest = [folder / "tests/timingwheel-ten-lines"]
    elif command in ("attack", "figures"):
        rest = ["--command", asked("kafka"), *rest]
    run(*python, HERE / f"{command}.py", folder / "src/apps/kafka/timingwheel-kafka",
        "build/kafka", *rest)  # fmt: skip


if __name__ == "__main__":
    main()
