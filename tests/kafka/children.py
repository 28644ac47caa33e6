"""Programs that are started, paused, killed and ended, and never left behind."""

import contextlib
import os
import signal
import socket
import subprocess
import sys
import time

_children, _reserved = [], []


class Child:
    """A program in a process group of its own, whose output goes to a file.

    It dies with this process, however that ends. REQUIRES: the main thread starts it, for the
    kernel kills it when the thread that started it ends.
    """

    def __init__(self, name, command, log):
        self.name, self.command, self.log = name, [str(word) for word in command], log
        self.environment = self.process = None
        self.isPaused = False
        _children.append(self)

    def start(self):
        self.log.parent.mkdir(parents=True, exist_ok=True)
        with open(self.log, "ab") as log:
            self.process = subprocess.Popen(
                ["setpriv", "--pdeathsig", "KILL", "--", *self.command], stdin=subprocess.DEVNULL,
                stdout=log, stderr=log, env=self.environment, start_new_session=True,
            )  # fmt: skip
        self.isPaused = False

    @property
    def isRunning(self):
        return self.process is not None and self.process.poll() is None

    def signal(self, number):
        if self.isRunning:
            os.killpg(self.process.pid, number)

    def kill(self):
        """As a machine that loses its power."""
        self.signal(signal.SIGKILL)
        if self.process is not None:
            self.process.wait()
        self.isPaused = False

    def pause(self):
        """Returns when it stands still, or has ended."""
        self.signal(signal.SIGSTOP)
        if self.isRunning:
            os.waitid(os.P_PID, self.process.pid, os.WSTOPPED | os.WEXITED | os.WNOWAIT)
        self.isPaused = True

    def resume(self):
        self.signal(signal.SIGCONT)
        self.isPaused = False

    def stop(self):
        """Asks it to end; its exit status."""
        self.signal(signal.SIGTERM)
        return self.process.wait(timeout=20)

    def said(self):
        """All that it has written."""
        return self.log.read_text(errors="replace")

    def endOfLog(self, lines=15):
        return "\n".join(self.said().splitlines()[-lines:])


@contextlib.contextmanager
def allEnded():
    """Ends all children at the end of the block, also at Ctrl-C, SIGTERM and SIGHUP."""
    signals = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
    for number in signals:
        # unittest lets KeyboardInterrupt pass, as it does not SystemExit.
        signal.signal(number, signal.default_int_handler)
    try:
        yield
    except KeyboardInterrupt:
        sys.exit(130)
    finally:
        for number in signals:
            signal.signal(number, signal.SIG_IGN)
        for child in _children:
            child.kill()


def reserve(name):
    """Whether no process on this machine has the name. It is this one's until it ends."""
    lock = socket.socket(socket.AF_UNIX)
    try:
        lock.bind(f"\0timingwheel's {name}")
    except OSError:
        lock.close()
        return False
    _reserved.append(lock)
    return True


def freePorts(count):
    """Ports that nobody listens to or was given before. They are below those that the system gives
    to clients: a broker that was killed finds its port free again."""
    found, candidate = [], 20_000 + os.getpid() * 7 % 10_000
    while len(found) < count:
        candidate = candidate + 1 if candidate < 31_999 else 20_000
        with socket.socket() as probe, contextlib.suppress(OSError):
            probe.bind(("127.0.0.1", candidate))
            if reserve(f"port {candidate}"):
                found.append(candidate)
    return found


def waitUntil(condition, seconds, what, every=0.1):
    """Returns once the condition holds. Gives up with an error."""
    until = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > until:
            ended = [f"{child.name} has ended:\n{child.endOfLog()}" for child in _children
                     if child.process and child.process.poll() not in (None, 0, -9)]  # fmt: skip
            raise TimeoutError("\n".join([f"after {seconds} s: {what}", *ended]))
        time.sleep(every)
