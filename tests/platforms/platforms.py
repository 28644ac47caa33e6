#!/usr/bin/env python3
"""Tries the library with other compilers, processors, systems and Boosts: a row of rows.toml each,
in build/platforms. A row whose tools cannot be had is left out, and says why.
"""

import json
import os
import re
import shutil
import subprocess
import sys
import time
import tomllib
from dataclasses import dataclass, replace
from datetime import date
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent / "benchmark/page"), str(HERE.parent / "support")]
from markdown import fill, joined, table, textTable  # noqa: E402
from runner import ROOT, parser, pythonOf  # noqa: E402

WORK = ROOT / "build/platforms"
PAGE, RESULTS, TEMPLATE = ROOT / "docs/platforms.md", HERE / "results.jsonl", HERE / "page.md.in"
ZIG = (HERE / "requirements.txt").read_text().split("==")[1].strip()
PACKAGES = {"rapidcheck": "librapidcheck-dev", "date": "libhowardhinnant-date-dev",
            "sqlite3": "libsqlite3-dev"}  # fmt: skip
FAST = (*sorted(f"unit/{folder.name}" for folder in (ROOT / "tests/unit").iterdir()), "flow",
        "model", "threads")  # fmt: skip
NEEDS = {"unit/calendar": "date", "unit/store": "sqlite3"}  # of PACKAGES
# qemu can start no program again that it runs, and keeps two signals for itself.
NOT_UNDER_QEMU = r"DeathTest|Process\.DriverThreadTakesNoSignals"
# MinGW's std::stop_callback may wait for ever for a callback that runs: with nothing of ours.
NOT_WITH_MINGW = "-RaceSleep.*:RaceTimedScheduler.*"
# The library in few pieces: a compiler that is slow to start compiles them in a fifth of the time.
UNITY = ("-DCMAKE_UNITY_BUILD=ON", "-DCMAKE_UNITY_BUILD_BATCH_SIZE=100")


@dataclass
class Row:
    """rows.toml says what the fields are."""

    name: str
    what: str
    cxx: str = "g++"
    flags: str = ""
    linkFlags: str = ""
    zig: str = ""
    emulator: str = ""
    system: str = ""
    debian: str = ""
    apt: tuple = ()
    libraries: tuple = ()
    boost: str = "own"
    tests: tuple = ()
    testFlags: str = "-O0"
    options: tuple = ()
    refusal: str = ""
    runs: bool = True
    cheap: tuple | None = None

    def __post_init__(self):
        if self.libraries == "all":
            self.libraries = tuple(PACKAGES)
        if self.tests == "fast":
            self.tests = tuple(folder for folder in FAST
                               if NEEDS.get(folder) in (None, *self.libraries))  # fmt: skip

    @property
    def isWindows(self):
        return self.system.startswith("Windows")

    @property
    def proof(self):
        """What it shows."""
        if not self.runs:
            return "compiled and linked"
        if not self.tests:
            return "a program runs"
        left = [Path(folder).name for folder in FAST if folder not in self.tests]
        if len(left) > len(self.tests):
            return f"tests of {joined(Path(folder).name for folder in self.tests)} run"
        left += ["rapidcheck"] if "rapidcheck" not in self.libraries else []
        return "the fast tests run" + (f", without {joined(sorted(left))}" if left else "")


ROWS = [Row(**row) for row in tomllib.loads((HERE / "rows.toml").read_text("utf-8"))["row"]]


class LeftOut(Exception):
    """What a row needs cannot be had here."""


class Failed(Exception):
    """A row does not keep what it says."""


# ---- tools -------------------------------------------------------------------------------------


def run(command, log, **more):
    """Runs a command, whose output goes to the log. True if it succeeds."""
    with open(log, "a") as out:
        print("$", *command, file=out, flush=True)
        return subprocess.run([str(word) for word in command], stdout=out, stderr=out, check=False,
                              stdin=subprocess.DEVNULL, **more).returncode == 0  # fmt: skip


