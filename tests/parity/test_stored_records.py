"""Unusual records in __consumer_offsets: Odradek and a real Kafka load the same partitions, and fail to load the same.

Each case has its own partition and group, so one start of each broker tests all cases.
"""

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, cast

import pytest

from odradek.broker.coordinator.partitioning import partition_for
from odradek.protocol.codec import encode
from odradek.protocol.common.wall_clock import clock_ms
from odradek.protocol.messages.group_records import (
    ConsumerGroupMemberMetadataKey,
    ConsumerGroupMemberMetadataValue,
    ConsumerGroupMetadataKey,
    ConsumerGroupMetadataValue,
    GroupMetadataKey,
    GroupMetadataValue,
    OffsetCommitKey,
    OffsetCommitValue,
    ShareGroupMetadataKey,
    ShareGroupMetadataValue,
    StreamsGroupMetadataKey,
    StreamsGroupMetadataValue,
)
from odradek.protocol.messages.groups import DescribeGroupsRequest, ListGroupsRequest, OffsetFetchRequest
from odradek.protocol.messages.structure import Message
from odradek.protocol.records.builder import BatchBuilder
from parity.side import DEADLINE_S, Side, produce_request
from support.brokers.our_broker import OurBroker
from support.kafka.real_kafka import RealKafka
from support.kafka.wire import Wire

pytestmark = [pytest.mark.java, pytest.mark.ci]

Stored = tuple[bytes, bytes | None]
LOADING, NOT_COORDINATOR = 14, 16
OFFSET_COMMIT, GROUP, CONSUMER_GROUP, CONSUMER_MEMBER, SHARE_GROUP, STREAMS_GROUP = 1, 2, 3, 5, 11, 17


def stored(record_type: int, key: Message, version: int, value: Message | None) -> Stored:
    key_bytes = record_type.to_bytes(2, "big") + encode(key, 0)
    return key_bytes, None if value is None else version.to_bytes(2, "big") + encode(value, version)


def offset(group: str, partition: int = 0, at: int = 5) -> Stored:
    value = OffsetCommitValue(at, -1, "", clock_ms())
    return stored(OFFSET_COMMIT, OffsetCommitKey(group, "t", partition), 4, value)


def classic(group: str, *members: tuple[str, str | None], **fields: Any) -> Stored:
    one = GroupMetadataValue.MemberMetadata
    made = [one(name, instance, "c", "h", 60_000, 60_000, b"", b"") for name, instance in members]
    value = GroupMetadataValue("consumer", 1, "range", "a", 1, made)
    for name, changed in fields.items():
        setattr(value, name, changed)
    return stored(GROUP, GroupMetadataKey(group), 3, value)


def consumer(group: str, epoch: int = 3) -> Stored:
    return stored(CONSUMER_GROUP, ConsumerGroupMetadataKey(group), 0, ConsumerGroupMetadataValue(epoch))


def member(group: str, name: str, **fields: Any) -> Stored:
    value = ConsumerGroupMemberMetadataValue(client_id="c", client_host="h", rebalance_timeout_ms=60_000)
    for field, changed in fields.items():
        setattr(value, field, changed)
    return stored(CONSUMER_MEMBER, ConsumerGroupMemberMetadataKey(group, name), 0, value)


def share(group: str) -> Stored:
    return stored(SHARE_GROUP, ShareGroupMetadataKey(group), 0, ShareGroupMetadataValue(epoch=1))


def streams(group: str) -> Stored:
    return stored(STREAMS_GROUP, StreamsGroupMetadataKey(group), 0, StreamsGroupMetadataValue(epoch=1))


def with_value(group: str, change: Callable[[bytes], bytes]) -> list[Stored]:
    key, value = offset(group, 1)
    return [offset(group), (key, change(value or b""))]


