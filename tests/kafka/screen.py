"""What a terminal shows: events as lines, and below them a picture that is drawn again and again.
Where there is no terminal, plain lines."""

import os
import sys
import time

IS_TERMINAL = sys.stdout.isatty() and os.environ.get("TERM") != "dumb"
COLORS = {"bold": 1, "dim": 2, "red": 31, "green": 32, "yellow": 33, "blue": 34, "gray": 90}
WIDTH = 40


def painted(color, text):
    isPlain = not IS_TERMINAL or "NO_COLOR" in os.environ
    return text if isPlain else f"\033[{COLORS[color]}m{text}\033[0m"


def bold(text):
    return painted("bold", text)


def dim(text):
    return painted("dim", text)


def red(text):
    return painted("red", text)


def green(text):
    return painted("green", text)


def bar(share, color):
    """With eighths of a block."""
    eighths = round(max(0.0, min(1.0, share)) * WIDTH * 8)
    blocks = "█" * (eighths // 8) + ("", *"▏▎▍▌▋▊▉")[eighths % 8]
    return painted(color, blocks) + dim("·" * (WIDTH - len(blocks)))


class Screen:
    def __init__(self):
        self.began, self.height = time.monotonic(), 0
        self.pause = 0.5 if IS_TERMINAL else 5  # seconds from picture to picture

    def __enter__(self):
        if IS_TERMINAL:
            sys.stdout.write("\033[?25l")  # no cursor
        return self

    def __exit__(self, *_):
        if IS_TERMINAL:
            sys.stdout.write("\033[?25h")
            sys.stdout.flush()

    def seconds(self):
        return time.monotonic() - self.began

    def say(self, text):
        """An event."""
        self._erase()
        print(f"{dim(f'{self.seconds():5.0f} s')}  {text}", flush=True)

    def draw(self, picture, plain):
        if not IS_TERMINAL:
            print(f"{self.seconds():5.0f} s  {plain}", flush=True)
            return
        self._erase()
        print("\n" + "\n".join(picture), flush=True)
        self.height = len(picture) + 1

    def _erase(self):
        if self.height:
            sys.stdout.write(f"\033[{self.height}A\033[J")
            self.height = 0
