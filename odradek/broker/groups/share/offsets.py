"""Decides how an administrator alters or deletes the start offsets of a share group.

Pure. Owns: the checks, the records about the group's topics, and the results for each topic. Never does: asking the
persister (:mod:`.state_requests`). Source: ``GroupMetadataManager``, alterShareGroupOffsets,
sharePartitionsEligibleForOffsetDeletion, completeDeleteShareGroupOffsets.
"""

from typing import NamedTuple

from odradek.protocol.common.steps import Steps
from odradek.protocol.errors import ErrorCode, KafkaError
from odradek.protocol.internal_records.share_partition_key import SharePartitionKey
from odradek.protocol.messages.share_groups import (
    AlterShareGroupOffsetsRequest,
    AlterShareGroupOffsetsResponse,
    DeleteShareGroupOffsetsRequest,
    DeleteShareGroupOffsetsResponse,
)

from ..effects import GroupEffects
from ..memory import GroupMemory
from ..modern.assignment import TopicId
from ..modern.hash_order import partition_order, topic_map_order
from ..modern.topics import GroupTopics
from .group import ShareGroup, ShareGroups, StatePartitions, StateTopics
from .leaving import existing_group
from .records import state_topics_record
from .state_topics import Initialization, initializing_record, named

AlteredTopic = AlterShareGroupOffsetsResponse.AlterShareGroupOffsetsResponseTopic
AlteredPartition = AlterShareGroupOffsetsResponse.AlterShareGroupOffsetsResponsePartition
DeletedTopic = DeleteShareGroupOffsetsResponse.DeleteShareGroupOffsetsResponseTopic
UNKNOWN = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
PARTITIONS_A_STEP = 256
NOTHING_TO_DELETE = "There is no offset information to delete."


class Alteration(NamedTuple):
    """The start offsets that an administrator sets. ``answers``: the response's topics, with the errors of partitions
    that do not exist. ``partitions``: those that exist, by topic."""

    answers: list[AlteredTopic]
    partitions: dict[TopicId, StatePartitions]
    start_offsets: dict[SharePartitionKey, int]


def plan_alteration(topics: GroupTopics, request: AlterShareGroupOffsetsRequest, now_ms: int) -> Steps[Alteration]:
    """Looks up the partitions of a request, in steps."""
    plan = Alteration([], {}, {})
    looked_up = 0
    for topic in request.topics:
        topic_id = topics.topic_id(topic.topic_name)
        count = 0 if topic_id is None else topics.partition_count(topic_id)
        answered = AlteredTopic(topic.topic_name)
        known: set[int] = set()
        for partition in topic.partitions:
            looked_up += 1
            if looked_up % PARTITIONS_A_STEP == 0:
                yield
            index = partition.partition_index
            if topic_id is not None and 0 <= index < count:
                known.add(index)
                answered.partitions.append(AlteredPartition(index))
                plan.start_offsets[SharePartitionKey(request.group_id, topic_id, index)] = partition.start_offset
            else:
                answered.partitions.append(AlteredPartition(index, UNKNOWN, UNKNOWN.message))
        if topic_id is not None:
            answered.topic_id = topic_id
            plan.partitions[topic_id] = StatePartitions(topic.topic_name, frozenset(known), now_ms)
        plan.answers.append(answered)
        yield
    return plan


def alter_offsets(groups: ShareGroups, group_id: str, plan: Alteration, effects: GroupEffects) -> Initialization:
    """Notes the partitions as initializing, and sets the response. Returns the offsets for the persister.

    An unknown group is created. Raises KafkaError NON_EMPTY_GROUP, GROUP_ID_NOT_FOUND (a group of another kind).
    """
    group = groups.share.get(group_id)
    if group is None:
        if groups.is_taken(group_id):
            raise KafkaError(ErrorCode.GROUP_ID_NOT_FOUND, f"Group {group_id} is not a share group.")
        group = ShareGroup(group_id, GroupMemory())
    _refuse_members(group)
    if plan.partitions:
        effects.records.append(initializing_record(groups.topics, group, plan.partitions))
    effects.response = AlterShareGroupOffsetsResponse(responses=plan.answers)
    return Initialization(group_id, group.group_epoch, plan.start_offsets, group.deletions)


