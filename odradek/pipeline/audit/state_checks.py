"""Checks a partition as a whole: checkpoints, retention, leftover files, the topic id.

Reads names, times and sizes, but no log. Source: Kafka's LogManager, UnifiedLog.deleteOldSegments, LogLoader.
"""

from typing import NamedTuple

from odradek.protocol.common.lazy_imports import lazy_imports
from odradek.storage.errors import CorruptCheckpointError
from odradek.storage.files.checkpoints import (
    CLEANER_OFFSET_CHECKPOINT,
    LOG_START_OFFSET_CHECKPOINT,
    REPLICATION_OFFSET_CHECKPOINT,
)
from odradek.storage.files.file_names import (
    CLEANED_SUFFIX,
    DELETED_SUFFIX,
    INDEX_SUFFIXES,
    LEADER_EPOCH_CHECKPOINT,
    LOG_SUFFIX,
    PARTITION_METADATA,
    SNAPSHOT_SUFFIX,
    SWAP_SUFFIX,
    base_offset_of,
)
from odradek.storage.files.meta_properties import read_partition_metadata

from ..directories.file_access import PathFiles, list_directory
from ..directories.segment_files import SegmentFile
from .tasks import AuditTask, PartitionReport, report_refusal

with lazy_imports:
    from . import swap_checks

RETENTION_TOLERANCE_MS = 3_600_000
"""Retention may be this late without a finding: log.retention.check.interval.ms (5 minutes) plus file.delete.delay.ms
(1 minute) and a wide margin."""
_READ_ELSEWHERE = (LOG_SUFFIX, *INDEX_SUFFIXES, SNAPSHOT_SUFFIX)
_SMALL_FILES = (PARTITION_METADATA, LEADER_EPOCH_CHECKPOINT)
_NAMED_BY_OFFSET = (*_READ_ELSEWHERE, CLEANED_SUFFIX, SWAP_SUFFIX)
"""The ends of the names whose beginning Kafka reads as an offset when it loads a log (LogFileUtils.offsetFromFile)."""
LEFTOVERS = {DELETED_SUFFIX: "leftover-deleted", CLEANED_SUFFIX: "leftover-cleaned", SWAP_SUFFIX: "leftover-swap"}


class SegmentSummary(NamedTuple):
    """A segment and its times, ms since 1970.

    These are the maximum timestamps of its first batch and of all batches (-1: none), and the file's modification time.
    """

    file: SegmentFile
    first_timestamp: int
    largest_timestamp: int
    modified_ms: int

    @property
    def changed_ms(self) -> int:
        """The latest known change of the segment."""
        return max(self.largest_timestamp, self.modified_ms)

    @property
    def retention_ms(self) -> int:
        """The time from which retention.ms counts."""
        return self.largest_timestamp if self.largest_timestamp >= 0 else self.modified_ms


def check_checkpoints(task: AuditTask, report: PartitionReport) -> None:
    """Compares the offsets of the checkpoint files with the log's start and end."""
    log_end = _log_end(task, report)
    for name, offset in sorted(task.checkpoints.items()):
        path = task.directory / name
        if name == LOG_START_OFFSET_CHECKPOINT and offset > log_end:
            detail = f"the checkpoint has {offset}, the log ends at {log_end}"
            report.add("log-start-beyond-log", path, detail, offset=offset)
        elif offset > report.log_end_offset:
            detail = f"the checkpoint has {offset}, the log ends at {report.log_end_offset}"
            report.add("checkpoint-beyond-log", path, detail, offset=offset)
        elif task.is_live and name == REPLICATION_OFFSET_CHECKPOINT:
            continue  # the broker writes it every five seconds; since then, retention may have deleted further
        elif offset < report.log_start_offset and name == REPLICATION_OFFSET_CHECKPOINT:
            detail = f"the checkpoint has {offset}, the log begins at {report.log_start_offset}"
            report.add("high-watermark-below-log-start", path, detail, offset=offset)
        elif offset < report.log_start_offset and name == CLEANER_OFFSET_CHECKPOINT:
            detail = f"the checkpoint has {offset}, the log begins at {report.log_start_offset}"
            report.add("cleaner-checkpoint-below-log-start", path, detail, offset=offset)
    start = task.checkpoints.get(LOG_START_OFFSET_CHECKPOINT, 0)
    if start > log_end:
        return
    old = [
        segment
        for segment, after in zip(task.replica.segments, task.replica.segments[1:], strict=False)
        if after.base_offset <= start
    ]
    if old:
        detail = f"{len(old)} segments are below the log start offset {start}"
        report.add("segments-below-log-start", old[0].path, detail, offset=old[0].base_offset)


