"""Reads groups and committed offsets from the records of one partition of ``__consumer_offsets``.

Decodes only the latest records of each key. A record that can't be decoded becomes a finding with its place. Records of
unknown types and versions are counted. Source: Kafka's GroupCoordinatorRecordSerde, CoordinatorRecordType.
"""

from bisect import bisect_right
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from odradek.protocol.internal_records.coordinator_serde import CoordinatorRecordType, offset_commit_value
from odradek.protocol.messages.group_records import (
    GroupMetadataValue,
    OffsetCommitValue,
    ShareGroupStatePartitionMetadataValue,
    StreamsGroupTopologyValue,
)
from odradek.protocol.messages.structure import ZERO_UUID
from odradek.protocol.records.record import Record
from odradek.storage.files.checkpoints import CLEANER_OFFSET_CHECKPOINT

from ...decode.batch_table import BatchTable
from ...decode.records import DecodedRecords
from ...tables.group_messages import GroupKind, GroupMessage, commit_key, group_message, kind_of
from ..findings import Finding
from ..tasks import MAX_FINDINGS_OF_A_KIND, AuditTask, PartitionReport
from .facts import Commit, CommitHistory, GroupFacts, GroupGrowth, LatestGroup, PendingCommit
from .record_store import KeyRecords, RecordStore, RetainedRecord, records_wanted
from .share_facts import RecordPlace, ShareTopic, ShareTopics, StoredTopology

_Info = ShareGroupStatePartitionMetadataValue.TopicPartitionsInfo


def share_topics(
    group: str, value: ShareGroupStatePartitionMetadataValue, place: RecordPlace, timestamp: int
) -> ShareTopics:
    """The topics of a share group by the progress of their state."""
    deleting = [ShareTopic(topic.topic_name, bytes(topic.topic_id), ()) for topic in value.deleting_topics]
    return ShareTopics(
        group, place, timestamp, _with_ids(value.initialized_topics), _with_ids(value.initializing_topics), deleting
    )


def _with_ids(topics: Iterable[_Info]) -> list[ShareTopic]:
    return [ShareTopic(topic.topic_name, bytes(topic.topic_id), tuple(topic.partitions)) for topic in topics]


def streams_topology(group: str, value: StreamsGroupTopologyValue, place: RecordPlace) -> StoredTopology:
    """The topics of a topology. A topic that a subtopology writes as its repartition topic is not a source."""
    topology = StoredTopology(group, place)
    for part in value.subtopologies:
        repartition = [topic.name for topic in part.repartition_source_topics]
        topology.sources.extend(part.source_topics)
        topology.internal.extend([*repartition, *(topic.name for topic in part.state_changelog_topics)])
        for together in part.copartition_groups:
            names = [part.source_topics[index] for index in together.source_topics if index < len(part.source_topics)]
            names += [repartition[index] for index in together.repartition_source_topics if index < len(repartition)]
            topology.copartitioned.append(names)
    return topology


UNKNOWN_GROUP = ""
"""The group of records whose key can't be decoded."""


_GROUP_RECORDS = frozenset(
    (
        CoordinatorRecordType.GROUP_METADATA,
        CoordinatorRecordType.CONSUMER_GROUP_METADATA,
        CoordinatorRecordType.SHARE_GROUP_METADATA,
        CoordinatorRecordType.STREAMS_GROUP_METADATA,
    )
)
"""Record types that describe a group itself, not a member or an offset."""
_MEMBER_RECORDS = frozenset(
    (
        CoordinatorRecordType.CONSUMER_GROUP_MEMBER_METADATA,
        CoordinatorRecordType.SHARE_GROUP_MEMBER_METADATA,
        CoordinatorRecordType.STREAMS_GROUP_MEMBER_METADATA,
    )
)


_EPOCH_RECORDS = frozenset(
    (
        CoordinatorRecordType.CONSUMER_GROUP_CURRENT_MEMBER_ASSIGNMENT,
        CoordinatorRecordType.SHARE_GROUP_CURRENT_MEMBER_ASSIGNMENT,
        CoordinatorRecordType.STREAMS_GROUP_CURRENT_MEMBER_ASSIGNMENT,
    )
)
"""Record types with a member's own epoch."""