def must(command, log, what, **more):
    if not run(command, log, **more):
        lines = Path(log).read_text(errors="replace").splitlines()
        errors = [line for line in lines if re.search(r"error|FAILED|\(Failed\)", line)]
        raise Failed(f"{what}: {(errors or lines or [''])[0][:300]} (see {log})")


def need(*what):
    done = subprocess.run([ROOT / "tests/dev/need", *what], text=True, check=False,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT)  # fmt: skip
    if done.returncode:
        raise LeftOut(done.stdout.splitlines()[-1])


def boostHeaders(kind, log):
    """A folder that has the headers of Boost, and nothing else."""
    if kind == "headers":
        folder = WORK / "boost"
        folder.mkdir(exist_ok=True)
        if not (folder / "boost").exists():
            (folder / "boost").symlink_to("/usr/include/boost")
        return folder
    folder = WORK / "boost-newer"
    if not (folder / "unpacked").exists():
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir()
        known = subprocess.run(["apt-cache", "pkgnames", "libboost1."], capture_output=True,
                               text=True, check=False).stdout  # fmt: skip
        minors = re.findall(r"^libboost1\.(\d+)-dev$", known, re.MULTILINE)
        newest = f"libboost1.{max(map(int, minors), default=0)}-dev"
        if not run(["apt-get", "-q", "download", newest], log, cwd=folder):
            raise LeftOut(f"apt does not bring {newest}")
        must(["dpkg-deb", "-x", next(folder.glob("*.deb")), folder / "root"], log, "unpacking")
        (folder / "unpacked").touch()
    return folder / "root/usr/include"


# What a chroot needs. Its tools are as new as the suite.
TOOLS = ",".join(["g++", "cmake", "ninja-build", "libboost-dev", "googletest", "python3", "tzdata",
                  *PACKAGES.values()])  # fmt: skip
ENTER = """
mkdir -p "$0/$1"
mount --bind "$1" "$0/$1"
mount --rbind /dev "$0/dev"
mount -t proc proc "$0/proc"
root=$0
shift
exec chroot "$root" env -i PATH=/usr/bin:/bin LANG=C.UTF-8 "$@"
"""


def chroot(suite, log):
    """The words before a command that is to run in Debian's `suite`. It sees the project where it
    is here. What is mounted for it is gone when it ends."""
    root = WORK / f"{suite}-root"
    made = root / "made"
    if not made.exists() or made.read_text() != TOOLS:
        if os.geteuid() != 0:
            raise LeftOut(f"only root can make a chroot of Debian {suite}")
        need("apt:debootstrap")
        shutil.rmtree(root, ignore_errors=True)
        if not run(["debootstrap", "--variant=minbase", f"--include={TOOLS}", suite, root,
                    "http://deb.debian.org/debian"], log):  # fmt: skip
            raise LeftOut(f"apt does not bring Debian {suite}: debootstrap fails")
        made.write_text(TOOLS)
    return ["unshare", "--mount", "--pid", "--fork", "--kill-child", "sh", "-ec", ENTER, root, ROOT]


# ---- a row -------------------------------------------------------------------------------------

