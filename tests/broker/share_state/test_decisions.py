"""The errors and the records of each operation. tests/parity/test_traps_share_state.py asks a real Kafka the same."""

import logging
from typing import Any

import pytest

from odradek.broker.share_state.operations import (
    DONE,
    DeleteOperation,
    InitializeOperation,
    Operation,
    ReadOperation,
    SummarizeOperation,
    WriteOperation,
)
from odradek.broker.share_state.persister import ReadState, StateSummary
from odradek.protocol.errors import ErrorCode
from odradek.protocol.internal_records.coordinator_serde import encode_key
from odradek.protocol.internal_records.share_batches import StateBatch
from odradek.protocol.internal_records.share_partition_key import SharePartitionKey
from odradek.protocol.internal_records.share_state_records import Snapshot, Update
from odradek.protocol.messages.share_records import ShareSnapshotKey, ShareUpdateKey
from odradek.protocol.records.builder import BatchBuilder

from .harness import KEY, TOPIC, ShareHarness, durable_state

ALL: list[Operation] = [
    InitializeOperation(0, 0),
    ReadOperation(0),
    WriteOperation(0, 0, 0, 0, ()),
    DeleteOperation(),
    SummarizeOperation(0),
]


def initialised(state_epoch: int = 3, start_offset: int = -1, **settings: Any) -> ShareHarness:
    harness = ShareHarness(**settings)
    assert harness.ask(InitializeOperation(state_epoch, start_offset)) == DONE
    return harness


def write(
    start_offset: int = -1, *batches: StateBatch, epochs: tuple[int, int] = (3, 0), complete_count: int = 0
) -> WriteOperation:
    """``epochs``: the state epoch and the leader epoch."""
    return WriteOperation(*epochs, start_offset, complete_count, batches)


@pytest.mark.parametrize("operation", ALL, ids=lambda operation: type(operation).__name__)
def test_a_negative_partition(operation: Operation) -> None:
    answer = initialised().ask(operation, KEY._replace(partition=-1))
    assert answer[:2] == (ErrorCode.INVALID_REQUEST, "The partition id cannot be a negative number.")


@pytest.mark.parametrize("operation", [ALL[0], ALL[3], ALL[4]], ids=lambda operation: type(operation).__name__)
@pytest.mark.parametrize("key", [KEY._replace(partition=4), KEY._replace(topic_id=b"u" * 16)])
def test_an_unknown_partition(operation: Operation, key: SharePartitionKey) -> None:
    assert initialised().ask(operation, key).error == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


@pytest.mark.parametrize("operation", [ReadOperation(0), write()], ids=lambda operation: type(operation).__name__)
def test_a_deleted_topic(operation: Operation) -> None:
    harness = initialised()
    harness.topics.clear()
    assert harness.ask(operation).error == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


@pytest.mark.parametrize(
    "operation",
    [InitializeOperation(-1, 0), ReadOperation(-1), write(epochs=(3, -1)), write(epochs=(-1, 0))],
)
def test_a_negative_epoch(operation: Operation) -> None:
    assert initialised().ask(operation).error == ErrorCode.INVALID_REQUEST


def test_what_is_not_initialised() -> None:
    harness = ShareHarness()
    assert harness.ask(ReadOperation(0)).error == ErrorCode.INVALID_REQUEST
    assert harness.ask(write()).error == ErrorCode.INVALID_REQUEST
    assert harness.ask(DeleteOperation()) == DONE
    assert harness.ask(SummarizeOperation(0)).state == StateSummary(0, 0, -1, -1)
    assert harness.records() == []


def test_the_leader_epoch_fences() -> None:
    harness = initialised()
    assert harness.ask(ReadOperation(5)).error == ErrorCode.NONE
    update = harness.records()[-1].value
    assert update == Update(0, 5, -1, -1, ()), "a new leader epoch is stored"
    for operation in (ReadOperation(4), write(epochs=(3, 4))):
        assert harness.ask(operation).error == ErrorCode.FENCED_LEADER_EPOCH
    assert harness.ask(ReadOperation(5)).error == ErrorCode.NONE
    assert harness.ask(write(epochs=(3, 9))) == DONE
    assert harness.ask(SummarizeOperation(-1)).state == StateSummary(3, 5, -1, 0), "a write stores no leader epoch"
    assert harness.ask(ReadOperation(5)).error == ErrorCode.NONE
    assert len(harness.records()) == 3


