"""StreamsGroupHeartbeat: a member joins, renews its session, gives up tasks, and gets its assignment.

Pure but for log lines. Owns: the order of the steps: find the group and the member, its metadata, the topology and its
topics, the group's epoch, the target assignment, the member's assignment. Never does: waiting, creating topics; every
heartbeat is answered at once. Source: ``GroupMetadataManager.streamsGroupHeartbeat``; KIP-1071.
"""

import logging
from collections.abc import Mapping
from dataclasses import replace
from typing import NamedTuple

from odradek.protocol.common.steps import Steps
from odradek.protocol.errors import ErrorCode, KafkaError
from odradek.protocol.messages.streams_groups import StreamsGroupHeartbeatRequest, StreamsGroupHeartbeatResponse

from ...coordinator.effects import SetTimer
from ...dispatch.request import RequestContext
from ..classic.group import GroupState
from ..classic.records import group_tombstone
from ..effects import (
    GroupEffects,
    StreamsRebalanceDue,
    StreamsSessionExpired,
    streams_rebalance_key,
    streams_session_key,
)
from ..memory import GroupMemory
from ..modern.epochs import JOINING_EPOCH, METADATA_REFRESH_INTERVAL_MS, RefreshDeadline, next_epoch
from ..modern.groups import refuse_growth
from ..modern.metadata_hash import group_hash, hash_topics
from .configured_topology import ConfiguredTopology, StatusCode, configure, configure_in_steps
from .group import NO_TASK_OFFSETS, StreamsGroup, StreamsGroups, TaskOffsets
from .heartbeat_response import next_heartbeat_ms, response_of
from .leaving import leave
from .member import StreamsEndpoint, StreamsGroupMember, StreamsMemberState
from .membership import refuse_without_memory, refuse_without_room, sender_of
from .reconciliation import reconcile
from .records import current_record, epoch_record, member_record, topology_record
from .settings import assignment_configs, session_timeout_ms
from .target_assignment import MemberTarget, begin_delay, update_target_assignment
from .tasks import Tasks
from .topology import InternalTopic, StreamsTopology

logger = logging.getLogger(__name__)

Status = StreamsGroupHeartbeatResponse.Status
NO_INTERNAL_TOPICS: Mapping[str, InternalTopic] = {}


def changes_nothing(groups: StreamsGroups, request: StreamsGroupHeartbeatRequest, now_ms: int) -> bool:
    """Whether a heartbeat only renews the session of a member that has its target assignment, and gets no endpoints."""
    group = groups.streams.get(request.group_id)
    member = None if group is None else group.members.get(request.member_id)
    return (
        group is not None
        and member is not None
        and group.configured is not None
        and request.member_epoch == member.member_epoch
        and request.endpoint_information_epoch == group.endpoint_epoch
        and all(field is None for field in (request.topology, request.process_id, request.client_tags, request.rack_id))
        and group.assignment_epoch >= group.group_epoch
        and member.is_reconciled_to(group.assignment_epoch)
        and not group.must_refresh(now_ms)
    )


class Prepared(NamedTuple):
    """What is known of a topology before the heartbeat is decided. ``version``: of the topics then."""

    sent: StreamsTopology | None
    topology: StreamsTopology
    configured: ConfiguredTopology
    version: int


def prepare(groups: StreamsGroups, request: StreamsGroupHeartbeatRequest, now_ms: int) -> Steps[Prepared | None]:
    """Looks at the topics of a topology in steps, so that the decision need not. None if it need not, or if the
    topology is invalid, which the decision says."""
    group = groups.streams.get(request.group_id)
    if group is not None and group.configured is not None and not group.must_refresh(now_ms):
        return None
    known = None if group is None else group.topology
    try:
        sent = None if request.topology is None else StreamsTopology.from_request(request.topology)
        topology = sent if known is None else known
        if topology is None:
            return None
        version = groups.topics.version
        yield
        yield from hash_topics(topology.required_topics, groups.topics)
        configured = yield from configure_in_steps(0, topology, groups.topics.partition_count_of)
    except KafkaError:
        return None
    return Prepared(sent, topology, configured, version)


