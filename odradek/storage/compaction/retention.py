"""Decides what remains of each batch of a chunk: the unchanged batch, a rebuilt one, its bare header, or nothing.

Pure. A rebuilt batch has the original's offsets, sequences, producer fields, leader epoch, timestamp type and
compression type. A batch with a tombstone, or a marker whose data is gone, gets a delete horizon once. The steps that
decode records are passed in (record_steps.py). Source: Kafka's Cleaner.cleanInto, MemoryRecords.filterTo; KIP-534;
KAFKA-17076 (the last batch of a log stays).
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import NamedTuple

from odradek.protocol.errors import KafkaError
from odradek.protocol.records.batch import (
    CONTROL_FLAG,
    LOG_OVERHEAD,
    TRANSACTIONAL_FLAG,
    BatchHeader,
)
from odradek.protocol.records.builder import encode_empty_batch

from .batch_chunk import BatchChunk
from .batch_records import control_content, rebuilt_batch, records_in
from .record_steps import EMPTY, WHOLE, Piece, Rebuilt, RecordSteps, RetentionInput, piece_of
from .transactions import CleanedTransactions


class LastRecord(NamedTuple):
    """The last data offset of an active producer (None: it wrote markers only), and its epoch."""

    last_data_offset: int | None
    producer_epoch: int


@dataclass(slots=True)
class Round:
    """The input of one round over a partition. Times are ms since 1970."""

    now_ms: int
    delete_retention_ms: int
    steps: RecordSteps
    high_watermark: int
    """Of the log. The batch that ends there stays, at least as a header: it keeps the end of the log."""
    last_records: Mapping[int, LastRecord]
    first_dirty_offset: int = 0
    transactions: CleanedTransactions = field(default_factory=CleanedTransactions)
    records_read: int = 0
    records_kept: int = 0
    records_without_key: int = 0


class _Stay(Enum):
    """The outcomes of a batch that stays unchanged, and of one that the steps rebuild."""

    VERBATIM = 0
    REBUILT = 1


_VERBATIM, _REBUILT = _Stay.VERBATIM, _Stay.REBUILT
_Outcome = bytes | _Stay | None


def retain(round_: Round, chunk: BatchChunk, order: RetentionInput) -> Iterator[tuple[Iterator[Piece], bool]]:
    """For each part of a chunk: (the pieces to write, whether anything changes). Pass chunks in the order of offsets.

    Most chunks are one part. A chunk whose records exceed the memory limit of the steps is split into several. Take the
    pieces of a part before the next part. Raises InvalidRecordError for records that can't be
    decoded or rebuilt. The partition then stays unchanged.
    """
    outcomes: list[_Outcome] = [None] * len(chunk.headers)
    data = range(len(outcomes)) if chunk.is_plain else _without_data(round_, chunk, outcomes)
    first = 0
    while True:
        taken, rebuilt = _data_batches(round_, chunk, data, order, outcomes) if data else (0, None)
        data = data[taken:]
        end = data[0] if data else len(outcomes)
        is_changed = chunk.is_converted or any(outcome is not _VERBATIM for outcome in outcomes[first:end])
        yield _pieces(chunk, outcomes, first, end, rebuilt), is_changed
        if not data:
            return
        del rebuilt  # before the next batches are filtered
        first = end


def _without_data(round_: Round, chunk: BatchChunk, outcomes: list[_Outcome]) -> Sequence[int]:
    """Sets the outcomes of markers, aborted batches and empty batches. Returns the indexes of the others."""
    data = []
    is_aborted = round_.transactions.is_aborted
    for index, header in enumerate(chunk.headers):
        if header.attributes & CONTROL_FLAG:
            outcomes[index] = _control_batch(round_, chunk, index)
        elif header.attributes & TRANSACTIONAL_FLAG and is_aborted(header):
            outcomes[index] = _without_records(round_, chunk, index, header.records_count)
        elif header.records_count == 0:
            outcomes[index] = _without_records(round_, chunk, index, 0)
        else:
            data.append(index)
    return data


def _control_batch(round_: Round, chunk: BatchChunk, index: int) -> _Outcome:
    """The outcome of a marker: it is removed after its data is gone and its horizon has passed."""
    header = chunk.headers[index]
    content = control_content(chunk, index)
    try:
        is_discardable = round_.transactions.is_discardable(header, content.first_key)
        horizon = header.delete_horizon_ms
        if not content.records or (is_discardable and horizon is not None and horizon <= round_.now_ms):
            return _without_records(round_, chunk, index, content.records)
        round_.records_read += content.records
        round_.records_kept += content.records
        needs_horizon = is_discardable or content.has_tombstone
        if not needs_horizon or horizon is not None:
            return _VERBATIM
        return rebuilt_batch(header, records_in(chunk, index), round_.now_ms + round_.delete_retention_ms)
    except KafkaError as error:
        raise chunk.refusal(index, error) from error


def _data_batches(
    round_: Round, chunk: BatchChunk, batches: Sequence[int], order: RetentionInput, outcomes: list[_Outcome]
) -> tuple[int, Rebuilt | None]:
    """Sets the outcomes of these data batches, up to the number that the steps filter at once.

    Returns that number, and the batches that were rebuilt, if any.
    """
    record_filter = round_.steps.filter_records(chunk, batches, order)
    rebuilds = []
    for number, outcome in enumerate(record_filter.outcomes):
        if outcome == EMPTY:
            outcomes[batches[number]] = _without_records(round_, chunk, batches[number], 0)
        elif outcome == WHOLE:
            outcomes[batches[number]] = _VERBATIM
        else:
            outcomes[batches[number]] = _REBUILT
            rebuilds.append(number)
    round_.records_read += record_filter.total.records
    round_.records_kept += record_filter.total.kept
    round_.records_without_key += record_filter.total.without_key
    horizon = round_.now_ms + round_.delete_retention_ms
    return len(record_filter.outcomes), record_filter.rebuild(rebuilds, horizon) if rebuilds else None


def _without_records(round_: Round, chunk: BatchChunk, index: int, records: int) -> _Outcome:
    """The bare header of a batch that keeps no record, or None if it need not stay. If it stays, adds `records` to the
    number of records read.
    """
    if not chunk.has_producer_id(index) and chunk.next_offset(index) != round_.high_watermark:
        return None  # the usual case, without reading the header
    header = chunk.headers[index]
    if not _keeps_header(round_, header):
        return None
    round_.records_read += records
    bare = _bare_header(header)
    return _VERBATIM if bare == chunk.batch(index) else bare  # a bare header from an earlier round stays unchanged


def _keeps_header(round_: Round, header: BatchHeader) -> bool:
    """Whether a batch without records stays as a header: it has a producer's last sequence, or ends the log."""
    if header.next_offset == round_.high_watermark:
        return True
    last = round_.last_records.get(header.producer_id)
    if last is None:
        return False
    if last.last_data_offset is None:
        return header.is_control and header.producer_epoch == last.producer_epoch
    return header.last_offset == last.last_data_offset


