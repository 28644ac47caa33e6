"""Programs that tests run as their users do. No wait outlives the program, or LONG seconds."""

import fcntl
import os
import pty
import re
import signal
import struct
import subprocess
import termios
import threading
import time
from contextlib import contextmanager

LONG = 120  # seconds: after them a program hangs, however busy the machine is


def start(command, environment=(), **where):
    return subprocess.Popen(
        command, stdin=subprocess.DEVNULL, encoding="utf-8",
        env={**os.environ, "LC_ALL": "C.UTF-8", "TERM": "xterm-256color", **dict(environment)},
        # A shell that starts something in the background has it ignore Ctrl-C.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
        **{"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, **where},
    )  # fmt: skip


@contextmanager
def killedIfItHangs(process):
    limit = threading.Timer(LONG, process.kill)
    limit.start()
    try:
        yield
    finally:
        limit.cancel()


def end(process):
    """Waits until it ends: exit status, -9 if it was killed; standard output and error."""
    with killedIfItHangs(process):
        out, err = process.communicate()
    return process.returncode, out, err


def readUntil(process, isEnough=lambda _: True):
    """The lines that it writes, until they are enough: by default one. Fails with what it has
    written if it ends before, or writes nothing more."""
    lines = []
    with killedIfItHangs(process):
        while not lines or not isEnough(lines):
            lines.append(process.stdout.readline())
            if lines[-1] == "":
                _, _, err = end(process)
                raise AssertionError(f"it ended, and wrote only {''.join(lines)}{err}")
    return lines


def waitUntil(holds, process):
    """Fails if the process ends before."""
    last = time.monotonic() + LONG
    while not holds():
        assert process.poll() is None, f"it has ended: {end(process)}"
        assert time.monotonic() < last, "that does not come"
        time.sleep(0.01)


def pause(process):
    """Returns when it stands still."""
    process.send_signal(signal.SIGSTOP)
    os.waitid(os.P_PID, process.pid, os.WSTOPPED | os.WEXITED | os.WNOWAIT)


def onATerminal(command, until=None):
    """Exit status, and what it writes on 24 x 80. Once it has written `until` it gets a Ctrl-C."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))
    process = start(command, stdout=theirs, stderr=theirs)
    os.close(theirs)
    written = b""
    with killedIfItHangs(process):
        try:
            while chunk := os.read(ours, 65536):
                written += chunk
                if until and until.encode() in written:
                    process.send_signal(signal.SIGINT)
                    until = None
        except OSError:  # the other side has gone
            pass
        status = process.wait()
    os.close(ours)
    return status, written.decode()


def linesOf(written):
    """Without colours. What goes to a row, another screen or a line's beginning begins a line."""
    text = re.sub(r"\033\[[?\d;]*([A-Za-z])", lambda m: "\n" * (m[1] in "Hhl"), written)
    return re.split(r"[\r\n]+", text)
