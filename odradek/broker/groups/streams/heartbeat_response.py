"""The response to a heartbeat of a streams group: epochs, tasks, endpoints of all members, and what hinders the group.

Pure. Never does: deciding. Source: the end of ``GroupMetadataManager.streamsGroupHeartbeat``.
"""

from collections.abc import Collection, Mapping

from odradek.protocol.java.hash import in_hash_map_order
from odradek.protocol.messages.streams_groups import StreamsGroupHeartbeatRequest, StreamsGroupHeartbeatResponse

from ..modern.epochs import JOINING_EPOCH
from .configured_topology import ConfiguredSubtopology, ConfiguredTopology, StatusCode
from .group import StreamsGroup, StreamsGroups
from .member import StreamsGroupMember
from .partition_counts import PartitionCount
from .settings import (
    RACK_AWARE_ASSIGNMENT_TAGS,
    acceptable_recovery_lag,
    assignment_configs,
    heartbeat_interval_ms,
    task_offset_interval_ms,
)
from .tasks import MemberTasks, SubtopologyTasks, TaskEpochs, merged

TopicPartition = StreamsGroupHeartbeatResponse.TopicPartition


def endpoint_partitions(
    member: StreamsGroupMember, configured: ConfiguredTopology, partition_count: PartitionCount
) -> StreamsGroupHeartbeatResponse.EndpointToPartitions | None:
    """Returns the partitions of a member's tasks, or None if it has no endpoint, or the topology has no tasks.

    Subtopologies and topics are in ascending order; Kafka's order is random. Subtopologies and topics that have gone
    are left out, where Kafka answers UNKNOWN_SERVER_ERROR.
    """
    if member.user_endpoint is None or configured.subtopologies is None:
        return None
    assigned = member.assigned
    return StreamsGroupHeartbeatResponse.EndpointToPartitions(
        user_endpoint=StreamsGroupHeartbeatResponse.Endpoint(*member.user_endpoint),
        active_partitions=_partitions(assigned.active, configured.subtopologies, partition_count),
        standby_partitions=_partitions(
            merged(assigned.standby, assigned.warmup), configured.subtopologies, partition_count
        ),
    )


def _partitions(
    tasks: Mapping[str, Collection[int]],
    subtopologies: Mapping[str, ConfiguredSubtopology],
    partition_count: PartitionCount,
) -> list[TopicPartition]:
    """A task reads the partition of its number of each source topic that has it."""
    found = []
    for subtopology_id in sorted(tasks.keys() & subtopologies.keys()):
        subtopology = subtopologies[subtopology_id]
        for topic in sorted(subtopology.source_topics | subtopology.repartition_source_topics.keys()):
            count = partition_count(topic) or 0
            partitions = sorted(partition for partition in tasks[subtopology_id] if partition < count)
            if partitions:
                found.append(TopicPartition(topic, partitions))
    return found


Status = StreamsGroupHeartbeatResponse.Status
TaskIds = StreamsGroupHeartbeatResponse.TaskIds
SOON_MS = 500
"""The interval at which a member shall send heartbeats while it may get tasks with the next one."""
CLIENT_TAGS_SINCE = 1
"""The first version whose clients know MISSING_CLIENT_TAGS."""


def response_of(
    groups: StreamsGroups,
    group: StreamsGroup,
    request: StreamsGroupHeartbeatRequest,
    before: StreamsGroupMember,
    member: StreamsGroupMember,
    configured: ConfiguredTopology,
    statuses: list[Status],
    api_version: int,
    interval_ms: int,
) -> StreamsGroupHeartbeatResponse:
    """Returns the response to a member that was ``before`` and is ``member`` now. ``statuses`` come first in it.
    ``interval_ms``: when the member shall send its next heartbeat."""
    response = StreamsGroupHeartbeatResponse(
        member_id=member.member_id,
        member_epoch=member.member_epoch,
        heartbeat_interval_ms=interval_ms,
        task_offset_interval_ms=task_offset_interval_ms(groups, group.group_id),
        acceptable_recovery_lag=acceptable_recovery_lag(groups, group.group_id),
        status=[*statuses, *_further_statuses(groups, group, member, configured, api_version)],
    )
    has_new_tasks = before.assigned != member.assigned
    if has_new_tasks or request.member_epoch == JOINING_EPOCH:
        _put_tasks(response, member.assigned)
    has_new_endpoint = before.user_endpoint != member.user_endpoint
    if has_new_endpoint or (has_new_tasks and member.user_endpoint is not None):
        group.endpoint_epoch += 1
    if group.endpoint_epoch != request.endpoint_information_epoch:
        response.partitions_by_user_endpoint = _endpoints(groups, group, member, configured)
    if groups.is_known(group.group_id):
        # The epoch of a group that this heartbeat creates is not kept. Kafka tells it if the id had another group.
        response.endpoint_information_epoch = group.endpoint_epoch
    return response