class _Step(NamedTuple):
    """What the steps of one heartbeat pass on."""

    groups: StreamsGroups
    group: StreamsGroup
    request: StreamsGroupHeartbeatRequest
    effects: GroupEffects
    prepared: Prepared | None


def streams_group_heartbeat(
    groups: StreamsGroups,
    request: StreamsGroupHeartbeatRequest,
    context: RequestContext,
    effects: GroupEffects,
    prepared: Prepared | None = None,
) -> Mapping[str, InternalTopic]:
    """Handles a heartbeat whose fields were checked. Returns the internal topics that the group lacks, which are to be
    created after the records are durable. ``prepared``: of :func:`prepare`. Raises KafkaError.
    """
    if request.member_epoch < 0:
        leave(groups, request, effects)
        return NO_INTERNAL_TOPICS
    joins = request.member_epoch == JOINING_EPOCH
    group = _group_of(groups, request.group_id, joins, effects)
    if joins:
        refuse_without_room(groups, group, request.member_id, request.instance_id)
    owned = _owned_tasks(request)
    member = sender_of(group, request, owned, effects.records)
    updated = _updated(member, request, context)
    if updated != member:
        refuse_without_memory(groups, group, updated)
        effects.records.append(member_record(group.group_id, updated))
    bump = updated != member and (request.instance_id is None or _concerns_assignment(member, updated))
    step = _Step(groups, group, request, effects, prepared)
    topology = _topology_of(step)
    configured, metadata_hash = _configured_topology(step, topology)
    bump = bump or metadata_hash != group.metadata_hash
    if configured.is_ready:
        for tasks in (request.active_tasks, request.standby_tasks, request.warmup_tasks):
            configured.check_tasks(tasks)
    _keep_task_offsets(step, updated.client_id)
    configs = assignment_configs(groups, group.group_id)
    group_epoch = _next_group_epoch(step, bump, metadata_hash, configured, configs)
    begin_delay(groups, group, effects)
    target = update_target_assignment(groups, group, group_epoch, updated, configured, configs, effects)
    moved = _reconciled(step, updated, target, owned)
    event = StreamsSessionExpired(group.group_id, moved.member_id)
    effects.set_timer(
        SetTimer(
            streams_session_key(group.group_id, moved.member_id), session_timeout_ms(groups, group.group_id), event
        )
    )
    if request.shutdown_application:
        group.shutdown_by = request.member_id
    statuses = [*_stale_status(group, updated), *target.status]
    group.hear(moved.member_id, effects.now_ms)
    interval_ms = next_heartbeat_ms(groups, group, moved, group_epoch, effects.now_ms)
    effects.response = response_of(
        groups, group, request, member, moved, configured, statuses, context.api_version, interval_ms
    )
    return configured.internal_topics_to_create


def _group_of(groups: StreamsGroups, group_id: str, joins: bool, effects: GroupEffects) -> StreamsGroup:
    """Returns the group, or the one that the records will create. Raises KafkaError GROUP_ID_NOT_FOUND.

    A classic group without members becomes a streams group.
    """
    group = groups.streams.get(group_id)
    if group is not None:
        return group
    classic = groups.classic.get(group_id)
    known = groups.is_known(group_id) and (classic is None or classic.state is not GroupState.DEAD)
    if not joins:
        message = f"Group {group_id} is not a streams group." if known else f"Streams group {group_id} not found."
        raise KafkaError(ErrorCode.GROUP_ID_NOT_FOUND, message)
    if known:
        if classic is None or classic.state is not GroupState.EMPTY:
            raise KafkaError(ErrorCode.GROUP_ID_NOT_FOUND, f"Group {group_id} is not a streams group.")
        logger.info("group %r: the classic group without members becomes a streams group", group_id)
        effects.records.append(group_tombstone(group_id))
    return StreamsGroup(group_id, GroupMemory())


