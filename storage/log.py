"""One partition's log (signatures first; being filled in)."""

from pathlib import Path
from typing import NamedTuple

from .append_plan import AppendInfo, AppendOrigin
from .files import Files
from .log_config import LogConfig
from .read_result import FileRegion, ReadResult, TimestampAndOffset

__all__ = ["AbortedTransaction", "AppendInfo", "AppendOrigin", "FileRegion", "Log", "ReadResult", "TimestampAndOffset"]


class AbortedTransaction(NamedTuple):
    """A transaction that readers of committed data skip."""

    producer_id: int
    first_offset: int


class Log:
    """One partition's log. Every KafkaError it raises has the code for the client; a failing disk: KAFKA_STORAGE_ERROR."""

    directory: Path
    config: LogConfig
    topic_id: bytes | None
    log_start_offset: int
    log_end_offset: int
    recovery_point: int

    @classmethod
    def open(
        cls,
        directory: Path,
        config: LogConfig,
        *,
        now_ms: int,
        files: Files | None = None,
        recovery_point: int = 0,
        log_start_offset: int = 0,
        clean_shutdown: bool = False,
        topic_id: bytes | None = None,
        jitter_ms: int = 0,
    ) -> "Log":
        """Opens (or creates) the log in `directory`, recovering it when the last stop was not clean."""

    @property
    def high_watermark(self) -> int:
        """Up to where consumers read. Follows the log end offset until `set_high_watermark` is first called."""

    @property
    def last_stable_offset(self) -> int:
        """Up to where readers of committed data read."""

    def append_as_leader(
        self, buffer: bytes | bytearray | memoryview, leader_epoch: int, now_ms: int,
        *, origin: AppendOrigin = AppendOrigin.CLIENT,
    ) -> AppendInfo:
        """Assigns offsets, stamps, validates, appends; a duplicate of an idempotent producer gives its old offsets."""

    def append_as_follower(self, buffer: bytes | bytearray | memoryview, now_ms: int) -> AppendInfo:
        """Appends batches whose offsets and epochs are already right."""

    def read(self, offset: int, max_bytes: int, *, upper_bound_offset: int | None = None, min_one_batch: bool = True) -> ReadResult:
        """Reads from the batch that holds `offset`; OFFSET_OUT_OF_RANGE outside [start, end]."""

    def offset_for_timestamp(self, timestamp: int) -> TimestampAndOffset | None:
        """The first record whose timestamp is >= `timestamp`."""

    def max_timestamp(self) -> TimestampAndOffset | None:
        """The first record that has the log's greatest timestamp."""

    def aborted_transactions(self, fetch_offset: int, upper_bound_offset: int) -> list[AbortedTransaction]:
        """The aborted transactions that touch the range."""

    def epoch_end_offset(self, epoch: int) -> tuple[int, int] | None:
        """(epoch, end offset) as OffsetForLeaderEpoch answers, None when nothing is known."""

    def epoch_of(self, offset: int) -> int:
        """The leader epoch of an offset, -1 when unknown."""

    @property
    def latest_epoch(self) -> int:
        """The latest leader epoch in the log, -1 when empty."""

    def segment_times(self) -> list[tuple[int, int]]:
        """(base offset, last modified ms) of each segment, oldest first."""

    def set_high_watermark(self, offset: int) -> None: ...
    def increment_log_start_offset(self, offset: int) -> None: ...
    def truncate_to(self, offset: int) -> None: ...
    def truncate_fully_and_start_at(self, offset: int) -> None: ...
    def roll(self, now_ms: int) -> None: ...
    def flush(self) -> None: ...
    def delete_old_segments(self, now_ms: int) -> int: ...
    def remove_deleted_files(self, now_ms: int) -> int: ...
    def remove_expired_producers(self, now_ms: int) -> None: ...
    def update_config(self, config: LogConfig) -> None: ...
    def close(self) -> None: ...
    def size_in_bytes(self) -> int: ...
