#!/usr/bin/env python3
"""Runs timingwheel-calendar as its users do.

program.py <program> [unittest's options and names]
"""

import os
import re
import subprocess
import sys
import unittest

PROGRAM = ""
BERLIN = ["30 2 * * *", "Europe/Berlin"]


def run(*options):
    """Exit status, the lines of standard output, and standard error."""
    environment = {**os.environ, "LC_ALL": "C.UTF-8"}
    done = subprocess.run(
        [PROGRAM, *options], env=environment, stdin=subprocess.DEVNULL, capture_output=True,
        encoding="utf-8", check=False,
    )  # fmt: skip
    return done.returncode, done.stdout.splitlines(), done.stderr


class Calendar(unittest.TestCase):
    def refused(self, *options):
        status, lines, error = run(*options)
        self.assertEqual((status, lines), (2, []))
        return error

    def testPrintsLocalTimesAndUtc(self):
        status, lines, error = run("-n", "3", "--after", "2026-03-27 12:00", *BERLIN)
        self.assertEqual((status, error), (0, ""))
        self.assertEqual(
            lines,
            [
                "Sat 2026-03-28 02:30:00  +01:00  Sat 2026-03-28 01:30:00 UTC",
                "Sun 2026-03-29 03:00:00  +02:00  Sun 2026-03-29 01:00:00 UTC",
                "Mon 2026-03-30 02:30:00  +02:00  Mon 2026-03-30 00:30:00 UTC",
            ],
        )

    def testFollowsThePolicies(self):
        _, lines, _ = run("-n", "2", "--gap", "skip", "--after", "2026-03-28 12:00:00", *BERLIN)
        self.assertEqual([line[:14] for line in lines], ["Mon 2026-03-30", "Tue 2026-03-31"])
        _, lines, _ = run("-n", "2", "--overlap", "both", "--after", "2026-10-24T12:00", *BERLIN)
        twice = ["2026-10-25 02:30:00  +02:00", "2026-10-25 02:30:00  +01:00"]
        self.assertEqual([line[4:31] for line in lines], twice)

    def testReadsOnCalendarWithItsZone(self):
        _, lines, _ = run("--onCalendar", "-n", "1", "--after", "2026-11-23", "Mon 9:00 Asia/Tokyo")
        self.assertEqual(lines, ["Mon 2026-11-30 09:00:00  +09:00  Mon 2026-11-30 00:00:00 UTC"])

    def testCountsFromNowAndPrintsTen(self):
        status, lines, _ = run("* * * * *")
        self.assertEqual((status, len(lines)), (0, 10))
        self.assertEqual(lines, sorted(lines, key=lambda line: line[4:23]))
        self.assertTrue(all(re.search(r":00  \+00:00  ", line) for line in lines))

    def testShowsWhereItDoesNotUnderstand(self):
        self.assertEqual(
            self.refused("0 0 31 2 *"),
            "timingwheel-calendar: this day never comes\n  0 0 31 2 *\n      ^\n",
        )
        self.assertIn("0 0 * *\n", self.refused("0 0 * *"))

    def testNamesTheOptionAndItsBound(self):
        self.assertIn("Mars", self.refused("* * * * *", "Mars"))
        self.assertIn("1 to 1000000", self.refused("-n", "0", "* * * * *"))
        self.assertIn("noon", self.refused("--gap", "noon", "* * * * *"))
        for after in ("2026-02-30", "today", "2026-02-20 10", "2026-02-20 10:00:00 +1"):
            error = self.refused("--after", after, "* * * * *")
            self.assertIn(f'--after wants YYYY-MM-DD HH:MM:SS in UTC, not "{after}"', error)
        self.assertIn("expression", self.refused())

    def testSaysWhenItDoesNotComeAnyMore(self):
        status, lines, error = run("--onCalendar", "--after", "2026-11-23", "2020-01-01")
        self.assertEqual((status, lines), (1, []))
        self.assertEqual(
            error, "timingwheel-calendar: it does not come after Mon 2026-11-23 00:00:00 UTC\n"
        )

    def testExplainsItself(self):
        status, lines, _ = run("--help")
        self.assertEqual(status, 0)
        self.assertIn("OnCalendar", "\n".join(lines))


if __name__ == "__main__":
    PROGRAM = sys.argv.pop(1)
    unittest.main()
