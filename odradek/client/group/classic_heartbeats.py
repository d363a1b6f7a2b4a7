"""Sends the heartbeats of a member of a classic group, and checks ``max_poll_interval_ms``.

Owns: the heartbeat task. It runs from the end of a rebalance to the next join. If the user has not polled for
``max_poll_interval_ms``, the member leaves the group and the task ends. Source:
``consumer.internals.AbstractCoordinator.HeartbeatThread``, KIP-62.
"""

import asyncio
import logging
from typing import Protocol

from odradek.protocol.errors import ErrorCode, KafkaError
from odradek.protocol.messages.groups import HeartbeatRequest, HeartbeatResponse

from ..cluster.cluster import Cluster
from ..cluster.coordinator import COORDINATOR_MOVED, CoordinatorConnection
from ..errors import ClientError, broker_error
from ..types import Identity
from .config import GroupConfig

logger = logging.getLogger(__name__)


class Heartbeating(Protocol):
    """The interface of the member whose heartbeats are sent."""

    @property
    def identity(self) -> Identity:
        """Member id and generation."""

    def rejoin(self, reason: str) -> None:
        """Makes the member join again, because the group is rebalancing."""

    def forget_generation(self, *, forget_member: bool) -> None:
        """Drops the generation, and with ``forget_member`` the member id: the coordinator has rejected them."""

    def fail(self, error: KafkaError) -> None:
        """Makes the next ``poll`` raise an error that is not retriable."""

    async def send_leave(self, reason: str) -> None:
        """Sends LeaveGroup."""


class ClassicHeartbeats:
    """The heartbeat task of one member."""

    def __init__(
        self, cluster: Cluster, coordinator: CoordinatorConnection, config: GroupConfig, member: Heartbeating
    ) -> None:
        self._cluster = cluster
        self._coordinator = coordinator
        self._config = config
        self._member = member
        self._last_poll = asyncio.get_running_loop().time()
        self._task: asyncio.Task[None] | None = None
        self._leaving: asyncio.Future[None] | None = None

    def polled(self) -> None:
        """Notes the time at which the user called ``poll``."""
        self._last_poll = asyncio.get_running_loop().time()

    def start(self) -> None:
        """Starts sending heartbeats."""
        if self._task is None or self._task.done():
            self._task = asyncio.create_task(self._run(), name="group-heartbeat")

    async def stop(self) -> None:
        """Stops sending heartbeats."""
        task, self._task = self._task, None
        if task is not None and task is not asyncio.current_task():
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)

    async def _run(self) -> None:
        loop = asyncio.get_running_loop()
        interval_s = self._config.heartbeat_interval_ms / 1000
        max_poll_interval_s = self._config.max_poll_interval_ms / 1000
        next_beat = loop.time() + interval_s
        while self._member.identity.member_id:
            poll_deadline = self._last_poll + max_poll_interval_s
            await asyncio.sleep(max(0.0, min(next_beat, poll_deadline) - loop.time()))
            if loop.time() >= self._last_poll + max_poll_interval_s:
                logger.warning("poll was not called within max_poll_interval_ms: leaving the group")
                # Shielded, so that LeaveGroup is sent even if a poll stops this task now. Without it the other
                # members would wait for the session timeout.
                self._leaving = asyncio.ensure_future(self._member.send_leave("consumer poll timeout has expired."))
                await asyncio.shield(self._leaving)
                return
            if loop.time() >= next_beat:
                next_beat = loop.time() + (interval_s if await self._beat() else self._cluster.backoff_s(0))

    async def _beat(self) -> bool:
        """Sends one heartbeat. Returns True if it was answered, even with an error."""
        member_id, generation_id, group_instance_id = self._member.identity
        request = HeartbeatRequest(
            group_id=self._config.group_id,
            generation_id=generation_id,
            member_id=member_id,
            group_instance_id=group_instance_id,
        )
        try:
            connection = await self._coordinator.connection()
            response = await connection.call(request, HeartbeatResponse, timeout_ms=self._config.session_timeout_ms)
        except (ClientError, KafkaError):
            self._coordinator.forget()
            return False
        if response.error_code:
            self._refused(broker_error(response.error_code, f"group '{self._config.group_id}'"))
        return True

    def _refused(self, error: KafkaError) -> None:
        code = error.error_code
        if code == ErrorCode.REBALANCE_IN_PROGRESS:
            self._member.rejoin("group is already rebalancing")
        elif code in (ErrorCode.UNKNOWN_MEMBER_ID, ErrorCode.ILLEGAL_GENERATION):
            self._member.forget_generation(forget_member=code == ErrorCode.UNKNOWN_MEMBER_ID)
        elif code in COORDINATOR_MOVED:
            self._coordinator.forget()
        elif not code.retriable:
            self._member.fail(error)
