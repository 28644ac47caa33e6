"""The rivals in Java: their jars, and the program that measures them."""

import hashlib
import shutil
import subprocess
import urllib.request
from pathlib import Path

SOURCES = Path(__file__).resolve().parents[1] / "java"
MAVEN_CENTRAL = "https://repo1.maven.org/maven2/"


def fetchJars(folder, wanted=SOURCES / "jars.txt"):
    """The jars of a list, each with its group; downloads those that are not there yet."""
    folder.mkdir(parents=True, exist_ok=True)
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
        yield group, str(jar)


def compileJava(classes, jars, sources):
    shutil.rmtree(classes, ignore_errors=True)
    subprocess.run(["javac", "-Xlint:all,-try", "-Werror", "-d", classes, "-cp", ":".join(jars),
                    *sources], check=True)  # fmt: skip


def command(build):
    """Compiles the program; what starts it."""
    jars = [jar for group, jar in fetchJars(build / "jars") if group != "netty-4.1"]
    compileJava(build / "classes", jars, SOURCES.rglob("*.java"))
    # With so much room for young objects hardly a collection falls into a measurement.
    return ["java", "-Xmx8g", "-Xmn3g", "-cp", str(build / "classes"), "compare.Main", *jars]
