"""About a run: the machine, the compiler, the commit."""

import os
import platform
import subprocess
from pathlib import Path

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
    changed = " and changes" if firstLine("git", "status", "--porcelain", "--", ROOT) else ""
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
