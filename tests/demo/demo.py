#!/usr/bin/env python3
"""Runs timingwheel-demo as its users do, but for seconds less.

demo.py <program> [unittest's options and names]

No test knows how fast the machine is: what is compared are counts, ways and exit statuses.
"""

import re
import signal
import sys
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "support"))
import programs
from programs import end, readUntil

PROGRAM = ""
COLUMNS = 80
ESCAPE = re.compile(r"\033\[[?0-9;]*([A-Za-z])")
SHORT = ["--follow", "0.02", "--duration", "0.12", "--scale", "0.01"]
LOAD = ["--follow", "0", *SHORT[2:]]
VERDICTS = ["The ledger balances.", "The timer's own statistics agree with it."]
NOTHING_RAN = re.compile(r"^ *all +\S+ +0 ", re.MULTILINE)  # on a machine that is very busy


def start(options, **where):
    return programs.start([PROGRAM, *options], **where)


def run(options, **where):
    """Exit status, standard output and standard error."""
    return end(start(options, **where))


def runOnATerminal(options):
    """Exit status, and the lines of a terminal of 80 x 24 without their colours."""
    status, written = programs.onATerminal([PROGRAM, *options])
    # What goes to a row, to another screen or to a line's beginning begins a line.
    text = ESCAPE.sub(lambda m: "\n" if m[1] in "Hhl" else "", written)
    return status, re.split(r"[\r\n]+", text)


def ledgerOf(out):
    """The rows of figures by their names."""
    rows = re.findall(r"^   (\w[\w' ]+?) +((?:[\d,]+ +){3}[\d,]+)$", out, re.MULTILINE)
    return {name: [int(n.replace(",", "")) for n in row.split()] for name, row in rows}


def levelsOf(deadline, wheelSize):
    """The levels that a task comes to: those of its deadline's digits that are not zero."""
    levels, level = [], 0
    while deadline > 0:
        if deadline % wheelSize:
            levels.insert(0, level)
        deadline, level = deadline // wheelSize, level + 1
    return levels


