#!/usr/bin/env python3
"""Makes a release: ./dev release

release.py --url URL [--archive-url URL] [--to FOLDER]
    Dates the version's section of CHANGELOG.md, commits that, makes the files, tags the commit.
release.py --check [--url URL] [--archive-url URL] [--to FOLDER]
    Changes nothing, makes the files from the last commit, and says what forbids a release.
release.py --as-it-is [--to FOLDER]
    Makes the files from what lies in the folder, committed or not, for tests.

The files, in build/dist unless --to says otherwise:

timingwheel-<version>.tar.gz    what users need: see export-ignore in .gitattributes
  .sha256 .sha512               its checksums
conan-center/, vcpkg/           the recipe and the port of src/package, filled in, ready for their
                                registries

URL is the project's home page. The archive is expected at --archive-url, by default
URL/releases/download/v<version>/timingwheel-<version>.tar.gz. Without --url both are files here.
The same commit gives the same archive, byte for byte.

Exits with 1 where a release is forbidden, with 77 where this is not a git clone.
"""

import argparse
import datetime
import gzip
import hashlib
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
NAME = "timingwheel"
CHANGELOG = "CHANGELOG.md"
# How users are told to ask for the version: for all of it, or for what precedes the patch.
NAMED = re.compile(
    rf"find_package\({NAME} (\d[\d.]*)|\b{NAME}/(\d[\d.]*)|\(NAME {NAME} VERSION (\d[\d.]*)"
)
NAMING = ("README.md", "docs/*.md", "tests/package/consumer/*")
SKIPPED = 77


def git(*arguments, **environment):
    command = ["git", "-C", ROOT, *arguments]
    done = subprocess.run(command, check=True, capture_output=True, text=True,
                          env={**os.environ, **environment})  # fmt: skip
    return done.stdout.strip()


def readVersion():
    header = (ROOT / "include" / NAME / "version.h").read_text(encoding="utf-8")
    parts = ("MAJOR", "MINOR", "PATCH")
    return ".".join(re.search(rf"_VERSION_{part} +(\d+)", header)[1] for part in parts)


# ---- may it be released? -----------------------------------------------------------------------


def section(version):
    """The heading of the version's section, as a match: what stands for its date is group 1."""
    text = (ROOT / CHANGELOG).read_text(encoding="utf-8")
    return re.search(rf"^## \[{re.escape(version)}\] - (\S+)$", text, re.MULTILINE)


def otherVersions(version):
    """Where users are told to ask for another version: ("README.md:7", what it names)."""
    wanted = {version, version.rpartition(".")[0]}
    for path in sorted(path for pattern in NAMING for path in ROOT.glob(pattern)):
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
            for found in NAMED.finditer(line):
                named = next(filter(None, found.groups())).rstrip(".")
                if named not in wanted:
                    yield f"{path.relative_to(ROOT).as_posix()}:{number}", named


def obstacles(version):
    if git("status", "--porcelain"):
        yield "the tree is not clean: commit, or stash, what git status shows"
    if git("tag", "--list", f"v{version}"):
        yield f"there is a tag v{version}: include/{NAME}/version.h must name the next version"
    heading = section(version)
    if heading is None:
        yield f'{CHANGELOG} has no section "## [{version}] - unreleased", or with a date'
    elif heading[1] != "unreleased" and not re.fullmatch(r"\d{4}-\d\d-\d\d", heading[1]):
        yield f'{CHANGELOG}: [{version}] has "{heading[1]}", neither "unreleased" nor a date'
    for place, named in otherVersions(version):
        yield f"{place} names {NAME} {named}"
    yield from staleFigures()


def staleFigures():
    """Published figures whose code has changed since they were measured."""
    script = ROOT / "tests" / "benchmark" / "page" / "seal.py"
    command = [sys.executable, "-B", script, "stale"]
    if script.exists():
        yield from subprocess.run(command, check=True, capture_output=True,
                                  text=True).stdout.splitlines()  # fmt: skip


def dateSection(version):
    """Puts today's date where "unreleased" stands, and commits that."""
    heading = section(version)
    if heading[1] != "unreleased":
        return
    text = heading.string
    today = datetime.date.today().isoformat()
    text = text[: heading.start(1)] + today + text[heading.end(1) :]
    (ROOT / CHANGELOG).write_text(text, encoding="utf-8")
    git("commit", "--quiet", "--message", f"Release {version}", "--", CHANGELOG)


# ---- its files ---------------------------------------------------------------------------------