class OffsetDeletion(NamedTuple):
    """The share partitions whose state the persister is to delete, and the topics that are refused."""

    keys: list[SharePartitionKey]
    refused: list[DeletedTopic]


class DeletionPlan(NamedTuple):
    """The topics that an administrator makes a group forget. ``topics``: those that exist, id and name."""

    topics: dict[TopicId, str]
    refused: list[DeletedTopic]


def plan_deletion(topics: GroupTopics, request: DeleteShareGroupOffsetsRequest) -> Steps[DeletionPlan]:
    """Looks up the topics of a request, in steps."""
    plan = DeletionPlan({}, [])
    for number, topic in enumerate(request.topics, 1):
        if number % PARTITIONS_A_STEP == 0:
            yield
        topic_id = topics.topic_id(topic.topic_name)
        if topic_id is None:
            plan.refused.append(DeletedTopic(topic.topic_name, error_code=UNKNOWN, error_message=UNKNOWN.message))
        else:
            plan.topics[topic_id] = topic.topic_name
    return plan


def begin_offset_deletion(
    groups: ShareGroups, group_id: str, plan: DeletionPlan, effects: GroupEffects
) -> OffsetDeletion:
    """Notes topics as deleting. Returns the share partitions of these topics. Raises KafkaError GROUP_ID_NOT_FOUND,
    NON_EMPTY_GROUP."""
    group = existing_group(groups, group_id)
    _refuse_members(group)
    present = group.state_topics
    if present is None:
        return OffsetDeletion([], [])
    deletion = OffsetDeletion([], [])
    initialized, initializing, deleting = dict(present.initialized), dict(present.initializing), set(present.deleting)
    for topic_id, name in plan.topics.items():
        stored = initialized.pop(topic_id, None)
        if stored is not None:
            deleting.add(topic_id)
            added = initializing.pop(topic_id, None)
            indexes = partition_order(stored.partitions | (frozenset() if added is None else added.partitions))
        elif topic_id in deleting:
            # An earlier deletion was not completed.
            indexes = list(range(groups.topics.partition_count(topic_id)))
        else:
            deletion.refused.append(DeletedTopic(name, error_code=UNKNOWN, error_message=NOTHING_TO_DELETE))
            continue
        deletion.keys.extend(SharePartitionKey(group_id, topic_id, index) for index in indexes)
    deletion.refused.extend(plan.refused)
    topics = StateTopics(initializing, initialized, named(groups.topics, deleting))
    effects.records.append(state_topics_record(group_id, topics))
    return deletion


def complete_offset_deletion(
    groups: ShareGroups, group_id: str, deleted: set[TopicId], refused: list[DeletedTopic], effects: GroupEffects
) -> None:
    """Notes that the state of topics is deleted, and sets the response: the deleted topics, then those refused."""
    names = named(groups.topics, topic_map_order(deleted))
    group = groups.share.get(group_id)
    answers = []
    if group is not None and group.state_topics is not None:
        present = group.state_topics
        deleting = named(groups.topics, present.deleting.keys() - deleted)
        topics = StateTopics(present.initializing, present.initialized, deleting)
        effects.records.append(state_topics_record(group_id, topics))
        answers = [DeletedTopic(name, topic_id) for topic_id, name in names.items()]
    effects.response = DeleteShareGroupOffsetsResponse(responses=[*answers, *refused])


def _refuse_members(group: ShareGroup) -> None:
    if group.members:
        raise KafkaError(ErrorCode.NON_EMPTY_GROUP, ErrorCode.NON_EMPTY_GROUP.message)
