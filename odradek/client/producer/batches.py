"""What a producer queues: records and values with their futures, and the batches that they form.

Pure. Owns: the contents of a batch, upper bounds of its size, its halves if a broker finds it too large. Never does:
order, sequence numbers (``accumulator.py``), setting futures' results; futures are opaque values.
Source: ``org.apache.kafka.clients.producer.internals.ProducerBatch``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

from odradek.protocol.records.batch import increment_sequence
from odradek.protocol.records.values import decode_values, encode_values

from ..types import Header, TopicPartition

BATCH_OVERHEAD_BYTES = 61
RECORD_OVERHEAD_BYTES = 21
"""Upper bound of a record's bytes without key, value and headers (``DefaultRecord.MAX_RECORD_OVERHEAD``)."""
HEADER_OVERHEAD_BYTES = 10

PendingRecord = tuple[int, bytes | None, bytes | None, list[Header]]
"""Timestamp in ms, key, value, headers."""


def record_size(key: bytes | None, value: bytes | None, headers: list[Header]) -> int:
    """Upper bound of the bytes that a record takes in a batch, before compression."""
    size = RECORD_OVERHEAD_BYTES + (len(key) if key else 0) + (len(value) if value else 0)
    for name, content in headers:
        size += HEADER_OVERHEAD_BYTES + len(name) * 3 + (len(content) if content else 0)
    return size


def values_size(values: Sequence[bytes]) -> tuple[int, int | None]:
    """Upper bound of the bytes that records of these values take in a batch, before compression; and the size of each
    value, None if they differ.

    The bound holds if the timestamps in the batch differ by at most 17 minutes; more add up to 7 bytes to a record.
    """
    sizes = set(map(len, values))
    if len(sizes) == 1:
        each = sizes.pop()
        return len(values) * (each + value_overhead(each)), each
    return sum(map(len, values)) + len(values) * value_overhead(max(sizes)), None


def value_overhead(size: int) -> int:
    """Upper bound of the bytes of a record beside its value of ``size`` bytes, as :func:`values_size`.

    Attributes, timestamp delta (3), offset delta (3), null key, number of headers; sizes of the value and the record.
    """
    size += 9
    return 9 + 2 * (1 if size < 0x40 else 2 if size < 0x2000 else 3 if size < 0x100000 else 5)


def values_that_fit(batch_size: int, size: int) -> int:
    """The number of values of ``size`` bytes that fit in a batch; at least one, which any batch takes."""
    return max(1, (batch_size - BATCH_OVERHEAD_BYTES) // (size + value_overhead(size)))


@dataclass(eq=False, slots=True)
class QueuedRecord:
    """One record, as ``send`` queues it, with its future."""

    count: ClassVar[int] = 1
    record: PendingRecord
    future: Any

    @property
    def timestamp_ms(self) -> int:
        """The record's timestamp."""
        return self.record[0]

    @property
    def size(self) -> int:
        """Upper bound in bytes."""
        _, key, value, headers = self.record
        return record_size(key, value, headers)


@dataclass(eq=False, slots=True)
class SharedDelivery:
    """The state of a ``send_values`` call: one future for all its records, which may be split into several batches."""

    future: Any
    parts: int = 1
    """The number of its parts that are not acknowledged yet."""
    first: Any = None
    """The RecordMetadata of the first record, after its batch is acknowledged."""


@dataclass(eq=False, slots=True)
class QueuedValues:
    """Records without keys and headers, as ``send_values`` queues them: one timestamp and one future for all.

    A batch encodes them when they are added, as in Java: then the values are in the processor's cache, which is much
    smaller than ``buffer.memory``. Their memory is free from then on.
    """

    timestamp_ms: int
    values: Sequence[bytes]
    """Empty after they were encoded."""
    count: int
    """The number of records."""
    size: int
    """Upper bound in bytes."""
    value_size: int | None
    """The size of each value; None if they differ."""
    delivery: SharedDelivery
    encoded: bytes = b""

    @property
    def future(self) -> Any:
        """The future of all records."""
        return self.delivery.future

    def encode(self, first_delta: int, timestamp_delta: int) -> None:
        """Encodes the records for a batch: their offset deltas begin with ``first_delta``."""
        self.encoded = encode_values(self.values, first_delta, timestamp_delta, self.value_size)
        self.values = ()

    def split(self, at: int) -> tuple[QueuedValues, QueuedValues]:
        """The first ``at`` records, and the others. Both together complete the delivery."""
        self.delivery.parts += 1
        values = decode_values(self.encoded)
        return self._of(values[:at]), self._of(values[at:])

    def whole(self) -> QueuedValues:
        """The same records, not encoded, for another batch."""
        return self._of(decode_values(self.encoded))

    def _of(self, values: Sequence[bytes]) -> QueuedValues:
        return QueuedValues(self.timestamp_ms, values, len(values), *values_size(values), self.delivery)


Part = QueuedRecord | QueuedValues


@dataclass(eq=False, slots=True)
class ProducerBatch:
    """Records of one partition that are sent as one record batch."""

    partition: TopicPartition
    created_ms: float
    order: tuple[int, int]
    """Sort key among the partition's batches: (serial number, index of the first record in the batch before a split).
    """
    parts: list[Part] = field(default_factory=list)
    base_timestamp_ms: int = 0
    """The timestamp of the first record."""
    count: int = 0
    """The number of records."""
    size: int = BATCH_OVERHEAD_BYTES
    """Upper bound in bytes before compression."""
    attempts: int = 0
    last_error: BaseException | None = None
    """Why it is sent again."""
    base_sequence: int = -1
    producer_id: int = -1
    producer_epoch: int = -1
    encoded: bytes | None = None
    """The encoded record batch, kept for retries. The sender sets it."""
    closed: bool = False
    """True: no more records are added, and the batch does not linger."""

    @property
    def futures(self) -> list[Any]:
        """The futures of its records: one for each part."""
        return [part.future for part in self.parts]

    def add(self, part: Part, size: int) -> None:
        """Adds a part of at most ``size`` bytes."""
        if not self.parts:
            self.base_timestamp_ms = part.timestamp_ms
        if isinstance(part, QueuedValues):
            part.encode(self.count, part.timestamp_ms - self.base_timestamp_ms)
        self.parts.append(part)
        self.count += part.count
        self.size += size

    def halves(self) -> list[ProducerBatch]:
        """Two batches with half of the records each, which keep the sequence numbers and are closed."""
        assert self.count > 1, "one record cannot be split"
        half = self.count // 2
        first = ProducerBatch(self.partition, self.created_ms, self.order)
        second = ProducerBatch(self.partition, self.created_ms, (self.order[0], self.order[1] + half))
        for part in self.parts:
            left = half - first.count
            if left <= 0 or part.count <= left:
                moved = part.whole() if isinstance(part, QueuedValues) else part
                (second if left <= 0 else first).add(moved, moved.size)
            else:
                assert isinstance(part, QueuedValues)
                before, after = part.split(left)
                first.add(before, before.size)
                second.add(after, after.size)
        for batch, start in ((first, 0), (second, half)):
            batch.attempts, batch.closed = self.attempts + 1, True
            if self.base_sequence >= 0:
                batch.base_sequence = increment_sequence(self.base_sequence, start)
                batch.producer_id, batch.producer_epoch = self.producer_id, self.producer_epoch
        return [first, second]
