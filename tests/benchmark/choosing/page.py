"""docs/choosing.md: its tables, and its plot."""

from functools import partial

import about
import advice
import draw
import punctual
from figures import power
from markdown import joined, table
from results import Data
from rows import Results

ABOUT_LOAD = " What is counted does not depend on that, the nanoseconds do."
ADVICE = [
    advice.decisions, advice.rules, advice.aboutWakeUps, advice.costTable, advice.toleranceTable,
    advice.aboutToleranceAndWheelSize, advice.mistakes, advice.aboutHeaps, advice.heapTable,
    advice.flatTable,
]  # fmt: skip


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
    return table(head, rows, left=4)


def values(run):
    results = Results(run)
    return {
        **{part.__name__: partial(part, results) for part in ADVICE},
        "warnings": about.warnings(run, ABOUT_LOAD),
        "scripts": scripts(results),
        "timers": f"{results.main:,}",
        "counts": joined(f"{count:,}" for count in results.counts),
        "seed": str(run["seed"]),
        "punctuality": punctual.punctuality(Data(run)),
        "punctuality-words": punctual.words(Data(run)),
    }


def plots(run, folder):
    draw.combinations(Results(run), folder / "combinations.svg")
    punctual.plot(Data(run), folder / "ticks.svg")
