"""Every compose file that Apache, Confluent and Bitnami publish for their images, started by the image's entry point.

The table of docs/docker-and-kubernetes.md has the same rows. The environments are those of each file's nodes, with the
paths and ports of the test. A node of a cluster joins it, or is refused with what to do. Sources, in November 2026:
docker/examples of apache/kafka; examples of confluentinc/kafka-images; confluentinc/cp-all-in-one; bitnami/kafka of
bitnami/containers.
"""

import os
import re
import signal
import subprocess
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from support.pipeline.wheel import ROOT
from support.security.tls_files import tls_files

from .apache_image import SINGLE_NODE
from .test_environments import BITNAMI, CONFLUENT_KRAFT, METRICS_REPORTER
from .test_image_variables import FILES, ONE_NODE, WITH_TLS, run_here, write_stores

PAGE = ROOT / "docs" / "docker-and-kubernetes.md"
STARTS, JOINS = "Kafka Server started", "joining cluster"
NO_CONTROLLER = "process.roles=controller: Odradek is a broker, not a controller of a cluster"
NO_VOTE = "controller.quorum.voters names node"
THREE = "1@broker:29092,2@broker:29192,3@broker:29292"
CONTROLLER = {
    "KAFKA_NODE_ID": "1",
    "KAFKA_PROCESS_ROLES": "controller",
    "KAFKA_CONTROLLER_QUORUM_VOTERS": THREE,
    "KAFKA_CONTROLLER_LISTENER_NAMES": "CONTROLLER",
    "KAFKA_LISTENERS": "CONTROLLER://:29092",
    "CLUSTER_ID": ONE_NODE["CLUSTER_ID"],
}
LOGIN = (
    "KafkaServer {\n  org.apache.kafka.common.security.plain.PlainLoginModule required\n"
    '  username="admin"\n  password="admin-secret"\n  user_admin="admin-secret";\n};\n'
)
WITH_LOGIN = {
    **ONE_NODE,
    "KAFKA_LISTENERS": "CONTROLLER://:29093,SASL_PLAINTEXT_HOST://:9094,SASL_PLAINTEXT://:19094",
    "KAFKA_ADVERTISED_LISTENERS": "SASL_PLAINTEXT_HOST://localhost:9094,SASL_PLAINTEXT://broker:19094",
    "KAFKA_LISTENER_SECURITY_PROTOCOL_MAP": "CONTROLLER:PLAINTEXT,SASL_PLAINTEXT:SASL_PLAINTEXT,"
    "SASL_PLAINTEXT_HOST:SASL_PLAINTEXT",
    "KAFKA_INTER_BROKER_LISTENER_NAME": "SASL_PLAINTEXT",
    "KAFKA_SASL_ENABLED_MECHANISMS": "PLAIN",
    "KAFKA_SASL_MECHANISM_INTER_BROKER_PROTOCOL": "PLAIN",
    "KAFKA_OPTS": "-Djava.security.auth.login.config={directory}/jaas.conf",
}
MINIMAL_BROKER = {
    "KAFKA_NODE_ID": "2",
    "KAFKA_PROCESS_ROLES": "broker",
    "KAFKA_CONTROLLER_QUORUM_VOTERS": "1@localhost:9093",
    "KAFKA_LISTENERS": "PLAINTEXT://localhost:19092",
    "KAFKA_ADVERTISED_LISTENERS": "PLAINTEXT://localhost:19092",
    "KAFKA_INTER_BROKER_LISTENER_NAME": "PLAINTEXT",
    "KAFKA_CONTROLLER_LISTENER_NAMES": "CONTROLLER",
    "KAFKA_CONFLUENT_METADATA_SERVER_LISTENERS": "http://localhost:18090",
    "CLUSTER_ID": ONE_NODE["CLUSTER_ID"],
}
WITH_TOKENS = {
    "KAFKA_BROKER_ID": "1",
    "KAFKA_PROCESS_ROLES": "broker,controller",
    "KAFKA_CONTROLLER_QUORUM_VOTERS": "1@broker:29093",
    "KAFKA_CONTROLLER_LISTENER_NAMES": "CONTROLLER",
    "KAFKA_LISTENERS": "CONTROLLER://broker:29093,PLAINTEXT_HOST://0.0.0.0:9092",
    "KAFKA_ADVERTISED_LISTENERS": "PLAINTEXT_HOST://localhost:9092",
    "KAFKA_LISTENER_SECURITY_PROTOCOL_MAP": "CONTROLLER:PLAINTEXT,PLAINTEXT_HOST:PLAINTEXT",
    "KAFKA_INTER_BROKER_LISTENER_NAME": "PLAINTEXT_HOST",
    "KAFKA_AUTHORIZER_CLASS_NAME": "io.confluent.kafka.security.authorizer.ConfluentServerAuthorizer",
}


