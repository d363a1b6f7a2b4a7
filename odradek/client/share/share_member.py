"""A member of a share group: heartbeats, and the partitions that the coordinator assigns.

Owns: the member id (made here, never changed), the epoch, the heartbeat task, the assignment. Never does: fetching.
Source: ``consumer.internals.ShareMembershipManager``, ``ShareHeartbeatRequestManager``.
"""

import asyncio
import base64
import uuid
from collections.abc import Callable

from odradek.protocol.errors import ErrorCode, KafkaError
from odradek.protocol.messages.share_groups import ShareGroupHeartbeatRequest, ShareGroupHeartbeatResponse

from ..cluster.cluster import Cluster
from ..cluster.coordinator import COORDINATOR_MOVED, CoordinatorConnection
from ..errors import ClientError, broker_error

JOIN_EPOCH = 0
LEAVE_EPOCH = -1
FENCED = frozenset({ErrorCode.FENCED_MEMBER_EPOCH, ErrorCode.UNKNOWN_MEMBER_ID})
DEFAULT_INTERVAL_MS = 5_000
Partitions = frozenset[tuple[bytes, int]]
"""(topic id, partition number) pairs."""


class ShareMember:
    """One membership. ``assigned``: the partitions that the member may fetch from."""

    def __init__(
        self, cluster: Cluster, group_id: str, rack_id: str | None, topics: frozenset[str], changed: Callable[[], None]
    ) -> None:
        """``changed`` is called when the assignment changes, or when the membership has failed for good."""
        self._cluster = cluster
        self._coordinator = CoordinatorConnection(cluster, group_id)
        self._group_id = group_id
        self._rack_id = rack_id
        self._topics = topics
        self._changed = changed
        self._interval_s = DEFAULT_INTERVAL_MS / 1000
        self._heartbeats: asyncio.Task[None] | None = None
        self.member_id = base64.urlsafe_b64encode(uuid.uuid4().bytes).rstrip(b"=").decode()
        self.member_epoch = JOIN_EPOCH
        self.assigned: Partitions = frozenset()
        self.fatal: Exception | None = None

    def begin(self) -> None:
        """Joins the group and sends heartbeats from now on."""
        if self._heartbeats is None:
            self._heartbeats = asyncio.create_task(self._run(), name="share-heartbeat")

    async def _run(self) -> None:
        attempts = 0
        while self.fatal is None:
            answered = await self._beat()
            attempts = 0 if answered else attempts + 1
            await asyncio.sleep(self._interval_s if answered else self._cluster.backoff_s(attempts - 1))

    async def _beat(self) -> bool:
        """Sends one heartbeat. Returns False if it should be sent again after a backoff."""
        joins = self.member_epoch == JOIN_EPOCH
        request = ShareGroupHeartbeatRequest(
            group_id=self._group_id,
            member_id=self.member_id,
            member_epoch=self.member_epoch,
            rack_id=self._rack_id if joins else None,
            subscribed_topic_names=sorted(self._topics) if joins else None,
        )
        try:
            connection = await self._coordinator.connection()
            response = await connection.call(request, ShareGroupHeartbeatResponse)
        except (ClientError, KafkaError) as error:
            self._coordinator.forget()
            if not isinstance(error, KafkaError) or error.error_code.retriable:
                return False
            self._fail(error)
            return True
        if response.error_code:
            what = f"share group '{self._group_id}'"
            return self._refused(broker_error(response.error_code, what, response.error_message))
        self.member_epoch = response.member_epoch
        self._interval_s = response.heartbeat_interval_ms / 1000
        if response.assignment is not None:
            self._assign(
                frozenset(
                    (topic.topic_id, number)
                    for topic in response.assignment.topic_partitions
                    for number in topic.partitions
                )
            )
        return True

    def _assign(self, assigned: Partitions) -> None:
        if assigned != self.assigned:
            self.assigned = assigned
            self._changed()

    def _refused(self, error: KafkaError) -> bool:
        if error.error_code in FENCED:
            self.member_epoch = JOIN_EPOCH
            self._assign(frozenset())
        elif error.error_code in COORDINATOR_MOVED:
            self._coordinator.forget()
        elif error.error_code != ErrorCode.TOPIC_AUTHORIZATION_FAILED and not error.error_code.retriable:
            self._fail(error)
        return False

    def _fail(self, error: Exception) -> None:
        self.fatal = error
        self._changed()

    async def leave(self) -> None:
        """Leaves the group."""
        if self._heartbeats is not None:
            self._heartbeats.cancel()
            await asyncio.gather(self._heartbeats, return_exceptions=True)
        if self.member_epoch == JOIN_EPOCH:
            return
        request = ShareGroupHeartbeatRequest(
            group_id=self._group_id, member_id=self.member_id, member_epoch=LEAVE_EPOCH
        )
        try:
            connection = await self._coordinator.connection()
            await connection.call(request, ShareGroupHeartbeatResponse)
        except (ClientError, KafkaError):
            self._coordinator.forget()  # the coordinator removes the member after the session timeout
