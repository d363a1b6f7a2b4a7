"""DescribeGroups, ListGroups, DeleteGroups for the groups of one partition.

Source: ``GroupMetadataManager.describeGroups``, ``listGroups``, ``GroupCoordinatorShard.deleteGroups``.
"""

from collections.abc import Generator

from odradek.protocol.common.lazy_imports import lazy_imports
from odradek.protocol.errors import ErrorCode, KafkaError
from odradek.protocol.messages.groups import DeleteGroupsResponse, DescribeGroupsResponse, ListGroupsResponse

from .classic.group import CONSUMER_PROTOCOL_TYPE, GroupState
from .classic.member import ClassicMember
from .classic.records import group_tombstone
from .core import GroupCore
from .effects import GroupEffects
from .records import CoordinatorRecord

with lazy_imports:
    from .consumer import records as consumer_records
    from .share import records as share_records
    from .streams import records as streams_records

CLASSIC_TYPE = "classic"
CONSUMER_TYPE = "consumer"
SHARE_TYPE = "share"
STREAMS_TYPE = "streams"
GROUP_ID_NOT_FOUND_SINCE = 6
MEMBERS_A_STEP = 64
GROUPS_A_STEP = 128
OFFSETS_A_STEP = 128
PORTION_DELETED = object()
"""The response of a step after which offsets remain to be deleted."""

DescribedGroup = DescribeGroupsResponse.DescribedGroup
DescribedGroupMember = DescribeGroupsResponse.DescribedGroupMember


def describe_group(core: GroupCore, group_id: str, api_version: int) -> Generator[None, None, DescribedGroup]:
    """Describes a group, in steps. A missing group is Dead; since version 6 the answer also has GROUP_ID_NOT_FOUND."""
    group = core.groups.classic.get(group_id)
    if group is None:
        described = DescribedGroup(group_id=group_id, group_state=GroupState.DEAD)
        if api_version >= GROUP_ID_NOT_FOUND_SINCE:
            described.error_code = ErrorCode.GROUP_ID_NOT_FOUND
            what = "is not a classic group" if core.groups.is_known(group_id) else "not found"
            described.error_message = f"Group {group_id} {what}."
        return described
    described = DescribedGroup(
        group_id=group_id,
        group_state=group.state,
        protocol_type=group.protocol_type or "",
    )
    # Between two generations no protocol is chosen, and so the members have no metadata to show.
    protocol_name = group.protocol_name if group.state is GroupState.STABLE else None
    described.protocol_data = protocol_name or ""
    for number, member in enumerate(list(group.members.values()), 1):
        described.members.append(_describe_member(member, protocol_name))
        if number % MEMBERS_A_STEP == 0:
            yield
    return described


def _describe_member(member: ClassicMember, protocol_name: str | None) -> DescribedGroupMember:
    described = DescribedGroupMember(
        member_id=member.member_id,
        group_instance_id=member.group_instance_id,
        client_id=member.client_id,
        client_host=member.client_host,
        member_assignment=member.assignment,
    )
    # A member may have joined again with other protocols since the first step.
    described.member_metadata = next((metadata for name, metadata in member.protocols if name == protocol_name), b"")
    return described


def normalised(texts: list[str]) -> frozenset[str]:
    """Returns a filter of ListGroups as :func:`list_groups` expects it: in lower case, without surrounding spaces."""
    return frozenset(text.strip().lower() for text in texts)


