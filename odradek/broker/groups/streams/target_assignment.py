"""Computes a new target assignment after the group's epoch has risen.

Pure but for log lines. Owns: when it is computed, and its records. Never does: assigning. A new group first waits for
more members (``group.streams.initial.rebalance.delay.ms``); after that, two assignments are at least
``group.streams.assignment.interval.ms`` apart (KIP-1263). The steps of a large group's computation run in later turns
of the event loop; until they end, heartbeats are answered with the group's present target. Source:
``GroupMetadataManager.maybeUpdateStreamsTargetAssignment``, ``TargetAssignmentBuilder``.
"""

import logging
from collections.abc import Mapping
from typing import NamedTuple

from odradek.protocol.common.steps import Steps, run_to_end
from odradek.protocol.java.hash import in_hash_map_order, timeline_map_order_steps
from odradek.protocol.messages.streams_groups import StreamsGroupHeartbeatResponse

from ...coordinator.effects import SetTimer
from ..effects import (
    GroupEffects,
    StreamsDelayOver,
    StreamsTargetDue,
    streams_delay_key,
    streams_target_key,
)
from ..records import CoordinatorRecord
from .configured_topology import ConfiguredTopology, StatusCode
from .group import NO_TASK_OFFSETS, StreamsAssignmentComputation, StreamsGroup, StreamsGroups
from .member import StreamsGroupMember
from .records import target_epoch_record, target_record
from .settings import NUM_STANDBY_REPLICAS, assignment_interval_ms, initial_rebalance_delay_ms
from .sticky_assignor import StreamsMemberSpec, assign_in_steps
from .tasks import EMPTY, Tasks

logger = logging.getLogger(__name__)

Status = StreamsGroupHeartbeatResponse.Status
STEPS_A_TURN = 2
LOST_AFTER_MS = 10_000
"""A computation that has not begun so long after it was due is requested again: the effects that requested it were
dropped."""


class MemberTarget(NamedTuple):
    """A member's part of a target assignment, and the epoch of that. ``delay``: why a newer one is not computed yet, as
    clients are told; None if it is not delayed."""

    epoch: int
    tasks: Tasks
    delay: str | None = None

    @property
    def status(self) -> list[Status]:
        """What the response says about a delay."""
        return [] if self.delay is None else [Status(StatusCode.ASSIGNMENT_DELAYED, self.delay)]


def begin_delay(groups: StreamsGroups, group: StreamsGroup, effects: GroupEffects) -> None:
    """Lets a group without members wait for more of them, if it does not wait already."""
    delay_ms = 0 if group.members else initial_rebalance_delay_ms(groups, group.group_id)
    if delay_ms > 0 and not _is_waiting(groups, group.group_id, effects.now_ms):
        groups.delayed[group.group_id] = effects.now_ms + delay_ms
        event = StreamsDelayOver(group.group_id)
        effects.set_timer(SetTimer(streams_delay_key(group.group_id), delay_ms, event))


def _is_waiting(groups: StreamsGroups, group_id: str, now_ms: int) -> bool:
    """Whether the delay's event, which computes the assignment, is still to come. It is not waited for much longer than
    the delay: the effects that set its timer may have been dropped."""
    over_ms = groups.delayed.get(group_id)
    return over_ms is not None and now_ms < over_ms + LOST_AFTER_MS


def update_target_assignment(
    groups: StreamsGroups,
    group: StreamsGroup,
    group_epoch: int,
    updated: StreamsGroupMember,
    configured: ConfiguredTopology,
    configs: Mapping[str, str],
    effects: GroupEffects,
) -> MemberTarget:
    """Returns the target assignment for ``updated``, computed now if that is due. ``configs``: the settings of the
    assignment."""
    group_id, now_ms = group.group_id, effects.now_ms
    if _is_waiting(groups, group_id, now_ms):
        reason = "Assignment delayed due to the configured initial rebalance delay."
        return MemberTarget(group.assignment_epoch, EMPTY, reason)
    present = MemberTarget(group.assignment_epoch, group.target_of(updated.member_id, updated.instance_id))
    if group.assignment_epoch >= group_epoch:
        return present
    if not _is_due(groups, group, now_ms):
        return present._replace(delay="Assignment delayed due to the configured assignment interval.")
    computation = groups.streaming.get(group_id)
    if computation is not None and (computation.steps is not None or now_ms < computation.asked_ms + LOST_AFTER_MS):
        return present
    members = _members_with(group, updated)
    if len(members) + _task_count(configured) > groups.inline_size:
        groups.streaming[group_id] = StreamsAssignmentComputation(now_ms)
        effects.set_timer(SetTimer(streams_target_key(group_id), 0, StreamsTargetDue(group_id)))
        return present
    records, targets = run_to_end(_compute(group, members, group_epoch, configured, configs, now_ms))
    effects.records += records
    return MemberTarget(group_epoch, targets.get(updated.member_id, EMPTY))


