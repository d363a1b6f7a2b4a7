"""Mistakes that a client meets before its first answer, each named by the doctor: name, port, TLS, login, address."""

import contextlib
import socket
import ssl
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from odradek.client.commands.doctor.first_bytes import Speaks, what_speaks
from odradek.testing.broker.in_process import InProcessBroker
from support.brokers.free_ports import free_port, free_ports
from support.security.tls_files import TlsFiles, tls_files

from .running import Doctor

PLAIN_MODULE = "org.apache.kafka.common.security.plain.PlainLoginModule"
SASL = {
    "listeners": "SASL_PLAINTEXT://127.0.0.1:0",
    "security.inter.broker.protocol": "SASL_PLAINTEXT",
    "sasl.mechanism.inter.broker.protocol": "PLAIN",
    "sasl.enabled.mechanisms": "PLAIN,SCRAM-SHA-256",
    "listener.name.sasl_plaintext.plain.sasl.jaas.config": f'{PLAIN_MODULE} required user_alice="wonder";',
    "listener.name.sasl_plaintext.scram-sha-256.sasl.jaas.config": (
        "org.apache.kafka.common.security.scram.ScramLoginModule required;"
    ),
    "connection.failed.authentication.delay.ms": "1",
}


def login(password: str, mechanism: str = "PLAIN") -> dict[str, str]:
    """The settings of alice with a password."""
    module = PLAIN_MODULE if mechanism == "PLAIN" else "org.apache.kafka.common.security.scram.ScramLoginModule"
    return {
        "security_protocol": "SASL_PLAINTEXT",
        "sasl_mechanism": mechanism,
        "sasl_jaas_config": f'{module} required username="alice" password="{password}";',
    }


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> TlsFiles:
    return tls_files(tmp_path_factory.mktemp("tls"))


@pytest.fixture(scope="module")
def tls_broker(tmp_path_factory: pytest.TempPathFactory, files: TlsFiles) -> Iterator[InProcessBroker]:
    configs = {"listeners": "SSL://127.0.0.1:0", "security.inter.broker.protocol": "SSL", **files.listener()}
    with InProcessBroker(tmp_path_factory.mktemp("broker"), configs) as broker:
        yield broker


@pytest.fixture(scope="module")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[InProcessBroker]:
    with InProcessBroker(tmp_path_factory.mktemp("broker")) as broker:
        yield broker


@pytest.fixture(scope="module")
def login_broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[InProcessBroker]:
    with InProcessBroker(tmp_path_factory.mktemp("broker"), SASL) as broker:
        yield broker


def trusting(path: str) -> dict[str, str]:
    """The settings of a client with TLS."""
    return {"security_protocol": "SSL", "ssl_truststore_type": "PEM", "ssl_truststore_location": path}


def test_nothing_is_wrong(broker: InProcessBroker, doctor: Doctor) -> None:
    report = doctor.examine(broker.bootstrap_servers)
    assert [(one["check"], one["verdict"]) for one in report.diagnoses] == [
        ("name", "ok"),
        ("port", "ok"),
        ("login", "ok"),
        ("versions", "ok"),
        ("advertised", "ok"),
        ("controllers", "ok"),
        ("replication", "ok"),
        ("record", "ok"),
    ]
    assert not broker.topics(), "the topic of the record is deleted"


def test_an_unknown_name(doctor: Doctor) -> None:
    check, text, _ = doctor.examine("no-such-host.invalid:9092").the_mistake()
    assert (check, text.split(":")[0]) == ("name", "the name no-such-host.invalid is not known here")


def test_nobody_listens(doctor: Doctor) -> None:
    address = f"127.0.0.1:{free_port()}"
    assert doctor.examine(address).the_mistake()[:2] == ("port", f"{address} refuses connections")


def test_a_program_that_says_nothing(doctor: Doctor) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        address = f"127.0.0.1:{listening.getsockname()[1]}"
        _, text, _ = doctor.examine(address, "--timeout", "200").the_mistake()
    assert text == f"{address} accepts connections and does not answer a Kafka request"


def test_tls_to_a_plaintext_port(broker: InProcessBroker, doctor: Doctor, files: TlsFiles) -> None:
    _, text, step = doctor.examine(broker.bootstrap_servers, **trusting(files.trust)).the_mistake()
    assert text == f"{broker.bootstrap_servers} speaks plain text, and security.protocol=SSL starts TLS"
    assert "security.protocol=PLAINTEXT" in step