class Demo(unittest.TestCase):
    def assertIsWhole(self, out):
        for verdict in VERDICTS:
            self.assertIn(verdict, out)
        if not NOTHING_RAN.search(out):
            self.assertIn("none began before its time.", out)

    def testFollowsATaskDownTheLevels(self):
        wheelSize, tick = 4, 0.03
        options = ["--follow", "0.63", "--duration", "0", "--wheel-size", "4", "--tick", "30"]
        self.assertEqual(levelsOf(21, wheelSize), [2, 1, 0])
        for _ in range(20):  # a machine that is very busy may schedule the task when it is due
            status, out, err = run(options)
            self.assertEqual((status, err), (0, ""), out)
            self.assertIn("21 ticks, 0.630 s, after the timer's start", out)
            moves = re.findall(r" s  (place|cascade) +(.*), slot (\d+): expires at (\S+) s", out)
            if moves:
                break
        way = [int(re.search(r"\d+$", where).group()) for _, where, _, _ in moves]
        # A machine that was busy when the timer was made has it start later, by whole ticks.
        deadline = round(float(moves[-1][3]) / tick)
        self.assertLessEqual(deadline, 21)
        self.assertEqual(way, levelsOf(deadline, wheelSize), out)
        for i, (what, where, slot, expires) in enumerate(moves):
            self.assertEqual(what, "cascade" if i else "place")
            expected = f"level {way[i - 1]} to {way[i]}" if i else f"on level {way[i]}"
            self.assertEqual(where, expected)
            width = wheelSize ** way[i]
            self.assertEqual(int(slot), deadline // width % wheelSize)
            self.assertAlmostEqual(float(expires), deadline // width * width * tick)
        told = re.search(r" s  run .* late, (\d+) cascades? after it was placed", out)
        self.assertEqual(int(told[1]), len(moves) - 1, out)
        self.assertIn("Of 1 run none began before its time.", out)

    def testAccountsForEveryTimeout(self):
        status, out, err = run([*LOAD, "--threads", "3"])
        self.assertEqual((status, err), (0, ""), out)
        self.assertIsWhole(out)
        self.assertRegex(out, r"Heap with a mutex +\S+ .s a call, the wheel \S+ .s, with \S+ pend")
        ledger = ledgerOf(out)
        kinds = [row for name, row in ledger.items() if name not in ("all", "timer's count")]
        self.assertEqual(len(kinds), 4, out)
        for accepted, *ends in ledger.values():
            self.assertEqual(accepted, sum(ends), out)
        self.assertEqual([sum(column) for column in zip(*kinds)], ledger["all"])
        self.assertEqual(ledger["all"], ledger["timer's count"])
        self.assertGreater(ledger["all"][0], 0)

    def testDrawsTheLevels(self):
        status, out, err = run(["--watch", *LOAD[2:-1], "0.1"])
        self.assertEqual((status, err), (0, ""), out)
        self.assertRegex(out, r"level 0 [^\n]* a slot")
        self.assertIsWhole(out)

    def testEndsInOrderAfterCtrlC(self):
        for options, beginning, told in [
            (["--follow", "600"], "place", "stop() returned the task"),
            (["--follow", "0", "--duration", "600", "--scale", "0.01"], "time  pending",
             "Interrupted: the timer was stopped."),
        ]:  # fmt: skip
            process = start(options)
            readUntil(process, lambda lines: beginning in lines[-1])  # noqa: B023
            process.send_signal(signal.SIGINT)
            status, rest, err = end(process)
            self.assertEqual((status, err), (130, ""), rest)
            self.assertIn(told, rest)
            if "--duration" in options:
                self.assertIn(VERDICTS[0], rest)
                self.assertIn(VERDICTS[1], rest)

    def testFailsWhenItsOutputCannotBeWritten(self):
        for options in (SHORT, ["--watch", *LOAD[2:]], ["--help"], ["--version"]):
            with open("/dev/full", "w", encoding="utf-8") as full:
                status, _, err = run(options, stdout=full)
            self.assertEqual(status, 1, options)
            self.assertEqual(err, "timingwheel-demo: its output could not be written\n")

    def testRefusesAWrongCommandLine(self):
        for options in (["--scale", "0"], ["--nonsense"], ["--follow", "0", "--duration", "0"]):
            status, out, err = run(options)
            self.assertEqual((status, out), (2, ""), options)
            self.assertTrue(err.startswith("timingwheel-demo: "), err)

    def testPrintsLinesOfEightyColumns(self):
        wheels = [("2", "0.001"), ("2", "1"), ("3", "50"), ("20", "1"), ("32", "0.999"),
                  ("1000", "0.001")]  # fmt: skip
        ways = [[*SHORT, "--wheel-size", size, "--tick", tick] for size, tick in wheels]
        ways += [
            # A load would take a gigabyte for so many slots, in each of several wheels.
            ["--follow", "0.02", "--duration", "0", "--wheel-size", "1048576", "--tick", "0.999"],
            ["--follow", "0.3", "--duration", "0"],
            ["--follow", "0.3", "--duration", "0", "--wheel-size", "32", "--tick", "0.001"],
            [*LOAD, "--threads", "64"],
            ["--watch", *LOAD[2:]], ["--watch", *LOAD[2:], "--wheel-size", "1000"], ["--help"],
        ]  # fmt: skip
        for options, process in [(options, start(options)) for options in ways]:
            status, out, err = end(process)
            self.assertEqual((status, err), (0, ""), options)
            self.assertGreater(len(out.splitlines()), 10, options)
            for line in out.splitlines():
                self.assertLessEqual(len(line), COLUMNS, f"{options}: {line}")

    def testFitsATerminal(self):
        for options in (SHORT, ["--watch", *LOAD[2:]]):
            status, lines = runOnATerminal(options)
            self.assertEqual(status, 0, lines)
            self.assertGreater(len(lines), 20, options)
            self.assertIsWhole("\n".join(lines))
            for line in lines:
                self.assertLessEqual(len(line), COLUMNS, f"{options}: {line}")


if __name__ == "__main__":
    PROGRAM = sys.argv.pop(1)
    unittest.main(verbosity=2)
