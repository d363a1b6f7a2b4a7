"""The log of a partition, as coordinators use it: a partition of their own topic, or one that a transaction wrote to.

Owns: nothing; it appends the coordinator's batches to the partition. Invariant: a start reads everything that is
stored, in order. Source: ``CoordinatorPartitionWriter``, ``TransactionStateManager.appendTransactionToLog``.
"""

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from odradek.protocol.errors import ErrorCode, KafkaError
from odradek.protocol.records.batch import Buffer, iterate_headers
from odradek.storage.log.log import AppendOrigin
from odradek.storage.log.read_result import in_memory

from ..replicas.partition import Partition

if TYPE_CHECKING:
    from ..metrics.topic_meters import TopicMeters

READ_BYTES = 1 << 20
ACKS_LEADER = 1
"""Appends without looking at the ISR. For ``__consumer_offsets`` and ``__share_group_state``: with too few replicas in
sync, requests time out."""
ACKS_ALL = -1
"""Refuses an append if fewer than ``min.insync.replicas`` are in sync. For ``__transaction_state``, and for markers in
all partitions except those of ``__consumer_offsets``."""


class PartitionLog:
    """The coordinator's log over one partition (``CoordinatorLog``)."""

    def __init__(self, partition: Partition, required_acks: int, topics: "TopicMeters | None" = None) -> None:
        """``required_acks``: ACKS_LEADER or ACKS_ALL. ``topics`` count what is appended; None without metrics."""
        self._partition = partition
        self._required_acks = required_acks
        self._topics = topics

    @property
    def leader_epoch(self) -> int:
        """The epoch in which this broker leads the partition."""
        return self._partition.leader_epoch

    def append(self, batch: Buffer, now_ms: int) -> int:
        """Appends one batch and returns its first offset. Raises KafkaError."""
        return self.append_marker(batch, now_ms, 0)

    def append_marker(self, batch: Buffer, now_ms: int, transaction_version: int) -> int:
        """Appends the marker of a client's transaction and returns its offset. Raises KafkaError."""
        leading, topics = self._partition.leading, self._topics
        try:
            if leading is not None and self._required_acks == ACKS_ALL:
                leading.isr.enough_in_sync()
            appended = self._partition.append(
                batch, now_ms, AppendOrigin.COORDINATOR, transaction_version=transaction_version
            )
        except KafkaError as error:
            if topics is not None:
                topics.refused(self._partition.topic, error.error_code)
            raise
        if topics is not None:
            topics.appended(self._partition.topic, len(batch), appended.last_offset + 1 - appended.first_offset)
        self._partition.notify_when_seen(appended.last_offset + 1, len(batch))
        return appended.first_offset

    def stores_at_once(self) -> bool:
        """Whether an append is durable when it returns: no fsync is asked for, and there are no followers."""
        partition = self._partition
        log = partition.open_log
        return log is not None and partition.leading is None and not log.offsets.flush_policy.asks_for_syncs

    def is_durable(self) -> bool:
        """Whether all appends are as durable as acks=all promises, so that none waits for an fsync or a replica."""
        partition = self._partition
        if partition.leading is not None and partition.leading.isr.high_watermark < partition.log.log_end_offset:
            return False
        return not partition.wants_sync()

    def when_durable(self, callback: Callable[[ErrorCode], None]) -> None:
        """Calls back when all appends are as durable as acks=all promises (docs/durability.md). That may be at once, if
        no fsync is needed and the in-sync replicas have all records."""
        leading = self._partition.leading
        if leading is None:
            self._when_synced(callback)
            return
        leading.when_replicated(
            self._partition.log.log_end_offset,
            lambda failure: callback(failure.error_code) if failure else self._when_synced(callback),
        )

    def _when_synced(self, callback: Callable[[ErrorCode], None]) -> None:
        if self._partition.refusal is not None:
            callback(self._partition.refusal)
            return
        log = self._partition.log
        if not log.offsets.wants_sync:
            callback(ErrorCode.NONE)
            return
        offset = log.offsets.flush_policy.offset_to_answer(log.log_end_offset, acks_all=True)
        self._partition.group_commit.when_synced(
            log, offset, lambda failure: callback(failure.error_code if failure else ErrorCode.NONE)
        )

    def read_batches(self) -> Iterator[bytes | memoryview]:
        """Yields all batches, in buffers of about 1 MiB."""
        log = self._partition.log
        offset = log.log_start_offset
        end = log.log_end_offset
        while offset < end:
            data = in_memory(log.read(offset, READ_BYTES, upper_bound_offset=end, min_one_batch=True).data)
            buffer, offset = whole_batches(data, offset)
            if not buffer:
                return
            yield buffer

    def delete_below(self, offset: int) -> None:
        """Deletes the records below ``offset``, as DeleteRecords does. Raises KafkaError above the high watermark."""
        self._partition.log.offsets.increment_log_start_offset(offset)

    def place_of(self, offset: int) -> str:
        """The path of the segment file that holds an offset."""
        segments = self._partition.log.segments
        return str((segments.floor(offset) or segments.first).path)


def whole_batches(data: bytes, offset: int) -> tuple[memoryview, int]:
    """Returns the whole batches at the start of ``data``, and the offset after them."""
    end = 0
    for position, header in iterate_headers(data):
        end = position + header.size_in_bytes
        offset = header.next_offset
    return memoryview(data)[:end], offset
