"""Variables of other images that name files and users: the keys that they set, and brokers that start with them."""

import os
import re
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from cryptography.hazmat.primitives.serialization import BestAvailableEncryption, pkcs12
from kafka import KafkaAdminClient
from kafka.errors import KafkaError

from odradek.broker.config import image_variables
from odradek.broker.config.image_variables import MissingFileError
from support.security.tls_files import TlsFiles, tls_files

from .entry_points import entry_point
from .test_environments import ADVERTISED, here

entrypoint = entry_point("entrypoint.py")
PASSWORD = "store-secret"
TRIES_SHORTLY: dict[str, Any] = {"bootstrap_timeout_ms": 3_000}
"""A client that is refused tries again for 30 s by default."""
ONE_NODE = {
    "KAFKA_NODE_ID": "1",
    "KAFKA_PROCESS_ROLES": "broker,controller",
    "KAFKA_CONTROLLER_QUORUM_VOTERS": "1@broker:29093",
    "KAFKA_CONTROLLER_LISTENER_NAMES": "CONTROLLER",
    "CLUSTER_ID": "4L6g3nShT-eMCtK--X86sw",
}
FILES = {
    "KAFKA_SSL_KEYSTORE_FILENAME": "broker.p12",
    "KAFKA_SSL_KEYSTORE_CREDENTIALS": "store_password",
    "KAFKA_SSL_KEY_CREDENTIALS": "key_password",
    "KAFKA_SSL_TRUSTSTORE_FILENAME": "trust.p12",
    "KAFKA_SSL_TRUSTSTORE_CREDENTIALS": "store_password",
}
"""The five variables of the examples of Apache's and Confluent's images with TLS."""
WITH_TLS = {
    **ONE_NODE,
    **FILES,
    "KAFKA_LISTENERS": "SSL://:9093,CONTROLLER://:29093,SSL-INTERNAL://:19093",
    "KAFKA_ADVERTISED_LISTENERS": "SSL://127.0.0.1:9093,SSL-INTERNAL://broker:19093",
    "KAFKA_LISTENER_SECURITY_PROTOCOL_MAP": "SSL:SSL,CONTROLLER:PLAINTEXT,SSL-INTERNAL:SSL",
    "KAFKA_INTER_BROKER_LISTENER_NAME": "SSL-INTERNAL",
    "KAFKA_SSL_CLIENT_AUTH": "required",
    "KAFKA_SSL_ENDPOINT_IDENTIFICATION_ALGORITHM": " ",
}
BITNAMI = {
    "KAFKA_CFG_NODE_ID": "0",
    "KAFKA_CFG_PROCESS_ROLES": "controller,broker",
    "KAFKA_CFG_CONTROLLER_QUORUM_VOTERS": "0@kafka:9093",
    "KAFKA_CFG_CONTROLLER_LISTENER_NAMES": "CONTROLLER",
    "KAFKA_CFG_INTER_BROKER_LISTENER_NAME": "INTERNAL",
}
BITNAMI_USERS = {
    **BITNAMI,
    "KAFKA_CFG_LISTENERS": "CLIENT://127.0.0.1:9092,CONTROLLER://:9093,INTERNAL://127.0.0.1:9094",
    "KAFKA_CFG_ADVERTISED_LISTENERS": "CLIENT://127.0.0.1:9092,INTERNAL://127.0.0.1:9094",
    "KAFKA_CFG_LISTENER_SECURITY_PROTOCOL_MAP": "CLIENT:SASL_PLAINTEXT,CONTROLLER:PLAINTEXT,INTERNAL:SASL_PLAINTEXT",
    "KAFKA_CFG_SASL_MECHANISM_INTER_BROKER_PROTOCOL": "PLAIN",
    "KAFKA_CLIENT_USERS": "alice,bob",
    "KAFKA_CLIENT_PASSWORDS": "alice-secret,bob-secret",
    "KAFKA_INTER_BROKER_USER": "broker",
    "KAFKA_INTER_BROKER_PASSWORD": "broker-secret",
    "KAFKA_CLIENT_LISTENER_NAME": "CLIENT",
    "KAFKA_EXTRA_FLAGS": "-Dnothing=1",
    "KAFKA_VOLUME_DIR": "/bitnami/kafka",
}


