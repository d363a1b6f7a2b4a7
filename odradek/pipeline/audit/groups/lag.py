"""The lag of groups over all directories, in records and in time.

Only `run_look_ups` does I/O: it looks up times in the replicas. All lag is as of one moment: `--at`, else `--now`, else
the latest time of a record, or the last use of the directories if that is earlier. A snapshot therefore has the same
lag whenever and wherever it is audited.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from odradek.protocol.internal_records.share_partition_key import SharePartitionKey
from odradek.protocol.names.topics import TopicPartition
from odradek.storage.files.meta_properties import uuid_text

from ...directories.cluster_metadata import DirectoryMetadata
from ...engine.engines import run_tasks
from ...engine.job import Job
from ..tasks import AuditTask, PartitionReport
from .burrow import RECENT_MS, ConsumerCommit, Status, group_status, partition_status
from .facts import CommitHistory, GroupFacts, LatestGroup, expires_at
from .log_times import CHUNK_BYTES, LogLookUps, LookUpResults, look_up
from .rows import GroupLag
from .share_facts import ShareStateFacts, first_left

SIMPLE = "simple"


@dataclass(slots=True)
class Directories:
    """The input of the lag: for each partition, the report and task of the replica with the longest log."""

    reports: dict[TopicPartition, PartitionReport] = field(default_factory=dict)
    tasks: dict[TopicPartition, AuditTask] = field(default_factory=dict)
    facts: list[GroupFacts] = field(default_factory=list)
    states: dict[str, LatestGroup] = field(default_factory=dict)
    share_states: list[ShareStateFacts] = field(default_factory=list)
    share_keys: set[SharePartitionKey] = field(default_factory=set)
    """The share partitions of `share_states`."""
    topic_names: dict[bytes, str] = field(default_factory=dict)
    """Names by topic id, of topics in the metadata or in the records of share groups."""
    clock_ms: int = 0
    """The current time, ms since 1970: `--now`, or by default the last use of the directories."""
    moment_ms: int = 0
    """The moment as of which the lag is computed, ms since 1970."""


def gather(
    reports: Sequence[PartitionReport],
    tasks: Sequence[AuditTask],
    metadata: DirectoryMetadata,
    now_ms: int | None,
    at_ms: int | None,
) -> Directories:
    """Chooses replicas and the moment. `reports`: those of `tasks`, in the same order."""
    found = Directories()
    latest, last_use = -1, 0
    for report, task in zip(reports, tasks, strict=True):
        if not report.is_known:
            continue  # gone or unreadable: its numbers are meaningless
        key = (report.topic, report.partition)
        if key not in found.reports or found.reports[key].log_end_offset < report.log_end_offset:
            found.reports[key], found.tasks[key] = report, task
        latest, last_use = max(latest, report.max_timestamp), max(last_use, task.now_ms)
    found.facts = [report.group_facts for report in found.reports.values() if report.group_facts is not None]
    found.states = {state.group: state for facts in found.facts for state in facts.states}
    found.share_states = [state for report in found.reports.values() for state in report.share_states or ()]
    found.share_keys = {state.key for state in found.share_states}
    noted = (topic for facts in found.facts for topics in facts.share_topics for topic in topics.initialized)
    found.topic_names = {topic.topic_id: topic.name for topic in noted}
    found.topic_names |= {topic.topic_id: topic.name for topic in metadata.topics.values()}
    found.clock_ms = last_use if now_ms is None else now_ms
    usual = min(last_use, latest) if latest >= 0 and now_ms is None else found.clock_ms
    found.moment_ms = usual if at_ms is None else at_ms
    return found


def look_ups_of(found: Directories, *, is_past: bool) -> dict[TopicPartition, LogLookUps]:
    """The look-ups in each replica. A partition that all groups have read to its end needs no look-up."""
    times: dict[TopicPartition, set[int]] = {}
    offsets: dict[TopicPartition, set[int]] = {}
    for committed in (offset for facts in found.facts for offset in facts.offsets if offset.commits):
        key = (committed.topic, committed.partition)
        report = found.reports.get(key)
        last = committed.commits[-1].offset
        if report is None or (last >= report.log_end_offset and not is_past and committed.leader_epoch < 0):
            continue
        look_ups = times.setdefault(key, set())
        offsets_there = offsets.setdefault(key, set())
        if last < report.log_end_offset:
            look_ups.update(commit.timestamp for commit in committed.commits)
            look_ups.add(found.moment_ms - RECENT_MS)
            offsets_there.add(max(last, report.log_start_offset))
        if is_past:
            look_ups.add(found.moment_ms)
    for state in found.share_states:
        key = (found.topic_names.get(state.key.topic_id, ""), state.key.partition)
        report = found.reports.get(key)
        if report is None or state.start_offset < 0:
            continue
        first = first_left(state, report.log_start_offset)
        look_ups, offsets_there = times.setdefault(key, set()), offsets.setdefault(key, set())
        if first < report.log_end_offset:
            offsets_there.add(first)
        if is_past:
            look_ups.add(found.moment_ms)
    return {
        key: LogLookUps(
            found.tasks[key].replica,
            found.reports[key].log_end_offset,
            tuple(sorted(look_ups)),
            tuple(sorted(offsets[key])),
        )
        for key, look_ups in times.items()
    }


def run_look_ups(look_ups: Mapping[TopicPartition, LogLookUps], engine: str) -> dict[TopicPartition, LookUpResults]:
    """Does the look-ups. Raises the errors of `run_tasks`."""
    tasks = list(look_ups.values())
    sizes = [(len(task.times) + len(task.offsets)) * CHUNK_BYTES for task in tasks]
    results = run_tasks(
        engine, Job(tasks, look_up, "odradek audit: lag", place=lambda task: task.replica.path, sizes=sizes)
    )
    return dict(zip(look_ups, results, strict=True))


def lag_rows(found: Directories, results: Mapping[TopicPartition, LookUpResults], retention_ms: int) -> list[GroupLag]:
    """The rows, by group, topic and partition."""
    rows = [_row(found, offset, results, retention_ms) for facts in found.facts for offset in facts.offsets]
    by_group: dict[str, list[Status]] = {}
    for row in rows:
        by_group.setdefault(row.group, []).append(Status(row.status))
    worst = {group: str(group_status(statuses)) for group, statuses in by_group.items()}
    for row in rows:
        row.group_status = worst[row.group]
    return sorted(rows, key=lambda row: (row.group, row.topic, row.partition))


def _row(
    found: Directories, offset: CommitHistory, results: Mapping[TopicPartition, LookUpResults], retention_ms: int
) -> GroupLag:
    key = (offset.topic, offset.partition)
    report, known = found.reports.get(key), results.get(key, LookUpResults())
    state = found.states.get(offset.group)
    start, end = (report.log_start_offset, report.log_end_offset) if report is not None else (-1, -1)
    end = known.end_offsets.get(found.moment_ms, end)
    row = GroupLag(
        offset.group,
        offset.topic,
        offset.partition,
        -1,
        start,
        end,
        -1,
        -1,
        str(Status.NOTFOUND),
        "",
        0 if state is None else state.members,
        SIMPLE if state is None else str(state.kind),
        offset.metadata,
        offset.leader_epoch,
        "" if offset.topic_id is None else uuid_text(offset.topic_id),
        -1,
        -1,
        found.moment_ms,
    )
    if not offset.commits:
        return row
    last = offset.commits[-1]
    row.committed_offset, row.commit_timestamp = last.offset, last.timestamp
    expires = expires_at(offset, state, retention_ms)
    row.expires_at = -1 if expires is None else expires
    row.status = str(Status.OK)
    if end >= 0:
        row.lag = max(end - last.offset, 0)
        row.lag_ms = _lag_ms(row, known, found.moment_ms)
        row.status = str(_status(offset, row.lag, known, found.moment_ms))
    return row


def _lag_ms(row: GroupLag, known: LookUpResults, moment_ms: int) -> int:
    if row.lag == 0:
        return 0
    written = known.timestamps.get(max(row.committed_offset, row.log_start_offset), -1)
    return max(moment_ms - written, 0) if written >= 0 else -1


def _status(offset: CommitHistory, lag: int, known: LookUpResults, moment_ms: int) -> Status:
    commits = []
    for commit in offset.commits:
        end = known.end_offsets.get(commit.timestamp)
        commits.append(
            ConsumerCommit(commit.timestamp, commit.offset, None if end is None else max(end - commit.offset, 0))
        )
    return partition_status(commits, lag, known.end_offsets.get(moment_ms - RECENT_MS), moment_ms)
