"""What only all directories together say of groups: their lag, and committed offsets that a log contradicts.

Pure.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from ....storage.checkpoints import TopicPartition
from ...cluster_metadata import ClusterMetadata
from ..findings import Finding
from ..tasks import GroupFacts, PartitionReport


@dataclass(slots=True)
class GroupLag:
    """One group's position in one partition; -1 where the partition is in no directory that was read."""

    group: str
    topic: str
    partition: int
    committed_offset: int
    log_start_offset: int
    log_end_offset: int
    lag: int
    members: int
    metadata: str
    commit_timestamp: int


def group_lags(
    partitions: Sequence[PartitionReport], metadata: ClusterMetadata, findings: list[Finding]
) -> list[GroupLag]:
    """Each group's lag where the partition was read, and what is wrong with its offsets."""
    ends: dict[TopicPartition, tuple[int, int]] = {}
    members: dict[str, GroupFacts] = {}
    for report in partitions:
        start, end = ends.get((report.topic, report.partition), (1 << 62, -1))
        ends[report.topic, report.partition] = min(start, report.log_start_offset), max(end, report.log_end_offset)
        members |= {group.group: group for group in report.groups}
    lags = {}
    for report in partitions:
        for commit in report.commits:
            start, end = ends.get((commit.topic, commit.partition), (-1, -1))
            lag = max(end - commit.offset, 0) if end >= 0 else -1
            group = members.get(commit.group)
            count = 0 if group is None else group.members
            lags[commit.group, commit.topic, commit.partition] = GroupLag(
                commit.group,
                commit.topic,
                commit.partition,
                commit.offset,
                start,
                end,
                lag,
                count,
                commit.metadata,
                commit.commit_timestamp,
            )
            found = _wrong_commit(commit.offset, start, end, is_missing=_is_missing(commit.topic, metadata))
            if found is not None:
                name, detail = found
                place = f"{report.directory}/{report.topic}-{report.partition}"
                text = f"group {commit.group}: {detail}"
                findings.append(Finding(name, commit.topic, commit.partition, place, -1, commit.record_offset, text))
    return [lags[key] for key in sorted(lags)]


def _is_missing(topic: str, metadata: ClusterMetadata) -> bool:
    return metadata.is_known and topic not in metadata.topics


def _wrong_commit(offset: int, start: int, end: int, *, is_missing: bool) -> tuple[str, str] | None:
    """(name of the check, detail) for a committed offset that the log contradicts."""
    if end < 0:
        return ("commit-to-missing-topic", f"offset {offset}") if is_missing else None
    if offset > end:
        return "committed-offset-beyond-log", f"offset {offset}, the log ends at {end}"
    if offset < start:
        return "committed-offset-before-log-start", f"offset {offset}, the log begins at {start}"
    return None
