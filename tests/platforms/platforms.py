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
from datetime import date
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent / "benchmark/page"), str(HERE.parent / "support")]
from markdown import fill, joined, textTable  # noqa: E402
from runner import ROOT, git, parser, pythonOf  # noqa: E402

WORK = ROOT / "build/platforms"
PAGE, RESULTS, TEMPLATE = ROOT / "docs/platforms.md", HERE / "results.jsonl", HERE / "page.md.in"
ZIG = (HERE / "requirements.txt").read_text().split("==")[1].strip()
PACKAGES = {"rapidcheck": "librapidcheck-dev", "date": "libhowardhinnant-date-dev",
            "sqlite3": "libsqlite3-dev"}  # fmt: skip
FAST = (*sorted({file.parent.relative_to(ROOT / "tests").as_posix()
                 for file in (ROOT / "tests/unit").rglob("*Test.cpp")}),
        "flow", "model", "threads")  # fmt: skip
NEEDS = {"unit/components/calendar": "date", "unit/components/store": "sqlite3"}  # of PACKAGES
# qemu can start no program again that it runs, and keeps two signals for itself.
NOT_UNDER_QEMU = r"DeathTest|Process\.DriverThreadTakesNoSignals"
# MinGW's std::stop_callback may wait for ever for a callback that runs: with nothing of ours.
NOT_WITH_MINGW = "-RaceSleep.*:RaceTimedScheduler.*"
# The library in few pieces: a compiler that is slow to start compiles them in a fifth of the time.
UNITY = ("-DCMAKE_UNITY_BUILD=ON", "-DCMAKE_UNITY_BUILD_BATCH_SIZE=100")


class LeftOut(Exception):
    """What a row needs cannot be had here."""


class Failed(Exception):
    """A row does not keep what it says."""


def need(*what):
    done = subprocess.run([ROOT / "tests/dev/need", *what], text=True, check=False,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT)  # fmt: skip
    if done.returncode:
        raise LeftOut(done.stdout.splitlines()[-1])


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


