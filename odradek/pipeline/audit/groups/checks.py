"""Checks groups and committed offsets, from the rows of the lag table and the data that they are computed from.

Pure. Each check is a function that yields findings. catalogue_groups.py describes them.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from odradek.protocol.java.hash import java_hash_code
from odradek.protocol.names.topics import OFFSETS_TOPIC, TopicPartition
from odradek.storage.files.meta_properties import uuid_text

from ...directories.cluster_metadata import DirectoryMetadata
from ..findings import Finding
from .burrow import Status, has_rewound
from .facts import COMMITS_KEPT, MINUTE_MS, CommitHistory, GroupGrowth
from .lag import Directories
from .log_times import LookUpResults, end_offset_of_epoch
from .rows import GroupLag
from .share_facts import RecordPlace

HOUR_MS = 60 * MINUTE_MS
SOON_SHARE = 7
"""Offsets expire soon if less than 1/SOON_SHARE of their retention is left: a day of Kafka's week."""
OVERDUE_MS = HOUR_MS
"""An offset that expired this long ago should be gone: Kafka deletes expired ones every 10 minutes
(offsets.retention.check.interval.ms)."""
TRANSACTION_MAX_MS = 15 * MINUTE_MS
"""Kafka's default of transaction.max.timeout.ms. A coordinator aborts each transaction by then, unless it lost it."""
REBALANCE_MS = 10 * MINUTE_MS
"""A rebalance that takes this long is stuck: members have max.poll.interval.ms, by default 5 minutes."""
MOST_NAMES = 3
MANY_COMMITS = 1_000
FREQUENT_MS = 1_000
"""Commits are too frequent if a partition has MANY_COMMITS, on average less than FREQUENT_MS apart."""
LARGE_DIRTY_BYTES = 10 << 20
LARGE_SHARE = 0.5
_LAGGING = {
    Status.STOP: "consumer-stopped",
    Status.STALL: "consumer-stalled",
    Status.WARN: "consumer-falling-behind",
}


@dataclass(frozen=True, slots=True)
class CheckedCommit:
    """A committed offset, its row in the lag table, and the result of the look-ups in its log."""

    offset: CommitHistory
    row: GroupLag
    results: LookUpResults

    def found(self, name: str, detail: str) -> Finding:
        """A finding at the commit's record."""
        place = self.offset.place
        text = f"group {self.offset.group}: {detail}"
        return Finding(name, self.offset.topic, self.offset.partition, place.file, place.position, place.offset, text)


def group_findings(
    found: Directories,
    rows: list[GroupLag],
    results: Mapping[TopicPartition, LookUpResults],
    metadata: DirectoryMetadata,
    retention_ms: int,
) -> list[Finding]:
    """All findings."""
    by_key = {(row.group, row.topic, row.partition): row for row in rows}
    findings: list[Finding] = []
    for facts in found.facts:
        for offset in facts.offsets:
            if offset.commits:
                row = by_key[offset.group, offset.topic, offset.partition]
                commit = CheckedCommit(offset, row, results.get((offset.topic, offset.partition), LookUpResults()))
                findings += commit_against_log(commit, found, metadata)
                findings += commit_against_time(commit, found.moment_ms, found.clock_ms, retention_ms)
                findings += consumer(commit)
    findings += pending_commits(found)
    findings += groups(found, metadata)
    findings += growth(found)
    return findings


def commit_against_log(commit: CheckedCommit, found: Directories, metadata: DirectoryMetadata) -> Iterator[Finding]:
    """Compares a commit with its topic, its partition, the log's bounds and leader epochs."""
    offset, row = commit.offset, commit.row
    last = offset.commits[-1].offset
    topic = metadata.topics.get(offset.topic)
    if topic is None and metadata.is_known:
        yield commit.found("commit-to-missing-topic", f"offset {last}")
        return
    task = found.tasks.get((offset.topic, offset.partition))
    topic_id = topic.topic_id if topic is not None else task.topic_id if task is not None else None
    if offset.topic_id is not None and topic_id is not None and offset.topic_id != topic_id:
        ids = f"topic id {uuid_text(offset.topic_id)}, the topic now has {uuid_text(topic_id)}"
        yield commit.found("commit-to-recreated-topic", f"offset {last} was committed to {ids}")
        return
    if topic is not None and topic.brokers and offset.partition not in topic.brokers:
        yield commit.found(
            "commit-to-missing-partition", f"offset {last}, the topic has {len(topic.brokers)} partitions"
        )
        return
    if row.log_end_offset < 0:
        return
    end = found.reports[offset.topic, offset.partition].log_end_offset
    epoch_end = end_offset_of_epoch(commit.results.epochs, offset.leader_epoch, end)
    if last > end:
        yield commit.found(
            "committed-offset-beyond-log", f"offset {last}, the log ends at {end}: the lag is {end - last}"
        )
    elif last < row.log_start_offset:
        yield commit.found(
            "committed-offset-before-log-start", f"offset {last}, the log begins at {row.log_start_offset}"
        )
    elif offset.leader_epoch >= 0 and epoch_end is not None and last > epoch_end:
        detail = f"offset {last} of leader epoch {offset.leader_epoch}, which ends at {epoch_end}"
        yield commit.found("committed-offset-truncated", detail)


