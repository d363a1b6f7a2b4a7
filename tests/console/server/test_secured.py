"""A console of a broker with SASL_SSL and ACLs, over TLS: a user sees and changes what the ACLs permit."""

import ssl
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from odradek.client.admin import AclBinding, AclEntry, AclOperation, AclPermission, AclResourceType, ResourcePattern
from odradek.testing import BrokerSecurity, SecuredBroker

from .console_client import ConsoleClient

Factory = Callable[..., SecuredBroker]
PASSWORD = "a;b=\"c\\',secret"


def allow(user: str, operation: AclOperation, kind: AclResourceType, name: str) -> AclBinding:
    return AclBinding(ResourcePattern(kind, name), AclEntry(f"User:{user}", "*", operation, AclPermission.ALLOW))


ACLS = (
    allow("alice", AclOperation.DESCRIBE, AclResourceType.TOPIC, "orders"),
    allow("alice", AclOperation.READ, AclResourceType.TOPIC, "orders"),
    allow("alice", AclOperation.DESCRIBE, AclResourceType.GROUP, "readers"),
    allow("bob", AclOperation.DESCRIBE, AclResourceType.CLUSTER, "kafka-cluster"),
    allow("bob", AclOperation.WRITE, AclResourceType.TOPIC, "secret"),
)
SECURITY = BrokerSecurity(users={"alice": PASSWORD, "bob": "bob-secret"}, acls=ACLS)
CONFIGS = {"odradek.console.listener": "127.0.0.1:0", "odradek.console.ssl.enable": True}


@pytest.fixture
def broker(kafka_broker_factory: Factory) -> SecuredBroker:
    made = kafka_broker_factory(CONFIGS, security=SECURITY)
    for topic in ("orders", "secret"):
        made.create_topic(topic)
        made.produce(topic, b"one")
    return made


def client_of(broker: SecuredBroker) -> ConsoleClient:
    (port,) = broker.ports() - {broker.port}
    trust = broker.client("alice").trust
    assert trust is not None
    return ConsoleClient(port, ssl.create_default_context(cafile=trust))


def names(client: ConsoleClient) -> set[str]:
    return {topic["name"] for topic in client.get("/api/topics").json["topics"] if not topic["error"]}


def test_a_user_sees_and_changes_what_acls_permit(broker: SecuredBroker) -> None:
    client = client_of(broker)
    facts = client.get("/api/session").json
    assert (facts["access"], facts["mechanisms"]) == ("kafka", ["SCRAM-SHA-512", "SCRAM-SHA-256", "PLAIN"])
    opened = client.log_in(user="alice", password=PASSWORD, mechanism="SCRAM-SHA-512")
    assert opened.status == 200
    assert opened.headers["Set-Cookie"].endswith("; Secure")
    assert opened.json["user"] == "alice"
    assert PASSWORD not in opened.body.decode()
    assert names(client) & {"orders", "secret"} == {"orders"}
    assert client.get("/api/topics/orders").status == 200
    refused = client.get("/api/topics/secret")
    assert (refused.status, refused.json["code"]) == (403, "TOPIC_AUTHORIZATION_FAILED")
    assert client.get("/api/topics/orders/records?partition=0").status == 200
    assert client.get("/api/topics/secret/records?partition=0").status == 403
    change = {"name": "mine", "partitions": 1, "replicas": 1, "confirm": True}
    assert client.post("/api/topics", change).status == 403
    written = client.post("/api/topics/orders/records", {"partition": 0, "value": "two", "confirm": True})
    assert written.status == 403
    assert [record.value for record in broker.records("orders")] == [b"one"]


def test_the_brokers_own_facts_need_rights_on_the_cluster(broker: SecuredBroker) -> None:
    expected: dict[str, tuple[int, int]] = {"alice": (403, 403), "bob": (200, 403), "admin": (200, 200)}
    passwords = {"alice": PASSWORD, "bob": "bob-secret", "admin": "admin-secret"}
    for user, (connections, log) in expected.items():
        client = client_of(broker)
        assert client.log_in(user=user, password=passwords[user]).status == 200
        assert client.get("/api/connections").status == connections, user
        with client.stream("/api/log") as lines:
            first = next(line for line in lines if not line.startswith((b":", b"\n")))
        assert first.startswith(b"data:" if log == 200 else b"event: failed"), (user, first)


@pytest.mark.parametrize(
    ("given", "status"),
    [
        ({"user": "alice", "password": "wrong"}, 401),
        ({"user": "nobody", "password": "x"}, 401),
        ({"user": "alice", "password": PASSWORD, "mechanism": "GSSAPI"}, 400),
        ({"user": "alice"}, 400),
        ({}, 400),
        ({"token": "x"}, 400),
        ({"user": 'alice" password="x', "password": 'x"; username="admin'}, 401),
    ],
)
def test_a_wrong_login_opens_nothing(broker: SecuredBroker, given: dict[str, str], status: int) -> None:
    client = client_of(broker)
    answer = client.log_in(**given)
    assert answer.status == status, answer.json
    assert client.cookie == ""
    assert client.get("/api/topics").status == 401


def test_the_console_trusts_the_broker_and_its_clients_must_trust_the_console(broker: SecuredBroker) -> None:
    (port,) = broker.ports() - {broker.port}
    with pytest.raises(ssl.SSLCertVerificationError):
        ConsoleClient(port, ssl.create_default_context()).get("/")


def test_two_users_have_sessions_of_their_own(broker: SecuredBroker) -> None:
    alice, admin = client_of(broker), client_of(broker)
    alice.log_in(user="alice", password=PASSWORD)
    admin.log_in(user="admin", password="admin-secret")
    assert "secret" not in names(alice)
    assert "secret" in names(admin)
    alice.post("/api/session/end", {})
    assert alice.get("/api/topics").status == 401
    assert "secret" in names(admin)


def test_a_broker_with_certificates_needs_a_password_and_a_key(kafka_broker_factory: Factory, tmp_path: Path) -> None:
    security = BrokerSecurity(protocol="SSL", users={"alice": ""})
    broker = kafka_broker_factory(security=security)
    properties = tmp_path / "client.properties"
    properties.write_text("".join(f"{key}={text}\n" for key, text in broker.client("alice").java.items()))
    configs: dict[str, Any] = {
        **CONFIGS,
        "odradek.console.ssl.enable": False,
        "odradek.console.credentials": "admin:open:sesame",
        "odradek.console.client.config": str(properties),
    }
    broker.stop()
    broker.reset(configs)
    (port,) = broker.ports() - {broker.port}
    client = ConsoleClient(port)
    assert client.get("/api/session").json["access"] == "password"
    assert client.log_in(user="admin", password="sesame").status == 401
    assert client.log_in(user="admin", password="open:sesame").status == 200
    assert client.get("/api/topics").status == 200
    broker.stop()
