"""Each client library with each security protocol and each mechanism that it has, on one broker.

In each cell a client creates a topic, writes to it in a transaction, reads it in a group, commits, and lists topics.
The table of docs/security.md names the same cells.
"""

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from clients import client_rounds
from clients.client_rounds import VALUES
from clients.client_settings import LOGINS, SCRAM, Login, SecuredListeners, secured_listeners
from support.kafka.java_program import JavaProgram
from support.security.tls_files import tls_files

CLIENTS = ("kafka_python", "confluent_kafka", "aiokafka")
"""The methods with the settings of the clients, and the functions with their rounds."""


class SecuredClients(JavaProgram):
    """The JVM with Kafka's own clients, which runs during the block."""

    NAME = "SecuredClients"


@pytest.fixture(scope="module")
def secured(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SecuredListeners]:
    with secured_listeners(tmp_path_factory.mktemp("matrix"), tls_files(tmp_path_factory.mktemp("tls"))) as made:
        yield made
        log = made.broker.log()
        assert " ERROR " not in log
        assert made.token not in log


@pytest.fixture(scope="module")
def java() -> Iterator[SecuredClients]:
    with SecuredClients() as running:
        yield running


@pytest.mark.ci
@pytest.mark.parametrize("login", LOGINS, ids=lambda login: login.name)
@pytest.mark.parametrize("client", CLIENTS)
def test_python_clients(secured: SecuredListeners, client: str, login: Login) -> None:
    settings: dict[str, Any] = getattr(secured, client)(login)
    run: Callable[[dict[str, Any], str], list[str]] = getattr(client_rounds, client)
    assert run(settings, f"{login.name}-{client}") == list(VALUES)


@pytest.mark.ci
@pytest.mark.java
@pytest.mark.parametrize("login", LOGINS, ids=lambda login: login.name)
def test_java_clients(secured: SecuredListeners, java: SecuredClients, login: Login) -> None:
    answer = java.order({"properties": secured.java(login), "topic": f"{login.name}-java", "values": VALUES})
    assert answer == {"values": list(VALUES), "partitions": 1}


@pytest.mark.ci
@pytest.mark.java
@pytest.mark.parametrize("mechanism", SCRAM)
@pytest.mark.parametrize("listener", ["SASL_PLAINTEXT", "SASL_SSL"])
def test_java_clients_with_a_delegation_token(
    secured: SecuredListeners, java: SecuredClients, listener: str, mechanism: str
) -> None:
    """Only Java's clients can mark a login as one with a token (``tokenauth``)."""
    login = Login(listener, mechanism)
    made = java.order({"properties": secured.java(login), "token": True})
    settings = secured.java(login, (made["id"], made["hmac"]))
    answer = java.order({"properties": settings, "topic": f"{login.name}-token", "values": VALUES})
    assert answer == {"values": list(VALUES), "partitions": 1}
    assert made["hmac"] not in secured.broker.log()
