"""The records of streams groups in ``__consumer_offsets``, as Kafka 4.4.0 writes them.

Pure. Owns: the content of the records. Never does: keeping state. Source: ``StreamsCoordinatorRecordHelpers``.
"""

from collections.abc import Mapping

from odradek.protocol.messages.group_records import (
    StreamsGroupCurrentMemberAssignmentKey,
    StreamsGroupCurrentMemberAssignmentValue,
    StreamsGroupMemberMetadataKey,
    StreamsGroupMemberMetadataValue,
    StreamsGroupMetadataKey,
    StreamsGroupMetadataValue,
    StreamsGroupTargetAssignmentMemberKey,
    StreamsGroupTargetAssignmentMetadataKey,
    StreamsGroupTargetAssignmentMetadataValue,
    StreamsGroupTopologyKey,
)

from ..records import CoordinatorRecord
from .group import StreamsGroup
from .member import StreamsGroupMember
from .tasks import Tasks, task_ids, task_ids_with_epochs
from .topology import StreamsTopology

CurrentTaskIds = StreamsGroupCurrentMemberAssignmentValue.TaskIds


def member_record(group_id: str, member: StreamsGroupMember) -> CoordinatorRecord:
    """Returns the record of a member's metadata."""
    endpoint = member.user_endpoint
    value = StreamsGroupMemberMetadataValue(
        instance_id=member.instance_id,
        rack_id=member.rack_id,
        client_id=member.client_id,
        client_host=member.client_host,
        rebalance_timeout_ms=member.rebalance_timeout_ms,
        topology_epoch=member.topology_epoch,
        process_id=member.process_id,
        user_endpoint=None if endpoint is None else StreamsGroupMemberMetadataValue.Endpoint(*endpoint),
        client_tags=[StreamsGroupMemberMetadataValue.KeyValue(*tag) for tag in sorted(member.client_tags.items())],
    )
    return CoordinatorRecord(StreamsGroupMemberMetadataKey(group_id, member.member_id), value)


def epoch_record(
    group: StreamsGroup,
    group_epoch: int,
    metadata_hash: int,
    validated_topology_epoch: int,
    assignment_configs: Mapping[str, str],
) -> CoordinatorRecord:
    """Returns the record of the group's epoch, of the hash of its topics, of the topology that was validated, and of
    the settings of its assignment."""
    value = StreamsGroupMetadataValue(
        epoch=group_epoch,
        metadata_hash=metadata_hash,
        validated_topology_epoch=validated_topology_epoch,
        last_assignment_configs=[
            StreamsGroupMetadataValue.LastAssignmentConfig(*each) for each in sorted(assignment_configs.items())
        ],
        stored_description_topology_epoch=group.stored_description_epoch,
        failed_description_topology_epoch=group.failed_description_epoch,
    )
    return CoordinatorRecord(StreamsGroupMetadataKey(group.group_id), value)


def topology_record(group_id: str, topology: StreamsTopology) -> CoordinatorRecord:
    """Returns the record of the group's topology."""
    return CoordinatorRecord(StreamsGroupTopologyKey(group_id), topology.to_record())


def target_record(group_id: str, member_id: str, target: Tasks) -> CoordinatorRecord:
    """Returns the record of a member's target assignment."""
    return CoordinatorRecord(StreamsGroupTargetAssignmentMemberKey(group_id, member_id), target.to_record())


def target_epoch_record(group_id: str, assignment_epoch: int, timestamp_ms: int) -> CoordinatorRecord:
    """Returns the record of the group epoch for which the targets were computed, and of the time of that."""
    value = StreamsGroupTargetAssignmentMetadataValue(assignment_epoch, timestamp_ms)
    return CoordinatorRecord(StreamsGroupTargetAssignmentMetadataKey(group_id), value)


def current_record(group_id: str, member: StreamsGroupMember) -> CoordinatorRecord:
    """Returns the record of a member's epoch and tasks."""
    assigned, pending = member.assigned, member.pending_revocation
    value = StreamsGroupCurrentMemberAssignmentValue(
        member_epoch=member.member_epoch,
        previous_member_epoch=member.previous_member_epoch,
        state=member.state,
        active_tasks=task_ids_with_epochs(assigned.active),
        standby_tasks=task_ids(CurrentTaskIds, assigned.standby),
        warmup_tasks=task_ids(CurrentTaskIds, assigned.warmup),
        active_tasks_pending_revocation=task_ids_with_epochs(pending.active),
        standby_tasks_pending_revocation=task_ids(CurrentTaskIds, pending.standby),
        warmup_tasks_pending_revocation=task_ids(CurrentTaskIds, pending.warmup),
    )
    return CoordinatorRecord(StreamsGroupCurrentMemberAssignmentKey(group_id, member.member_id), value)


def member_tombstones(group_id: str, member_id: str) -> list[CoordinatorRecord]:
    """Returns the records that delete a member."""
    return [
        CoordinatorRecord(StreamsGroupCurrentMemberAssignmentKey(group_id, member_id), None),
        CoordinatorRecord(StreamsGroupTargetAssignmentMemberKey(group_id, member_id), None),
        CoordinatorRecord(StreamsGroupMemberMetadataKey(group_id, member_id), None),
    ]


def group_tombstones(group: StreamsGroup) -> list[CoordinatorRecord]:
    """Returns the records that delete a group without members."""
    assert not group.members, f"{group} has members"
    return [
        # A damaged log may hold targets of members that it does not hold. Kafka deletes no group that has some.
        *(
            CoordinatorRecord(StreamsGroupTargetAssignmentMemberKey(group.group_id, each), None)
            for each in group.target_assignment
        ),
        CoordinatorRecord(StreamsGroupTargetAssignmentMetadataKey(group.group_id), None),
        CoordinatorRecord(StreamsGroupMetadataKey(group.group_id), None),
        CoordinatorRecord(StreamsGroupTopologyKey(group.group_id), None),
    ]
