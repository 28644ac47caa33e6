"""The rivals in Java: their jars, and the program that measures them."""

import hashlib
import shutil
import subprocess
import urllib.request
from pathlib import Path

SOURCES = Path(__file__).resolve().parents[1] / "compare" / "java"
MAVEN_CENTRAL = "https://repo1.maven.org/maven2/"


def fetchJars(folder, download=True):
    """The jars of java/jars.txt as `group=path`; downloads those that are not there yet."""
    folder.mkdir(parents=True, exist_ok=True)
    jars = []
    for line in (SOURCES / "jars.txt").read_text().splitlines():
        if not line or line.startswith("#"):
            continue
        group, digest, path = line.split()
        jar = folder / Path(path).name
        if not jar.exists() and not download:
            raise OSError(f"{jar.name} is missing; `./dev bench compare` gets it")
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


def availableMemory():
    for line in Path("/proc/meminfo").read_text().splitlines():
        if line.startswith("MemAvailable"):
            return int(line.split()[1]) * 1024
    return 0


def startJava(start, build, log, jarFolder=None):
    """What `start` makes of it, or None and why not. Without a folder of jars it gets them."""
    if not shutil.which("javac"):
        return None, "there is no Java compiler on the machine (`--install-java` gets one)"
    try:
        jars = fetchJars(jarFolder or build / "jars", download=jarFolder is None)
    except OSError as problem:
        return None, f"the jars could not be had: {problem}"
    classes = build / "classes"
    shutil.rmtree(classes, ignore_errors=True)
    path = ":".join(jar.split("=", 1)[1] for jar in jars if not jar.startswith("netty-4.1="))
    sources = [str(source) for source in sorted(SOURCES.rglob("*.java"))]
    subprocess.run(["javac", "-Xlint:all,-try", "-Werror", "-d", str(classes), "-cp", path,
                    *sources], check=True)  # fmt: skip
    gigabytes = max(1, min(8, availableMemory() // 2**30 // 2))
    # With so much room for young objects hardly a collection falls into a measurement. With Java's
    # default, what Netty burnt on a million far timers was anything from 7 to 27 % of a core from
    # one round to the next, instead of 37 to 41 %; presumably because collections move the timers.
    young = gigabytes * 1024 * 3 // 8
    command = ["java", f"-Xmx{gigabytes}g", f"-Xmn{young}m", "-cp", str(classes), "compare.Main",
               *jars]  # fmt: skip
    return start(command, log), None