def _owned_tasks(request: StreamsGroupHeartbeatRequest) -> Tasks | None:
    """Returns the tasks that the member reports as owned, or None if it reports none."""
    if request.active_tasks is None or request.standby_tasks is None or request.warmup_tasks is None:
        return None
    return Tasks.of(request.active_tasks, request.standby_tasks, request.warmup_tasks)


def _updated(
    member: StreamsGroupMember, request: StreamsGroupHeartbeatRequest, context: RequestContext
) -> StreamsGroupMember:
    """Returns the member with the fields of the request."""
    endpoint = request.user_endpoint
    new_endpoint = None if endpoint is None else StreamsEndpoint(endpoint.host, endpoint.port)
    if endpoint is None and request.member_epoch != JOINING_EPOCH:
        new_endpoint = member.user_endpoint
    return member._replace(
        instance_id=member.instance_id if request.instance_id is None else request.instance_id,
        rack_id=member.rack_id if request.rack_id is None else request.rack_id,
        rebalance_timeout_ms=member.rebalance_timeout_ms
        if request.rebalance_timeout_ms == -1
        else request.rebalance_timeout_ms,
        topology_epoch=member.topology_epoch if request.topology is None else request.topology.epoch,
        client_id=context.client_id or "",
        client_host=f"/{context.client_host}",
        process_id=member.process_id if request.process_id is None else request.process_id,
        client_tags=member.client_tags
        if request.client_tags is None
        else {tag.key: tag.value for tag in request.client_tags},
        user_endpoint=new_endpoint,
    )


def _concerns_assignment(old: StreamsGroupMember, new: StreamsGroupMember) -> bool:
    """Whether the changed fields of a static member call for a new assignment."""
    return (old.topology_epoch, old.rack_id, old.client_tags, old.process_id) != (
        new.topology_epoch,
        new.rack_id,
        new.client_tags,
        new.process_id,
    )


def _topology_of(step: _Step) -> StreamsTopology:
    """Returns the topology of the group after the heartbeat: that of the first member that has joined.

    Raises KafkaError INVALID_REQUEST for another one of the same or a later epoch.
    """
    group, request, prepared = step.group, step.request, step.prepared
    present = group.topology
    if request.topology is None:
        if present is None:
            # Only a log that lost the record of the topology, or a forged one.
            raise KafkaError(
                ErrorCode.FENCED_MEMBER_EPOCH, "The topology of the group is not known. The member must rejoin."
            )
        return present
    sent = None if prepared is None else prepared.sent
    if sent is None:
        sent = StreamsTopology.from_request(request.topology)
    if present is None:
        step.effects.records.append(topology_record(group.group_id, sent))
        return sent
    if present.topology_epoch <= sent.topology_epoch and present != sent:
        raise KafkaError(ErrorCode.INVALID_REQUEST, "Topology updates are not supported yet.")
    return present


def _stale_status(group: StreamsGroup, member: StreamsGroupMember) -> list[Status]:
    topology = group.topology
    if topology is None or member.topology_epoch >= topology.topology_epoch:
        return []
    text = (
        f"The member's topology epoch {member.topology_epoch} is behind the group's topology epoch "
        f"{topology.topology_epoch}."
    )
    return [Status(StatusCode.STALE_TOPOLOGY, text)]


def _configured_topology(step: _Step, topology: StreamsTopology) -> tuple[ConfiguredTopology, int]:
    """Returns the topology with the partitions that its topics have, and the hash of these topics. They are looked at
    if something may have changed since the last time."""
    group, now_ms = step.group, step.effects.now_ms
    present = group.configured
    if present is not None and group.topology is not None and not group.must_refresh(now_ms):
        return present, group.metadata_hash
    topics = step.groups.topics
    metadata_hash = group_hash(topology.required_topics, topics)
    if present is None or group.topology is None or metadata_hash != group.metadata_hash:
        prepared = step.prepared
        if prepared is not None and prepared.version == topics.version and prepared.topology == topology:
            present = replace(prepared.configured, metadata_hash=metadata_hash)
        else:
            present = configure(metadata_hash, topology, topics.partition_count_of)
        group.configure(present)
    group.refresh_deadline = RefreshDeadline(now_ms + METADATA_REFRESH_INTERVAL_MS, group.group_epoch)
    return present, metadata_hash