CASES: dict[str, Callable[[str], list[Stored]]] = {
    "offset": lambda g: [offset(g)],
    "negative partition": lambda g: [offset(g, -1)],
    "partitions at the ends": lambda g: [offset(g, -(2**31)), offset(g, 2**31 - 1), offset(g)],
    "negative offset": lambda g: [offset(g, 0, -5)],
    "two members with one instance id": lambda g: [classic(g, ("a", "i"), ("b", "i"))],
    "one member twice": lambda g: [classic(g, ("a", None), ("a", None))],
    "no leader": lambda g: [classic(g, ("a", None), leader=None)],
    "a leader that is not there": lambda g: [classic(g, ("b", None))],
    "no protocol type": lambda g: [classic(g, ("a", None), protocol_type="")],
    "negative generation": lambda g: [classic(g, ("a", None), generation=-7)],
    "empty key": lambda g: [offset(g), (b"", b"x")],
    "key of one byte": lambda g: [offset(g), (b"\0", b"x")],
    "unknown type": lambda g: [offset(g), (b"\0\x63abc", b"x")],
    "negative type": lambda g: [offset(g), (b"\xff\xffabc", b"x")],
    "key cut off": lambda g: [offset(g), (b"\0\1\0", b"\0\4")],
    "value cut off": lambda g: with_value(g, lambda value: value[:-3]),
    "empty value": lambda g: with_value(g, lambda value: b""),
    "value of a later version": lambda g: with_value(g, lambda value: b"\0\5" + value[2:]),
    "value of a negative version": lambda g: with_value(g, lambda value: b"\xff\xff" + value[2:]),
    "bytes after the value": lambda g: with_value(g, lambda value: value + b"zzz"),
    "classic, then consumer": lambda g: [classic(g, ("a", None)), consumer(g)],
    "consumer, then classic": lambda g: [consumer(g), classic(g, ("a", None))],
    "consumer with offsets": lambda g: [consumer(g), offset(g), offset(g, -3)],
    "negative epoch": lambda g: [member(g, "m", subscribed_topic_names=["t"]), consumer(g, -9)],
    "one instance id twice": lambda g: [member(g, name, instance_id="i") for name in "ab"],
    "broken pattern": lambda g: [member(g, "m", subscribed_topic_regex="((((")],
    "share": lambda g: [share(g)],
    "share over classic": lambda g: [classic(g, ("a", None)), share(g)],
    "share over offsets": lambda g: [offset(g), share(g)],
    "share, then classic": lambda g: [share(g), classic(g, ("a", None))],
    "share, then consumer": lambda g: [share(g), consumer(g)],
    "streams over offsets": lambda g: [offset(g), streams(g)],
}
NAMES = [next(g for g in map(str, range(100_000)) if partition_for(g, len(CASES)) == at) for at in range(len(CASES))]
KEYS = {"offsets.topic.num.partitions": str(len(CASES)), "group.initial.rebalance.delay.ms": "0"}


def play(broker: RealKafka | OurBroker, wire: Wire) -> dict[str, Any]:
    """Stores the records of all cases, kills and restarts the broker. Returns the state of each group."""
    broker.start()
    side = Side(wire, broker.port, isinstance(broker, OurBroker))
    for group in NAMES:
        side.group(group)
    for at, records in enumerate(CASES.values()):
        builder = BatchBuilder()
        for key, value in records(NAMES[at]):
            builder.append(clock_ms(), key, value)
        request = produce_request("__consumer_offsets", builder.build(), partition=at)
        answer = cast("Any", side.raw(request, 9, "__admin_client"))
        assert answer.responses[0].partition_responses[0].error_code == 0
    broker.kill()
    wire.close(broker.port, "main")
    logged = len(broker.output) if isinstance(broker, RealKafka) else 0
    broker.start()
    found = {}
    # Done twice: ListGroups reads all partitions, and in the first pass some may not have loaded yet.
    for at, case in [*enumerate(CASES)] * 2:
        # Kafka answers alike before it loads a partition and after loading has failed, so its log decides.
        said = f"Failed to load metadata from __consumer_offsets-{at} "

        def has_failed(said: str = said) -> bool:
            return not isinstance(broker, RealKafka) or said in broker.output[logged:]

        found[case] = seen(side, NAMES[at], has_failed)
    return found


def seen(side: Side, group: str, has_failed: Callable[[], bool]) -> Any:
    """The state of a group after loading: the partition's error, and the group as it is listed and described."""
    deadline = time.monotonic() + DEADLINE_S
    while True:
        error = side.ask(OffsetFetchRequest(group), 7)["errorCode"]
        if error != LOADING and (error != NOT_COORDINATOR or has_failed()):
            break
        assert time.monotonic() < deadline, f"{group} is still loading"
    listed = [
        (one["groupState"], one["groupType"])
        for one in side.ask(ListGroupsRequest(), 5)["groups"]
        if one["groupId"] == group
    ]
    [described] = side.ask(DescribeGroupsRequest([group]), 5)["groups"]
    return error, listed, described["errorCode"], described["groupState"], len(described["members"])


def test_the_same_partitions_load(tmp_path: Path) -> None:
    ours, kafka = OurBroker(tmp_path / "ours", KEYS), RealKafka(tmp_path / "kafka", KEYS)
    ours.directory.mkdir()
    with Wire() as wire:
        try:
            expected = play(kafka, wire)
        finally:
            kafka.kill()
        try:
            found = play(ours, wire)
        finally:
            ours.__exit__(None, None, None)
    assert found == expected
    assert {NOT_COORDINATOR, 0} == {error for error, *_ in found.values()}
    assert "Traceback" not in ours.log()
