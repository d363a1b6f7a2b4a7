"""ACLs that Kafka's own tool and confluent-kafka create, and what clients get when they are denied."""

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Consumer, KafkaError, KafkaException, Producer
from confluent_kafka.admin import (  # type: ignore[attr-defined]
    AclBinding,
    AclBindingFilter,
    AclOperation,
    AclPermissionType,
    AdminClient,
    NewTopic,
    ResourcePatternType,
    ResourceType,
)

from support.brokers.our_broker import OurBroker
from support.kafka.tools import KafkaTools

KEYS = {
    "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
    "allow.everyone.if.no.acl.found": "true",
}
EVERYBODY = "User:ANONYMOUS"
ACLS = "org.apache.kafka.tools.AclCommand"


@pytest.fixture
def broker(tmp_path: Path) -> Iterator[OurBroker]:
    with OurBroker(tmp_path, KEYS) as running:
        admin = AdminClient({"bootstrap.servers": running.bootstrap_servers})
        for future in admin.create_topics([NewTopic("orders", 1), NewTopic("open", 1)]).values():
            future.result(30)
        yield running


def binding(
    operation: AclOperation,
    permission: AclPermissionType,
    name: str = "orders",
    kind: ResourceType = ResourceType.TOPIC,
) -> AclBinding:
    return AclBinding(kind, name, ResourcePatternType.LITERAL, EVERYBODY, "*", operation, permission)


def delivered(broker: OurBroker, topic: str) -> KafkaError | None:
    """Produces one record; returns the error of its delivery."""
    producer = Producer({"bootstrap.servers": broker.bootstrap_servers, "linger.ms": 0})
    errors: list[KafkaError | None] = []
    producer.produce(topic, b"v", on_delivery=lambda error, _: errors.append(error))
    producer.flush(30)
    return errors[0]


def first_of(broker: OurBroker, topic: str, group: str) -> bytes | KafkaError | None:
    """The first value or error that a consumer of a group gets."""
    consumer = Consumer(
        {"bootstrap.servers": broker.bootstrap_servers, "group.id": group, "auto.offset.reset": "earliest"}
    )
    consumer.subscribe([topic])
    deadline = time.monotonic() + 60
    try:
        while time.monotonic() < deadline:
            message = consumer.poll(1)
            if message is not None:
                error: KafkaError | None = message.error()
                return error if error is not None else message.value()
        return None
    finally:
        consumer.close()


def test_confluent_kafka_creates_acls_and_is_held_to_them(broker: OurBroker) -> None:
    """A denied producer gets TOPIC_AUTHORIZATION_FAILED, a denied consumer GROUP_AUTHORIZATION_FAILED."""
    admin = AdminClient({"bootstrap.servers": broker.bootstrap_servers})
    allow, deny = AclPermissionType.ALLOW, AclPermissionType.DENY
    wanted = [
        binding(AclOperation.READ, allow),
        binding(AclOperation.WRITE, deny),
        binding(AclOperation.READ, deny, "strangers", ResourceType.GROUP),
    ]
    for future in admin.create_acls(wanted).values():
        future.result(30)
    anything: list[Any] = [ResourceType.ANY, None, ResourcePatternType.ANY, None, None]
    everything = AclBindingFilter(*[*anything, AclOperation.ANY, AclPermissionType.ANY])
    assert set(admin.describe_acls(everything).result(30)) == set(wanted)
    denied = delivered(broker, "orders")
    assert denied is not None
    assert denied.code() == KafkaError.TOPIC_AUTHORIZATION_FAILED
    assert delivered(broker, "open") is None
    assert first_of(broker, "open", "friends") == b"v"
    stranger = first_of(broker, "open", "strangers")
    assert isinstance(stranger, KafkaError)
    assert stranger.code() == KafkaError.GROUP_AUTHORIZATION_FAILED
    removed = admin.delete_acls([everything])
    assert {one for future in removed.values() for one in future.result(30)} == set(wanted)
    assert delivered(broker, "orders") is None


@pytest.mark.ci
def test_acls_hold_after_a_restart(tmp_path: Path) -> None:
    """ACLs are in the metadata log: a killed broker enforces them after its restart."""
    with OurBroker(tmp_path, KEYS) as first:
        admin = AdminClient({"bootstrap.servers": first.bootstrap_servers})
        admin.create_topics([NewTopic("orders", 1)])["orders"].result(30)
        for future in admin.create_acls([binding(AclOperation.WRITE, AclPermissionType.DENY)]).values():
            future.result(30)
        first.kill()
        first.start()
        denied = delivered(first, "orders")
        assert denied is not None
        assert denied.code() == KafkaError.TOPIC_AUTHORIZATION_FAILED
        refused = AdminClient({"bootstrap.servers": first.bootstrap_servers}).delete_topics(["orders"])["orders"]
        with pytest.raises(KafkaException):
            refused.result(30)


@pytest.mark.java
def test_kafka_acls_adds_lists_and_removes(broker: OurBroker) -> None:
    """kafka-acls.sh adds the ACLs of a consumer, lists and removes them."""
    consumer = "--topic", "orders", "--consumer", "--group", "billing", "--allow-principal", EVERYBODY
    with KafkaTools() as tools:
        added = tools.run(ACLS, broker.bootstrap_servers, "--add", *consumer)
        assert added.code == 0, added
        listed = tools.run(ACLS, broker.bootstrap_servers, "--list").out
        assert f"principal={EVERYBODY}, host=*, operation=READ, permissionType=ALLOW" in listed
        assert "resourceType=GROUP, name=billing" in listed
        tools.run(ACLS, broker.bootstrap_servers, "--remove", "--force", *consumer)
        assert EVERYBODY not in tools.run(ACLS, broker.bootstrap_servers, "--list").out