def next_heartbeat_ms(
    groups: StreamsGroups, group: StreamsGroup, member: StreamsGroupMember, group_epoch: int, now_ms: int
) -> int:
    """When a member shall send its next heartbeat: soon if it waits for its target assignment, or if another member is
    silent, whose tasks it may get.

    In Kafka it always waits for the whole interval, also after a member has died: for 5 s.
    """
    interval_ms = heartbeat_interval_ms(groups, group.group_id)
    if member.is_reconciled_to(group_epoch) and not group.has_silent_member(now_ms, 2 * interval_ms):
        return interval_ms
    return min(interval_ms, SOON_MS)


def _put_tasks(response: StreamsGroupHeartbeatResponse, tasks: MemberTasks) -> None:
    response.active_tasks = _task_ids(tasks.active)
    response.standby_tasks = _task_ids(tasks.standby)
    response.warmup_tasks = _task_ids(tasks.warmup)


def _task_ids(tasks: SubtopologyTasks | TaskEpochs) -> list[TaskIds]:
    return [
        TaskIds(subtopology_id, sorted(tasks[subtopology_id])) for subtopology_id in in_hash_map_order(sorted(tasks))
    ]


def _further_statuses(
    groups: StreamsGroups,
    group: StreamsGroup,
    member: StreamsGroupMember,
    configured: ConfiguredTopology,
    api_version: int,
) -> list[Status]:
    found = []
    if configured.problem is not None:
        found.append(Status(configured.problem.status, configured.problem.detail))
    if group.shutdown_by is not None:
        found.append(
            Status(
                StatusCode.SHUTDOWN_APPLICATION,
                f"Streams group member {group.shutdown_by} encountered a fatal error and requested a shutdown for the "
                "entire application.",
            )
        )
    tags = assignment_configs(groups, group.group_id).get(RACK_AWARE_ASSIGNMENT_TAGS)
    missing = [tag for tag in tags.split(",") if tag not in member.client_tags] if tags else []
    if missing and api_version >= CLIENT_TAGS_SINCE:
        found.append(
            Status(
                StatusCode.MISSING_CLIENT_TAGS,
                f"Missing required client tags for rack-aware standby assignment: [{', '.join(missing)}]. Configure "
                "them via 'client.tag.<tagKey>' in your Streams config.",
            )
        )
    return found


def _endpoints(
    groups: StreamsGroups, group: StreamsGroup, member: StreamsGroupMember, configured: ConfiguredTopology
) -> list[StreamsGroupHeartbeatResponse.EndpointToPartitions]:
    """Returns the partitions that each member with an endpoint serves; those of the sender come last. What other
    members serve is kept until they change."""
    known = group.endpoints
    found = []
    predecessor = None if member.instance_id is None else group.static_members.get(member.instance_id)
    for other in group.members.values():
        if other.member_id in (member.member_id, predecessor) or other.user_endpoint is None:
            continue
        entry = known.get(other.member_id)
        if entry is None:
            entry = endpoint_partitions(other, configured, groups.topics.partition_count_of)
        if entry is not None:
            known[other.member_id] = entry
            found.append(entry)
    own = endpoint_partitions(member, configured, groups.topics.partition_count_of)
    return found if own is None else [*found, own]
