#!/usr/bin/env python3
"""release.py <folder>: src/package/release.py, and what it makes in that folder.

The folder's files come from what lies in the tree. The command itself is tried in small clones.
"""

import hashlib
import re
import subprocess
import sys
import tarfile
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "src/package"), str(ROOT / "tests/tidy")]
from singleheader import readVersion, singleHeader  # noqa: E402
from tidy import checkLinks  # noqa: E402

VERSION = readVersion()
TAG, ARCHIVE = f"v{VERSION}", f"timingwheel-{VERSION}.tar.gz"
URL = "https://example.org/timingwheel"
USERS = {"CHANGELOG.md", "CMakeLists.txt", "LICENSE", "README.md", "docs", "include", "src"}
NOT_FOR_USERS = ("src/apps/walkthrough", "src/package/conan-center", "src/package/vcpkg",
                 "src/package/release.py", "src/package/singleheader.py", "src/package/site",
                 "src/package/timingwheel.hpp.in")  # fmt: skip
# What a clone needs to be released.
RELEASED = ["include", "src/core", "CHANGELOG.md", "LICENSE", ".gitattributes", ".gitignore",
            "README.md", "docs/beyond.md", "docs/installing.md", "src/package",
            "test_package", "tests/package/consumer", "tests/benchmark/page"]  # fmt: skip


def release(root, *arguments):
    return subprocess.run([sys.executable, "-B", "src/package/release.py", *arguments], cwd=root,
                          capture_output=True, text=True)  # fmt: skip


def makeFiles(folder):
    made = release(ROOT, "--as-it-is", "--to", folder)
    assert made.returncode == 0, made.stdout + made.stderr


def edit(file, pattern, replacement):
    text = file.read_text(encoding="utf-8")
    file.write_text(re.sub(pattern, replacement, text), encoding="utf-8")


class Files(unittest.TestCase):
    folder = None

    @classmethod
    def setUpClass(cls):
        makeFiles(cls.folder)
        with tarfile.open(cls.folder / ARCHIVE) as tar:
            names = [Path(name).parts for name in tar.getnames()]
            cls.files = {one.name.partition("/")[2]: tar.extractfile(one).read().decode("utf-8")
                         for one in tar if one.isfile()}  # fmt: skip
        cls.names = {"/".join(parts[1:]) for parts in names} - {""}
        cls.tops = {parts[0] for parts in names}

    def testTheArchiveHoldsWhatUsersNeedAndNoMore(self):
        self.assertEqual(self.tops, {f"timingwheel-{VERSION}"})
        self.assertEqual({name.split("/")[0] for name in self.names}, USERS)
        library = {path.relative_to(ROOT).as_posix() for folder in ("include", "src")
                   for path in (ROOT / folder).rglob("*")
                   if path.is_file() and "__pycache__" not in path.parts}  # fmt: skip
        found = {name for name in self.names if name in library or name.startswith(NOT_FOR_USERS)}
        self.assertEqual(found, {one for one in library if not one.startswith(NOT_FOR_USERS)})

    def testTheLinksOfItsPagesLeadToWhatItHolds(self):
        self.assertEqual(list(checkLinks(self.files)), [])

    def testTheSameTreeGivesTheSameArchive(self):
        with tempfile.TemporaryDirectory() as folder:
            makeFiles(folder)
            again = (Path(folder) / ARCHIVE).read_bytes()
        self.assertEqual(again, (self.folder / ARCHIVE).read_bytes())

    def testChecksumsAreThoseOfTheFiles(self):
        for algorithm, recipe in (("sha256", "conan-center/all/conandata.yml"),
                                  ("sha512", "vcpkg/portfile.cmake")):  # fmt: skip
            text = (self.folder / f"{algorithm.upper()}SUMS").read_text()
            told = {name: digest for digest, name in map(str.split, text.splitlines())}
            self.assertLessEqual({ARCHIVE, "timingwheel.hpp"}, set(told))
            for name, digest in told.items():
                data = (self.folder / name).read_bytes()
                self.assertEqual(digest, hashlib.new(algorithm, data).hexdigest())
            self.assertIn(told[ARCHIVE], (self.folder / recipe).read_text(encoding="utf-8"))

    def testTheHeaderLeavesNoMacroOfAnotherName(self):
        names = set(re.findall(r"(?m)^ *# *define (\w+)", singleHeader()))
        self.assertEqual({name for name in names if not name.startswith("TIMINGWHEEL_")},
                         {"NOMINMAX", "WIN32_LEAN_AND_MEAN"})  # fmt: skip

    def testTheRecipeRefusesCompilersOlderThanThePagesName(self):
        recipe = (ROOT / "src/package/conan-center/all/conanfile.py").read_text(encoding="utf-8")
        least = re.search(r'{"gcc": "(\d+)", "clang": "(\d+)", "apple-clang": "(\d+)"', recipe)
        for page in ("README.md", "docs/installing.md"):
            text = (ROOT / page).read_text(encoding="utf-8")
            named = re.search(r"\(g\+\+ (\d+), clang (\d+), Apple clang (\d+)", text)
            self.assertEqual(named.groups(), least.groups())


