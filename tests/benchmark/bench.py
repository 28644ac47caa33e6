#!/usr/bin/env python3
"""Runs the benchmarks and makes the pages of what they measure; ./dev bench calls it.

bench.py measure <set> <programs> <build>  measures a set of loads into <build>/<set>.json
bench.py page <page> <build> <docs>        makes a page and its plots of that
bench.py wheel <programs> ...              measures the wheel alone and prints a table

A set is a folder: <set>.py has the plan of what is measured, page.py makes tables, plots and
sentences of it, page.md.in is the prose. A page is one set, or several.
"""

import argparse
import importlib
import json
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE / "page"))
from arguments import between, rounds  # noqa: E402
from measure import conduct  # noqa: E402

SETS = ["wheel", "timers", "compare", "choosing"]
FILES = {"compare": "results.json"}  # where it is not <set>.json
PAGES = {"benchmarks": ["wheel", "timers"], "comparison": ["compare"], "choosing": ["choosing"],
         "wheel": ["wheel"], "timers": ["timers"], "server": ["server"],
         "calendars": ["calendars"], "durable": ["durable"]}  # fmt: skip


def module(set_):
    """<set>.py, which finds the modules beside it."""
    sys.path.insert(0, str(HERE / set_))
    return importlib.import_module(set_)


def fileOf(build, set_):
    return build / FILES.get(set_, f"{set_}.json")


def measure(options):
    data, problems = conduct(module(options.set).plan(options), options)
    file = fileOf(options.build, options.set)
    file.write_text(json.dumps(data, indent=1), encoding="utf-8")
    print(f"== {file}")
    if options.size == "smoke" and problems:
        sys.exit("\n".join(problems))


def page(options):
    import make  # needs matplotlib

    files = {set_: fileOf(options.build, set_) for set_ in PAGES[options.page]}
    runs = {set_: json.loads(file.read_text(encoding="utf-8")) for set_, file in files.items()
            if file.exists()}  # fmt: skip
    if not runs:
        sys.exit(f"nothing was measured: there is no {' or '.join(map(str, files.values()))}")
    print(f"== {make.page(options.page, runs, options.docs)}")


def wheel(options):
    module("wheel")
    import table

    table.main(options)


def parse():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    commands = parser.add_subparsers(required=True)

    made = commands.add_parser("measure")
    made.set_defaults(call=measure)
    made.add_argument("set", choices=SETS)
    made.add_argument("programs", type=Path, help="the folder of timingwheel-benchmark-...")
    made.add_argument("build", type=Path, help="where everything goes")
    made.add_argument("--quick", action="store_const", dest="size", const="quick", default="full",
                      help="too short to conclude anything from")  # fmt: skip
    made.add_argument("--smoke", action="store_const", dest="size", const="smoke",
                      help="everybody with every load, hardly measured: for tests")  # fmt: skip
    made.add_argument("--rounds", type=rounds, help="how many, instead of what the size says")
    made.add_argument("--vast", action="store_true", help="of wheel: with 10^8 pending too")
    made.add_argument("--no-java", action="store_true")
    made.add_argument("--jars", type=Path, help="where they are; without that they are downloaded")
    made.add_argument("--command", default="./dev bench", help="what the page says")

    made = commands.add_parser("page")
    made.set_defaults(call=page)
    made.add_argument("page", choices=PAGES)
    made.add_argument("build", type=Path, help="where what was measured is")
    made.add_argument("docs", type=Path, help="where the page and the folder of its plots go")

    made = commands.add_parser("wheel", prog="./dev bench wheel")
    made.set_defaults(call=wheel)
    made.add_argument("programs", type=Path, help=argparse.SUPPRESS)
    made.add_argument("--pending", type=between(1, 10**9), default=10**6,
                      help="timers that are pending")  # fmt: skip
    made.add_argument("--operations", type=between(0, 10**9), default=0,
                      help="of W1, W4 and W7; 0: as many as are pending, but a million at least, "
                      "five at most")  # fmt: skip
    made.add_argument("--wheel-size", type=between(3, 2**20), default=20,
                      help="slots of each level")  # fmt: skip
    made.add_argument("--rounds", type=rounds, default=9)
    made.add_argument("--seed", type=between(0, 10**18), default=1, help="for what is random")
    made.add_argument("--only", nargs="+", default=[],
                      help="contenders to run beside the floor: their names, or parts of them")
    made.add_argument("--json", type=Path, help="a file for all that was measured")
    made.add_argument("--check", action="store_true", help="measure nothing: see that each timer "
                      "of each contender fires once, in time")  # fmt: skip
    return parser.parse_args()


if __name__ == "__main__":
    chosen = parse()
    chosen.call(chosen)