class Row:
    """rows.toml says what the fields are, and what they are without being there."""

    def __init__(self, fields):
        vars(self).update(fields)
        if self.libraries == "all":
            self.libraries = list(PACKAGES)
        if self.tests == "fast":
            self.tests = [one for one in FAST if NEEDS.get(one) in (None, *self.libraries)]
        self.isWindows = self.system.startswith("Windows")
        self.folder = WORK / self.name
        self.log = self.folder / "log"
        self.before = []  # what leads a command to where it runs

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

    def run(self, command, **more):
        """Runs a command, whose output goes to the log. True if it succeeds."""
        command = [str(word) for word in (*self.before, *command)]
        with open(self.log, "a") as out:
            print("$", *command, file=out, flush=True)
            return subprocess.run(command, stdin=subprocess.DEVNULL, stdout=out, stderr=out,
                                  check=False, **more).returncode == 0  # fmt: skip

    def must(self, command, what, **more):
        if not self.run(command, **more):
            lines = self.log.read_text(errors="replace").rpartition("\n$ ")[2].splitlines()
            errors = [line for line in lines if re.search(r"error|FAILED|\(Failed\)", line)]
            raise Failed(f"{what}: {(errors or lines)[0][:300]} (see {self.log})")

    def told(self, *command):
        return subprocess.run([*map(str, self.before), *map(str, command)], capture_output=True,
                              text=True, check=True, cwd=self.folder).stdout  # fmt: skip

    def cmake(self, what, source, build, *arguments, targets=()):
        self.must(["cmake", "-S", source, "-B", build, *arguments], f"configuring {what}")
        self.must(["cmake", "--build", build, *targets], f"compiling {what}")

    def execute(self, program, folder, **environment):
        """Runs a program that was linked, with the folder of its libraries."""
        if self.isWindows:
            program = program.with_suffix(".exe")
            theirs = (Path(self.told(self.cxx, f"-print-file-name={name}").strip()).parent
                      for name in ("libstdc++-6.dll", "libwinpthread-1.dll"))  # fmt: skip
            environment |= {"WINEPREFIX": str(WORK / "wine"), "WINEDEBUG": "-all",
                            "WINEPATH": ";".join(f"Z:{path}" for path in (folder, *theirs))}
        try:
            self.must([*self.emulator.split(), program], program.stem, timeout=1800,
                      env={**os.environ, **environment})  # fmt: skip
        except subprocess.TimeoutExpired:
            raise Failed(f"{program.stem} does not end (see {self.log})") from None

    def chroot(self):
        """The words before a command that is to run in the row's Debian. It sees the project where
        it is here. What is mounted for it is gone when it ends."""
        root = WORK / f"{self.debian}-root"
        made = root / "made"
        if not made.exists() or made.read_text() != TOOLS:
            if os.geteuid() != 0:
                raise LeftOut(f"only root can make a chroot of Debian {self.debian}")
            need("apt:debootstrap")
            shutil.rmtree(root, ignore_errors=True)
            if not self.run(["debootstrap", "--variant=minbase", f"--include={TOOLS}", self.debian,
                             root, "http://deb.debian.org/debian"]):  # fmt: skip
                raise LeftOut(f"apt does not bring Debian {self.debian}: debootstrap fails")
            made.write_text(TOOLS)
        return ["unshare", "--mount", "--pid", "--fork", "--kill-child", "sh", "-ec", ENTER, root,
                ROOT]  # fmt: skip

    def boostHeaders(self):
        """A folder that has the headers of Boost, and nothing else."""
        folder = WORK / f"boost-{self.boost}"
        folder.mkdir(exist_ok=True)
        if self.boost == "headers":
            if not (folder / "boost").exists():
                (folder / "boost").symlink_to("/usr/include/boost")
            return folder
        if not (folder / "root").exists():
            minors = re.findall(r"^libboost1\.(\d+)-dev$",
                                self.told("apt-cache", "pkgnames", "libboost1."), re.MULTILINE)
            newest = f"libboost1.{max(map(int, minors), default=0)}-dev"
            if not self.run(["apt-get", "-q", "download", newest], cwd=folder):
                raise LeftOut(f"apt does not bring {newest}")
            self.must(["dpkg-deb", "-x", next(folder.glob("*.deb")), folder / "new"], "unpacking")
            (folder / "new").rename(folder / "root")
        return folder / "root/usr/include"

    def go(self):
        """Tries it: what it takes, and what it showed."""
        self.folder.mkdir(parents=True, exist_ok=True)
        self.log.write_text("")
        if self.debian:
            self.before = self.chroot()
        else:
            packages = [*self.apt, *(PACKAGES[one] for one in self.libraries)]
            need("python", *(f"apt:{one}" for one in packages), *(["zig"] if self.zig else []))
        given = self.given()
        result = self.versions(given["CMAKE_CXX_COMPILER"], given.get("Boost_INCLUDE_DIR"))
        arguments = ["-G", "Ninja", *(f"-D{name}={value}" for name, value in given.items())]
        self.program(arguments)
        did = ["linked"] + ["a program ran"] * self.runs
        if not self.refusal:  # the wheels alone are not installed
            self.package(arguments)
            did.append("installed and found")
        if self.tests:
            did.append(self.runTests(arguments))
        return {**result, "did": ", ".join(did)}

    def zigScript(self, name, command):
        script = self.folder / name
        script.write_text(f'#!/bin/sh\nexec "{pythonOf("zig")}" -m ziglang {command} "$@"\n')
        script.chmod(0o755)
        return script

    def given(self):
        """For CMake: compiler, system, Boost."""
        given = {"CMAKE_BUILD_TYPE": "Release", "CMAKE_CXX_COMPILER": self.cxx}
        if self.zig:
            given["CMAKE_CXX_COMPILER"] = self.zigScript("c++", f"c++ -target {self.zig}")
            given["CMAKE_AR"] = self.zigScript("ar", "ar")
            given["CMAKE_RANLIB"] = self.zigScript("ranlib", "ranlib")
        given |= {"CMAKE_CXX_FLAGS": self.flags, "CMAKE_EXE_LINKER_FLAGS": self.linkFlags}
        launcher = os.environ.get("CMAKE_CXX_COMPILER_LAUNCHER")
        if launcher and not self.zig and not self.debian:
            given["CMAKE_CXX_COMPILER_LAUNCHER"] = launcher
        if self.system:
            given["CMAKE_SYSTEM_NAME"], given["CMAKE_SYSTEM_PROCESSOR"] = self.system.split()
        if self.emulator:
            given["CMAKE_CROSSCOMPILING_EMULATOR"] = shutil.which(self.emulator)
        if self.boost != "own":
            given["Boost_NO_BOOST_CMAKE"] = "ON"
            given["Boost_INCLUDE_DIR"] = self.boostHeaders()
        return given

    def versions(self, cxx, boost):
        """Of what the row takes."""
        asks = self.folder / "versions.cpp"
        asks.write_text("#include <version>\n#include <boost/version.hpp>\n"
                        "libc++ _LIBCPP_VERSION boost BOOST_LIB_VERSION\n")  # fmt: skip
        text = self.told(cxx, *self.flags.split(), "-std=c++20", *([f"-I{boost}"] if boost else []),
                         "-E", "-P", asks)  # fmt: skip
        libcxx, boost = re.search(r'libc\+\+ (\w+) boost "(.*)"', text).groups()
        compiler, option = "g++", ["-dumpfullversion", "-dumpversion"]
        if "clang" in self.told(cxx, "--version"):
            compiler, option = "clang", ["-dumpversion"]
        zig = f"zig {ZIG}: " if self.zig else ""
        library = f", libc++ {int(libcxx) // 10000}" if libcxx.isdigit() else ""
        found = {"compiler": f"{zig}{compiler} {self.told(cxx, *option).strip()}{library}",
                 "cmake": self.told("cmake", "--version").split()[2],
                 "boost": boost.replace("_", ".")}  # fmt: skip
        if self.emulator:
            version = re.search(r"\d+(\.\d+)+", self.told(self.emulator, "--version"))
            found["emulator"] = f"{self.emulator.split('-')[0]} {version[0]}"
        return found

    def program(self, arguments):
        """The library inside another project, and that project's program."""
        build, source = self.folder / "program", ROOT / "tests/package/subproject"
        if self.refusal:
            refused = self.folder / "refused"
            shutil.rmtree(refused, ignore_errors=True)
            if self.run(["cmake", "-S", source, "-B", refused, "-DWAY=add_subdirectory",
                         *arguments]) or self.refusal not in self.log.read_text():  # fmt: skip
                raise Failed(f"CMake does not refuse it with: {self.refusal}")
        self.cmake("inside a project", source, build, "-DWAY=add_subdirectory",
                   "-DTIMINGWHEEL_INSTALL=ON", *UNITY, *arguments, *self.options)  # fmt: skip
        if self.runs:
            self.execute(build / "consumer", build / "timingwheel/src/core")

    def package(self, arguments):
        """The library installed, and a program of another project that finds it."""
        prefix, build = self.folder / "installed", self.folder / "consumer"
        shutil.rmtree(prefix, ignore_errors=True)
        self.must(["cmake", "--install", self.folder / "program", "--prefix", prefix], "installing")
        self.cmake("with the package", ROOT / "tests/package/consumer", build,
                   f"-Dtimingwheel_ROOT={prefix}", *arguments)  # fmt: skip
        if self.runs:
            self.execute(build / "consumer", prefix / "bin")

    def gtest(self, arguments):
        """GoogleTest from its sources, since Debian's is compiled for Debian's own libraries."""
        prefix, build = self.folder / "gtest", self.folder / "gtest-build"
        if not (prefix / "include").exists():
            if not self.before:
                need("apt:googletest")
            if self.isWindows:  # its project names C too, whose flags are CMake's for Windows
                c = self.cxx.replace("g++", "gcc")
                arguments = [*arguments, f"-DCMAKE_C_COMPILER={c}"]
            self.cmake("GoogleTest", "/usr/src/googletest", build,
                       f"-DCMAKE_INSTALL_PREFIX={prefix}", *arguments)  # fmt: skip
            self.must(["cmake", "--install", build], "installing GoogleTest")
        return prefix

    def runTests(self, arguments):
        """How many ran."""
        build = self.folder / "tests"
        programs = [f"timingwheel-tests-{Path(folder).name}" for folder in self.tests]
        self.cmake("the tests", ROOT, build, f"-DCMAKE_PREFIX_PATH={self.gtest(arguments)}",
                   f"-DCMAKE_DISABLE_FIND_PACKAGE_rapidcheck={'rapidcheck' not in self.libraries}",
                   f"-DTIMINGWHEEL_BUILD_CALENDAR={'unit/components/calendar' in self.tests}",
                   f"-DTIMINGWHEEL_BUILD_STORE={'unit/components/store' in self.tests}",
                   "-DTIMINGWHEEL_BUILD_DEMO=OFF", "-DTIMINGWHEEL_BUILD_EXAMPLES=OFF",
                   "-DTIMINGWHEEL_BUILD_LONG_TESTS=OFF", "-DTIMINGWHEEL_TEST_UNITY=ON",
                   f"-DTIMINGWHEEL_TEST_FLAGS={self.testFlags}",
                   "-DCMAKE_DISABLE_PRECOMPILE_HEADERS=ON", *arguments,
                   targets=["--target", *programs])  # fmt: skip
        if self.isWindows:  # each program once, since wine takes long to start one
            for program in programs:
                self.execute(build / "tests" / program, build, GTEST_FILTER=NOT_WITH_MINGW)
            told = self.log.read_text(errors="replace")
            ran, skipped = (sum(map(int, re.findall(rf"^\[  {word} +\] (\d+) test", told, re.M)))
                            for word in ("PASSED", "SKIPPED"))  # fmt: skip
        else:
            prefixes = "|".join(folder.replace("/", "\\.") for folder in self.tests)
            leftOut = ["-E", NOT_UNDER_QEMU] if self.emulator.startswith("qemu") else []
            self.must(["ctest", "--test-dir", build, "-R", f"^({prefixes})\\.", *leftOut, "-j",
                       str(os.cpu_count()), "--timeout", "600", "--no-tests=error",
                       "--output-on-failure"], "the tests")  # fmt: skip
            told = self.log.read_text(errors="replace")
            skipped = len(re.findall(r"^\s+\d+ - .* \(Skipped\)", told, re.MULTILINE))
            ran = int(re.search(r"tests passed, .* out of (\d+)", told)[1]) - skipped
        return f"{ran:,} tests ran, {skipped} skipped themselves"


