#!/usr/bin/env python3
"""./dev and the folders' runners: bad arguments are named and change nothing; ./dev test is quiet,
and says at its end what did not run and what each part cost. Stand-ins take the place of all that
they call.
"""

import os
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path.insert(0, str(HERE))
import summary  # noqa: E402

# What is asked, and what the answer must say.
REFUSED = {
    "nosuch": ["nosuch"],
    "test slow": ['"slow"', "--slow"],
    "build base": ['"base"', "release"],
    "build dev release": ['"release"'],
    "docs html": ['"html"'],
    "release --archive-url https://example.org/x": ["--url"],
    "bench nosuch": ["nosuch"],
    "bench --rounds 0": ["--rounds", "0", "1 to 1000"],
    "guarantees 5": ['"5"', "--quick"],
    "bugs --times 0": ["--times", '"0"', "1 to 1000"],
    "bugs --generated 0": ["--generated", '"0"', "1 to 100000"],
    "walkthrough --open": ['"--open"'],
    "fuzz 604801": ['"604801"', "1 to 604800"],
    "fuzz --fixed 5": ['"5"', "--fixed"],
    "kafka nosuch": ["nosuch", "demo", "attack"],
    "kafka demo --orders 5": ["--orders", '"5"', "1000 to 100000000"],
    "kafka clients java": ["java"],
    "soak abc": ["minutes", '"abc"', "0.01 to 10000"],
    "coverage all": ['"all"'],
    "lint --fixed": ['"--fixed"', "--fix"],
    "conan --test": ['"--test"', "--tests"],
    "platforms nosuch": ["nosuch", "musl"],
    "platforms --cheap --write": ["--cheap", "--write"],
    "weight 5": ["5"],
}
# Not refused: a stand-in is called, or what is missing is named.
TAKEN = ["build", "build dev", "bench --rounds 3 --quick", "bench --check --record", "fuzz 60",
         "soak 0.5 --seed 7", "demo --watch", "orders pay 4711", "kafka failures Failures.testX"]
