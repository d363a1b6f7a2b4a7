"""A log checks batches of idempotent and transactional producers as Kafka's ProducerStateManager does, case by case."""

from pathlib import Path

import pytest

from odradek.protocol.common.steps import run_to_end
from odradek.protocol.errors import ErrorCode, KafkaError
from odradek.protocol.records.builder import encode_batch
from odradek.protocol.records.control import ControlRecordType, EndTransactionMarker, encode_end_transaction_batch
from odradek.protocol.records.record import Record
from odradek.storage.errors import CorruptSnapshotError
from odradek.storage.log.log import AppendInfo, AppendOrigin, Log
from odradek.storage.log.log_config import LogConfig
from odradek.storage.producers.producer_snapshots import decode_snapshot, encode_snapshot
from odradek.storage.producers.producer_state import (
    PRODUCERS_A_STEP,
    BatchMetadata,
    ProducerEntry,
    ProducerStateManager,
)

NOW = 1_700_000_000_000
MAX_SEQUENCE = 0x7FFFFFFF


@pytest.fixture
def log(tmp_path: Path) -> Log:
    return Log.open(tmp_path / "t-0", LogConfig(), now_ms=NOW)


def send(
    log: Log,
    sequence: int,
    count: int = 1,
    *,
    producer: int = 1,
    epoch: int = 0,
    transactional: bool = False,
    origin: AppendOrigin = AppendOrigin.CLIENT,
) -> AppendInfo:
    records = [Record(i, NOW, b"k", b"v", []) for i in range(count)]
    batch = encode_batch(
        records,
        producer_id=producer,
        producer_epoch=epoch,
        base_sequence=sequence,
        is_transactional=transactional,
    )
    return log.appender.append_as_leader(batch, 0, NOW, origin=origin)


def end(
    log: Log,
    kind: ControlRecordType,
    *,
    producer: int = 1,
    epoch: int = 0,
    coordinator_epoch: int = 0,
    transaction_version: int = 0,
) -> AppendInfo:
    batch = encode_end_transaction_batch(
        EndTransactionMarker(kind, coordinator_epoch), timestamp=NOW, producer_id=producer, producer_epoch=epoch
    )
    return log.appender.append_as_leader(
        batch, 0, NOW, origin=AppendOrigin.COORDINATOR, transaction_version=transaction_version
    )


def refused(code: ErrorCode) -> "pytest.RaisesExc[KafkaError]":
    return pytest.raises(KafkaError, match=code.name)


def test_a_batch_sent_again_gets_its_old_offsets(log: Log) -> None:
    first = [send(log, sequence, 2) for sequence in range(0, 12, 2)]
    for number in range(1, 6):
        again = send(log, number * 2, 2)
        assert again.duplicate
        assert (again.first_offset, again.last_offset) == (first[number].first_offset, first[number].last_offset)
    assert log.log_end_offset == 12
    with refused(ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER):
        send(log, 0, 2)  # the sixth last batch is forgotten
    with refused(ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER):
        send(log, 10, 1)  # part of a batch is not a duplicate


@pytest.mark.parametrize("sequence", [0, 1, 3, 100, MAX_SEQUENCE])
def test_a_gap_is_out_of_order(log: Log, sequence: int) -> None:
    send(log, 0, 2)
    with refused(ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER):
        send(log, sequence)
    assert log.log_end_offset == 2


def test_an_unknown_producer_may_begin_anywhere(log: Log) -> None:
    assert send(log, 77).first_offset == 0


def test_sequences_wrap(log: Log) -> None:
    send(log, MAX_SEQUENCE - 1, 2)
    send(log, 0)
    assert send(log, MAX_SEQUENCE - 1, 2).duplicate
    log.removal.truncate_fully_and_start_at(5)
    send(log, MAX_SEQUENCE, 3)
    assert send(log, MAX_SEQUENCE, 3).duplicate
    send(log, 2)