class Try:
    def __init__(self, row):
        self.row, self.folder = row, WORK / row.name
        self.log = self.folder / "log"
        self.folder.mkdir(parents=True, exist_ok=True)
        self.log.write_text("")
        self.did, self.late = [], {}  # percentile: milliseconds
        self.before = []  # what leads a command to where it runs

    def must(self, command, what, log=None, **more):
        must([*self.before, *command], log or self.log, what, **more)

    def cmake(self, what, source, build, *arguments):
        self.must(["cmake", "-S", source, "-B", build, *arguments], f"cmake {what}")
        self.must(["cmake", "--build", build], f"compiling {what}")

    def go(self):
        row = self.row
        if row.debian:
            self.before = chroot(row.debian, self.log)
        else:
            packages = [*row.apt, *(PACKAGES[one] for one in row.libraries)]
            need("python", *(f"apt:{one}" for one in packages), *(["zig"] if row.zig else []))
        arguments = self.arguments()
        versions = self.versions()
        self.program(arguments)
        if not row.refusal:  # the wheels alone are not installed
            self.package(arguments)
        if row.tests:
            self.tests(arguments)
        return {**versions, "did": ", ".join(self.did), "late": self.late}

    def zig(self, name, command):
        script = self.folder / name
        script.write_text(f'#!/bin/sh\nexec "{pythonOf("zig")}" -m ziglang {command} "$@"\n')
        script.chmod(0o755)
        return script

    def arguments(self):
        """For CMake: compiler, system, Boost."""
        row, given = self.row, {"CMAKE_BUILD_TYPE": "Release"}
        given["CMAKE_CXX_COMPILER"] = row.cxx
        if row.zig:
            given["CMAKE_CXX_COMPILER"] = self.zig("c++", f"c++ -target {row.zig}")
            given |= {f"CMAKE_{word.upper()}": self.zig(word, word) for word in ("ar", "ranlib")}
        given |= {"CMAKE_CXX_FLAGS": row.flags, "CMAKE_EXE_LINKER_FLAGS": row.linkFlags}
        launcher = os.environ.get("CMAKE_CXX_COMPILER_LAUNCHER")
        if launcher and not row.zig and not row.debian:
            given["CMAKE_CXX_COMPILER_LAUNCHER"] = launcher
        if row.system:
            given["CMAKE_SYSTEM_NAME"], given["CMAKE_SYSTEM_PROCESSOR"] = row.system.split()
        if row.emulator:
            given["CMAKE_CROSSCOMPILING_EMULATOR"] = shutil.which(row.emulator)
        if row.boost != "own":
            given["Boost_NO_BOOST_CMAKE"] = "ON"
            given["Boost_INCLUDE_DIR"] = boostHeaders(row.boost, self.log)
        self.given = given
        return ["-G", "Ninja", *(f"-D{name}={value}" for name, value in given.items())]

    def told(self, *command):
        return subprocess.run([*map(str, self.before), *map(str, command)], capture_output=True,
                              text=True, check=True, cwd=self.folder).stdout  # fmt: skip

    def versions(self):
        """Of what the row takes."""
        row, cxx, asks = self.row, self.given["CMAKE_CXX_COMPILER"], self.folder / "versions.cpp"
        boost = self.given.get("Boost_INCLUDE_DIR")
        asks.write_text("#include <version>\n#include <boost/version.hpp>\n"
                        "libc++ _LIBCPP_VERSION boost BOOST_LIB_VERSION\n")  # fmt: skip
        text = self.told(cxx, *row.flags.split(), "-std=c++20", *([f"-I{boost}"] if boost else []),
                         "-E", "-P", asks)  # fmt: skip
        libcxx, boost = re.search(r'libc\+\+ (\w+) boost "(.*)"', text).groups()
        isClang = "clang" in self.told(cxx, "--version")
        option = ["-dumpversion"] if isClang else ["-dumpfullversion", "-dumpversion"]
        compiler = f"{'clang' if isClang else 'g++'} {self.told(cxx, *option).strip()}"
        library = f", libc++ {int(libcxx) // 10000}" if libcxx.isdigit() else ""
        found = {"compiler": (f"zig {ZIG}: " if row.zig else "") + compiler + library,
                 "cmake": self.told("cmake", "--version").split()[2],
                 "boost": boost.replace("_", ".")}  # fmt: skip
        if row.emulator:
            version = re.search(r"\d+(\.\d+)+", self.told(row.emulator, "--version"))
            found["emulator"] = f"{row.emulator.split('-')[0]} {version[0]}"
        return found

    def program(self, arguments):
        """The library inside another project, and that project's program."""
        row, build, source = self.row, self.folder / "program", ROOT / "tests/package/subproject"
        if row.refusal:
            refused = self.folder / "refused"
            shutil.rmtree(refused, ignore_errors=True)
            if run(["cmake", "-S", source, "-B", refused, "-DWAY=add_subdirectory", *arguments],
                   self.log) or row.refusal not in self.log.read_text():  # fmt: skip
                raise Failed(f"CMake does not refuse it with: {row.refusal}")
        self.cmake("inside a project", source, build, "-DWAY=add_subdirectory",
                   "-DTIMINGWHEEL_INSTALL=ON", *UNITY, *arguments, *row.options)  # fmt: skip
        self.did.append("linked")
        if row.runs:
            self.execute(build / "consumer", [build / "timingwheel/src"])
            self.did.append("a program ran")

    def package(self, arguments):
        """The library installed, and a program of another project that finds it."""
        prefix, build = self.folder / "installed", self.folder / "consumer"
        shutil.rmtree(prefix, ignore_errors=True)
        self.must(["cmake", "--install", self.folder / "program", "--prefix", prefix], "installing")
        self.cmake("with the package", ROOT / "tests/package/consumer", build,
                   f"-Dtimingwheel_ROOT={prefix}", *arguments)  # fmt: skip
        if self.row.runs:
            self.execute(build / "consumer", [prefix / "bin"])
        self.did.append("installed and found")

    def execute(self, program, libraries=(), log=None, environment=os.environ):
        """Runs a program that was linked, with the folders of its libraries."""
        row = self.row
        if row.isWindows:
            program = program.with_suffix(".exe")
            libraries = [*libraries, *(Path(self.told(row.cxx, f"-print-file-name={name}").strip())
                                       .parent for name in ("libstdc++-6.dll",
                                                            "libwinpthread-1.dll"))]  # fmt: skip
            environment = {**environment, "WINEPREFIX": str(WORK / "wine"), "WINEDEBUG": "-all",
                           "WINEPATH": ";".join(f"Z:{path}" for path in libraries)}  # fmt: skip
        try:
            self.must([*([row.emulator] if row.emulator else []), program], program.stem, log,
                      env=environment, timeout=1800)  # fmt: skip
        except subprocess.TimeoutExpired:
            raise Failed(f"{program.stem} does not end (see {log or self.log})") from None

    def gtest(self, arguments):
        """GoogleTest from its sources, since Debian's is compiled for Debian's own libraries."""
        prefix, build = self.folder / "gtest", self.folder / "gtest-build"
        if not (prefix / "include").exists():
            if not self.before:
                need("apt:googletest")
            if self.row.isWindows:  # its project names C too, whose flags are CMake's for Windows
                c = self.row.cxx.replace("g++", "gcc")
                arguments = [*arguments, f"-DCMAKE_C_COMPILER={c}"]
            self.cmake("GoogleTest", "/usr/src/googletest", build,
                       f"-DCMAKE_INSTALL_PREFIX={prefix}", *arguments)  # fmt: skip
            self.must(["cmake", "--install", build], "installing GoogleTest")
        return prefix

    def tests(self, arguments):
        row, build = self.row, self.folder / "tests"
        has = {True: "ON", False: "OFF"}
        self.must(["cmake", "-S", ROOT, "-B", build, f"-DCMAKE_PREFIX_PATH={self.gtest(arguments)}",
                   "-DCMAKE_DISABLE_FIND_PACKAGE_rapidcheck=" + has["rapidcheck" not in
                                                                    row.libraries],
                   f"-DTIMINGWHEEL_BUILD_CALENDAR={has['unit/calendar' in row.tests]}",
                   f"-DTIMINGWHEEL_BUILD_STORE={has['unit/store' in row.tests]}",
                   "-DTIMINGWHEEL_BUILD_DEMO=OFF", "-DTIMINGWHEEL_BUILD_EXAMPLES=OFF",
                   "-DTIMINGWHEEL_BUILD_LONG_TESTS=OFF", "-DTIMINGWHEEL_TEST_UNITY=ON",
                   f"-DTIMINGWHEEL_TEST_FLAGS={row.testFlags}",
                   "-DCMAKE_DISABLE_PRECOMPILE_HEADERS=ON", *arguments],
                  "cmake for the tests")  # fmt: skip
        programs = [f"timingwheel-tests-{Path(folder).name}" for folder in row.tests]
        self.must(["cmake", "--build", build, "--target", *programs], "compiling the tests")
        figures, report = self.folder / "figures.jsonl", self.folder / "tests.log"
        figures.write_text("")
        report.write_text("")
        environment = {**os.environ, "TIMINGWHEEL_FIGURES": str(figures)}
        if row.isWindows:  # each program once, since wine takes long to start one
            environment["GTEST_FILTER"] = NOT_WITH_MINGW
            for program in programs:
                self.execute(build / "tests" / program, log=report, environment=environment)
            told = report.read_text(errors="replace")
            ran, skipped = (sum(map(int, re.findall(rf"^\[  {word} +\] (\d+) test", told, re.M)))
                            for word in ("PASSED", "SKIPPED"))  # fmt: skip
        else:
            prefixes = "|".join(folder.replace("/", "\\.") for folder in row.tests)
            leftOut = ["-E", NOT_UNDER_QEMU] if row.emulator.startswith("qemu") else []
            self.must(["ctest", "--test-dir", build, "-R", f"^({prefixes})\\.", *leftOut, "-j",
                       str(os.cpu_count()), "--timeout", "600", "--no-tests=error",
                       "--output-on-failure", "--output-log", report], "the tests",
                      env=environment)  # fmt: skip
            told = report.read_text(errors="replace")
            skipped = len(re.findall(r"^\s+\d+ - .* \(Skipped\)", told, re.MULTILINE))
            ran = int(re.search(r"tests passed, .* out of (\d+)", told)[1]) - skipped
        self.did.append(f"{ran:,} tests ran, {skipped} skipped themselves")
        seen = [json.loads(line) for line in figures.read_text().splitlines()]
        self.late = {word: f"{figure['reached'] / 1000:.1f}" for word in ("p50", "p99")
                     for figure in seen if figure["what"] == f"lateness {word}, us, tick 1 ms"}


