#!/usr/bin/env python3
"""orders.py <timingwheel-orders> [test...]: runs the program as its users do, and kills it."""

import contextlib
import os
import random
import re
import shutil
import signal
import sqlite3
import sys
import tempfile
import time
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "support"))
import programs
from programs import end, linesOf, readUntil, waitUntil

PROGRAM = None
LEDGER = re.compile(r"^placed (\S+) = paid (\S+) \+ cancelled (\S+) \+ pending ([\d,]+)", re.M)
BALANCES = "The ledger balances."
LATER = "; it reaches the timer at its next start"
LEAVES = "\033[?1049l"  # the alternate screen
IDLE = ("--rate", "0")  # nobody places an order
SLOW = """
CREATE VIEW slow AS WITH RECURSIVE count(x) AS
    (SELECT 1 UNION ALL SELECT x + 1 FROM count LIMIT 100000) SELECT x FROM count;
CREATE TRIGGER slow BEFORE UPDATE ON orders WHEN old.state = 0 AND new.state = 2
    BEGIN SELECT COUNT(*) FROM slow; END;
CREATE TRIGGER pay AFTER UPDATE ON orders WHEN new.id = '000' AND new.state = 2
    BEGIN UPDATE orders SET state = 1, isTold = 0 WHERE id = '299' AND state = 0; END;
"""


def ledgerOf(out):
    """Placed, paid, cancelled, pending."""
    return [int(number.replace(",", "")) for number in LEDGER.findall(out)[-1]]


def opened(file):
    """A file of SQLite, to look at or to change behind the program's back."""
    return contextlib.closing(sqlite3.connect(file, isolation_level=None))


def kill(process):
    process.kill()
    process.communicate()