def test_the_state_epoch_fences() -> None:
    harness = initialised()
    assert harness.ask(InitializeOperation(2, 0)).error == ErrorCode.FENCED_STATE_EPOCH
    assert harness.ask(write(epochs=(2, 0))).error == ErrorCode.FENCED_STATE_EPOCH
    assert harness.ask(write(epochs=(9, 0))) == DONE, "a higher one is taken"
    assert harness.ask(write(epochs=(3, 0))) == DONE
    assert harness.ask(InitializeOperation(4, 7)) == DONE
    assert harness.ask(write(epochs=(3, 0))).error == ErrorCode.FENCED_STATE_EPOCH


def test_a_new_start_is_empty() -> None:
    harness = initialised()
    harness.ask(write(5, StateBatch(5, 9, 2, 1), complete_count=5))
    harness.timers.advance(1_000)
    assert harness.ask(InitializeOperation(4, 100)) == DONE
    now_ms = harness.timers.now_ms
    assert harness.records()[-1].value == Snapshot(1, 4, 0, 100, 0, now_ms, now_ms, ())
    assert harness.ask(ReadOperation(0)).state == ReadState(4, 100, ())


def test_writes_are_merged() -> None:
    harness = initialised()
    harness.ask(write(0, StateBatch(0, 9, 0, 1)))
    harness.ask(write(2, StateBatch(3, 4, 2, 1), StateBatch(0, 2, 2, 1), complete_count=3))
    assert harness.records()[-1].value == Update(0, 0, 2, 3, (StateBatch(2, 4, 2, 1),)), (
        "its batches are joined and cut"
    )
    state = harness.ask(ReadOperation(0)).state
    assert state == ReadState(3, 2, (StateBatch(2, 4, 2, 1), StateBatch(5, 9, 0, 1)))


def test_the_start_offset_never_falls() -> None:
    harness = initialised()
    harness.ask(write(10, complete_count=4))
    harness.ask(write(-1, complete_count=9))
    harness.ask(write(5, StateBatch(5, 12, 2, 1), complete_count=1))
    assert harness.records()[-1].value == Update(0, 0, 10, 4, (StateBatch(10, 12, 2, 1),))
    harness.ask(write(10, complete_count=3))
    assert harness.ask(SummarizeOperation(0)).state == StateSummary(3, 0, 10, 4), "nor does the count"
    harness.ask(write(11, complete_count=0))
    assert harness.ask(SummarizeOperation(0)).state == StateSummary(3, 0, 11, 0)


@pytest.mark.parametrize("batch", [StateBatch(5, 4, 2, 1), StateBatch(5, 2**63 - 1, 2, 1)])
def test_batches_without_sense(batch: StateBatch) -> None:
    harness = initialised()
    assert harness.ask(write(0, batch)).error == ErrorCode.INVALID_REQUEST
    assert len(harness.records()) == 1


def test_a_snapshot_follows_the_updates() -> None:
    harness = initialised(snapshot_update_records_per_snapshot=2)
    for offset in range(4):
        harness.ask(write(-1, StateBatch(offset, offset, 2, 1)))
    kinds = [type(record.value).__name__ for record in harness.records()]
    assert kinds == ["Snapshot", "Update", "Update", "Snapshot", "Update"]
    snapshot = harness.records()[3].value
    assert isinstance(snapshot, Snapshot)
    assert (snapshot.snapshot_epoch, snapshot.batches) == (1, (StateBatch(0, 2, 2, 1),))
    assert harness.records()[4].value == Update(1, 0, -1, 0, (StateBatch(3, 3, 2, 1),))


