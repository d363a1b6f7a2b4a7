"""The records of one partition in one Fetch response, decoded in short lists when they are taken.

Owns: which records a consumer sees: none before its position, no control records, with read_committed no records of
aborted transactions. Never does: I/O. Invariant: ``next_offset`` only grows. After a batch it is the batch's last
offset + 1, even if compaction removed the last records. Source: ``consumer.internals.CompletedFetch``.
"""

from collections import deque
from collections.abc import Iterator, Sequence
from typing import Any

from odradek.protocol.errors import KafkaError
from odradek.protocol.records.batch import BatchHeader, Buffer, check_crc, iterate_headers
from odradek.protocol.records.control import ControlRecordType, control_record_type
from odradek.protocol.records.record import iterate_records, iterate_rows

from ..types import ConsumerRecord, TopicPartition


class FetchedPartition:
    """The records of one partition in one Fetch response."""

    def __init__(
        self,
        partition: TopicPartition,
        fetch_offset: int,
        records: Buffer,
        *,
        aborted_transactions: Sequence[tuple[int, int]] | None,
        check_crcs: bool,
    ) -> None:
        """``aborted_transactions``: (producer id, first offset) of each; None with read_uncommitted."""
        self.partition = partition
        self.next_offset = fetch_offset
        """The lowest offset that ``take`` may return next; if no record is left, the offset after the last batch."""
        self.expected_position = fetch_offset
        """The records are usable only while the consumer's position is this offset; a seek makes them useless."""
        self._aborted: deque[tuple[int, int]] | None = None
        if aborted_transactions is not None:
            self._aborted = deque(sorted(aborted_transactions, key=lambda transaction: transaction[1]))
        self._aborting: set[int] = set()
        self._check_crcs = check_crcs
        self._buffer = records
        self._records = self._decode()
        self._error: KafkaError | None = None
        self._taken = 0
        """The number of records of ``_ahead`` that are taken."""
        self._ahead = self._next()

    @property
    def is_drained(self) -> bool:
        """Whether ``take`` has no more records to return and no error to raise."""
        return self._ahead is None and self._error is None

    def take(self, max_records: int) -> list[ConsumerRecord]:
        """The next records, at most ``max_records``. Raises KafkaError when it reaches damaged data."""
        if self._ahead is None and self._error is not None:
            raise self._error
        taken: list[ConsumerRecord] = []
        while self._ahead is not None and len(taken) < max_records:
            start, end = self._taken, self._taken + max_records - len(taken)
            taken += self._ahead[start:end]
            self._taken = end
            self.next_offset = taken[-1].offset + 1
            if end >= len(self._ahead):
                self._taken = 0
                self._ahead = self._next()
        self.expected_position = self.next_offset
        return taken

    @staticmethod
    def count(taken: list[ConsumerRecord]) -> int:
        """The number of records in a result of ``take``."""
        return len(taken)

    def _next(self) -> Any:
        try:
            return next(self._records, None)
        except KafkaError as error:
            self._error = error
            return None

    def _decode(self) -> Iterator[Any]:
        """Lists of records, none of them empty."""
        topic, partition = self.partition
        new = tuple.__new__
        for position, header in iterate_headers(self._buffer):
            if header.last_offset < self.next_offset:
                continue
            if self._check_crcs:
                check_crc(self._buffer, position, header)
            if not self._is_hidden(position, header):
                kind, epoch = 1 if header.is_log_append_time else 0, header.partition_leader_epoch
                for rows in iterate_rows(self._buffer, header, position):
                    wanted = self.next_offset
                    records = [
                        new(ConsumerRecord, (topic, partition, offset, timestamp, kind, key, value, headers, epoch))
                        for offset, timestamp, key, value, headers in rows
                        if offset >= wanted
                    ]
                    if records:
                        yield records
            self.next_offset = max(self.next_offset, header.next_offset)

    def _is_hidden(self, position: int, header: BatchHeader) -> bool:
        """Whether to skip the batch: it is a control batch or belongs to an aborted transaction."""
        if self._aborted is not None and header.has_producer_id:
            while self._aborted and self._aborted[0][1] <= header.last_offset:
                self._aborting.add(self._aborted.popleft()[0])
            if header.is_control:
                for record in iterate_records(self._buffer, header, position):
                    if control_record_type(record.key) == ControlRecordType.ABORT:
                        self._aborting.discard(header.producer_id)
            elif header.is_transactional and header.producer_id in self._aborting:
                return True
        return header.is_control
