"""The lane of ConsumerGroupHeartbeat (68): a member without news, that has nothing to hear (KIP-848).

Serves members whose request has no field but group, member and epoch, and whose group has no change for them. Their
coordinator is here, active, and has no record that is not durable yet. Leaves to the general path: static members,
groups with regular expressions, members of a rebalance, denied clients, and every error.

Owns: the requests that it knows, by their bytes. Source: ``api/consumer_group_heartbeat.py``.
"""

from functools import partial

from odradek.protocol.messages.consumer_groups import ConsumerGroupHeartbeatRequest, ConsumerGroupHeartbeatResponse
from odradek.protocol.security.acl import AclOperation, AclResourceType

from ..dispatch.lane import Answering, only_part
from ..dispatch.route import Lane, Route
from ..groups.consumer.heartbeat import NO_TIMEOUT_MS, changes_nothing, session_timer
from ..groups.consumer.settings import heartbeat_interval_ms
from ..metadata.image.features import GROUP_VERSION
from ..network.connection import Connection
from .parts import LaneParts, recalling
from .template import Template, marks, template

NUMBERS = "i"
"""Of an answer: the interval of heartbeats in ms."""
READ, GROUP = AclOperation.READ, AclResourceType.GROUP
KnownHeartbeat = tuple[ConsumerGroupHeartbeatRequest, str, Template]
"""A request, its client id, and what makes its answer."""


def consumer_group_heartbeat_lane(parts: LaneParts, route: Route, answering: Answering) -> Lane | None:
    """The lane of one version. None if this broker does not serve the protocol."""
    coordinator, metadata = parts.groups, parts.metadata
    if not coordinator.config.serves_consumer_protocol:
        return None
    recall = recalling(route, partial(_learn, route))

    def serve(connection: Connection, frame: memoryview) -> bool:
        known = recall(frame)
        if known is None:
            return False
        request, client_id, answer = known
        group_id, member_id = request.group_id, request.member_id
        shard = coordinator.ready_shard(group_id)
        if shard is None or not metadata.image.features.get(GROUP_VERSION):
            return False
        groups = shard.core.groups
        if not changes_nothing(groups, request) or groups.consumer[group_id].must_refresh(parts.clock_ms()):
            return False
        member = groups.consumer[group_id].members[member_id]
        if (
            member.instance_id is not None
            or member.classic is not None
            or member.client_id != client_id
            or member.client_host != f"/{connection.client_host}"
            or not parts.may(connection, READ, GROUP, group_id)
        ):
            return False
        shard.set_timer(session_timer(groups, group_id, member_id))
        answering.send(connection, [answer(frame, heartbeat_interval_ms(groups, group_id))])
        return True

    return serve


def _learn(route: Route, request: ConsumerGroupHeartbeatRequest, client_id: str | None) -> KnownHeartbeat | None:
    """What the lane needs to know of a request; None if it has news."""
    news = (
        request.instance_id,
        request.rack_id,
        request.subscribed_topic_names,
        request.subscribed_topic_regex,
        request.server_assignor,
        request.topic_partitions,
    )
    if any(field is not None for field in news) or request.rebalance_timeout_ms != NO_TIMEOUT_MS:
        return None
    if request.member_epoch <= 0 or not request.group_id.strip() or not request.member_id.strip():
        return None
    (interval_ms,) = marks(NUMBERS)
    response = ConsumerGroupHeartbeatResponse(
        member_id=request.member_id, member_epoch=request.member_epoch, heartbeat_interval_ms=interval_ms
    )
    answer = template(only_part(route.encode(response, 0)), NUMBERS)
    return None if answer is None else (request, client_id or "", answer)