GIVEN = tomllib.loads((HERE / "rows.toml").read_text("utf-8"))
ROWS = [Row(GIVEN["default"] | fields) for fields in GIVEN["row"]]


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
    }  # fmt: skip
    return fill(TEMPLATE.read_text(encoding="utf-8"), lambda what: tables[what])


def write(*results):
    """Renews the rows that are given, and no other."""
    known = {**recorded(), **{result["row"]: result for result in results}}
    lines = [json.dumps(known[row.name]) + "\n" for row in ROWS if row.name in known]
    RESULTS.write_text("".join(lines), encoding="utf-8")
    PAGE.write_text(pageOf(known), encoding="utf-8")


def check():
    results = recorded()
    if PAGE.read_text(encoding="utf-8") != pageOf(results):
        return ["docs/platforms.md is not what results.jsonl makes of it: platforms.py --page"]
    if git("rev-parse", "--is-shallow-repository") != "false":
        return []  # generated.check says that the history is not here
    return [f"{result['row']} passed at {result['commit']}, which is not in the history"
            for result in results.values()
            if not git("merge-base", result["commit"], "HEAD").startswith(result["commit"])]


def changed():
    """What differs from the commit, beside documents and results."""
    beside = (".", ":!*.md", f":!{RESULTS.relative_to(ROOT)}")
    return git("status", "--porcelain", "--", *beside)


