"""What the runners of the folders of tests share: they bring what they need, and build it."""

import argparse
import os
import re
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
# A test of GoogleTest's in a source: its suite, and its name.
TEST = re.compile(r"^(?:TYPED_)?TEST(?:_[FP])?\(\s*(\w+),\s*(\w+)\)", re.MULTILINE)


def need(*what):
    """Installs what is missing, or ends with what tests/dev/need says."""
    if subprocess.run([ROOT / "tests/dev/need", *what], check=False).returncode:
        sys.exit(1)


def git(*arguments):
    """What git says of this project; nothing where it fails."""
    return subprocess.run(["git", *arguments], cwd=ROOT, capture_output=True, text=True,
                          check=False).stdout.strip()  # fmt: skip


def build(preset, *targets, options=()):
    """Configures a preset and builds targets of it. Returns its folder."""
    for command in (["cmake", "--preset", preset, *options],
                    ["cmake", "--build", "--preset", preset, "--target", *targets]):  # fmt: skip
        if subprocess.run(command, cwd=ROOT, check=False).returncode:
            sys.exit(f"that failed: {' '.join(command)}")
    return ROOT / "build" / preset


def run(*command):
    """Takes the place of this process's end: its exit status is that of the command."""
    sys.stdout.flush()
    sys.exit(subprocess.run(list(map(str, command)), cwd=ROOT, check=False).returncode)


def pythonOf(venv):
    """The Python that has what `need` gets from PyPI."""
    return ROOT / "build" / venv / "venv/bin/python"


def between(least, most, kind=int):
    """A number of a command line, for argparse: what is refused names its bounds."""

    def convert(written):
        with suppress(ValueError):
            if least <= kind(written) <= most:
                return kind(written)
        raise argparse.ArgumentTypeError(f'"{written}" is not from {least} to {most}')

    return convert


def asked(name):
    """What a page says it was written by."""
    return " ".join(["./dev", name, *sys.argv[1:]])


def parser(name, about):
    os.chdir(ROOT)
    return argparse.ArgumentParser(
        prog=f"./dev {name}", description=about, allow_abbrev=False,
        formatter_class=argparse.RawDescriptionHelpFormatter)  # fmt: skip
