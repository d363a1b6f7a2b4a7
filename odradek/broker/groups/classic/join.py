"""JoinGroup of a classic group.

Owns: which requests may join, under which member id, and whether that starts a rebalance. Never does: waiting; a
request that must wait leaves its token with the member. Source: ``GroupMetadataManager``, classicGroupJoin to
updateStaticMemberThenRebalanceOrCompleteJoin; KIP-345 (static members), KIP-394 (member id required).
"""

import logging

from odradek.protocol.errors import ErrorCode, KafkaError
from odradek.protocol.messages.groups import JoinGroupRequest, JoinGroupResponse

from ...coordinator.effects import SetTimer, Token
from ...dispatch.request import RequestContext
from ...timers.log_lines import quoted
from ..config import GroupCoordinatorConfig
from ..effects import GroupEffects, MemberExpired, session_key
from ..memory import limit_reached
from ..records import CoordinatorRecord
from .group import ClassicGroup, ClassicGroups, GroupState
from .member import ClassicMember, Protocols, bytes_of
from .rebalance import (
    complete_join_if_all_joined,
    generation_response,
    prepare,
    prepare_or_complete,
    refuse_join,
    refuse_parked_sync,
)
from .records import empty_group_metadata_record, group_metadata_record

logger = logging.getLogger(__name__)


def refusal_of(
    config: GroupCoordinatorConfig, group: ClassicGroup, member_id: str, protocols: Protocols
) -> tuple[ErrorCode, str] | None:
    """Returns the error of a JoinGroup that would exceed a memory limit, and the config key of the limit; None if there
    is room.

    Above the limit of a group the error is GROUP_MAX_SIZE_REACHED, which is fatal for clients. Above the limit of all
    groups it is COORDINATOR_NOT_AVAILABLE, after which clients retry. A member whose new protocols need no more memory
    than its present ones is never refused.
    """
    member = group.members.get(member_id)
    growth = bytes_of(protocols) - (0 if member is None else bytes_of(member.protocols))
    return limit_reached(config, group.member_bytes, group.memory, growth)


MEMBER_ID_REQUIRED_SINCE = 4
SKIP_ASSIGNMENT_SINCE = 9


class PendingJoin:
    """A JoinGroup that is being handled: the request, its context, and the token to answer it with."""

    __slots__ = ("context", "effects", "group_instance_id", "member_id", "protocols", "request", "token")

    def __init__(self, request: JoinGroupRequest, context: RequestContext, token: Token, effects: GroupEffects) -> None:
        self.request = request
        self.context = context
        self.token = token
        self.effects = effects
        self.member_id = request.member_id
        self.group_instance_id = request.group_instance_id
        self.protocols: Protocols = [(protocol.name, bytes(protocol.metadata)) for protocol in request.protocols]

    @property
    def rebalance_timeout_ms(self) -> int:
        """The rebalance timeout of the request; in version 0, which has none, the session timeout."""
        if self.context.api_version == 0:
            return self.request.session_timeout_ms
        return self.request.rebalance_timeout_ms

    def because(self, what: str) -> str:
        """Returns a reason for the log: ``what``, and the reason that the client gave (KIP-800)."""
        return f"{what}; client reason: {quoted(self.request.reason)}"

    def refuse(self, error: ErrorCode, member_id: str | None = None) -> None:
        """Answers with an error and ``member_id``, or the member id of the request if it is None."""
        refuse_join(self.token, self.member_id if member_id is None else member_id, error, self.effects)