def main():
    known = {row.name: row for row in ROWS}
    made = parser("platforms", __doc__)
    made.add_argument("--cheap", action="store_true", help="those that ./dev test --slow tries")
    made.add_argument("--write", action="store_true", help="what passed, in docs/platforms.md")
    made.add_argument("--page", action="store_true", help="write it anew of results.jsonl")
    made.add_argument("--check", action="store_true", help="that it is made of results.jsonl")
    made.add_argument("rows", nargs="*", metavar="row", help=f"{', '.join(known)}; all without it")
    options = made.parse_args()
    for name in set(options.rows) - set(known):
        made.error(f"there is no row \"{name}\": it is one of {', '.join(known)}")
    if options.cheap and options.write:
        made.error("--cheap tries less of a row than --write records")
    if options.page or options.check:
        return write() if options.page else "\n".join(check()) or None
    if options.write and changed():
        return f"--write names a commit, so commit first what differs:\n{changed()}"
    wanted = [known[name] for name in options.rows or known]
    if options.cheap:
        wanted = [row for row in wanted if row.cheap is not False]
        for row in wanted:
            row.tests = row.cheap
    WORK.mkdir(parents=True, exist_ok=True)
    failed = []
    for row in wanted:
        began, commit = time.monotonic(), git("rev-parse", "--short", "HEAD")
        try:
            did = row.go()
            if options.write:
                if changed() or commit != git("rev-parse", "--short", "HEAD"):
                    raise Failed("it passed, but the sources were changed meanwhile")
                write({"row": row.name, "date": date.today().isoformat(), "commit": commit, **did})
            said = f"passed: {did['did']} [{did['compiler']}, Boost {did['boost']}]"
        except LeftOut as why:
            print(f"left out: platforms.{row.name}: {why}", flush=True)
            continue
        except Failed as why:
            said = f"FAILED: {why}"
            failed.append(row.name)
        print(f"{row.name:14} {said} ({time.monotonic() - began:.0f} s)", flush=True)
    return f"FAILED: {', '.join(failed)}" if failed else None


if __name__ == "__main__":
    sys.exit(main())
