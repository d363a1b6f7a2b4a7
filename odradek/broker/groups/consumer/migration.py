"""Converts a classic group to a consumer group, and back, while it has members (online upgrade and downgrade).

Owns: the state that the new group takes over. Never does: waiting; members with parked requests must join again. A
classic group of consumers is converted when the first member of the consumer protocol joins; a consumer group, when the
last such member leaves (``group.consumer.migration.policy``). Source: ``GroupMetadataManager``, convertToConsumerGroup,
convertToClassicGroup, validateOnlineUpgrade, validateOnlineDowngrade…; ``ConsumerGroup.fromClassicGroup``,
``ClassicGroup.fromConsumerGroup``.
"""

import logging
from collections.abc import Callable, Iterable
from typing import NoReturn

from odradek.protocol.errors import ErrorCode, KafkaError

from ...coordinator.effects import SetTimer
from ..classic.group import CONSUMER_PROTOCOL_TYPE, ClassicGroup, GroupState
from ..classic.member import ClassicMember
from ..classic.rebalance import prepare, refuse_join, refuse_parked_sync
from ..classic.records import group_metadata_record, group_tombstone
from ..effects import (
    ConsumerSessionExpired,
    GroupEffects,
    consumer_join_key,
    consumer_session_key,
    consumer_sync_key,
    rebalance_key,
)
from ..memory import GroupMemory
from ..modern.metadata_hash import group_hash
from ..modern.topics import GroupTopics
from ..records import CoordinatorRecord
from .consumer_protocol import (
    MalformedConsumerProtocolError,
    by_topic_id,
    read_assignment,
    read_subscription,
    version_of,
    write_assignment,
)
from .group import ConsumerGroup
from .member import ClassicMemberMetadata, ConsumerGroupMember, PartitionEpochs
from .records import current_record, epoch_record, group_tombstones, member_record, target_epoch_record, target_record
from .registry import GroupRegistry

logger = logging.getLogger(__name__)

UPGRADES = frozenset(("upgrade", "bidirectional"))
DOWNGRADES = frozenset(("downgrade", "bidirectional"))
Installation = Callable[[GroupEffects], None]
"""Starts the classic group after its records are stored."""


def upgraded(
    groups: GroupRegistry, classic: ClassicGroup, effects: GroupEffects, records: list[CoordinatorRecord]
) -> ConsumerGroup:
    """Returns the consumer group that a classic group becomes, and adds its records. Raises KafkaError
    GROUP_ID_NOT_FOUND."""
    records.append(group_tombstone(classic.group_id))
    if classic.state is GroupState.EMPTY:
        return ConsumerGroup(classic.group_id, GroupMemory())
    _validate_upgrade(groups, classic)
    # As in Kafka, these responses are sent even if the new member is refused below. The parked members then join again,
    # and the group stays a classic group. The same happens at each further attempt of the new member.
    for member in classic.members.values():
        token = classic.pop_join_token(member)
        if token is not None:
            refuse_join(token, member.member_id, ErrorCode.REBALANCE_IN_PROGRESS, effects)
        refuse_parked_sync(member, ErrorCode.REBALANCE_IN_PROGRESS, effects)
    try:
        group = _consumer_group(classic, groups.topics)
    except MalformedConsumerProtocolError as error:
        logger.warning("group %r cannot be upgraded: %s", classic.group_id, error)
        _refuse_upgrade(classic, "the embedded consumer protocol is malformed.")
    records += _records_of(group)
    for upgraded in group.members.values():
        assert upgraded.classic is not None
        event = ConsumerSessionExpired(group.group_id, upgraded.member_id)
        effects.set_timer(
            SetTimer(
                consumer_session_key(group.group_id, upgraded.member_id), upgraded.classic.session_timeout_ms, event
            )
        )
    logger.info("group %r is a consumer group from epoch %d on", group.group_id, group.group_epoch)
    return group


def _refuse_upgrade(classic: ClassicGroup, why: str) -> NoReturn:
    raise KafkaError(
        ErrorCode.GROUP_ID_NOT_FOUND, f"Cannot upgrade classic group {classic.group_id} to consumer group because {why}"
    )