# ---- the page ----------------------------------------------------------------------------------


def recorded():
    """{row: what came of it when it last passed}"""
    lines = RESULTS.read_text(encoding="utf-8").splitlines()
    return {result["row"]: result for result in map(json.loads, lines)}


def pageOf(results):
    known = [(row, results[row.name]) for row in ROWS if row.name in results]
    tables = {
        "passed": textTable(["row", "platform", "shown", "on", "commit"], [
            [f"`{row.name}`", row.what, row.proof, one["date"], one["commit"]]
            for row, one in known]),
        "versions": textTable(["row", "compiler", "CMake", "Boost", "run by"], [
            [f"`{row.name}`", one["compiler"], one["cmake"], one["boost"],
             one.get("emulator", "this machine" if row.runs else "nothing")]
            for row, one in known]),
        "late": table(["row", "run by", "half of them, ms", "99 of 100, ms"], [
            [f"`{row.name}`", one.get("emulator", "this machine"), one["late"]["p50"],
             one["late"]["p99"]] for row, one in known if one["late"]], left=2),
    }  # fmt: skip
    return fill(TEMPLATE.read_text(encoding="utf-8"), lambda what: tables[what])


def write(*results):
    """Renews the rows that are given, and no other."""
    known = {**recorded(), **{result["row"]: result for result in results}}
    lines = [json.dumps(known[row.name]) + "\n" for row in ROWS if row.name in known]
    RESULTS.write_text("".join(lines), encoding="utf-8")
    PAGE.write_text(pageOf(known), encoding="utf-8")