@dataclass(slots=True)
class GroupMembers:
    """A group's member records: their number, the place of the first one, and the epoch of each member."""

    records: int = 0
    first: RecordPlace | None = None
    epochs: dict[str, int] = field(default_factory=dict)


class GroupRecords:
    """Collects the decoded records of a partition of the offsets topic. `close` writes the results into the report."""

    def __init__(self, task: AuditTask) -> None:
        self._segments = task.replica.segments
        self._bases = [segment.base_offset for segment in task.replica.segments]
        self._store = RecordStore(task.checkpoints.get(CLEANER_OFFSET_CHECKPOINT, 0), task.at_ms)

    def read(self, chunk: BatchTable, item: DecodedRecords) -> None:
        """Reads decoded records, including control records."""
        self._store.read(chunk, item)

    def close(self, report: PartitionReport) -> None:
        """Writes `group_facts` and findings into the report."""
        facts = GroupFacts(report.partition, report.log_end_offset)
        pending = self._store.close()
        facts.last_timestamp = self._store.last_timestamp
        report.group_facts = facts
        members: dict[str, GroupMembers] = {}
        for key, records in self._store.keys.items():
            self._read_key(key, records, report, facts, members)
        self._add_members(facts, members)
        self._read_later(facts)
        for producer_id, key, record in pending:
            self._read_pending(producer_id, key, record, report, facts)
        for record in self._store.without_key:
            self._find("group-record-undecodable", report, self._place(record), "it has no key", 1)
        facts.growth = growth_of(report.partition, self._store.keys)

    def _read_key(
        self,
        key: bytes,
        records: KeyRecords,
        report: PartitionReport,
        facts: GroupFacts,
        members: dict[str, GroupMembers],
    ) -> None:
        latest = records.latest(records_wanted(key))
        if not latest or latest[-1].value is None:
            return  # deleted, or all records are in open transactions, or all are later than `at_ms`
        last = latest[-1]
        message = _message(key, last)
        place = self._place(last)
        if message.fault is not None:
            self._report_fault(message, report, place, records.counts.records)
        elif message.is_offset_commit:
            facts.offsets.append(_committed(message, key, latest, place))
        elif message.record_type in _GROUP_RECORDS:
            facts.states.append(_state(message, place, last.timestamp))
        elif message.record_type in _MEMBER_RECORDS:
            known = members.setdefault(message.key.group_id, GroupMembers())
            known.records += 1
            known.first = known.first or place
        elif message.record_type in _EPOCH_RECORDS:
            known = members.setdefault(message.key.group_id, GroupMembers())
            known.epochs[message.key.member_id] = message.value.member_epoch
        elif isinstance(message.value, ShareGroupStatePartitionMetadataValue):
            facts.share_topics.append(share_topics(message.key.group_id, message.value, place, last.timestamp))
        elif isinstance(message.value, StreamsGroupTopologyValue):
            facts.topologies.append(streams_topology(message.key.group_id, message.value, place))

    def _report_fault(self, message: GroupMessage, report: PartitionReport, place: RecordPlace, records: int) -> None:
        if not message.is_unknown:
            name, detail = "group-record-undecodable", message.fault or ""
        elif message.key is None:
            name, detail = "group-record-type-unknown", f"its key has type {message.record_type}"
        else:
            detail = f"group {message.group}: {message.key.NAME.removesuffix('Key')} of version {message.value_version}"
            name = "group-record-version-unknown"
        self._find(name, report, place, detail, records)

    def _find(self, name: str, report: PartitionReport, place: RecordPlace, detail: str, records: int) -> None:
        text = f"the record at offset {place.offset}: {detail}"
        finding = Finding(name, report.topic, report.partition, place.file, place.position, place.offset, text, records)
        same = [index for index, found in enumerate(report.findings) if found.name == name]
        alike = [index for index in same if report.findings[index].detail.endswith(detail)]
        if alike or len(same) >= MAX_FINDINGS_OF_A_KIND:
            index = (alike or same)[-1]
            known = report.findings[index]
            report.findings[index] = known._replace(occurrences=known.occurrences + records)
        else:
            report.findings.append(finding)

    def _add_members(self, facts: GroupFacts, members: dict[str, GroupMembers]) -> None:
        by_group = {state.group: state for state in facts.states}
        for group, known in members.items():
            state = by_group.get(group)
            if state is None:
                if known.first is not None:
                    facts.orphans[group] = known.first
            elif state.kind is not GroupKind.CLASSIC:
                state.members = known.records
                # A static member that has left for a while has a negative epoch.
                state.behind = sorted(member for member, epoch in known.epochs.items() if 0 <= epoch < state.epoch)

    def _read_later(self, facts: GroupFacts) -> None:
        """Adds offsets whose records are all later than `at_ms`."""
        for key, record in self._store.later.items():
            if self._store.keys[key].kept or record.value is None:
                continue
            message = _message(key, record)
            if message.fault is None and message.is_offset_commit:
                facts.offsets.append(CommitHistory(*commit_key(message.key), self._place(record), []))

    def _read_pending(
        self, producer_id: int, key: bytes, record: RetainedRecord, report: PartitionReport, facts: GroupFacts
    ) -> None:
        message = _message(key, record)
        place = self._place(record)
        if message.fault is not None:
            self._report_fault(message, report, place, 1)
        elif message.is_offset_commit and message.value is not None:
            value = offset_commit_value(message.value)
            where = commit_key(message.key)
            facts.pending.append(PendingCommit(*where, place, value.offset, record.timestamp, producer_id))

    def _place(self, record: RetainedRecord) -> RecordPlace:
        segment = self._segments[max(bisect_right(self._bases, record.offset) - 1, 0)]
        return RecordPlace(str(segment.path), record.position, record.offset)


