#!/usr/bin/env python3
"""release.py <folder>: src/package/release.py, and what it makes in that folder.

The folder's files come from what lies in the tree. The command itself is tried in small clones.
"""

import ast
import hashlib
import json
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
URL = "https://example.org/timingwheel"
USERS = {"CHANGELOG.md", "CMakeLists.txt", "LICENSE", "README.md", "docs", "include", "src"}
NOT_FOR_USERS = ("src/apps/walkthrough", "src/package/conan-center", "src/package/vcpkg")


def run(command, *arguments, where):
    return subprocess.run([*command, *arguments], cwd=where, capture_output=True, text=True)


def release(root, *arguments):
    command = [sys.executable, "-B", "src/package/release.py"]
    return run(command, *arguments, where=root)


def makeFiles(root, folder):
    made = release(root, "--as-it-is", "--to", folder)
    assert made.returncode == 0, made.stdout + made.stderr


def version():
    header = (ROOT / "include/timingwheel/version.h").read_text(encoding="utf-8")
    return ".".join(re.findall(r"#define \w+_(?:MAJOR|MINOR|PATCH) (\d+)", header))


def functions(file):
    """{name: source without comments} of what a recipe's class holds."""
    tree = ast.parse(file.read_text(encoding="utf-8"))
    (class_,) = (node for node in tree.body if isinstance(node, ast.ClassDef))
    return {getattr(node, "name", None) or node.targets[0].id: ast.unparse(node)
            for node in class_.body}  # fmt: skip


class Files(unittest.TestCase):
    folder = None

    @classmethod
    def setUpClass(cls):
        makeFiles(ROOT, cls.folder)
        cls.archive = cls.folder / f"timingwheel-{version()}.tar.gz"
        with tarfile.open(cls.archive) as tar:
            cls.names = {"/".join(Path(name).parts[1:]) for name in tar.getnames()}
            cls.tops = {Path(name).parts[0] for name in tar.getnames()}

    def read(self, name):
        return (self.folder / name).read_text(encoding="utf-8")

    def testTheArchiveHoldsWhatUsersNeedAndNoMore(self):
        self.assertEqual(self.tops, {f"timingwheel-{version()}"})
        self.assertEqual({name.split("/")[0] for name in self.names - {""}}, USERS)
        for name in self.names:
            self.assertFalse(name.startswith(NOT_FOR_USERS), name)

    def testTheArchiveHoldsAllOfTheLibrary(self):
        for folder in ("include", "src"):
            for path in filter(Path.is_file, (ROOT / folder).rglob("*")):
                name = path.relative_to(ROOT).as_posix()
                if "__pycache__" not in name and not name.startswith(NOT_FOR_USERS):
                    self.assertIn(name, self.names | {"src/package/release.py"})

    def testTheReadmesLinksLeadSomewhere(self):
        text = (ROOT / "README.md").read_text(encoding="utf-8")
        for target in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", text):
            self.assertIn(target, self.names)

    def testTheSameTreeGivesTheSameArchive(self):
        with tempfile.TemporaryDirectory() as folder:
            makeFiles(ROOT, Path(folder) / "again")
            again = (Path(folder) / "again" / self.archive.name).read_bytes()
        self.assertEqual(again, self.archive.read_bytes())

    def testChecksumsAreThoseOfTheArchive(self):
        data = self.archive.read_bytes()
        sha256, sha512 = hashlib.sha256(data).hexdigest(), hashlib.sha512(data).hexdigest()
        self.assertEqual(self.read(f"{self.archive.name}.sha256").split()[0], sha256)
        self.assertEqual(self.read(f"{self.archive.name}.sha512").split()[0], sha512)
        self.assertIn(f'sha256: "{sha256}"', self.read("conan-center/all/conandata.yml"))
        self.assertIn(f"SHA512 {sha512}\n", self.read("vcpkg/portfile.cmake"))

    def testNoPlaceIsLeftEmpty(self):
        for file in filter(Path.is_file, self.folder.rglob("*")):
            if file.suffix != ".gz":
                self.assertNotRegex(file.read_text(encoding="utf-8"), r"@[A-Z0-9_]+@", file)

    def testThePortsManifestHasWhatItsRegistryAsksFor(self):
        port = json.loads(self.read("vcpkg/vcpkg.json"))
        self.assertEqual(port["version"], version())
        self.assertEqual(port["license"], "MIT")
        self.assertTrue(port["description"] and port["homepage"])
        libraries = [one for one in port["dependencies"] if isinstance(one, str)]
        tools = [one for one in port["dependencies"] if not isinstance(one, str)]
        self.assertEqual(libraries, ["boost-heap", "boost-intrusive"])
        for tool, name in zip(tools, ("vcpkg-cmake", "vcpkg-cmake-config"), strict=True):
            self.assertEqual(tool, {"name": name, "host": True})

    def testBothRecipesDescribeTheSamePackage(self):
        tree = functions(ROOT / "conanfile.py")
        index = functions(self.folder / "conan-center/all/conanfile.py")
        for name in ("name", "description", "license", "topics", "package_type", "settings",
                     "options", "implements", "package", "package_info"):  # fmt: skip
            self.assertEqual(tree[name], index[name])

    def testTheRecipeRefusesCompilersOlderThanThePagesName(self):
        least = functions(self.folder / "conan-center/all/conanfile.py")
        least = dict(re.findall(r"'([\w-]+)': '(\d+)'", least["_compilers_minimum_version"]))
        for page in ("README.md", "docs/installing.md"):
            text = (ROOT / page).read_text(encoding="utf-8")
            named = re.search(r"\(g\+\+ (\d+), clang (\d+), Apple clang (\d+)", text).groups()
            self.assertEqual(named, (least["gcc"], least["clang"], least["apple-clang"]))