class Command(unittest.TestCase):
    """In a clone with little in it."""

    def setUp(self):
        self.root = Path(self.enterContext(tempfile.TemporaryDirectory()))
        subprocess.run(["cp", "-r", "--parents", *RELEASED, self.root], cwd=ROOT, check=True)
        edit(self.root / "CHANGELOG.md", rf"(## \[{VERSION}\]) - \S+", r"\1 - unreleased")
        for page in ("README.md", "docs/beyond.md"):  # none of their commits
            edit(self.root / page, "Written by `", "")
        self.git("init", "--quiet")
        self.git("config", "user.name", "timingwheel")
        self.git("config", "user.email", "timingwheel")
        self.commit()

    def git(self, *arguments):
        done = subprocess.run(["git", *arguments], cwd=self.root, capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout.strip()

    def commit(self):
        self.git("add", "--all")
        self.git("commit", "--quiet", "--message", "as it was")

    def state(self):
        return self.git("log", "--format=%H"), self.git("tag"), self.git("status", "--porcelain")

    def testAReleaseIsDatedCommittedAndTaggedAndACheckIsNot(self):
        before = self.state()
        done = release(self.root, "--check")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(self.state(), before)
        self.assertTrue((self.root / "build/dist/vcpkg/portfile.cmake").exists())
        done = release(self.root, "--url", URL)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(self.git("cat-file", "-t", TAG), "tag")
        self.assertEqual(self.git("rev-parse", f"{TAG}^{{}}"), self.git("rev-parse", "HEAD"))
        self.assertRegex(self.git("show", f"{TAG}:CHANGELOG.md"),
                         rf"## \[{re.escape(VERSION)}\] - \d{{4}}-\d\d-\d\d\n")  # fmt: skip
        self.assertEqual(self.git("status", "--porcelain"), "")
        made = self.root / "build" / "dist"
        for name, line in (("conandata.yml", f'url: "{URL}/releases/download/{TAG}/{ARCHIVE}"'),
                           ("conanfile.py", f'homepage = "{URL}"')):  # fmt: skip
            self.assertIn(line, (made / "conan-center/all" / name).read_text(encoding="utf-8"))
        with tarfile.open(made / ARCHIVE) as tar:
            inside = tar.extractfile(f"timingwheel-{VERSION}/CHANGELOG.md").read().decode()
        self.assertNotIn("unreleased", inside)

    def testNamesAllThatForbidsAReleaseAndChangesNothing(self):
        commit = self.git("rev-parse", "--short", "HEAD")
        (self.root / "docs/performance.md").write_text(
            f"Written by `./dev bench` on 2026-01-01, commit {commit}, in 1 min 0 s. "
            "It measures `include`.\n", encoding="utf-8")  # fmt: skip
        self.commit()
        self.assertEqual(release(self.root, "--check").returncode, 0)
        edit(self.root / "include/timingwheel/version.h", r"(_MINOR) \d+", r"\1 99")
        self.commit()
        tag = re.sub(r"\.\d+\.", ".99.", TAG)
        self.git("tag", tag)
        (self.root / "include" / "new.h").touch()
        naming = {"docs/installing.md": 4, "docs/beyond.md": 1,
                  "tests/package/consumer/CMakeLists.txt": 1}  # fmt: skip
        reasons = ["the tree is not clean", f"there is a tag {tag}", "CHANGELOG.md has no section",
                   f"changed since {commit}: include",
                   *(rf"(?s)({name}:\d+ names timingwheel.*){{{times}}}"
                     for name, times in naming.items())]  # fmt: skip
        before = self.state()
        for how in (["--check"], ["--url", URL]):
            done = release(self.root, *how)
            self.assertEqual(done.returncode, 1, done.stdout)
            for reason in reasons:
                self.assertRegex(done.stderr, reason)
            self.assertEqual(self.state(), before)


if __name__ == "__main__":
    Files.folder = Path(sys.argv.pop(1)).resolve()
    sys.exit(unittest.main())
