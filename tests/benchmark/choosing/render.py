#!/usr/bin/env python3
"""Makes docs/choosing.md and its plot from what choosing.py measured.

page.md.in is the page with its prose; what stands in {{braces}} there comes from the data.
"""

import argparse
import re
from pathlib import Path

import shared  # noqa: F401  (where the next ones are found)
import about
import advice
import draw
import seal
from findings import joined, power
from results import Results

HERE = Path(__file__).resolve().parent
ABOUT_LOAD = " What is counted does not depend on that, the nanoseconds do."


def scripts(results):
    rows = []
    for mix in results.mixes.values():
        what = "all expire"
        if mix["cancelledPercent"]:
            what = (f"{mix['cancelledPercent']} of 100 are cancelled within "
                    f"{draw.length(mix['answeredWithinNs'])}")  # fmt: skip
        elif mix["pushBacks"]:
            what = (f"each is pushed back {mix['pushBacks']} times, after up to a fifth of its "
                    "delay, then expires")  # fmt: skip
        most = results.of(mix["id"], results.chosen(mix["id"])).pendingMost
        rows.append([f"**{mix['title']}**", draw.delays(mix), draw.length(mix["spanNs"]), what,
                     f"{most:,}"])  # fmt: skip
    head = ["timeouts", "delays", "they begin within", "what becomes of them",
            f"pending at most, of {power(results.main)}"]  # fmt: skip
    return advice.table(head, rows, left=4)


def page(results):
    known = {
        "generated": lambda _: about.generated(results.run, "choosing/page.md.in"),
        "warnings": lambda _: about.warnings(results.run, ABOUT_LOAD),
        "machine": lambda _: about.machine(results.run),
        "scripts": scripts,
        "timers": lambda _: f"{results.main:,}",
        "counts": lambda _: joined(f"{count:,}" for count in results.counts),
        "seed": lambda _: str(results.run["seed"]),
    }

    def fill(match):
        name = match.group(1)
        return (known.get(name) or getattr(advice, name))(results)

    text = re.sub(r"{{(.*?)}}", fill, (HERE / "page.md.in").read_text(encoding="utf-8"))
    return re.sub(r"\n{3,}", "\n\n", text)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("results", type=Path, help="choosing.json of choosing.py")
    parser.add_argument("docs", type=Path, help="where choosing.md and choosing/ go")
    options = parser.parse_args()
    results = Results(options.results)
    folder = options.docs / "choosing"
    folder.mkdir(parents=True, exist_ok=True)
    draw.combinations(results, folder / "combinations.svg")
    (options.docs / "choosing.md").write_text(seal.sealed(page(results), folder), encoding="utf-8")
    print(f"== {options.docs / 'choosing.md'}")


if __name__ == "__main__":
    main()
