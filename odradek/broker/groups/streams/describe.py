"""StreamsGroupDescribe: the present state of a streams group, its topology and its members.

Pure. Source: ``StreamsGroup.asDescribedGroup``, ``StreamsGroupMember.asStreamsGroupDescribeMember``.
"""

from collections.abc import Generator, Mapping

from odradek.protocol.errors import KafkaError
from odradek.protocol.messages.streams_groups import StreamsGroupDescribeResponse

from .group import NO_TASK_OFFSETS, StreamsGroup, StreamsGroups
from .leaving import existing_group
from .member import StreamsGroupMember
from .settings import STICKY
from .tasks import MemberTasks, Tasks, task_ids

DescribedGroup = StreamsGroupDescribeResponse.DescribedGroup
Member = StreamsGroupDescribeResponse.Member
Assignment = StreamsGroupDescribeResponse.Assignment
TaskIds = StreamsGroupDescribeResponse.TaskIds
TaskOffset = StreamsGroupDescribeResponse.TaskOffset


def describe_streams_group(groups: StreamsGroups, group_id: str) -> Generator[None, None, DescribedGroup]:
    """Describes a group, one member in each step. GROUP_ID_NOT_FOUND if no streams group has the id."""
    try:
        group = existing_group(groups, group_id)
    except KafkaError as error:
        return DescribedGroup(group_id=group_id, error_code=error.error_code, error_message=error.message)
    described = DescribedGroup(
        group_id=group_id,
        group_state=group.state,
        group_epoch=group.group_epoch,
        assignment_epoch=group.assignment_epoch,
        assignor_name=STICKY,
        topology=_topology(group),
    )
    for member in list(group.members.values()):
        described.members.append(_member(group, member))
        yield
    return described


def _topology(group: StreamsGroup) -> StreamsGroupDescribeResponse.Topology | None:
    """Describes the topology, with the partitions of its topics if they fit together."""
    if group.configured is not None and group.configured.is_ready:
        return group.configured.to_description()
    return None if group.topology is None else group.topology.to_description()


def _member(group: StreamsGroup, member: StreamsGroupMember) -> Member:
    endpoint = member.user_endpoint
    offsets = group.task_offsets.get(member.member_id, NO_TASK_OFFSETS)
    return Member(
        member_id=member.member_id,
        member_epoch=member.member_epoch,
        instance_id=member.instance_id,
        rack_id=member.rack_id,
        client_id=member.client_id,
        client_host=member.client_host,
        topology_epoch=member.topology_epoch,
        process_id=member.process_id,
        user_endpoint=None if endpoint is None else StreamsGroupDescribeResponse.Endpoint(*endpoint),
        client_tags=[StreamsGroupDescribeResponse.KeyValue(*tag) for tag in member.client_tags.items()],
        task_offsets=_offsets(offsets.offsets),
        task_end_offsets=_offsets(offsets.end_offsets),
        assignment=_assignment(member.assigned),
        target_assignment=_assignment(group.target_of(member.member_id, None)),
    )


def _offsets(offsets: Mapping[tuple[str, int], int]) -> list[TaskOffset]:
    return [TaskOffset(*task, offset) for task, offset in sorted(offsets.items())]


def _assignment(tasks: Tasks | MemberTasks) -> Assignment:
    return Assignment(
        active_tasks=task_ids(TaskIds, tasks.active),
        standby_tasks=task_ids(TaskIds, tasks.standby),
        warmup_tasks=task_ids(TaskIds, tasks.warmup),
    )