# What ctest leaves behind: one test that passed, and one that is skipped.
CTEST = """#!/bin/sh
mkdir -p build/junit
cat >build/junit/dev.xml <<'END'
<testsuite><testcase name="good" status="run"/>
<testcase name="left-out.model" status="notrun"><skipped message=""/>
<system-out>skipped: rapidcheck is not installed</system-out></testcase></testsuite>
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
        folder.chmod(0o755)
        self.called, self.bin, self.copy = folder / "called", folder / "bin", folder / "copy"
        shutil.copytree(ROOT, self.copy, ignore=self.others)
        for name in "apt-get cmake ctest conan doxygen sudo g++ clang++ valgrind".split():
            self.standIn(self.bin / name, f'#!/bin/sh\necho "$0" >>{self.called}\nexit 99\n')

    def others(self, folder, names):
        """All but scripts."""
        return [name for name in names if name in ("build", ".git", "docs", "include") or
                Path(name).suffix in (".cpp", ".h", ".java", ".trace")]  # fmt: skip

    def standIn(self, path, text):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        path.chmod(0o755)

    def dev(self, arguments, before=(), **environment):
        path = f"{self.bin}:{os.environ['PATH']}"
        return subprocess.run([*before, self.copy / "dev", *arguments.split()], text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=300,
                              stdin=subprocess.DEVNULL,
                              env={**os.environ, "CI": "", "PATH": path,
                                   **environment})  # fmt: skip

    def testBadArgumentsAreNamedAndChangeNothing(self):
        for arguments, words in REFUSED.items():
            with self.subTest(arguments):
                run = self.dev(arguments)
                self.assertNotEqual(run.returncode, 0, run.stdout)
                self.assertNotIn("Traceback", run.stdout)
                for word in words:
                    self.assertIn(word, run.stdout.splitlines()[-1])
                self.assertFalse(self.called.exists(), "something was called")

    def testGoodArgumentsAreTaken(self):
        for arguments in TAKEN:
            with self.subTest(arguments):
                run = self.dev(f"--no-install {arguments}")
                if "missing: " not in run.stdout:
                    self.assertTrue(self.called.exists(), f"nothing was called: {run.stdout}")
                self.called.unlink(missing_ok=True)

    def testEveryCommandIsTriedAndTellsOfItself(self):
        text = self.dev("help").stdout
        commands = {line.split()[1] for line in text.splitlines() if line.startswith("./dev ")}
        tried = {words.split()[0] for words in [*REFUSED, *TAKEN]}
        self.assertEqual(commands - tried, {"help"})
        for command in commands - {"demo", "orders", "weight"}:
            run = self.dev(f"{command} --help")
            self.assertEqual(run.returncode, 0, run.stdout)
            self.assertIn(f"./dev {command}", run.stdout)
        self.assertLess(len(text.splitlines()), 36)

    def testNothingIsInstalledWhereThatIsForbidden(self):
        tools = self.bin.parent / "tools"
        tools.mkdir()  # with all that the scripts themselves use, and no ninja
        for name in "bash comm dirname env fold grep id mkdir paste sed sort tr uname".split():
            (tools / name).symlink_to(shutil.which(name))
        run = self.dev("--no-install build", PATH=f"{self.bin}:{tools}")
        self.assertEqual(run.returncode, 1, run.stdout)
        self.assertRegex(run.stdout, "missing: .*ninja-build")

    def testAFolderWithoutLeaveToWriteIsNamed(self):
        before = ()
        if os.getuid() == 0:  # who may write everywhere, unless that is taken away
            before = ("setpriv", "--bounding-set=-dac_override", "--inh-caps=-dac_override")
        self.copy.chmod(0o555)
        run = self.dev("demo", before)
        self.copy.chmod(0o755)
        self.assertEqual(run.returncode, 1, run.stdout)
        self.assertIn(f"cannot write into {self.copy}/build", run.stdout)
        self.assertFalse(self.called.exists())

    def devTest(self, **environment):
        """With all installed that it needs."""
        self.standIn(self.copy / "tests/dev/need", "#!/bin/sh\n")
        self.standIn(self.copy / "tests/package/conan/run", "#!/bin/sh\n")
        self.standIn(self.bin / "cmake", "#!/bin/sh\necho [1/1] quiet\n")
        self.standIn(self.bin / "ctest", CTEST)
        return self.dev("test", **environment)

    def testSaysAtItsEndWhatDidNotRunAndWhatItCost(self):
        run = self.devTest(ROUNDS="150000")
        self.assertEqual(run.returncode, 0, run.stdout)
        end = run.stdout.split("did not run:\n")[1]
        self.assertIn("    model (dev): rapidcheck is not installed\n", end)
        self.assertIn("PASSED: ./dev test, 4 stages", end)
        # A loop is seen in processor time, however busy the machine is.
        stages = summary.rows(self.copy / "build/record/stages.tsv")
        spent = {row[1]: float(row[2]) for row in stages if row[0] == "dev"}
        self.assertGreater(spent["run"], spent["build"])
        self.assertNotIn("quiet", run.stdout)
        self.assertNotIn("Test #", run.stdout)

    def testWhatIsNotExcusedFailsInCI(self):
        run = self.devTest(CI="true")
        self.assertEqual(run.returncode, 1, run.stdout)
        self.assertIn("wrong: model did not run", run.stdout)

    def testAStageThatFailsShowsWhatFailedInItInShortLines(self):
        run = self.devTest(STATUS="7")
        self.assertEqual(run.returncode, 7, run.stdout)
        self.assertIn("Test #2: bad", run.stdout)
        self.assertNotIn("Test #1: good", run.stdout)
        self.assertIn("model (dev): rapidcheck", run.stdout)
        self.assertIn('FAILED: ./dev test, in "dev: asserts on', run.stdout)
        self.assertLessEqual(max(map(len, run.stdout.splitlines())), 110)


# Kinds of tests that skip, beside one that passes.
TESTS = """cmake_minimum_required(VERSION 3.25)
project(trial NONE)
enable_testing()
include({})
add_test(NAME good COMMAND ${{CMAKE_COMMAND}} -E echo fine)
timingwheel_left_out(model "rapidcheck is not installed")
add_test(NAME script COMMAND sh -c "echo a line; echo 'skipped: no browser'; exit 77")
add_test(NAME silent COMMAND sh -c "exit 77")
set_tests_properties(script silent PROPERTIES SKIP_RETURN_CODE 77)
add_test(NAME gtest COMMAND printf
         "[ RUN ] A.B\\na/b.cpp:7: Skipped\\ntoo much memory\\nnoise\\n[  SKIPPED ] A.B (0 ms)\\n")