def _message(key: bytes, record: RetainedRecord) -> GroupMessage:
    return group_message(Record(record.offset, record.timestamp, key, record.value, []))


def _committed(message: GroupMessage, key: bytes, latest: list[RetainedRecord], place: RecordPlace) -> CommitHistory:
    """The commits since the last tombstone, and the fields of the last commit."""
    commits: list[Commit] = []
    for record in latest:
        if record.value is None:
            commits = []
            continue
        commit = _message(key, record)
        if commit.fault is None:
            value = offset_commit_value(commit.value)
            commits.append(Commit(value.commit_timestamp, value.offset))
    last: OffsetCommitValue = offset_commit_value(message.value)
    return CommitHistory(
        *commit_key(message.key),
        place,
        commits,
        last.metadata,
        last.leader_epoch,
        None if last.topic_id == ZERO_UUID else last.topic_id,
        last.expire_timestamp,
    )


def _state(message: GroupMessage, place: RecordPlace, timestamp: int) -> LatestGroup:
    assert message.group is not None
    kind = kind_of(message.key.NAME)
    value = message.value
    if isinstance(value, GroupMetadataValue):
        return LatestGroup(
            message.group,
            kind,
            place,
            value.protocol_type,
            value.generation,
            len(value.members),
            value.current_state_timestamp,
            timestamp,
        )
    return LatestGroup(message.group, kind, place, str(kind), value.epoch, timestamp=timestamp)


def growth_of(offsets_partition: int, keys: Mapping[bytes, KeyRecords]) -> list[GroupGrowth]:
    """The records of each group in a partition, the largest dirty part first."""
    by_group: dict[str, GroupGrowth] = {}
    for key, records in keys.items():
        message = group_message(Record(0, 0, key, None, []))
        name = message.group or UNKNOWN_GROUP
        growth = by_group.setdefault(name, GroupGrowth(name, offsets_partition))
        counts = records.counts
        written = counts.records - counts.tombstones
        growth.tombstones += counts.tombstones
        growth.bytes += counts.bytes
        growth.dirty_records += counts.dirty_records
        growth.dirty_bytes += counts.dirty_bytes
        if not message.is_offset_commit or message.key is None:
            growth.group_records += written
            continue
        growth.commits += written
        if written > growth.busiest_commits:
            _, growth.busiest_topic, growth.busiest_partition = commit_key(message.key)
            growth.busiest_commits = written
            growth.busiest_ms = counts.last_timestamp - counts.first_timestamp
    dirty = sum(growth.dirty_bytes for growth in by_group.values())
    for growth in by_group.values():
        growth.dirty_share = growth.dirty_bytes / dirty if dirty else 0.0
    return sorted(by_group.values(), key=lambda growth: (-growth.dirty_bytes, growth.group))
