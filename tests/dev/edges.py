#!/usr/bin/env python3
"""Bad input to ./dev: the error names the value and its bounds, and nothing is installed or built.

The script runs in a copy of its own, beside stand-ins for all that it would call: a stand-in that
is called writes that down and fails.
"""

import os
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
WATCHED = "apt-get cmake ctest conan doxygen python3 sudo g++ clang++ valgrind".split()

# What is asked, and what the answer must say.
REFUSED = {
    "nosuch": ["nosuch"],
    "test --fast": ["--fast"],
    "test slow": ["slow"],
    "build nosuchpreset": ["nosuchpreset", "dev, fuzz, orders, release"],
    "build base": ["base", "release"],
    "build dev release": ["release"],
    "demo --bogus": ["--bogus"],
    "demo 5": ["5"],
    "demo --duration": ["--duration", "0.0 to 86400"],
    "demo --duration x": ["--duration", '"x"', "0.0 to 86400"],
    "demo --threads 0": ["--threads", '"0"', "1 to 64"],
    "demo --threads=65": ["--threads", '"65"', "1 to 64"],
    "orders --bogus": ["--bogus"],
    "orders --paid 2": ["--paid", '"2"', "0.0 to 1"],
    "demo --executor thread": ["--executor", '"thread"', "inline, pool"],
    "bench --rounds": ["--rounds", "1 to 1000"],
    "bench --rounds 0": ["--rounds", '"0"', "1 to 1000"],
    "bench --rounds x": ["--rounds", '"x"', "1 to 1000"],
    "bench --rounds -1": ["--rounds", '"-1"', "1 to 1000"],
    "bench --rounds 1001": ["--rounds", '"1001"', "1 to 1000"],
    "bench --rounds=": ["--rounds", '""', "1 to 1000"],
    "bench --slow": ["--slow"],
    "bench nosuch": ["nosuch"],
    "bench --check --recorded": ["--recorded"],
    "bench choosing --fast": ["--fast"],
    "guarantees 5": ["5"],
    "docs html": ["html"],
    "walkthrough --open": ["--open"],
    "fuzz x": ["seconds", '"x"', "1 to 604800"],
    "fuzz 0": ["seconds", '"0"', "1 to 604800"],
    "fuzz -5": ["-5"],
    "fuzz --fixed 5": ["--fixed"],
    "fuzz 5 5": ["5"],
    "kafka": ["demo, attack, figures, failures, clients, bugs"],
    "kafka nosuch": ["nosuch", "demo, attack, figures, failures, clients, bugs"],
    "kafka demo --orders 5": ["--orders", "1000 to 100000000"],
    "kafka demo 5": ["5"],
    "kafka attack --brokers 2": ["--brokers", '"2"', "1, 3"],
    "kafka attack --minutes": ["--minutes", "0.1 to 10000"],
    "kafka figures --long": ["--long"],
    "kafka failures --quick": ["--quick"],
    "kafka clients java": ["java"],
    "kafka bugs 3": ["3"],
    "soak abc": ["minutes", '"abc"', "0.01 to 10000"],
    "soak 0": ["minutes", '"0"', "0.01 to 10000"],
    "soak 1 2": ["2"],
    "soak --seed": ["--seed", "0 to 999999999"],
    "soak --seed -1": ["--seed", '"-1"', "0 to 999999999"],
    "coverage all": ["all"],
    "lint --fixed": ["--fixed"],
    "conan --test": ["--test"],
    "platforms --all": ["--all"],
    "platforms --cheap --write": ["--cheap", "--write"],
    "release": ["--url"],
    "release --archive-url https://example.org/x": ["--url"],
    "release --url": ["--url"],
    "release --tag": ["--tag"],
}
# Arguments that are looked at and taken: the first stand-in is called.
TAKEN = ["build", "build dev", "bench --rounds 3 --quick", "bench --rounds=3", "soak 0.5 --seed 7",
         "fuzz 60", "fuzz --fixed", "demo --duration 1.5 --watch", "demo --help",
         "orders --after 20s", "orders place 4711",
         "kafka attack --minutes 2 --hasty --write", "kafka failures Failures.testNothing",
         "bench server --quick", "platforms musl libc++",
         "platforms --write musl"]  # fmt: skip
# The arguments of these are looked at by a script in Python.
OTHERS = {"bugs", "help"}


