"""A partition of the log as a coordinator sees it: of its own topic, or one that a transaction has written to.

Owns: nothing; it turns the coordinator's batches into appends to the partition. Invariant: what is read back at start
is all that is stored, in order.
"""

from collections.abc import Callable, Iterator

from ...protocol.errors import ErrorCode
from ...protocol.records.batch import iterate_headers
from ...storage.log.log import AppendOrigin
from ...storage.log.read_result import in_memory
from ..replicas.partition import Partition

READ_BYTES = 1 << 20


class PartitionLog:
    """The coordinator's log over one partition (``CoordinatorLog``)."""

    def __init__(self, partition: Partition) -> None:
        self._partition = partition

    @property
    def leader_epoch(self) -> int:
        """The epoch in which this broker leads the partition."""
        return self._partition.leader_epoch

    def append(self, batch: bytes, now_ms: int) -> int:
        """Appends one batch; its first offset. Raises KafkaError."""
        appended = self._partition.append(batch, now_ms, AppendOrigin.COORDINATOR)
        self._partition.notify_when_seen(appended.last_offset + 1, len(batch))
        return appended.first_offset

    def is_durable(self) -> bool:
        """Whether nothing waits for a sync of the disk."""
        return not self._partition.wants_sync()

    def when_durable(self, callback: Callable[[ErrorCode], None]) -> None:
        """When it is what acks=all promises (docs/durability.md): at once, but where that is a sync of the disk."""
        log = self._partition.log
        if not log.offsets.wants_sync:
            callback(ErrorCode.NONE)
            return
        offset = log.offsets.flush_policy.offset_to_answer(log.log_end_offset, acks_all=True)
        self._partition.group_commit.when_synced(
            log, offset, lambda failure: callback(failure.error_code if failure else ErrorCode.NONE)
        )

    def read_batches(self) -> Iterator[bytes | memoryview]:
        """All batches, in buffers of about a MiB."""
        log = self._partition.log
        offset = log.log_start_offset
        end = log.log_end_offset
        while offset < end:
            data = in_memory(log.read(offset, READ_BYTES, upper_bound_offset=end, min_one_batch=True).data)
            buffer, offset = whole_batches(data, offset)
            if not buffer:
                return
            yield buffer

    def place_of(self, offset: int) -> str:
        """The path of the segment file that holds an offset."""
        segments = self._partition.log.segments
        return str((segments.floor(offset) or segments.first).path)


def whole_batches(data: bytes, offset: int) -> tuple[memoryview, int]:
    """The whole batches at the start of ``data``, and the offset behind them."""
    end = 0
    for position, header in iterate_headers(data):
        end = position + header.size_in_bytes
        offset = header.next_offset
    return memoryview(data)[:end], offset
