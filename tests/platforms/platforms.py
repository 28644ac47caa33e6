#!/usr/bin/env python3
"""platforms.py [--no-install] [--list] [--cheap] [--write] [row]...   what ./dev platforms does
platforms.py check       docs/platforms.md is what results.jsonl makes of it
platforms.py page        writes it anew
platforms.py self-test   the check notices what is wrong

Tries the library with another compiler, processor, system or Boost: one row each, in
build/platforms. A row whose tools cannot be had is skipped, and says why. --write puts what
passed into docs/platforms.md; the other rows keep there what they had.
"""

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import time
from dataclasses import dataclass, field, replace
from datetime import date
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "benchmark/page"))
import seal
from markdown import fill, joined, table, textTable

ROOT = Path(__file__).resolve().parents[2]
WORK = ROOT / "build/platforms"
ZIG = "0.13.0"  # from PyPI, a C++ compiler with the headers of many systems
GTEST = Path("/usr/src/googletest")

# What a row shows, where it runs no tests.
LINKED = "compiled and linked"
PROGRAM = "a program runs"


@dataclass
class Row:
    name: str
    what: str
    apt: tuple = ()
    cxx: str = "g++"
    flags: str = ""
    linkFlags: str = ""
    zig: str = ""  # the target, if zig compiles it
    emulator: str = ""
    system: str = ""  # CMake's name of another system or processor: "Linux aarch64"
    debian: str = ""  # a suite of Debian's: its tools and its Boost, in a chroot
    libraries: tuple = ()  # of Debian's, which its compiler and its processor can link
    boost: str = "own"  # "headers": without a BoostConfig; "newer": another version, unpacked
    tests: tuple = ()  # folders of tests/
    testFlags: str = "-O0"  # for what is in them
    options: tuple = ()  # for CMake
    refusal: str = ""  # what CMake says without them
    runs: bool = True  # what was linked can be run here
    cheap: tuple | None = None  # ./dev test --slow tries it, with these tests of it

    @property
    def isWindows(self):
        return self.system.startswith("Windows")

    @property
    def proof(self):
        if not self.runs:
            return LINKED
        if not self.tests:
            return PROGRAM
        left = [Path(folder).name for folder in FAST if folder not in self.tests]
        if len(left) > len(self.tests):
            return f"tests of {joined(Path(folder).name for folder in self.tests)} run"
        if RAPIDCHECK not in self.libraries:
            left.append("rapidcheck")
        return "the fast tests run" + (f", without {joined(sorted(left))}" if left else "")


FEW = ("unit/wheel", "unit/driver")
FAST = (*sorted(f"unit/{folder.name}" for folder in (ROOT / "tests/unit").iterdir()), "flow",
        "model", "threads")  # fmt: skip
# Libraries of others that some of them link. Debian's are compiled for its own compiler, processor
# and C library; SQLite's is C, which libc++ can link, too.
RAPIDCHECK = "librapidcheck-dev"
NEEDS = {"unit/calendar": "libhowardhinnant-date-dev", "unit/store": "libsqlite3-dev"}
LIBRARIES = (RAPIDCHECK, *NEEDS.values())
ALONE = tuple(folder for folder in FAST if folder not in NEEDS)
# qemu can start no program again that it runs, and keeps two signals for itself.
NOT_UNDER_QEMU = r"DeathTest|Process\.DriverThreadTakesNoSignals"
# MinGW's std::stop_callback may wait for ever for a callback that runs: with nothing of ours.
NOT_WITH_MINGW = "-RaceSleep.*:RaceTimedScheduler.*"
# The library in few pieces: a compiler that is slow to start compiles them in a fifth of the time.
# With the tests it is compiled file by file.
UNITY = ("-DCMAKE_UNITY_BUILD=ON", "-DCMAKE_UNITY_BUILD_BATCH_SIZE=100")

