"""Environments from users' compose files for the images of Apache, Confluent, Bitnami and wurstmeister.

Each starts a broker on this machine, with other ports and directories. Sources: the examples of the
images' own pages, and Sentry's self-hosted edition.
"""

import os
import re
import signal
import socket
import subprocess
import sys
from pathlib import Path

import pytest
from kafka import KafkaAdminClient
from kafka.admin import NewTopic

from support.brokers.free_ports import free_ports
from support.eventually import eventually

from .apache_image import SINGLE_NODE
from .entry_points import DOCKER, entry_point

BIN = Path(sys.executable).parent
ADVERTISED = r"(?:listens on (?!.* advertises )|advertises )\w+://(\S+?),"
"""The first address that a broker says clients are told."""

CONFLUENT_KRAFT = {
    "KAFKA_NODE_ID": "1",
    "KAFKA_LISTENER_SECURITY_PROTOCOL_MAP": "CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT,PLAINTEXT_HOST:PLAINTEXT",
    "KAFKA_ADVERTISED_LISTENERS": "PLAINTEXT://broker:29092,PLAINTEXT_HOST://localhost:9092",
    "KAFKA_OFFSETS_TOPIC_REPLICATION_FACTOR": "1",
    "KAFKA_GROUP_INITIAL_REBALANCE_DELAY_MS": "0",
    "KAFKA_TRANSACTION_STATE_LOG_MIN_ISR": "1",
    "KAFKA_TRANSACTION_STATE_LOG_REPLICATION_FACTOR": "1",
    "KAFKA_JMX_PORT": "9101",
    "KAFKA_JMX_HOSTNAME": "localhost",
    "KAFKA_PROCESS_ROLES": "broker,controller",
    "KAFKA_CONTROLLER_QUORUM_VOTERS": "1@broker:29093",
    "KAFKA_LISTENERS": "PLAINTEXT://broker:29092,CONTROLLER://broker:29093,PLAINTEXT_HOST://0.0.0.0:9092",
    "KAFKA_INTER_BROKER_LISTENER_NAME": "PLAINTEXT",
    "KAFKA_CONTROLLER_LISTENER_NAMES": "CONTROLLER",
    "KAFKA_LOG_DIRS": "/tmp/kraft-combined-logs",
    "CLUSTER_ID": "MkU3OEVBNTcwNTJENDM2Qk",
}
ZOOKEEPER = {
    "KAFKA_BROKER_ID": "1",
    "KAFKA_ZOOKEEPER_CONNECT": "zookeeper:2181",
    "KAFKA_LISTENER_SECURITY_PROTOCOL_MAP": "PLAINTEXT:PLAINTEXT,PLAINTEXT_HOST:PLAINTEXT",
    "KAFKA_ADVERTISED_LISTENERS": "PLAINTEXT://broker:29092,PLAINTEXT_HOST://localhost:9092",
    "KAFKA_OFFSETS_TOPIC_REPLICATION_FACTOR": "1",
}
METRICS_REPORTER = {
    "KAFKA_METRIC_REPORTERS": "io.confluent.metrics.reporter.ConfluentMetricsReporter",
    "KAFKA_CONFLUENT_LICENSE_TOPIC_REPLICATION_FACTOR": "1",
    "KAFKA_CONFLUENT_BALANCER_TOPIC_REPLICATION_FACTOR": "1",
    "KAFKA_CONFLUENT_SCHEMA_REGISTRY_URL": "http://schema-registry:8081",
    "CONFLUENT_METRICS_REPORTER_BOOTSTRAP_SERVERS": "broker:29092",
    "CONFLUENT_METRICS_ENABLE": "true",
    "CONFLUENT_SUPPORT_CUSTOMER_ID": "anonymous",
}
OF_KAFKA_3 = {
    "KAFKA_INTER_BROKER_PROTOCOL_VERSION": "2.8",
    "KAFKA_LOG_MESSAGE_FORMAT_VERSION": "2.8",
    "KAFKA_DELETE_TOPIC_ENABLE": "true",
    "KAFKA_RESERVED_BROKER_MAX_ID": "2000",
}
BITNAMI = {
    "KAFKA_CFG_NODE_ID": "0",
    "KAFKA_CFG_PROCESS_ROLES": "controller,broker",
    "KAFKA_CFG_LISTENERS": "PLAINTEXT://:9092,CONTROLLER://:9093",
    "KAFKA_CFG_LISTENER_SECURITY_PROTOCOL_MAP": "CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT",
    "KAFKA_CFG_CONTROLLER_QUORUM_VOTERS": "0@kafka:9093",
    "KAFKA_CFG_CONTROLLER_LISTENER_NAMES": "CONTROLLER",
}
SENTRY = {
    "KAFKA_PROCESS_ROLES": "broker,controller",
    "KAFKA_CONTROLLER_QUORUM_VOTERS": "1001@127.0.0.1:29093",
    "KAFKA_CONTROLLER_LISTENER_NAMES": "CONTROLLER",
    "KAFKA_NODE_ID": "1001",
    "CLUSTER_ID": "MkU3OEVBNTcwNTJENDM2Qk",
    "KAFKA_LISTENERS": "PLAINTEXT://0.0.0.0:29092,INTERNAL://0.0.0.0:9093,EXTERNAL://0.0.0.0:9092,"
    "CONTROLLER://0.0.0.0:29093",
    "KAFKA_ADVERTISED_LISTENERS": "PLAINTEXT://127.0.0.1:29092,INTERNAL://kafka:9093,EXTERNAL://kafka:9092",
    "KAFKA_LISTENER_SECURITY_PROTOCOL_MAP": "PLAINTEXT:PLAINTEXT,INTERNAL:PLAINTEXT,EXTERNAL:PLAINTEXT,"
    "CONTROLLER:PLAINTEXT",
    "KAFKA_INTER_BROKER_LISTENER_NAME": "PLAINTEXT",
    "KAFKA_OFFSETS_TOPIC_REPLICATION_FACTOR": "1",
    "KAFKA_OFFSETS_TOPIC_NUM_PARTITIONS": "1",
    "KAFKA_LOG_RETENTION_HOURS": "24",
    "KAFKA_MESSAGE_MAX_BYTES": "50000000",
    "KAFKA_MAX_REQUEST_SIZE": "50000000",
    "CONFLUENT_SUPPORT_METRICS_ENABLE": "false",
    "KAFKA_LOG4J_LOGGERS": "kafka.cluster=WARN,kafka.controller=WARN,kafka.coordinator=WARN,kafka.log=WARN",
    "KAFKA_LOG4J_ROOT_LOGLEVEL": "WARN",
    "KAFKA_TOOLS_LOG4J_LOGLEVEL": "WARN",
}
TESTCONTAINERS = {
    "CLUSTER_ID": "4L6g3nShT-eMCtK--X86sw",
    "KAFKA_LISTENERS": "PLAINTEXT://0.0.0.0:9092,BROKER://0.0.0.0:9093,CONTROLLER://0.0.0.0:9094",
    "KAFKA_ADVERTISED_LISTENERS": "PLAINTEXT://localhost:32768,BROKER://localhost:9093",
    "KAFKA_LISTENER_SECURITY_PROTOCOL_MAP": "BROKER:PLAINTEXT,PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT",
    "KAFKA_INTER_BROKER_LISTENER_NAME": "BROKER",
    "KAFKA_PROCESS_ROLES": "broker,controller",
    "KAFKA_CONTROLLER_LISTENER_NAMES": "CONTROLLER",
    "KAFKA_NODE_ID": "1",
    "KAFKA_CONTROLLER_QUORUM_VOTERS": "1@localhost:9094",
    "KAFKA_OFFSETS_TOPIC_REPLICATION_FACTOR": "1",
    "KAFKA_OFFSETS_TOPIC_NUM_PARTITIONS": "1",
    "KAFKA_TRANSACTION_STATE_LOG_REPLICATION_FACTOR": "1",
    "KAFKA_TRANSACTION_STATE_LOG_MIN_ISR": "1",
    "KAFKA_LOG_FLUSH_INTERVAL_MESSAGES": "9223372036854775807",
    "KAFKA_GROUP_INITIAL_REBALANCE_DELAY_MS": "0",
}
ENVIRONMENTS = {
    "none": {},
    "apache": SINGLE_NODE,
    "apache-advertised-only": {"KAFKA_ADVERTISED_LISTENERS": "PLAINTEXT://localhost:9092"},
    "testcontainers": TESTCONTAINERS,
    "confluent-kraft": CONFLUENT_KRAFT,
    "confluent-zookeeper": ZOOKEEPER,
    "confluent-metrics": {**ZOOKEEPER, **METRICS_REPORTER},
    "confluent-sentry": SENTRY,
    "confluent-kafka-3": {**ZOOKEEPER, **OF_KAFKA_3},
    "bitnami": BITNAMI,
    "bitnami-advertised": {
        **BITNAMI,
        "KAFKA_CFG_ADVERTISED_LISTENERS": "PLAINTEXT://127.0.0.1:9092",
        "ALLOW_PLAINTEXT_LISTENER": "yes",
        "KAFKA_KRAFT_CLUSTER_ID": "abcdefghijklmnopqrstuv",
        "BITNAMI_DEBUG": "true",
    },
    "bitnami-zookeeper": {
        "KAFKA_BROKER_ID": "1",
        "KAFKA_CFG_ZOOKEEPER_CONNECT": "zookeeper:2181",
        "KAFKA_ENABLE_KRAFT": "no",
        "KAFKA_CFG_LISTENERS": "PLAINTEXT://:9092",
        "KAFKA_CFG_ADVERTISED_LISTENERS": "PLAINTEXT://127.0.0.1:9092",
        "ALLOW_PLAINTEXT_LISTENER": "yes",
    },
    "wurstmeister": {
        "KAFKA_ADVERTISED_HOST_NAME": "127.0.0.1",
        "KAFKA_CREATE_TOPICS": "Topic1:1:1,Topic2:3:1:compact",
        "KAFKA_ZOOKEEPER_CONNECT": "zookeeper:2181",
    },
    "wurstmeister-listeners": {
        "KAFKA_LISTENERS": "INSIDE://:9093,OUTSIDE://:9092",
        "KAFKA_ADVERTISED_LISTENERS": "INSIDE://kafka:9093,OUTSIDE://localhost:9092",
        "KAFKA_LISTENER_SECURITY_PROTOCOL_MAP": "INSIDE:PLAINTEXT,OUTSIDE:PLAINTEXT",
        "KAFKA_INTER_BROKER_LISTENER_NAME": "INSIDE",
        "KAFKA_ZOOKEEPER_CONNECT": "zookeeper:2181",
        "KAFKA_AUTO_CREATE_TOPICS_ENABLE": "false",
    },
    "jvm": {
        "KAFKA_HEAP_OPTS": "-Xmx512M -Xms512M",
        "KAFKA_JVM_PERFORMANCE_OPTS": "-server",
        "KAFKA_OPTS": "-Dcom.sun.management.jmxremote",
        "KAFKA_JMX_OPTS": "-Dcom.sun.management.jmxremote=true",
    },
    "odradek-topics": {"ODRADEK_CREATE_TOPICS": "orders:3:compact, clicks"},
    "odradek-topics-file": {"ODRADEK_TOPICS_FILE": str(Path(__file__).parent / "topics.yaml")},
}
SASL = {
    "KAFKA_LISTENERS": "SASL_PLAINTEXT://127.0.0.1:9092",
    "KAFKA_ADVERTISED_LISTENERS": "SASL_PLAINTEXT://127.0.0.1:9092",
    "KAFKA_LISTENER_SECURITY_PROTOCOL_MAP": "SASL_PLAINTEXT:SASL_PLAINTEXT",
    "KAFKA_INTER_BROKER_LISTENER_NAME": "SASL_PLAINTEXT",
    "KAFKA_SASL_ENABLED_MECHANISMS": "PLAIN",
    "KAFKA_SASL_MECHANISM_INTER_BROKER_PROTOCOL": "PLAIN",
}
"""The variables that compose files with users have in common."""
CREATED = {
    "wurstmeister": {"Topic1": 1, "Topic2": 3},
    "odradek-topics": {"orders": 3, "clicks": 1},
    "odradek-topics-file": {"orders": 3, "clicks": 1},
}