def test_plain_text_to_a_tls_port(tls_broker: InProcessBroker, doctor: Doctor) -> None:
    _, text, step = doctor.examine(tls_broker.bootstrap_servers).the_mistake()
    assert text == f"{tls_broker.bootstrap_servers} wants TLS, and security.protocol is PLAINTEXT"
    assert "security.protocol=SSL" in step


def test_first_bytes() -> None:
    assert what_speaks(b"HTTP/1.1 400 Bad Request\r\n") is Speaks.HTTP
    assert what_speaks(b"\x15\x03\x03\x00\x02\x02\x46") is Speaks.TLS
    assert what_speaks(b"SSH-2.0-OpenSSH_9.2p1\r\n") is Speaks.OTHER
    assert what_speaks(b"") is Speaks.NOTHING


def test_a_metrics_port(tmp_path: Path, doctor: Doctor) -> None:
    port = free_port()
    with InProcessBroker(tmp_path, {"odradek.metrics.listener": f"127.0.0.1:{port}"}):
        _, text, _ = doctor.examine(f"127.0.0.1:{port}", "--timeout", "500").the_mistake()
    assert text == f"an HTTP server answers at 127.0.0.1:{port}, not a Kafka broker"


def test_a_trusted_certificate(tls_broker: InProcessBroker, doctor: Doctor, files: TlsFiles) -> None:
    report = doctor.examine(tls_broker.bootstrap_servers, **trusting(files.trust))
    assert not report.of("error", "warning")
    [(_, text, _)] = [found for found in report.of("ok") if found[0] == "certificate"]
    assert text.startswith("the certificate is trusted, and valid for ")


def test_a_certificate_for_another_name(tmp_path: Path, doctor: Doctor, files: TlsFiles) -> None:
    files.authority.issue("broker", ["kafka.example", "10.1.2.3"]).write_pem(tmp_path / "server.pem")
    with ssl_broker(tmp_path, files) as address:
        check, text, _ = doctor.examine(address, **trusting(files.trust)).the_mistake()
    assert (check, text) == ("certificate", "the certificate is for kafka.example, 10.1.2.3; you called 127.0.0.1")


def test_an_expired_certificate(tmp_path: Path, doctor: Doctor, files: TlsFiles) -> None:
    """Our broker does not start with one, so a server of handshakes has it."""
    expired = files.authority.issue("broker", ["127.0.0.1"], days=-1).write_pem(tmp_path / "server.pem")
    with handshakes(expired) as address:
        _, text, _ = doctor.examine(address, **trusting(files.trust)).the_mistake()
    assert text == "the broker's certificate is refused: certificate has expired"