ROWS = [
    Row("g++-11", "g++ 11", ("g++-11",), cxx="g++-11", libraries=LIBRARIES, tests=FAST),
    # Without optimising, clang cannot link two files whose unnamed namespaces have hooks of the
    # same name that call lambdas.
    Row("clang-19", "clang 19, libstdc++", ("clang-19",), cxx="clang++-19", libraries=LIBRARIES,
        tests=FAST, testFlags="-O1"),
    Row("libc++", "clang 19, libc++", ("clang-19", "libc++-19-dev", "libc++abi-19-dev"),
        cxx="clang++-19", flags="-stdlib=libc++ -fexperimental-library", boost="newer",
        libraries=(NEEDS["unit/store"],), tests=(*ALONE, "unit/store"), testFlags="-O1"),
    Row("sid", "Debian sid: the newest g++, CMake and Boost", debian="sid", libraries=LIBRARIES,
        tests=FAST),
    Row("no-rtti", "`-fno-rtti`", flags="-fno-rtti"),
    Row("boost-headers", "Boost as headers, without its CMake files", boost="headers"),
    Row("boost-newer", "the newest Boost that Debian 12 has", boost="newer"),
    Row("aarch64", "Linux on ARM64, qemu", ("g++-aarch64-linux-gnu", "qemu-user-static"),
        cxx="aarch64-linux-gnu-g++", linkFlags="-static", emulator="qemu-aarch64-static",
        system="Linux aarch64", boost="headers", tests=ALONE),
    Row("s390x", "Linux on s390x, big-endian, qemu",
        ("g++-s390x-linux-gnu", "qemu-user-static"), cxx="s390x-linux-gnu-g++",
        linkFlags="-static", emulator="qemu-s390x-static", system="Linux s390x", boost="headers",
        tests=FEW, cheap=FEW),
    Row("32-bit", "x86 with 32 bits, qemu: the wheels alone; timers refuse",
        ("g++-i686-linux-gnu", "qemu-user-static"), cxx="i686-linux-gnu-g++", linkFlags="-static",
        emulator="qemu-i386-static", boost="headers",
        options=("-DTIMINGWHEEL_WHEELS_ONLY=ON",), refusal="need pointers of 64 bits",
        cheap=()),
    Row("musl", "Linux with musl, x86-64", zig="x86_64-linux-musl", boost="newer",
        flags="-D_LIBCPP_ENABLE_EXPERIMENTAL",  # its libc++ 18 has stop tokens so
        tests=ALONE, testFlags="-O1"),  # it is clang, too
    Row("musl-aarch64", "Linux with musl, ARM64, qemu", ("qemu-user-static",),
        zig="aarch64-linux-musl", emulator="qemu-aarch64-static", system="Linux aarch64",
        boost="headers"),
    Row("windows", "Windows x86-64, MinGW, under wine",
        ("g++-mingw-w64-x86-64-posix", "wine", "wine64"), cxx="x86_64-w64-mingw32-g++-posix",
        linkFlags="-static", emulator="wine", system="Windows AMD64", boost="headers",
        tests=ALONE),
    Row("windows-dll", "Windows x86-64, MinGW, under wine, as a DLL",
        ("g++-mingw-w64-x86-64-posix", "wine", "wine64"), cxx="x86_64-w64-mingw32-g++-posix",
        emulator="wine", system="Windows AMD64", boost="headers",
        options=("-DBUILD_SHARED_LIBS=ON",), cheap=()),
    Row("macos-aarch64", "macOS on ARM64", zig="aarch64-macos", runs=False,
        system="Darwin aarch64", boost="headers", cheap=()),
    Row("macos-x86-64", "macOS on x86-64", zig="x86_64-macos", runs=False,
        system="Darwin x86_64", boost="headers", cheap=()),
]  # fmt: skip


class Skipped(Exception):
    """What a row needs cannot be had here."""


class Failed(Exception):
    """A row does not keep what it says."""


# ---- tools -------------------------------------------------------------------------------------


def run(command, log, **more):
    """Runs a command, whose output goes to the log. True if it succeeds."""
    with open(log, "a") as out:
        print("$", *command, file=out, flush=True)
        return subprocess.run([str(word) for word in command], stdout=out, stderr=out, check=False,
                              **more).returncode == 0  # fmt: skip


def must(command, log, what, **more):
    if not run(command, log, **more):
        lines = Path(log).read_text(errors="replace").splitlines()
        errors = [line for line in lines if re.search(r"error|FAILED|\(Failed\)", line)]
        raise Failed(f"{what}: {(errors or lines or [''])[0][:300]} (see {log})")


