"""The offset checkpoints of one log directory, which a start reads before it opens the partitions.

Owns: recovery points, log start offsets, high watermarks and the cleaner's offsets. Never does: choosing when to write
them. Invariants: a log was synced up to its recovery point on disk. If the files may still have the offsets of a
removed partition, that is known (`may_be_written`), so that a new partition of its name never starts with them. Source:
Kafka's OffsetCheckpointFile, LogManager.
"""

import logging
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from odradek.protocol.common.steps import Steps
from odradek.protocol.names.topics import METADATA_TOPIC, TopicPartition

from ..files.checkpoints import (
    CLEANER_OFFSET_CHECKPOINT,
    LOG_START_OFFSET_CHECKPOINT,
    RECOVERY_POINT_CHECKPOINT,
    REPLICATION_OFFSET_CHECKPOINT,
    read_root_checkpoints,
    write_offset_checkpoint,
)
from ..files.files import Files
from ..log.log import Log

KEYS_A_STEP = 100
"""The number of partitions in one step of a write, at 2 us each."""
LOOKS_A_STEP = 512
"""The number of partitions in one step of the search for a change, at 0.5 us each."""

logger = logging.getLogger(__name__)


class DirectoryOffsets:
    """The checkpoints of a directory; methods raise OSError."""

    def __init__(self, files: Files, directory: Path) -> None:
        """Reads the four files. A damaged file counts as empty."""
        self._files = files
        self._directory = directory
        offsets, damage = read_root_checkpoints(files, directory)
        for fault in damage.values():
            logger.warning("%s; using 0 for its offsets", fault)
        self.recovery_points = offsets[RECOVERY_POINT_CHECKPOINT]
        self.log_start_offsets = offsets[LOG_START_OFFSET_CHECKPOINT]
        self.high_watermarks = offsets[REPLICATION_OFFSET_CHECKPOINT]
        self.cleaner = offsets[CLEANER_OFFSET_CHECKPOINT]
        """The first offset of each compacted partition that is not cleaned yet. The cleaner updates it."""
        self._on_disk = {*self.recovery_points, *self.log_start_offsets}
        self._draft: dict[str, dict[TopicPartition, int]] | None = None
        """The offsets that a write in progress will write."""
        self._written_keys = -1
        """The number of partitions in the last write; -1 if the offsets that are known may not all be written."""

    def may_be_written(self, key: TopicPartition) -> bool:
        """Whether the files on disk may have offsets of a partition."""
        return key in self._on_disk

    def forget(self, key: TopicPartition) -> None:
        """Forgets a partition that was removed. The next write removes it from the files."""
        drafts = [] if self._draft is None else self._draft.values()
        for offsets in (self.recovery_points, self.log_start_offsets, self.high_watermarks, self.cleaner, *drafts):
            offsets.pop(key, None)
        self._written_keys = -1

    def write(self, log_of: Callable[[TopicPartition], Log | None], keys: Sequence[TopicPartition]) -> Iterator[None]:
        """Writes the offsets of these partitions: from their logs, or the known ones of logs that are not open.

        A step takes some partitions; the last one writes the files. If another write begins in between, this one ends,
        since its data is older. Partitions that are forgotten in between are left out. Nothing is written if no offset
        has changed since the last write.
        """
        if not (yield from self._has_changed(log_of, keys)):
            return
        self._written_keys = -1
        sources = {
            RECOVERY_POINT_CHECKPOINT: self.recovery_points,
            LOG_START_OFFSET_CHECKPOINT: self.log_start_offsets,
            REPLICATION_OFFSET_CHECKPOINT: self.high_watermarks,
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
                self._note_offsets(key, log)
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
        self._written_keys = len(keys)

    def _has_changed(
        self, log_of: Callable[[TopicPartition], Log | None], keys: Sequence[TopicPartition]
    ) -> Steps[bool]:
        """Whether a write may write something new. The idle broker with 10,000 partitions writes nothing."""
        if self._written_keys != len(keys):
            return True
        for count, key in enumerate(keys, 1):
            if not count % LOOKS_A_STEP:
                yield
            log = log_of(key)
            if log is None or key[0] == METADATA_TOPIC:
                continue
            offsets = log.offsets
            if (
                self.recovery_points.get(key) != offsets.recovery_point
                or self.high_watermarks.get(key) != offsets.high_watermark
                or self.log_start_offsets.get(key) != _start_to_write(log)
            ):
                return True
        return self._written_keys != len(keys)

    def _note_offsets(self, key: TopicPartition, log: Log) -> None:
        self.recovery_points[key] = log.offsets.recovery_point
        self.high_watermarks[key] = log.high_watermark
        start = _start_to_write(log)
        if start is None:
            self.log_start_offsets.pop(key, None)
        else:
            self.log_start_offsets[key] = start


def _start_to_write(log: Log) -> int | None:
    """The log start offset, if that does not follow from the first segment."""
    start = log.offsets.log_start_offset
    return start if start > log.segments.first.base_offset else None