def test_deletion_frees_the_name() -> None:
    harness = initialised()
    harness.ask(ReadOperation(7))
    assert harness.ask(DeleteOperation()) == DONE
    assert harness.records()[-1].value is None
    assert harness.ask(ReadOperation(7)).error == ErrorCode.INVALID_REQUEST
    assert harness.ask(InitializeOperation(0, -1)) == DONE, "no fence is left"


def test_the_states_of_deleted_topics_are_removed() -> None:
    harness = initialised()
    other = SharePartitionKey("h", b"u" * 16, 0)
    harness.topics[other.topic_id] = 1
    harness.ask(InitializeOperation(0, 0), other)
    for _ in harness.coordinator.topics_deleted({TOPIC}):
        pass
    assert harness.core.states.keys() == {other}
    harness.start()
    assert harness.core.states.keys() == {other}


def raw(harness: ShareHarness, key: bytes, value: bytes | None) -> None:
    """Appends a record that the coordinator would not write."""
    builder = BatchBuilder()
    builder.append(0, key, value)
    harness.log.append(builder.build(), 0)


@pytest.mark.parametrize(
    "value",
    [
        b"",
        b"\x00\x00",
        b"\x00\x09" + bytes(40),
        b"\x00\x00" + bytes(20) + b"\x02" + (5).to_bytes(8) + (4).to_bytes(8) + bytes(4) + b"\x00\x00",
    ],
    ids=["empty", "short", "unknown version", "batch from 5 to 4"],
)
def test_a_value_without_sense_stops_its_share_partition(value: bytes, caplog: pytest.LogCaptureFixture) -> None:
    harness = initialised()
    other = KEY._replace(partition=1)
    harness.ask(InitializeOperation(0, 0), other)
    raw(harness, encode_key(ShareUpdateKey(*KEY)), value)
    harness.start()
    for operation in (ReadOperation(0), write(), SummarizeOperation(0)):
        answer = harness.ask(operation)
        assert answer.error == ErrorCode.UNKNOWN_SERVER_ERROR
        assert answer.message is not None
        assert "offset 2" in answer.message
    assert f"share partition {KEY.coordinator_key} can't be used" in caplog.text
    assert harness.ask(ReadOperation(0), other).error == ErrorCode.NONE
    assert harness.ask(InitializeOperation(2, 0)).error == ErrorCode.FENCED_STATE_EPOCH
    assert harness.ask(InitializeOperation(4, 0)) == DONE, "a new state replaces it"
    harness.start()
    assert harness.ask(ReadOperation(0)).error == ErrorCode.NONE


def test_an_update_without_a_value_stops_its_share_partition() -> None:
    harness = initialised()
    raw(harness, encode_key(ShareUpdateKey(*KEY)), None)
    harness.start()
    assert harness.ask(ReadOperation(0)).error == ErrorCode.UNKNOWN_SERVER_ERROR
    assert harness.ask(DeleteOperation()) == DONE
    harness.start()
    assert not harness.core.states


def test_a_key_without_sense_stops_the_partition(caplog: pytest.LogCaptureFixture) -> None:
    harness = initialised()
    raw(harness, encode_key(ShareSnapshotKey(*KEY))[:-1], b"")
    harness.start()
    assert harness.ask(ReadOperation(0)).error == ErrorCode.NOT_COORDINATOR
    assert "__share_group_state-0 cannot be loaded" in caplog.text


def test_an_unknown_type_is_skipped() -> None:
    harness = initialised()
    before = durable_state(harness.core)
    raw(harness, b"\x00\x07anything", b"anything")
    harness.start()
    assert durable_state(harness.core) == before


def test_a_lost_start_of_the_log_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    harness = initialised()
    harness.ask(write(5, StateBatch(6, 6, 2, 1), complete_count=1))
    del harness.log.batches[0]
    with caplog.at_level(logging.ERROR):
        harness.start()
    assert "the start of the log is lost: 1 share partitions have updates without a snapshot" in caplog.text
    assert KEY.coordinator_key in caplog.text
    assert harness.ask(ReadOperation(0)).state == ReadState(0, 5, (StateBatch(6, 6, 2, 1),)), "as Kafka"
