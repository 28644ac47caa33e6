#!/usr/bin/env python3
"""ConanCenter's rules, as far as they can be read from files.

conan-center.py release <folder>   the recipe for its index, in a release's folder
conan-center.py package <folder>   what the recipe has packed

A rule has the number that it has in ConanCenter's hooks (KB-H...). The hooks themselves run in
Conan 1 alone, which refuses a recipe for Conan 2. They were run by hand once, by Conan 1.66 on a
copy that asks for Conan 1.53: all 44 rules that they check at an export were kept.
"""

import re
import sys
from pathlib import Path

RECIPE, TEST = "all/conanfile.py", "all/test_package/conanfile.py"
WANTED = [  # a rule, and what stands in which file, as a regular expression
    ("KB-H002, KB-H003", RECIPE, r'^    name = "[a-z0-9-]+"$'),
    ("KB-H003", RECIPE, r'^    description = ".+"$'),
    ("KB-H003", RECIPE, r'^    license = ".+"$'),
    ("KB-H006", RECIPE, r'^        "fPIC": True,$'),
    # Conan 2 deletes fPIC on Windows, and when shared, for who implements this.
    ("KB-H007", RECIPE, r'^    implements = \["auto_shared_fpic"\]$'),
    ("KB-H010", RECIPE, r'get\(self, \*\*self\.conan_data\["sources"\]\[self\.version\]'),
    ("KB-H012", RECIPE, r'copy\(self, "LICENSE", .*"licenses"\)'),
    ("KB-H027", RECIPE, r'^    url = "https://github\.com/conan-io/conan-center-index"$'),
    ("KB-H027", RECIPE, r'^    homepage = "(?!https://github\.com/conan-io/).+"$'),
    ("KB-H050", RECIPE, r'^        "shared": False,$'),
    ("KB-H059", RECIPE, r"^class [A-Z]\w*Conan\(ConanFile\):$"),
    ("KB-H064", RECIPE, r'^    topics = \(("(?!conan")[a-z0-9-]+"(, )?)+\)$'),
    ("KB-H065", RECIPE, r"^required_conan_version = "),
    ("KB-H070", RECIPE, r'^    settings = "os", "arch", "compiler", "build_type"$'),
    ("KB-H028, KB-H048", "all/test_package/CMakeLists.txt",
     r"\A(#.*\n|\n)*cmake_minimum_required\("),
    ("KB-H029", TEST, r'env="conanrun"'),
    ("KB-H062", TEST, r"can_run\(self\)"),
    ("KB-H052", "config.yml", r'\Aversions:\n  "[\d.]+":\n    folder: all\n'),
    ("KB-H030", "all/conandata.yml", r'\Asources:\n  ".+":\n    url: ".+"\n    sha256: ".+"\n\Z'),
]  # fmt: skip
UNWANTED = [
    ("KB-H010, KB-H039", RECIPE, r"^    (def )?(exports?(_sources)?|scm)\b"),
    ("KB-H037", RECIPE, r"^    (author|default_user|default_channel)\b"),
    ("KB-H051", RECIPE, r'"(\w+)": \[True, False\](?!(?s:.*)"\1": (True|False),)'),  # no default
    ("KB-H069", TEST, r"default_options"),
]
NOT_PACKED = {
    "KB-H013": r"(?!(bin|include|lib|licenses|res)/).+/.+",
    "KB-H016": r".+\.cmake",
    "KB-H017": r".+\.pdb",
    "KB-H018": r".+\.la",
    "KB-H020": r".+\.pc",
}
ARCHIVE, SHARED = r"lib/.+\.(a|lib)", r"(lib|bin)/.+\.(so|so\.[\d.]+|dylib|dll|dll\.a)"


def release(folder):
    index = folder / "conan-center"
    rules = [(*rule, True) for rule in WANTED] + [(*rule, False) for rule in UNWANTED]
    for rule, name, pattern, isWanted in rules:
        found = re.search(pattern, (index / name).read_text(encoding="utf-8"), re.MULTILINE)
        if bool(found) != isWanted:
            yield f"{rule}: {name} has {'a' if found else 'no'} {pattern}"
    for path in filter(Path.is_file, index.rglob("*")):
        content = path.read_bytes()
        if b"\r" in content or not content.endswith(b"\n"):
            yield f"KB-H041, KB-H060: {path} has CR LF, or no end of line at its end"


def package(folder):
    names = [path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()]

    def like(pattern):
        return [name for name in names if re.fullmatch(pattern, name)]

    for rule, pattern in NOT_PACKED.items():
        yield from (f"{rule}: packs {name}" for name in like(pattern))
    if not like(r"licenses/.+"):
        yield "KB-H012: packs no licence"
    if bool(like(ARCHIVE)) == bool(like(SHARED)):
        yield "KB-H054, KB-H076: packs no library, or some static and some shared"


if __name__ == "__main__":
    check = {"release": release, "package": package}[sys.argv[1]]
    sys.exit("\n".join(check(Path(sys.argv[2]))) or 0)