def _validate_upgrade(groups: GroupRegistry, classic: ClassicGroup) -> None:
    if groups.config.group_consumer_migration_policy not in UPGRADES:
        _refuse_upgrade(classic, "online upgrade is disabled.")
    if not classic.uses_consumer_protocol:
        _refuse_upgrade(classic, "the group does not use the consumer embedded protocol.")
    if len(classic.members) > groups.config.group_consumer_max_size:
        _refuse_upgrade(classic, "the group size exceeds the consumer group maximum size.")


def _consumer_group(classic: ClassicGroup, topics: GroupTopics) -> ConsumerGroup:
    # The replay of its records creates another object, so this one does not count in the memory of all groups.
    group = ConsumerGroup(classic.group_id, GroupMemory())
    generation_id = classic.generation_id
    group.group_epoch = generation_id
    group.assignment_epoch = generation_id
    for member in classic.members.values():
        # A group without a generation has no common protocol: the preferred one of each member is read. (Kafka fails
        # here, and with it the request of the new member.)
        metadata = dict(member.protocols).get(classic.protocol_name or "", member.protocols[0][1])
        subscription = read_subscription(metadata)
        target = _assigned(classic, member, topics)
        assigned: PartitionEpochs = {
            topic_id: dict.fromkeys(partitions, generation_id) for topic_id, partitions in target.items()
        }
        group.target_assignment[member.member_id] = target
        group.put_member(
            ConsumerGroupMember(
                member.member_id,
                member_epoch=generation_id,
                previous_member_epoch=generation_id,
                instance_id=member.group_instance_id,
                rack_id=subscription.rack_id or None,
                rebalance_timeout_ms=member.rebalance_timeout_ms,
                client_id=member.client_id,
                client_host=member.client_host,
                subscribed_topic_names=frozenset(subscription.topics),
                assigned=assigned,
                classic=ClassicMemberMetadata(member.session_timeout_ms, tuple(member.protocols)),
            )
        )
    group.metadata_hash = group_hash(group.subscribed_topics, topics)
    return group


def _assigned(classic: ClassicGroup, member: ClassicMember, topics: GroupTopics) -> dict[bytes, frozenset[int]]:
    if not member.assignment:
        # The member has joined and has not sent SyncGroup yet.
        return {}
    assignment = read_assignment(member.assignment)
    if assignment.user_data:
        _refuse_upgrade(
            classic,
            "an unsupported custom assignor is in use. Please refer to the documentation or switch to a default "
            "assignor before re-attempting the upgrade.",
        )
    return by_topic_id(assignment.assigned_partitions, topics)


def _records_of(group: ConsumerGroup) -> list[CoordinatorRecord]:
    group_id = group.group_id
    members = group.members.values()
    targets = [
        target_record(group_id, member.member_id, group.target_assignment[member.member_id]) for member in members
    ]
    return [
        *(member_record(group_id, member) for member in members),
        epoch_record(group_id, group.group_epoch, group.metadata_hash),
        *targets,
        target_epoch_record(group_id, group.assignment_epoch, group.assignment_timestamp_ms),
        *(current_record(group_id, member) for member in members),
    ]


# --- downgrade


def may_downgrade_without(groups: GroupRegistry, group: ConsumerGroup, leaving: Iterable[ConsumerGroupMember]) -> bool:
    """Whether the group becomes a classic group when ``leaving`` leave: only members of the classic protocol remain,
    and the configuration allows it."""
    gone = list(leaving)
    left = len(group.members) - len(gone)
    if not left or group.classic_members - sum(member.classic is not None for member in gone) != left:
        return False
    return _may_downgrade(groups, group, left, gone)


def may_downgrade_replacing(groups: GroupRegistry, group: ConsumerGroup, replaced: ConsumerGroupMember) -> bool:
    """Whether the group becomes a classic group when a member of the classic protocol replaces ``replaced``: that is
    the last member of the consumer protocol, and the configuration allows it."""
    if replaced.classic is not None or group.classic_members != len(group.members) - 1:
        return False
    return _may_downgrade(groups, group, len(group.members), [replaced])