def run_here(environ: Mapping[str, str], directory: Path) -> list[str]:
    """The command of the entry point, with the files of TLS in a directory of the test."""

    def in_directory(text: str) -> str:
        return text.replace(image_variables.SECRETS, f"{directory}/")

    def read(path: str) -> bytes | None:
        found: bytes | None = entrypoint.read_file(in_directory(path))
        return found

    return [in_directory(part) for part in here(entrypoint.command(["serve"], environ, False, read), directory)]


@contextmanager
def started(environ: Mapping[str, str], directory: Path) -> Iterator[str]:
    """The first address that clients are told, of a broker that the entry point starts."""
    run = run_here(environ, directory)
    with subprocess.Popen(
        run, env={**os.environ, **environ}, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    ) as broker:
        assert broker.stdout is not None
        said = ""
        try:
            for line in broker.stdout:
                said += line
                if "Kafka Server started" in line:
                    break
            address = re.search(ADVERTISED, said)
            assert address is not None, said
            yield address[1]
        finally:
            broker.terminate()
            said += broker.stdout.read()
    assert broker.returncode == 0, said
    assert "secret" not in said


def asked(admin: KafkaAdminClient) -> None:
    """The broker answers a client that it has let in."""
    assert len(admin.describe_cluster()["brokers"]) == 1
    admin.close()


def write_stores(files: TlsFiles, directory: Path) -> None:
    """Writes the key store, the trust store and their passwords as files."""
    server, secret = files.server, PASSWORD.encode()
    key_store = pkcs12.serialize_key_and_certificates(
        b"broker", server.key, server.certificate, [files.authority.certificate], BestAvailableEncryption(secret)
    )
    (directory / "broker.p12").write_bytes(key_store)
    trusted = [pkcs12.PKCS12Certificate(files.authority.certificate, b"authority")]
    trust_store = pkcs12.serialize_java_truststore(trusted, BestAvailableEncryption(secret))
    (directory / "trust.p12").write_bytes(trust_store)
    for name in ("store_password", "key_password"):
        (directory / name).write_text(f"{PASSWORD}\n")


@pytest.mark.parametrize("client_auth", ["required", "requested"])
def test_key_stores_are_named_as_for_apaches_image(client_auth: str, tmp_path: Path) -> None:
    files = tls_files(tmp_path)
    write_stores(files, tmp_path)
    with started({**WITH_TLS, "KAFKA_SSL_CLIENT_AUTH": client_auth}, tmp_path) as address:
        admin = KafkaAdminClient(bootstrap_servers=address, **files.kafka_python(with_key=True))
        asked(admin)
        if client_auth == "required":
            with pytest.raises(KafkaError):
                KafkaAdminClient(bootstrap_servers=address, **TRIES_SHORTLY, **files.kafka_python(with_key=False))


def test_the_files_of_tls_set_keys_and_passwords() -> None:
    read = {"/etc/kafka/secrets/store_password": b"one\n", "/etc/kafka/secrets/key_password": b"two"}.get
    texts = {"/etc/kafka/secrets/broker.p12": b"\x82", "/etc/kafka/secrets/trust.p12": b"\x82"}
    given = image_variables.of_secrets(FILES, lambda path: texts.get(path, read(path)))
    assert {key: value for key, (value, _) in given.items()} == {
        "ssl.keystore.location": "/etc/kafka/secrets/broker.p12",
        "ssl.truststore.location": "/etc/kafka/secrets/trust.p12",
        "ssl.keystore.password": "one",
        "ssl.key.password": "two",
        "ssl.truststore.password": "one",
    }
    assert {name for _, name in given.values()} == set(FILES)


def test_a_file_that_is_missing_is_named_with_its_variable() -> None:
    with pytest.raises(
        MissingFileError, match=r"KAFKA_SSL_KEYSTORE_FILENAME names /etc/kafka/secrets/broker.p12, which"
    ):
        image_variables.of_secrets(FILES, lambda path: None)

    def denied(path: str) -> bytes | None:
        raise PermissionError(13, "Permission denied")

    with pytest.raises(MissingFileError, match=r"cannot read /etc/kafka/secrets/broker.p12: Permission denied"):
        image_variables.of_secrets(FILES, denied)


