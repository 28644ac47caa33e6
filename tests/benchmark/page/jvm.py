"""The rivals in Java: their jars, and the program that measures them."""

import hashlib
import shutil
import subprocess
import urllib.request
from pathlib import Path

SOURCES = Path(__file__).resolve().parents[1] / "java"
MAVEN_CENTRAL = "https://repo1.maven.org/maven2/"


def fetchJars(folder, wanted=SOURCES / "jars.txt"):
    """The jars of a list as `group=path`; downloads those that are not there yet."""
    folder.mkdir(parents=True, exist_ok=True)
    jars = []
    for line in wanted.read_text().splitlines():
        if not line or line.startswith("#"):
            continue
        group, digest, path = line.split()
        jar = folder / Path(path).name
        if not jar.exists():
            with urllib.request.urlopen(MAVEN_CENTRAL + path, timeout=120) as response:
                jar.with_suffix(".part").write_bytes(response.read())
            jar.with_suffix(".part").rename(jar)
        found = hashlib.sha256(jar.read_bytes()).hexdigest()
        if found != digest:
            jar.unlink()
            raise OSError(f"{jar.name}: its SHA-256 is {found} instead of {digest}")
        jars.append(f"{group}={jar}")
    return jars


def command(build):
    """Compiles the program; what starts it."""
    jars = [jar.split("=", 1)[1] for jar in fetchJars(build / "jars")
            if not jar.startswith("netty-4.1=")]  # fmt: skip
    classes = build / "classes"
    shutil.rmtree(classes, ignore_errors=True)
    sources = [str(source) for source in sorted(SOURCES.rglob("*.java"))]
    subprocess.run(["javac", "-Xlint:all,-try", "-Werror", "-d", str(classes), "-cp",
                    ":".join(jars), *sources], check=True)  # fmt: skip
    # With so much room for young objects hardly a collection falls into a measurement.
    return ["java", "-Xmx8g", "-Xmn3g", "-cp", str(classes), "compare.Main", *jars]