entrypoint = entry_point("entrypoint.py")


def here(run: list[str], directory: Path) -> list[str]:
    """The command for this machine, with other ports and a directory of the test."""
    text = (DOCKER / "server.properties").read_text()
    found = sorted(set(re.findall(r":(\d{4,5})\b", " ".join([*run, text]))))
    ports = dict(zip(found, map(str, free_ports(len(found))), strict=True))

    def moved(part: str) -> str:
        part = re.sub(r":(\d{4,5})\b", lambda match: f":{ports[match[1]]}", part)
        return re.sub(r"://(?:broker|kafka):", "://127.0.0.1:", part)

    own = directory / "server.properties"
    own.write_text(moved(text))
    parts = [str(own) if part == entrypoint.OWN_CONFIGURATION else moved(part) for part in run]
    return [str(BIN / "odradek"), *parts[1:], "--override", f"log.dirs={directory / 'data'}"]


@pytest.mark.parametrize("name", list(ENVIRONMENTS))
def test_it_starts_and_says_so(name: str, tmp_path: Path) -> None:
    environ = ENVIRONMENTS[name]
    ready = tmp_path / "ready.json"
    run = here(entrypoint.command(["serve"], environ, False), tmp_path)
    with subprocess.Popen(
        [*run, "--ready-file", str(ready)],
        env={**os.environ, **environ},  # as in a container: the broker gets what the entry point has read
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
    ) as broker:
        assert broker.stdout is not None
        lines: list[str] = []
        try:
            for line in map(bytes.decode, broker.stdout):
                lines.append(line)
                if "Kafka Server started" in line:
                    break
            said = "".join(lines)
            eventually("the ready file", ready.exists)  # written after the lines
            assert re.search(r"\[KafkaServer id=\d+\] started", said), said
            assert "Transitioning from RECOVERY to RUNNING." in said
            if name in CREATED:
                address = re.search(ADVERTISED, said)
                assert address is not None
                admin = KafkaAdminClient(bootstrap_servers=address[1])
                topics = {topic["name"]: len(topic["partitions"]) for topic in admin.describe_topics()}
                admin.close()
                assert {key: topics[key] for key in CREATED[name]} == CREATED[name]
        finally:
            broker.send_signal(signal.SIGTERM)
            broker.stdout.read()
    assert broker.returncode == 0


