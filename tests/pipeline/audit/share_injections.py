"""Share groups and streams groups in a GroupsDirectory: healthy ones, and one for every finding about them.

Each function injects one and returns the place that the audit must report.
"""

import struct
from collections.abc import Callable

from odradek.broker.coordinator.partitioning import partition_for
from odradek.protocol.internal_records.coordinator_serde import encode_key, encode_value
from odradek.protocol.internal_records.share_batches import StateBatch
from odradek.protocol.internal_records.share_partition_key import SharePartitionKey
from odradek.protocol.internal_records.share_state_records import ShareStateRecord, Snapshot, Update
from odradek.protocol.messages.group_records import (
    ShareGroupCurrentMemberAssignmentKey,
    ShareGroupCurrentMemberAssignmentValue,
    ShareGroupMemberMetadataKey,
    ShareGroupMemberMetadataValue,
    ShareGroupMetadataKey,
    ShareGroupMetadataValue,
    ShareGroupStatePartitionMetadataKey,
    ShareGroupStatePartitionMetadataValue,
    StreamsGroupMetadataKey,
    StreamsGroupMetadataValue,
    StreamsGroupTopologyKey,
    StreamsGroupTopologyValue,
)
from odradek.protocol.messages.structure import Message
from support.kafka.directory import NOW_MS, TOPIC, TOPIC_ID

from ..groups_directory import OFFSETS_PARTITIONS, RECORDS, STATE_PARTITIONS, GroupsDirectory, Written

MINUTE_MS = 60_000
AVAILABLE, ACKNOWLEDGED, ARCHIVING, ARCHIVED = 0, 2, 3, 4
OTHER_ID = bytes(range(16))
TopicPartitions = ShareGroupStatePartitionMetadataValue.TopicPartitionsInfo
Injected = tuple[Written, str, str, int]
"""The place of the record that the finding must have, its text, and the topic and partition that it is about."""


def record(directory: GroupsDirectory, key: Message, value: Message, at_ms: int = NOW_MS) -> Written:
    """A record of a group in its partition of the offsets topic."""
    home = partition_for(key.group_id, OFFSETS_PARTITIONS)  # type: ignore[attr-defined]
    return directory.records(home, [(encode_key(key), encode_value(value, 0))], at_ms)


def share_group(
    directory: GroupsDirectory, group: str, members: int = 1, at_ms: int = NOW_MS, partitions: tuple[int, ...] = (0,)
) -> Written:
    """A share group whose members have its epoch. Returns the place of the record of its share partitions."""
    record(directory, ShareGroupMetadataKey(group), ShareGroupMetadataValue(3, 5), at_ms)
    for index in range(members):
        member = f"m{index}"
        metadata = ShareGroupMemberMetadataValue(None, "c", "/127.0.0.1", [TOPIC])
        record(directory, ShareGroupMemberMetadataKey(group, member), metadata, at_ms)
        current = ShareGroupCurrentMemberAssignmentValue(3, 2, 0)
        record(directory, ShareGroupCurrentMemberAssignmentKey(group, member), current, at_ms)
    return noted(directory, group, [TopicPartitions(TOPIC_ID, TOPIC, list(partitions))], at_ms=at_ms)


def noted(
    directory: GroupsDirectory,
    group: str,
    initialized: list[TopicPartitions],
    initializing: list[TopicPartitions] | None = None,
    at_ms: int = NOW_MS,
) -> Written:
    """The record of a group's share partitions."""
    value = ShareGroupStatePartitionMetadataValue(initializing or [], initialized, [])
    return record(directory, ShareGroupStatePartitionMetadataKey(group), value, at_ms)


def state(
    directory: GroupsDirectory,
    group: str,
    start_offset: int,
    *batches: StateBatch,
    topic_id: bytes = TOPIC_ID,
    at_ms: int = NOW_MS,
    partition: int | None = None,
) -> Written:
    """A snapshot of the state of partition 0 of the topic."""
    key = SharePartitionKey(group, topic_id, 0)
    value = Snapshot(1, 3, 0, start_offset, 0, at_ms, at_ms, batches)
    return directory.share_state(ShareStateRecord(key, value), at_ms, partition=partition)