@dataclass(frozen=True, slots=True)
class Node:
    """A node of a published file. ``outcome``: a text that it logs, or that its refusal has."""

    environ: dict[str, str]
    outcome: str = STARTS


@dataclass(frozen=True, slots=True)
class Published:
    """A file with its different nodes."""

    nodes: dict[str, Node] = field(default_factory=dict)


def one(environ: dict[str, str], outcome: str = STARTS) -> Published:
    """A file of one node, or of nodes that differ only in their ids."""
    return Published({"node": Node(environ, outcome)})


def of_cluster(environ: dict[str, str]) -> Published:
    """A file of controllers and brokers of their own."""
    broker = {**environ, "KAFKA_NODE_ID": "4", "KAFKA_PROCESS_ROLES": "broker", "KAFKA_CONTROLLER_QUORUM_VOTERS": THREE}
    for key in ("KAFKA_LISTENERS", "KAFKA_LISTENER_SECURITY_PROTOCOL_MAP"):
        kept = [part for part in broker[key].split(",") if key.endswith("MAP") or not part.startswith("CONTROLLER")]
        broker[key] = ",".join(kept)
    return Published({"controller": Node(CONTROLLER, NO_CONTROLLER), "broker": Node(broker, JOINS)})


def voting(environ: dict[str, str]) -> Published:
    """A file whose nodes are brokers and controllers of one cluster."""
    return one({**environ, "KAFKA_CONTROLLER_QUORUM_VOTERS": THREE}, NO_VOTE)


