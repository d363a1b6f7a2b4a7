"""Which share partitions have stored state: the decisions about it, and the records that note them.

Pure but for log lines. Owns: the progress of a topic from "initializing" to "initialized" to "deleting". Never does:
asking the persister; :mod:`.state_requests` does. A partition is asked for once in
``group.share.initialize.retry.interval.ms`` until the persister has answered. Source: ``GroupMetadataManager``,
subscribedTopicsChangeMap, initializeShareGroupState, uninitializeShareGroupState, maybeCleanupShareGroupState,
shareGroupBuildPartitionDeleteRequest.
"""

import logging
from collections.abc import Collection, Iterable, Mapping
from typing import NamedTuple

from odradek.protocol.internal_records.share_partition_key import SharePartitionKey

from ...share_state.persister import UNINITIALISED_OFFSET
from ..effects import GroupEffects
from ..modern.assignment import TopicId
from ..modern.hash_order import partition_order
from ..modern.topics import GroupTopics
from ..records import CoordinatorRecord
from .group import NO_STATE_TOPICS, ShareGroup, ShareGroups, StatePartitions, StateTopics
from .records import state_topics_record

logger = logging.getLogger(__name__)

UNKNOWN_NAME = "<UNKNOWN>"
"""The name in records of a topic that does not exist any more."""
ADDED_PARTITION_OFFSET = 0
"""Since Kafka 4.4, partitions that a known topic gets later are read from their first record, so none is missed."""

Partitions = Mapping[TopicId, frozenset[int]]


class Initialization(NamedTuple):
    """The share partitions whose state the persister is to begin, with their start offsets. ``deletions``: those of the
    group at that time."""

    group_id: str
    state_epoch: int
    start_offsets: dict[SharePartitionKey, int]
    deletions: int

    @property
    def partitions(self) -> dict[TopicId, frozenset[int]]:
        """The partition indexes by topic id."""
        return by_topic(self.start_offsets)


def by_topic(keys: Iterable[SharePartitionKey]) -> dict[TopicId, frozenset[int]]:
    """Returns the partition indexes of share partitions, by topic id."""
    found: dict[TopicId, set[int]] = {}
    for key in keys:
        found.setdefault(key.topic_id, set()).add(key.partition)
    return {topic_id: frozenset(indexes) for topic_id, indexes in found.items()}


def initialize_new(
    groups: ShareGroups, group: ShareGroup, group_epoch: int, topic_names: Iterable[str], effects: GroupEffects
) -> Initialization | None:
    """Notes the partitions of subscribed topics that have no state yet as initializing. Returns them; None for none."""
    new = _without_state(groups, group, topic_names, effects.now_ms)
    if not new:
        return None
    present = group.state_topics
    known = set() if present is None else present.initializing.keys() | present.initialized.keys()
    effects.records.append(initializing_record(groups.topics, group, new))
    start_offsets = {
        SharePartitionKey(group.group_id, topic_id, index): (
            ADDED_PARTITION_OFFSET if topic_id in known else UNINITIALISED_OFFSET
        )
        for topic_id, one in new.items()
        for index in partition_order(one.partitions)
    }
    return Initialization(group.group_id, group_epoch, start_offsets, group.deletions)


def _without_state(
    groups: ShareGroups, group: ShareGroup, topic_names: Iterable[str], now_ms: int
) -> dict[TopicId, StatePartitions]:
    present = group.state_topics or NO_STATE_TOPICS
    retry_ms = groups.config.group_share_initialize_retry_interval_ms
    found: dict[TopicId, StatePartitions] = {}
    for name in topic_names:
        topic_id = groups.topics.topic_id(name)
        if topic_id is None:
            continue
        count = groups.topics.partition_count(topic_id)
        have = frozenset(_partitions_of(present.initialized, topic_id))
        asked = present.initializing.get(topic_id)
        if asked is not None and now_ms - asked.since_ms < retry_ms:
            have |= asked.partitions
        if len(have) < count:
            found[topic_id] = StatePartitions(name, frozenset(range(count)) - have, now_ms)
    return found


def initializing_record(
    topics: GroupTopics, group: ShareGroup, added: Mapping[TopicId, StatePartitions]
) -> CoordinatorRecord:
    """Returns the record that notes more partitions as initializing. Their topics are not deleted any more."""
    present = group.state_topics or NO_STATE_TOPICS
    initializing = _joined(present.initializing, added)
    deleting = [topic_id for topic_id in present.deleting if topic_id not in initializing]
    return state_topics_record(group.group_id, StateTopics(initializing, present.initialized, named(topics, deleting)))


