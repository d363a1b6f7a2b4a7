"""Apache Kafka as the oracle of tests: its jars, its Java classes and programs that use them.

The jars come from Maven Central on first use and stay in ``$XDG_CACHE_HOME/odradek-tests/kafka-<version>`` (or
``~/.cache``), with our compiled programs and an archive of loaded classes. Without Java 17 or Maven a test that asks
for them is skipped with the reason; in CI (CI=true) it fails.
"""

import fcntl
import hashlib
import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path

import pytest

KAFKA_VERSION = "4.4.0"
TABLE_VERSION = KAFKA_VERSION
"""The release whose messages the table has. Its classes speak every version that a broker of 4.x serves."""
FORMER_KAFKA_VERSION = "4.3.1"
"""The release before, whose directories have another form (``bootstrap.checkpoint``)."""
OLD_KAFKA_VERSION = "3.9.1"
JAVA_SOURCES = Path(__file__).parent.parent.parent / "java"

_POM = """\
<project xmlns="http://maven.apache.org/POM/4.0.0">
  <modelVersion>4.0.0</modelVersion>
  <groupId>odradek.tests</groupId>
  <artifactId>kafka-libs</artifactId>
  <version>1</version>
  <dependencies>
{dependencies}
  </dependencies>
</project>
"""
_DEPENDENCY = """\
    <dependency>
      <groupId>{group}</groupId><artifactId>{artifact}</artifactId><version>{version}</version>{exclusions}
    </dependency>"""
_ALONE = "<exclusions><exclusion><groupId>*</groupId><artifactId>*</artifactId></exclusion></exclusions>"

Artifact = tuple[str, str, str]
"""Group, artifact, version."""
_KAFKA = "org.apache.kafka"
_LOGGING = ("org.slf4j", "slf4j-simple", "1.7.36")


QUIET = ("-Xlog:disable", "-Xlog:all=error:stderr")
"""Quiet about the archive of classes: a JVM that can't use it would print that on stdout, among the lines for a test.
"""


class JavaMissingError(Exception):
    """Java 17, Maven or Kafka's jars are not available; the text says which."""


def cache_directory() -> Path:
    """The directory that keeps the tests' downloads between runs."""
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(base) / "odradek-tests"


@cache
def java_command() -> str:
    """The path of a ``java`` of version 17 or newer. Raises JavaMissingError."""
    command = shutil.which("java")
    if command is None:
        raise JavaMissingError("no `java` on the PATH (Java 17 or newer is needed)")
    text = _java_version(command)
    major = text.partition('version "')[2].partition(".")[0].partition('"')[0]
    if not major.isdigit() or int(major) < 17:
        raise JavaMissingError(f"`java` is not version 17 or newer: {text.splitlines()[:1]}")
    return command


@cache
def _java_version(command: str) -> str:
    return subprocess.run([command, "-version"], capture_output=True, text=True, check=False).stderr


@cache
def kafka_libs(version: str = KAFKA_VERSION) -> Path:
    """The directory with the jars of Kafka's ``version``, fetched once. Raises JavaMissingError."""
    # "-broker": older caches had only the clients of a version.
    artifacts = [(_KAFKA, "kafka_2.13", version), (_KAFKA, "kafka-tools", version), _LOGGING]
    return fetched(f"kafka-{version}-broker", artifacts)


@cache
def streams_libs() -> Path:
    """The directory with the jars of Kafka Streams and what it needs, fetched once. Raises JavaMissingError."""
    return fetched(f"kafka-streams-{KAFKA_VERSION}", [(_KAFKA, "kafka-streams", KAFKA_VERSION), _LOGGING])


@cache
def spark_kafka_jars() -> list[Path]:
    """The jars that Spark's own Kafka source adds to a Spark of pip's pyspark, fetched once. Raises JavaMissingError.

    Without their dependencies, which Spark has. The connector for the installed pyspark may not be published yet: that
    of 4.2 runs on 4.3, with any token provider of 4.
    """
    artifacts = [
        ("org.apache.spark", "spark-sql-kafka-0-10_2.13", "4.2.0"),
        ("org.apache.spark", "spark-token-provider-kafka-0-10_2.13", "4.0.0"),
        ("org.apache.commons", "commons-pool2", "2.12.1"),
        (_KAFKA, "kafka-clients", KAFKA_VERSION),
    ]
    return sorted(fetched("spark-kafka-4.2.0", artifacts, exclusions=_ALONE).glob("*.jar"))


def fetched(name: str, artifacts: list[Artifact], *, exclusions: str = "") -> Path:
    """The directory with the jars of ``artifacts`` of Maven and their dependencies, fetched once.

    ``name`` is its directory in the cache. Raises JavaMissingError.
    """
    directory = cache_directory() / name
    libs = directory / "libs"
    done = directory / "complete"
    directory.mkdir(parents=True, exist_ok=True)
    with locked(directory):
        if not done.exists():
            _fetch(name, artifacts, directory, libs, exclusions)
            done.touch()
    return libs


