"""The heavy steps of a round, which look into records: they can be exchanged, the rules of who calls them can't.

`RecordSteps` is what a round asks for; `PlainSteps` does it record by record with nothing but the core install,
`odradek compact` has compiled ones (pipeline/compact/compiled_steps.py) that leave the same bytes. What decides about a
record is one function, `record_stays`, of plain numbers: both call it. Pure. Source: Kafka's Cleaner.cleanInto and
shouldRetainRecord, MemoryRecords.filterTo.
"""

from collections.abc import Callable, Sequence
from typing import NamedTuple, Protocol

from ...protocol.errors import KafkaError
from ...protocol.records.batch import BatchHeader, Buffer
from ...protocol.records.builder import BatchBuilder
from ...protocol.records.errors import InvalidRecordError
from ...protocol.records.record import Record, decode_records
from .batch_chunk import BatchChunk
from .offset_map import DictionaryOffsetMap, KeyLimit, KeyRange, OffsetMap
from .record_marks import RecordMarks

Latest = OffsetMap | RecordMarks
"""What knows whether a record is the latest of its key: a map of all keys, or marks that maps of some each have set."""

LatestAmong = Callable[[Sequence[Record], int, Latest], Sequence[bool]]
"""For each record of a batch whether it is the latest of its key; the number is that of its first in the segment."""


class SiftOrder(NamedTuple):
    """What decides about data records. `latest_offset`: what lies behind it stays."""

    latest: Latest
    latest_offset: int
    now_ms: int


class Sifted(NamedTuple):
    """What stays of one batch: records in it, records that stay, those without a key, whether a tombstone stays."""

    records: int
    kept: int
    without_key: int
    keeps_tombstone: bool


class Sifting(Protocol):
    """The batches that were sifted, in their order."""

    @property
    def facts(self) -> Sequence[Sifted]:
        """What stays of each."""
        ...

    def rebuild(self, orders: Sequence[tuple[int, int | None]]) -> Sequence[Buffer]:
        """For each (number of a sifted batch, delete horizon in ms): the batch with the records that stay.

        Raises InvalidRecordError for what no batch can hold.
        """
        ...


class RecordSteps(Protocol):
    """What looks into the records of data batches. All raise InvalidRecordError with the place of the batch."""

    def offset_map(self, limit: KeyLimit, key_range: KeyRange) -> OffsetMap:
        """An empty map."""
        ...

    def sift(self, chunk: BatchChunk, batches: Sequence[int], order: SiftOrder) -> Sifting:
        """Decides about every record of these batches."""
        ...

    def mark(self, chunk: BatchChunk, batches: Sequence[int], offset_map: OffsetMap, marks: RecordMarks) -> None:
        """Sets the mark of each record whose key is in the map's range and of which no later one is in the map."""
        ...


def record_stays(is_behind_map: bool, has_key: bool, is_latest: bool, has_value: bool, drops_tombstones: bool) -> bool:
    """Whether a data record is the latest of its key; a tombstone only until its horizon, none without a key."""
    if is_behind_map:
        return True
    return has_key and is_latest and (has_value or not drops_tombstones)


def drops_tombstones(header: BatchHeader, now_ms: int) -> bool:
    """Whether the delete horizon of a batch has passed."""
    return header.has_delete_horizon and now_ms >= header.base_timestamp


class PlainSteps:
    """The steps in pure Python."""

    def offset_map(self, limit: KeyLimit, key_range: KeyRange) -> OffsetMap:
        """See RecordSteps."""
        return DictionaryOffsetMap(limit, key_range)

    def sift(self, chunk: BatchChunk, batches: Sequence[int], order: SiftOrder) -> "PlainSifting":
        """See RecordSteps."""
        return PlainSifting(chunk, batches, order)

    def mark(self, chunk: BatchChunk, batches: Sequence[int], offset_map: OffsetMap, marks: RecordMarks) -> None:
        """See RecordSteps."""
        assert isinstance(offset_map, DictionaryOffsetMap)
        first_records = chunk.first_records()
        for index in batches:
            for number, record in enumerate(decode(chunk, index), first_records[index]):
                key = record.key
                if key is not None and offset_map.holds(key) and record.offset >= offset_map.get(key):
                    marks.set(number)


class PlainSifting:
    """See Sifting."""

    __slots__ = ("_batches", "_chunk", "_kept", "facts")

    def __init__(
        self, chunk: BatchChunk, batches: Sequence[int], order: SiftOrder, latest_among: LatestAmong | None = None
    ) -> None:
        """`latest_among` says for the records of a batch which are the latest; without it the map is a dictionary."""
        self._chunk = chunk
        self._batches = batches
        self._kept: list[list[Record]] = []
        self.facts: list[Sifted] = []
        first_records = chunk.first_records() if isinstance(order.latest, RecordMarks) else [0] * len(chunk.headers)
        for index in batches:
            records = decode(chunk, index)
            is_latest = (latest_among or latest_in_dictionary)(records, first_records[index], order.latest)
            drops = drops_tombstones(chunk.headers[index], order.now_ms)
            end = order.latest_offset
            kept = [
                record
                for record, latest in zip(records, is_latest, strict=True)
                if record_stays(record.offset > end, record.key is not None, latest, record.value is not None, drops)
            ]
            without_key = sum(1 for record in records if record.key is None and record.offset <= end)
            keeps_tombstone = any(record.value is None for record in kept)
            self.facts.append(Sifted(len(records), len(kept), without_key, keeps_tombstone))
            self._kept.append(kept)

    def rebuild(self, orders: Sequence[tuple[int, int | None]]) -> list[bytes]:
        """See Sifting."""
        rebuilt = []
        for number, horizon in orders:
            index = self._batches[number]
            try:
                rebuilt.append(rebuilt_batch(self._chunk.headers[index], self._kept[number], horizon))
            except KafkaError as error:
                raise self._chunk.refusal(index, error) from error
        return rebuilt


def decode(chunk: BatchChunk, index: int) -> list[Record]:
    """The records of a batch. Raises InvalidRecordError with its place."""
    try:
        return decode_records(chunk.batch(index), chunk.headers[index])
    except KafkaError as error:
        raise chunk.refusal(index, error) from error


def latest_in_dictionary(records: Sequence[Record], first_record: int, latest: Latest) -> list[bool]:
    """See LatestAmong."""
    if isinstance(latest, RecordMarks):
        return [latest.is_set(first_record + number) for number in range(len(records))]
    assert isinstance(latest, DictionaryOffsetMap)
    return [record.key is not None and record.offset >= latest.get(record.key) for record in records]


def rebuilt_batch(header: BatchHeader, kept: Sequence[Record], delete_horizon_ms: int | None) -> bytes:
    """A batch with the records that stay; everything but those and its base timestamp is as before.

    Raises InvalidRecordError where that gives no batch.
    """
    builder = BatchBuilder(
        compression=header.compression_type,
        base_offset=header.base_offset,
        partition_leader_epoch=header.partition_leader_epoch,
        producer_id=header.producer_id,
        producer_epoch=header.producer_epoch,
        base_sequence=header.base_sequence,
        is_transactional=header.is_transactional,
        is_control=header.is_control,
        log_append_time_ms=header.max_timestamp if header.is_log_append_time else None,
        delete_horizon_ms=delete_horizon_ms,
    )
    try:
        for offset, timestamp, key, value, headers in kept:
            builder.append(timestamp, key, value, headers, offset)
        return builder.build(header.last_offset)
    except ValueError as error:
        raise InvalidRecordError(f"the batch can't be rebuilt: {error}") from error
