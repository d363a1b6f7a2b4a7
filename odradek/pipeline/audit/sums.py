"""The sums of one closed segment: all that the audit of a partition needs from it if its bytes have not changed.

Pure. A check that reads a segment fills its part. `accepts` of a check says whether a later audit may take the part
instead of the bytes, `take` takes it. The state of the check is then the same as after reading the bytes.
Source: the checks (batch_checks.py, transaction_checks.py, producer_checks.py, record_checks.py).
"""

from dataclasses import dataclass, field
from typing import NamedTuple

from .packed_arrays import PackedArray
from .replica_points import SegmentPoints

MOST_FINDINGS = 100
"""The most findings of a segment that are kept. A segment with more is read again each time."""
MOST_PRODUCERS = 20_000
"""As MOST_FINDINGS, for producers in one segment."""
MOST_EPOCHS = 1_000
"""As MOST_FINDINGS, for runs of batches with one leader epoch."""

FINDINGS_OF_A_SEGMENT = frozenset(
    (
        "batch-attributes-unknown",
        "batch-codec-unknown",
        "batch-crc-mismatch",
        "batch-incomplete",
        "batch-length-invalid",
        "batch-magic-unknown",
        "batch-max-timestamp-wrong",
        "batch-too-large",
        "null-key-in-compacted-topic",
        "offset-before-segment",
        "offset-beyond-segment",
        "offset-index-mismatch",
        "offset-index-missing",
        "offset-index-not-increasing",
        "offset-index-size",
        "offset-index-sparse",
        "offset-index-truncated",
        "offsets-not-increasing",
        "record-offsets-invalid",
        "records-malformed",
        "segment-emptied",
        "time-index-incomplete",
        "time-index-mismatch",
        "time-index-missing",
        "time-index-not-increasing",
        "time-index-size",
        "timestamp-negative",
    )
)
"""Findings that depend only on the files of a segment. With any other one, the segment is read again each time."""


class HeardFinding(NamedTuple):
    """The arguments of `PartitionReport.add`, with the name of the file instead of its path."""

    name: str
    file: str
    detail: str
    position: int
    offset: int


class EpochRun(NamedTuple):
    """Consecutive batches with one leader epoch, and the lowest and highest base offset among them."""

    epoch: int
    low: int
    high: int


class OffsetPlace(NamedTuple):
    """The position of a batch, and an offset: its first one, or that of the gap before it."""

    position: int
    offset: int


@dataclass(slots=True)
class BatchSums:
    """What the headers of a segment's batches add to a partition. Times are ms, -1 for none."""

    log_start: int = 0
    """The log start offset at the time, which divides `records` from `deleted_records`."""
    batches: int = 0
    records: int = 0
    deleted_records: int = 0
    control_batches: int = 0
    gaps: int = 0
    """Offset gaps without one before the first batch."""
    first_gap: OffsetPlace | None = None
    lost_bytes: int = 0
    """Bytes of zeros at the end of the file."""
    codecs: list[int] = field(default_factory=list)
    has_legacy: bool = False
    min_timestamp: int = -1
    max_timestamp: int | None = None
    volume: dict[int, list[int]] = field(default_factory=dict)
    first_offset: int = -1
    low_offset: int = -1
    first_position: int = -1
    next_offset: int = -1
    epochs: list[EpochRun] = field(default_factory=list)
    latest_time: int = -1
    least_time: int | None = None
    first_stamp: int | None = None
    last_stamp: int = -1

    def with_log_start(self, log_start: int) -> tuple[int, int] | None:
        """(records, deleted records) with another log start offset; None if the sums do not tell."""
        if log_start == self.log_start:
            return self.records, self.deleted_records
        is_above, is_below = self.low_offset >= log_start, self.next_offset <= log_start
        was_above, was_below = self.low_offset >= self.log_start, self.next_offset <= self.log_start
        if (is_above and was_above) or (is_below and was_below):
            return self.records, self.deleted_records
        return (0, self.records + self.deleted_records) if is_below and was_above else None


