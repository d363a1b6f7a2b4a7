"""A replica's way from one log directory to another: copied beside its use, then exchanged in one step.

    move = ReplicaMove.begin(...)       `<topic>-<partition>.<32 hex>-future` in the target
    chunk = move.next_chunk()           on the loop: what to copy next, None when the copy has caught up
    move.append(chunk)                  on a thread
    move.catch_up(now_ms)               on the loop, with nothing appended until the exchange
    move.exchange(now_ms)               on the loop, once the metadata names the target

Owns: the copy. Never does: writing metadata, choosing the time. Invariant: whenever the process dies, the partition's
own name, or `-future` with the metadata naming its directory, is on a whole log, and all of the latter is synced.
Source: Kafka's ReplicaAlterLogDirsThread, LogManager.replaceCurrentWithFutureLog; KIP-113.
"""

from typing import NamedTuple

from ...protocol.records.batch import read_header
from ..errors import StorageError
from ..files.checkpoints import TopicPartition
from ..log.log import Log
from ..log.log_config import LogConfig
from ..log.read_result import FileRegion, in_memory
from .log_directory import LogDirectory

CHUNK_BYTES = 1 << 20


class Chunk(NamedTuple):
    """Batches of the source; `start` is its log start offset where it has forgotten what the copy ends with."""

    data: bytes | FileRegion
    start: int | None


class ReplicaMove:
    """One replica on its way. Methods raise KafkaError: StorageError, CORRUPT_MESSAGE for damage in the source."""

    def __init__(self, key: TopicPartition, source: LogDirectory, target: LogDirectory, future: Log) -> None:
        """Use `ReplicaMove.begin`."""
        self.key = key
        self.source = source
        self.target = target
        self.future = future

    @classmethod
    def begin(
        cls, key: TopicPartition, source: LogDirectory, target: LogDirectory, config: LogConfig, now_ms: int
    ) -> "ReplicaMove":
        """Begins to copy the partition, or goes on where an earlier start has stopped."""
        log = source.logs[key]
        future = target.open_future(*key, config, now_ms, log.topic_id)
        if future.log_end_offset > log.log_end_offset:
            # A crash took the end of the source, which was not on the disk; somebody else's records come there.
            future.truncate_to(log.log_end_offset)
        return cls(key, source, target, future)

    @property
    def log(self) -> Log:
        """The log that is served. Raises StorageError where it is gone."""
        log = self.source.logs.get(self.key)
        if log is None:
            raise StorageError(f"{self.key[0]}-{self.key[1]} is no longer in {self.source.path}")
        return log

    @property
    def lag(self) -> int:
        """How many offsets the copy is behind."""
        return self.log.log_end_offset - self.future.log_end_offset

    def next_chunk(self) -> Chunk | None:
        """What is to be appended next, None when the copy has caught up."""
        log = self.log
        begins_anew = self.future.log_end_offset < log.log_start_offset
        offset = log.log_start_offset if begins_anew else self.future.log_end_offset
        if offset >= log.log_end_offset and not begins_anew:
            return None
        most = min(CHUNK_BYTES, self.future.config.segment_bytes)
        return Chunk(
            log.read(offset, most, upper_bound_offset=log.log_end_offset).data, offset if begins_anew else None
        )

    def append(self, chunk: Chunk, now_ms: int) -> int:
        """Appends what was read, on any thread; the bytes that were read."""
        try:
            data = in_memory(chunk.data)
        except OSError as error:
            raise self.source.storage_error(error) from error
        if chunk.start is not None:
            # Where records were deleted, the first batch may begin before the log's start.
            self.future.truncate_fully_and_start_at(read_header(data).base_offset if data else chunk.start)
        if data:
            self.future.append_as_follower(data, now_ms)
        return len(data)

    def catch_up(self, now_ms: int) -> None:
        """Copies what is left, with nothing appended meanwhile: the metadata may name the copy's directory then.

        All of it is synced here, on the calling thread: a power failure must not take from the copy what the source
        had on the disk.
        """
        while (chunk := self.next_chunk()) is not None:
            self.append(chunk, now_ms)
        if self.future.is_dirty:
            self.future.flush()

    def exchange(self, now_ms: int) -> Log:
        """The copy takes the partition's name, the old one goes after file.delete.delay.ms; the log to serve.

        The copy must have caught up, and the metadata must name its directory already: then a crash between the two
        renames leaves the copy as `-future`, which the next start promotes.
        """
        old = self.log
        assert old.log_end_offset == self.future.log_end_offset, "the copy is behind"
        cleaned = self.source.cleaner_offsets.get(self.key)
        self.future.offsets.increment_log_start_offset(min(old.log_start_offset, self.future.high_watermark))
        self.source.delete_log(*self.key, now_ms)
        log = self.target.promote_future(*self.key)
        assert log is not None
        log.use_gate(self.target.gate)
        if cleaned is not None:
            self.target.cleaner_offsets[self.key] = cleaned
        for directory in (self.source, self.target):
            directory.write_checkpoints()
        return log

    def cancel(self, now_ms: int) -> None:
        """The replica stays where it is; what was copied goes, where its directory is online."""
        if self.target.futures.get(self.key) is self.future:
            self.target.discard_future(*self.key, now_ms)
        else:
            self.future.abort()
