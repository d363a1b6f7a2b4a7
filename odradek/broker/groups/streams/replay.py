"""Replays records of streams groups: the only code that changes their durable state, in loading and in serving.

Compaction may remove records on which later ones depend: a tombstone may remain whose record is gone. A record that has
nothing to change has no effect. Source: the ``replay`` methods of ``GroupMetadataManager``.
"""

from typing import Any

from odradek.protocol.errors import ProtocolError
from odradek.protocol.messages.group_records import (
    StreamsGroupCurrentMemberAssignmentKey,
    StreamsGroupCurrentMemberAssignmentValue,
    StreamsGroupMemberMetadataKey,
    StreamsGroupMemberMetadataValue,
    StreamsGroupMetadataKey,
    StreamsGroupMetadataValue,
    StreamsGroupTargetAssignmentMemberKey,
    StreamsGroupTargetAssignmentMetadataKey,
    StreamsGroupTopologyKey,
)

from ..modern.epochs import LEAVE_GROUP_MEMBER_EPOCH, NO_EPOCH
from .group import StreamsGroup, StreamsGroups
from .member import StreamsEndpoint, StreamsGroupMember, StreamsMemberState
from .tasks import EMPTY_MEMBER_TASKS, MemberTasks, Tasks
from .topology import StreamsTopology


def replay(groups: StreamsGroups, key: Any, value: Any) -> None:
    """Replays a record of a streams group; ``value`` None is a tombstone.

    Raises ProtocolError if the id belongs to another kind of group (``getOrMaybeCreatePersistedStreamsGroup``).
    """
    group = groups.streams.get(key.group_id)
    if group is None:
        if value is None:
            return
        group = _new_group(groups, key.group_id)
    match key:
        case StreamsGroupCurrentMemberAssignmentKey():
            _replay_current(group, key.member_id, value)
        case StreamsGroupMemberMetadataKey():
            _replay_member(group, key.member_id, value)
        case StreamsGroupTargetAssignmentMemberKey():
            if value is None:
                group.target_assignment.pop(key.member_id, None)
            else:
                target = Tasks.of(value.active_tasks, value.standby_tasks, value.warmup_tasks)
                group.target_assignment[key.member_id] = target
        case StreamsGroupTargetAssignmentMetadataKey():
            group.assignment_epoch = NO_EPOCH if value is None else value.assignment_epoch
            group.assignment_timestamp_ms = 0 if value is None else value.assignment_timestamp
        case StreamsGroupTopologyKey():
            group.topology = None if value is None else StreamsTopology.from_record(value)
        case StreamsGroupMetadataKey():
            if value is None:
                groups.streams.pop(key.group_id, None)
            else:
                _replay_epoch(group, value)


def _new_group(groups: StreamsGroups, group_id: str) -> StreamsGroup:
    """Adds a group. It may have the id of a classic group that only has offsets."""
    if groups.is_stored_otherwise(group_id):
        raise ProtocolError(f"Group {group_id!r} is not a streams group")
    groups.classic.pop(group_id, None)
    group = groups.streams[group_id] = StreamsGroup(group_id, groups.memory)
    return group


def _replay_epoch(group: StreamsGroup, value: StreamsGroupMetadataValue) -> None:
    group.group_epoch = value.epoch
    group.metadata_hash = value.metadata_hash
    group.validated_topology_epoch = value.validated_topology_epoch
    group.assignment_configs = {each.key: each.value for each in value.last_assignment_configs or ()}
    group.stored_description_epoch = value.stored_description_topology_epoch
    group.failed_description_epoch = value.failed_description_topology_epoch


def _replay_member(group: StreamsGroup, member_id: str, value: StreamsGroupMemberMetadataValue | None) -> None:
    if value is None:
        group.remove_member(member_id)
        return
    endpoint = value.user_endpoint
    group.put_member(
        (group.members.get(member_id) or StreamsGroupMember(member_id))._replace(
            instance_id=value.instance_id,
            rack_id=value.rack_id,
            client_id=value.client_id,
            client_host=value.client_host,
            rebalance_timeout_ms=value.rebalance_timeout_ms,
            topology_epoch=value.topology_epoch,
            process_id=value.process_id,
            user_endpoint=None if endpoint is None else StreamsEndpoint(endpoint.host, endpoint.port),
            client_tags={tag.key: tag.value for tag in value.client_tags},
        )
    )


def _replay_current(
    group: StreamsGroup, member_id: str, value: StreamsGroupCurrentMemberAssignmentValue | None
) -> None:
    member = group.members.get(member_id)
    if value is not None:
        group.put_member(
            (member or StreamsGroupMember(member_id))._replace(
                member_epoch=value.member_epoch,
                previous_member_epoch=value.previous_member_epoch,
                state=StreamsMemberState.of(value.state),
                assigned=MemberTasks.of(
                    value.active_tasks, value.standby_tasks, value.warmup_tasks, value.member_epoch
                ),
                pending_revocation=MemberTasks.of(
                    value.active_tasks_pending_revocation,
                    value.standby_tasks_pending_revocation,
                    value.warmup_tasks_pending_revocation,
                    value.member_epoch,
                ),
            )
        )
    elif member is not None:
        gone = LEAVE_GROUP_MEMBER_EPOCH
        group.put_member(
            member._replace(
                member_epoch=gone,
                previous_member_epoch=gone,
                assigned=EMPTY_MEMBER_TASKS,
                pending_revocation=EMPTY_MEMBER_TASKS,
            )
        )