@dataclass(slots=True)
class TransactionPart:
    """Batches of one transaction in a segment. `marker`: the offset of the marker that ends it there; -1 for none.

    `position` and `first_offset`: of its first batch; -1 if the segment has only its marker. `indexed`: the first
    offset in the transaction index, for an abort.
    """

    producer_id: int
    epoch: int
    position: int
    first_offset: int
    last_timestamp: int = -1
    kept_position: int = -1
    kept_offset: int = -1
    marker: int = -1
    is_commit: bool = False
    indexed: int | None = None

    def read(self, epoch: int, position: int, offset: int, timestamp: int, *, has_records: bool) -> bool:
        """Adds a batch. False if it has another epoch."""
        self.last_timestamp = max(self.last_timestamp, timestamp)
        if self.kept_position < 0 and has_records:
            self.kept_position, self.kept_offset = position, offset
        return epoch == self.epoch


@dataclass(slots=True)
class TransactionSums:
    """The transactions in a segment. `is_whole`: False if they can't be told in this form.

    `heads`: by producer, what comes up to its first marker, which may belong to a transaction of an earlier segment.
    `tails`: by producer, a transaction after that without a marker. `ends`: the last marker of each producer.
    """

    first_base: int = 0
    """The base offset of the log's first segment at the time."""
    heads: dict[int, TransactionPart] = field(default_factory=dict)
    tails: dict[int, TransactionPart] = field(default_factory=dict)
    ends: dict[int, int] = field(default_factory=dict)
    transactional: dict[int, None] = field(default_factory=dict)
    plain: dict[int, OffsetPlace] = field(default_factory=dict)
    """The first batch of producers without transactions: position and offset."""
    least_aborted: int | None = None
    """The lowest offset of a record of a transaction that begins and is aborted in the segment."""
    is_whole: bool = True

    def read_data(
        self, producer_id: int, epoch: int, position: int, offset: int, timestamp: int, *, has_records: bool
    ) -> None:
        """Reads a transactional batch."""
        part = self.tails.get(producer_id)
        if part is None:
            head = self.heads.get(producer_id)
            if head is None or head.marker >= 0:
                part = TransactionPart(producer_id, epoch, position, offset)
                (self.heads if head is None else self.tails)[producer_id] = part
            else:
                part = head
        self.is_whole &= part.read(epoch, position, offset, timestamp, has_records=has_records)

    def read_marker(self, producer_id: int, offset: int, *, is_commit: bool) -> None:
        """Reads a marker."""
        tail = self.tails.pop(producer_id, None)
        head = self.heads.get(producer_id)
        if tail is not None:
            if not is_commit and tail.kept_offset >= 0:
                least = tail.kept_offset if self.least_aborted is None else self.least_aborted
                self.least_aborted = min(least, tail.kept_offset)
        elif head is None:
            self.heads[producer_id] = TransactionPart(producer_id, -1, -1, -1, marker=offset, is_commit=is_commit)
        elif head.marker < 0:
            head.marker, head.is_commit = offset, is_commit
        self.ends.pop(producer_id, None)
        self.ends[producer_id] = offset


class ProducerSpan(NamedTuple):
    """The first and last batch of a producer in a segment. Gaps are counted from the segment's first batch on."""

    producer_id: int
    first_epoch: int
    first_sequence: int
    first_gaps: int
    last_epoch: int
    last_sequence: int
    last_offset: int
    last_gaps: int


class PlacedKey(NamedTuple):
    """A new key, and how many records with a key were looked at up to it."""

    looked_at: int
    key: bytes


@dataclass(slots=True)
class RecordSums:
    """What the records of a segment add to a partition."""

    decoded_size: int
    is_compressed: bool
    key_records: int
    buckets: PackedArray
    bits: PackedArray
    """Eight of `KeyCounts.bits` in each number."""
    cleaned_to: int
    """The offset at the time up to which the log was cleaned."""
    clean_hashes: PackedArray
    """The hashes of the keys in the clean part of a compacted topic."""
    least_horizon: int | None = None
    """The earliest delete horizon of a tombstone, ms."""
    placed: list[PlacedKey] | None = None
    """The first keys; None if they are too long."""
    looked_at: int = 0


@dataclass(slots=True)
class SegmentSums:
    """The sums of a segment, and what its files were.

    `prints`: what the file system says of each file of the segment, by suffix (segment_prints.py). `digest`: of the
    positions, headers and CRC results of its batches, and of its damage.
    """

    base_offset: int
    size: int
    prints: dict[str, str]
    digest: str
    first_timestamp: int
    largest_timestamp: int
    found: list[HeardFinding]
    batches: BatchSums
    transactions: TransactionSums
    producers: list[ProducerSpan]
    records: RecordSums | None = None
    points: SegmentPoints | None = None
    """With these, replicas are compared; None if the segment has to be read for that."""
