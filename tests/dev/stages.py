#!/usr/bin/env python3
"""What ./dev test makes of skipped tests, CI and failures, with stand-ins for all that it calls."""

import os
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
# What cmake --workflow leaves behind: one test that passed, and one that is skipped.
CMAKE = """#!/bin/sh
mkdir -p build/junit
cat >build/junit/dev.xml <<'END'
<testsuite><testcase name="good" status="run"/>
<testcase name="left-out.model" status="notrun"><skipped message=""/>
<system-out>skipped: rapidcheck is not installed</system-out></testcase></testsuite>
END
i=0
while [ $i -lt ${ROUNDS-0} ]; do i=$((i + 1)); done
exit ${CMAKE_STATUS-0}
"""


class Stages(unittest.TestCase):
    def setUp(self):
        folder = Path(self.enterContext(tempfile.TemporaryDirectory()))
        self.copy, self.standIns = folder / "copy", folder / "bin"
        for file in ("dev", "tests/dev/summary.py", "tests/dev/budget.toml"):
            (self.copy / file).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / file, self.copy / file)
        # What comes from PyPI is there already.
        for folder in ("tests/planted", "build/mutants/venv"):
            (self.copy / folder).mkdir(parents=True)
            shutil.copy(ROOT / "tests/planted/requirements.txt", self.copy / folder)
        self.write(self.standIns / "cmake", CMAKE)
        self.write(self.standIns / "apt-get", "#!/bin/sh\nexit 99\n")
        self.write(self.copy / "tests/package/conan/run.sh", "#!/bin/sh\n")

    def write(self, file, text):
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
        file.chmod(0o755)

    def devTest(self, **environment):
        path = f"{self.standIns}:{os.environ['PATH']}"
        run = subprocess.run([self.copy / "dev", "test"], text=True, stdin=subprocess.DEVNULL,
                             stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=300,
                             env={**os.environ, "CI": "", "PATH": path, **environment})  # fmt: skip
        if "installing with apt" in run.stdout:
            self.skipTest("the machine lacks what ./dev test installs")
        return run

    def testTellsAtItsEndWhatDidNotRunAndWhatItCost(self):
        run = self.devTest(ROUNDS="150000")
        self.assertEqual(run.returncode, 0, run.stdout)
        end = run.stdout.split("did not run:\n")[1]
        self.assertIn("    model (dev): rapidcheck is not installed\n", end)
        # A loop is seen in processor time, however busy the machine is.
        (spent,) = [line.split("\t") for line in self.recorded() if line.startswith("dev\t")]
        self.assertGreater(float(spent[1]), 0)
        self.assertIn("PASSED: ./dev test, 2 stages", end)

    def recorded(self):
        return (self.copy / "build" / "record" / "stages.tsv").read_text().splitlines()

    def testFailsInCI(self):
        run = self.devTest(CI="true")
        self.assertEqual(run.returncode, 1, run.stdout)
        self.assertIn("wrong: model did not run", run.stdout)
        self.assertIn("FAILED: ./dev test", run.stdout)

    def testTellsAlsoWhenAStageFails(self):
        run = self.devTest(CMAKE_STATUS="7")
        self.assertEqual(run.returncode, 7, run.stdout)
        self.assertIn("model (dev): rapidcheck", run.stdout)
        self.assertIn('FAILED: ./dev test, in stage "dev: asserts on', run.stdout)
        self.assertEqual([line.split("\t")[0] for line in self.recorded()], ["dev"])


if __name__ == "__main__":
    sys.exit(unittest.main())