def update(
    directory: GroupsDirectory, group: str, start_offset: int, *batches: StateBatch, at_ms: int = NOW_MS
) -> Written:
    """A change of that state."""
    key = SharePartitionKey(group, TOPIC_ID, 0)
    return directory.share_state(ShareStateRecord(key, Update(1, 0, start_offset, 0, batches)), at_ms)


def working(directory: GroupsDirectory, group: str = "sharing") -> Written:
    """A healthy share group with state from offset 500 on. Returns the place of its last state."""
    share_group(directory, group)
    state(directory, group, 400, StateBatch(400, 499, ACKNOWLEDGED, 1))
    return update(directory, group, 500, StateBatch(510, 519, ACKNOWLEDGED, 1), StateBatch(520, 521, AVAILABLE, 2))


def a_state_beyond_the_log(directory: GroupsDirectory) -> Injected:
    share_group(directory, "ahead")
    place = state(directory, "ahead", 590, StateBatch(595, RECORDS, ACKNOWLEDGED, 1))
    return place, "group ahead: it starts at 590 and reaches offset 600, the log ends at 600", TOPIC, 0


def a_start_before_the_log_start(directory: GroupsDirectory) -> Injected:
    directory.first_offset = 100
    share_group(directory, "slow")
    return state(directory, "slow", 40), "group slow: it starts at 40, the log begins at 100", TOPIC, 0


def a_partition_without_state(directory: GroupsDirectory) -> Injected:
    working(directory)
    place = share_group(directory, "forgotten", partitions=(0, 1))
    state(directory, "forgotten", 10)
    return place, "group forgotten: the group has initialized it", TOPIC, 1


def a_state_that_was_deleted(directory: GroupsDirectory) -> Injected:
    place = share_group(directory, "deleted")
    state(directory, "deleted", 10)
    directory.share_state(ShareStateRecord(SharePartitionKey("deleted", TOPIC_ID, 0), None))
    return place, "group deleted: the group has initialized it", TOPIC, 0


def a_state_without_a_group(directory: GroupsDirectory) -> Injected:
    directory.batches[partition_for("gone", OFFSETS_PARTITIONS)] = []
    place = state(directory, "gone", 10)
    return place, "group gone: state of t1-0 with state epoch 3, but no group", "__share_group_state", place.partition


def a_state_in_another_partition(directory: GroupsDirectory) -> Injected:
    share_group(directory, "moved", partitions=())
    name = SharePartitionKey("moved", TOPIC_ID, 0).coordinator_key
    home = partition_for(name, STATE_PARTITIONS)
    place = state(directory, "moved", 10, partition=(home + 1) % STATE_PARTITIONS)
    return place, f"reads partition {home}", "__share_group_state", place.partition


def a_state_that_can_not_be_decoded(directory: GroupsDirectory) -> Injected:
    share_group(directory, "broken", partitions=())
    key = ShareStateRecord(SharePartitionKey("broken", TOPIC_ID, 0), None).key_bytes()
    home = partition_for(SharePartitionKey("broken", TOPIC_ID, 0).coordinator_key, STATE_PARTITIONS)
    place = directory.state_records(home, [(key, struct.pack(">hB", 0, 1))])
    return place, "group broken: ", "__share_group_state", home


def a_topic_that_is_not_initialized(directory: GroupsDirectory) -> Injected:
    at_ms = NOW_MS - 20 * MINUTE_MS
    share_group(directory, "waiting", at_ms=at_ms)
    state(directory, "waiting", 500)
    place = noted(directory, "waiting", [], [TopicPartitions(TOPIC_ID, TOPIC, [0])], at_ms)
    text = "group waiting: the state of t1 has been about to be initialized for 20 minutes"
    return place, text, "__consumer_offsets", place.partition


def a_state_of_a_deleted_topic(directory: GroupsDirectory) -> Injected:
    share_group(directory, "left", partitions=())
    place = state(directory, "left", 10, topic_id=OTHER_ID)
    return place, "the topic id AAECAwQFBgcICQoLDA0ODw has state", "AAECAwQFBgcICQoLDA0ODw", 0