@pytest.mark.parametrize("has_file", [False, True])
def test_users_and_passwords_of_bitnamis_image_log_in(has_file: bool, tmp_path: Path) -> None:
    environ = dict(BITNAMI_USERS)
    if has_file:
        secret = tmp_path / "passwords"
        secret.write_text(environ.pop("KAFKA_CLIENT_PASSWORDS") + "\n")
        environ["KAFKA_CLIENT_PASSWORDS_FILE"] = str(secret)
    with started(environ, tmp_path) as address:
        settings = {"bootstrap_servers": address, "security_protocol": "SASL_PLAINTEXT", "sasl_mechanism": "PLAIN"}
        for user in ("alice", "bob"):
            admin = KafkaAdminClient(sasl_plain_username=user, sasl_plain_password=f"{user}-secret", **settings)
            asked(admin)
        with pytest.raises(KafkaError):
            KafkaAdminClient(sasl_plain_username="alice", sasl_plain_password="bob-secret", **TRIES_SHORTLY, **settings)


def test_bitnamis_scripts_variables_are_named_and_have_no_effect() -> None:
    lines = entrypoint.passed_over(BITNAMI_USERS)
    named = {line.partition(" ")[0] for line in lines}
    assert named == {"KAFKA_CLIENT_LISTENER_NAME", "KAFKA_EXTRA_FLAGS", "KAFKA_VOLUME_DIR"}


def test_a_variable_counts_more_than_what_bitnamis_image_adds() -> None:
    login = "KAFKA_CFG_LISTENER_NAME_CLIENT_PLAIN_SASL_JAAS_CONFIG"
    environ = {**BITNAMI_USERS, login: "own;", "KAFKA_CFG_SASL_ENABLED_MECHANISMS": "PLAIN"}
    given = entrypoint.settings(environ, False)
    assert given["listener.name.client.plain.sasl.jaas.config"] == ("own;", login)
    assert "listener.name.client.scram-sha-256.sasl.jaas.config" not in given


@pytest.mark.parametrize(("kind", "expected"), [("JKS", "ssl.keystore.location"), ("PEM", "ssl.keystore.key")])
def test_key_stores_of_bitnamis_image(kind: str, expected: str) -> None:
    directory = "/opt/bitnami/kafka/config/certs/"
    names = ("kafka.keystore.jks", "kafka.truststore.jks", "kafka.keystore.key", "kafka.keystore.pem")
    texts = {directory + name: name.encode() for name in (*names, "kafka.truststore.pem")}
    protocols = "CLIENT:SSL,CONTROLLER:PLAINTEXT"
    environ = {**BITNAMI, "KAFKA_CFG_LISTENER_SECURITY_PROTOCOL_MAP": protocols, "KAFKA_TLS_TYPE": kind}
    environ["KAFKA_CERTIFICATE_PASSWORD"] = "secret"
    given = entrypoint.settings(environ, False, texts.get)
    assert given[expected][0] == (f"{directory}kafka.keystore.jks" if kind == "JKS" else "kafka.keystore.key")
    assert given["ssl.client.auth"][0] == "required"
    assert given["ssl.key.password"][0] == "secret"
    assert ("ssl.keystore.password" in given) == (kind == "JKS")
    with pytest.raises(
        MissingFileError, match=r"a listener has TLS, and /opt/bitnami/kafka/config/certs/kafka.keystore"
    ):
        entrypoint.settings(environ, False, lambda path: None)


@pytest.mark.parametrize("name", ["KAFKA_BROKER_ID", "KAFKA_CFG_BROKER_ID"])
@pytest.mark.parametrize(("given", "expected"), [("0", "0"), ("7", "7"), ("-1", None)])
def test_a_broker_id_alone_is_the_node_id(name: str, given: str, expected: str | None) -> None:
    """As in compose files of ZooKeeper's time, where -1 lets the cluster choose."""
    found = entrypoint.settings({name: given}, False)
    assert found.get("node.id", (None,))[0] == expected
    assert found.get("broker.id", (None,))[0] == expected


def test_a_broker_starts_with_a_broker_id_alone(tmp_path: Path) -> None:
    environ = {"KAFKA_BROKER_ID": "0", "KAFKA_ZOOKEEPER_CONNECT": "zookeeper:2181"}
    with started(environ, tmp_path) as address:
        admin = KafkaAdminClient(bootstrap_servers=address)
        assert [broker["broker_id"] for broker in admin.describe_cluster()["brokers"]] == [0]
        admin.close()