def commitAsItIs(scratch):
    """A commit of what lies in the folder, which nobody will see: its objects go to scratch."""
    objects = Path(git("rev-parse", "--path-format=absolute", "--git-path", "objects"))
    mine = {
        "GIT_INDEX_FILE": str(scratch / "index"),
        "GIT_OBJECT_DIRECTORY": str(scratch / "objects"),
        "GIT_ALTERNATE_OBJECT_DIRECTORIES": str(objects),
    }
    when = git("show", "--no-patch", "--format=%cI", "HEAD")
    for who in ("AUTHOR", "COMMITTER"):
        mine |= {f"GIT_{who}_NAME": NAME, f"GIT_{who}_EMAIL": NAME, f"GIT_{who}_DATE": when}
    (scratch / "objects").mkdir()
    git("add", "--all", ".", **mine)
    tree = git("write-tree", **mine)
    return git("commit-tree", tree, "-m", "as it is", **mine), mine


def archive(commit, version, environment):
    folder = f"{NAME}-{version}/"
    command = ["git", "-C", ROOT, "archive", "--format=tar", f"--prefix={folder}", commit]
    tar = subprocess.run(command, check=True, capture_output=True,
                         env={**os.environ, **environment}).stdout  # fmt: skip
    return gzip.compress(tar, compresslevel=9, mtime=0)


def fill(source, target, words):
    """Copies a folder of templates, with @WORD@ replaced."""
    for file in filter(Path.is_file, source.rglob("*")):
        text = file.read_text(encoding="utf-8")
        copy = target / file.relative_to(source)
        copy.parent.mkdir(parents=True, exist_ok=True)
        copy.write_text(re.sub(r"@([A-Z0-9_]+)@", lambda m: words[m[1]], text), encoding="utf-8")


def makeFiles(folder, version, commit, environment, url, archiveUrl):
    packed = archive(commit, version, environment)
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    file = folder / f"{NAME}-{version}.tar.gz"
    file.write_bytes(packed)
    words = {
        "VERSION": version,
        "HOMEPAGE": url or folder.as_uri(),
        "ARCHIVE_URL": archiveUrl
        or (f"{url}/releases/download/v{version}/{file.name}" if url else file.as_uri()),
    }
    for algorithm in ("sha256", "sha512"):
        words[algorithm.upper()] = digest = hashlib.new(algorithm, packed).hexdigest()
        Path(f"{file}.{algorithm}").write_text(f"{digest}  {file.name}\n", encoding="utf-8")
    for registry in ("conan-center", "vcpkg"):
        fill(ROOT / "src" / "package" / registry, folder / registry, words)
    # The test of the package is the one of the recipe in the tree.
    tested = folder / "conan-center" / "all" / "test_package"
    tested.mkdir()
    for name in ("CMakeLists.txt", "conanfile.py", "test_package.cpp"):
        shutil.copyfile(ROOT / "test_package" / name, tested / name)
    print(f"{file}\n  sha256 {words['SHA256']}\n  from {words['ARCHIVE_URL']}")


# ---- what is asked for -------------------------------------------------------------------------


def webAddress(text):
    if not re.fullmatch(r"https://[^\s/@]+/\S*[^\s/]", text):
        raise argparse.ArgumentTypeError(f'"{text}" is not https://<host>/<path>')
    return text


def parse(arguments):
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    how = parser.add_mutually_exclusive_group()
    how.add_argument("--check", action="store_true")
    how.add_argument("--as-it-is", action="store_true")
    parser.add_argument("--url", type=webAddress)
    parser.add_argument("--archive-url", type=webAddress)
    parser.add_argument("--to", type=Path, default=ROOT / "build" / "dist", metavar="FOLDER")
    options = parser.parse_args(arguments)
    if not (options.check or options.as_it_is or options.url):
        parser.error("a release wants the project's home page: --url https://<host>/<path>")
    return options


def main(arguments):
    options = parse(arguments)
    if not (ROOT / ".git").exists():
        print(f"skipped: {ROOT} is not a git clone")
        return SKIPPED
    version = readVersion()
    forbidden = [] if options.as_it_is else list(obstacles(version))
    for reason in forbidden:
        print(f"no release of {version}: {reason}", file=sys.stderr)
    if forbidden and not options.check:
        return 1
    with tempfile.TemporaryDirectory() as scratch:
        commit, environment = "HEAD", {}
        if options.as_it_is:
            commit, environment = commitAsItIs(Path(scratch))
        elif not options.check:
            dateSection(version)
        makeFiles(options.to.resolve(), version, commit, environment, options.url,
                  options.archive_url)  # fmt: skip
    if not (options.check or options.as_it_is):
        tag = f"v{version}"
        git("tag", "--annotate", "--message", f"{NAME} {version}", tag)
        print(f"tagged {tag}. Now push the branch and {tag}, upload the archive, and open the "
              "registries' pull requests.")  # fmt: skip
    return 1 if forbidden else 0


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1:]))
    except subprocess.CalledProcessError as error:
        sys.exit(f"{' '.join(map(str, error.cmd))}: {error.stderr}")
