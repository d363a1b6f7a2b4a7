"""What a partition's segments as a whole say: checkpoints, retention, compaction, files that were left over.

Reads names, times and sizes, no log. Source: Kafka's LogManager, UnifiedLog.deleteOldSegments, LogCleanerManager,
LogLoader.
"""

from typing import NamedTuple

from ...storage.checkpoints import (
    CLEANER_OFFSET_CHECKPOINT,
    LOG_START_OFFSET_CHECKPOINT,
    REPLICATION_OFFSET_CHECKPOINT,
)
from ...storage.compaction.grouping import SegmentFacts, cleanable_range
from ...storage.compaction.selection import log_to_clean
from ...storage.errors import CorruptCheckpointError
from ...storage.file_names import (
    CLEANED_SUFFIX,
    DELETED_SUFFIX,
    INDEX_SUFFIXES,
    LOG_SUFFIX,
    PARTITION_METADATA,
    SWAP_SUFFIX,
    base_offset_of,
)
from ...storage.log_config import LogConfig
from ...storage.meta_properties import read_partition_metadata
from ..file_access import PathFiles, list_directory
from ..log_directories import SegmentFile
from .tasks import AuditTask, PartitionReport

OVERDUE_MS = 86_400_000
"""How long a log may be dirty enough without a round of the cleaner."""
RETENTION_TOLERANCE_MS = 3_600_000
"""log.retention.check.interval.ms is 5 minutes, file.delete.delay.ms one."""
LEFTOVERS = {DELETED_SUFFIX: "leftover-deleted", CLEANED_SUFFIX: "leftover-cleaned", SWAP_SUFFIX: "leftover-swap"}


class SegmentSummary(NamedTuple):
    """A segment and the times in it: of its first batch, the greatest (-1: none), its file's."""

    file: SegmentFile
    first_timestamp: int
    largest_timestamp: int
    modified_ms: int

    @property
    def changed_ms(self) -> int:
        """Since when it has been as it is, as far as that can be told."""
        return max(self.largest_timestamp, self.modified_ms)

    @property
    def retention_ms(self) -> int:
        """The time that retention goes by."""
        return self.largest_timestamp if self.largest_timestamp >= 0 else self.modified_ms


def check_checkpoints(task: AuditTask, report: PartitionReport) -> None:
    """The offsets of the checkpoint files against the log's start and end."""
    for name, offset in sorted(task.checkpoints.items()):
        path = task.directory / name
        if offset > report.log_end_offset:
            detail = f"it says {offset}, the log ends at {report.log_end_offset}"
            report.add("checkpoint-beyond-log", path, detail, offset=offset)
        elif offset < report.log_start_offset and name == REPLICATION_OFFSET_CHECKPOINT:
            detail = f"it says {offset}, the log begins at {report.log_start_offset}"
            report.add("high-watermark-below-log-start", path, detail, offset=offset)
        elif offset < report.log_start_offset and name == CLEANER_OFFSET_CHECKPOINT:
            detail = f"it says {offset}, the log begins at {report.log_start_offset}"
            report.add("cleaner-checkpoint-below-log-start", path, detail, offset=offset)
    start = task.checkpoints.get(LOG_START_OFFSET_CHECKPOINT, 0)
    old = [
        segment
        for segment, after in zip(task.replica.segments, task.replica.segments[1:], strict=False)
        if after.base_offset <= start
    ]
    if old:
        detail = f"{len(old)} segments lie below the log start offset {start}"
        report.add("segments-below-log-start", old[0].path, detail, offset=old[0].base_offset)


def check_retention(task: AuditTask, report: PartitionReport, segments: list[SegmentSummary]) -> None:
    """Segments that retention should have deleted."""
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