def installed(package):
    return subprocess.run(["dpkg-query", "-W", "-f", "${Status}", package], capture_output=True,
                          text=True, check=False).stdout == "install ok installed"  # fmt: skip


def apt(packages, mayInstall, log):
    missing = [package for package in packages if not installed(package)]
    if not missing:
        return
    if not mayInstall:
        raise Skipped(f"{' '.join(missing)} not installed, and --no-install is given")
    if shutil.which("apt-get") is None:
        raise Skipped(f"there is no apt, which would bring {' '.join(missing)}")
    sudo = [] if os.geteuid() == 0 else ["sudo"]
    environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    aptGet = [*sudo, "apt-get", "-q", "-o", "DPkg::Lock::Timeout=300"]
    install = [*aptGet, "install", "-y", "--no-install-recommends", *missing]
    if run(install, log, env=environment, stdin=subprocess.DEVNULL):
        return
    run([*aptGet, "update"], log, env=environment, stdin=subprocess.DEVNULL)
    if not run(install, log, env=environment, stdin=subprocess.DEVNULL):
        raise Skipped(f"apt does not bring {' '.join(missing)}")


def zigPython(mayInstall, log):
    """A Python that has zig."""
    venv = WORK / "venv"
    python = venv / "bin/python"
    if (venv / f"zig-{ZIG}").exists():
        return python
    if not mayInstall:
        raise Skipped(f"ziglang {ZIG} is not installed, and --no-install is given")
    apt(["python3-venv"], mayInstall, log)
    shutil.rmtree(venv, ignore_errors=True)
    if not run([sys.executable, "-m", "venv", venv], log) or not run(
            [python, "-m", "pip", "install", "-q", f"ziglang=={ZIG}"], log):  # fmt: skip
        raise Skipped(f"PyPI does not bring ziglang {ZIG}")
    (venv / f"zig-{ZIG}").touch()
    return python


def script(path, text):
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)
    return path


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
        names = subprocess.run(["apt-cache", "pkgnames", "libboost1."], capture_output=True,
                               text=True, check=False).stdout.split()  # fmt: skip
        names = [name for name in names if re.fullmatch(r"libboost1\.\d+-dev", name)]
        if not names:
            raise Skipped("apt knows no Boost")
        newest = max(names, key=lambda name: int(name[len("libboost1.") : -len("-dev")]))
        if not run(["apt-get", "-q", "download", newest], log, cwd=folder):
            raise Skipped(f"apt does not bring {newest}")
        must(["dpkg-deb", "-x", next(folder.glob("*.deb")), folder / "root"], log, "unpacking")
        (folder / "unpacked").touch()
    return folder / "root/usr/include"


# What a chroot needs. Its tools are as new as the suite.
TOOLS = ",".join(["g++,cmake,ninja-build,libboost-dev,googletest,python3,tzdata", *LIBRARIES])
MIRROR = "http://deb.debian.org/debian"
ENTER = """
mkdir -p "$0/$1"
mount --bind "$1" "$0/$1"
mount --rbind /dev "$0/dev"
mount -t proc proc "$0/proc"
root=$0
shift
exec chroot "$root" env -i PATH=/usr/bin:/bin LANG=C.UTF-8 "$@"
"""


def chroot(suite, mayInstall, log):
    """The words before a command that is to run in Debian's `suite`. It sees the project where it
    is here. What is mounted for it is gone when it ends."""
    root = WORK / f"{suite}-root"
    made = root / "made"
    if not made.exists() or made.read_text() != TOOLS:
        if os.geteuid() != 0:
            raise Skipped(f"only root can make a chroot of Debian {suite}")
        if not mayInstall:
            raise Skipped(f"there is no chroot of Debian {suite}, and --no-install is given")
        apt(["debootstrap"], mayInstall, log)
        shutil.rmtree(root, ignore_errors=True)
        if not run(["debootstrap", "--variant=minbase", f"--include={TOOLS}", suite, root, MIRROR],
                   log):  # fmt: skip
            raise Skipped(f"debootstrap does not bring Debian {suite}")
        made.write_text(TOOLS)
    return ["unshare", "--mount", "--pid", "--fork", "--kill-child", "sh", "-ec", ENTER, root, ROOT]


# ---- a row -------------------------------------------------------------------------------------

