"""The offset checkpoints of one log directory: what a start knows of its partitions before it opens them.

Owns: recovery points, log start offsets, high watermarks, and how far the cleaner has come. Never does: choosing when
they are written. Invariants: a recovery point on disk was synced before; what is written down of a partition that is
gone is known, so that a new one of its name never begins there. Source: Kafka's OffsetCheckpointFile, LogManager.
"""

import logging
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from ...protocol.internal_topics import METADATA_TOPIC
from ..files.checkpoints import (
    CLEANER_OFFSET_CHECKPOINT,
    LOG_START_OFFSET_CHECKPOINT,
    RECOVERY_POINT_CHECKPOINT,
    REPLICATION_OFFSET_CHECKPOINT,
    TopicPartition,
    read_root_checkpoints,
    write_offset_checkpoint,
)
from ..files.files import Files
from ..log.log import Log

KEYS_A_STEP = 100
"""Partitions that one step of writing looks at: 2 us each."""

logger = logging.getLogger(__name__)


class DirectoryOffsets:
    """The checkpoints of a directory; methods raise OSError."""

    def __init__(self, files: Files, directory: Path) -> None:
        """Reads the four files; one that says nothing sensible counts as empty."""
        self._files = files
        self._directory = directory
        offsets, damage = read_root_checkpoints(files, directory)
        for fault in damage.values():
            logger.warning("%s; it is taken as empty", fault)
        self.recovery_points = offsets[RECOVERY_POINT_CHECKPOINT]
        self.log_start_offsets = offsets[LOG_START_OFFSET_CHECKPOINT]
        self._high_watermarks = offsets[REPLICATION_OFFSET_CHECKPOINT]
        self.cleaner = offsets[CLEANER_OFFSET_CHECKPOINT]
        """Up to where each compacted partition has been cleaned; the cleaner writes it."""
        self._on_disk = {*self.recovery_points, *self.log_start_offsets}
        self._draft: dict[str, dict[TopicPartition, int]] | None = None
        """What :meth:`write_in_steps` is about to write."""

    def may_be_written(self, key: TopicPartition) -> bool:
        """Whether the files on disk may say something of a partition."""
        return key in self._on_disk

    def forget(self, key: TopicPartition) -> None:
        """The partition is here no longer; the files say so when they are written next."""
        drafts = [] if self._draft is None else self._draft.values()
        for offsets in (self.recovery_points, self.log_start_offsets, self._high_watermarks, self.cleaner, *drafts):
            offsets.pop(key, None)

    def write(self, log_of: Callable[[TopicPartition], Log | None], keys: Sequence[TopicPartition]) -> Iterator[None]:
        """Writes down what the logs of these partitions say, and what is known of those that are not open.

        A step looks at some partitions; the last one writes what is still here then. Another write that begins in
        between ends this one: it knows more. What is forgotten in between is left out.
        """
        sources = {
            RECOVERY_POINT_CHECKPOINT: self.recovery_points,
            LOG_START_OFFSET_CHECKPOINT: self.log_start_offsets,
            REPLICATION_OFFSET_CHECKPOINT: self._high_watermarks,
        }
        draft: dict[str, dict[TopicPartition, int]] = {name: {} for name in sources}
        self._draft = draft
        for count, key in enumerate(keys, 1):
            if not count % KEYS_A_STEP:
                yield
                if self._draft is not draft:
                    return
            if key[0] == METADATA_TOPIC:
                continue
            log = log_of(key)
            if log is not None:
                self._take(key, log)
            for name, offsets in sources.items():
                if key in offsets:
                    draft[name][key] = offsets[key]
        self._draft = None
        written: set[TopicPartition] = set()
        for name, here in draft.items():
            written.update(here)
            self._on_disk.update(here)
            write_offset_checkpoint(self._files, self._directory / name, here)
        self._on_disk = written

    def _take(self, key: TopicPartition, log: Log) -> None:
        self.recovery_points[key] = log.offsets.recovery_point
        self._high_watermarks[key] = log.high_watermark
        if log.log_start_offset > log.segments.first.base_offset:
            self.log_start_offsets[key] = log.log_start_offset
        else:
            self.log_start_offsets.pop(key, None)
