"""Consumers that live through a reset of the broker for tests: they join again and read what comes afterwards."""

import time
from collections.abc import Callable
from typing import Any

import pytest
from confluent_kafka import Consumer, ShareConsumer
from confluent_kafka.admin import (  # type: ignore[attr-defined]
    AdminClient,
    AlterConfigOpType,
    ConfigEntry,
    ConfigResource,
    ResourceType,
)

from clients.share_members import ShareMembers
from odradek.protocol.errors import ErrorCode
from odradek.protocol.messages.groups import JoinGroupRequest, OffsetCommitRequest
from odradek.testing import InProcessBroker
from support.brokers.asking import Asking

PATIENCE_S = 60.0
RESETS = 3


def polled(consumer: Consumer) -> Callable[[], list[Any]]:
    """Polls a consumer for messages."""

    def poll() -> list[Any]:
        message = consumer.poll(0.1)
        return [] if message is None else [message]

    return poll


def from_the_beginning(kafka: InProcessBroker, group: str) -> None:
    """Lets a share group begin with the first record. A reset forgets that."""
    admin = AdminClient({"bootstrap.servers": kafka.bootstrap_servers})
    entry = ConfigEntry("share.auto.offset.reset", "earliest", incremental_operation=AlterConfigOpType.SET)
    resource = ConfigResource(ResourceType.GROUP, group, incremental_configs=[entry])
    admin.incremental_alter_configs([resource])[resource].result(PATIENCE_S)


def until(kafka: InProcessBroker, value: str, poll: Callable[[], list[Any]]) -> None:
    """Reads until a record comes. While none does, errors are those of a broker that has restarted."""
    deadline = time.monotonic() + PATIENCE_S
    while True:
        for message in poll():
            if message.error() is None and message.value() == value.encode():
                return
            assert message.error() is None or not message.error().fatal(), message.error()
        assert time.monotonic() < deadline, f"{value} is not read"


@pytest.mark.ci
@pytest.mark.parametrize("protocol", ["classic", "consumer"])
def test_a_consumer_of_librdkafka_reads_on(kafka: InProcessBroker, protocol: str) -> None:
    settings = {
        "bootstrap.servers": kafka.bootstrap_servers,
        "group.id": "readers",
        "group.protocol": protocol,
        "auto.offset.reset": "earliest",
        "topic.metadata.refresh.interval.ms": 500,
        "reconnect.backoff.max.ms": 100,
    }
    consumer = Consumer(settings)
    consumer.subscribe(["orders"])
    for number in range(1 + RESETS):
        kafka.produce("orders", f"round-{number}")
        until(kafka, f"round-{number}", polled(consumer))
        kafka.reset()
    consumer.close()


def test_a_commit_of_a_removed_classic_group_lets_its_member_join_again(kafka: InProcessBroker) -> None:
    """Java's consumer takes GROUP_ID_NOT_FOUND for the end, unlike UNKNOWN_MEMBER_ID."""
    protocol = JoinGroupRequest.JoinGroupRequestProtocol("range")
    join = JoinGroupRequest("readers", 60_000, 60_000, protocol_type="consumer", protocols=[protocol])
    member = Asking(kafka.port).ask(join, 3).member_id
    for group, error in (("readers", ErrorCode.UNKNOWN_MEMBER_ID), ("others", ErrorCode.GROUP_ID_NOT_FOUND)):
        kafka.reset()
        Asking(kafka.port).create("orders", 1)
        partition = OffsetCommitRequest.OffsetCommitRequestPartition(0, 1)
        topic = OffsetCommitRequest.OffsetCommitRequestTopic("orders", partitions=[partition])
        answer = Asking(kafka.port).ask(OffsetCommitRequest(group, 1, member, topics=[topic]), 9)
        assert answer.topics[0].partitions[0].error_code == error


@pytest.mark.ci
def test_a_share_consumer_of_librdkafka_reads_on(kafka: InProcessBroker) -> None:
    consumer = ShareConsumer({"bootstrap.servers": kafka.bootstrap_servers, "group.id": "sharers"})
    consumer.subscribe(["orders"])
    for number in range(2):
        from_the_beginning(kafka, "sharers")
        kafka.produce("orders", f"round-{number}")
        until(kafka, f"round-{number}", lambda: list(consumer.poll(0.1) or ()))
        kafka.reset()
    consumer.close()


@pytest.mark.java
@pytest.mark.ci
def test_a_share_consumer_of_java_reads_on(kafka: InProcessBroker) -> None:
    with ShareMembers() as members:
        members.start("one", kafka.port, "sharers", "orders")
        for number in range(2):
            from_the_beginning(kafka, "sharers")
            kafka.produce("orders", f"round-{number}")
            assert [value for *_, value in members.poll_until("one", 1)] == [f"round-{number}"]
            kafka.reset()