def list_groups(
    core: GroupCore, states: frozenset[str], types: frozenset[str]
) -> Generator[None, None, list[ListGroupsResponse.ListedGroup]]:
    """Lists the groups in one of the states and of one of the types, in steps; an empty filter selects all."""
    listed: list[ListGroupsResponse.ListedGroup] = []
    classic = list(core.groups.classic.values()) if not types or CLASSIC_TYPE in types else []
    consumer = list(core.groups.consumer.values()) if not types or CONSUMER_TYPE in types else []
    for number, group in enumerate(classic, 1):
        if not states or group.state.lower() in states:
            listed.append(_listed(group.group_id, group.protocol_type or "", group.state))
        if number % GROUPS_A_STEP == 0:
            yield
    for number, consumer_group in enumerate(consumer, 1):
        if not states or consumer_group.state.lower() in states:
            listed.append(_listed(consumer_group.group_id, CONSUMER_PROTOCOL_TYPE, consumer_group.state, CONSUMER_TYPE))
        if number % GROUPS_A_STEP == 0:
            yield
    share = list(core.groups.share.values()) if not types or SHARE_TYPE in types else []
    for number, share_group in enumerate(share, 1):
        if not states or share_group.state.lower() in states:
            listed.append(_listed(share_group.group_id, SHARE_TYPE, share_group.state, SHARE_TYPE))
        if number % GROUPS_A_STEP == 0:
            yield
    streams = list(core.groups.streams.values()) if not types or STREAMS_TYPE in types else []
    for number, streams_group in enumerate(streams, 1):
        if not states or streams_group.state.lower() in states:
            listed.append(_listed(streams_group.group_id, STREAMS_TYPE, streams_group.state, STREAMS_TYPE))
        if number % GROUPS_A_STEP == 0:
            yield
    return listed


def _listed(
    group_id: str, protocol_type: str, state: str, group_type: str = CLASSIC_TYPE
) -> ListGroupsResponse.ListedGroup:
    return ListGroupsResponse.ListedGroup(
        group_id=group_id, protocol_type=protocol_type, group_state=state, group_type=group_type
    )


def delete_group(core: GroupCore, group_id: str, effects: GroupEffects) -> bool:
    """Deletes an empty group with its offsets, or the first part of its offsets.

    Returns True if offsets remain: the group still exists, and the caller must call again. Raises KafkaError
    NON_EMPTY_GROUP, GROUP_ID_NOT_FOUND. The stored state of a share group is deleted before
    (:func:`.share.state_topics.begin_deletion`).
    """
    _validate_delete(core, group_id)
    tombstones = core.offsets.tombstones_of_group(group_id, OFFSETS_A_STEP + 1)
    effects.records += tombstones[:OFFSETS_A_STEP]
    if len(tombstones) > OFFSETS_A_STEP:
        # This response is not sent to the client. If the append fails, the caller gets the error instead.
        effects.response = PORTION_DELETED
        return True
    effects.records += _tombstones_of(core, group_id)
    effects.response = DeleteGroupsResponse.DeletableGroupResult(group_id=group_id)
    return False


def _tombstones_of(core: GroupCore, group_id: str) -> list[CoordinatorRecord]:
    """Returns the records that delete a group of any kind, without its offsets."""
    streams_group = core.groups.streams.get(group_id)
    if streams_group is not None:
        return streams_records.group_tombstones(streams_group)
    share_group = core.groups.share.get(group_id)
    if share_group is not None:
        return share_records.group_tombstones(share_group)
    consumer_group = core.groups.consumer.get(group_id)
    if consumer_group is None:
        return [group_tombstone(group_id)]
    return consumer_records.group_tombstones(consumer_group)


def _validate_delete(core: GroupCore, group_id: str) -> None:
    consumer_group = core.groups.consumer.get(group_id)
    if consumer_group is not None:
        if consumer_group.members:
            raise KafkaError(ErrorCode.NON_EMPTY_GROUP)
        return
    other = core.groups.share.get(group_id) or core.groups.streams.get(group_id)
    if other is not None:
        if other.members:
            raise KafkaError(ErrorCode.NON_EMPTY_GROUP)
        return
    group = core.groups.classic.get(group_id)
    if group is None or group.state is GroupState.DEAD:
        raise KafkaError(ErrorCode.GROUP_ID_NOT_FOUND)
    if group.state is not GroupState.EMPTY:
        raise KafkaError(ErrorCode.NON_EMPTY_GROUP)
