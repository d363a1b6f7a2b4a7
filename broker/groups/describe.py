"""DescribeGroups, ListGroups, DeleteGroups for the groups of one partition.

Source: ``GroupMetadataManager.describeGroups``, ``listGroups``, ``GroupCoordinatorShard.deleteGroups``.
"""

from typing import TYPE_CHECKING

from ...protocol.errors import ErrorCode, KafkaError
from ...protocol.messages.groups import DeleteGroupsResponse, DescribeGroupsResponse, ListGroupsResponse
from .effects import Effects
from .group import ClassicGroup
from .member import ClassicMember
from .records import group_tombstone
from .states import GroupState

if TYPE_CHECKING:
    from .core import GroupCore

GROUP_TYPE = "classic"
GROUP_ID_NOT_FOUND_SINCE = 6

DescribedGroup = DescribeGroupsResponse.DescribedGroup
DescribedGroupMember = DescribeGroupsResponse.DescribedGroupMember


def describe_group(core: "GroupCore", group_id: str, api_version: int) -> DescribedGroup:
    """A group as it is now. One that is not there is Dead, from version 6 on with GROUP_ID_NOT_FOUND too."""
    group = core.groups.get(group_id)
    if group is None:
        described = DescribedGroup(group_id=group_id, group_state=GroupState.DEAD)
        if api_version >= GROUP_ID_NOT_FOUND_SINCE:
            described.error_code = ErrorCode.GROUP_ID_NOT_FOUND
            described.error_message = f"Group {group_id} not found."
        return described
    described = DescribedGroup(
        group_id=group_id,
        group_state=group.state,
        protocol_type=group.protocol_type or "",
        members=[_describe_member(group, member) for member in group.members.values()],
    )
    if group.state is GroupState.STABLE:
        described.protocol_data = group.protocol_name or ""
    return described


def _describe_member(group: ClassicGroup, member: ClassicMember) -> DescribedGroupMember:
    described = DescribedGroupMember(
        member_id=member.member_id,
        group_instance_id=member.group_instance_id,
        client_id=member.client_id,
        client_host=member.client_host,
        member_assignment=member.assignment,
    )
    # Between two generations there is no protocol to show the metadata of.
    if group.state is GroupState.STABLE and group.protocol_name is not None:
        described.member_metadata = member.metadata(group.protocol_name)
    return described


def list_groups(
    core: "GroupCore", states_filter: list[str], types_filter: list[str]
) -> list[ListGroupsResponse.ListedGroup]:
    """The groups in one of the states and of one of the types; an empty filter lets all through."""
    states = {state.strip().lower() for state in states_filter}
    types = {group_type.strip().lower() for group_type in types_filter}
    if types and GROUP_TYPE not in types:
        return []
    return [
        ListGroupsResponse.ListedGroup(
            group_id=group.group_id,
            protocol_type=group.protocol_type or "",
            group_state=group.state,
            group_type=GROUP_TYPE,
        )
        for group in core.groups.values()
        if not states or group.state.lower() in states
    ]


def delete_groups(core: "GroupCore", group_ids: list[str], effects: Effects) -> None:
    """Deletes empty groups with their offsets, each with an error of its own."""
    results = []
    for group_id in group_ids:
        error = ErrorCode.NONE
        try:
            _validate_delete(core, group_id)
        except KafkaError as refusal:
            error = refusal.error_code
        else:
            effects.records += core.offsets.tombstones_of_group(group_id)
            effects.records.append(group_tombstone(group_id))
        results.append(DeleteGroupsResponse.DeletableGroupResult(group_id=group_id, error_code=error))
    effects.response = results


def _validate_delete(core: "GroupCore", group_id: str) -> None:
    group = core.groups.get(group_id)
    if group is None or group.state is GroupState.DEAD:
        raise KafkaError(ErrorCode.GROUP_ID_NOT_FOUND)
    if group.state is not GroupState.EMPTY:
        raise KafkaError(ErrorCode.NON_EMPTY_GROUP)
