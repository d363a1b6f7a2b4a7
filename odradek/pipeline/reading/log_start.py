"""Finds where the log of a partition starts: at its first segment, or at a later offset in log-start-offset-checkpoint.

DeleteRecords, and retention inside a segment, only move the log start offset: the records before it stay in the files
until their whole segment is deleted, but no consumer gets them. Never writes. Source: Kafka's LogManager.loadLogs,
LogLoader.load, UnifiedLog.maybeIncrementLogStartOffset.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from odradek.protocol.names.topics import TopicPartition
from odradek.storage.errors import CorruptCheckpointError
from odradek.storage.files.checkpoints import LOG_START_OFFSET_CHECKPOINT, read_offset_checkpoint
from odradek.storage.files.file_names import parse_partition_directory

from ..directories.file_access import PathFiles, is_gone, is_unreadable, unreadable_text
from ..directories.log_directories import PartitionDirectory
from .log_end import LogEnd


class LogStarts(NamedTuple):
    """The checkpointed log start offsets of a log directory.

    `fault`: why the checkpoint can't be read; "" if it can. Without it each log starts at its first segment.
    """

    offsets: Mapping[TopicPartition, int]
    fault: str = ""

    def of(self, found: PartitionDirectory) -> int:
        """The log start offset of a partition."""
        first = found.segments[0].base_offset if found.segments else 0
        return max(first, self.offsets.get((found.topic, found.partition), 0))


NO_LOG_STARTS = LogStarts({})
"""For a read that includes deleted records."""


def read_log_starts(directory: Path) -> LogStarts:
    """Reads the checkpoint of a log directory. `directory` may also be that of a partition, whose parent has the file.

    Raises OSError for errors that do not concern one file.
    """
    paths = [directory / LOG_START_OFFSET_CHECKPOINT]
    own_key = parse_partition_directory(directory.name)
    if own_key is not None:
        paths.append(directory.parent / LOG_START_OFFSET_CHECKPOINT)
    offsets: dict[TopicPartition, int] = {}
    faults = []
    for path in paths:
        try:
            offsets |= read_offset_checkpoint(PathFiles(), path)
        except CorruptCheckpointError as error:
            faults.append(f"checkpoint-unreadable: {error}; each log is read from its first segment")
        except OSError as error:
            if is_gone(error):
                continue  # `directory` is not one, which the listing reports
            if not is_unreadable(error, path):
                raise
            faults.append(f"{unreadable_text(path, error)}; each log is read from its first segment")
    return LogStarts(offsets, "; ".join(faults))


def start_beyond_end(found: PartitionDirectory, log_start: int) -> str:
    """The text for a partition whose log start is after its end, so that a consumer gets no record; "" if it is not.

    Reads the last segment's headers, and only if the log start is after its base offset. Raises OSError.
    """
    if not found.segments or log_start <= found.segments[-1].base_offset:
        return ""
    end = LogEnd(is_committed_only=False)
    end.follow(found)
    if log_start <= end.offset:
        return ""
    return (
        f"log-start-beyond-log: {found.path}: {LOG_START_OFFSET_CHECKPOINT} has {log_start}, the log ends at "
        f"{end.offset}: no consumer gets a record, and Kafka deletes the segments at its next start. The option "
        "includeDeleted of kafkalog, or --include-deleted of export, reads them"
    )
