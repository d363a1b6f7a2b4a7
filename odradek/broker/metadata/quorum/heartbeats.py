"""Sends what the lifecycle of this broker asks for: registrations and heartbeats.

Shell around :class:`.lifecycle.Lifecycle`. Owns: the wait between requests. Never does: deciding what is due.
Invariant: a running broker sends no heartbeats while no metadata arrives: a broker that can't learn of its leaderships
must be fenced. Source: BrokerLifecycleManager.
"""

import asyncio
import contextlib
import logging
import time
from collections.abc import Callable

from odradek.protocol.messages.quorum import BrokerHeartbeatResponse, BrokerRegistrationResponse

from ...network.node_client import NodeUnavailableError
from ...timers.loop_timers import monotonic_ms
from ...timers.repeated_complaint import RepeatedComplaint
from ..image.image import BrokerState
from .channel import RETRY_MS, ControllerChannel, described
from .lifecycle import EndBroker, Heartbeat, Lifecycle, Register

logger = logging.getLogger(__name__)

REQUEST_TIMEOUT_S = 2.0
"""As ``controller.quorum.request.timeout.ms``: a request on a dead connection must end before the session does."""


class Heartbeats:
    """Sends the registrations and heartbeats of one broker to the active controller."""

    def __init__(
        self,
        lifecycle: Lifecycle,
        channel: ControllerChannel,
        *,
        is_following: Callable[[], bool],
        changed: Callable[[], None],
        fail: Callable[[str], None],
        time_s: Callable[[], float] = time.monotonic,
    ) -> None:
        """``is_following``: whether metadata has arrived lately. ``changed`` is called after each step of the
        lifecycle. ``fail`` gets the reason if this broker can never be registered or must stop. ``time_s``: a monotonic
        clock in seconds, for the time between two log lines."""
        self.lifecycle = lifecycle
        self._channel = channel
        self._is_following = is_following
        self._changed = changed
        self._fail = fail
        self._wake = asyncio.Event()
        self._registration = RepeatedComplaint("this broker is not registered", time_s)
        self._controllers = RepeatedComplaint("no heartbeat was answered", time_s)

    def wake(self) -> None:
        """Checks at once what is due, because the lifecycle has changed."""
        self._wake.set()

    async def run(self) -> None:
        """Sends requests until the controlled shutdown is over, this broker must stop, or the task is cancelled."""
        lifecycle = self.lifecycle
        try:
            while lifecycle.state is not BrokerState.SHUTTING_DOWN:
                action = lifecycle.next(monotonic_ms())
                if isinstance(action, EndBroker):
                    self._fail(action.reason)
                    return
                if isinstance(action, Register):
                    await self._register(action)
                elif isinstance(action, Heartbeat) and (self._is_following() or not self._is_running):
                    await self._beat(action)
                else:
                    until_ms = monotonic_ms() + RETRY_MS if isinstance(action, Heartbeat) else action.until_ms
                    await self._wait(until_ms)
                self._changed()
        finally:
            self._channel.close()

    @property
    def _is_running(self) -> bool:
        return self.lifecycle.state is BrokerState.RUNNING

    async def _wait(self, until_ms: int) -> None:
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(max(0, until_ms - monotonic_ms()) / 1000):
                await self._wake.wait()
        self._wake.clear()

    async def _register(self, action: Register) -> None:
        lifecycle = self.lifecycle
        try:
            response = await self._channel.send(action.request, BrokerRegistrationResponse, REQUEST_TIMEOUT_S)
        except NodeUnavailableError as error:
            self._registration.complain(error)
            lifecycle.unanswered(monotonic_ms(), RETRY_MS)
            return
        lifecycle.registered(response, monotonic_ms())
        if lifecycle.fatal is not None:
            self._fail(lifecycle.fatal)
        elif lifecycle.problem is not None:
            self._registration.complain(lifecycle.problem)
        else:
            logger.info("registered with the controllers, broker epoch %d", lifecycle.broker_epoch)

    async def _beat(self, action: Heartbeat) -> None:
        lifecycle = self.lifecycle
        was_fenced = lifecycle.is_fenced
        try:
            response = await self._channel.send(action.request, BrokerHeartbeatResponse, REQUEST_TIMEOUT_S)
        except NodeUnavailableError as error:
            self._controllers.complain(error)
            lifecycle.unanswered(monotonic_ms(), RETRY_MS)
            return
        if not lifecycle.heartbeat_answered(response, monotonic_ms()):
            self._controllers.complain(
                "the controllers no longer know this registration (STALE_BROKER_EPOCH): another broker has registered"
                " with this node.id, or this one was unregistered. Correct that, then restart this broker"
            )
        elif response.error_code:
            self._controllers.complain(f"the active controller answers {described(response.error_code)}")
        else:
            self._controllers.resolved()
        if was_fenced != lifecycle.is_fenced:
            logger.info("the controllers have %s this broker", "fenced" if lifecycle.is_fenced else "unfenced")