@contextmanager
def locked(directory: Path) -> Iterator[None]:
    """Holds a lock on a directory of the cache against other test processes."""
    with (directory / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _fetch(name: str, artifacts: list[Artifact], directory: Path, libs: Path, exclusions: str) -> None:
    maven = shutil.which("mvn")
    if maven is None:
        raise JavaMissingError(f"no `mvn` on the PATH to fetch the jars of {name}")
    dependencies = [_DEPENDENCY.format(group=g, artifact=a, version=v, exclusions=exclusions) for g, a, v in artifacts]
    (directory / "pom.xml").write_text(_POM.format(dependencies="\n".join(dependencies)))
    command = [maven, "-q", "-B", "dependency:copy-dependencies", f"-DoutputDirectory={libs}", "-DincludeScope=runtime"]
    result = subprocess.run(command, cwd=directory, capture_output=True, text=True, check=False)
    if result.returncode != 0:
        raise JavaMissingError(f"Maven could not fetch the jars of {name}: {result.stdout[-800:]}")
    for jar in libs.glob("slf4j-reload4j-*.jar"):  # with two bindings, Kafka 3.9 would use this one, and log nothing
        jar.unlink()


def java_or_skip(version: str = KAFKA_VERSION) -> Path:
    """The jars of Kafka's ``version``. Without them the test is skipped with the reason, or fails if CI=true."""
    try:
        java_command()
        return kafka_libs(version)
    except JavaMissingError as error:
        if os.environ.get("CI") == "true":
            pytest.fail(f"needs Apache Kafka {version}: {error}")
        pytest.skip(f"needs Apache Kafka {version}: {error}")


def run_class(
    *arguments: str | Path,
    version: str = KAFKA_VERSION,
    standard_input: str | None = None,
    timeout_s: float = 300,
    heap: str = "512m",
) -> subprocess.CompletedProcess[str]:
    """Runs a class of Kafka's release, or one of ours: ``run_class(java_class("Codec"), …)``.

    Raises JavaMissingError without Java, and ``subprocess.TimeoutExpired`` if the program hangs. The caller checks
    ``returncode``.
    """
    command = java_arguments(version, heap) + [str(argument) for argument in arguments]
    return subprocess.run(command, input=standard_input, capture_output=True, text=True, timeout=timeout_s, check=False)


def java_arguments(version: str = KAFKA_VERSION, heap: str = "512m") -> list[str]:
    """The command line up to the class name: heap, log level, class path."""
    return jar_arguments(kafka_libs(version), heap)


def streams_arguments(heap: str = "256m") -> list[str]:
    """The arguments of :func:`java_arguments`, with Kafka Streams in the class path. Raises JavaMissingError."""
    return jar_arguments(streams_libs(), heap)


def jar_arguments(libs: Path, heap: str) -> list[str]:
    """The command line up to the class name, with the jars of ``libs``. Raises JavaMissingError."""
    archive = class_archive(libs)
    return [
        java_command(),
        f"-Xmx{heap}",
        "-XX:+UseSerialGC",
        "-XX:TieredStopAtLevel=1",
        *([f"-XX:SharedArchiveFile={archive}", *QUIET] if archive.exists() else []),
        "-Dorg.slf4j.simpleLogger.defaultLogLevel=warn",
        "-cp",
        f"{libs}/*{os.pathsep}{_programs(libs)}",
    ]


def class_archive(libs: Path) -> Path:
    """The archive of the classes of ``libs`` that a JVM has loaded (``real_kafka.py`` creates it)."""
    digest = hashlib.sha256(_java_version(java_command()).encode()).hexdigest()[:12]
    return libs.parent / f"classes-{digest}.jsa"


def java_class(name: str, version: str = KAFKA_VERSION) -> str:
    """The class of one of our Java programs, ``tests/java/<name>.java``, compiled on first use."""
    return compiled(name, kafka_libs(version))


def streams_class(name: str) -> str:
    """The class of :func:`java_class`, for a program of Kafka Streams. Raises JavaMissingError."""
    return compiled(name, streams_libs())


@cache
def compiled(name: str, libs: Path) -> str:
    """The class of ``tests/java/<name>.java``, compiled on first use with the jars of ``libs``.

    ``java Program.java`` would compile it for each start: 1.5 s and more.
    """
    programs = _programs(libs)
    programs.mkdir(exist_ok=True)
    done = programs / f"{name}.compiled"
    with locked(programs):
        if not done.exists():
            compiler = [java_command(), "-m", "jdk.compiler/com.sun.tools.javac.Main", "-proc:none", "-nowarn"]
            jars = os.pathsep.join(map(str, sorted(libs.glob("*.jar"))))
            source = str(JAVA_SOURCES / f"{name}.java")
            command = [*compiler, "--release", "17", "-d", str(programs), "-cp", jars, source]
            result = subprocess.run(command, capture_output=True, text=True, check=False)
            assert result.returncode == 0, result.stderr
            done.touch()
    return name


@cache
def _programs(libs: Path) -> Path:
    """The directory of our compiled programs: a new one after each change of their sources."""
    sources = b"".join(path.read_bytes() for path in sorted(JAVA_SOURCES.glob("*.java")))
    return libs.parent / f"programs-{hashlib.sha256(sources).hexdigest()[:12]}"