def check_compaction(
    task: AuditTask, report: PartitionReport, segments: list[SegmentSummary], first_open_offset: int | None
) -> None:
    """How dirty a compacted log is, and whether the cleaner should have come."""
    policy = task.policy
    if not policy.is_compacted or not segments:
        return
    stable = min(
        task.checkpoints.get(REPLICATION_OFFSET_CHECKPOINT, report.log_end_offset),
        report.log_end_offset if first_open_offset is None else first_open_offset,
    )
    facts = [SegmentFacts(s.file.base_offset, s.file.size, 0, 0, s.largest_timestamp) for s in segments]
    cleaned_to = task.checkpoints.get(CLEANER_OFFSET_CHECKPOINT)
    offsets = cleanable_range(
        facts,
        cleaned_up_to=cleaned_to,
        log_start_offset=report.log_start_offset,
        log_end_offset=report.log_end_offset,
        last_stable_offset=stable,
        min_compaction_lag_ms=policy.min_compaction_lag_ms,
        now_ms=task.now_ms,
    )
    lag = policy.max_compaction_lag_ms
    config = LogConfig(min_cleanable_dirty_ratio=policy.min_cleanable_dirty_ratio)
    state = log_to_clean((report.topic, report.partition), facts, offsets, config, None, task.now_ms)
    report.dirty_bytes, report.cleanable_bytes = state.cleanable_bytes, state.total_bytes
    after = [segment.file.base_offset for segment in segments[1:]]
    dirty = [
        segment
        for segment, end in zip(segments, after, strict=False)
        if end > offsets.first_dirty_offset and segment.file.base_offset < offsets.first_uncleanable_offset
    ]
    if not dirty:
        return
    path, offset = dirty[0].file.path, max(dirty[0].file.base_offset, offsets.first_dirty_offset)
    old_bytes = sum(segment.file.size for segment in dirty if task.now_ms - segment.changed_ms > OVERDUE_MS)
    waited = task.now_ms - min((s.first_timestamp for s in dirty if s.first_timestamp > 0), default=task.now_ms)
    if lag is not None and lag >= 0 and waited - lag > RETENTION_TOLERANCE_MS:
        detail = f"dirty records are {waited // 60_000} minutes old, max.compaction.lag.ms is {lag}"
        report.add("compaction-overdue", path, detail, offset=offset)
    elif old_bytes > policy.min_cleanable_dirty_ratio * (state.clean_bytes + old_bytes):
        ratio = old_bytes / (state.clean_bytes + old_bytes)
        name = "partition-never-cleaned" if cleaned_to is None else "compaction-overdue"
        report.add(name, path, f"the dirty ratio was {ratio:.2f} a day ago", offset=offset)


def check_files(task: AuditTask, report: PartitionReport) -> None:
    """Files that deletion or the cleaner left over, and indexes without a log."""
    names = sorted(entry.name for entry in list_directory(task.replica.path))
    for name in names:
        path = task.replica.path / name
        for suffix, finding in LEFTOVERS.items():
            if name.endswith(suffix):
                report.add(finding, path, "", offset=_base(name))
        if name.endswith(INDEX_SUFFIXES) and f"{name.partition('.')[0]}{LOG_SUFFIX}" not in names:
            report.add("index-without-log", path, "", offset=_base(name))


def _base(name: str) -> int:
    offset = base_offset_of(name.partition(".")[0] + LOG_SUFFIX)
    return -1 if offset is None else offset


def check_topic_id(task: AuditTask, report: PartitionReport) -> None:
    """partition.metadata against the metadata log."""
    path = task.replica.path / PARTITION_METADATA
    try:
        topic_id = read_partition_metadata(PathFiles(), task.replica.path)
    except CorruptCheckpointError as error:
        report.add("checkpoint-unreadable", path, str(error))
        return
    if task.topic_id is None:
        return
    if topic_id is None:
        report.add("partition-metadata-missing", path, "the file is not there")
    elif topic_id != task.topic_id:
        report.add("topic-id-mismatch", path, f"{topic_id.hex()}, the metadata says {task.topic_id.hex()}")