VERSIONS = """
#include <version>
#include <boost/version.hpp>
#if defined(__clang__)
told compiler clang __clang_major__ __clang_minor__ __clang_patchlevel__
#else
told compiler g++ __GNUC__ __GNUC_MINOR__ __GNUC_PATCHLEVEL__
#endif
#if defined(_LIBCPP_VERSION)
told library libc++ _LIBCPP_VERSION
#else
told library libstdc++ _GLIBCXX_RELEASE
#endif
told boost BOOST_LIB_VERSION
"""


class Try:
    def __init__(self, row, mayInstall):
        self.row = row
        self.folder = WORK / row.name
        self.folder.mkdir(parents=True, exist_ok=True)
        self.log = self.folder / "log"
        self.log.write_text("")
        self.mayInstall = mayInstall
        self.did = []
        self.late = {}  # percentile: milliseconds
        self.before = []  # what leads a command to where it runs

    def must(self, command, what, **more):
        must([*self.before, *command], self.log, what, **more)

    def tools(self):
        """Brings them."""
        row = self.row
        if row.debian:
            self.before = chroot(row.debian, self.mayInstall, self.log)
        else:
            apt((*row.apt, *row.libraries), self.mayInstall, self.log)

    def told(self, *command):
        return subprocess.run([*map(str, self.before), *map(str, command)], capture_output=True,
                              text=True, check=True, cwd=self.folder).stdout  # fmt: skip

    def versions(self, arguments):
        """Of what the row takes: the preprocessor knows most of them. zig's leaves a file."""
        given = dict(word[2:].split("=", 1) for word in arguments if word.startswith("-D"))
        asks = self.folder / "versions.cpp"
        asks.write_text(VERSIONS)
        boost = given.get("Boost_INCLUDE_DIR")
        text = self.told(given["CMAKE_CXX_COMPILER"], *self.row.flags.split(), "-std=c++20",
                         *([f"-I{boost}"] if boost else []), "-E", "-P", asks)  # fmt: skip
        known = {words[1]: words[2:] for words in map(str.split, text.splitlines())
                 if words[:1] == ["told"]}  # fmt: skip
        compiler = f"{known['compiler'][0]} {'.'.join(known['compiler'][1:])}"
        if known["library"][0] == "libc++":
            compiler += f", libc++ {int(known['library'][1]) // 10000}"
        elif compiler.startswith("clang"):
            compiler += f", libstdc++ {known['library'][1]}"
        if self.row.zig:
            compiler = f"zig {ZIG}: {compiler}"
        found = {"compiler": compiler, "cmake": self.told("cmake", "--version").split()[2],
                 "boost": known["boost"][0].strip('"').replace("_", ".")}  # fmt: skip
        if self.row.emulator:
            version = re.search(r"\d+(\.\d+)+", self.told(self.row.emulator, "--version"))
            found["emulator"] = f"{self.row.emulator.split('-')[0]} {version.group()}"
        return found

    def arguments(self):
        """For CMake: compiler, system, Boost."""
        row = self.row
        words = ["-G", "Ninja", "-DCMAKE_BUILD_TYPE=Release"]
        if row.zig:
            python = zigPython(self.mayInstall, self.log)

            def zig(command):
                name, *more = command.split()
                words = " ".join(["exec", f'"{python}"', "-m", "ziglang", name, *more, '"$@"'])
                return script(self.folder / name, words)

            cxx = zig(f"c++ -target {row.zig}")
            words += [f"-DCMAKE_AR={zig('ar')}", f"-DCMAKE_RANLIB={zig('ranlib')}"]
        else:
            cxx = row.cxx
        words += [f"-DCMAKE_CXX_COMPILER={cxx}", f"-DCMAKE_CXX_FLAGS={row.flags}",
                  f"-DCMAKE_EXE_LINKER_FLAGS={row.linkFlags}"]  # fmt: skip
        launcher = os.environ.get("CMAKE_CXX_COMPILER_LAUNCHER")
        if launcher and not row.zig and not row.debian:
            words.append(f"-DCMAKE_CXX_COMPILER_LAUNCHER={launcher}")
        if row.system:
            system, processor = row.system.split()
            words += [f"-DCMAKE_SYSTEM_NAME={system}", f"-DCMAKE_SYSTEM_PROCESSOR={processor}"]
        if row.emulator:
            words.append(f"-DCMAKE_CROSSCOMPILING_EMULATOR={shutil.which(row.emulator)}")
        if row.boost != "own":
            words += ["-DBoost_NO_BOOST_CMAKE=ON",
                      f"-DBoost_INCLUDE_DIR={boostHeaders(row.boost, self.log)}"]  # fmt: skip
        return words

    def program(self, arguments):
        """The library inside another project, and that project's program."""
        build = self.folder / "program"
        source = ROOT / "tests/package/subproject"
        if self.row.refusal:
            refused = self.folder / "refused"
            shutil.rmtree(refused, ignore_errors=True)
            if run(["cmake", "-S", source, "-B", refused, "-DWAY=add_subdirectory", *arguments],
                   self.log) or self.row.refusal not in self.log.read_text():  # fmt: skip
                raise Failed(f"CMake does not refuse it with: {self.row.refusal}")
        self.must(["cmake", "-S", source, "-B", build, "-DWAY=add_subdirectory",
                   "-DTIMINGWHEEL_INSTALL=ON", *UNITY, *arguments, *self.row.options],
                  "cmake")  # fmt: skip
        self.must(["cmake", "--build", build], "compiling")
        self.did.append("linked")
        if self.row.runs:
            self.execute(build / "consumer", [build / "timingwheel/src"])
            self.did.append("a program ran")

    def package(self, arguments):
        """The library installed, and a program of another project that finds it."""
        prefix, build = self.folder / "installed", self.folder / "consumer"
        shutil.rmtree(prefix, ignore_errors=True)
        self.must(["cmake", "--install", self.folder / "program", "--prefix", prefix], "installing")
        source = ROOT / "tests/package/consumer"
        self.must(["cmake", "-S", source, "-B", build, f"-Dtimingwheel_ROOT={prefix}", *arguments],
                  "cmake with the package")  # fmt: skip
        self.must(["cmake", "--build", build], "compiling with the package")
        if self.row.runs:
            self.execute(build / "consumer", [prefix / "bin"])
        self.did.append("installed and found")

    def execute(self, program, libraries=(), log=None, environment=os.environ):
        """Runs a program that was linked, with the folders of its libraries."""
        row = self.row
        environment = dict(environment)
        if row.isWindows:
            program = program.with_suffix(".exe")
            for library in ("libstdc++-6.dll", "libwinpthread-1.dll"):
                found = subprocess.run([row.cxx, f"-print-file-name={library}"], check=True,
                                       capture_output=True, text=True).stdout  # fmt: skip
                libraries = [*libraries, Path(found.strip()).parent]
            environment |= {"WINEPREFIX": str(WORK / "wine"), "WINEDEBUG": "-all",
                            "WINEPATH": ";".join(f"Z:{path}" for path in libraries)}  # fmt: skip
        emulator = [row.emulator] if row.emulator else []
        try:
            must([*self.before, *emulator, program], log or self.log, program.stem,
                 env=environment, timeout=1800)  # fmt: skip
        except subprocess.TimeoutExpired:
            raise Failed(f"{program.stem} does not end (see {log or self.log})") from None

    def gtest(self, arguments):
        """GoogleTest from its sources, since Debian's is compiled for Debian's own libraries."""
        prefix = self.folder / "gtest"
        if not (prefix / "include").exists():
            if not self.before:
                apt(["googletest"], self.mayInstall, self.log)
            build = self.folder / "gtest-build"
            if self.row.isWindows:  # its project names C too, whose flags are CMake's for Windows
                c = self.row.cxx.replace("g++", "gcc")
                arguments = [*arguments, f"-DCMAKE_C_COMPILER={c}"]
            self.must(["cmake", "-S", GTEST, "-B", build, f"-DCMAKE_INSTALL_PREFIX={prefix}",
                       *arguments], "cmake for GoogleTest")  # fmt: skip
            self.must(["cmake", "--build", build, "--target", "install"], "GoogleTest")
        return prefix

    def tests(self, arguments):
        row, build = self.row, self.folder / "tests"
        has = {folder: "ON" if folder in row.tests else "OFF" for folder in NEEDS}
        rapidcheck = "OFF" if RAPIDCHECK in row.libraries else "ON"
        self.must(["cmake", "-S", ROOT, "-B", build, f"-DCMAKE_PREFIX_PATH={self.gtest(arguments)}",
                   f"-DCMAKE_DISABLE_FIND_PACKAGE_rapidcheck={rapidcheck}",
                   f"-DTIMINGWHEEL_BUILD_CALENDAR={has['unit/calendar']}",
                   f"-DTIMINGWHEEL_BUILD_STORE={has['unit/store']}",
                   "-DTIMINGWHEEL_BUILD_DEMO=OFF", "-DTIMINGWHEEL_BUILD_EXAMPLES=OFF",
                   "-DTIMINGWHEEL_BUILD_LONG_TESTS=OFF", "-DTIMINGWHEEL_TEST_UNITY=ON",
                   f"-DTIMINGWHEEL_TEST_FLAGS={row.testFlags}",
                   "-DCMAKE_DISABLE_PRECOMPILE_HEADERS=ON", *arguments],
                  "cmake for the tests")  # fmt: skip
        programs = [f"timingwheel-tests-{Path(folder).name}" for folder in row.tests]
        self.must(["cmake", "--build", build, "--target", *programs], "compiling the tests")
        figures = self.folder / "figures.jsonl"
        figures.write_text("")
        environment = {**os.environ, "TIMINGWHEEL_FIGURES": str(figures)}
        if row.isWindows:
            environment["GTEST_FILTER"] = NOT_WITH_MINGW
            self.wholePrograms(build / "tests", programs, environment)
            return self.lateness(figures)
        prefixes = "|".join(folder.replace("/", "\\.") for folder in row.tests)
        report = self.folder / "tests.log"
        leftOut = ["-E", NOT_UNDER_QEMU] if row.emulator.startswith("qemu") else []
        self.must(["ctest", "--test-dir", build, "-R", f"^({prefixes})\\.", *leftOut, "-j",
                   str(os.cpu_count()), "--timeout", "600", "--no-tests=error",
                   "--output-on-failure", "--output-log", report], "the tests",
                  env=environment)  # fmt: skip
        told = report.read_text(errors="replace")
        passed = re.search(r"tests passed, .* out of (\d+)", told)
        skipped = len(re.findall(r"^\s+\d+ - .* \(Skipped\)", told, re.MULTILINE))
        self.ran(int(passed.group(1)) - skipped, skipped)
        self.lateness(figures)

    def ran(self, tests, skipped):
        self.did.append(f"{tests:,} tests ran, {skipped} skipped themselves")

    def lateness(self, figures):
        """What the tests on the real clock saw, where they ran."""
        told = [json.loads(line) for line in figures.read_text().splitlines()]
        self.late = {word: f"{figure['reached'] / 1000:.1f}" for word in ("p50", "p99")
                     for figure in told if figure["what"] == f"lateness {word}, us, tick 1 ms"}

    def wholePrograms(self, folder, programs, environment):
        """Each program once, since wine takes long to start one."""
        counts = {"PASSED": 0, "SKIPPED": 0}
        for program in programs:
            report = self.folder / f"{program}.log"
            report.write_text("")
            self.execute(folder / program, log=report, environment=environment)
            for result, number in re.findall(r"^\[  (PASSED|SKIPPED) +\] (\d+) test",
                                             report.read_text(errors="replace"), re.MULTILINE):
                counts[result] += int(number)
        self.ran(counts["PASSED"], counts["SKIPPED"])

    def go(self):
        self.tools()
        arguments = self.arguments()
        versions = self.versions(arguments)
        self.program(arguments)
        if not self.row.refusal:  # the wheels alone are not installed
            self.package(arguments)
        if self.row.tests:
            self.tests(arguments)
        return Passed(versions, ", ".join(self.did), self.late)


