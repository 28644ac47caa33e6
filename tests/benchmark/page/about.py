"""About a run: what it measures, the machine, the compiler, the commit."""

import os
import platform
import re
import subprocess
from pathlib import Path

import seal
from tables import CLAIM

ROOT = Path(__file__).resolve().parents[3]
# The folders that a command measures: its figures are stale once one of these has changed.
CORE = ("include/timingwheel", "src/core")
MEASURES = {
    "./dev bench": (*CORE, "tests/benchmark/contenders", "tests/benchmark/loads"),
    "./dev bench choosing": (*CORE, "tests/benchmark/choosing", "tests/benchmark/loads"),
    "./dev bench server": (*CORE, "tests/benchmark/server"),
    "./dev bench calendars": ("include/timingwheel/calendar", "src/components/calendar",
                              "tests/benchmark/calendars"),
    "./dev bench store": ("include/timingwheel/store", "src/components/store",
                          "tests/benchmark/durable"),
    "./dev kafka": ("src/components/kafka/daemon", "include/timingwheel/kafka"),
    "./dev soak": CORE,
}  # fmt: skip


def measuredBy(command):
    """The folders that a command measures, by the longest name that it begins with."""
    names = [name for name in MEASURES if f"{command} ".startswith(f"{name} ")]
    return MEASURES[max(names, key=len)] if names else ()


def firstLine(*command):
    run = subprocess.run(command, capture_output=True, text=True, cwd=ROOT)
    return (run.stdout + run.stderr).partition("\n")[0]


def processor():
    named = re.search(r"(?m)^model name\s*: (.+)", Path("/proc/cpuinfo").read_text())
    return named[1] if named else platform.machine()


def describeMachine(javaRuns=False):
    """To be called before anything is measured, for the load."""
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    # Pages and results that a benchmark has just written are none of it.
    status = ("git", "status", "--porcelain", "--", ".", ":!*.md", ":!*/recorded/*",
              ":!tests/kafka/attacks.toml")  # fmt: skip
    changed = " and uncommitted changes" if firstLine(*status) else ""
    return {
        "processor": processor(),
        "cores": os.cpu_count(),
        "memory": f"{memory:.0f} GiB",
        "system": f"Linux {platform.release()}",
        "compiler": firstLine("g++", "--version"),
        "java": firstLine("java", "-version") if javaRuns else "",
        "commit": firstLine("git", "rev-parse", "--short", "HEAD") + changed,
        "loadBefore": os.getloadavg()[0],
    }


def generated(run):
    """The command, the commit and the folders of a run: seal.py reads them."""
    folders = ", ".join(f"`{folder}`" for folder in measuredBy(run["command"]))
    minutes, seconds = divmod(run["seconds"], 60)
    return (f"Written by `{run['command']}` on {run['date']}, commit {run['machine']['commit']}, "
            f"in {minutes} min {seconds} s. It measures {folders}.")  # fmt: skip


def warnings(run):
    """What a reader must know of a run: too short, not quiet, or failed in parts."""
    found = []
    if run["size"] != "full":
        found.append(f"This is a {run['size']} run: too short to conclude anything from.")
    if run["machine"]["loadBefore"] > 0.5:
        found.append(f"The machine was not quiet: a load of {run['machine']['loadBefore']:.1f} "
                     "before the run began.")  # fmt: skip
    return "\n".join(f"> **Note:** {text}\n" for text in found).strip()


def machine(run):
    about = run["machine"]
    parts = [about["processor"], f"{about['cores']} cores", about["memory"], about["system"],
             about["compiler"], about.get("java")]  # fmt: skip
    return "; ".join(filter(None, parts))


def sealed(run, *paragraphs):
    """A part of a page, which says how it was measured."""
    return seal.sealed("\n" + "\n\n".join(filter(None, (
        generated(run), f"On {machine(run)}.", warnings(run), *paragraphs))))  # fmt: skip


class Page:
    """Its attributes, and what its methods return, stand for the {{placeholders}} of their names.
    These are of every page."""

    def __init__(self, record):
        self.record, self.rounds = record, record.get("rounds")
        self.claim = f"{100 * CLAIM:.0f}"

    def valueOf(self, placeholder):
        if placeholder in ("generated", "warnings", "machine"):
            return globals()[placeholder](self.record)
        value = getattr(self, placeholder)
        value = value() if callable(value) else value
        return f"{value:,}" if isinstance(value, int) else value
