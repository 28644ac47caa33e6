#!/usr/bin/env python3
"""Runs timingwheel-calendar as its users do.

program.py <program> [unittest's options and names]
"""

import sys
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "support"))
from programs import end, start

PROGRAM = ""
BERLIN = ["30 2 * * *", "Europe/Berlin"]


class Calendar(unittest.TestCase):
    def lines(self, *options):
        status, out, error = end(start([PROGRAM, *options]))
        self.assertEqual((status, error), (0, ""))
        return out.splitlines()

    def refused(self, *options, status=2):
        *found, error = end(start([PROGRAM, *options]))
        self.assertEqual(found, [status, ""])
        return error

    def testPrintsLocalTimesAndUtc(self):
        self.assertEqual(self.lines("-n", "3", "--after", "2026-03-27 12:00", *BERLIN), [
            "Sat 2026-03-28 02:30:00  +01:00  Sat 2026-03-28 01:30:00 UTC",
            "Sun 2026-03-29 03:00:00  +02:00  Sun 2026-03-29 01:00:00 UTC",
            "Mon 2026-03-30 02:30:00  +02:00  Mon 2026-03-30 00:30:00 UTC",
        ])  # fmt: skip

    def testFollowsThePolicies(self):
        lines = self.lines("-n", "2", "--gap", "skip", "--after", "2026-03-28 12:00:00", *BERLIN)
        self.assertEqual([line[:14] for line in lines], ["Mon 2026-03-30", "Tue 2026-03-31"])
        lines = self.lines("-n", "2", "--overlap", "both", "--after", "2026-10-24T12:00", *BERLIN)
        twice = ["2026-10-25 02:30:00  +02:00", "2026-10-25 02:30:00  +01:00"]
        self.assertEqual([line[4:31] for line in lines], twice)

    def testReadsOnCalendarWithItsZone(self):
        lines = self.lines("--onCalendar", "-n", "1", "--after", "2026-11-23",
                           "Mon 9:00 Asia/Tokyo")  # fmt: skip
        self.assertEqual(lines, ["Mon 2026-11-30 09:00:00  +09:00  Mon 2026-11-30 00:00:00 UTC"])

    def testCountsFromNowAndPrintsTen(self):
        lines = self.lines("* * * * *")
        self.assertEqual([line[20:33] for line in lines], [":00  +00:00  "] * 10)
        self.assertEqual(lines, sorted(lines, key=lambda line: line[4:23]))

    def testShowsWhereItDoesNotUnderstand(self):
        self.assertEqual(self.refused("0 0 31 2 *"),
                         "timingwheel-calendar: this day never comes\n  0 0 31 2 *\n      ^\n")
        self.assertIn("0 0 * *\n", self.refused("0 0 * *"))

    def testNamesTheOptionAndItsBound(self):
        self.assertIn("Mars", self.refused("* * * * *", "Mars"))
        self.assertIn("1 to 1000000", self.refused("-n", "0", "* * * * *"))
        self.assertIn("noon", self.refused("--gap", "noon", "* * * * *"))
        for after in ("2026-02-30", "today", "2026-02-20 10", "2026-02-20 10:00:00 +1"):
            error = self.refused("--after", after, "* * * * *")
            self.assertIn(f'--after needs YYYY-MM-DD HH:MM:SS in UTC, not "{after}"', error)
        self.assertIn("expression", self.refused())

    def testSaysWhenItDoesNotComeAnyMore(self):
        self.assertEqual(
            self.refused("--onCalendar", "--after", "2026-11-23", "2020-01-01", status=1),
            "timingwheel-calendar: it does not come after Mon 2026-11-23 00:00:00 UTC\n")

    def testExplainsItself(self):
        self.assertIn("OnCalendar", "\n".join(self.lines("--help")))


if __name__ == "__main__":
    PROGRAM = sys.argv.pop(1)
    unittest.main()
