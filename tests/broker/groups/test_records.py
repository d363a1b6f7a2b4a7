"""The records of ``__consumer_offsets``: encoding and decoding, old and unknown ones, compared with Kafka's tools."""

import json

import pytest

from odradek.broker.groups.classic.records import group_tombstone
from odradek.broker.groups.offsets.store import offset_commit_record, offset_tombstone
from odradek.broker.groups.records import CoordinatorRecord, decode_record
from odradek.protocol.codec import encode
from odradek.protocol.errors import ProtocolError
from odradek.protocol.messages.group_records import (
    GroupMetadataValue,
    LegacyOffsetCommitKey,
    OffsetCommitKey,
    OffsetCommitValue,
)
from support.kafka.java import java_class, java_or_skip, run_class

from .scripts import ScriptPlayer


def test_round_trip_with_type_and_version_in_front() -> None:
    value = OffsetCommitValue(offset=5, leader_epoch=2, metadata="m", commit_timestamp=7, topic_id=b"t" * 16)
    record = offset_commit_record("g", "topic", 3, value)
    assert record.key_bytes() == bytes.fromhex("0001") + encode(OffsetCommitKey("g", "topic", 3), 0)
    value_bytes = record.value_bytes()
    assert value_bytes is not None
    assert value_bytes[:2] == bytes.fromhex("0004")
    decoded = decode_record(record.key_bytes(), value_bytes)
    assert decoded is not None
    assert (decoded.key, decoded.value, decoded.value_version) == (record.key, value, 4)


def test_a_commit_with_its_own_expiry_is_written_in_version_1() -> None:
    value = OffsetCommitValue(offset=5, metadata="", commit_timestamp=7, expire_timestamp=9)
    record = offset_commit_record("g", "t", 0, value)
    decoded = decode_record(record.key_bytes(), record.value_bytes())
    assert decoded is not None
    assert isinstance(decoded.value, OffsetCommitValue)
    assert (decoded.value_version, decoded.value.expire_timestamp) == (1, 9)


@pytest.mark.parametrize("record", [group_tombstone("g"), offset_tombstone("g", "t", 1)])
def test_tombstones(record: CoordinatorRecord) -> None:
    assert record.value_bytes() is None
    decoded = decode_record(record.key_bytes(), None)
    assert decoded is not None
    assert (decoded.key, decoded.value) == (record.key, None)


def test_the_oldest_key_type_is_read_as_an_offset_commit() -> None:
    key = b"\x00\x00" + encode(LegacyOffsetCommitKey("g", "t", 4), 0)
    value = OffsetCommitValue(offset=8, metadata="x", commit_timestamp=1)
    decoded = decode_record(key, b"\x00\x00" + encode(value, 0))
    assert decoded is not None
    assert decoded.key == OffsetCommitKey("g", "t", 4)
    assert decoded.value == value


def test_records_of_unknown_types_are_skipped_when_loading() -> None:
    assert decode_record(b"\x00\x63whatever", b"\x00\x00") is None


@pytest.mark.parametrize("key", [None, b"", b"\x00"])
def test_a_key_without_a_type_is_refused_as_kafka_refuses_it(key: bytes | None) -> None:
    with pytest.raises(ProtocolError, match=r"no key|version from key's buffer"):
        decode_record(key, b"")


def test_a_value_of_a_later_version_is_refused_as_kafka_refuses_it() -> None:
    newer = b"\x00\x05" + encode(GroupMetadataValue(protocol="p", leader="l"), 3)
    with pytest.raises(ProtocolError, match="GroupMetadataValue has no version 5, only 0 to 4"):
        decode_record(group_tombstone("g").key_bytes(), newer)


def test_two_members_with_one_instance_id_are_refused() -> None:
    member = GroupMetadataValue.MemberMetadata
    members = [member(name, "i", "c", "h", 1, 1, b"", b"") for name in "ab"]
    value = GroupMetadataValue("consumer", 1, "range", "a", 0, members)
    with pytest.raises(ProtocolError, match=r"one group\.instance\.id"):
        decode_record(group_tombstone("g").key_bytes(), b"\x00\x03" + encode(value, 3))


def _history() -> list[tuple[bytes, bytes | None]]:
    """The records of a group that forms, commits, becomes empty and is deleted."""
    player = ScriptPlayer()
    timeouts = "session_timeout_ms=10000 rebalance_timeout_ms=60000 protocol_type=consumer"
    for line in (
        "config group_initial_rebalance_delay_ms=0",
        f"a: JoinGroup 9 group_id=g {timeouts} group_instance_id=i1 protocols=range:x",
        "wait 0",
        "a: SyncGroup 3 group_id=g generation_id=1 member_id=i1-1 group_instance_id=i1 assignments=i1-1:A",
        "a: OffsetCommit 9 group_id=g generation_id_or_member_epoch=1 member_id=i1-1 topics=t:0@5/note,1@6",
        "s: OffsetCommit 3 group_id=simple retention_time_ms=1000 topics=u:1@9",
        "a: LeaveGroup 5 group_id=g members=/i1",
        "a: DeleteGroups 2 groups_names=g",
    ):
        player.play(line)
    return player.stored_records()


@pytest.mark.java
def test_kafkas_own_formatters_read_what_we_write() -> None:
    java_or_skip()
    records = _history()
    lines = "".join(f"{key.hex()} {'-' if value is None else value.hex()}\n" for key, value in records)
    result = run_class(java_class("GroupRecords"), standard_input=lines)
    assert result.returncode == 0, result.stderr
    shown = [json.loads(line) for line in result.stdout.splitlines()]
    assert len(shown) == len(records)
    commits = [line for line in shown if line["formatter"] == "offset" and line["value"] is not None]
    read = [
        (
            line["key"]["data"]["topic"],
            line["key"]["data"]["partition"],
            line["value"]["version"],
            line["value"]["data"],
        )
        for line in commits
    ]
    assert [(topic, partition, int(version), data["offset"]) for topic, partition, version, data in read] == [
        ("t", 0, 4, 5),
        ("t", 1, 4, 6),
        ("u", 1, 1, 9),
    ]
    assert read[0][3]["metadata"] == "note"
    groups = [line for line in shown if line["formatter"] == "group"]
    generations = [line["value"]["data"]["generation"] for line in groups if line["value"] is not None]
    assert generations == [0, 1, 2]
    [member] = groups[1]["value"]["data"]["members"]
    assert (member["memberId"], member["groupInstanceId"], member["assignment"]) == ("i1-1", "i1", "QQ==")
    assert [line["value"] for line in shown].count(None) == 3
    # Kafka's serde, with which its coordinator loads, encodes to exactly our bytes.
    assert [(line["keyBytes"], line["valueBytes"]) for line in shown] == [
        (key.hex(), None if value is None else value.hex()) for key, value in records
    ]
