#!/usr/bin/env python3
"""Makes a release: ./dev release

release.py --url URL    dates the version's section of CHANGELOG.md, commits that, makes the files,
                        and tags the commit
release.py --check      changes nothing, makes the files of the last commit, and says what forbids
                        a release
release.py --as-it-is   makes the files of what lies in the folder, committed or not: for tests
--debian                with any of these: Debian packages, too, compiled from the archive

The files, in build/dist or in --to FOLDER:

timingwheel-<version>.tar.gz    what users need: see export-ignore in .gitattributes
timingwheel.hpp                 the core in one header
timingwheel-site-<version>.tar.gz   build/site, if ./dev docs has made it
*.deb                           see src/package/debian
conan-center/, vcpkg/           the recipe and the port of src/package, filled in, ready for their
                                registries
SHA256SUMS SHA512SUMS           of the files above that are no folders

URL is the project's home page; the archive is expected among its releases, below v<version>.
Without it both are files here. The same commit gives the same archive, byte for byte.

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

from singleheader import ROOT, filledIn, readVersion, singleHeader

NAME = "timingwheel"
CHANGELOG = ROOT / "CHANGELOG.md"
# How users are told to ask for the version: for all of it, or for what precedes the patch.
NAMED = re.compile(rf"(?:find_package\({NAME} |\b{NAME}/|NAME {NAME} VERSION )(\d+(?:\.\d+)*)")
NAMING = ("README.md", "docs/*.md", "tests/package/consumer/*")
SKIPPED = 77


def git(*arguments, text=True, **environment):
    command = ["git", "-C", ROOT, *arguments]
    done = subprocess.run(command, check=True, capture_output=True, text=text,
                          env={**os.environ, **environment})  # fmt: skip
    return done.stdout.strip() if text else done.stdout


def section(version):
    """The heading of the version's section, as a match: what stands for its date is group 1."""
    text = CHANGELOG.read_text(encoding="utf-8")
    return re.search(rf"(?m)^## \[{re.escape(version)}\] - (unreleased|\d{{4}}-\d\d-\d\d)$", text)


def obstacles(version):
    if git("status", "--porcelain"):
        yield "the tree is not clean: commit, or stash, what git status shows"
    if git("tag", "--list", f"v{version}"):
        yield f"there is a tag v{version}: include/{NAME}/version.h must name the next version"
    if section(version) is None:
        yield f'CHANGELOG.md has no section "## [{version}] - unreleased", or with a date'
    for path in sorted(path for pattern in NAMING for path in ROOT.glob(pattern)):
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
            for named in NAMED.findall(line):
                if named not in (version, version.rpartition(".")[0]):
                    yield f"{path.relative_to(ROOT)}:{number} names {NAME} {named}"
    # Published figures whose code has changed since they were measured.
    stale = [sys.executable, "-B", ROOT / "tests/benchmark/page/seal.py", "stale"]
    yield from subprocess.run(stale, check=True, capture_output=True,
                              text=True).stdout.splitlines()  # fmt: skip


def dateSection(version):
    """Puts today's date where "unreleased" stands, and commits that."""
    heading = section(version)
    if heading[1] == "unreleased":
        text, today = heading.string, datetime.date.today().isoformat()
        CHANGELOG.write_text(text[: heading.start(1)] + today + text[heading.end(1) :], "utf-8")
        git("commit", "--quiet", "--message", f"Release {version}", "--", CHANGELOG)


def commitAsItIs(scratch):
    """A commit of what lies in the folder, which no branch has. It is the same for the same."""
    when = git("show", "--no-patch", "--format=%cI", "HEAD")
    mine = {"GIT_INDEX_FILE": str(scratch / "index")}
    for who in ("AUTHOR", "COMMITTER"):
        mine |= {f"GIT_{who}_NAME": NAME, f"GIT_{who}_EMAIL": NAME, f"GIT_{who}_DATE": when}
    git("add", "--all", ".", **mine)
    return git("commit-tree", git("write-tree", **mine), "-m", "as it is", **mine)


