"""Renames partitions of one log directory to unique names, and removes `-delete` directories after their delay.

Owns: the queue of directories to remove. Never does: deciding which. Invariant: a unique name is never used twice.
Source: Kafka's LogManager.asyncDelete, UnifiedLog.logDeleteDirName.
"""

import logging
import random
from collections.abc import Iterable
from pathlib import Path

from odradek.protocol.common.steps import Steps
from odradek.protocol.names.topics import TopicPartition

from ..files.file_names import STRAY_DIRECTORY_SUFFIX, renamed_directory_name
from ..files.files import Files
from ..log.due_removals import DueRemovals
from ..log.log import Log
from ..log.log_retention import RemovalNotices

logger = logging.getLogger(__name__)

UNIQUE_BYTES = 16
LOOKS_A_STEP = 512
"""The logs without files to remove that are looked at in one step: 0.15 us each."""


class DirectoryRemoval:
    """Removed partitions of one directory. Methods raise OSError."""

    def __init__(self, files: Files, directory: Path, chance: random.Random) -> None:
        self._files = files
        self._directory = directory
        self._chance = chance
        self._waiting: list[tuple[int, Path]] = []
        self._due = DueRemovals(files)
        self.notices = RemovalNotices()
        """Whether logs have files to remove, which they tell it."""

    def unique_path(self, key: TopicPartition, suffix: str) -> Path:
        """A new path for a partition's directory: `<topic>-<partition>.<32 hex digits><suffix>`."""
        return self._directory / renamed_directory_name(*key, self._chance.randbytes(UNIQUE_BYTES).hex(), suffix)

    def rename(self, path: Path, key: TopicPartition, suffix: str, *, sync: bool = True) -> Path:
        """Renames a partition's directory to a unique name with this suffix. Returns the new path."""
        target = self.unique_path(key, suffix)
        self._files.rename(path, target)
        if sync:
            self._files.sync_directory(self._directory)
        logger.log(
            logging.WARNING if suffix == STRAY_DIRECTORY_SUFFIX else logging.INFO,
            "%s: %srenamed to %s",
            path,
            "the metadata has no such partition here; " if suffix == STRAY_DIRECTORY_SUFFIX else "",
            target.name,
        )
        return target

    def add(self, path: Path, due_ms: int) -> None:
        """Adds a `-delete` directory to remove at `due_ms`."""
        self._waiting.append((due_ms, path))

    def collect(self, logs: Iterable[Log], now_ms: int) -> Steps[DueRemovals]:
        """Collects the `-delete` directories, and the `.deleted` files of `logs`, whose delay has passed.

        The result also has the paths whose removal failed before.
        """
        self._due.add((), [path for due_ms, path in self._waiting if due_ms <= now_ms])
        self._waiting = [entry for entry in self._waiting if entry[0] > now_ms]
        if not self.notices.may_wait:
            return self._due
        self.notices.may_wait = False
        for count, log in enumerate(logs, 1):
            removals = log.log_files.removals
            if removals:
                if log.health.failure is None:
                    self._due.add(removals.take_due(now_ms), ())
                self.notices.may_wait = self.notices.may_wait or len(removals) > 0
                yield
            elif not count % LOOKS_A_STEP:
                yield
        return self._due
