#!/usr/bin/env python3
"""ConanCenter's rules, as far as they can be read from files.

conan-center.py release <folder>   the recipe for its index, in a release's folder
conan-center.py package <folder>   what the recipe has packed
conan-center.py self-test          each of the above notices what is planted

A rule has the number that it has in ConanCenter's hooks (KB-H...). The hooks themselves run in
Conan 1 alone, which refuses a recipe for Conan 2. They were run by hand once, by Conan 1.66 on a
copy that asks for Conan 1.53: all 44 rules that they check at an export were kept.

Prints what is wrong and exits with 1.
"""

import ast
import hashlib
import re
import shutil
import sys
import tempfile
from pathlib import Path

ARCHIVE = re.compile(r"lib(.+)\.a|(.+)\.lib")
SHARED = re.compile(r"lib(.+?)\.(?:so(?:\.[\d.]+)?|dylib|dll\.a)|(.+)\.dll")
UNWANTED = {".cmake": "016", ".pdb": "017", ".la": "018", ".pc": "020"}
MOST_BYTES = 256 * 1024


class Recipe:
    """What stands in a recipe's class."""

    def __init__(self, text):
        tree = ast.parse(text)
        self.text = text
        (self.node,) = (node for node in tree.body if isinstance(node, ast.ClassDef))
        self.module = {name.id for node in tree.body if isinstance(node, ast.Assign)
                       for name in node.targets}  # fmt: skip
        self.values, self.methods = {}, {}
        for node in self.node.body:
            if isinstance(node, ast.Assign):
                self.values[node.targets[0].id] = ast.literal_eval(node.value)
            elif isinstance(node, ast.FunctionDef):
                self.methods[node.name] = ast.unparse(node)


def recipeErrors(text):
    recipe = Recipe(text)
    values, methods = recipe.values, recipe.methods
    for name in ("name", "description", "license", "homepage", "url", "topics"):
        if not values.get(name):
            yield f"KB-H003: no {name}"
    if values.get("name") != values.get("name", "").lower():
        yield "KB-H002: the name has capitals"
    for name in ("author", "default_user", "default_channel"):
        if name in values:
            yield f"KB-H037: has {name}"
    if values.get("url") != "https://github.com/conan-io/conan-center-index":
        yield "KB-H027: url is not the index's"
    if values.get("homepage") == values.get("url"):
        yield "KB-H027: homepage is the index"
    for name in ("exports_sources", "export_sources", "exports", "scm"):
        if name in values or name in methods:
            yield f"KB-H010, KB-H039: has {name}: sources come from conandata.yml alone"
    if "self.conan_data['sources'][self.version]" not in methods.get("source", ""):
        yield "KB-H010: source() does not take what conandata.yml names"
    options, defaults = values.get("options", {}), values.get("default_options", {})
    if not isinstance(defaults, dict):
        yield "KB-H051: default_options is not a dictionary"
    elif set(options) - set(defaults):
        yield f"KB-H051: no default for {sorted(set(options) - set(defaults))}"
    elif defaults.get("shared") is not False:
        yield "KB-H050: shared is not False by default"
    elif defaults.get("fPIC") is not True:
        yield "KB-H006: fPIC is not an option that is True by default"
    # Conan 2 deletes fPIC on Windows, and when shared, for who implements this.
    managed = "auto_shared_fpic" in values.get("implements", [])
    byHand = "fPIC" in methods.get("config_options", "") and "fPIC" in methods.get("configure", "")
    if not (managed or byHand):
        yield "KB-H007: fPIC is never deleted"
    if set(values.get("settings", ())) != {"os", "arch", "compiler", "build_type"}:
        yield "KB-H070: not the four settings"
    if "licenses" not in methods.get("package", ""):
        yield "KB-H012: package() copies no licence"
    if not re.search("[A-Z]", recipe.node.name[0]) or not recipe.node.name.endswith("Conan"):
        yield f"KB-H059: the class is called {recipe.node.name}"
    if "required_conan_version" not in recipe.module:
        yield "KB-H065: no required_conan_version"
    if {topic for topic in values.get("topics", ()) if topic != topic.lower() or topic == "conan"}:
        yield "KB-H064: a topic is not in small letters, or is conan"


