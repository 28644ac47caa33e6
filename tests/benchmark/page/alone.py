"""For sets whose program measures by itself: its arguments, and the file that its page is of."""

import argparse
import datetime
import json
import os
import time
from pathlib import Path

from about import describeMachine


class Run:
    """One run of <set>: `options` are its arguments, `say` tells how far it is."""

    def __init__(self, set_, description):
        parser = argparse.ArgumentParser(description=description.split("\n", maxsplit=1)[0])
        parser.add_argument("program")
        parser.add_argument("build", type=Path)
        parser.add_argument("--quick", action="store_true")
        parser.add_argument("--command", default=f"./dev bench {set_}", help="what the page says")
        self.set = set_
        self.options = parser.parse_args()
        self.began = time.monotonic()
        self.machine = describeMachine()

    def say(self, what):
        print(f"== {time.monotonic() - self.began:4.0f} s: {what}", flush=True)

    def write(self, rounds, results, **more):
        """Writes <build>/<set>.json."""
        self.machine["loadAfter"] = os.getloadavg()[0]
        self.options.build.mkdir(parents=True, exist_ok=True)
        (self.options.build / f"{self.set}.json").write_text(json.dumps({
            "command": self.options.command,
            "size": "quick" if self.options.quick else "full",
            "date": datetime.date.today().isoformat(),
            "seconds": round(time.monotonic() - self.began),
            "rounds": rounds,
            "machine": self.machine,
            "results": results,
            **more,
        }, indent=1), encoding="utf-8")  # fmt: skip