@pytest.mark.parametrize("place", ["variable", "file"])
def test_a_client_logs_in_with_the_jaas_text_of_a_compose_file(place: str, tmp_path: Path) -> None:
    login = 'org.apache.kafka.common.security.plain.PlainLoginModule required username="admin" password="admin-secret"'
    login += ' user_admin="admin-secret" user_alice="alice-secret";'
    environ = dict(SASL)
    if place == "variable":
        environ["KAFKA_LISTENER_NAME_SASL__PLAINTEXT_PLAIN_SASL_JAAS_CONFIG"] = login
    else:
        (tmp_path / "jaas.conf").write_text(f"KafkaServer {{\n  {login}\n}};\n")
        environ["KAFKA_OPTS"] = f"-Djava.security.auth.login.config={tmp_path}/jaas.conf -Xmx512m"
    run = here(entrypoint.command(["serve"], environ, False), tmp_path)
    with subprocess.Popen(
        run, env={**os.environ, **environ}, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    ) as broker:
        assert broker.stdout is not None
        try:
            said = ""
            for line in broker.stdout:
                said += line
                if "Kafka Server started" in line:
                    break
            address = re.search(ADVERTISED, said)
            assert address is not None, said
            settings = {
                "security_protocol": "SASL_PLAINTEXT",
                "sasl_mechanism": "PLAIN",
                "sasl_plain_username": "alice",
            }
            admin = KafkaAdminClient(bootstrap_servers=address[1], sasl_plain_password="alice-secret", **settings)
            admin.create_topics([NewTopic("orders", 1, 1)])
            assert "orders" in admin.list_topics()
            admin.close()
        finally:
            broker.terminate()
            said += broker.stdout.read()
    assert broker.returncode == 0, said
    assert "secret" not in said


