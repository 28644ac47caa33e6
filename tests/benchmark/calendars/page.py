"""docs/calendars.md: its table, its sentences and its plot."""

import statistics
from types import SimpleNamespace

from figures import number, power
from markdown import table
from style import bar, finishBars, rowAxes, save

ZONES = {"UTC": "UTC", "Europe/Zurich": "Zurich", "Asia/Tokyo": "Tokyo"}


def rules(run):
    return [row["rule"] for row in run["results"][0]]


def figures(run, rule, column):
    values = sorted(row[column] for round_ in run["results"] for row in round_
                    if row["rule"] == rule)  # fmt: skip
    return SimpleNamespace(low=values[0], median=statistics.median(values), high=values[-1])


def cell(summary):
    return f"{number(summary.median)} [{number(summary.low)}, {number(summary.high)}]"


def results(run):
    columns = [*ZONES, "reading"]
    rows = [[row["rule"], f"`{row['expression']}`",
             *(cell(figures(run, row["rule"], column)) for column in columns)]
            for row in run["results"][0]]  # fmt: skip
    return table(["", "expression", *ZONES.values(), "to read it"], rows)


def million(run, which):
    """Seconds for a million next times of the cheapest or the dearest rule, in any zone."""
    medians = [figures(run, rule, zone).median for rule in rules(run) for zone in ZONES]
    return f"{number({'least': min, 'most': max}[which](medians) / 1000)} s"


def ofAll(run):
    """Seconds for a million, of all rules and zones in turn."""
    medians = [figures(run, rule, zone).median for rule in rules(run) for zone in ZONES]
    return f"{number(statistics.mean(medians) / 1000)} s"


def values(run):
    return {
        "results": results(run),
        "million": lambda which: million(run, which),
        "all": lambda: ofAll(run),
        "times": power(run["times"]),
        "rounds": str(run["rounds"]),
    }


def plots(run, folder):
    rows = [(y, rule, "#0b57a4", False) for y, rule in enumerate(rules(run))]
    figure, all_ = rowAxes(rows, len(ZONES), "The next time of a calendar, ns")
    for axes, (zone, title) in zip(all_, ZONES.items()):
        for y, rule, tint, _ in rows:
            bar(axes, y, figures(run, rule, zone), tint, True)
        axes.set_title(title, fontsize=9)
        finishBars(axes)
    save(figure, folder / "calendars.svg")