def test_epochs(log: Log) -> None:
    send(log, 0, epoch=1)
    with refused(ErrorCode.INVALID_PRODUCER_EPOCH):
        send(log, 1, epoch=0)
    with refused(ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER):
        send(log, 1, epoch=2)  # a new epoch begins at 0
    send(log, 0, epoch=2)
    with refused(ErrorCode.INVALID_PRODUCER_EPOCH):
        send(log, 0, epoch=1)  # not accepted, not even as a duplicate


def test_a_coordinator_is_not_asked_for_sequences(log: Log) -> None:
    send(log, 0, origin=AppendOrigin.COORDINATOR, epoch=1)
    send(log, 9, origin=AppendOrigin.COORDINATOR, epoch=1)
    with refused(ErrorCode.INVALID_PRODUCER_EPOCH):
        send(log, 10, origin=AppendOrigin.COORDINATOR, epoch=0)


def test_the_last_stable_offset_waits_for_every_open_transaction(log: Log) -> None:
    send(log, 0, producer=1, transactional=True)
    send(log, 0, producer=2, transactional=True)
    send(log, 0, producer=3)
    assert (log.last_stable_offset, log.high_watermark) == (0, 3)
    end(log, ControlRecordType.COMMIT, producer=1)
    assert log.last_stable_offset == 1
    end(log, ControlRecordType.ABORT, producer=2)
    assert log.last_stable_offset == log.log_end_offset == 5
    [aborted] = log.aborted_transactions(0, 5)
    assert (aborted.producer_id, aborted.first_offset, aborted.last_offset, aborted.last_stable_offset) == (2, 1, 4, 5)
    assert log.aborted_transactions(5, 5) == []


def test_a_read_needs_the_aborted_transactions_up_to_its_end(tmp_path: Path) -> None:
    """The end by the offset index, else the next segment, else the end of the log."""
    log = Log.open(tmp_path / "t-0", LogConfig(index_interval_bytes=200), now_ms=NOW)
    for first in range(3):
        send(log, first, transactional=True)
        end(log, ControlRecordType.ABORT)
        if first == 0:
            log.roll(NOW)
    assert [one.first_offset for one in log.aborted_in_read(0, 1)] == [0], "the next segment begins at 2"
    assert [one.first_offset for one in log.aborted_in_read(2, 1)] == [2, 4]
    for sequence in range(3, 9):
        send(log, sequence, transactional=True)
        end(log, ControlRecordType.ABORT)
    near = [one.first_offset for one in log.aborted_in_read(2, 1)]
    assert near[:2] == [2, 4]
    assert near[-1] < log.log_end_offset - 2, "an entry of the index bounds it"
    assert [one.first_offset for one in log.aborted_in_read(2, 1 << 20)] == [*range(2, 18, 2)]


def test_a_later_epoch_is_known(log: Log) -> None:
    send(log, 0, epoch=3)
    assert [log.producer_state.has_newer_epoch(1, epoch) for epoch in (2, 3, 4)] == [True, False, False]
    assert not log.producer_state.has_newer_epoch(2, 0)


def test_a_marker_beyond_the_high_watermark_decides_nothing_yet(log: Log) -> None:
    log.offsets.set_high_watermark(0)
    send(log, 0, transactional=True)
    log.offsets.set_high_watermark(1)
    end(log, ControlRecordType.COMMIT)
    assert log.last_stable_offset == 0
    log.offsets.set_high_watermark(2)
    assert log.last_stable_offset == 2


def test_transactional_rules(log: Log) -> None:
    send(log, 0, transactional=True)
    with refused(ErrorCode.INVALID_TXN_STATE):
        send(log, 1)
    end(log, ControlRecordType.COMMIT, coordinator_epoch=5)
    with refused(ErrorCode.TRANSACTION_COORDINATOR_FENCED):
        end(log, ControlRecordType.COMMIT, coordinator_epoch=4)
    # An empty transaction is allowed, and leaves no state.
    end(log, ControlRecordType.ABORT, epoch=1, coordinator_epoch=5)
    assert log.aborted_transactions(0, log.log_end_offset) == []
    with refused(ErrorCode.INVALID_PRODUCER_EPOCH):
        end(log, ControlRecordType.COMMIT, epoch=0, coordinator_epoch=5)


