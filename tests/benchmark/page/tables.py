"""Tables of medians: a row for each contender."""

from figures import number
from markdown import table, textTable
from results import BASE


def cell(summary, absent=""):
    if summary is None:
        return absent
    if summary.rounds == 1:
        return number(summary.median)
    return f"{number(summary.median)} [{number(summary.low)}, {number(summary.high)}]"


def ratioText(data, rival, measurement, metric, base=BASE, count=None):
    """How the rival's value stands to that of the base: `2.3 times`, `within noise`."""
    mine, theirs = (data.of(measurement, c, metric, count) for c in (base, rival))
    if mine is None or theirs is None:
        return ""
    if mine.overlaps(theirs):
        return "within noise"
    return f"{number(theirs.median / mine.median)}\N{MULTIPLICATION SIGN}"


def metricTable(data, columns, ratioOf=None, ratioHeading="", absent=""):
    """columns: [(heading, measurement, metric)]; the last is the ratio to SystemTimer."""
    rows = []
    for contender in data.among(columns):
        row = [data.title(contender)]
        row += [cell(data.of(m, contender, k), absent) for _, m, k in columns]
        if ratioOf:
            ratio = ratioText(data, contender, *ratioOf) or absent
            row.append("1" if contender == BASE else ratio)
        rows.append(row)
    head = ["", *(heading for heading, _, _ in columns)]
    return table(head + [ratioHeading] if ratioOf else head, rows)


def usageTable(contenders, heading="how"):
    return textTable(["contender", heading], [[c["title"], c["usage"]] for c in contenders])
