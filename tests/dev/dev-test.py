#!/usr/bin/env python3
"""./dev and the folders' runners: bad arguments are named and change nothing; ./dev test is quiet,
and says at its end what did not run and what each part cost. Stand-ins take the place of all that
they call.
"""

import os
import re
import shutil
import subprocess
import sys
import tempfile
import tomllib
import unittest
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path.insert(0, str(HERE))
import summary  # noqa: E402

REFUSED = tomllib.loads((HERE / "refused.toml").read_text("utf-8"))
# What ctest leaves behind: a test that passed, and some that were skipped, the last with an excuse.
CTEST = """#!/bin/sh
mkdir -p build/junit
cat >build/junit/dev.xml <<'END'
<testsuite><testcase name="good" status="run"/>
<testcase name="left-out.model" status="notrun"><skipped message=""/>
<system-out>skipped: rapidcheck is not installed</system-out></testcase>
<testcase name="silent" status="notrun"><skipped message="SKIP_RETURN_CODE=77"/></testcase>
<testcase name="gtest" status="notrun"><system-out>[ RUN ] A.B
a/b.cpp:7: Skipped\ntoo much memory\nnoise\n[  SKIPPED ] A.B (0 ms)</system-out></testcase>
<testcase name="simulation" status="notrun">
<system-out>a line\nskipped: it wants g++ and no sanitizer</system-out></testcase></testsuite>
END
echo '1/2 Test #1: good .... Passed'
echo "2/2 Test #2: bad .... Failed, and $(seq -s ' ' 100)"
i=0
while [ $i -lt ${ROUNDS-0} ]; do i=$((i + 1)); done
exit ${STATUS-0}
"""


class Dev(unittest.TestCase):
    """In a copy of the scripts."""

    def setUp(self):
        folder = Path(self.enterContext(tempfile.TemporaryDirectory()))
        self.called, self.bin, self.copy = folder / "called", folder / "bin", folder / "copy"
        shutil.copytree(ROOT, self.copy, ignore=shutil.ignore_patterns(
            "build", ".git", "docs", "include", "*.cpp", "*.h", "*.java", "*.trace"))
        for name in "apt-get cmake ctest conan doxygen sudo g++ clang++ valgrind".split():
            self.standIn(self.bin / name, f'#!/bin/sh\necho "$0" >>{self.called}\nexit 99\n')

    def standIn(self, path, text):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        path.chmod(0o755)

    def dev(self, arguments, **environment):
        """Its exit status, and what it says."""
        path = f"{self.bin}:{os.environ['PATH']}"
        done = subprocess.run([self.copy / "dev", *arguments.split()], text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=300,
                              stdin=subprocess.DEVNULL, check=False,
                              env={**os.environ, "CI": "", "PATH": path,
                                   **environment})  # fmt: skip
        return done.returncode, done.stdout

    def testBadArgumentsAreNamedAndChangeNothing(self):
        for arguments, words in REFUSED.items():
            with self.subTest(arguments):
                status, said = self.dev(arguments)
                self.assertNotEqual(status, 0, said)
                self.assertNotIn("Traceback", said)
                for word in words:
                    self.assertIn(word, said.splitlines()[-1])
                self.assertFalse(self.called.exists(), "something was called")

    def testEveryCommandIsTriedAndTellsOfItself(self):
        _, text = self.dev("help")
        commands = {line.split()[1] for line in text.splitlines() if line.startswith("./dev ")}
        tried = {words.split()[0] for words in REFUSED}
        self.assertEqual(commands - tried, {"demo", "help", "orders"})
        for command in commands - {"demo", "orders", "weight"}:
            status, said = self.dev(f"{command} --help")
            self.assertEqual(status, 0, said)
            self.assertIn(f"./dev {command}", said)
        self.assertLess(len(text.splitlines()), 36)

    def testNothingIsInstalledWhereThatIsForbidden(self):
        tools = self.bin.parent / "tools"
        tools.mkdir()  # with all that the scripts themselves use, and no ninja
        for name in "bash comm dirname env fold grep id mkdir paste sed sort tr uname".split():
            (tools / name).symlink_to(shutil.which(name))
        status, said = self.dev("--no-install build", PATH=f"{self.bin}:{tools}")
        self.assertEqual(status, 1, said)
        self.assertRegex(said, "missing: .*ninja-build")

    def devTest(self, **environment):
        """With all installed that it needs."""
        self.standIn(self.copy / "tests/dev/need", "#!/bin/sh\n")
        self.standIn(self.copy / "tests/package/conan/run", "#!/bin/sh\n")
        self.standIn(self.bin / "cmake", "#!/bin/sh\necho [1/1] quiet\n")
        self.standIn(self.bin / "ctest", CTEST)
        return self.dev("test", **environment)

    def testSaysAtItsEndWhatDidNotRunAndWhatItCost(self):
        status, said = self.devTest(ROUNDS="150000")
        self.assertEqual(status, 0, said)
        self.assertIn("""did not run:
    gtest (dev): too much memory
    model (dev): rapidcheck is not installed
    silent (dev): it does not say why (SKIP_RETURN_CODE=77)
    simulation (dev): it wants g++ and no sanitizer
""", said)
        self.assertIn("PASSED: ./dev test, 4 stages", said)
        # A loop is seen in processor time, however busy the machine is.
        stages = summary.rows(self.copy / "build/record/stages.tsv")
        spent = {row[1]: float(row[2]) for row in stages if row[0] == "dev"}
        self.assertGreater(spent["run"], spent["build"])
        self.assertNotRegex(said, "quiet|Test #")

    def testWhatIsNotExcusedFailsInCI(self):
        status, said = self.devTest(CI="true")
        self.assertEqual(status, 1, said)
        wrong = re.findall("^wrong: (.*) did not run", said, re.MULTILINE)
        self.assertEqual(wrong, ["gtest", "model", "silent"])

    def testAStageThatFailsShowsWhatFailedInItInShortLines(self):
        status, said = self.devTest(STATUS="7")
        self.assertEqual(status, 7, said)
        for shown in ("Test #2: bad", "model (dev): rapidcheck",
                      'FAILED: ./dev test, in "dev: asserts on'):  # fmt: skip
            self.assertIn(shown, said)
        self.assertNotIn("Test #1: good", said)
        self.assertLessEqual(max(map(len, said.splitlines())), 110)

    def testInCIAPartThatTakesFarMoreThanItsShareIsWrong(self):
        stages = Path(self.enterContext(tempfile.TemporaryDirectory())) / "stages.tsv"
        for seconds, isCI, wrong in [
            (80, True, []), (81, False, []),  # the host may be slow
            (81, True, ["dev took 3.0 minutes, more than 3 times its 1"]),
        ]:  # fmt: skip
            stages.write_text(f"dev\tbuild\t100\t9000\ndev\trun\t{seconds}\t1\n")
            self.assertEqual(list(summary.tellCosts(stages.parent, {"dev": 1}, isCI)), wrong)
        self.assertEqual(list(summary.tellCosts(stages.parent, {}, False)),
                         ["dev has no share in budget.toml"])  # fmt: skip

    def testEachPartHasAShare(self):
        parts = re.findall(r"^ *(?:stage|preset) ([a-z]+) ", (ROOT / "dev").read_text(), re.M)
        self.assertEqual(set(parts), set(tomllib.loads(summary.BUDGET.read_text())["share"]))


if __name__ == "__main__":
    unittest.main()
