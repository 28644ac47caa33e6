"""docs/server.md: its table, its sentences, its plot, and the code that it compares."""

import statistics
from pathlib import Path
from types import SimpleNamespace

from figures import number
from markdown import table
from style import bar, finishBars, rowAxes, save

HERE = Path(__file__).resolve().parent
NAMES = {
    "stock": "Asio: begin a new wait",
    "stock-lazy": "Asio: write the time down",
    "wheel": "asio::steady_timer",
    "wheel-deadline": "asio::Deadline",
}
COLOURS = {"stock": "#8c959f", "stock-lazy": "#57606a", "wheel": "#3f8fd2",
           "wheel-deadline": "#0b57a4"}  # fmt: skip
ROWS = [
    ("memory of a session, bytes", ("bytes",)),
    ("UDP: processor time of a packet, us", ("processor",)),
    *((f"UDP: answered within, {q}, us", ("steady", q)) for q in ["p50", "p99", "p99.9"]),
    ("storm: all closed after, ms", ("closing",)),
    *((f"storm: others answered within, {q}, us", ("storm", q))
      for q in ["p50", "p99", "p99.9", "longest"]),
    ("TCP: processor time of a request, us", ("tcpProcessor",)),
    *((f"TCP: answered within, {q}, us", ("tcp", q)) for q in ["p50", "p99", "p99.9"]),
]  # fmt: skip


def figures(run, contender, path):
    def figure(result):
        for key in path:
            result = result[key]
        return result

    values = sorted(map(figure, run["results"][contender]))
    return SimpleNamespace(low=values[0], median=statistics.median(values), high=values[-1])


def cell(summary):
    return f"{number(summary.median)} [{number(summary.low)}, {number(summary.high)}]"


def results(run):
    rows = [[title, *(cell(figures(run, name, path)) for name in NAMES)] for title, path in ROWS]
    return table(["", *NAMES.values()], rows)


def part(run, of, to, *path):
    """The one as a percentage of the other, and whether the rounds tell them apart."""
    one, other = figures(run, of, path), figures(run, to, path)
    text = f"{100 * one.median / other.median:.0f} %"
    isApart = one.high < other.low or other.high < one.low
    return text if isApart else f"{text} (the rounds do not tell them apart)"


def code(_, name):
    text = (HERE / name).read_text(encoding="utf-8")
    body = text[text.index("\n// ") + 1:]
    return f"```cpp\n{body.strip()}\n```"


def values(run):
    return {
        "results": results(run),
        "part": lambda *words: part(run, *words),
        "code": lambda name: code(run, name),
        "figure": lambda name, *path: number(figures(run, name, path).median),
        "rounds": str(run["rounds"]),
    }


def plots(run, folder):
    panels = [("UDP: us a packet", ("processor",)), ("TCP: us a request", ("tcpProcessor",)),
              ("UDP: p99 of answers, us", ("steady", "p99")),
              ("storm: p99 of the others, us", ("storm", "p99"))]  # fmt: skip
    rows = [(y, text, COLOURS[name], name.startswith("wheel"))
            for y, (name, text) in enumerate(NAMES.items())]  # fmt: skip
    figure, all_ = rowAxes(rows, len(panels), "A server with a million sessions")
    for axes, (title, path) in zip(all_, panels):
        for (y, _, tint, ours), name in zip(rows, NAMES):
            bar(axes, y, figures(run, name, path), tint, ours)
        axes.set_title(title, fontsize=9)
        finishBars(axes)
    save(figure, folder / "server.svg")