def _log_end(task: AuditTask, report: PartitionReport) -> int:
    """The log end offset from the batches and the name of the last segment, but not from the log start checkpoint."""
    last = task.replica.segments[-1].base_offset if task.replica.segments else 0
    return max(last, report.log_end_offset)


def check_retention(task: AuditTask, report: PartitionReport, segments: list[SegmentSummary]) -> None:
    """Adds a finding for segments that retention should have deleted."""
    policy = task.policy
    closed = segments[:-1]
    if not policy.is_deleted or not closed:
        return
    high_watermark = task.checkpoints.get(REPLICATION_OFFSET_CHECKPOINT, report.log_end_offset)
    if segments[1].file.base_offset > high_watermark:
        return
    first = closed[0]
    path, offset = first.file.path, first.file.base_offset
    if policy.retention_ms is not None and policy.retention_ms >= 0:
        late = task.now_ms - first.retention_ms - policy.retention_ms
        if late > RETENTION_TOLERANCE_MS:
            detail = f"its last record is {late // 60_000} minutes older than retention.ms={policy.retention_ms}"
            report.add("retention-overdue", path, detail, offset=offset)
            return
    excess = sum(segment.file.size for segment in segments) - (policy.retention_bytes or 0)
    is_old = task.now_ms - segments[-1].modified_ms > RETENTION_TOLERANCE_MS
    if policy.retention_bytes is not None and policy.retention_bytes >= 0 and excess >= first.file.size and is_old:
        detail = f"the log has {excess} bytes more than retention.bytes={policy.retention_bytes}"
        report.add("retention-overdue", path, detail, offset=offset)


def check_files(task: AuditTask, report: PartitionReport) -> None:
    """Adds findings for leftover files of deletions and the cleaner, and for indexes without a segment."""
    entries = sorted(list_directory(task.replica.path))
    names = {entry.name for entry in entries}
    for name, *_, fault in entries:
        path = task.replica.path / name
        if fault and not name.endswith(_READ_ELSEWHERE) and name not in _SMALL_FILES:
            report.add("file-unreadable", path, fault, position=0)
        for suffix, finding in LEFTOVERS.items():
            if name.endswith(suffix):
                report.add(finding, path, "", offset=_base(name))
        if name.endswith(_NAMED_BY_OFFSET) and not _is_long(name.partition(".")[0]):
            report.add("file-name-invalid", path, "its name does not begin with an offset")
        elif name.endswith(INDEX_SUFFIXES) and f"{name.partition('.')[0]}{LOG_SUFFIX}" not in names:
            report.add("index-without-log", path, "", offset=_base(name))
    if any(name.endswith(LOG_SUFFIX + SWAP_SUFFIX) for name in names):
        swap_checks.check_swaps(task, report, entries)


def _is_long(text: str) -> bool:
    """Whether Java reads it as a long."""
    digits = text[1:] if text[:1] in ("+", "-") else text
    return digits.isascii() and digits.isdigit() and -(1 << 63) <= int(text) < 1 << 63


def _base(name: str) -> int:
    offset = base_offset_of(name.partition(".")[0] + LOG_SUFFIX)
    return -1 if offset is None else offset


def check_topic_id(task: AuditTask, report: PartitionReport) -> None:
    """Compares partition.metadata with the metadata log."""
    path = task.replica.path / PARTITION_METADATA
    try:
        topic_id = read_partition_metadata(PathFiles(), task.replica.path)
    except CorruptCheckpointError as error:
        report.add("checkpoint-unreadable", path, str(error))
        return
    except OSError as error:
        report_refusal(report, path, error)
        return
    if topic_id is None and PARTITION_METADATA in {entry.name for entry in list_directory(task.replica.path)}:
        report.add("checkpoint-unreadable", path, "the file is empty, or has only zeros")
        return
    if task.topic_id is None:
        return
    if topic_id is None:
        report.add("partition-metadata-missing", path, "the file does not exist")
    elif topic_id != task.topic_id:
        report.add("topic-id-mismatch", path, f"the file has {topic_id.hex()}, the metadata {task.topic_id.hex()}")
