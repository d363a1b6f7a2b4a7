"""Checks whether the log cleaner is late for a compacted partition, from the sizes and times of its segments.

Pure. Imported only when the first compacted partition is checked. Source: Kafka's LogCleanerManager, by the rules of
storage/compaction/.
"""

from odradek.storage.compaction.grouping import SegmentInfo, cleanable_range
from odradek.storage.compaction.selection import log_to_clean
from odradek.storage.files.checkpoints import CLEANER_OFFSET_CHECKPOINT, REPLICATION_OFFSET_CHECKPOINT
from odradek.storage.log.log_config import LogConfig

from .state_checks import RETENTION_TOLERANCE_MS, SegmentSummary
from .tasks import AuditTask, PartitionReport

OVERDUE_MS = 86_400_000
"""How long a log may be due for cleaning without a round of the cleaner."""


def check_compaction(
    task: AuditTask, report: PartitionReport, segments: list[SegmentSummary], first_open_offset: int | None
) -> None:
    """Measures the dirty bytes of the log, and adds a finding if a cleaning is overdue. `segments` is not empty."""
    policy = task.policy
    stable = min(
        task.checkpoints.get(REPLICATION_OFFSET_CHECKPOINT, report.log_end_offset),
        report.log_end_offset if first_open_offset is None else first_open_offset,
    )
    facts = [SegmentInfo(s.file.base_offset, s.file.size, 0, 0, s.largest_timestamp) for s in segments]
    cleaned_up_to = task.checkpoints.get(CLEANER_OFFSET_CHECKPOINT)
    offsets = cleanable_range(
        facts,
        cleaned_up_to=cleaned_up_to,
        log_start_offset=report.log_start_offset,
        log_end_offset=report.log_end_offset,
        last_stable_offset=stable,
        min_compaction_lag_ms=policy.min_compaction_lag_ms,
        now_ms=task.now_ms,
    )
    config = LogConfig(min_cleanable_dirty_ratio=policy.min_cleanable_dirty_ratio)
    state = log_to_clean((report.topic, report.partition), facts, offsets, config, None, task.now_ms)
    report.dirty_bytes = state.cleanable_bytes
    report.clean_and_dirty_bytes = state.total_bytes
    ends = [segment.file.base_offset for segment in segments[1:]]
    dirty = [
        segment
        for segment, end in zip(segments, ends, strict=False)
        if end > offsets.first_dirty_offset and segment.file.base_offset < offsets.first_uncleanable_offset
    ]
    if not dirty:
        return
    path, offset = dirty[0].file.path, max(dirty[0].file.base_offset, offsets.first_dirty_offset)
    old_bytes = sum(segment.file.size for segment in dirty if task.now_ms - segment.changed_ms > OVERDUE_MS)
    waited_ms = task.now_ms - min((s.first_timestamp for s in dirty if s.first_timestamp > 0), default=task.now_ms)
    max_lag_ms = policy.max_compaction_lag_ms
    if max_lag_ms is not None and max_lag_ms >= 0 and waited_ms - max_lag_ms > RETENTION_TOLERANCE_MS:
        detail = f"dirty records are {waited_ms // 60_000} minutes old, max.compaction.lag.ms is {max_lag_ms}"
        report.add("compaction-overdue", path, detail, offset=offset)
    elif old_bytes > policy.min_cleanable_dirty_ratio * (state.clean_bytes + old_bytes):
        ratio = old_bytes / (state.clean_bytes + old_bytes)
        name = "partition-never-cleaned" if cleaned_up_to is None else "compaction-overdue"
        report.add(name, path, f"the dirty ratio was {ratio:.2f} a day ago", offset=offset)