def makeFiles(folder, version, commit, url, debian):
    tar = git("archive", "--format=tar", f"--prefix={NAME}-{version}/", commit, text=False)
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    file = folder / f"{NAME}-{version}.tar.gz"
    file.write_bytes(gzip.compress(tar, compresslevel=9, mtime=0))
    (folder / f"{NAME}.hpp").write_text(singleHeader(), encoding="utf-8")
    if (site := ROOT / "build/site").is_dir():
        shutil.make_archive(folder / f"{NAME}-site-{version}", "gztar", site.parent, site.name)
    if debian:
        subprocess.run([ROOT / "src/package/debian/build", file, folder], check=True)
    words = {
        "VERSION": version,
        "HOMEPAGE": url or folder.as_uri(),
        "ARCHIVE_URL": f"{url}/releases/download/v{version}/{file.name}" if url else file.as_uri(),
    }
    made = sorted(folder.iterdir())
    for algorithm in ("SHA256", "SHA512"):
        sums = {one: hashlib.new(algorithm, one.read_bytes()).hexdigest() for one in made}
        words[algorithm] = sums[file]
        lines = (f"{digest}  {one.name}\n" for one, digest in sums.items())
        (folder / f"{algorithm}SUMS").write_text("".join(lines), encoding="utf-8")

    def copied(source, target):
        unwanted = shutil.ignore_patterns("build", "__pycache__", "CMakeUserPresets.json")
        return shutil.copytree(ROOT / source, folder / target, ignore=unwanted)

    for registry in ("conan-center", "vcpkg"):
        for path in filter(Path.is_file, copied(f"src/package/{registry}", registry).rglob("*")):
            path.write_text(filledIn(path, words), encoding="utf-8")
    # The test of the package is the one of the recipe in the tree.
    copied("test_package", "conan-center/all/test_package")
    print(f"{file}\n  sha256 {words['SHA256']}\n  from {words['ARCHIVE_URL']}")


def parse():
    parser = argparse.ArgumentParser(description=__doc__, prog="./dev release",
                                     formatter_class=argparse.RawDescriptionHelpFormatter
                                     )  # fmt: skip
    how = parser.add_mutually_exclusive_group()
    how.add_argument("--check", action="store_true")
    how.add_argument("--as-it-is", action="store_true")
    parser.add_argument("--debian", action="store_true")
    parser.add_argument("--url")
    parser.add_argument("--to", type=Path, default=ROOT / "build" / "dist", metavar="FOLDER")
    options = parser.parse_args()
    if options.url and not re.fullmatch(r"https://[^\s/@]+/\S*[^\s/]", options.url):
        parser.error(f'--url: "{options.url}" is not https://<host>/<path>')
    if not (options.check or options.as_it_is or options.url):
        parser.error("a release needs the project's home page: --url https://<host>/<path>")
    return options


def main():
    options = parse()
    if not (ROOT / ".git").exists():
        print(f"skipped: {ROOT} is not a git clone")
        return SKIPPED
    version = readVersion()
    forbidden = [] if options.as_it_is else list(obstacles(version))
    for reason in forbidden:
        print(f"no release of {version}: {reason}", file=sys.stderr)
    isReleased = not (options.check or options.as_it_is)
    if isReleased and forbidden:
        return 1
    if isReleased:
        dateSection(version)
    with tempfile.TemporaryDirectory() as scratch:
        commit = commitAsItIs(Path(scratch)) if options.as_it_is else "HEAD"
    makeFiles(options.to.resolve(), version, commit, options.url, options.debian)
    if isReleased:
        git("tag", "--annotate", "--message", f"{NAME} {version}", f"v{version}")
        print(f"tagged v{version}. Now push the branch and v{version}, upload the files, and "
              "open the registries' pull requests.")  # fmt: skip
    return 1 if forbidden else 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except subprocess.CalledProcessError as error:
        sys.exit(f"{' '.join(map(str, error.cmd))}: {error.stderr or error.returncode}")