@contextlib.contextmanager
def handshakes(key_store: Path) -> Iterator[str]:
    """A server that makes TLS handshakes and nothing else."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(key_store)

    def serve(listening: socket.socket) -> None:
        with contextlib.suppress(OSError):  # it was closed
            while True:
                accepted, _ = listening.accept()
                with accepted, contextlib.suppress(OSError):
                    context.wrap_socket(accepted, server_side=True).close()

    with socket.create_server(("127.0.0.1", 0)) as listening:
        thread = threading.Thread(target=serve, args=(listening,))
        thread.start()
        yield f"127.0.0.1:{listening.getsockname()[1]}"
        listening.shutdown(socket.SHUT_RDWR)
        thread.join()


def test_a_certificate_that_expires_soon(tmp_path: Path, doctor: Doctor, files: TlsFiles) -> None:
    files.authority.issue("broker", ["127.0.0.1"], days=3).write_pem(tmp_path / "server.pem")
    with ssl_broker(tmp_path, files) as address:
        report = doctor.examine(address, **trusting(files.trust))
    assert report.code == 0
    assert report.the_mistake()[1] == "the certificate is trusted, and valid for 2 more days"


@contextlib.contextmanager
def ssl_broker(directory: Path, files: TlsFiles) -> Iterator[str]:
    """A broker whose certificate is in ``server.pem`` of a directory."""
    configs = {
        "listeners": "SSL://127.0.0.1:0",
        "security.inter.broker.protocol": "SSL",
        **files.listener(),
        "ssl.keystore.location": str(directory / "server.pem"),
    }
    with InProcessBroker(directory / "data", configs) as broker:
        yield broker.bootstrap_servers


def test_an_authority_that_is_not_trusted(
    tls_broker: InProcessBroker, doctor: Doctor, tmp_path_factory: pytest.TempPathFactory
) -> None:
    other = tls_files(tmp_path_factory.mktemp("other"))
    check, text, step = doctor.examine(tls_broker.bootstrap_servers, **trusting(other.trust)).the_mistake()
    assert (check, text.split(":")[0]) == ("certificate", "the broker's certificate is not trusted")
    assert "ssl.truststore.location" in step


def test_no_login(login_broker: InProcessBroker, doctor: Doctor) -> None:
    _, text, step = doctor.examine(login_broker.bootstrap_servers).the_mistake()
    assert text == "the listener requires a login; it offers PLAIN, SCRAM-SHA-256"
    assert "security.protocol=SASL_PLAINTEXT" in step


def test_a_login_with_another_mechanism(login_broker: InProcessBroker, doctor: Doctor) -> None:
    settings = login("wonder", "SCRAM-SHA-512")
    _, text, _ = doctor.examine(login_broker.bootstrap_servers, **settings).the_mistake()
    assert text == "the listener offers PLAIN, SCRAM-SHA-256; you used SCRAM-SHA-512"


def test_a_wrong_password(login_broker: InProcessBroker, doctor: Doctor) -> None:
    report = doctor.examine(login_broker.bootstrap_servers, **login("blunder"))
    _, text, step = report.the_mistake()
    assert text.startswith("the broker refuses the login with PLAIN: ")
    assert "sasl.jaas.config" in step
    assert not doctor.examine(login_broker.bootstrap_servers, **login("wonder")).of("error", "warning")


def test_a_login_where_none_is_asked_for(broker: InProcessBroker, doctor: Doctor) -> None:
    _, text, _ = doctor.examine(broker.bootstrap_servers, **login("wonder")).the_mistake()
    assert text == "the listener has no login, and security.protocol asks for one"


def test_an_advertised_address_where_nobody_listens(tmp_path: Path, doctor: Doctor) -> None:
    port, other = free_ports(2)
    listeners = {
        "listeners": f"PLAINTEXT://127.0.0.1:{port}",
        "advertised.listeners": f"PLAINTEXT://localhost:{other}",
    }
    with InProcessBroker(tmp_path, listeners):
        check, text, step = doctor.examine(f"127.0.0.1:{port}").the_mistake()
    assert check == "advertised"
    assert text == (
        f"I reached 127.0.0.1:{port}, and was told that broker 1 is at localhost:{other}, "
        f"where localhost:{other} refuses connections"
    )
    assert step.startswith("Set advertised.listeners of broker 1")


def test_an_advertised_address_of_another_cluster(tmp_path: Path, broker: InProcessBroker, doctor: Doctor) -> None:
    port = free_port()
    listeners = {
        "listeners": f"PLAINTEXT://127.0.0.1:{port}",
        "advertised.listeners": f"PLAINTEXT://{broker.bootstrap_servers}",
    }
    with InProcessBroker(tmp_path, listeners):
        _, text, _ = doctor.examine(f"127.0.0.1:{port}").the_mistake()
    assert "where another cluster answers" in text


def test_each_address_is_tried(broker: InProcessBroker, doctor: Doctor) -> None:
    missing = f"127.0.0.1:{free_port()}"
    report = doctor.examine(f"{missing},{broker.bootstrap_servers}")
    assert report.the_mistake()[1] == f"{missing} refuses connections"
    assert ("record", "ok") in [(one["check"], one["verdict"]) for one in report.diagnoses]


def test_a_user_without_rights(tmp_path: Path, doctor: Doctor) -> None:
    authorizer = {"authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer"}
    with InProcessBroker(tmp_path, {**SASL, **authorizer, "super.users": "User:ANONYMOUS"}) as broker:
        report = doctor.examine(broker.bootstrap_servers, "--topic", "orders", **login("wonder"))
    assert report.of("error", "warning") == [
        (
            "topic",
            "this user may not see the topic orders, if it exists",
            "Allow it: odradek acls --add --topic orders --operation Describe --allow-principal User:NAME",
        )
    ]
    assert [check for check, _, _ in report.of("skipped")] == ["controllers", "replication", "record"]
