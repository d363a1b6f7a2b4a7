"""A consumer that counts records and bytes without returning them, for ``odradek perf consume``.

Owns: counting by batches. It reads the lengths of keys and values but creates no record objects, which takes a fifth
of the time of :class:`.consumer.Consumer`. Groups, positions, isolation and errors are those of the consumer.
"""

from collections.abc import Iterator
from typing import Any, NamedTuple

from ...protocol.records.batch import check_crc, iterate_headers
from ...protocol.records.record import iterate_records, records_section
from ...protocol.records.record_sizes import payload_bytes
from .consumer import Consumer
from .fetched import FetchedPartition


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
        taken: list[Any] = []
        left = max_records
        while self._ahead is not None and left > 0:
            batch: Any = self._ahead
            taken.append(batch)
            left -= batch.records
            self.next_offset = batch.offset + 1
            self._ahead = self._next()
        self.expected_position = self.next_offset
        return taken

    @staticmethod
    def count(taken: list[Any]) -> int:
        """The number of records."""
        return sum([batch.records for batch in taken])

    def _decode(self) -> Iterator[Any]:
        for position, header in iterate_headers(self._buffer):
            if header.last_offset < self.next_offset:
                continue
            if self._check_crcs:
                check_crc(self._buffer, position, header)
            if header.records_count and not self._is_hidden(position, header):
                if header.base_offset >= self.next_offset:
                    count = header.records_count
                    size = payload_bytes(records_section(self._buffer, header, position), count)
                else:  # the position is inside the batch
                    records = iterate_records(self._buffer, header, position)
                    sizes = [
                        len(one.key or b"") + len(one.value or b"") for one in records if one.offset >= self.next_offset
                    ]
                    count, size = len(sizes), sum(sizes)
                if count:
                    yield CountedBatch(header.last_offset, count, size, header.partition_leader_epoch)
            self.next_offset = max(self.next_offset, header.next_offset)


class CountingConsumer(Consumer):
    """A consumer to be used with :meth:`poll_counts` instead of ``poll``."""

    fetched_type = CountedPartition

    async def poll_counts(self, timeout_ms: float) -> tuple[int, int]:
        """Polls and returns (records, bytes of their keys and values), zeros if none came. Errors as ``poll``."""
        batches: list[Any] = [batch for of_one in (await self.poll(timeout_ms)).values() for batch in of_one]
        return sum([batch.records for batch in batches]), sum([batch.size for batch in batches])