def a_deleted_topic_in_a_group(directory: GroupsDirectory) -> Injected:
    share_group(directory, "left")
    state(directory, "left", 500)
    place = noted(directory, "left", [TopicPartitions(OTHER_ID, "deleted-topic", [0])])
    return place, "group left: the group has initialized its topic id AAECAwQFBgcICQoLDA0ODw", "deleted-topic", -1


def archived_records(directory: GroupsDirectory) -> Injected:
    share_group(directory, "rejecting")
    place = state(directory, "rejecting", 500, StateBatch(510, 512, ARCHIVED, 5), StateBatch(513, 513, ACKNOWLEDGED, 1))
    return place, "group rejecting: 3 offsets, the first, 510, after 5 deliveries", TOPIC, 0


def streams_group(
    directory: GroupsDirectory, group: str, sources: list[str], changelog: str, together: list[str] | None = None
) -> Written:
    """A streams group. Returns the place of its topology."""
    record(directory, StreamsGroupMetadataKey(group), StreamsGroupMetadataValue(1, 7))
    part = StreamsGroupTopologyValue.Subtopology("0", sources)
    part.state_changelog_topics = [StreamsGroupTopologyValue.TopicInfo(changelog)]
    if together is not None:
        indexes = [sources.index(name) for name in together]
        part.copartition_groups = [StreamsGroupTopologyValue.CopartitionGroup(indexes)]
    return record(directory, StreamsGroupTopologyKey(group), StreamsGroupTopologyValue(0, [part]))


def a_missing_source(directory: GroupsDirectory) -> Injected:
    place = streams_group(directory, "counting", [TOPIC, "no-such"], "counting-changelog")
    return place, "group counting: no-such", "__consumer_offsets", place.partition


def a_missing_changelog(directory: GroupsDirectory) -> Injected:
    place = streams_group(directory, "counting", [TOPIC], "counting-changelog")
    return place, "group counting: counting-changelog", "__consumer_offsets", place.partition


def topics_that_are_not_copartitioned(directory: GroupsDirectory) -> Injected:
    together = [TOPIC, "__consumer_offsets"]
    place = streams_group(directory, "joining", together, TOPIC, together)
    text = "group joining: t1 has 2, __consumer_offsets has 4"
    return place, text, "__consumer_offsets", place.partition


def a_member_behind_its_group(directory: GroupsDirectory) -> Injected:
    at_ms = NOW_MS - 30 * MINUTE_MS
    share_group(directory, "stuck", 2, at_ms, partitions=())
    current = ShareGroupCurrentMemberAssignmentValue(2, 1, 0)
    record(directory, ShareGroupCurrentMemberAssignmentKey("stuck", "m1"), current, at_ms)
    group = record(directory, ShareGroupMetadataKey("stuck"), ShareGroupMetadataValue(3, 5), at_ms)
    text = "group stuck: 1 members are behind epoch 3, which is 30 minutes old: m1"
    return group, text, "__consumer_offsets", group.partition


Inject = Callable[[GroupsDirectory], Injected]
INJECTED: list[tuple[str, Inject]] = [
    ("share-state-beyond-log", a_state_beyond_the_log),
    ("share-start-before-log-start", a_start_before_the_log_start),
    ("share-state-missing", a_partition_without_state),
    ("share-state-missing", a_state_that_was_deleted),
    ("share-state-orphaned", a_state_without_a_group),
    ("share-state-in-wrong-partition", a_state_in_another_partition),
    ("share-state-undecodable", a_state_that_can_not_be_decoded),
    ("share-state-unfinished", a_topic_that_is_not_initialized),
    ("share-topic-missing", a_state_of_a_deleted_topic),
    ("share-topic-missing", a_deleted_topic_in_a_group),
    ("share-records-archived", archived_records),
    ("streams-source-missing", a_missing_source),
    ("streams-internal-topic-missing", a_missing_changelog),
    ("streams-topics-not-copartitioned", topics_that_are_not_copartitioned),
    ("group-members-behind", a_member_behind_its_group),
]