def _may_downgrade(
    groups: GroupRegistry, group: ConsumerGroup, member_count: int, leaving: list[ConsumerGroupMember]
) -> bool:
    if groups.config.group_consumer_migration_policy not in DOWNGRADES:
        logger.info("group %r stays a consumer group: downgrades are disabled", group.group_id)
        return False
    if member_count > groups.config.group_max_size:
        logger.info("group %r stays a consumer group: it is larger than group.max.size", group.group_id)
        return False
    gone = {member.member_id for member in leaving}
    if not _have_common_protocol([member for member in group.members.values() if member.member_id not in gone]):
        logger.info("group %r stays a consumer group: its members have no protocol in common", group.group_id)
        return False
    return True


def _have_common_protocol(members: list[ConsumerGroupMember]) -> bool:
    """Whether these members of the classic protocol can form one classic group.

    Members that joined by JoinGroup can. A forged log may hold members that cannot; Kafka fails then.
    """
    protocols = [dict(member.classic.protocols) for member in members if member.classic is not None]
    common = set.intersection(*map(set, protocols)) if protocols else set()
    try:
        for protocol in protocols:
            for name in common:
                version_of(protocol[name])
    except MalformedConsumerProtocolError:
        return False
    return bool(common) or not members


def downgrade(
    groups: GroupRegistry,
    group: ConsumerGroup,
    leaving: list[ConsumerGroupMember],
    joining: ConsumerGroupMember | None,
    reason: str | None,
    effects: GroupEffects,
) -> Installation:
    """Adds the records that make this group a classic group. Returns a function to call when they are stored.

    ``joining`` is the static member that replaces the last member of the consumer protocol. ``reason``: why the classic
    group rebalances at once; None if it need not.
    """
    replaced = None if joining is None else group.static_member(joining.instance_id)
    if joining is not None and replaced is not None:
        effects.records += group_tombstones(group, replaced.member_id, joining.member_id)
    else:
        effects.records += group_tombstones(group)
    gone = {member.member_id for member in leaving}
    if replaced is not None:
        gone.add(replaced.member_id)
    members = [member for member in group.members.values() if member.member_id not in gone]
    if joining is not None:
        members.append(joining)
    classic = _classic_group(group, members, effects.now_ms, groups.memory)
    for member in classic.members.values():
        target = group.target_of(member.member_id, member.group_instance_id)
        version = version_of(member.metadata(classic.protocol_name or ""))
        member.assignment = write_assignment(target, version, groups.topics)
    effects.records.append(group_metadata_record(classic, classic.assignments()))

    def install(follow: GroupEffects) -> None:
        groups.classic[classic.group_id] = classic
        for member_id in group.members:
            for key in (consumer_session_key, rebalance_key, consumer_join_key, consumer_sync_key):
                follow.cancel_timer(key(group.group_id, member_id))
        for member in classic.members.values():
            follow.set_timer(member.session_timer)
        if reason is not None:
            prepare(groups.config, classic, follow, reason)
        logger.info("group %r is a classic group from generation %d on", classic.group_id, classic.generation_id)

    return install


def _classic_group(
    group: ConsumerGroup, members: list[ConsumerGroupMember], now_ms: int, memory: GroupMemory
) -> ClassicGroup:
    classic = ClassicGroup(group.group_id, now_ms, memory)
    classic.state = GroupState.STABLE
    classic.generation_id = group.group_epoch
    classic.protocol_type = CONSUMER_PROTOCOL_TYPE
    for member in members:
        assert member.classic is not None, "only members of the classic protocol are left"
        classic.add(
            ClassicMember(
                group.group_id,
                member.member_id,
                member.instance_id,
                member.client_id,
                member.client_host,
                member.rebalance_timeout_ms,
                member.classic.session_timeout_ms,
                CONSUMER_PROTOCOL_TYPE,
                list(member.classic.protocols),
            ),
            None,
        )
    classic.protocol_name = classic.select_protocol()
    classic.refresh_subscribed_topics()
    return classic