def join_classic_group(groups: ClassicGroups, joining: PendingJoin, replaced: list[CoordinatorRecord]) -> None:
    """Handles a JoinGroup: answers it at once, or parks it. ``replaced``: tombstones to store before the record of a
    new group."""
    group_id = joining.request.group_id
    group = groups.classic.get(group_id)
    is_new_group = group is None
    if group is None:
        if joining.member_id:
            joining.refuse(ErrorCode.UNKNOWN_MEMBER_ID)
            return
        group = ClassicGroup(group_id, joining.effects.now_ms, groups.memory)
    if not _has_memory(groups, group, joining):
        return
    if is_new_group:
        groups.classic[group_id] = group
    if not _accepts(groups, group, joining.member_id):
        group.remove(joining.member_id)
        joining.refuse(ErrorCode.GROUP_MAX_SIZE_REACHED, "")
    elif joining.member_id:
        _join_existing_member(groups, group, joining)
    else:
        _join_new_member(groups, group, joining)
    if is_new_group and not joining.effects.records:
        _store_new_group(groups, group, joining, replaced)


def _store_new_group(
    groups: ClassicGroups, group: ClassicGroup, joining: PendingJoin, replaced: list[CoordinatorRecord]
) -> None:
    def appended(error: ErrorCode, follow: GroupEffects) -> None:
        if not error:
            return
        logger.warning("group %r could not be stored: %s", group.group_id, error.name)
        groups.classic.pop(group.group_id, None)
        for member_id in group.pending_join_members:
            follow.cancel_timer(session_key(group.group_id, member_id))
        for member in group.members.values():
            follow.cancel_timer(member.session_key)
            token = group.pop_join_token(member)
            if token is not None:
                refuse_join(token, "", error, follow)

    joining.effects.records += [*replaced, empty_group_metadata_record(group)]
    joining.effects.after_append(appended)


def _has_memory(groups: ClassicGroups, group: ClassicGroup, joining: PendingJoin) -> bool:
    """Refuses a JoinGroup whose metadata would exceed a memory limit, and returns False. An existing member then stays
    as it is."""
    member_id = joining.member_id or group.static_members.get(joining.group_instance_id or "", "")
    refusal = refusal_of(groups.config, group, member_id, joining.protocols)
    if refusal is None:
        return True
    error, key = refusal
    logger.warning(
        "group %r: refused a JoinGroup of client id %r with %d bytes: the limit is %s",
        group.group_id,
        joining.context.client_id,
        bytes_of(joining.protocols),
        key,
    )
    joining.refuse(error)
    return False


def _accepts(groups: ClassicGroups, group: ClassicGroup, member_id: str) -> bool:
    """Whether group.max.size leaves room for the member."""
    max_size = groups.config.group_max_size
    member = group.members.get(member_id)
    if group.state is GroupState.PREPARING_REBALANCE:
        # As in Kafka, only members whose JoinGroup is parked are counted. So those that rejoin last are refused.
        return (member is not None and member.is_awaiting_join) or group.awaiting_join_count < max_size
    if group.state in (GroupState.COMPLETING_REBALANCE, GroupState.STABLE):
        return member is not None or len(group.members) < max_size
    return True


def _join_new_member(groups: ClassicGroups, group: ClassicGroup, joining: PendingJoin) -> None:
    if group.state is GroupState.DEAD:
        joining.refuse(ErrorCode.COORDINATOR_NOT_AVAILABLE, "")
        return
    if not group.supports_protocols(joining.request.protocol_type, (name for name, _ in joining.protocols)):
        joining.refuse(ErrorCode.INCONSISTENT_GROUP_PROTOCOL, "")
        return
    prefix = joining.group_instance_id
    if prefix is None:
        prefix = joining.context.client_id or ""
    new_member_id = f"{prefix}-{groups.new_uuid()}"
    if joining.group_instance_id is None:
        _join_new_dynamic_member(groups, group, joining, new_member_id)
        return
    existing_member_id = group.static_members.get(joining.group_instance_id)
    if existing_member_id is None:
        _add_member(groups, group, joining, new_member_id)
    else:
        _replace_static_member(groups, group, joining, existing_member_id, new_member_id)