def wrongOn(page, results):
    if page != pageOf(results):
        return ["docs/platforms.md is not what results.jsonl makes of it: platforms.py --page"]
    if git("rev-parse", "--is-shallow-repository").stdout.strip() != "false":
        return []  # generated.check says that the history is not here
    return [f"{result['row']} passed at {result['commit']}, which is not in the history"
            for result in results.values()
            if git("merge-base", "--is-ancestor", result["commit"], "HEAD").returncode]  # fmt: skip


def check():
    """Also that the check notices what is wrong."""
    page, results = PAGE.read_text(encoding="utf-8"), recorded()
    one = next(iter(results.values()))
    assert wrongOn(page.replace("Do not edit", "Edit"), results), "takes prose that was edited"
    lost = {**results, one["row"]: {**one, "commit": "0000000"}}
    assert wrongOn(page, lost), "takes a commit that the page does not name"
    return wrongOn(page, results)


def git(*command):
    return subprocess.run(["git", *command], cwd=ROOT, capture_output=True, text=True, check=False)


def changed():
    """What differs from the commit, beside documents and results."""
    beside = (".", ":!*.md", f":!{RESULTS.relative_to(ROOT)}")
    return git("status", "--porcelain", "--", *beside).stdout.strip()


# ---- the command -------------------------------------------------------------------------------