class Dev(unittest.TestCase):
    def setUp(self):
        folder = Path(self.enterContext(tempfile.TemporaryDirectory()))
        folder.chmod(0o755)
        self.called = folder / "called"
        self.standIns = folder / "bin"
        self.copy = folder / "copy"
        self.standIns.mkdir()
        self.copy.mkdir()
        for file in ("dev", "CMakePresets.json"):
            shutil.copy(ROOT / file, self.copy)
        for name in WATCHED:
            standIn = self.standIns / name
            standIn.write_text(f'#!/bin/sh\necho "$0" >>{self.called}\nexit 99\n')
            standIn.chmod(0o755)

    def run_(self, arguments, before=()):
        path = f"{self.standIns}:{os.environ['PATH']}"
        environment = {**os.environ, "PATH": path}
        return subprocess.run([*before, self.copy / "dev", *arguments.split()], text=True,
                              capture_output=True, stdin=subprocess.DEVNULL, timeout=300,
                              env=environment)  # fmt: skip

    def expectNothingChanged(self, what):
        self.assertFalse(self.called.exists(), f"{what} called {self.called}")
        there = sorted(path.name for path in self.copy.iterdir())
        self.assertEqual(there, ["CMakePresets.json", "dev"], what)

    def testBadArgumentsAreNamedAndChangeNothing(self):
        for arguments, words in REFUSED.items():
            with self.subTest(arguments):
                run = self.run_(arguments)
                self.assertEqual(run.returncode, 2, run.stderr)
                self.assertEqual(run.stdout, "")
                first, second = run.stderr.splitlines()
                self.assertIn("./dev help", second)
                for word in words:
                    self.assertIn(word, first)
                self.expectNothingChanged(arguments)

    def testGoodArgumentsAreTaken(self):
        for arguments in TAKEN:
            with self.subTest(arguments):
                self.assertNotEqual(self.run_(arguments).returncode, 2)
                self.assertTrue(self.called.exists(), "nothing was called")
                self.called.unlink()

    def testNothingIsInstalledWhereThatIsForbidden(self):
        tools = self.standIns.parent / "tools"  # all that the script itself uses, and no ninja
        tools.mkdir()
        for name in "bash cat cmp comm dirname env grep id mkdir paste sed sort tr".split():
            (tools / name).symlink_to(shutil.which(name))
        run = subprocess.run([self.copy / "dev", "--no-install", "build"], text=True,
                             capture_output=True, stdin=subprocess.DEVNULL, timeout=300,
                             env={"PATH": f"{self.standIns}:{tools}"})  # fmt: skip
        self.assertEqual(run.returncode, 1, run.stderr)
        self.assertIn("missing: ninja-build", run.stderr)
        self.assertFalse(self.called.exists())

    def testEveryCommandIsTried(self):
        text = self.run_("help").stdout
        commands = {line.split()[1] for line in text.splitlines() if line.startswith("./dev ")}
        tried = {arguments.split()[0] for arguments in REFUSED} | OTHERS
        self.assertEqual(commands - tried - {"<command>:"}, set())

    def testTheDemosOptionsAreThoseOfTheProgram(self):
        options = (ROOT / "src" / "apps" / "demo" / "Options.cpp").read_text(encoding="utf-8")
        names = {part.split('"')[0] for part in options.replace("add_flag", "add_option")
                 .split('add_option("')[1:]}  # fmt: skip
        body = (ROOT / "dev").read_text(encoding="utf-8").split("\ndemo() {")[1].split("\n}")[0]
        words = body.replace("'", "").split()
        taken = {word.split("=")[0] for word in words if word.startswith("--") and word != "--"}
        self.assertEqual(taken - {"--version", "--workflow", "--preset"}, names)

    def testAFolderThatCannotBeWrittenIsNamed(self):
        (self.copy / "build").write_text("in the way")
        for arguments in ("test", "test --slow", "build", "docs", "demo"):
            with self.subTest(arguments):
                run = self.run_(arguments)
                self.assertEqual(run.returncode, 1, run.stdout)
                self.assertIn(f"cannot write into {self.copy}/build", run.stderr)
                self.assertNotIn("install", run.stdout + run.stderr)
                self.assertFalse(self.called.exists())

    def testAFolderWithoutLeaveToWriteIsNamed(self):
        before = ()
        if os.getuid() == 0:  # who may write everywhere, unless that is taken away
            before = ("setpriv", "--bounding-set=-dac_override", "--inh-caps=-dac_override")
        self.copy.chmod(0o555)
        run = self.run_("test", before)
        self.copy.chmod(0o755)
        self.assertEqual(run.returncode, 1, run.stderr)
        self.assertIn(f"cannot write into {self.copy}/build", run.stderr)
        self.expectNothingChanged("test")


if __name__ == "__main__":
    sys.exit(unittest.main())
