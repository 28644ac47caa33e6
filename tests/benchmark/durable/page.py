"""docs/durable.md: its tables, its sentences and its plot."""

import statistics
from types import SimpleNamespace

from figures import number, power
from markdown import table
from style import bar, finishBars, rowAxes, save

LATE = {"half": "half of them", "hundredth": "99 of 100", "worst": "all"}


def summary(values):
    values = sorted(values)
    return SimpleNamespace(low=values[0], median=statistics.median(values), high=values[-1])


def groups(run):
    return list(run["results"][0]["groups"])


def rate(run, group, what):
    return summary([round_["groups"][group][what] for round_ in run["results"]])


def cell(one):
    return f"{number(one.median)} [{number(one.low)}, {number(one.high)}]"


def part(run, group):
    return rate(run, group, "schedule").median / rate(run, group, "raw").median


def results(run):
    rows = [[f"{int(group):,}", cell(rate(run, group, "schedule")), cell(rate(run, group, "raw")),
             number(part(run, group))] for group in groups(run)]  # fmt: skip
    return table(["changes a commit", "`schedule`, a second", "SQLite's `INSERT` alone",
                  "part of that"], rows, left=0)  # fmt: skip


def lateness(run):
    rows = [[words, cell(summary([round_["late"][name] for round_ in run["results"]]))]
            for name, words in LATE.items()]  # fmt: skip
    return table(["", "late by, ms"], rows)


def many(run):
    made, starts = run["made"], run["starts"]
    rows = [
        ["to make the file", f"{number(made['seconds'])} s"],
        ["its size", f"{number(made['megabytes'])} MB"],
        ["bytes a timeout", number(made["megabytes"] * 1e6 / run["many"])],
        ["to start with it", f"{cell(summary([one['seconds'] for one in starts]))} s"],
        ["memory before the start", f"{cell(summary([one['before'] for one in starts]))} MiB"],
        ["memory after it", f"{cell(summary([one['after'] for one in starts]))} MiB"],
        ["most memory until then", f"{cell(summary([one['most'] for one in starts]))} MiB"],
    ]
    return table(["", f"with {run['many']:,} timeouts"], rows)


def values(run):
    return {
        "results": results(run),
        "lateness": lateness(run),
        "table": many(run),
        "many": power(run["many"]),
        "near": f"{run['near']:,}",
        "bytes": number((run["ofNear"]["after"] - run["ofNear"]["before"]) * 2**20 / run["near"]),
        "rounds": str(run["rounds"]),
        "rate": f"{run['rate']:,}",
        "deliveries": f"{run['deliveries']:,}",
        "delivered": cell(summary([round_["deliver"] for round_ in run["results"]])),
        "one": number(rate(run, "1", "schedule").median),
        "most": number(max(rate(run, group, "schedule").median for group in groups(run))),
    }


def plots(run, folder):
    rows = [(y, f"{int(group):,} a commit", "#0b57a4", False)
            for y, group in enumerate(groups(run))]  # fmt: skip
    figure, all_ = rowAxes(rows, 2, "Durable changes a second")
    titles = {"schedule": "DurableTimer", "raw": "SQLite alone"}
    for axes, (what, title) in zip(all_, titles.items()):
        for (y, _, tint, _), group in zip(rows, groups(run)):
            bar(axes, y, rate(run, group, what), tint, True)
        axes.set_title(title, fontsize=9)
        finishBars(axes)
    save(figure, folder / "durable.svg")