def note_initialized(groups: ShareGroups, wanted: Initialization, effects: GroupEffects) -> None:
    """Notes partitions as initialized, after the persister has stored their state.

    Those that are not initializing any more are left out: their topic was deleted from the group. After a deletion
    it may be initializing again, for a later member. The deletion, which waits for this answer, then deletes the state
    that was stored now, so none of it counts; a later heartbeat asks again.
    """
    group_id, group = wanted.group_id, groups.share.get(wanted.group_id)
    present = None if group is None else group.state_topics
    if group is None or present is None:
        return
    if group.deletions != wanted.deletions:
        note_failed(groups, group_id, wanted.partitions, effects)
        return
    awaited = {
        key: indexes & frozenset(_partitions_of(present.initializing, key))
        for key, indexes in wanted.partitions.items()
    }
    partitions = {key: indexes for key, indexes in awaited.items() if indexes}
    if not partitions:
        return
    names = named(groups.topics, partitions)
    added = {key: StatePartitions(names[key], indexes, effects.now_ms) for key, indexes in partitions.items()}
    topics = StateTopics(
        _without(present.initializing, partitions),
        _joined(present.initialized, added),
        named(groups.topics, present.deleting),
    )
    effects.records.append(state_topics_record(group_id, topics))


def note_failed(groups: ShareGroups, group_id: str, partitions: Partitions, effects: GroupEffects) -> None:
    """Removes partitions from the initializing ones, after the persister has failed: a later heartbeat asks again."""
    group = groups.share.get(group_id)
    present = None if group is None else group.state_topics
    if present is None or not present.initializing or not partitions:
        return
    topics = StateTopics(
        _without(present.initializing, partitions), present.initialized, named(groups.topics, present.deleting)
    )
    effects.records.append(state_topics_record(group_id, topics))


def begin_deletion(groups: ShareGroups, group: ShareGroup, effects: GroupEffects) -> list[SharePartitionKey]:
    """Notes all topics of a group as deleting. Returns the share partitions whose state is to be deleted."""
    present = group.state_topics
    if present is None:
        return []
    doomed = _joined(present.initialized, present.initializing)
    retried: dict[TopicId, StatePartitions] = {}
    for topic_id in present.deleting:
        # An earlier deletion was not completed.
        name, count = groups.topics.topic_name(topic_id), groups.topics.partition_count(topic_id)
        if name is not None:
            retried[topic_id] = StatePartitions(name, frozenset(range(count)), effects.now_ms)
    doomed = _joined(doomed, retried)
    deleting = {topic_id: one.topic_name for topic_id, one in doomed.items()}
    effects.records.append(state_topics_record(group.group_id, StateTopics(deleting=deleting)))
    return [
        SharePartitionKey(group.group_id, topic_id, index)
        for topic_id, one in doomed.items()
        for index in partition_order(one.partitions)
    ]


def forget_deleted_topics(
    groups: ShareGroups, group: ShareGroup, topic_ids: Collection[TopicId]
) -> CoordinatorRecord | None:
    """Returns the record of a group without topics that were deleted; None if it has none of them.

    The share coordinator deletes the state of deleted topics itself.
    """
    present = group.state_topics
    if present is None or not any(topic_id in part for part in present for topic_id in topic_ids):
        return None
    initializing = {key: one for key, one in present.initializing.items() if key not in topic_ids}
    initialized = {key: one for key, one in present.initialized.items() if key not in topic_ids}
    deleting = named(groups.topics, [key for key in present.deleting if key not in topic_ids])
    return state_topics_record(group.group_id, StateTopics(initializing, initialized, deleting))


def named(topics: GroupTopics, topic_ids: Iterable[TopicId]) -> dict[TopicId, str]:
    """Returns topic ids with their present names."""
    return {topic_id: topics.topic_name(topic_id) or UNKNOWN_NAME for topic_id in topic_ids}


def _partitions_of(topics: Mapping[TopicId, StatePartitions], topic_id: TopicId) -> Iterable[int]:
    found = topics.get(topic_id)
    return () if found is None else found.partitions


def _joined(
    one: Mapping[TopicId, StatePartitions], other: Mapping[TopicId, StatePartitions]
) -> dict[TopicId, StatePartitions]:
    joined = dict(one)
    for topic_id, more in other.items():
        present = joined.get(topic_id)
        joined[topic_id] = more if present is None else more._replace(partitions=present.partitions | more.partitions)
    return joined


def _without(topics: Mapping[TopicId, StatePartitions], gone: Partitions) -> dict[TopicId, StatePartitions]:
    kept = dict(topics)
    for topic_id in gone.keys() & kept.keys():
        partitions = kept[topic_id].partitions - gone[topic_id]
        if partitions:
            kept[topic_id] = kept[topic_id]._replace(partitions=partitions)
        else:
            del kept[topic_id]
    return kept