def delay_over(groups: StreamsGroups, event: StreamsDelayOver, effects: GroupEffects) -> None:
    """Computes the first target assignment of a group that has waited for members."""
    groups.delayed.pop(event.group_id, None)
    group = groups.streams.get(event.group_id)
    if group is None or not group.members or group.configured is None or group.assignment_epoch >= group.group_epoch:
        return
    groups.streaming[event.group_id] = StreamsAssignmentComputation(effects.now_ms)
    advance(groups, StreamsTargetDue(event.group_id), effects)


def advance(groups: StreamsGroups, event: StreamsTargetDue, effects: GroupEffects) -> None:
    """Takes the next steps of a computation. After the last one, adds the records of the new target assignment."""
    computation = groups.streaming.get(event.group_id)
    if computation is None:
        return
    group = groups.streams.get(event.group_id)
    if computation.steps is None and group is not None and group.configured is not None and group.members:
        # All members may have left since it was requested.
        computation.group = group
        computation.steps = _records_in_steps(group, group.configured, effects.now_ms)
    if group is None or computation.steps is None or computation.group is not group:
        del groups.streaming[event.group_id]
        return
    small = group.configured is None or len(group.members) + _task_count(group.configured) <= groups.inline_size
    try:
        while True:
            for _ in range(STEPS_A_TURN):
                next(computation.steps)
            if not small:
                effects.set_timer(SetTimer(streams_target_key(event.group_id), 0, event))
                return
    except StopIteration as end:
        del groups.streaming[event.group_id]
        effects.records += end.value


def _records_in_steps(
    group: StreamsGroup, configured: ConfiguredTopology, now_ms: int
) -> Steps[list[CoordinatorRecord]]:
    """Computes from the state of the group at the first step. Members that have left since then get no record."""
    group_epoch, members = group.group_epoch, dict(group.members)
    yield
    records, _ = yield from _compute(group, members, group_epoch, configured, group.assignment_configs, now_ms)
    if group.assignment_epoch >= group_epoch:
        return []
    return [record for record in records if getattr(record.key, "member_id", None) in (None, *group.members)]


def _is_due(groups: StreamsGroups, group: StreamsGroup, now_ms: int) -> bool:
    """Whether the interval since the last target assignment is over. True if the time of the last one is unknown."""
    interval_ms = assignment_interval_ms(groups, group.group_id)
    return not group.assignment_timestamp_ms or not interval_ms or now_ms >= group.assignment_timestamp_ms + interval_ms


def _task_count(configured: ConfiguredTopology) -> int:
    return sum(each.number_of_tasks for each in (configured.subtopologies or {}).values())


def _members_with(group: StreamsGroup, updated: StreamsGroupMember) -> dict[str, StreamsGroupMember]:
    """Returns the members after the request: a static member replaces its predecessor."""
    members = dict(group.members)
    predecessor = None if updated.instance_id is None else group.static_members.get(updated.instance_id)
    if predecessor is not None and predecessor != updated.member_id:
        members.pop(predecessor, None)
    members[updated.member_id] = updated
    return members


def _compute(
    group: StreamsGroup,
    members: Mapping[str, StreamsGroupMember],
    group_epoch: int,
    configured: ConfiguredTopology,
    configs: Mapping[str, str],
    now_ms: int,
) -> Steps[tuple[list[CoordinatorRecord], Mapping[str, Tasks]]]:
    """Returns the records of a new target assignment, and the targets of all members. All targets are empty while the
    topology is not ready."""
    stored = {each.member_id: group.stored_target(each.member_id, each.instance_id) for each in members.values()}
    yield
    targets: Mapping[str, Tasks] = {}
    if configured.is_ready and configured.subtopologies is not None:
        known = yield from timeline_map_order_steps([each for each in members if each in group.members])
        specs = {
            each.member_id: StreamsMemberSpec(
                each.process_id, each.assigned, group.task_offsets.get(each.member_id, NO_TASK_OFFSETS).offsets
            )
            for each in map(members.__getitem__, dict.fromkeys([*known, *members]))
        }
        standbys = int(configs.get(NUM_STANDBY_REPLICAS, "0"))
        targets = yield from assign_in_steps(specs, configured.subtopologies, standbys)
    logger.info("group %r: target assignment of epoch %d", group.group_id, group_epoch)
    records = [
        target_record(group.group_id, member_id, targets.get(member_id, EMPTY))
        for member_id in in_hash_map_order(sorted(members))
        if targets.get(member_id, EMPTY) != stored[member_id]
    ]
    records.append(target_epoch_record(group.group_id, group_epoch, now_ms))
    return records, targets
