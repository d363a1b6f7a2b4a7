"""The lane of Heartbeat (12): a member of a classic group that has nothing to hear.

Serves members of classic groups whose coordinator is here, active, and has no record that is not durable yet. Leaves to
the general path: denied clients, unknown groups and members, and every error.

Owns: the requests that it knows, by their bytes. Source: ``api/heartbeat.py``.
"""

from odradek.protocol.messages.groups import HeartbeatRequest, HeartbeatResponse
from odradek.protocol.security.acl import AclOperation, AclResourceType

from ..dispatch.lane import Answering, only_part
from ..dispatch.route import Lane, Route
from ..groups.classic.group import GroupState
from ..network.connection import Connection
from .parts import LaneParts, recalling
from .template import FixedAnswer

PREPARING, DEAD = GroupState.PREPARING_REBALANCE, GroupState.DEAD


def heartbeat_lane(parts: LaneParts, route: Route, answering: Answering) -> Lane:
    """The lane of one version."""
    groups = parts.groups
    answer = FixedAnswer(only_part(route.encode(HeartbeatResponse(), 0)))
    recall = recalling(route, _learn)

    def serve(connection: Connection, frame: memoryview) -> bool:
        request = recall(frame)
        if request is None or not parts.may(connection, AclOperation.READ, AclResourceType.GROUP, request.group_id):
            return False
        shard = groups.ready_shard(request.group_id)
        group = None if shard is None else shard.core.groups.classic.get(request.group_id)
        if shard is None or group is None or group.state is PREPARING or group.state is DEAD:
            return False
        member = group.members.get(request.member_id)
        if member is None or request.group_instance_id is not None or request.generation_id != group.generation_id:
            return False
        shard.set_timer(member.session_timer)
        answering.send(connection, [answer.encoded(frame)])
        return True

    return serve


def _learn(request: HeartbeatRequest, _: str | None) -> HeartbeatRequest | None:
    return request if request.group_id else None