def _join_new_dynamic_member(
    groups: ClassicGroups, group: ClassicGroup, joining: PendingJoin, new_member_id: str
) -> None:
    if joining.context.api_version < MEMBER_ID_REQUIRED_SINCE:
        _add_member(groups, group, joining, new_member_id)
        return
    # The client must join again with this id. So a client whose connection broke does not stay as a member (KIP-394).
    group.add_pending(new_member_id)
    joining.effects.set_timer(
        SetTimer(
            session_key(group.group_id, new_member_id),
            joining.request.session_timeout_ms,
            MemberExpired(group.group_id, new_member_id),
        ),
    )
    joining.refuse(ErrorCode.MEMBER_ID_REQUIRED, new_member_id)


def _join_existing_member(groups: ClassicGroups, group: ClassicGroup, joining: PendingJoin) -> None:
    if group.state is GroupState.DEAD:
        joining.refuse(ErrorCode.COORDINATOR_NOT_AVAILABLE)
        return
    if not group.supports_protocols(joining.request.protocol_type, (name for name, _ in joining.protocols)):
        joining.refuse(ErrorCode.INCONSISTENT_GROUP_PROTOCOL)
        return
    if joining.member_id in group.pending_join_members:
        if joining.group_instance_id is not None:
            # A pending member is never static. Kafka's handler fails here.
            joining.effects.reply(
                joining.token, JoinGroupResponse(error_code=ErrorCode.UNKNOWN_SERVER_ERROR, protocol_name=None)
            )
            return
        _add_member(groups, group, joining, joining.member_id)
        return
    try:
        group.validate_member(joining.member_id, joining.group_instance_id)
    except KafkaError as error:
        joining.refuse(error.error_code)
        return
    _rejoin(groups, group, joining, group.members[joining.member_id])


def _rejoin(groups: ClassicGroups, group: ClassicGroup, joining: PendingJoin, member: ClassicMember) -> None:
    """Handles a JoinGroup of a member: it starts a rebalance only if the member has changed, or if the leader joins."""
    unchanged = member.protocols == joining.protocols
    if group.state is GroupState.PREPARING_REBALANCE:
        _update_member(groups, group, joining, member, "is joining")
    elif group.state is GroupState.COMPLETING_REBALANCE:
        if unchanged:
            # The member may not have received the response to its first JoinGroup: it gets the same response.
            joining.effects.reply(joining.token, generation_response(group, member.member_id))
        else:
            _update_member(groups, group, joining, member, "has changed its metadata")
    elif group.state is GroupState.STABLE:
        if group.is_leader(member.member_id):
            _update_member(groups, group, joining, member, "is the leader and joins again")
        elif unchanged:
            joining.effects.reply(joining.token, generation_response(group, member.member_id))
        else:
            _update_member(groups, group, joining, member, "has changed its metadata")
    else:
        joining.refuse(ErrorCode.UNKNOWN_MEMBER_ID)


def _update_member(
    groups: ClassicGroups, group: ClassicGroup, joining: PendingJoin, member: ClassicMember, what: str
) -> None:
    _refuse_older_join(group, joining, member)
    group.update_member(
        member,
        joining.protocols,
        joining.rebalance_timeout_ms,
        joining.request.session_timeout_ms,
        joining.token,
    )
    reason = joining.because(f"member {quoted(member.member_id)} {what}")
    prepare_or_complete(groups.config, group, joining.effects, reason)


def _refuse_older_join(group: ClassicGroup, joining: PendingJoin, member: ClassicMember) -> None:
    """If an older JoinGroup of the member is parked, answers it with REBALANCE_IN_PROGRESS. The new one is parked then.

    Kafka drops the older request without an answer, which blocks its connection until the client gives up.
    """
    token = group.pop_join_token(member)
    if token is not None:
        refuse_join(token, member.member_id, ErrorCode.REBALANCE_IN_PROGRESS, joining.effects)


