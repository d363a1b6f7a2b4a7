"""Clients authenticate with PLAIN and SCRAM: principals in ACLs, wrong passwords, the end of a session."""

import asyncio
from collections.abc import Iterator
from typing import Any

import pytest
from aiokafka import AIOKafkaProducer
from aiokafka.errors import KafkaConnectionError
from confluent_kafka import Consumer, KafkaException, Producer
from confluent_kafka import admin as confluent_admin
from confluent_kafka.admin import AdminClient, NewTopic  # type: ignore[attr-defined]

from support.brokers.our_broker import OurBroker

USERS = 'user_admin="boss" user_alice="wonder"'
MODULES = "org.apache.kafka.common.security"
PREFIX = "listener.name.sasl_plaintext."
CONFIG = {
    "listeners": "SASL_PLAINTEXT://127.0.0.1:0",
    "security.inter.broker.protocol": "SASL_PLAINTEXT",
    "sasl.mechanism.inter.broker.protocol": "PLAIN",
    "sasl.enabled.mechanisms": "PLAIN,SCRAM-SHA-256,SCRAM-SHA-512",
    f"{PREFIX}plain.sasl.jaas.config": f"{MODULES}.plain.PlainLoginModule required {USERS};",
    f"{PREFIX}scram-sha-256.sasl.jaas.config": f"{MODULES}.scram.ScramLoginModule required;",
    f"{PREFIX}scram-sha-512.sasl.jaas.config": f"{MODULES}.scram.ScramLoginModule required;",
    "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
    "super.users": "User:admin;User:bob",
    "connection.failed.authentication.delay.ms": "1",
    f"{PREFIX}connections.max.reauth.ms": "2000",
}
LOGINS = [("PLAIN", "admin", "boss"), ("SCRAM-SHA-256", "bob", "builder,=\u00e4"), ("SCRAM-SHA-512", "bob", "512")]
RECORDS = [b"%d" % number for number in range(20)]


def confluent(broker: OurBroker, mechanism: str, user: str, password: str) -> dict[str, Any]:
    return {
        "bootstrap.servers": f"127.0.0.1:{broker.port}",
        "security.protocol": "SASL_PLAINTEXT",
        "sasl.mechanism": mechanism,
        "sasl.username": user,
        "sasl.password": password,
    }


def python(broker: OurBroker, mechanism: str, user: str, password: str) -> dict[str, Any]:
    return {
        "bootstrap_servers": f"127.0.0.1:{broker.port}",
        "security_protocol": "SASL_PLAINTEXT",
        "sasl_mechanism": mechanism,
        "sasl_plain_username": user,
        "sasl_plain_password": password,
    }


@pytest.fixture(scope="module")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[OurBroker]:
    with OurBroker(tmp_path_factory.mktemp("sasl"), CONFIG) as started:
        admin = AdminClient(confluent(started, *LOGINS[0]))
        # The names exist, but are not exported for a type checker.
        scram: Any = confluent_admin
        kinds = {
            "SCRAM-SHA-256": scram.ScramMechanism.SCRAM_SHA_256,
            "SCRAM-SHA-512": scram.ScramMechanism.SCRAM_SHA_512,
        }
        for mechanism, user, password in LOGINS[1:]:
            info = scram.ScramCredentialInfo(kinds[mechanism], 4096)
            changes = admin.alter_user_scram_credentials(
                [scram.UserScramCredentialUpsertion(user, info, password.encode())]
            )
            changes[user].result(60)
        yield started


def test_confluent_kafka(broker: OurBroker) -> None:
    """A whole round, and DescribeUserScramCredentials. Other clients and mechanisms: test_security_matrix.py."""
    settings, topic = confluent(broker, *LOGINS[2]), "confluent"
    admin = AdminClient(settings)
    admin.create_topics([NewTopic(topic, 1, 1)])[topic].result(60)
    producer = Producer(settings | {"transactional.id": topic})
    producer.init_transactions(60)
    producer.begin_transaction()
    for record in RECORDS:
        producer.produce(topic, record)
    producer.commit_transaction(60)
    consumer = Consumer(settings | {"group.id": topic, "auto.offset.reset": "earliest"})
    consumer.subscribe([topic])
    got: list[bytes] = []
    while len(got) < len(RECORDS):
        message = consumer.poll(60)
        assert message is not None
        got.append(message.value() or b"")
    consumer.close()
    assert got == RECORDS
    described: Any = admin.describe_user_scram_credentials()
    users = described.result(60)
    assert [(user, len(one.scram_credential_infos)) for user, one in users.items()] == [("bob", 2)]


@pytest.mark.parametrize(
    "login",
    [
        ("PLAIN", "admin", "wrong"),
        ("PLAIN", "nobody", "x"),
        ("SCRAM-SHA-256", "bob", "512"),
        ("SCRAM-SHA-512", "x", "y"),
    ],
    ids=lambda one: f"{one[0]}-{one[1]}",
)
async def test_wrong_passwords(broker: OurBroker, login: tuple[str, str, str]) -> None:
    with pytest.raises(KafkaConnectionError):
        await asyncio.wait_for(AIOKafkaProducer(**python(broker, *login)).start(), 60)


def test_acls_see_who_has_authenticated(broker: OurBroker) -> None:
    """Alice has no ACL, so she may not create a topic, and her name is in the log."""
    alice = AdminClient(confluent(broker, "PLAIN", "alice", "wonder"))
    with pytest.raises(KafkaException, match="TOPIC_AUTHORIZATION_FAILED"):
        alice.create_topics([NewTopic("forbidden", 1, 1)])["forbidden"].result(60)
    assert "principal 'User:alice' at 127.0.0.1 is denied CREATE" in broker.log()


def test_passwords_are_not_in_the_log(broker: OurBroker) -> None:
    log = broker.log()
    assert not [secret for secret in ("boss", "wonder", "builder") if secret in log]


def test_a_producer_works_beyond_the_end_of_its_session(broker: OurBroker) -> None:
    """Sessions last 2 s, so 6 s of sending renew them."""
    failures: list[object] = []
    producer = Producer(confluent(broker, *LOGINS[1]))
    clock = asyncio.new_event_loop()
    until = clock.time() + 6
    while clock.time() < until:
        producer.produce("long", b"x", on_delivery=lambda error, _: failures.append(error) if error else None)
        producer.flush(60)
    clock.close()
    assert not failures
