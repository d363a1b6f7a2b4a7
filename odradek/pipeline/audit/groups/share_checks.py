"""Checks share groups: their state against the logs, the topics and the groups.

Pure. Each check is a function that yields findings. catalogue_share_streams.py describes them.
"""

from collections.abc import Iterator, Sequence

from odradek.protocol.internal_records.share_partition_key import SharePartitionKey
from odradek.protocol.names.topics import OFFSETS_TOPIC, SHARE_STATE_TOPIC
from odradek.storage.files.meta_properties import uuid_text

from ...directories.cluster_metadata import DirectoryMetadata
from ..findings import Finding
from .checks import partition_of
from .facts import MINUTE_MS
from .lag import Directories
from .share_facts import ARCHIVED, RecordPlace, ShareStateFacts, ShareTopic, ShareTopics
from .shares import ShareBacklog, topic_of

UNFINISHED_MS = 10 * MINUTE_MS
"""A state that is being made or deleted for this long is stuck: brokers try again every 30 s."""


def share_findings(found: Directories, rows: Sequence[ShareBacklog], metadata: DirectoryMetadata) -> Iterator[Finding]:
    """All findings about share groups. `rows`: those of `found`."""
    by_key = {(row.group, row.topic_id, row.partition): row for row in rows}
    for state in found.share_states:
        row = by_key[state.key.group_id, uuid_text(state.key.topic_id), state.key.partition]
        yield from _state_against_group(state, found, metadata)
        if metadata.is_known and state.key.topic_id not in topic_ids(metadata):
            yield _of_state("share-topic-missing", state, row, f"the topic id {row.topic_id} has state")
        elif state.is_known:
            yield from state_against_log(state, row)
            if row.archived:
                first = next(batch for batch in state.batches if batch.delivery_state == ARCHIVED)
                times = f", the first, {first.first_offset}, after {first.delivery_count} deliveries"
                yield _of_state("share-records-archived", state, row, f"{row.archived} offsets{times}")
    for facts in found.facts:
        for topics in facts.share_topics:
            yield from _topics_of_group(topics, facts.offsets_partition, found, metadata)


def topic_ids(metadata: DirectoryMetadata) -> set[bytes]:
    """The ids of all topics."""
    return {topic.topic_id for topic in metadata.topics.values()}


def state_against_log(state: ShareStateFacts, row: ShareBacklog) -> Iterator[Finding]:
    """Compares a state with the bounds of the log."""
    if row.log_end_offset < 0 or row.start_offset < 0:
        return
    last = max([row.start_offset - 1, *(batch.last_offset for batch in state.batches)])
    if last >= row.log_end_offset:
        detail = f"it starts at {row.start_offset} and reaches offset {last}, the log ends at {row.log_end_offset}"
        yield _of_state("share-state-beyond-log", state, row, detail)
    elif row.start_offset < row.log_start_offset:
        detail = f"it starts at {row.start_offset}, the log begins at {row.log_start_offset}"
        yield _of_state("share-start-before-log-start", state, row, detail)


def _state_against_group(state: ShareStateFacts, found: Directories, metadata: DirectoryMetadata) -> Iterator[Finding]:
    """Findings for states that no coordinator reads, and for states without their group."""
    topic = metadata.topics.get(SHARE_STATE_TOPIC)
    partitions = len(topic.brokers) if topic is not None else 0
    group = state.key.group_id
    expected = partition_of(state.key.coordinator_key, partitions) if partitions else state.state_partition
    if expected != state.state_partition:
        detail = f"group {group}: the coordinator of {state.key.coordinator_key} reads partition {expected}"
        yield Finding("share-state-in-wrong-partition", SHARE_STATE_TOPIC, state.state_partition, *state.place, detail)
    elif state.is_known and group not in found.states and _has_groups_of(group, found, metadata):
        topic_name = f"{topic_of(found, state)}-{state.key.partition}"
        detail = f"group {group}: state of {topic_name} with state epoch {state.state_epoch}, but no group"
        yield Finding("share-state-orphaned", SHARE_STATE_TOPIC, state.state_partition, *state.place, detail)


def _has_groups_of(group: str, found: Directories, metadata: DirectoryMetadata) -> bool:
    """Whether the audit has read the partition of the offsets topic that would have the group."""
    topic = metadata.topics.get(OFFSETS_TOPIC)
    if topic is None or not topic.brokers:
        return False
    report = found.reports.get((OFFSETS_TOPIC, partition_of(group, len(topic.brokers))))
    return report is not None and report.group_facts is not None


def _topics_of_group(
    topics: ShareTopics, offsets_partition: int, found: Directories, metadata: DirectoryMetadata
) -> Iterator[Finding]:
    """Compares the share partitions that a group has noted with the states and the topics."""
    for topic in topics.initialized:
        if metadata.is_known and topic.topic_id not in topic_ids(metadata):
            detail = f"the group has initialized its topic id {uuid_text(topic.topic_id)}"
            yield _of_group("share-topic-missing", topics, topic.name, -1, detail)
            continue
        without = [index for index in topic.partitions if _lacks_state(topics.group, topic, index, found, metadata)]
        for index in without:
            yield _of_group("share-state-missing", topics, topic.name, index, "the group has initialized it")
    for what, unfinished in (("initialized", topics.initializing), ("deleted", topics.deleting)):
        age = found.moment_ms - topics.timestamp
        group = found.states.get(topics.group)
        if unfinished and age > UNFINISHED_MS and (what == "deleted" or (group is not None and group.members)):
            names = ", ".join(sorted(topic.name for topic in unfinished))
            detail = f"the state of {names} has been about to be {what} for {age // MINUTE_MS} minutes"
            yield _of_group("share-state-unfinished", topics, OFFSETS_TOPIC, offsets_partition, detail)


def _lacks_state(group: str, topic: ShareTopic, index: int, found: Directories, metadata: DirectoryMetadata) -> bool:
    """Whether a share partition has no state although the audit has read the partition that would have it."""
    key = SharePartitionKey(group, topic.topic_id, index)
    state_topic = metadata.topics.get(SHARE_STATE_TOPIC)
    if key in found.share_keys or state_topic is None or not state_topic.brokers:
        return False
    home = partition_of(key.coordinator_key, len(state_topic.brokers))
    report = found.reports.get((SHARE_STATE_TOPIC, home))
    return report is not None and report.share_states is not None


def _of_state(name: str, state: ShareStateFacts, row: ShareBacklog, detail: str) -> Finding:
    return Finding(name, row.topic, row.partition, *state.place, f"group {row.group}: {detail}")


def _of_group(name: str, topics: ShareTopics, topic: str, partition: int, detail: str) -> Finding:
    place: RecordPlace = topics.place
    return Finding(name, topic, partition, *place, f"group {topics.group}: {detail}")
