"""Finds the sender of a heartbeat or a JoinGroup: a member, a new member, or a static member that returns.

Owns: the errors if it is none of these. Never does: changing the group. Source: ``GroupMetadataManager``,
getOrMaybeSubscribeDynamicConsumerGroupMember, getOrMaybeSubscribeStaticConsumerGroupMember, throwIf…; KIP-848, KIP-345.
"""

import logging

from odradek.protocol.errors import ErrorCode, KafkaError

from ..memory import NAME_BYTES
from ..modern.assignment import NO_ASSIGNMENT
from ..modern.groups import refuse_growth, refuse_if_full
from ..records import CoordinatorRecord
from .group import ConsumerGroup
from .member import LEAVE_GROUP_STATIC_MEMBER_EPOCH, ConsumerGroupMember, member_bytes
from .reconciliation import OwnedPartitions
from .records import current_record, member_record, member_tombstones, target_record
from .registry import GroupRegistry

logger = logging.getLogger(__name__)


def refuse_without_room(groups: GroupRegistry, group: ConsumerGroup, member_id: str, instance_id: str | None) -> None:
    """Raises KafkaError GROUP_MAX_SIZE_REACHED if the group is full, and the sender is neither a member nor takes the
    place of a static one."""
    if instance_id is None or instance_id not in group.static_members:
        refuse_if_full("consumer", groups.config.group_consumer_max_size, group.members, member_id)


def refuse_without_memory(groups: GroupRegistry, group: ConsumerGroup, updated: ConsumerGroupMember) -> None:
    """Checks that there is memory for a member as its request describes it. Raises KafkaError.

    Assigned partitions count as memory, but a request is not refused for those that it receives.
    """
    # A static member that returns replaces the member with its instance id.
    stored = group.members.get(updated.member_id) or group.members.get(
        group.static_members.get(updated.instance_id or "", "")
    )
    growth = member_bytes(updated) - (0 if stored is None else member_bytes(stored))
    regex = updated.subscribed_topic_regex
    if regex and regex not in group.subscribed_regexes:
        # The matches of new expressions are not known before they are resolved. Until then all topics count.
        unresolved = 1 + max(0, len(group.subscribed_regexes) - len(group.resolved))
        growth += unresolved * groups.topics.count * NAME_BYTES
    refuse_growth(groups, group, updated.client_id, growth)


def check_epoch(member: ConsumerGroupMember, epoch: int, owned: OwnedPartitions | None) -> None:
    """Raises KafkaError FENCED_MEMBER_EPOCH if a heartbeat has a wrong member epoch.

    The previous epoch is accepted if all partitions that the member reports are assigned to it: the response with the
    new epoch may have been lost.
    """
    if epoch in (0, member.member_epoch):
        return
    relation = "greater" if epoch > member.member_epoch else "smaller"
    if relation == "smaller" and epoch == member.previous_member_epoch and _is_assigned(member, owned):
        return
    raise KafkaError(
        ErrorCode.FENCED_MEMBER_EPOCH,
        f"The consumer group member has a {relation} member epoch ({epoch}) than the one known by the group "
        f"coordinator ({member.member_epoch}). The member must abandon all its partitions and rejoin.",
    )


def _is_assigned(member: ConsumerGroupMember, owned: OwnedPartitions | None) -> bool:
    if owned is None:
        return False
    return all(
        topic_id in member.assigned and indexes <= member.assigned[topic_id].keys()
        for topic_id, indexes in owned.items()
    )


def subscribe_static_member(
    group: ConsumerGroup, member_id: str, instance_id: str, uses_classic: bool, records: list[CoordinatorRecord]
) -> ConsumerGroupMember:
    """Returns the member that joins with an instance id: a new one, or the replacement of the member that has the id.

    Adds the records of a replacement. Raises KafkaError UNRELEASED_INSTANCE_ID if both members use the consumer
    protocol and the present one has not left.
    """
    existing = group.static_member(instance_id)
    if existing is None:
        return group.members.get(member_id) or ConsumerGroupMember(member_id)
    both_modern = not uses_classic and existing.classic is None
    if both_modern and existing.member_epoch != LEAVE_GROUP_STATIC_MEMBER_EPOCH:
        raise KafkaError(
            ErrorCode.UNRELEASED_INSTANCE_ID,
            f"Static member {member_id} with instance id {instance_id} cannot join the group because the instance id "
            f"is owned by {existing.member_id} member.",
        )
    member = existing._replace(member_id=member_id, member_epoch=0, previous_member_epoch=0)
    group_id = group.group_id
    target = group.target_assignment.get(existing.member_id, NO_ASSIGNMENT)
    records += member_tombstones(group_id, existing.member_id)
    records += [member_record(group_id, member), target_record(group_id, member_id, target)]
    records.append(current_record(group_id, member))
    logger.info("group %r: %r replaces %r with instance id %r", group_id, member_id, existing.member_id, instance_id)
    return member