def test_late_marker_does_not_end_the_next_transaction_of_version_2(log: Log) -> None:
    """``ProducerAppendInfo.checkProducerEpoch``; KIP-1228."""
    send(log, 0, epoch=3, transactional=True)
    with refused(ErrorCode.INVALID_PRODUCER_EPOCH):
        end(log, ControlRecordType.COMMIT, epoch=3, transaction_version=2)
    assert log.last_stable_offset == 0
    end(log, ControlRecordType.COMMIT, epoch=4, transaction_version=2)
    end(log, ControlRecordType.COMMIT, epoch=4, transaction_version=2)  # repeated, because its answer was lost
    assert log.last_stable_offset == log.log_end_offset == 3
    send(log, 0, epoch=4, transactional=True)
    with refused(ErrorCode.INVALID_PRODUCER_EPOCH):
        end(log, ControlRecordType.ABORT, epoch=4, transaction_version=2)
    end(log, ControlRecordType.ABORT, epoch=4, transaction_version=1)
    assert log.last_stable_offset == log.log_end_offset


def test_marker_of_the_last_epoch_has_no_later_one(log: Log) -> None:
    send(log, 0, epoch=0x7FFF, transactional=True)
    end(log, ControlRecordType.ABORT, epoch=0x7FFF, transaction_version=2)
    assert log.last_stable_offset == log.log_end_offset


def test_idle_producers_expire_but_not_open_transactions(log: Log) -> None:
    send(log, 0, producer=1)
    send(log, 0, producer=2, transactional=True)
    run_to_end(log.remove_expired_producers(NOW + log.config.producer_id_expiration_ms - 1))
    assert set(log.producer_state.producers) == {1, 2}
    run_to_end(log.remove_expired_producers(NOW + log.config.producer_id_expiration_ms))
    assert set(log.producer_state.producers) == {2}


def test_an_expiry_looks_at_a_bounded_number_in_each_step() -> None:
    state = ProducerStateManager()
    state.producers = {
        number: ProducerEntry(number, 0, -1, NOW, None, []) for number in range(2 * PRODUCERS_A_STEP + 10)
    }
    steps = state.remove_expired(NOW + 1, 1)
    next(steps)
    assert len(state.producers) == PRODUCERS_A_STEP + 10
    del state.producers[2 * PRODUCERS_A_STEP]  # between two steps
    assert len(list(steps)) == 1
    assert not state.producers


def test_truncation_forgets_what_was_truncated(log: Log) -> None:
    send(log, 0)
    send(log, 1, transactional=True)
    log.removal.truncate_to(1)
    assert log.last_stable_offset == 1
    assert not send(log, 1).duplicate


def test_snapshot_bytes() -> None:
    entries = [
        ProducerEntry(7, 2, 3, 99, None, [BatchMetadata(5, 100, 1, 99)]),
        ProducerEntry(8, 0, -1, 50, 42, []),
    ]
    data = encode_snapshot(entries)
    assert len(data) == 10 + 2 * 46
    assert decode_snapshot(data) == entries
    assert len(encode_snapshot([])) == 10
    for broken in (data[:-1], data + b"\0", b"\0\2" + data[2:], data[:20] + b"\xff" + data[21:], b""):
        with pytest.raises(CorruptSnapshotError):
            decode_snapshot(broken)


def test_a_corrupt_snapshot_is_passed_over(tmp_path: Path) -> None:
    log = Log.open(tmp_path / "t-0", LogConfig(), now_ms=NOW)
    send(log, 0)
    log.roll(NOW)
    send(log, 1)
    log.close()
    (tmp_path / "t-0" / f"{2:020d}.snapshot").write_bytes(b"garbage")
    log = Log.open(tmp_path / "t-0", LogConfig(), now_ms=NOW, clean_shutdown=True)
    assert log.producer_state.producers[1].last_sequence == 1
    send(log, 2)
