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
from programs import end, linesOf, readUntil

PROGRAM = ""
COLUMNS = 80
SHORT = ["--follow", "0.02", "--duration", "0.12", "--scale", "0.01"]
LOAD = ["--follow", "0", *SHORT[2:]]
WATCH = ["--watch", *SHORT[2:]]
VERDICTS = ["The ledger balances.", "The timer's own statistics agree with it."]
NOTHING_RAN = re.compile(r"^ *all +\S+ +0 ", re.MULTILINE)  # on a machine that is very busy


def start(options, **where):
    return programs.start([PROGRAM, *options], **where)


def run(options, **where):
    """Exit status, standard output and standard error."""
    return end(start(options, **where))


def ledgerOf(out):
    """The rows of figures by their names."""
    rows = re.findall(r"^   (\w[\w' ]+?) +((?:[\d,]+ +){3}[\d,]+)$", out, re.MULTILINE)
    return {name: [int(n.replace(",", "")) for n in row.split()] for name, row in rows}


class Demo(unittest.TestCase):
    def succeed(self, options):
        status, out, err = run(options)
        self.assertEqual((status, err), (0, ""), out)
        return out

    def assertIsWhole(self, out):
        for verdict in VERDICTS:
            self.assertIn(verdict, out)
        if not NOTHING_RAN.search(out):
            self.assertIn("none began before its time.", out)

    def assertFits(self, lines, options):
        self.assertGreater(len(lines), 10, options)
        for line in lines:
            self.assertLessEqual(len(line), COLUMNS, f"{options}: {line}")

    def testFollowsATaskDownTheLevels(self):
        wheelSize, tick = 4, 0.03
        options = ["--follow", "0.63", "--duration", "0", "--wheel-size", "4", "--tick", "30"]
        for _ in range(20):  # a machine that is very busy may schedule the task when it is due
            out = self.succeed(options)
            self.assertIn("21 ticks, 0.630 s, after the timer's start", out)
            moves = re.findall(r" s  (place|cascade) +(.*), slot (\d+): expires at (\S+) s", out)
            if moves:
                break
        # A machine that was busy when the timer was made has it start later, by whole ticks.
        deadline = round(float(moves[-1][3]) / tick)
        self.assertLessEqual(deadline, 21)
        # It comes to the levels of those of its deadline's digits that are not zero.
        way = [level for level in (2, 1, 0) if deadline // wheelSize**level % wheelSize]
        expected = []
        for before, level in zip([None, *way], way):
            width = wheelSize**level
            what = ("place", f"on level {level}") if before is None else \
                ("cascade", f"level {before} to {level}")  # fmt: skip
            slot, expires = deadline // width % wheelSize, deadline // width * width * tick
            expected.append((*what, str(slot), f"{expires:.3f}"))
        self.assertEqual(moves, expected, out)
        told = re.search(r" s  run .* late, (\d+) cascades? after it was placed", out)
        self.assertEqual(int(told[1]), len(moves) - 1, out)
        self.assertIn("Of 1 run none began before its time.", out)

    def testAccountsForEveryTimeout(self):
        out = self.succeed([*LOAD, "--threads", "3"])
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

    def testEndsInOrderAfterCtrlC(self):
        for options, beginning, told in [
            (["--follow", "600"], "place", ["stop() returned the task"]),
            (["--follow", "0", "--duration", "600", "--scale", "0.01"], "time  pending",
             ["Interrupted: the timer was stopped.", *VERDICTS]),
        ]:  # fmt: skip
            process = start(options)
            readUntil(process, lambda lines: beginning in lines[-1])  # noqa: B023
            process.send_signal(signal.SIGINT)
            status, rest, err = end(process)
            self.assertEqual((status, err), (130, ""), rest)
            for words in told:
                self.assertIn(words, rest)

    def testFailsWhenItsOutputCannotBeWritten(self):
        for options in (SHORT, WATCH, ["--help"], ["--version"]):
            with open("/dev/full", "w", encoding="utf-8") as full:
                status, _, err = run(options, stdout=full)
            told = "timingwheel-demo: its output could not be written\n"
            self.assertEqual((status, err), (1, told), options)

    def testRefusesAWrongCommandLine(self):
        for options in (["--scale", "0"], ["--scale", "nan"], ["--nonsense"],
                        ["--follow", "0", "--duration", "0"]):  # fmt: skip
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
            [*LOAD, "--threads", "64"], WATCH, [*WATCH, "--wheel-size", "1000"], ["--help"],
        ]  # fmt: skip
        for options, process in [(options, start(options)) for options in ways]:
            status, out, err = end(process)
            self.assertEqual((status, err), (0, ""), options)
            self.assertFits(out.splitlines(), options)
            if options == WATCH:
                self.assertRegex(out, r"level 0 [^\n]* a slot")
                self.assertIsWhole(out)

    def testFitsATerminal(self):
        for options in (SHORT, WATCH):
            status, written = programs.onATerminal([PROGRAM, *options])
            lines = linesOf(written)
            self.assertEqual(status, 0, lines)
            self.assertIsWhole("\n".join(lines))
            self.assertFits(lines, options)


if __name__ == "__main__":
    PROGRAM = sys.argv.pop(1)
    unittest.main(verbosity=2)