def _add_member(groups: ClassicGroups, group: ClassicGroup, joining: PendingJoin, member_id: str) -> None:
    request = joining.request
    member = ClassicMember(
        group.group_id,
        member_id,
        joining.group_instance_id,
        joining.context.client_id or "",
        f"/{joining.context.client_host}",
        joining.rebalance_timeout_ms,
        request.session_timeout_ms,
        request.protocol_type,
        joining.protocols,
    )
    member.is_new = True
    if group.state is GroupState.PREPARING_REBALANCE and group.previous_state is GroupState.EMPTY:
        group.new_member_added = True
    group.add(member, joining.token)
    # The client has no member id to send heartbeats with, and a lost connection is not noticed while the request is
    # parked. Without a timeout, clients that retry would fill the group with abandoned members.
    joining.effects.set_timer(
        SetTimer(member.session_key, groups.config.new_member_join_timeout_ms, member.session_timer.event)
    )
    what = f"new member {quoted(member_id)} with instance id {quoted(joining.group_instance_id)}"
    prepare_or_complete(groups.config, group, joining.effects, joining.because(what))


def _replace_static_member(
    groups: ClassicGroups, group: ClassicGroup, joining: PendingJoin, old_member_id: str, new_member_id: str
) -> None:
    """A static member joins without its member id: it gets a new id and keeps its place in the group (KIP-345)."""
    assert joining.group_instance_id is not None
    _fence(group, group.members[old_member_id], joining.effects)
    replaced_leader = group.leader_id or ""
    old = group.members[old_member_id]
    member = group.replace_static_member(joining.group_instance_id, old_member_id, new_member_id)
    joining.effects.set_timer(member.session_timer)
    group.update_member(
        member,
        joining.protocols,
        joining.rebalance_timeout_ms,
        joining.request.session_timeout_ms,
        joining.token,
    )
    if group.state is GroupState.STABLE:
        if group.protocol_name == group.select_protocol():
            _store_replaced(group, joining, member, old, replaced_leader)
        else:
            what = f"static member {quoted(new_member_id)} changes the group's protocol"
            prepare_or_complete(groups.config, group, joining.effects, joining.because(what))
    elif group.state is GroupState.COMPLETING_REBALANCE:
        # The leader may know the old member id only: its assignment would not contain the new one.
        what = f"static member {quoted(new_member_id)} replaces {quoted(old_member_id)}"
        prepare(groups.config, group, joining.effects, joining.because(what))
    else:
        complete_join_if_all_joined(group, joining.effects)


def _fence(group: ClassicGroup, member: ClassicMember, effects: GroupEffects) -> None:
    token = group.pop_join_token(member)
    if token is not None:
        refuse_join(token, member.member_id, ErrorCode.FENCED_INSTANCE_ID, effects)
    refuse_parked_sync(member, ErrorCode.FENCED_INSTANCE_ID, effects)


def _store_replaced(
    group: ClassicGroup, joining: PendingJoin, member: ClassicMember, old: ClassicMember, replaced_leader: str
) -> None:
    """Stores the new member id without a rebalance: the group keeps its generation and assignments."""
    instance_id = joining.group_instance_id
    assert instance_id is not None

    def appended(error: ErrorCode, follow: GroupEffects) -> None:
        token = group.pop_join_token(member)
        if error:
            group.update_member(member, old.protocols, old.rebalance_timeout_ms, old.session_timeout_ms, None)
            restored = group.replace_static_member(instance_id, member.member_id, old.member_id)
            follow.set_timer(restored.session_timer)
            response = generation_response(group, "")
            response.error_code = error
            response.leader = replaced_leader
        elif joining.context.api_version >= SKIP_ASSIGNMENT_SINCE:
            # KIP-814: a returning leader gets the list of members, but must not compute a new assignment.
            response = generation_response(group, member.member_id, group.is_leader(member.member_id))
        else:
            # Older clients do not know skip_assignment. The old member id is sent as the leader, so the client does not
            # take itself for the leader and does not compute an assignment.
            response = generation_response(group, member.member_id)
            response.leader = replaced_leader
            response.members = []
        if token is not None:
            follow.reply(token, response)

    joining.effects.records.append(group_metadata_record(group, group.assignments()))
    joining.effects.after_append(appended)