set_tests_properties(gtest PROPERTIES SKIP_REGULAR_EXPRESSION "\\\\[  SKIPPED \\\\]")
"""


class Summary(unittest.TestCase):
    def setUp(self):
        self.folder = Path(self.enterContext(tempfile.TemporaryDirectory()))

    def wrong(self, stages="", leftOut="", isCI=True):
        (self.folder / "stages.tsv").write_text(stages)
        (self.folder / "left-out.tsv").write_text(leftOut)
        budget = {"share": {"dev": 1, "asan": 2},
                  "excuses": {"all": [["big.*", "^too much memory$"]]}}  # fmt: skip
        return summary.summarise(self.folder, budget, isCI)

    def testFindsInWhatCtestWritesEachTestThatDidNotRunAndWhy(self):
        project, results = self.folder / "project", self.folder / "dev" / "dev.xml"
        project.mkdir()
        results.parent.mkdir()
        (project / "CMakeLists.txt").write_text(TESTS.format(HERE.parent / "LeftOut.cmake"))
        for command in (["cmake", "-G", "Ninja", "-S", project, "-B", project],
                        ["ctest", "--test-dir", project, "--output-junit", results]):  # fmt: skip
            subprocess.run(command, check=True, capture_output=True, timeout=60)
        self.assertEqual(summary.leftOut(self.folder), {
            ("model", "rapidcheck is not installed"): {"dev"},
            ("script", "no browser"): {"dev"},
            ("silent", "it does not say why (SKIP_RETURN_CODE=77)"): {"dev"},
            ("gtest", "too much memory"): {"dev"},
        })  # fmt: skip

    def testInCIWhatDidNotRunIsWrongUnlessItIsExcused(self):
        for leftOut, count in {"asan\tbig.Test\ttoo much memory": 0,
                               "asan\tbig.Test\ttoo much memory, or another reason": 1,
                               "asan\tanother.big.Test\ttoo much memory": 1}.items():  # fmt: skip
            self.assertEqual(len(self.wrong(leftOut=leftOut)), count, leftOut)
            self.assertEqual(self.wrong(leftOut=leftOut, isCI=False), [])

    def testInCIAPartThatTakesMoreThanTwiceItsShareIsWrong(self):
        self.assertEqual(self.wrong("dev\tbuild\t100\t9000\ndev\trun\t20\t1\n"), [])
        stages = "dev\tbuild\t100\t1\ndev\trun\t21\t1\n"
        self.assertEqual(self.wrong(stages), ["dev took 2.0 minutes, more than 2 times its 1"])
        self.assertEqual(self.wrong(stages, isCI=False), [])  # the host may be slow

    def testAPartNeedsAShareAndAllKeepWithinTheWhole(self):
        self.assertEqual(self.wrong("new\trun\t1\t1\n"), ["new has no share in budget.toml"])
        budget = summary.read(summary.BUDGET)
        lines = [line.split() for line in (ROOT / "dev").read_text().splitlines()]
        stages = {words[1] for words in lines if words[:1] in (["stage"], ["preset"])
                  and words[1].isalpha()}  # fmt: skip
        self.assertEqual(stages, set(budget["share"]))
        file = self.folder / "budget.toml"
        file.write_text("whole = 1\n[share]\na = 2\n")
        with self.assertRaises(AssertionError):
            summary.read(file)


if __name__ == "__main__":
    unittest.main()