# ---- what is told ------------------------------------------------------------------------------


@dataclass
class Passed:
    versions: dict  # compiler, cmake, boost, emulator
    did: str
    late: dict = field(default_factory=dict)

    def __str__(self):
        late = [f"{percentile} {ms} ms" for percentile, ms in self.late.items()]
        return self.did + (f", with ticks of 1 ms late by {joined(late)}" if late else "")

    def took(self):
        names = {"cmake": "CMake ", "boost": "Boost "}
        return ", ".join(names.get(what, "") + version for what, version in self.versions.items())


def endTable(results):
    """What was asked, row by row: how it ended, and with which versions."""
    lines = [("row", "", "result", "with")]
    for row, result, _ in results:
        if isinstance(result, Passed):
            lines.append((row.name, "passed", str(result), result.took()))
        else:
            how, why = result.split(": ", 1)
            lines.append((row.name, how, why, ""))
    widths = [max(len(line[i]) for line in lines) for i in range(2)]
    return "\n".join(f"{name:{widths[0]}}  {how:{widths[1]}}  {text}{took and f'  [{took}]'}"
                     for name, how, text, took in lines[1:])  # fmt: skip


# ---- the page ----------------------------------------------------------------------------------

PAGE = ROOT / "docs/platforms.md"
RESULTS = Path(__file__).with_name("results.jsonl")
NOT_TRIED = (":!*.md", ":!tests/platforms/results.jsonl")
TEMPLATE = Path(__file__).with_name("page.md.in")