class Command(unittest.TestCase):
    """In a clone with little in it."""

    def setUp(self):
        self.root = Path(self.enterContext(tempfile.TemporaryDirectory()))
        for name in ("include/timingwheel/version.h", "CHANGELOG.md", ".gitattributes",
                     ".gitignore", "LICENSE", "README.md", "docs/beyond.md", "docs/installing.md",
                     "docs/store.md", "tests/package/consumer/CMakeLists.txt"):  # fmt: skip
            (self.root / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, self.root / name)
        for name in ("src/package", "test_package"):
            unwanted = shutil.ignore_patterns("__pycache__", "build")
            shutil.copytree(ROOT / name, self.root / name, ignore=unwanted)
        self.changelog = self.root / "CHANGELOG.md"
        text = self.changelog.read_text(encoding="utf-8")
        heading = f"## [{version()}] - unreleased"
        self.changelog.write_text(re.sub(rf"## \[{version()}\] - \S+", heading, text))
        self.git("init", "--quiet")
        self.git("config", "user.name", "timingwheel")
        self.git("config", "user.email", "timingwheel")
        self.commit()

    def git(self, *arguments):
        done = run(["git"], *arguments, where=self.root)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout.strip()

    def commit(self):
        self.git("add", "--all")
        self.git("commit", "--quiet", "--message", "as it was")

    def state(self):
        return self.git("log", "--format=%H"), self.git("tag"), self.git("status", "--porcelain")

    def expectRefused(self, reason):
        before = self.state()
        for how in (["--check"], ["--url", URL]):
            done = release(self.root, *how)
            self.assertEqual(done.returncode, 1, done.stdout)
            self.assertIn(reason, done.stderr)
            self.assertEqual(self.state(), before)

    def testAReleaseIsDatedCommittedAndTagged(self):
        done = release(self.root, "--url", URL)
        self.assertEqual(done.returncode, 0, done.stderr)
        tag = f"v{version()}"
        self.assertEqual(self.git("cat-file", "-t", tag), "tag")
        self.assertEqual(self.git("rev-parse", f"{tag}^{{}}"), self.git("rev-parse", "HEAD"))
        self.assertRegex(self.git("show", f"{tag}:CHANGELOG.md"),
                         rf"## \[{re.escape(version())}\] - \d{{4}}-\d\d-\d\d\n")  # fmt: skip
        self.assertEqual(self.git("status", "--porcelain"), "")
        made = self.root / "build" / "dist"
        archive = f"timingwheel-{version()}.tar.gz"
        data = (made / "conan-center/all/conandata.yml").read_text(encoding="utf-8")
        self.assertIn(f'url: "{URL}/releases/download/{tag}/{archive}"', data)
        recipe = (made / "conan-center/all/conanfile.py").read_text(encoding="utf-8")
        self.assertIn(f'homepage = "{URL}"', recipe)
        with tarfile.open(made / archive) as tar:
            inside = tar.extractfile(f"timingwheel-{version()}/CHANGELOG.md").read().decode()
        self.assertNotIn("unreleased", inside)

    def testACheckMakesTheFilesAndChangesNothing(self):
        before = self.state()
        done = release(self.root, "--check")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(self.state(), before)
        self.assertTrue((self.root / "build/dist/vcpkg/portfile.cmake").exists())

    def testATreeThatIsNotCleanIsRefused(self):
        (self.root / "include" / "new.h").touch()
        self.expectRefused("the tree is not clean")

    def testAVersionThatHasATagIsRefused(self):
        self.git("tag", f"v{version()}")
        self.expectRefused(f"there is a tag v{version()}")

    def testAChangelogWithoutTheVersionIsRefused(self):
        self.changelog.write_text("# Changelog\n", encoding="utf-8")
        self.commit()
        self.expectRefused("CHANGELOG.md has no section")

    def testAPageThatAsksForAnotherVersionIsRefused(self):
        asked = {
            "README.md": 'self.requires("timingwheel/9.8.7")',
            "docs/store.md": "find_package(timingwheel 9.8 REQUIRED COMPONENTS store)",
            "docs/beyond.md": "CPMAddPackage(NAME timingwheel VERSION 9.8.7 URL somewhere)",
            "tests/package/consumer/CMakeLists.txt": "find_package(timingwheel 9.8 CONFIG)",
        }
        for name, line in asked.items():
            file = self.root / name
            before = file.read_text(encoding="utf-8")
            file.write_text(f"{line}\n{before}", encoding="utf-8")
            self.commit()
            self.expectRefused(f"{name}:1 names timingwheel 9.8")
            file.write_text(before, encoding="utf-8")
            self.commit()

    def testAFigureOfOtherCodeIsRefused(self):
        seal = self.root / "tests/benchmark/page/seal.py"
        seal.parent.mkdir(parents=True)
        shutil.copy(ROOT / "tests/benchmark/page/seal.py", seal)
        for page in ("README.md", "docs/beyond.md", "docs/store.md"):  # none of their commits
            file = self.root / page
            file.write_text(file.read_text(encoding="utf-8").replace("Written by `", ""))
        page = self.root / "docs/performance.md"
        commit = self.git("rev-parse", "--short", "HEAD")
        page.write_text(f"Written by `./dev bench` on 2026-01-01, commit {commit}, in 1 min 0 s. "
                        "It measures `include`.\n", encoding="utf-8")  # fmt: skip
        self.commit()
        self.assertEqual(release(self.root, "--check").returncode, 0)
        (self.root / "include/new.h").touch()
        self.commit()
        self.expectRefused(f"changed since {commit}: include")

    def testEveryPlaceThatAUserCopiesFromIsFound(self):
        header = self.root / "include/timingwheel/version.h"
        text = header.read_text(encoding="utf-8")
        header.write_text(re.sub(r"(_MINOR) \d+", r"\1 99", text), encoding="utf-8")
        self.commit()
        refused = release(self.root, "--check").stderr
        for name, times in (("docs/installing.md", 5), ("docs/beyond.md", 1), ("docs/store.md", 1),
                            ("tests/package/consumer/CMakeLists.txt", 1)):  # fmt: skip
            self.assertEqual(len(re.findall(rf"{name}:\d+ names", refused)), times, refused)

    def testAReleaseWantsAnAddress(self):
        for arguments in ([], ["--url", "timingwheel"], ["--url", "http://example.org/x"]):
            done = release(self.root, *arguments)
            self.assertEqual(done.returncode, 2)
            self.assertIn("https://<host>/<path>", done.stderr)

    def testWithoutGitThereIsNone(self):
        shutil.rmtree(self.root / ".git")
        done = release(self.root, "--check")
        self.assertEqual(done.returncode, 77)
        self.assertRegex(done.stdout, "^skipped: ")


if __name__ == "__main__":
    Files.folder = Path(sys.argv.pop(1)).resolve()
    sys.exit(unittest.main())
