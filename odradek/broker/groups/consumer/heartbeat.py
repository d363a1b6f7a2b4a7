"""ConsumerGroupHeartbeat: a member joins, renews its session, and gets its assignment.

Owns: the order of the steps: find the member, its subscription, the target assignment, the member's next step. Never
does: waiting; every heartbeat is answered at once. Source: ``GroupMetadataManager.consumerGroupHeartbeat``; KIP-848.

A heartbeat that changes nothing costs one comparison, one timer and one answer.
"""

import logging

from odradek.protocol.common.steps import Steps
from odradek.protocol.errors import ErrorCode, KafkaError
from odradek.protocol.messages.consumer_groups import ConsumerGroupHeartbeatRequest, ConsumerGroupHeartbeatResponse

from ...coordinator.effects import SetTimer
from ...dispatch.request import RequestContext
from ..classic.group import GroupState
from ..effects import ConsumerRebalanceDue, ConsumerSessionExpired, GroupEffects, consumer_session_key, rebalance_key
from ..memory import GroupMemory
from ..modern.assignment import TopicId
from ..modern.epochs import JOINING_EPOCH
from ..modern.hash_order import partition_order, topic_map_order
from ..records import CoordinatorRecord
from .assignment_input import SubscribedTopicIds
from .fencing import leave
from .group import ConsumerGroup
from .member import ConsumerGroupMember, MemberState, PartitionEpochs
from .membership import (
    check_epoch,
    refuse_without_memory,
    refuse_without_room,
    subscribe_static_member,
)
from .migration import upgraded
from .reconciliation import NO_INDEXES, OwnedPartitions, Reconciliation
from .records import current_record
from .registry import GroupRegistry
from .settings import heartbeat_interval_ms, session_timeout_ms
from .subscription import (
    RegexStatus,
    store_member,
    update_regular_expression,
    update_subscription,
)
from .target_assignment import Target, update_target_assignment

logger = logging.getLogger(__name__)

NO_TIMEOUT_MS = -1
ANSWERED_A_STEP = 512
"""Topics of an assignment that one step adds to an answer: 1 us each."""

TopicPartitions = ConsumerGroupHeartbeatResponse.TopicPartitions


def changes_nothing(groups: GroupRegistry, request: ConsumerGroupHeartbeatRequest) -> bool:
    """Whether a heartbeat only renews the session of a member that has all of its target assignment."""
    group = groups.consumer.get(request.group_id)
    member = None if group is None else group.members.get(request.member_id)
    return (
        group is not None
        and member is not None
        and request.member_epoch == member.member_epoch
        and request.topic_partitions is None
        and request.subscribed_topic_names is None
        and group.assignment_epoch >= group.group_epoch
        and member.is_reconciled_to(group.assignment_epoch)
        and not group.subscribed_regexes
    )


def consumer_group_heartbeat(
    groups: GroupRegistry, request: ConsumerGroupHeartbeatRequest, context: RequestContext, effects: GroupEffects
) -> PartitionEpochs | None:
    """Handles a heartbeat whose fields were checked. Returns the assignment that the answer must contain, or None.

    The caller adds it to the answer (:func:`heartbeat_assignment`), because thousands of topics take many steps. Raises
    KafkaError.
    """
    if request.member_epoch < 0:
        leave(groups, request, effects)
        return None
    joins = request.member_epoch == JOINING_EPOCH
    records = effects.records
    group = _group_of(groups, request.group_id, joins, effects, records)
    refuse_without_room(groups, group, request.member_id, request.instance_id)
    owned = owned_partitions(request)
    member = _member_of(groups, group, request, owned, records)
    updated = _updated(member, request, context)
    if (
        updated is member
        and group.assignment_epoch >= group.group_epoch
        and member.is_reconciled_to(group.assignment_epoch)
        and not group.must_refresh(effects.now_ms)
        and not group.subscribed_regexes
    ):
        # Nothing has changed, so the other steps would change nothing either.
        changed = updated
    else:
        refuse_without_memory(groups, group, updated)
        changed = _step(groups, group, member, updated, owned, effects)
    set_session_timer(groups, group.group_id, changed.member_id, effects)
    effects.response = ConsumerGroupHeartbeatResponse(
        member_id=changed.member_id,
        member_epoch=changed.member_epoch,
        heartbeat_interval_ms=heartbeat_interval_ms(groups, group.group_id),
    )
    return changed.assigned if joins or _is_full(request) or changed.assigned != member.assigned else None