def recorded():
    """{row: what came of it when it last passed}"""
    lines = RESULTS.read_text(encoding="utf-8").splitlines() if RESULTS.exists() else []
    return {result["row"]: result for result in map(json.loads, lines)}


def pageOf(results):
    known = [(row, results[row.name]) for row in ROWS if row.name in results]
    passed = [[f"`{row.name}`", row.what, row.proof, one["date"], one["commit"]]
              for row, one in known]  # fmt: skip
    versions = [[f"`{row.name}`", one["compiler"], one["cmake"], one["boost"],
                 one.get("emulator", "this machine" if row.runs else "nothing")]
                for row, one in known]  # fmt: skip
    late = [[f"`{row.name}`", one.get("emulator", "this machine"), one["late"]["p50"],
             one["late"]["p99"]] for row, one in known if one["late"]]  # fmt: skip
    tables = {
        "passed": textTable(["row", "platform", "shown", "on", "commit"], passed),
        "versions": textTable(["row", "compiler", "CMake", "Boost", "run by"], versions),
        "late": table(["row", "run by", "half of them, ms", "99 of 100, ms"], late, left=2),
    }
    return seal.sealed(fill(TEMPLATE.read_text(encoding="utf-8"), lambda what: tables[what]))


def write(results):
    """Renews the rows that are given, and no other."""
    results = {**recorded(), **results}
    lines = [json.dumps(results[row.name]) + "\n" for row in ROWS if row.name in results]
    RESULTS.write_text("".join(lines), encoding="utf-8")
    PAGE.write_text(pageOf(results), encoding="utf-8")


