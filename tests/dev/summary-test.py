#!/usr/bin/env python3
"""The summary at the end of ./dev test notices what it is there for."""

import contextlib
import importlib.util
import io
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

HERE = Path(__file__).resolve().parent
spec = importlib.util.spec_from_file_location("summary", HERE / "summary.py")
summary = importlib.util.module_from_spec(spec)
spec.loader.exec_module(summary)

BUDGET = {
    "minutes": 3,
    "part": {"dev": {"minutes": 1}, "asan": {"minutes": 2}},
    "excuse": [{"what": "big.*", "why": "^too much memory$"}],
}
# Three kinds of tests that skip, beside one that passes, as ctest itself is told of them.
TESTS = """cmake_minimum_required(VERSION 3.25)
project(trial NONE)
enable_testing()
include({leftOut})
add_test(NAME good COMMAND ${{CMAKE_COMMAND}} -E echo fine)
timingwheel_left_out(model "rapidcheck is not installed")
add_test(NAME script COMMAND sh -c "echo a line; echo 'skipped: no browser'; exit 77")
set_tests_properties(script PROPERTIES SKIP_RETURN_CODE 77)
add_test(NAME silent COMMAND sh -c "exit 77")
set_tests_properties(silent PROPERTIES SKIP_RETURN_CODE 77)
add_test(NAME gtest COMMAND printf
         "[ RUN ] A.B\\na/b.cpp:7: Skipped\\ntoo much memory\\nnoise\\n[  SKIPPED ] A.B (0 ms)\\n")
set_tests_properties(gtest PROPERTIES SKIP_REGULAR_EXPRESSION "\\\\[  SKIPPED \\\\]")
"""


def told(function, *arguments):
    """What it returns, and what it prints."""
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        result = function(*arguments)
    return result, out.getvalue()


class Summary(unittest.TestCase):
    def setUp(self):
        self.folder = Path(self.enterContext(tempfile.TemporaryDirectory()))
        self.stages("dev\t50\t30")

    def stages(self, *lines):
        (self.folder / "stages.tsv").write_text("".join(line + "\n" for line in lines))

    def leave(self, *lines):
        (self.folder / "left-out.tsv").write_text("".join(line + "\n" for line in lines))

    def summarise(self, isCI=False):
        return told(summary.summarise, self.folder, BUDGET, isCI)

    def testSaysThatAllRan(self):
        wrong, said = self.summarise(isCI=True)
        self.assertEqual(wrong, [])
        self.assertIn("everything ran", said)

    def testFindsInWhatCtestWritesEachTestThatDidNotRunAndWhy(self):
        project, results = self.folder / "project", self.folder / "dev" / "dev.xml"
        project.mkdir()
        results.parent.mkdir()
        leftOut = HERE.parent / "LeftOut.cmake"
        (project / "CMakeLists.txt").write_text(TESTS.format(leftOut=leftOut))
        for command in (["cmake", "-G", "Ninja", "-S", project, "-B", project],
                        ["ctest", "--test-dir", project, "--output-junit", results]):  # fmt: skip
            subprocess.run(command, check=True, capture_output=True, timeout=60)
        self.assertEqual(summary.leftOut(self.folder), {
            ("model", "rapidcheck is not installed"): ["dev"],
            ("script", "no browser"): ["dev"],
            ("silent", "it does not say why (SKIP_RETURN_CODE=77)"): ["dev"],
            ("gtest", "too much memory"): ["dev"],
        })  # fmt: skip

    def testNamesAStepThatWasLeftOutOnceForAllParts(self):
        self.leave("dev\tinstructions\tanother compiler", "asan\tinstructions\tanother compiler")
        wrong, said = self.summarise()
        self.assertEqual(wrong, [])
        self.assertIn("    instructions (asan, dev): another compiler\n", said)

    def testInCIWhatDidNotRunIsWrong(self):
        self.leave("dev\tinstructions\tanother compiler")
        (wrong,), _ = self.summarise(isCI=True)
        self.assertIn("instructions did not run", wrong)

    def testInCIWhatIsExcusedIsNot(self):
        self.leave("asan\tbig.Test\ttoo much memory")
        self.assertEqual(self.summarise(isCI=True)[0], [])
        self.leave("asan\tbig.Test\ttoo much memory, or another reason")
        self.assertEqual(len(self.summarise(isCI=True)[0]), 1)
        self.leave("asan\tanother.big.Test\ttoo much memory")
        self.assertEqual(len(self.summarise(isCI=True)[0]), 1)

    def testPointsAtAPartThatTakesMoreThanTwiceItsShare(self):
        self.stages("dev\t120\t9000")
        self.assertNotIn("<-", self.summarise()[1])
        self.stages("dev\t121\t61")
        wrong, said = self.summarise()
        self.assertEqual(wrong, [])  # the host may be slow
        self.assertRegex(said, r"dev +2\.0 +1\.0 +1\.0 <- more than 2 times its share\n")

    def testStagesOfAPartAddUp(self):
        self.stages("dev\t70\t10", "asan\t1\t1", "dev\t70\t10")
        wrong, said = self.summarise()
        self.assertEqual(wrong, [])
        self.assertRegex(said, r"dev +2\.3 +1\.0 +0\.3 <-")
        self.assertRegex(said, r"together +2\.4 +3\.0 +0\.3\n")

    def testAPartNeedsAShare(self):
        self.stages("newcomer\t1\t1")
        self.assertEqual(self.summarise()[0], ["newcomer has no share in budget.toml"])

    def testTheTableInTheTreeKeepsWithinTheHour(self):
        budget = summary.read(summary.BUDGET)
        self.assertEqual(budget["minutes"], 120)
        text = (HERE.parents[1] / "dev").read_text(encoding="utf-8")
        stages = {line.split()[1] for line in text.splitlines() if line.startswith("    stage ")}
        self.assertEqual(stages - budget["part"].keys(), set())
        file = self.folder / "budget.toml"
        file.write_text("minutes = 1\n[part.a]\nminutes = 2\n")
        with self.assertRaises(AssertionError):
            summary.read(file)


if __name__ == "__main__":
    sys.exit(unittest.main())
