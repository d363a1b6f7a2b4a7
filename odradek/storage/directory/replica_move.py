"""Moves a replica from one log directory to another: copies it while it is in use, then exchanges the two.

    move = ReplicaMove.begin(...)       on the loop: opens `<topic>-<partition>.<32 hex>-future` in the target
    chunk = move.next_chunk()           on the loop: the next part to copy; None if the copy has caught up
    move.append(chunk, now_ms)          on any thread
    move.is_outdated(chunk)             on the loop: whether the source was truncated since; then move.undo(chunk)
    move.catch_up(now_ms)               on the loop; from here on, nothing is appended to the source
    move.exchange(now_ms)               on the loop, once the metadata names the target

Owns: the copy. Never does: writing metadata, choosing the time. Invariant: after a crash at any time, one complete log
exists: under the partition's name, or, fully synced, under `-future` in the directory that the metadata names. Source:
Kafka's ReplicaAlterLogDirsThread, LogManager.replaceCurrentWithFutureLog; KIP-113. The source may be a follower's log,
which its leader truncates: the copy is then cut where the two differ, by their leader epochs (KIP-101).
"""

from typing import NamedTuple

from odradek.protocol.names.topics import TopicPartition
from odradek.protocol.records.record import first_offset

from ..errors import StorageError
from ..log.log import Log
from ..log.log_config import LogConfig
from ..log.read_result import FileRegion, in_memory
from .future_replicas import discard_future, open_future, promote_future
from .log_directory import LogDirectory

CHUNK_BYTES = 1 << 20


class Chunk(NamedTuple):
    """Batches of the source to append to the copy.

    `start`: None, or the source's log start offset if that is after the copy's end; the copy then begins anew there.
    `end`, `truncations`: the copy's end offset and the source's number of truncations when the chunk was chosen.
    """

    data: bytes | FileRegion
    start: int | None
    end: int
    truncations: int


class ReplicaMove:
    """One move of a replica. Methods raise KafkaError: StorageError, CORRUPT_MESSAGE for damage in the source."""

    def __init__(self, key: TopicPartition, source: LogDirectory, target: LogDirectory, future: Log) -> None:
        """Moves the replica `key` by way of the copy `future`. Callers use `ReplicaMove.begin`."""
        self.key = key
        self.source = source
        self.target = target
        self.future = future
        self._truncations = source.logs[key].offsets.truncations

    @classmethod
    def begin(
        cls, key: TopicPartition, source: LogDirectory, target: LogDirectory, config: LogConfig, now_ms: int
    ) -> "ReplicaMove":
        """Starts to copy the partition, or continues an earlier copy."""
        log = source.logs[key]
        future = open_future(target, key, config, now_ms, log.topic_id)
        # The source may have lost its unsynced end in a crash, or its leader may have truncated it. Other records may
        # have the offsets that an earlier copy has.
        cut_where_different(future, log)
        return cls(key, source, target, future)

    @property
    def log(self) -> Log:
        """The log that is served. Raises StorageError if it is gone."""
        log = self.source.logs.get(self.key)
        if log is None:
            raise StorageError(f"{self.key[0]}-{self.key[1]} was removed from {self.source.path}")
        return log

    @property
    def lag(self) -> int:
        """The number of offsets that are not copied yet."""
        return self.log.log_end_offset - self.future.log_end_offset

    def next_chunk(self) -> Chunk | None:
        """The next part to append; None if the copy has caught up."""
        log = self.log
        if log.offsets.truncations != self._truncations:
            self._truncations = log.offsets.truncations
            cut_where_different(self.future, log)
        begins_anew = self.future.log_end_offset < log.log_start_offset
        offset = log.log_start_offset if begins_anew else self.future.log_end_offset
        if offset >= log.log_end_offset and not begins_anew:
            return None
        most = min(CHUNK_BYTES, self.future.config.segment_bytes)
        return Chunk(
            log.read(offset, most, upper_bound_offset=log.log_end_offset).data,
            offset if begins_anew else None,
            self.future.log_end_offset,
            self._truncations,
        )

    def is_outdated(self, chunk: Chunk) -> bool:
        """Whether the source was truncated since the chunk was chosen. Its bytes may then be a mix of old and new."""
        return self.log.offsets.truncations != chunk.truncations

    def undo(self, chunk: Chunk) -> None:
        """Removes an outdated chunk from the copy."""
        if chunk.start is not None:
            self.future.removal.truncate_fully_and_start_at(self.log.log_start_offset)
        else:
            self.future.removal.truncate_to(chunk.end)

    def append(self, chunk: Chunk, now_ms: int) -> int:
        """Appends a chunk, on any thread. Returns the number of bytes read."""
        try:
            data = in_memory(chunk.data)
        except OSError as error:
            raise self.source.storage_error(error) from error
        if chunk.start is not None:
            # If records were deleted, the first batch may begin before the log's start.
            self.future.removal.truncate_fully_and_start_at(first_offset(data) if data else chunk.start)
        if data:
            self.future.appender.append_as_follower(data, now_ms)
        return len(data)

    def catch_up(self, now_ms: int) -> None:
        """Copies the rest, while there are no appends. After it, the metadata may name the copy's directory.

        Syncs everything on the calling thread: a power failure must not lose records from the copy that the source had
        on the disk.
        """
        while (chunk := self.next_chunk()) is not None:
            self.append(chunk, now_ms)
        if self.future.flusher.is_dirty:
            self.future.flusher.flush()

    def exchange(self, now_ms: int) -> Log:
        """Gives the copy the partition's name; the old log is removed after file.delete.delay.ms. Returns the log to
        serve.

        The copy must have caught up, and the metadata must already name its directory: after a crash between the two
        renames, the next start promotes the `-future` copy.
        """
        old = self.log
        assert old.log_end_offset == self.future.log_end_offset, "the copy has not caught up"
        cleaned = self.source.cleaner_offsets.get(self.key)
        self.future.offsets.increment_log_start_offset(min(old.log_start_offset, self.future.high_watermark))
        if old.offsets.has_high_watermark:
            self.future.offsets.set_high_watermark(old.high_watermark)
        self.source.delete_log(*self.key, now_ms)
        log = promote_future(self.target, self.key)
        assert log is not None
        log.health.gate = self.target.gate
        if cleaned is not None:
            self.target.cleaner_offsets[self.key] = cleaned
        for directory in (self.source, self.target):
            directory.write_checkpoints()
        return log

    def cancel(self, now_ms: int) -> None:
        """Cancels the move: the replica stays, and the copy is removed if its directory is online."""
        if self.target.futures.get(self.key) is self.future:
            discard_future(self.target, self.key, now_ms)
        else:
            self.future.abort()


def cut_where_different(future: Log, log: Log) -> None:
    """Truncates a copy to the offset up to which it has the same records as the log.

    Two logs have the same records up to the lower end of the last leader epoch that both have. Source: KIP-101,
    AbstractFetcherThread.getOffsetTruncationState.
    """
    epoch = future.offsets.latest_epoch
    while epoch >= 0:
        found = log.offsets.epoch_end_offset(epoch)
        if found is None:  # the log has only earlier epochs, or none
            found = log.offsets.latest_epoch, log.log_end_offset
        common_epoch, end = found
        own = future.offsets.epoch_end_offset(common_epoch)
        future.removal.truncate_to(min(end, future.log_start_offset if own is None else own[1]))
        if future.offsets.latest_epoch == epoch:
            break
        epoch = future.offsets.latest_epoch
    if future.log_end_offset > log.log_end_offset:
        future.removal.truncate_to(log.log_end_offset)
