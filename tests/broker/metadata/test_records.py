"""Metadata records have the same bytes as those of a real Kafka."""

import pytest

from odradek.broker.metadata.image.features import record_version, registration_change_version
from odradek.broker.metadata.image.replay import _KEPT_BY, _REMOVES, _REPLAYS
from odradek.broker.metadata.log.format import (
    QuorumState,
    bootstrap_checkpoint,
    control_records,
    kraft_version_of,
    leader_change_batch,
)
from odradek.protocol.internal_records.metadata_serde import METADATA_RECORDS, encode_record
from odradek.protocol.messages.metadata_records import (
    BrokerRegistrationChangeRecord,
    ConfigRecord,
    FeatureLevelRecord,
    NoOpRecord,
    PartitionChangeRecord,
    PartitionRecord,
    RegisterBrokerRecord,
    TopicRecord,
)
from odradek.protocol.messages.structure import Message
from odradek.protocol.records.batch import check_crc, iterate_headers
from odradek.protocol.records.control import ControlRecordType

TOPIC_ID = bytes.fromhex("101112131415161718191a1b1c1d1e1f")
DIRECTORY_ID = bytes.fromhex("00112233445566778899aabbccddeeff")

WRITTEN_BY_KAFKA: list[tuple[Message, int, str]] = [
    (FeatureLevelRecord("metadata.version", 30), 0, "010c00 11 6d657461646174612e76657273696f6e 001e 00"),
    (TopicRecord("t1", TOPIC_ID), 0, "010200 03 7431 101112131415161718191a1b1c1d1e1f 00"),
    (
        PartitionRecord(
            0,
            TOPIC_ID,
            replicas=[0],
            isr=[0],
            leader=0,
            leader_epoch=0,
            partition_epoch=0,
            directories=[DIRECTORY_ID],
        ),
        2,
        "010302 00000000 101112131415161718191a1b1c1d1e1f 0200000000 0200000000 01 01 00000000 00000000 00000000"
        "02 00112233445566778899aabbccddeeff 00",
    ),
    (
        ConfigRecord(2, "t1", "cleanup.policy", "compact"),
        0,
        "010400 02 03 7431 0f 636c65616e75702e706f6c696379 08 636f6d70616374 00",
    ),
    (BrokerRegistrationChangeRecord(0, 7, fenced=1), 0, "011100 00000000 0000000000000007 01 00 01 01"),
    (BrokerRegistrationChangeRecord(0, 7, fenced=-1), 0, "011100 00000000 0000000000000007 01 00 01 ff"),
    (NoOpRecord(), 0, "011400 00"),
]


@pytest.mark.parametrize(("record", "version", "written"), WRITTEN_BY_KAFKA, ids=lambda value: type(value).__name__)
def test_bytes_are_those_of_kafka(record: Message, version: int, written: str) -> None:
    assert encode_record(record, version) == bytes.fromhex(written)
    assert METADATA_RECORDS.decode(bytes.fromhex(written)) == (record, version)


def test_every_record_type_of_kafka_can_be_replayed() -> None:
    assert set(METADATA_RECORDS.types.values()) == {*_REPLAYS, *_KEPT_BY, *_REMOVES}


@pytest.mark.parametrize(
    ("metadata_version", "partition", "broker"),
    [(30, 2, 4), (29, 2, 3), (23, 2, 3), (22, 1, 3), (21, 1, 3), (17, 1, 3), (16, 0, 2), (8, 0, 2), (7, 0, 1)],
)
def test_record_versions_follow_the_metadata_version(metadata_version: int, partition: int, broker: int) -> None:
    assert record_version(PartitionRecord(), metadata_version) == partition
    assert record_version(PartitionChangeRecord(), metadata_version) == partition
    assert record_version(RegisterBrokerRecord(), metadata_version) == broker
    assert record_version(TopicRecord(), metadata_version) == 0


def test_registration_changes_have_the_lowest_version_that_holds_them() -> None:
    assert registration_change_version(BrokerRegistrationChangeRecord(fenced=1)) == 0
    assert registration_change_version(BrokerRegistrationChangeRecord(in_controlled_shutdown=1)) == 1
    assert registration_change_version(BrokerRegistrationChangeRecord(log_dirs=[DIRECTORY_ID])) == 2
    assert registration_change_version(BrokerRegistrationChangeRecord(cordoned_log_dirs=[])) == 3


def test_first_checkpoint_names_the_voter_as_storage_tool_does() -> None:
    directory_id = bytes.fromhex("7b5f8a6f48ea435da3088290de260f00")
    checkpoint = bootstrap_checkpoint(1, directory_id, ("CONTROLLER", "127.0.0.1", 9093), 1_795_000_000_000)
    # Lengths and values as `kafka-storage format --standalone` of 4.3.1 writes them.
    assert [header.size_in_bytes for _, header in iterate_headers(checkpoint)] == [166, 75]
    assert all(header.is_control for _, header in iterate_headers(checkpoint))
    assert [header.base_offset for _, header in iterate_headers(checkpoint)] == [0, 3]
    assert [header.partition_leader_epoch for _, header in iterate_headers(checkpoint)] == [0, 0]
    assert list(control_records(checkpoint)) == [
        (ControlRecordType.SNAPSHOT_HEADER, bytes.fromhex("0000 000001a1ee565e00 00")),
        (ControlRecordType.KRAFT_VERSION, bytes.fromhex("0000000100")),
        (
            ControlRecordType.KRAFT_VOTERS,
            bytes.fromhex(
                "00000200000001 7b5f8a6f48ea435da3088290de260f00 02 0b434f4e54524f4c4c4552 0a3132372e302e302e31 2385 00"
                "00000001000000"
            ),
        ),
        (ControlRecordType.SNAPSHOT_FOOTER, bytes.fromhex("000000")),
    ]


def test_kraft_version_is_read_back() -> None:
    assert kraft_version_of(bytes.fromhex("0000000100")) == 1


def test_leader_change_is_a_control_batch_of_91_bytes() -> None:
    batch = leader_change_batch(node_id=0, epoch=3, base_offset=17, now_ms=5)
    [(position, header)] = iterate_headers(batch)
    check_crc(batch, position, header)
    assert (len(batch), header.base_offset, header.partition_leader_epoch, header.is_control) == (91, 17, 3, True)
    assert list(control_records(batch)) == [
        (ControlRecordType.LEADER_CHANGE, bytes.fromhex("0000 00000000 02 00000000 00 02 00000000 00 00"))
    ]


DYNAMIC = b'{"leaderId":0,"leaderEpoch":1,"votedId":-1,"votedDirectoryId":"AAAAAAAAAAAAAAAAAAAAAA","data_version":1}'
STATIC = (
    b'{"clusterId":"","leaderId":0,"leaderEpoch":1,"votedId":-1,"appliedOffset":0,"currentVoters":[{"voterId":0}],'
    b'"data_version":0}'
)


@pytest.mark.parametrize("text", [DYNAMIC, STATIC], ids=["dynamic", "static"])
def test_quorum_state_is_that_of_kafka(text: bytes) -> None:
    state = QuorumState.parse(text)
    assert state.to_json() == text
    assert (state.leader_id, state.leader_epoch) == (0, 1)


@pytest.mark.parametrize("text", [b"", b"{}", b"[]", b'{"leaderId":0}'])
def test_broken_quorum_state_is_refused(text: bytes) -> None:
    with pytest.raises(ValueError, match=r"."):
        QuorumState.parse(text)
