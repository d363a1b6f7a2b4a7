"""What is compared, and the commands that start it: each as its users get it.

Configs are the defaults, but for those that a single broker needs, and for group.initial.rebalance.delay.ms = 0, which
Odradek's fixtures, EmbeddedKafka and modules of Testcontainers set.
"""

import os
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from installed_wheel import install_wheel
from support.kafka.java import KAFKA_VERSION, class_archive, fetched, java_command, kafka_libs
from support.kafka.real_kafka import CLUSTER_ID, keep_classes

from .running import Broker, ProgramBroker, ServerBroker

PROGRAMS = Path(__file__).parent / "programs"
CACHE = Path(__file__).parents[2] / ".cache" / "alternatives"
"""Keeps what was built; jars are in the cache of the tests."""
SPRING_KAFKA_TEST = ("org.springframework.kafka", "spring-kafka-test", "4.1.1")
HEAP = "-Xmx1g"
TANSU = "TANSU"
"""The environment variable with the path of tansu's binary: its build takes too long for a part of each run."""


@dataclass(frozen=True)
class Contender:
    """One broker to measure. ``start``: starts it in a new process; ``directory`` is empty then."""

    name: str
    start: Callable[[Path], Broker]
    creates_topics: bool = True
    """Whether it serves CreateTopics. One that does not creates a topic when a client first asks for it."""


@dataclass(frozen=True)
class Workshop:
    """Where contenders are built."""

    scratch: Path
    installed: Path | None = None
    """The command ``odradek`` of an environment to measure, instead of the wheel of this checkout."""

    def odradek(self) -> Path:
        """The command ``odradek``. The wheel is built and installed once in a run."""
        directory = self.scratch / "wheel"
        executable = self.installed or directory / "venv/bin/odradek"
        return executable if executable.exists() else install_wheel(directory)

    def prepare(self, names: Sequence[str]) -> list[Contender]:
        """Builds, fetches and installs the contenders of these names, which are keys of ``CONTENDERS``.

        One that is not on this machine is left out.
        """
        return [made for name in names if (made := CONTENDERS[name](self)) is not None]


def odradek_in_process(workshop: Workshop) -> Contender:
    """The broker of the fixture ``kafka``, in a Python process that has the installed wheel and nothing else."""
    python = workshop.odradek().parent / "python"
    command = [str(python), str(PROGRAMS / "odradek_broker.py")]
    return Contender("Odradek, in the test's process", lambda directory: ProgramBroker(command, directory))


def odradek_process(workshop: Workshop) -> Contender:
    """``odradek serve``."""
    executable = workshop.odradek()

    def command(directory: Path, port: int, _: int) -> list[str]:
        listener, data = f"PLAINTEXT://127.0.0.1:{port}", str(directory / "data")
        keys = {"listeners": listener, "log.dirs": data, "group.initial.rebalance.delay.ms": "0"}
        return [str(executable), "serve", *(part for k, v in keys.items() for part in ("--override", f"{k}={v}"))]

    return Contender("Odradek, `odradek serve`", lambda directory: ServerBroker(command, directory))


def mock_cluster(_: Workshop) -> Contender:
    """librdkafka's mock cluster, in a Python process that has confluent-kafka."""
    command = [sys.executable, str(PROGRAMS / "mock_cluster.py")]
    return Contender("librdkafka's mock cluster", lambda place: ProgramBroker(command, place), creates_topics=False)


def kfake(_: Workshop) -> Contender:
    """franz-go's kfake, in a Go program that is built before."""
    CACHE.mkdir(parents=True, exist_ok=True)
    executable = CACHE / "kfake"
    subprocess.run(["go", "build", "-o", str(executable), "."], cwd=PROGRAMS / "kfake", check=True)
    return Contender("kfake", lambda directory: ProgramBroker([str(executable)], directory))


def tansu(_: Workshop) -> Contender | None:
    """tansu's broker with its data in memory."""
    executable = os.environ.get(TANSU)
    if executable is None:
        print(f"tansu is left out: {TANSU} does not name its binary", flush=True)
        return None

    def command(_: Path, port: int, __: int) -> list[str]:
        url = f"tcp://127.0.0.1:{port}"
        addresses = ["--listener-url", url, "--advertised-listener-url", url]
        return [executable, "broker", "--silent", *addresses, "--storage-engine", "memory://tansu/"]

    return Contender("tansu", lambda directory: ServerBroker(command, directory))


def kafka_in_jvm(kind: str, name: str) -> Callable[[Workshop], Contender]:
    """A Kafka in the JVM of a test, with the jars that spring-kafka-test brings."""

    def contender(workshop: Workshop) -> Contender:
        libs = fetched("spring-kafka-test-" + SPRING_KAFKA_TEST[2], [SPRING_KAFKA_TEST])
        jars, classes = f"{libs}/*", workshop.scratch / "classes"
        source = str(PROGRAMS / "KafkaInJvm.java")
        subprocess.run(["javac", "-proc:none", "-d", str(classes), "-cp", jars, source], check=True)
        command = [java_command(), HEAP, "-cp", f"{jars}{os.pathsep}{classes}", "KafkaInJvm", kind]
        return Contender(name, lambda directory: ProgramBroker(command, directory))

    return contender


def kafka_process(_: Workshop) -> Contender:
    """Apache Kafka as its image ``apache/kafka`` runs it, without the container: format, then serve.

    The heap and the archive of loaded classes are as in the image.
    """
    libs = kafka_libs()
    keep_classes(KAFKA_VERSION)
    archive = f"-XX:SharedArchiveFile={class_archive(libs)}"
    java = [
        java_command(),
        HEAP,
        "-Xms1g",
        archive,
        "-Dorg.slf4j.simpleLogger.defaultLogLevel=warn",
        "-cp",
        f"{libs}/*",
    ]

    def command(directory: Path, port: int, controller_port: int) -> list[str]:
        configuration = directory / "server.properties"
        configuration.write_text(
            "process.roles=broker,controller\nnode.id=1\ncontroller.listener.names=CONTROLLER\n"
            f"controller.quorum.voters=1@127.0.0.1:{controller_port}\nlog.dirs={directory / 'data'}\n"
            f"listeners=PLAINTEXT://127.0.0.1:{port},CONTROLLER://127.0.0.1:{controller_port}\n"
            "offsets.topic.replication.factor=1\ngroup.initial.rebalance.delay.ms=0\n"
        )
        formatting = ["kafka.tools.StorageTool", "format", "-t", CLUSTER_ID, "-c", str(configuration)]
        script = '"$@" ' + " ".join(formatting) + ' && exec "$@" kafka.Kafka ' + str(configuration)
        return ["sh", "-c", script, "sh", *java]

    return Contender("Apache Kafka, its Java processes", lambda directory: ServerBroker(command, directory))


CONTENDERS: dict[str, Callable[[Workshop], Contender | None]] = {
    "odradek": odradek_in_process,
    "odradek-serve": odradek_process,
    "mock": mock_cluster,
    "kfake": kfake,
    "tansu": tansu,
    "spring": kafka_in_jvm("spring", "Spring's EmbeddedKafka"),
    "testkit": kafka_in_jvm("testkit", "Kafka's KafkaClusterTestKit"),
    "kafka": kafka_process,
}
"""By the name on the command line."""