def _pieces(
    chunk: BatchChunk, outcomes: Sequence[_Outcome], first: int, end: int, rebuilt: Rebuilt | None
) -> Iterator[Piece]:
    """The pieces to write for the batches from `first` to `end` (exclusive).

    Adjacent unchanged batches form one piece, and so do adjacent rebuilt ones.
    """
    taken = 0
    for outcome, run in _runs(outcomes, first, end):
        if outcome is _VERBATIM:
            yield _verbatim(chunk, run[0], run[-1] + 1)
        elif outcome is _REBUILT:
            assert rebuilt is not None
            yield from rebuilt.pieces(taken, taken + len(run))
            taken += len(run)
        elif isinstance(outcome, bytes):
            yield piece_of(outcome)


def _runs(outcomes: Sequence[_Outcome], first: int, end: int) -> Iterator[tuple[_Outcome, Sequence[int]]]:
    """Runs of adjacent batches with the same outcome, from `first` to `end` (exclusive): (outcome, their indexes).

    A removed batch ends a run of verbatim ones, which must be one contiguous part of the chunk, but not a run of
    rebuilt ones.
    """
    run: list[int] = []
    for index in range(first, end):
        outcome = outcomes[index]
        if outcome is None:
            continue
        if run and (outcome is not outcomes[run[0]] or (outcome is _VERBATIM and index > run[-1] + 1)):
            yield outcomes[run[0]], run
            run = []
        run.append(index)
    if run:
        yield outcomes[run[0]], run


def _verbatim(chunk: BatchChunk, first: int, end: int) -> Piece:
    """The batches from `first` to `end` (exclusive) unchanged."""
    stop = chunk.starts[end - 1] + chunk.headers[end - 1].batch_length + LOG_OVERHEAD
    return Piece(chunk.data[chunk.starts[first] : stop], chunk.indexed(first, end))


def _bare_header(header: BatchHeader) -> bytes:
    return encode_empty_batch(
        base_offset=header.base_offset,
        last_offset=header.last_offset,
        max_timestamp=header.max_timestamp,
        partition_leader_epoch=header.partition_leader_epoch,
        producer_id=header.producer_id,
        producer_epoch=header.producer_epoch,
        base_sequence=header.base_sequence,
        is_log_append_time=header.is_log_append_time,
        is_transactional=header.is_transactional,
        is_control=header.is_control,
    )
