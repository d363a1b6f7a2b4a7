"""A consumer that counts records and bytes without returning them, for ``odradek perf consume``.

Owns: counting by batches. It reads the lengths of keys and values but creates no record objects, which takes a fifth
of the time of :class:`.consumer.Consumer`. Groups, positions, isolation and errors are those of the consumer.
"""

from collections.abc import Iterator
from typing import Any, NamedTuple

from odradek.protocol.errors import KafkaError
from odradek.protocol.records.batch import (
    BATCH_HEADER_SIZE,
    COMPRESSION_TYPE_MASK,
    CONTROL_FLAG,
    LOG_OVERHEAD,
    TRANSACTIONAL_FLAG,
    check_crc,
    iterate_headers,
)
from odradek.protocol.records.record import iterate_records, records_section
from odradek.protocol.records.record_sizes import payload_bytes

from .consumer import Consumer
from .fetched import FetchedPartition

NOT_PLAIN = COMPRESSION_TYPE_MASK | TRANSACTIONAL_FLAG | CONTROL_FLAG
"""The attributes of batches that need more than their sizes read."""


class CountedBatch(NamedTuple):
    """The visible records of one batch: from the position on, without control and aborted records."""

    offset: int
    """The offset of the batch's last record."""
    records: int
    size: int
    """Bytes of keys and values."""
    leader_epoch: int


class CountedPartition(FetchedPartition):
    """One partition's records in one Fetch response, counted by batches."""

    def take(self, max_records: int) -> list[Any]:
        """The next batches, until they have ``max_records`` records. Raises the errors of FetchedPartition.take."""
        if self._ahead is None and self._error is not None:
            raise self._error
        if self._ahead is None:
            return []
        batch: Any = self._ahead
        taken, left = [batch], max_records - batch.records
        self._ahead = None
        try:
            for batch in self._records:
                if left <= 0:
                    self._ahead = batch
                    break
                taken.append(batch)
                left -= batch.records
        except KafkaError as error:
            self._error = error
        self.expected_position = self.next_offset
        return taken

    @staticmethod
    def count(taken: list[Any]) -> int:
        """The number of records."""
        return sum([batch.records for batch in taken])

    def _decode(self) -> Iterator[Any]:
        view, new = memoryview(self._buffer), tuple.__new__
        for position, header in iterate_headers(self._buffer):
            last_offset = header.base_offset + header.last_offset_delta
            if last_offset < self.next_offset:
                continue
            if self._check_crcs:
                check_crc(self._buffer, position, header)
            is_plain = not header.attributes & NOT_PLAIN
            if header.records_count and (is_plain or not self._is_hidden(position, header)):
                if header.base_offset >= self.next_offset:
                    count = header.records_count
                    if is_plain:
                        section = bytes(
                            view[position + BATCH_HEADER_SIZE : position + LOG_OVERHEAD + header.batch_length]
                        )
                    else:
                        section = records_section(self._buffer, header, position)
                    size = payload_bytes(section, count)
                else:  # the position is inside the batch
                    records = iterate_records(self._buffer, header, position)
                    sizes = [
                        len(record.key or b"") + len(record.value or b"")
                        for record in records
                        if record.offset >= self.next_offset
                    ]
                    count, size = len(sizes), sum(sizes)
                if count:
                    yield new(CountedBatch, (last_offset, count, size, header.partition_leader_epoch))
            if self.next_offset <= last_offset:
                self.next_offset = last_offset + 1


class CountingConsumer(Consumer):
    """A consumer to be used with :meth:`poll_counts` instead of ``poll``."""

    fetched_type = CountedPartition

    async def poll_counts(self, timeout_ms: float, most: int) -> tuple[int, int]:
        """Polls and returns (records, bytes of their keys and values), zeros if none came. Errors as ``poll``.

        It stops at the end of the batch that has the record number ``most``, or at ``max_poll_records``.
        """
        polled = await self.poll(timeout_ms, min(most, self._max_poll_records))
        batches: list[Any] = [batch for of_one in polled.values() for batch in of_one]
        return sum([batch.records for batch in batches]), sum([batch.size for batch in batches])