def commit_against_time(commit: CheckedCommit, moment_ms: int, clock_ms: int, retention_ms: int) -> Iterator[Finding]:
    """Checks expiry and timestamps in the future."""
    row = commit.row
    if row.commit_timestamp > clock_ms + HOUR_MS:
        yield commit.found("commit-in-the-future", f"the timestamp is {row.commit_timestamp}, the clock {clock_ms}")
    elif 0 <= row.expires_at < moment_ms - OVERDUE_MS:
        overdue = (moment_ms - row.expires_at) // MINUTE_MS
        yield commit.found("group-offset-overdue", f"it expired {overdue} minutes before {moment_ms}")
    elif 0 <= row.expires_at < moment_ms + retention_ms // SOON_SHARE:
        left = (row.expires_at - moment_ms) // MINUTE_MS
        yield commit.found("group-offset-expires-soon", f"it has no members and expires in {max(left, 0)} minutes")


def consumer(commit: CheckedCommit) -> Iterator[Finding]:
    """The findings about the consumer of one partition: its committed offset decreased, or it does not keep up.

    Burrow's rules decide whether it keeps up; they need COMMITS_KEPT commits.
    """
    offset, row = commit.offset, commit.row
    commits = [commit.offset for commit in offset.commits]
    if has_rewound(commits):
        detail = f"from offset {max(commits)} back to {commits[-1]}"
        yield commit.found("committed-offset-rewound", detail)
    name = _LAGGING.get(Status(row.status))
    if name is not None and len(commits) >= COMMITS_KEPT:
        waited = f", the oldest of {row.lag_ms} ms" if row.lag_ms >= 0 else ""
        yield commit.found(name, f"at offset {commits[-1]}, {row.lag} records behind{waited}")


def pending_commits(found: Directories) -> Iterator[Finding]:
    """Findings for offset commits in transactions that have been open for longer than TRANSACTION_MAX_MS."""
    for facts in found.facts:
        for pending in facts.pending:
            age = found.moment_ms - pending.timestamp
            if age > TRANSACTION_MAX_MS:
                what = f"offset {pending.offset} by producer {pending.producer_id}"
                detail = f"{what}, open for {age // MINUTE_MS} minutes"
                yield Finding(
                    "offset-commit-transaction-hanging",
                    pending.topic,
                    pending.partition,
                    *pending.place,
                    f"group {pending.group}: {detail}",
                )


def groups(found: Directories, metadata: DirectoryMetadata) -> Iterator[Finding]:
    """Findings for groups in a partition that their coordinator does not read, and for members without a group."""
    topic = metadata.topics.get(OFFSETS_TOPIC)
    partitions = len(topic.brokers) if topic is not None else 0
    for facts in found.facts:
        places: dict[str, RecordPlace] = {offset.group: offset.place for offset in facts.offsets if offset.commits}
        places |= {state.group: state.place for state in facts.states}
        for group, place in places.items():
            expected = partition_of(group, partitions) if partitions else facts.offsets_partition
            if expected != facts.offsets_partition:
                detail = f"group {group}: its coordinator reads partition {expected} of {partitions}"
                yield _in_offsets_topic("group-in-wrong-partition", facts.offsets_partition, place, detail)
        for state in facts.states:
            if state.behind and found.moment_ms - state.timestamp > REBALANCE_MS:
                names = ", ".join(state.behind[:MOST_NAMES]) + (" …" if len(state.behind) > MOST_NAMES else "")
                since = f"epoch {state.epoch}, which is {(found.moment_ms - state.timestamp) // MINUTE_MS} minutes old"
                detail = f"group {state.group}: {len(state.behind)} members are behind {since}: {names}"
                yield _in_offsets_topic("group-members-behind", facts.offsets_partition, state.place, detail)
        for group, place in facts.orphans.items():
            detail = f"group {group}: members, but no record of the group"
            yield _in_offsets_topic("group-member-orphaned", facts.offsets_partition, place, detail)


def partition_of(group: str, partitions: int) -> int:
    """The partition of the offsets topic that holds a group (Kafka's GroupCoordinatorService.partitionFor)."""
    code = java_hash_code(group)
    return 0 if code == -(1 << 31) else abs(code) % partitions


def growth(found: Directories) -> Iterator[Finding]:
    """Findings for groups that commit too often, or that wrote most of the uncleaned part of the offsets topic."""
    for facts in found.facts:
        replica = found.tasks[OFFSETS_TOPIC, facts.offsets_partition].replica
        place = RecordPlace(str(replica.path), -1, -1)
        for growth in facts.growth:
            if growth.busiest_commits >= MANY_COMMITS and growth.busiest_ms < growth.busiest_commits * FREQUENT_MS:
                apart = growth.busiest_ms // growth.busiest_commits
                where = f"{growth.busiest_topic}-{growth.busiest_partition}"
                detail = f"group {growth.group}: {growth.busiest_commits} commits of {where}, {apart} ms apart"
                yield _in_offsets_topic("offset-commits-too-frequent", growth.offsets_partition, place, detail)
            if growth.dirty_bytes >= LARGE_DIRTY_BYTES and growth.dirty_share >= LARGE_SHARE:
                share = f"{growth.dirty_bytes} bytes, {growth.dirty_share:.0%} of the uncleaned part"
                detail = f"group {growth.group}: {share}; mostly {_cause(growth)}"
                yield _in_offsets_topic("offsets-topic-growth", growth.offsets_partition, place, detail)


def _cause(growth: GroupGrowth) -> str:
    causes = {"commits": growth.commits, "tombstones": growth.tombstones, "records of the group": growth.group_records}
    return max(causes, key=lambda name: causes[name])


def _in_offsets_topic(name: str, partition: int, place: RecordPlace, detail: str) -> Finding:
    return Finding(name, OFFSETS_TOPIC, partition, place.file, place.position, place.offset, detail)
