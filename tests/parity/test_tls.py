"""Kafka's own tools use mutual TLS with a real Kafka and with Odradek, which have the same certificate files.

The broker and alice are superusers by the names in their certificates. bob has a certificate of the same authority, but
no permission.
"""

from collections.abc import Iterator
from pathlib import Path

import pytest

from odradek.broker.config.authorizer import STANDARD_AUTHORIZER
from odradek.testing import InProcessBroker
from support.brokers.free_ports import free_ports
from support.kafka.java import java_or_skip, run_class
from support.kafka.real_kafka import RealKafka
from support.security.tls_files import ALICE_PRINCIPAL, TlsFiles, tls_files

pytestmark = [pytest.mark.java, pytest.mark.ci]

RULES = "RULE:^CN=(bob),OU=(.*?)$/$2-$1/U,DEFAULT"
TOPICS = "org.apache.kafka.tools.TopicCommand"
PRODUCE = "org.apache.kafka.tools.ProducerPerformance"


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> TlsFiles:
    made = tls_files(tmp_path_factory.mktemp("tls"))
    made.authority.issue("bob").write_pem(made.directory / "bob.pem")
    return made


@pytest.fixture(scope="module", params=["ours", "kafka"])
def secure(request: pytest.FixtureRequest, files: TlsFiles, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of one broker's SSL listener."""
    java_or_skip()
    [port] = free_ports(1)
    keys = {
        "authorizer.class.name": STANDARD_AUTHORIZER,
        "super.users": f"{ALICE_PRINCIPAL};User:ANONYMOUS",
        "ssl.principal.mapping.rules": RULES,
        **files.listener(client_auth="required"),
    }
    directory = tmp_path_factory.mktemp(request.param)
    if request.param == "ours":
        with InProcessBroker(directory, {"listeners": f"PLAINTEXT://127.0.0.1:0,SSL://127.0.0.1:{port}", **keys}):
            yield f"127.0.0.1:{port}"
        return
    kafka = RealKafka(directory)
    controller = f"CONTROLLER://127.0.0.1:{kafka.controller_port}"
    kafka._configs |= {
        "listeners": f"PLAINTEXT://{kafka.bootstrap_servers},SSL://127.0.0.1:{port},{controller}",
        "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,SSL:SSL,CONTROLLER:PLAINTEXT",
        **{key: text.replace("\\", "\\\\") for key, text in keys.items()},  # the keys are written to a properties file
    }
    with kafka:
        yield f"127.0.0.1:{port}"


def properties_of(files: TlsFiles, client: str) -> Path:
    """The configuration of a Java client with a certificate."""
    keys = {**files.java(with_key=True), "ssl.keystore.location": str(files.directory / f"{client}.pem")}
    path = files.directory / f"{client}.properties"
    path.write_text("".join(f"{key}={value}\n" for key, value in keys.items()))
    return path


def test_the_superuser_by_certificate_creates_a_topic_and_produces(secure: str, files: TlsFiles) -> None:
    alice = properties_of(files, "alice")
    create = ("--bootstrap-server", secure, "--command-config", alice, "--create", "--topic", "orders")
    created = run_class(TOPICS, *create)
    assert created.returncode == 0, created.stdout + created.stderr
    wanted = ("--topic", "orders", "--num-records", "50", "--record-size", "50000", "--throughput", "-1")
    settings = ("--producer.config", alice, "--producer-props", f"bootstrap.servers={secure}")
    produced = run_class(PRODUCE, *wanted, *settings)
    assert "50 records sent" in produced.stdout, produced.stdout + produced.stderr


def test_another_certificate_of_the_same_authority_is_denied(secure: str, files: TlsFiles) -> None:
    bob = properties_of(files, "bob")
    create = ("--bootstrap-server", secure, "--command-config", bob, "--create", "--topic", "never")
    denied = run_class(TOPICS, *create)
    assert "TopicAuthorizationException" in denied.stdout + denied.stderr
