#!/usr/bin/env python3
"""orders.py <timingwheel-orders> [test...]: runs the program as its users do, and kills it."""

import contextlib
import os
import random
import re
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "support"))
import programs
from programs import end, pause, readUntil, waitUntil

PROGRAM = None
LEDGER = re.compile(r"^placed (\S+) = paid (\S+) \+ cancelled (\S+) \+ pending ([\d,]+)", re.M)
BALANCES = "The ledger balances."
ESCAPE = re.compile(r"\033\[[\d;?]*([A-Za-z])")
ROW = re.compile(r"\033\[(\d+);1H([^\033]*)\033\[K")
LATER = "; the timer learns of it at its next start"
LEAVES = "\033[?1049l"  # the alternate screen


def start(*options, **where):
    return programs.start([PROGRAM, *options], **where)


def run(*options, **where):
    """Exit status, standard output and standard error."""
    return end(start(*options, **where))


# The time of day is STEP seconds later if there is a file IS_SET.
CLOCK = """
#define _GNU_SOURCE
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
int clock_gettime(clockid_t clock, struct timespec* time) {
    long const result = syscall(SYS_clock_gettime, clock, time);
    if (clock == CLOCK_REALTIME && access(getenv("IS_SET"), F_OK) == 0)
        time->tv_sec += atol(getenv("STEP"));
    return (int)result;
}
"""


def placedOf(line):
    """Of a line that run writes each second."""
    found = re.match(r"placed ([\d,]+),", line)
    assert found, f"'{line}' is none"
    return int(found[1].replace(",", ""))


def opens(process, file):
    """Whether it has this file open, or has ended."""
    with contextlib.suppress(OSError):
        descriptors = list(Path(f"/proc/{process.pid}/fd").iterdir())
        return any(one.is_symlink() and one.readlink() == Path(file) for one in descriptors)
    return False


def ledgerOf(out):
    """Placed, paid, cancelled, pending."""
    return [int(number.replace(",", "")) for number in LEDGER.findall(out)[-1]]