def test_one_of_three_nodes_is_refused_with_what_to_do(tmp_path: Path) -> None:
    """This broker does not vote beside others. It joins a cluster as a broker, or is one alone."""
    environ = {**CONFLUENT_KRAFT, "KAFKA_CONTROLLER_QUORUM_VOTERS": "1@one:29093,2@two:29093,3@three:29093"}
    run = here(entrypoint.command(["serve"], environ, False), tmp_path)
    done = subprocess.run(run, env={**os.environ, **environ}, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert "controller.quorum.voters names node 1, 2, 3; this broker is its own controller: " in done.stderr


def test_keys_that_no_broker_has_are_passed_over_with_a_line() -> None:
    """As by Apache Kafka, which starts with any key. Other unknown keys stop the start, since most are mistakes."""
    environ = {"KAFKA_MAX_REQUEST_SIZE": "50000000", **OF_KAFKA_3, "KAFKA_CFG_LINGER_MS": "5", "LINGER_MS": "5"}
    assert entrypoint.settings(environ, True).keys() == {"delete.topic.enable", "log.dirs"}
    assert entrypoint.passed_over(environ) == [
        "KAFKA_CFG_LINGER_MS has no effect here: linger.ms is a key of clients, not of a broker",
        "KAFKA_INTER_BROKER_PROTOCOL_VERSION has no effect here: "
        "inter.broker.protocol.version is a key of Kafka 3 that Kafka 4 no longer has",
        "KAFKA_LOG_MESSAGE_FORMAT_VERSION has no effect here: "
        "log.message.format.version is a key of Kafka 3 that Kafka 4 no longer has",
        "KAFKA_MAX_REQUEST_SIZE has no effect here: max.request.size is a key of clients, not of a broker",
        "KAFKA_RESERVED_BROKER_MAX_ID has no effect here: "
        "reserved.broker.max.id is a key of Kafka 3 that Kafka 4 no longer has",
    ]


def test_each_variable_that_means_nothing_here_is_named() -> None:
    lines = entrypoint.passed_over(ENVIRONMENTS["confluent-metrics"])
    assert any(line.startswith("KAFKA_ZOOKEEPER_CONNECT has no effect here: this broker needs no") for line in lines)
    named = {line.partition(" ")[0] for line in lines}
    assert named == {"KAFKA_ZOOKEEPER_CONNECT", *(name for name in METRICS_REPORTER if name.startswith("KAFKA_"))}
    of_the_jvm = ENVIRONMENTS["jvm"]
    because = "has no effect here: it configures Kafka's JVM, scripts or image"
    assert entrypoint.passed_over(of_the_jvm) == [f"{name} {because}" for name in sorted(of_the_jvm)]
    with_a_login = {"KAFKA_OPTS": "-Djava.security.auth.login.config=/jaas.conf"}
    assert entrypoint.passed_over(with_a_login) == []


@pytest.mark.parametrize("program", ["sh", "bash", "/tmp/testcontainers_start.sh", "kafka-topics", "kafka-topics.sh"])
def test_a_shell_a_path_and_kafkas_tools_are_run_as_they_are(program: str) -> None:
    assert entrypoint.command([program, "-c", "true"], {}, False) == [program, "-c", "true"]


def test_a_broker_behind_a_shell_hears_sigterm(tmp_path: Path) -> None:
    """As started by Testcontainers: a bash script exports an address and runs the image's own script."""
    (tmp_path / "bin").mkdir()
    entry = tmp_path / "bin" / "odradek-entrypoint"
    entry.write_text(f'#!/bin/sh\nexec {sys.executable} {DOCKER}/entrypoint.py "$@"\n')
    entry.chmod(0o755)
    (tmp_path / "bin" / "odradek").symlink_to(BIN / "odradek")
    own = tmp_path / "server.properties"
    own.write_text(f"node.id=1\nlisteners=PLAINTEXT://127.0.0.1:0\nlog.dirs={tmp_path / 'data'}\n")
    ready = tmp_path / "ready.json"
    script = tmp_path / "start.sh"
    arguments = f"--ready-file {ready} --override advertised.listeners=PLAINTEXT://127.0.0.1:0 {own}"
    script.write_text(f"#!/bin/bash\nexport KAFKA_NUM_PARTITIONS=3\n{DOCKER}/scripts/run {arguments}\necho ended\n")
    script.chmod(0o755)
    environ = {**os.environ, "PATH": f"{tmp_path / 'bin'}:{os.environ['PATH']}"}
    program = [
        sys.executable,
        str(DOCKER / "entrypoint.py"),
        "sh",
        "-c",
        f"while ! test -x {script}; do :; done; {script}",
    ]
    with subprocess.Popen(
        program, env=environ, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
    ) as shell:
        assert shell.stdout is not None
        try:
            eventually("it serves or has ended", lambda: ready.exists() or shell.poll() is not None)
            assert shell.poll() is None, shell.stdout.read().decode()
        finally:
            shell.send_signal(signal.SIGTERM)
            said = shell.stdout.read().decode()
    assert "stopped cleanly" in said


def test_a_health_check_asks_the_port() -> None:
    """``nc -z``, which the base image does not have."""
    netcat = str(DOCKER / "nc")

    def code(*arguments: str) -> int:
        return subprocess.run([netcat, *arguments], capture_output=True, check=False).returncode

    with socket.create_server(("127.0.0.1", 0)) as one:
        port = str(one.getsockname()[1])
        assert code("-z", "127.0.0.1", port) == code("-zvn", "-w", "3", "127.0.0.1", port) == 0
        assert code("127.0.0.1", port) == code("-z", "127.0.0.1") == 2, "it does nothing else"
    assert code("-z", "127.0.0.1", port) == 1


def test_a_topic_that_cannot_be_created_stops_the_start(tmp_path: Path) -> None:
    run = [str(BIN / "odradek"), "serve", "--override", "listeners=PLAINTEXT://127.0.0.1:0"]
    run += ["--override", f"log.dirs={tmp_path}", "--create-topic", "a:1:3"]
    done = subprocess.run(run, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert "--create-topic a: " in done.stderr
    done = subprocess.run([*run[:-1], "a:b:c"], capture_output=True, text=True, check=False)
    assert "the form is NAME[:PARTITIONS[:REPLICAS]][:CLEANUP.POLICY]" in done.stderr
    topics = tmp_path / "topics.yaml"
    for text, said in (
        ("topics:\n- name: a\n  replicas: 3\n", f"--topics {topics}: line 2: a: Unable to replicate"),
        ("topics:\n- nam: a\n", f"--topics {topics}: line 2: 'nam' is unknown"),
        ("topics:\n- {name: a, state: absent}\n", f"--topics {topics}: line 2: a start deletes no topic"),
    ):
        topics.write_text(text)
        done = subprocess.run([*run[:-2], "--topics", str(topics)], capture_output=True, text=True, check=False)
        assert done.returncode == 1
        assert said in done.stderr


@pytest.mark.parametrize("program", ["kafka-topics", "kafka-topics.sh"])
def test_the_program_is_kafkas_tool_under_its_name(program: str, tmp_path: Path) -> None:
    (tmp_path / program).symlink_to(BIN / "odradek")
    done = subprocess.run([str(tmp_path / program), "--help"], capture_output=True, text=True, check=False)
    assert done.stdout.startswith("Usage: odradek topics"), done.stderr
    tools = subprocess.run([str(BIN / "odradek"), "--kafka-tools"], capture_output=True, text=True, check=True).stdout
    assert program.removesuffix(".sh") in tools.split()
