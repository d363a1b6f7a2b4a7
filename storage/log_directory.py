"""One log directory of a broker (signatures first; being filled in)."""

from collections.abc import Callable
from pathlib import Path

from .files import Files
from .log import Log
from .log_config import LogConfig
from .meta_properties import MetaProperties

TopicPartition = tuple[str, int]


class LogDirectory:
    """One of the broker's `log.dirs`, locked while open."""

    path: Path
    meta: MetaProperties | None
    was_clean: bool
    previous_broker_epoch: int
    logs: dict[TopicPartition, Log]

    @classmethod
    def open(cls, path: Path, files: Files | None = None) -> "LogDirectory":
        """Creates the directory where missing, locks it (DirectoryLockedError), reads meta.properties (None: not
        formatted) and the clean-shutdown marker (`was_clean`, `previous_broker_epoch`, -1 without)."""

    def format(self, cluster_id: str, node_id: int, directory_id: bytes) -> MetaProperties:
        """Writes meta.properties (cluster id: 22 characters; directory id: 16 bytes)."""

    def load_logs(
        self,
        config_for: Callable[[str], LogConfig],
        now_ms: int,
        is_stray: Callable[[str, int, bytes | None], bool] | None = None,
    ) -> dict[TopicPartition, Log]:
        """Opens every partition but `__cluster_metadata-0`; then deletes the marker."""

    def open_log(
        self, topic: str, partition: int, config: LogConfig, now_ms: int, topic_id: bytes | None = None
    ) -> Log:
        """Opens or creates one partition (also `__cluster_metadata-0`)."""

    def delete_log(self, topic: str, partition: int, now_ms: int) -> None:
        """Renames the directory to `-delete`; `remove_deleted(now_ms)` unlinks after file.delete.delay.ms."""

    def remove_deleted(self, now_ms: int) -> int: ...
    def enforce_retention(self, now_ms: int) -> int: ...
    def flush(self) -> None: ...
    def flush_due(self, now_ms: int) -> None: ...
    def write_checkpoints(self) -> None: ...
    def close(self, broker_epoch: int) -> None:
        """Flushes, closes, checkpoints, writes the marker, unlocks."""

    def abandon(self) -> None:
        """Unlocks and closes without a marker, as a crash would leave it (tests, failed start)."""
