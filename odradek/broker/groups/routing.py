"""Passes JoinGroup, SyncGroup, Heartbeat and LeaveGroup to the code of the group's kind: classic or consumer.

Owns: the choice of that kind. Never does: any other decision. A consumer group may have members of the classic protocol
(KIP-848, ``group.consumer.migration.policy``); their code is imported when the first one appears. Source:
``GroupMetadataManager``: classicGroupJoin, classicGroupSync, classicGroupHeartbeat, classicGroupLeave.
"""

from odradek.protocol.common.lazy_imports import lazy_imports
from odradek.protocol.errors import ErrorCode, KafkaError
from odradek.protocol.messages.groups import HeartbeatRequest, JoinGroupRequest, SyncGroupRequest, SyncGroupResponse

from ..coordinator.effects import Token
from ..dispatch.request import RequestContext
from .classic.heartbeat import heartbeat_of_member
from .classic.join import PendingJoin, join_classic_group
from .classic.leave import MemberIdentity, leave_classic_group
from .classic.sync import sync_classic_group
from .core import GroupCore
from .effects import GroupEffects
from .records import CoordinatorRecord

with lazy_imports:
    from .consumer import classic_members
    from .consumer import records as consumer_records
    from .streams import records as streams_records


def join_group(
    core: GroupCore, request: JoinGroupRequest, context: RequestContext, token: Token, effects: GroupEffects
) -> None:
    """Handles a JoinGroup: answered at once, or parked under ``token``."""
    joining = PendingJoin(request, context, token, effects)
    replaced: list[CoordinatorRecord] = []
    if request.group_id not in core.groups.classic:
        if request.group_id in core.groups.share:
            joining.refuse(ErrorCode.INCONSISTENT_GROUP_PROTOCOL, "")
            return
        streams_group = core.groups.streams.get(request.group_id)
        if streams_group is not None:
            if streams_group.members:
                joining.refuse(ErrorCode.INCONSISTENT_GROUP_PROTOCOL, "")
                return
            # It has no members: it becomes a classic group.
            replaced = streams_records.group_tombstones(streams_group)
        consumer_group = core.groups.consumer.get(request.group_id)
        if consumer_group is not None:
            if consumer_group.members:
                classic_members.join(core.groups, consumer_group, joining)
                return
            # It has no members: it becomes a classic group.
            replaced = consumer_records.group_tombstones(consumer_group)
    join_classic_group(core.groups, joining, replaced)


def sync_group(core: GroupCore, request: SyncGroupRequest, token: Token, effects: GroupEffects) -> None:
    """Handles a SyncGroup: answered at once, or parked under ``token`` until the leader's assignment is stored."""
    try:
        group = core.groups.classic.get(request.group_id)
        if group is not None:
            sync_classic_group(core.groups.config, group, request, token, effects)
            return
        consumer_group = core.groups.consumer.get(request.group_id)
        if consumer_group is None:
            raise KafkaError(ErrorCode.UNKNOWN_MEMBER_ID)
        from .consumer.classic_members import sync

        sync(core.groups, consumer_group, request, token, effects)
    except KafkaError as error:
        effects.reply(token, SyncGroupResponse(error_code=error.error_code))


def heartbeat(core: GroupCore, request: HeartbeatRequest, effects: GroupEffects) -> None:
    """Renews a member's session, and answers whether it must join again. Raises KafkaError if the sender is not a
    member."""
    group = core.groups.classic.get(request.group_id)
    if group is not None:
        heartbeat_of_member(group, request, effects)
        return
    consumer_group = core.groups.consumer.get(request.group_id)
    if consumer_group is None:
        raise KafkaError(ErrorCode.UNKNOWN_MEMBER_ID)
    classic_members.heartbeat(consumer_group, request, effects)


def leave_group(core: GroupCore, group_id: str, identities: list[MemberIdentity], effects: GroupEffects) -> None:
    """Removes members; the response has an error code for each. Raises KafkaError if the group does not exist."""
    group = core.groups.classic.get(group_id)
    if group is not None:
        leave_classic_group(core.groups.config, group, identities, effects)
        return
    consumer_group = core.groups.consumer.get(group_id)
    if consumer_group is None:
        raise KafkaError(ErrorCode.UNKNOWN_MEMBER_ID)
    classic_members.leave(core.groups, consumer_group, identities, effects)