def wrongOn(page, results):
    if page != pageOf(results):
        return ["docs/platforms.md is not what its results make of it: platforms.py page"]
    if seal.whyNoHistory(ROOT):
        return []  # generated.check tells that
    return [f"docs/platforms.md names {commit}, which is not in the history"
            for commit in {result["commit"] for result in results.values()}
            if seal.git(ROOT, "merge-base", "--is-ancestor", commit, "HEAD").returncode != 0
           ]  # fmt: skip


def state():
    """The commit, and what differs from it beside documents."""
    commit = seal.git(ROOT, "rev-parse", "--short", "HEAD").stdout.strip()
    return commit, seal.git(ROOT, "status", "--porcelain", "--", ".", *NOT_TRIED).stdout.strip()


def check():
    sys.exit("\n".join(wrongOn(PAGE.read_text(encoding="utf-8"), recorded())) or None)


def selfTest():
    """The check notices what is wrong."""
    commit = seal.git(ROOT, "rev-parse", "--short", "HEAD").stdout.strip()
    one = {"row": ROWS[0].name, "date": "2026-01-01", "commit": commit, "compiler": "c 1",
           "cmake": "3", "boost": "1", "did": "17 tests ran",
           "late": {"p50": "1.1", "p99": "2.2"}}  # fmt: skip
    results = {ROWS[0].name: one}
    page = pageOf(results)
    wrong = [f"takes {what}" for what, changed, known in (
        ("a result that was edited", page.replace("| c 1", "| c 2"), results),
        ("prose that was edited", page.replace("Do not edit", "Edit"), results),
        ("a page without a result", page, results | {ROWS[1].name: one}),
    ) if not wrongOn(changed, known)]  # fmt: skip
    told = endTable([(ROWS[0], Passed({"cmake": "3"}, "ran"), False),
                     (ROWS[1], "skipped: x", False)])  # fmt: skip
    if "passed   ran  [CMake 3]" not in told or "skipped  x" not in told:
        wrong.append(f"tells at the end: {told}")
    if not seal.whyNoHistory(ROOT):
        if wrongOn(page, results):
            wrong.append(f"complains of a page that was only generated: {wrongOn(page, results)}")
        lost = {ROWS[0].name: {**one, "commit": "0000000"}}
        if not wrongOn(pageOf(lost), lost):
            wrong.append("takes a commit that is not in the history")
    sys.exit("\n".join(wrong) or None)