class Orders(unittest.TestCase):
    def setUp(self):
        self.folder = Path(self.enterContext(tempfile.TemporaryDirectory()))
        self.file = self.folder / "orders.db"

    def orders(self, *options, **where):
        return run("--file", str(self.file), *options, **where)

    @contextlib.contextmanager
    def shop(self, *options):
        """A shop that is open, until Ctrl-C."""
        process = start("--file", str(self.file), "run", *options)
        try:
            readUntil(process)
            yield process
        finally:
            process.send_signal(signal.SIGINT)
            status, out, err = end(process)
        self.assertEqual((status, err), (130, ""), out)
        self.assertIn(BALANCES, out)

    def read(self):
        """What the file says: ids by state, and what the timer has.

        Of a copy: who opens the files recovers them after a kill, and the program is to do that.
        """
        with tempfile.TemporaryDirectory() as folder:
            for file in self.folder.glob(f"{self.file.name}*"):
                if not file.name.endswith("-shm"):
                    shutil.copy(file, folder)
            copy = Path(folder) / self.file.name
            with contextlib.closing(sqlite3.connect(copy)) as book:
                rows = book.execute("SELECT state, id FROM orders").fetchall()
            with contextlib.closing(sqlite3.connect(f"{copy}-timeouts")) as timer:
                timeouts = timer.execute("SELECT CAST(id AS TEXT) FROM timeout").fetchall()
        states = [{id_ for state, id_ in rows if state == one} for one in range(3)]
        return *states, {id_ for id_, in timeouts}

    def testLosesNoOrderWhenItIsKilled(self):
        options = ["--orders", "400", "--rate", "300", "--paid", "0.6", "--after", "1500ms"]
        seed = random.randrange(1 << 30)
        dice, ends = random.Random(seed), [set(), set(), set()]
        for _ in range(4):
            process = start("--file", str(self.file), "run", *options)
            readUntil(process)
            time.sleep(dice.random() * 0.4)
            process.kill()
            process.communicate()
            found = self.read()
            # An order does not vanish, and what it has come to does not change.
            self.assertLessEqual(ends[0], found[0] | found[1] | found[2], seed)
            self.assertLessEqual(ends[1], found[1], seed)
            self.assertLessEqual(ends[2], found[2], seed)
            ends = found[:3]
        status, out, err = self.orders("run", *options)
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
        with self.shop("--rate", "0"):
            pass
        self.assertEqual(self.read()[0], open_)

    def testPlacesAndPaysWithAShopAndWithout(self):
        self.check(["place", "a", "--after", "1h"], 0, "a: placed, to be paid within 1h\n")
        self.check(["pay", "a"], 0, "a: paid\n")
        with self.shop("--rate", "0") as process:
            self.check(["place", "b", "--after", "1h"], 0, "b: placed, to be paid within 1h\n")
            self.check(["place", "c", "--after", "1h"], 0, "c: placed, to be paid within 1h\n")
            self.check(["pay", "b"], 0, "b: paid\n")
            self.check(["pay", "b"], 0, "b: paid before\n")
            soon = ["place", "d", "--after", "100ms"]
            self.check(soon, 0, "d: placed, to be paid within 100ms\n")
            waitUntil(lambda: ledgerOf(self.orders("list")[1])[2] == 1, process)
            self.check(["pay", "d"], 1, "d: too late\n")
        self.assertEqual(self.read(), ({"c"}, {"a", "b"}, {"d"}, {"c"}))
        status, out, _ = self.orders("list")
        self.assertEqual((status, ledgerOf(out)), (0, [4, 2, 1, 1]))
        self.assertRegex(out, r"(?m)^c: pending, .* left$")

    def check(self, command, status, out):
        found, told, err = self.orders(*command)
        # With a shop that is open, on a busy machine.
        told = told.replace(LATER, "") if LATER not in out else told
        self.assertEqual((found, told, err), (status, out, ""))

    @contextlib.contextmanager
    def refusesToCancel(self):
        """No order can be cancelled meanwhile."""
        self.orders("list")  # makes the file
        with contextlib.closing(sqlite3.connect(self.file)) as book:
            book.execute("CREATE TRIGGER no BEFORE UPDATE ON orders WHEN new.state = 2"
                         " BEGIN SELECT RAISE(FAIL, 'not today'); END")  # fmt: skip
            book.commit()
        yield
        with contextlib.closing(sqlite3.connect(self.file)) as book:
            book.execute("DROP TRIGGER no")
            book.commit()

    def testCancelsWhatWasDueWhileItDidNotRun(self):
        # A `place` on a busy machine may still run when its order is due, and would cancel it.
        with self.refusesToCancel():
            soon = ["place", "a", "--after", "100ms"]
            self.check(soon, 0, "a: placed, to be paid within 100ms\n")
            time.sleep(0.1)
            self.check(["pay", "a"], 1, "a: too late\n")
        self.assertEqual(self.read(), ({"a"}, set(), set(), {"a"}))
        with self.shop("--rate", "0") as process:
            waitUntil(lambda: ledgerOf(self.orders("list")[1]) == [1, 0, 1, 0], process)

    def testSaysIfATimeoutIsMissing(self):
        self.check(["place", "a", "--after", "1h"], 0, "a: placed, to be paid within 1h\n")
        with contextlib.closing(sqlite3.connect(f"{self.file}-timeouts")) as timer:
            timer.execute("DELETE FROM timeout")
            timer.commit()
        process = start("--file", str(self.file), "run", "--rate", "0")
        readUntil(process)
        process.send_signal(signal.SIGINT)
        status, out, err = end(process)
        self.assertEqual((status, err), (1, ""), out)
        self.assertIn("The ledger DOES NOT balance.", out)

    def testBalancesIfItEndsBeforeWhatWasOverdueIsCancelled(self):
        # The last order is paid when its timeout is due, behind the others, each of which takes
        # some 20 ms.
        self.orders("list")  # makes the file
        with contextlib.closing(sqlite3.connect(self.file)) as book:
            book.execute("CREATE VIEW slow AS WITH RECURSIVE count(x) AS (SELECT 1 UNION ALL"
                         " SELECT x + 1 FROM count LIMIT 100000) SELECT x FROM count")
            book.execute("CREATE TRIGGER slow BEFORE UPDATE ON orders WHEN old.state = 0"
                         " AND new.state = 2 BEGIN SELECT COUNT(*) FROM slow; END")  # fmt: skip
            book.execute("CREATE TRIGGER pay AFTER UPDATE ON orders WHEN new.id = '000'"
                         " AND new.state = 2 BEGIN UPDATE orders SET state = 1, isTold = 0"
                         " WHERE id = '299' AND state = 0; END")  # fmt: skip
            book.executemany("INSERT INTO orders VALUES (?, 0, 0, 1, 0)",
                             [(f"{i:03}",) for i in range(300)])  # fmt: skip
            book.commit()
            with self.shop("--rate", "0") as process:
                paid = "SELECT state FROM orders WHERE id = '299'"
                waitUntil(lambda: book.execute(paid).fetchone() == (1,), process)
        open_, _, _, timeouts = self.read()
        self.assertEqual(timeouts, open_)

    def testSaysIfATimeoutHasNoOrder(self):
        self.check(["place", "a", "--after", "1h"], 0, "a: placed, to be paid within 1h\n")
        for file in self.folder.glob("orders.db*"):
            if "-timeouts" not in file.name:
                file.unlink()
        process = start("--file", str(self.file), "run", "--rate", "0")
        readUntil(process)
        process.send_signal(signal.SIGINT)
        status, out, err = end(process)
        self.assertEqual((status, err), (1, ""), out)
        self.assertIn("placed 0 = paid 0 + cancelled 0 + pending 1, by the timer's file", out)
        self.assertIn("The ledger DOES NOT balance.", out)

    @unittest.skipUnless(shutil.which("cc"), "it compiles a clock that can be set")
    def testOrdersAndShowsOnIfTheClockIsSet(self):
        clock, isSet = self.folder / "clock.so", self.folder / "isSet"
        subprocess.run(["cc", "-shared", "-fPIC", "-x", "c", "-", "-o", clock], input=CLOCK,
                       encoding="utf-8", check=True)  # fmt: skip
        for step in (86400, -86400):
            began = time.monotonic()
            process = start("--file", str(self.file), "run", "--rate", "20", "--after", "100h",
                            environment={"LD_PRELOAD": str(clock), "STEP": str(step),
                                         "IS_SET": str(isSet)})  # fmt: skip
            before = placedOf(readUntil(process)[0])
            isSet.touch()
            # No line from before the clock was set tells of so many.
            most = before + 20 * (time.monotonic() - began)
            after = placedOf(readUntil(process, lambda lines: placedOf(lines[-1]) > most)[-1])
            process.kill()
            process.communicate()
            isSet.unlink()
            self.assertLess(after - before, 100_000)  # a day's customers are 1,728,000

    def testShowsAnErrorUntilItIsOver(self):
        with contextlib.ExitStack() as shop:
            with self.refusesToCancel():
                soon = ["place", "a", "--after", "100ms"]
                self.check(soon, 0, "a: placed, to be paid within 100ms\n")
                process = shop.enter_context(self.shop("--rate", "0"))
                readUntil(process, lambda lines: "not today" in lines[-1])
            isOver = ["placed 1, paid 0, cancelled 1, pending 0\n"] * 2
            readUntil(process, lambda lines: lines[-2:] == isOver)

    def onATerminal(self, *options, **terminal):
        command = [PROGRAM, "--file", str(self.file), *options]
        return programs.onATerminal(command, **terminal)

    def testDrawsWhatIsPending(self):
        status, text = self.onATerminal("run", "--rate", "500", "--after", "30min", until="█")
        self.assertEqual(status, 130, text)
        screen, after = text.split(LEAVES)
        self.assertIn("each cancels itself after 30 min unless it is paid", screen)
        self.assertRegex(screen, r"28\.1 min to +30 min +[1-9]")
        # The last row but one: the last is for what goes wrong.
        self.assertRegex(screen, r"\033\[23;1H\S* \d+ timeouts? in the timer's file; after Ctrl-C")
        self.assertIn(BALANCES, after)
        # What goes to a row, to another screen or to a line's beginning begins a line.
        plain = ESCAPE.sub(lambda found: "\n" if found[1] in "Hhl" else "", text)
        for line in re.split(r"[\r\n]+", plain):
            self.assertLessEqual(len(line), 80, line)

    def testDrawsNoHalfOfASentenceWhereThereIsLittleRoom(self):
        for columns, limit, file in [
            (60, ": cancelled after 30 min", " in the timer's file; they outlive Ctrl-C"),
            (40, "", " in the timer's file"),
            (30, "", ""),
        ]:
            _, text = self.onATerminal("run", "--rate", "200", "--after", "30min", rows=20,
                                       columns=columns, until="timeout")  # fmt: skip
            rows = {}
            for row, line in ROW.findall(re.sub(r"\033\[[\d;]*m", "", text)):
                rows[int(row)] = line
            # In the last column it would be cleared with what is behind it.
            self.assertLess(max(len(line) for line in rows.values()), columns)
            self.assertEqual(rows[1], f" Orders in orders.db{limit}")
            totals = rows.get(17, "") + rows[18]
            self.assertRegex(totals, r"^ placed .* = paid .* \+ cancelled 0 \+ pending [\d,]+$")
            self.assertRegex(rows[19], rf"^ [\d,]+ timeouts?{file}$")

    def testShortensAnIdOnATerminal(self):
        id_ = "x" * 1000
        self.orders("place", id_, "--after", "2h")
        self.orders("place", "ab", "--after", "3h")
        status, text = self.onATerminal("list", columns=60)
        self.assertEqual(status, 0)
        first, second, _ = text.splitlines()
        self.assertRegex(first, r"^x+\.\.\.: pending, .* left$")
        self.assertEqual(len(first), 60)
        self.assertRegex(second, "^ab: pending, .* left$")
        self.assertIn(f"{id_}: pending, ", self.orders("list")[1])

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
            self.check(["place", id_, "--after", "1h"], 0,
                       f"{id_}: placed, to be paid within 1h\n")  # fmt: skip
        with self.shop("--rate", "0"):
            pass

    def testOpensTheShopWhileAnOrderIsPlaced(self):
        self.check(["place", "a", "--after", "1h"], 0, "a: placed, to be paid within 1h\n")
        held = 2  # seconds after which it gives up
        while held >= 2:  # a machine may be that busy
            with contextlib.closing(sqlite3.connect(f"{self.file}-timeouts")) as placing:
                began = time.monotonic()
                placing.execute("BEGIN IMMEDIATE")
                process = start("--file", str(self.file), "run", "--rate", "0")
                waitUntil(lambda: opens(process, self.file), process)  # noqa: B023
                time.sleep(0.1)  # it may try
            held = time.monotonic() - began
            if held >= 2:
                process.kill()
                process.communicate()
        self.assertRegex(readUntil(process)[0], "placed 1,")
        process.send_signal(signal.SIGINT)
        status, out, err = end(process)
        self.assertEqual((status, err), (130, ""), out)

    def testDoesNotWaitForAShopThatWasStopped(self):
        self.check(["place", "a", "--after", "1h"], 0, "a: placed, to be paid within 1h\n")
        with self.shop("--rate", "0") as process:
            pause(process)
            try:
                self.check(["pay", "a"], 0, f"a: paid{LATER}\n")
                self.check(["place", "b", "--after", "1h"], 0,
                           f"b: placed, to be paid within 1h{LATER}\n")  # fmt: skip
            finally:
                process.send_signal(signal.SIGCONT)
        self.assertEqual(self.read(), ({"b"}, {"a"}, set(), {"b"}))

    def testSaysThatAnOrderIsPlacedIfTheTimerFails(self):
        Path(f"{self.file}-timeouts").mkdir()
        status, out, err = self.orders("place", "a")
        self.assertEqual(status, 0)
        self.assertEqual(out, "a: placed, to be paid within 30min; the timer learns of it at its"
                              " next start\n")  # fmt: skip
        self.assertRegex(err, "^timingwheel-orders: .*orders.db-timeouts: cannot be opened")
        Path(f"{self.file}-timeouts").rmdir()
        with self.shop("--rate", "0"):
            pass
        self.assertEqual(self.read(), ({"a"}, set(), set(), {"a"}))

    def testRefusesAFileThatIsNone(self):
        for name, mode in [(":memory:", "memory"), ("", "delete")]:
            for command in (["place", "a"], ["run"], ["list"]):
                self.assertEqual(
                    run("--file", name, *command, cwd=self.folder),
                    (1, "", f"timingwheel-orders: '{name}' has the journal mode {mode}: it must be"
                            " wal, which only a file on a disk has\n"),
                )  # fmt: skip
        self.assertEqual(list(self.folder.iterdir()), [])

    def testPlacesInANewFileThatOthersOpen(self):
        # SQLite does not wait for them when it changes the journal's mode.
        with contextlib.closing(sqlite3.connect(self.file, isolation_level=None)) as other:
            other.execute("BEGIN IMMEDIATE")
            processes = [start("--file", str(self.file), "place", f"{i}") for i in range(8)]
            for process in processes:
                waitUntil(lambda: opens(process, self.file), process)  # noqa: B023
            other.execute("ROLLBACK")
            for i, process in enumerate(processes):
                status, out, err = end(process)
                self.assertEqual((status, err), (0, ""), out)
                self.assertRegex(out, rf"^{i}: placed, to be paid within 30min({LATER})?\n$")
        with self.shop("--rate", "0"):
            pass
        open_, _, _, timeouts = self.read()
        self.assertEqual((len(open_), timeouts), (8, open_))

    def testRefusesWhatItCannotDo(self):
        self.check(["place", "a", "--after", "1h"], 0, "a: placed, to be paid within 1h\n")
        for command, told in [(["place", "a"], "there is an order a"),
                              (["pay", "b"], "there is no order b")]:  # fmt: skip
            self.assertEqual(self.orders(*command), (1, "", f"timingwheel-orders: {told}\n"))
        with self.shop("--rate", "0"):
            status, out, err = self.orders("run")
            self.assertEqual((status, out), (1, ""))
            self.assertEqual(err, f"timingwheel-orders: {self.file}: another shop has it open\n")
        for options in ([], ["run", "--after", "3"], ["run", "--paid", "2"], ["pay"]):
            self.assertEqual(self.orders(*options)[0], 2, options)
        with open("/dev/full", "w", encoding="utf-8") as full:
            status, _, err = self.orders("list", stdout=full)
        self.assertEqual((status, err),
                         (1, "timingwheel-orders: its output could not be written\n"))  # fmt: skip
        self.file = self.folder / "foreign.db"
        with contextlib.closing(sqlite3.connect(self.file)) as foreign:
            foreign.execute("CREATE TABLE address (name TEXT)")
        status, out, err = self.orders("list")
        self.assertEqual((status, out), (1, ""))
        self.assertIn("foreign.db: is not a file of this program", err)


if __name__ == "__main__":
    PROGRAM = os.path.abspath(sys.argv.pop(1))
    unittest.main(verbosity=2)
