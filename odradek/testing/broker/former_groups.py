"""Lets members of groups that a reset has removed join again.

After a reset the broker knows none of the groups of before. Clients take GROUP_ID_NOT_FOUND for the end, in answer to a
heartbeat (KIP-848, KIP-932, KIP-1071) or to a commit (Java's, in groups of the classic protocol, too): no broker
forgets a group that has members. So members of removed groups get the errors of a member that must join again.

Owns: the ids of the removed groups. Never does: keeping anything else of them. A group that exists again is served as
any other.
"""

from collections.abc import Iterator
from typing import Any

from odradek.broker.dispatch.served import Handler
from odradek.broker.dispatch.wrapped_reply import WrappedReply
from odradek.broker.groups.coordinator import GroupCoordinator
from odradek.protocol.apis.api_keys import ApiKey
from odradek.protocol.errors import ErrorCode

MOST_IDS = 10_000
"""The ids that are kept at most; the oldest make room."""
HEARTBEATS = frozenset({ApiKey.CONSUMER_GROUP_HEARTBEAT, ApiKey.SHARE_GROUP_HEARTBEAT, ApiKey.STREAMS_GROUP_HEARTBEAT})
COMMITS = frozenset({ApiKey.OFFSET_COMMIT, ApiKey.TXN_OFFSET_COMMIT})


class FormerGroups:
    """The groups that resets of one broker have removed."""

    def __init__(self) -> None:
        self._ids: dict[str, None] = {}

    def remember(self, coordinator: GroupCoordinator) -> None:
        """Keeps the ids of all groups with members."""
        for core in coordinator.cores():
            for kind in (core.groups.classic, core.groups.consumer, core.groups.share, core.groups.streams):
                for group_id, group in kind.items():
                    if group.members:
                        self._ids.pop(group_id, None)
                        self._ids[group_id] = None
        for group_id in list(self._ids)[: max(0, len(self._ids) - MOST_IDS)]:
            del self._ids[group_id]

    def intercept(self, api_key: int, handle: Handler) -> Handler:
        """Wraps a handler of the members' requests, so that its answer lets them join again."""
        if api_key not in HEARTBEATS | COMMITS:
            return handle

        def serve(broker: Any, request: Any, context: Any, reply: Any) -> Iterator[object] | None:
            if request is not None and request.group_id in self._ids:
                reply = _Rejoining(reply)
            return handle(broker, request, context, reply)

        return serve


class _Rejoining(WrappedReply):
    """Passes answers on. One that says that the group does not exist says that the member must join again."""

    __slots__ = ()

    def __call__(self, response: Any) -> None:
        if response is not None:
            _mend(response)
        self._reply(response)


def _mend(response: Any) -> None:
    if getattr(response, "error_code", None) == ErrorCode.GROUP_ID_NOT_FOUND:
        response.error_code = ErrorCode.FENCED_MEMBER_EPOCH
        response.error_message = None
    for topic in getattr(response, "topics", None) or ():
        for partition in topic.partitions:
            if partition.error_code == ErrorCode.GROUP_ID_NOT_FOUND:
                partition.error_code = ErrorCode.UNKNOWN_MEMBER_ID