class Orders(unittest.TestCase):
    def setUp(self):
        self.folder = Path(self.enterContext(tempfile.TemporaryDirectory()))
        self.file = self.folder / "orders.db"
        self.timeouts = self.folder / "orders.db-timeouts"

    def start(self, *options, **where):
        return programs.start([PROGRAM, "--file", str(self.file), *options], **where)

    def orders(self, *options, **where):
        """Exit status, standard output and standard error."""
        return end(self.start(*options, **where))

    def check(self, command, status, out):
        found, told, err = self.orders(*command)
        # With a shop that is open, on a busy machine.
        told = told.replace(LATER, "") if LATER not in out else told
        self.assertEqual((found, told, err), (status, out, ""))

    def place(self, id_, after="1h", more=""):
        told = f"{id_}: placed, to be paid within {after}{more}\n"
        self.check(["place", id_, "--after", after], 0, told)

    def close(self, process, status=130, says=BALANCES):
        process.send_signal(signal.SIGINT)
        found, out, err = end(process)
        self.assertEqual((found, err), (status, ""), out)
        self.assertIn(says, out)

    @contextlib.contextmanager
    def shop(self, *options):
        """A shop that is open, until Ctrl-C."""
        process = self.start("run", *options)
        try:
            readUntil(process)
            yield process
        finally:
            self.close(process)

    def read(self):
        """What the file says: ids by state, and what the timer has.

        Of a copy: who opens the files recovers them after a kill, and the program is to do that.
        """
        with tempfile.TemporaryDirectory() as folder:
            for file in self.folder.glob(f"{self.file.name}*"):
                if not file.name.endswith("-shm"):
                    shutil.copy(file, folder)
            with opened(Path(folder) / self.file.name) as book:
                rows = book.execute("SELECT state, id FROM orders").fetchall()
            with opened(Path(folder) / self.timeouts.name) as timer:
                timeouts = timer.execute("SELECT CAST(id AS TEXT) FROM timeout").fetchall()
        states = [{id_ for state, id_ in rows if state == one} for one in range(3)]
        return *states, {id_ for (id_,) in timeouts}

    def testLosesNoOrderWhenItIsKilled(self):
        options = ["run", "--orders", "400", "--rate", "300", "--paid", "0.6", "--after", "1500ms"]
        seed = random.randrange(1 << 30)
        dice, ends = random.Random(seed), [set(), set(), set()]
        for _ in range(4):
            process = self.start(*options)
            readUntil(process)
            time.sleep(dice.random() * 0.4)
            kill(process)
            found = self.read()
            # An order does not vanish, and what it has come to does not change.
            self.assertLessEqual(ends[0], found[0] | found[1] | found[2], seed)
            self.assertLessEqual(ends[1], found[1], seed)
            self.assertLessEqual(ends[2], found[2], seed)
            ends = found[:3]
        status, out, err = self.orders(*options)
        self.assertEqual((status, err), (0, ""), f"{out} seed {seed}")
        self.assertIn(BALANCES, out)
        placed, paid, cancelled, pending = ledgerOf(out)
        self.assertEqual((placed, paid + cancelled, pending), (400, 400, 0), seed)
        open_, paidIds, cancelledIds, timeouts = self.read()
        self.assertEqual((len(paidIds), len(cancelledIds)), (paid, cancelled), seed)
        self.assertEqual((open_, timeouts), (set(), set()), seed)
        self.assertGreater(cancelled, 0, seed)

    def testGoesOnWhereItWasAfterCtrlC(self):
        with self.shop("--rate", "200", "--paid", "0", "--after", "1h") as process:
            readUntil(process)  # a second later
        open_, _, _, timeouts = self.read()
        self.assertGreater(len(open_), 0)
        self.assertEqual(timeouts, open_)
        with self.shop(*IDLE):
            pass
        self.assertEqual(self.read()[0], open_)

    def testPlacesAndPaysWithAShopAndWithout(self):
        self.place("a")
        self.check(["pay", "a"], 0, "a: paid\n")
        with self.shop(*IDLE) as process:
            self.place("b")
            self.place("c")
            self.check(["pay", "b"], 0, "b: paid\n")
            self.check(["pay", "b"], 0, "b: paid before\n")
            self.place("d", "100ms")
            waitUntil(lambda: ledgerOf(self.orders("list")[1])[2] == 1, process)
            self.check(["pay", "d"], 1, "d: too late\n")
        self.assertEqual(self.read(), ({"c"}, {"a", "b"}, {"d"}, {"c"}))
        status, out, _ = self.orders("list")
        self.assertEqual((status, ledgerOf(out)), (0, [4, 2, 1, 1]))
        self.assertRegex(out, r"(?m)^c: pending, .* left$")

    @contextlib.contextmanager
    def refusesToCancel(self):
        """No order can be cancelled meanwhile."""
        self.orders("list")  # makes the file
        with opened(self.file) as book:
            book.execute("CREATE TRIGGER no BEFORE UPDATE ON orders WHEN new.state = 2"
                         " BEGIN SELECT RAISE(FAIL, 'not today'); END")  # fmt: skip
        yield
        with opened(self.file) as book:
            book.execute("DROP TRIGGER no")

    def testCancelsWhatWasDueWhileItDidNotRun(self):
        # A `place` on a busy machine may still run when its order is due, and would cancel it.
        with self.refusesToCancel():
            self.place("a", "100ms")
            time.sleep(0.1)
            self.check(["pay", "a"], 1, "a: too late\n")
        self.assertEqual(self.read(), ({"a"}, set(), set(), {"a"}))
        with self.shop(*IDLE) as process:
            waitUntil(lambda: ledgerOf(self.orders("list")[1]) == [1, 0, 1, 0], process)

    def testSaysIfATimeoutIsMissingOrHasNoOrder(self):
        for id_, file, table, told in [
            ("a", self.timeouts, "timeout", "placed 1 = paid 0 + cancelled 0 + pending 0"),
            ("b", self.file, "orders", "placed 0 = paid 0 + cancelled 0 + pending 1"),
        ]:
            self.place(id_)
            with opened(file) as book:
                book.execute(f"DELETE FROM {table}")
            process = self.start("run", *IDLE)
            readUntil(process)
            self.close(process, 1, f"{told}, by the timer's file\nThe ledger DOES NOT balance.")

    def testBalancesIfItEndsBeforeWhatWasOverdueIsCancelled(self):
        # The last order is paid when its timeout is due, behind the others, each of which takes
        # some 20 ms.
        self.orders("list")  # makes the file
        with opened(self.file) as book:
            book.executescript(SLOW)
            book.executemany("INSERT INTO orders VALUES (?, 0, 0, 1, 0)",
                             [(f"{i:03}",) for i in range(300)])  # fmt: skip
            with self.shop(*IDLE) as process:
                paid = "SELECT state FROM orders WHERE id = '299'"
                waitUntil(lambda: book.execute(paid).fetchone() == (1,), process)
        open_, _, _, timeouts = self.read()
        self.assertEqual(timeouts, open_)

    def testDrawsWhatIsPending(self):
        command = [PROGRAM, "--file", str(self.file), "run", "--rate", "500", "--after", "30min"]
        status, text = programs.onATerminal(command, until="█")
        self.assertEqual(status, 130, text)
        screen, after = text.split(LEAVES)
        self.assertIn("each cancels itself after 30 min unless it is paid", screen)
        self.assertRegex(screen, r"28\.1 min to +30 min +[1-9]")
        # The last row but one: the last is for what goes wrong.
        self.assertRegex(screen, r"\033\[23;1H\S* \d+ timeouts? in the timer's file; after Ctrl-C")
        self.assertIn(BALANCES, after)
        for line in linesOf(text):
            self.assertLessEqual(len(line), 80, line)

    def testRefusesAnIdThatTheTimerDoesNotTake(self):
        for command in ("place", "pay"):
            for id_, told in [
                ("", "'' has 0 bytes: it must have 1 to 1,000"),
                ("x" * 1001, f"'{'x' * 20}...' has 1,001 bytes: it must have 1 to 1,000"),
                ("a\033[2Jb", "'a?[2Jb' has a control character, here '?': it must have none"),
                ("a\u009b2Jb", "a control character"),
                ("a\n", "a control character"),
            ]:
                status, out, err = self.orders(command, id_)
                self.assertEqual((status, out), (2, ""), err)
                self.assertRegex(err, f"(?m)^id: .*{re.escape(told)}")
                self.assertEqual(list(self.folder.iterdir()), [])
        for id_ in ("ok", "x" * 1000, "\u00e4\u20ac"):
            self.place(id_)
            self.assertIn(f"{id_}: pending, ", self.orders("list")[1])
        with self.shop(*IDLE):
            pass

    def testRefusesAFileThatIsNone(self):
        for self.file, mode in [(":memory:", "memory"), ("", "delete")]:
            for command in (["place", "a"], ["run"], ["list"]):
                told = (f"timingwheel-orders: '{self.file}' has the journal mode {mode}: it must "
                        "be wal, which only a file on a disk has\n")  # fmt: skip
                self.assertEqual(self.orders(*command, cwd=self.folder), (1, "", told))
        self.assertEqual(list(self.folder.iterdir()), [])

    def expectRefused(self, told, *command, **where):
        status, out, err = self.orders(*command, **where)
        self.assertEqual((status, out or ""), (1, ""))
        self.assertRegex(err, rf"^timingwheel-orders: .*{re.escape(told)}\n$")

    def testRefusesWhatItCannotDo(self):
        self.place("a")
        self.expectRefused("there is an order a", "place", "a")
        self.expectRefused("there is no order b", "pay", "b")
        with self.shop(*IDLE):
            self.expectRefused(f"{self.file}: another shop has it open", "run")
        for options in ([], ["run", "--after", "3"], ["run", "--paid", "2"], ["pay"],
                        ["run", "--paid", "nan"]):  # fmt: skip
            self.assertEqual(self.orders(*options)[0], 2, options)
        with open("/dev/full", "w", encoding="utf-8") as full:
            self.expectRefused("its output could not be written", "list", stdout=full)
        self.file = self.folder / "foreign.db"
        with opened(self.file) as foreign:
            foreign.execute("CREATE TABLE address (name TEXT)")
        self.expectRefused("foreign.db: is not a file of this program", "list")


if __name__ == "__main__":
    PROGRAM = os.path.abspath(sys.argv.pop(1))
    unittest.main(verbosity=2)