def _group_of(
    groups: GroupRegistry, group_id: str, joins: bool, effects: GroupEffects, records: list[CoordinatorRecord]
) -> ConsumerGroup:
    """Returns the group, or the one that the records will create. Raises KafkaError GROUP_ID_NOT_FOUND."""
    group = groups.consumer.get(group_id)
    if group is not None:
        return group
    if group_id in groups.streams or group_id in groups.share:
        raise KafkaError(ErrorCode.GROUP_ID_NOT_FOUND, f"Group {group_id} is not a consumer group.")
    classic = groups.classic.get(group_id)
    if classic is None or classic.state is GroupState.DEAD:
        if not joins:
            raise KafkaError(ErrorCode.GROUP_ID_NOT_FOUND, f"Consumer group {group_id} not found.")
        return ConsumerGroup(group_id, GroupMemory())
    if not joins:
        raise KafkaError(ErrorCode.GROUP_ID_NOT_FOUND, f"Group {group_id} is not a consumer group.")
    return upgraded(groups, classic, effects, records)


def _member_of(
    groups: GroupRegistry,
    group: ConsumerGroup,
    request: ConsumerGroupHeartbeatRequest,
    owned: OwnedPartitions | None,
    records: list[CoordinatorRecord],
) -> ConsumerGroupMember:
    joins = request.member_epoch == JOINING_EPOCH
    member_id = request.member_id or groups.new_uuid()
    if joins:
        logger.info("group %r: member %r joins", group.group_id, member_id)
    if request.instance_id is not None:
        if joins:
            return subscribe_static_member(group, member_id, request.instance_id, False, records)
        member = group.existing_static_member(member_id, request.instance_id)
    elif joins:
        return group.members.get(member_id) or ConsumerGroupMember(member_id)
    else:
        member = group.existing_member(member_id)
    check_epoch(member, request.member_epoch, owned)
    return member


def _updated(
    member: ConsumerGroupMember, request: ConsumerGroupHeartbeatRequest, context: RequestContext
) -> ConsumerGroupMember:
    """Returns the member with the fields of the request; the same object if none has changed."""
    names = member.subscribed_topic_names
    if request.subscribed_topic_names is not None:
        names = frozenset(request.subscribed_topic_names)
    regex = request.subscribed_topic_regex
    timeout_ms = request.rebalance_timeout_ms
    updated = member._replace(
        instance_id=member.instance_id if request.instance_id is None else request.instance_id,
        rack_id=member.rack_id if request.rack_id is None else request.rack_id,
        rebalance_timeout_ms=member.rebalance_timeout_ms if timeout_ms == NO_TIMEOUT_MS else timeout_ms,
        server_assignor=member.server_assignor if request.server_assignor is None else request.server_assignor,
        subscribed_topic_names=names,
        subscribed_topic_regex=member.subscribed_topic_regex if regex is None else regex,
        client_id=context.client_id or "",
        client_host=f"/{context.client_host}",
        classic=None,
    )
    return member if updated == member else updated


def _step(
    groups: GroupRegistry,
    group: ConsumerGroup,
    member: ConsumerGroupMember,
    updated: ConsumerGroupMember,
    owned: OwnedPartitions | None,
    effects: GroupEffects,
) -> ConsumerGroupMember:
    """Takes all steps of a heartbeat that may change something, and returns the member afterwards."""
    records = effects.records
    names_changed = store_member(group, member, updated, records)
    status = update_regular_expression(groups, group, member, updated, effects, records)
    bump = (
        names_changed or status is RegexStatus.UPDATED_AND_RESOLVED or _assignor_changes(groups, group, member, updated)
    )
    group_epoch = group.group_epoch
    if bump or group.must_refresh(effects.now_ms):
        group_epoch = update_subscription(groups, group, bump, member, updated, effects.now_ms, records)
    target = update_target_assignment(groups, group, group_epoch, member, updated, effects)
    subscription_changed = names_changed or status is not RegexStatus.NO_CHANGE
    return reconcile(groups, group, updated, target, subscription_changed, owned, effects)