# ---- the command -------------------------------------------------------------------------------


def tryRow(row, mayInstall, writes):
    """Its result, and whether that is bad."""
    before = state()
    try:
        result = Try(row, mayInstall).go()
    except Skipped as reason:
        return f"skipped: {reason}", False
    except Failed as reason:
        return f"FAILED: {reason}", True
    if writes:
        changed = seal.git(ROOT, "diff", "--quiet", before[0], "--", ".", *NOT_TRIED).returncode
        if changed or state()[1]:
            return "FAILED: it passed, but the sources were changed meanwhile", True
        write({row.name: {"row": row.name, "date": date.today().isoformat(), "commit": before[0],
                          **result.versions, "did": result.did, "late": result.late}})  # fmt: skip
    return result, False


def main():
    calls = {("check",): check, ("page",): lambda: write({}), ("self-test",): selfTest}
    if tuple(sys.argv[1:]) in calls:
        return calls[tuple(sys.argv[1:])]()
    parser = argparse.ArgumentParser(prog="./dev platforms", description=__doc__.split("\n\n")[1],
                                     allow_abbrev=False)  # fmt: skip
    parser.add_argument("--no-install", action="store_true", help="skip what misses a tool")
    parser.add_argument("--list", action="store_true", help="name the rows")
    parser.add_argument("--cheap", action="store_true", help="those that ./dev test --slow tries")
    parser.add_argument("--write", action="store_true", help="what passed, in docs/platforms.md")
    parser.add_argument("--skipped", type=Path, help="a file for what was skipped, and why")
    parser.add_argument("rows", nargs="*", metavar="row", help="all without it")
    options = parser.parse_args()
    known = {row.name: row for row in ROWS}
    for name in options.rows:
        if name not in known:
            parser.error(f"there is no row \"{name}\": it is one of {', '.join(known)}")
    wanted = [known[name] for name in options.rows] or [
        row for row in ROWS if row.cheap is not None or not options.cheap]  # fmt: skip
    if options.cheap:
        if options.write:
            parser.error("--cheap tries less of a row than --write tells of")
        wanted = [replace(row, tests=row.cheap or ()) for row in wanted]
    if options.list:
        print("\n".join(f"{row.name:14} {row.what}: {row.proof}" for row in ROWS))
        return None
    if options.write and state()[1]:
        sys.exit(f"--write names a commit, so commit first what differs:\n{state()[1]}")
    WORK.mkdir(parents=True, exist_ok=True)
    results = []
    for row in wanted:
        began = time.monotonic()
        result, isBad = tryRow(row, not options.no_install, options.write)
        results.append((row, result, isBad))
        print(f"{row.name:14} {result}  ({time.monotonic() - began:.0f} s)", flush=True)
    print(f"\n{endTable(results)}")
    skipped = [(row.name, result.removeprefix("skipped: ")) for row, result, _ in results
               if str(result).startswith("skipped: ")]  # fmt: skip
    if options.skipped:
        options.skipped.write_text("".join(f"{name}\t{why}\n" for name, why in skipped))
    if skipped:
        print("\nNOT TRIED:", *(f"{name}: {why}" for name, why in skipped), sep="\n    ")
    failed = [row.name for row, _, isBad in results if isBad]
    if failed:
        sys.exit("FAILED: " + ", ".join(failed))
    return None


if __name__ == "__main__":
    main()