def _keep_task_offsets(step: _Step, client_id: str) -> None:
    """Keeps the offsets that the member reports, in memory only. What it does not report stays. Raises KafkaError if a
    task comes twice, or if the memory does not suffice for them."""
    group, request = step.group, step.request
    if request.task_offsets is None and request.task_end_offsets is None:
        return
    member_id = request.member_id
    held = group.task_offsets.get(member_id, NO_TASK_OFFSETS)
    offsets, end_offsets = _offsets(request.task_offsets), _offsets(request.task_end_offsets)
    new = TaskOffsets(
        held.offsets if offsets is None else offsets, held.end_offsets if end_offsets is None else end_offsets
    )
    refuse_growth(step.groups, group, client_id, new.used_bytes - held.used_bytes)
    group.keep_task_offsets(member_id, new)
    if member_id not in group.members:

        def joined(error: ErrorCode, _: GroupEffects) -> None:
            if error and member_id not in group.members:
                group.forget_task_offsets(member_id)

        step.effects.after_append(joined)


def _offsets(reported: list[StreamsGroupHeartbeatRequest.TaskOffset] | None) -> Mapping[tuple[str, int], int] | None:
    if reported is None:
        return None
    found: dict[tuple[str, int], int] = {}
    for one in reported:
        if (one.subtopology_id, one.partition) in found:
            raise KafkaError(
                ErrorCode.INVALID_REQUEST,
                f"Task offsets contain a duplicate entry for subtopology {one.subtopology_id} and partition "
                f"{one.partition}.",
            )
        found[one.subtopology_id, one.partition] = one.offset
    return found


def _next_group_epoch(
    step: _Step, bump: bool, metadata_hash: int, configured: ConfiguredTopology, configs: Mapping[str, str]
) -> int:
    """Returns the group's epoch, raised if something has changed on which the assignment depends."""
    group = step.group
    validated = configured.topology_epoch if configured.is_ready else -1
    if not bump and validated == group.validated_topology_epoch and configs == group.assignment_configs:
        return group.group_epoch
    group_epoch = next_epoch(group.group_epoch)
    step.groups.counts.streams_rebalances += 1
    logger.info("group %r: new epoch %d", group.group_id, group_epoch)
    step.effects.records.append(epoch_record(group, group_epoch, metadata_hash, validated, configs))
    group.refresh_deadline = RefreshDeadline(step.effects.now_ms + METADATA_REFRESH_INTERVAL_MS, group_epoch)
    return group_epoch


def _reconciled(
    step: _Step, member: StreamsGroupMember, target: MemberTarget, owned: Tasks | None
) -> StreamsGroupMember:
    """Moves the member towards its target assignment, and limits the time in which it must give up tasks."""
    if member.is_reconciled_to(target.epoch):
        return member
    group_id, effects = step.group.group_id, step.effects
    moved = reconcile(step.group, member, target.epoch, target.tasks, owned)
    if moved == member:
        return member
    effects.records.append(current_record(group_id, moved))
    if moved.state is StreamsMemberState.UNREVOKED_TASKS:
        set_rebalance_timer(group_id, moved, effects)
    else:
        effects.cancel_timer(streams_rebalance_key(group_id, moved.member_id))
    return moved


def set_rebalance_timer(group_id: str, member: StreamsGroupMember, effects: GroupEffects) -> None:
    """Limits the time in which a member must give up tasks."""
    event = StreamsRebalanceDue(group_id, member.member_id, member.member_epoch)
    effects.set_timer(SetTimer(streams_rebalance_key(group_id, member.member_id), member.rebalance_timeout_ms, event))