SSL_BROKER = {**WITH_TLS, "KAFKA_SECURITY_PROTOCOL": "SSL"}
CONFLUENT_SSL = {
    **MINIMAL_BROKER,
    **FILES,
    "KAFKA_LISTENER_SECURITY_PROTOCOL_MAP": "CONTROLLER:SSL,SSL:SSL",
    "KAFKA_LISTENER_NAME_SSL_SSL_CLIENT_AUTH": "requested",
    "KAFKA_ADVERTISED_LISTENERS": "SSL://localhost:19092",
    "KAFKA_INTER_BROKER_LISTENER_NAME": "SSL",
    "KAFKA_SSL_ENDPOINT_IDENTIFICATION_ALGORITHM": " ",
    "KAFKA_SSL_CLIENT_AUTH": "requested",
}
del CONFLUENT_SSL["KAFKA_LISTENERS"]
CONTROLLER_SSL = {
    **CONTROLLER,
    "KAFKA_LISTENER_SECURITY_PROTOCOL_MAP": "CONTROLLER:SSL",
    "KAFKA_LISTENER_NAME_CONTROLLER_SSL_KEYSTORE_FILENAME": "controller.jks",
    "KAFKA_LISTENER_NAME_CONTROLLER_SSL_KEYSTORE_CREDENTIALS": "creds",
    "KAFKA_LISTENER_NAME_CONTROLLER_SSL_KEY_CREDENTIALS": "creds",
}
BITNAMI_CLUSTER = {
    **BITNAMI,
    "KAFKA_CFG_CONTROLLER_QUORUM_VOTERS": THREE,
    "KAFKA_KRAFT_CLUSTER_ID": "abcdefghijklmnopqrstuv",
    "KAFKA_CFG_ADVERTISED_LISTENERS": "PLAINTEXT://:9092",
    "KAFKA_CFG_INTER_BROKER_LISTENER_NAME": "PLAINTEXT",
    "KAFKA_CFG_OFFSETS_TOPIC_REPLICATION_FACTOR": "3",
}
PUBLISHED = {
    "Apache, single-node/plaintext": one(SINGLE_NODE),
    "Apache, single-node/file-input": Published(),  # no variables: test_image.py mounts a file
    "Apache, single-node/sasl_plaintext": one(WITH_LOGIN),
    "Apache, single-node/ssl": one(WITH_TLS),
    "Apache, cluster/combined/plaintext": voting(SINGLE_NODE),
    "Apache, cluster/combined/sasl_plaintext": voting(WITH_LOGIN),
    "Apache, cluster/combined/ssl": voting(SSL_BROKER),
    "Apache, cluster/isolated/plaintext": of_cluster(SINGLE_NODE),
    "Apache, cluster/isolated/sasl_plaintext": of_cluster(WITH_LOGIN),
    "Apache, cluster/isolated/ssl": of_cluster(SSL_BROKER),
    "Confluent, confluent-local": one({**CONFLUENT_KRAFT, "KAFKA_REST_HOST_NAME": "rest-proxy"}),
    "Confluent, confluent-kafka": of_cluster(
        {**MINIMAL_BROKER, "KAFKA_LISTENER_SECURITY_PROTOCOL_MAP": "CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT"}
    ),
    "Confluent, confluent-server": Published({"broker": Node(MINIMAL_BROKER, JOINS)}),
    "Confluent, confluent-server-oauth": one(WITH_TOKENS, "StandardAuthorizer is the only authorizer"),
    "Confluent, kafka-cluster-ssl": Published(
        {"controller": Node(CONTROLLER_SSL, NO_CONTROLLER), "broker": Node(CONFLUENT_SSL, JOINS)}
    ),
    "Confluent, cp-all-in-one": one({**CONFLUENT_KRAFT, **METRICS_REPORTER}),
    "Confluent, cp-all-in-one-community": one(CONFLUENT_KRAFT),
    "Confluent, cp-all-in-one-security/oauth": one(
        {**WITH_TOKENS, "KAFKA_AUTO_CREATE_TOPICS_ENABLED": "false"}, "did you mean auto.create.topics.enable?"
    ),
    "Bitnami, docker-compose.yml": one(BITNAMI),
    "Bitnami, docker-compose.yml of Kafka 2": one(
        {"KAFKA_CFG_ZOOKEEPER_CONNECT": "zookeeper:2181", "ALLOW_PLAINTEXT_LISTENER": "yes"}
    ),
    "Bitnami, docker-compose-cluster.yml": one(BITNAMI_CLUSTER, NO_VOTE),
}


@pytest.mark.parametrize(
    ("file", "node"), [(file, node) for file, published in PUBLISHED.items() for node in published.nodes]
)
def test_a_published_file_starts_or_says_what_to_do(file: str, node: str, tmp_path: Path) -> None:
    described = PUBLISHED[file].nodes[node]
    (tmp_path / "jaas.conf").write_text(LOGIN)
    if "KAFKA_SSL_KEYSTORE_FILENAME" in described.environ:
        write_stores(tls_files(tmp_path), tmp_path)
    environ = {name: value.replace("{directory}", str(tmp_path)) for name, value in described.environ.items()}
    run = run_here(environ, tmp_path)
    with subprocess.Popen(
        run, env={**os.environ, **environ}, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    ) as broker:
        assert broker.stdout is not None
        said = ""
        for line in broker.stdout:
            said += line
            if described.outcome in line:
                break
        broker.send_signal(signal.SIGTERM)
        said += broker.stdout.read()
    assert described.outcome in said
    assert (broker.returncode == 0) == (described.outcome in (STARTS, JOINS)), said
    assert "admin-secret" not in said
    assert "store-secret" not in said


def test_the_page_has_a_row_for_each_file() -> None:
    rows = re.findall(r"^\| ((?:Apache|Confluent|Bitnami), [^|]+?) \|", PAGE.read_text(), re.MULTILINE)
    assert rows == list(PUBLISHED)