def tryRow(row, writes):
    """Tries it, and says what became of it. True if it failed."""
    began, commit = time.monotonic(), git("rev-parse", "--short", "HEAD").stdout.strip()
    isBad, late = False, ""
    try:
        result = Try(row).go()
        if writes and (changed() or commit != git("rev-parse", "--short", "HEAD").stdout.strip()):
            raise Failed("it passed, but the sources were changed meanwhile")
        if writes:
            write({"row": row.name, "date": date.today().isoformat(), "commit": commit, **result})
        if result["late"]:
            late = ", ".join(f"{name} {ms} ms" for name, ms in result["late"].items())
            late = f"; with ticks of 1 ms late by {late}"
        said = f"passed: {result['did']}{late} [{result['compiler']}, Boost {result['boost']}]"
    except LeftOut as why:
        print(f"left out: platforms.{row.name}: {why}", flush=True)
        return False
    except Failed as why:
        said, isBad = f"FAILED: {why}", True
    print(f"{row.name:14} {said} ({time.monotonic() - began:.0f} s)", flush=True)
    return isBad


def main():
    made = parser("platforms", __doc__)
    made.add_argument("--list", action="store_true", help="name the rows")
    made.add_argument("--cheap", action="store_true", help="those that ./dev test --slow tries")
    made.add_argument("--write", action="store_true", help="what passed, in docs/platforms.md")
    made.add_argument("--page", action="store_true", help="write it anew of results.jsonl")
    made.add_argument("--check", action="store_true", help="that it is made of results.jsonl")
    made.add_argument("rows", nargs="*", metavar="row", help="all without it")
    options = made.parse_args()
    known = {row.name: row for row in ROWS}
    for name in options.rows:
        if name not in known:
            made.error(f"there is no row \"{name}\": it is one of {', '.join(known)}")
    if options.cheap and options.write:
        made.error("--cheap tries less of a row than --write records")
    if options.list:
        return print("\n".join(f"{row.name:14} {row.what}: {row.proof}" for row in ROWS))
    if options.page or options.check:
        return write() if options.page else "\n".join(check()) or None
    if options.write and changed():
        return f"--write names a commit, so commit first what differs:\n{changed()}"
    wanted = [known[name] for name in options.rows or known]
    if options.cheap:
        wanted = [replace(row, tests=row.cheap) for row in wanted if row.cheap is not None]
    WORK.mkdir(parents=True, exist_ok=True)
    failed = [row.name for row in wanted if tryRow(row, options.write)]
    return f"FAILED: {', '.join(failed)}" if failed else None


if __name__ == "__main__":
    sys.exit(main())
