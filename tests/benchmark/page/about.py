"""About a run: the machine, the compiler, the commit."""

import os
import platform
import subprocess
from pathlib import Path

from fresh import RECORDED, countsLine, countsOf

ROOT = Path(__file__).resolve().parents[3]


def firstLine(*command):
    try:
        run = subprocess.run(command, capture_output=True, text=True, timeout=30, cwd=ROOT)
        return (run.stdout + run.stderr).strip().splitlines()[0]
    except (OSError, IndexError):
        return ""


def processor():
    for line in Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            return line.split(":", 1)[1].strip()
    return platform.machine()


def describeMachine(javaRuns=False):
    """To be called before anything is measured, for the load."""
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    # Pages that a benchmark has just written are none of it.
    status = ("git", "status", "--porcelain", "--", ".", ":!docs", ":!tests/kafka/attacks.toml")
    changed = " and uncommitted changes" if firstLine(*status) else ""
    return {
        "processor": processor(),
        "cores": os.cpu_count(),
        "memory": f"{memory:.0f} GiB",
        "system": f"Linux {platform.release()}",
        "compiler": firstLine("g++", "--version"),
        "java": firstLine("java", "-version") if javaRuns else "",
        "commit": firstLine("git", "rev-parse", "--short", "HEAD") + changed,
        "instructions": countsOf((ROOT / RECORDED).read_text(encoding="utf-8")),
        "loadBefore": os.getloadavg()[0],
    }


def generated(run, template=None, more=""):
    """Who wrote a page, or a chapter of one, and of which run."""
    text = (f"Written by `{run['command']}` on {run['date']}, commit {run['machine']['commit']}, "
            f"in {run['seconds'] // 60} min {run['seconds'] % 60} s.")  # fmt: skip
    if template is None:
        return text
    text += (f" Do not edit: the prose is in [{Path(template).name}]"
             f"(../tests/benchmark/{template}){more}.")  # fmt: skip
    counts = run["machine"].get("instructions")
    return f"{text}\n\n{countsLine(counts)}" if counts else text


def warnings(run, aboutLoad="", aboutJava=""):
    """What a reader must know of a run: too short, not quiet, without Java, or failed in parts."""
    found = []
    if run["size"] != "full":
        found.append(f"This is a {run['size']} run: too short to conclude anything from.")
    load = run["machine"]["loadBefore"]
    if load > 0.5:
        found.append(f"The machine was not quiet: a load of {load:.1f} before the run began."
                     + aboutLoad)  # fmt: skip
    if run.get("whyNoJava"):
        found.append(f"{aboutJava} are left out: {run['whyNoJava']}.")
    for error in run.get("errors", []):
        found.append(f"Failed: {error['contender']}, {error['measurement']}, round "
                     f"{error['round'] + 1}: {error['error']}.")  # fmt: skip
    return "\n".join(f"> **Note:** {text}\n" for text in found).strip()


def machine(run, saysRounds=True):
    about = run["machine"]
    parts = [about["processor"], f"{about['cores']} cores", about["memory"], about["system"],
             about["compiler"], about.get("java")]  # fmt: skip
    rounds = f"{run['rounds']} rounds on this machine: " if saysRounds else ""
    return (f"{rounds}{'; '.join(filter(None, parts))}. "
            f"Load average {about['loadBefore']:.2f} before and {about['loadAfter']:.2f} after.")