def _assignor_changes(
    groups: GroupRegistry, group: ConsumerGroup, member: ConsumerGroupMember, updated: ConsumerGroupMember
) -> bool:
    """Whether the group gets another assignor (``hasPreferredServerAssignorChanged``, since Kafka 4.4)."""
    if member.server_assignor == updated.server_assignor:
        return False
    default = groups.config.group_consumer_assignors[0]
    before = group.preferred_assignor() or default
    return (group.preferred_assignor_with(member, updated) or default) != before


def reconcile(
    groups: GroupRegistry,
    group: ConsumerGroup,
    member: ConsumerGroupMember,
    target: Target,
    subscription_changed: bool,
    owned: OwnedPartitions | None,
    effects: GroupEffects,
) -> ConsumerGroupMember:
    """Takes the member's next step towards its target. Returns the member after the step.

    If the member changes, ``effects`` get its record, and a timer for revoking partitions is set or cancelled. Raises
    KafkaError FENCED_MEMBER_EPOCH.
    """
    target_epoch, partitions = target
    if not subscription_changed and member.is_reconciled_to(target_epoch):
        return member
    subscribed = SubscribedTopicIds(group, groups.topics).of(member)
    updated = Reconciliation(target_epoch, partitions, subscription_changed, subscribed, group.owner_epoch, owned).next(
        member
    )
    if updated == member:
        return member
    effects.records.append(current_record(group.group_id, updated))
    if updated.classic is None:
        # A member must give up partitions within its rebalance timeout.
        if updated.state is MemberState.UNREVOKED_PARTITIONS:
            set_rebalance_timer(group.group_id, updated, effects)
        else:
            effects.cancel_timer(rebalance_key(group.group_id, updated.member_id))
    return updated


def set_session_timer(groups: GroupRegistry, group_id: str, member_id: str, effects: GroupEffects) -> None:
    """Restarts a member's session timer."""
    effects.set_timer(session_timer(groups, group_id, member_id))


def session_timer(groups: GroupRegistry, group_id: str, member_id: str) -> SetTimer:
    """The timer that ends a member's session."""
    event = ConsumerSessionExpired(group_id, member_id)
    return SetTimer(consumer_session_key(group_id, member_id), session_timeout_ms(groups, group_id), event)


def set_rebalance_timer(group_id: str, member: ConsumerGroupMember, effects: GroupEffects) -> None:
    """Sets the timer that removes a member if it does not leave its present epoch within its rebalance timeout."""
    event = ConsumerRebalanceDue(group_id, member.member_id, member.member_epoch)
    effects.set_timer(SetTimer(rebalance_key(group_id, member.member_id), member.rebalance_timeout_ms, event))


def owned_partitions(request: ConsumerGroupHeartbeatRequest) -> OwnedPartitions | None:
    """Returns the partitions that the member reports as owned, or None if it reports none."""
    if request.topic_partitions is None:
        return None
    owned: dict[TopicId, frozenset[int]] = {}
    for topic in request.topic_partitions:
        owned[topic.topic_id] = owned.get(topic.topic_id, NO_INDEXES).union(topic.partitions)
    return owned


def _is_full(request: ConsumerGroupHeartbeatRequest) -> bool:
    """Whether the request has all fields. Then the response has the assignment too: the sender may not know it."""
    subscribes = request.subscribed_topic_names is not None or request.subscribed_topic_regex is not None
    return request.rebalance_timeout_ms != NO_TIMEOUT_MS and subscribes and request.topic_partitions is not None


def heartbeat_assignment(assigned: PartitionEpochs) -> Steps[ConsumerGroupHeartbeatResponse.Assignment]:
    """Returns an assignment for the answer to a heartbeat, in Kafka's order, in steps."""
    topics: list[TopicPartitions] = []
    order = topic_map_order(assigned)
    for start in range(0, len(order), ANSWERED_A_STEP):
        if start:
            yield
        some = order[start : start + ANSWERED_A_STEP]
        topics += [TopicPartitions(topic_id, partition_order(assigned[topic_id])) for topic_id in some]
    return ConsumerGroupHeartbeatResponse.Assignment(topics)