def releaseErrors(folder):
    index = folder / "conan-center"
    recipe = index / "all"
    text = (recipe / "conanfile.py").read_text(encoding="utf-8")
    yield from recipeErrors(text)
    (archive,) = folder.glob("*.tar.gz")
    version = re.fullmatch(r"timingwheel-(.+)\.tar\.gz", archive.name)[1]
    config = (index / "config.yml").read_text(encoding="utf-8")
    if not re.search(rf'^versions:\n  "{re.escape(version)}":\n    folder: all\n', config):
        yield f"KB-H052: config.yml does not list {version}"
    data = (recipe / "conandata.yml").read_text(encoding="utf-8")
    form = r'sources:\n  "VERSION":\n    url: "[^"]+"\n    sha256: "([0-9a-f]{64})"\n'
    form = form.replace("VERSION", re.escape(version))
    found = re.fullmatch(form, data)
    if found is None:
        yield "KB-H030: conandata.yml has more, or less, than a url and a sha256 of that version"
    elif found[1] != hashlib.sha256(archive.read_bytes()).hexdigest():
        yield "KB-H010: the sha256 is not the archive's"
    tested = recipe / "test_package"
    lines = (tested / "CMakeLists.txt").read_text(encoding="utf-8").splitlines()
    code = [line for line in lines if line and not line.startswith("#")]
    if not code[0].startswith("cmake_minimum_required("):
        yield "KB-H028, KB-H048: test_package does not begin with cmake_minimum_required"
    test = (tested / "conanfile.py").read_text(encoding="utf-8")
    if "default_options" in test:
        yield "KB-H069: test_package has default_options"
    if "can_run(self)" not in test:
        yield "KB-H062: test_package runs what may be for another machine"
    if not re.search(r'env="conanrun"|env=\'conanrun\'', test):
        yield "KB-H029: test_package does not run in conanrun's environment"
    files = [path for path in index.rglob("*") if path.is_file()]
    for path in files:
        content = path.read_bytes()
        name = path.relative_to(index)
        if b"\r" in content:
            yield f"KB-H060: {name} has CR LF"
        if not content.endswith(b"\n"):
            yield f"KB-H041: {name} has no end of line at its end"
    if sum(path.stat().st_size for path in files) > MOST_BYTES:
        yield "KB-H009: the recipe's folder is larger than 256 KB"


def packageErrors(folder):
    names = [path.relative_to(folder) for path in folder.rglob("*") if path.is_file()]
    for name in names:
        if name.suffix in UNWANTED:
            yield f"KB-H{UNWANTED[name.suffix]}: packs {name}"
    if not any(name.parts[0] == "licenses" for name in names):
        yield "KB-H012: packs no licence"
    tops = {"bin", "include", "lib", "licenses", "res"}
    for name in names:
        if len(name.parts) > 1 and name.parts[0] not in tops:
            yield f"KB-H013: packs {name}"
    libraries = [name.name for name in names if name.parts[0] in ("bin", "lib")]
    static = {next(filter(None, m.groups())) for m in map(ARCHIVE.fullmatch, libraries) if m}
    shared = {next(filter(None, m.groups())) for m in map(SHARED.fullmatch, libraries) if m}
    static -= {f"{name}.dll" for name in shared}
    if not static | shared:
        yield "KB-H054: packs no library"
    for name in sorted(static & shared):
        yield f"KB-H076: packs {name} static and shared"


# ---- self-test ---------------------------------------------------------------------------------

PLANTED = {  # in the recipe: the rule, what stands there, what is put in its place
    "KB-H003": ('description = "', 'synopsis = "'),
    "KB-H037": ("    package_type", '    author = "me"\n    package_type'),
    "KB-H027": ("conan-center-index", "elsewhere"),
    "KB-H010": ("    package_type", '    exports_sources = "src/*"\n    package_type'),
    "KB-H050": ('"shared": False', '"shared": True'),
    "KB-H006": ('"fPIC": True', '"fPIC": False'),
    "KB-H007": ("auto_shared_fpic", "nothing"),
    "KB-H051": ('"with_store": False,', ""),
    "KB-H064": ('"timer"', '"Timer"'),
    "KB-H070": (', "build_type"', ""),
    "KB-H065": ("required_conan_version", "wanted"),
}


def selfTest():
    recipe = Path(__file__).resolve().parents[2] / "src/package/conan-center/all/conanfile.py"
    text = recipe.read_text(encoding="utf-8")
    for rule, (before, after) in PLANTED.items():
        planted = text.replace(before, after)
        if not any(rule in error for error in recipeErrors(planted)) or planted == text:
            yield f"{rule}: not noticed"
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        for good in ("licenses/LICENSE", "lib/libx.a", "lib/libx-store.a", "include/x.h"):
            (folder / good).parent.mkdir(exist_ok=True)
            (folder / good).touch()
        yield from packageErrors(folder)
        bads = {"lib/cmake/x.cmake": "016", "lib/x.pc": "020", "lib/libx.la": "018",
                "lib/libx.so.1.2": "076", "share/x": "013"}  # fmt: skip
        for bad, rule in bads.items():
            (folder / bad).parent.mkdir(exist_ok=True)
            (folder / bad).touch()
            if not any(f"KB-H{rule}" in error for error in packageErrors(folder)):
                yield f"{bad}: not noticed"
            (folder / bad).unlink()
        shutil.rmtree(folder / "licenses")
        if not any("KB-H012" in error for error in packageErrors(folder)):
            yield "no licence: not noticed"


def main(command, *folder):
    checks = {"release": releaseErrors, "package": packageErrors, "self-test": selfTest}
    errors = list(checks[command](*map(Path, folder)))
    print("\n".join(errors) or f"{command}: keeps ConanCenter's rules")
    return 1 if errors else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
