"""Heartbeats over a socket: they stop while no metadata arrives, and refusals of the controllers are logged."""

import asyncio
import itertools
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

import pytest

from odradek.broker.metadata.image.image import BrokerState, Endpoint
from odradek.broker.metadata.quorum.channel import ControllerChannel
from odradek.broker.metadata.quorum.heartbeats import Heartbeats
from odradek.broker.metadata.quorum.known_controllers import Address, KnownControllers
from odradek.broker.metadata.quorum.lifecycle import Lifecycle, Registrant
from odradek.broker.timers.loop_timers import monotonic_ms
from odradek.protocol.errors import ErrorCode
from odradek.protocol.messages.quorum import (
    BrokerHeartbeatRequest,
    BrokerHeartbeatResponse,
    BrokerRegistrationRequest,
    BrokerRegistrationResponse,
)
from odradek.protocol.messages.structure import Message
from support.brokers.fake_node import FakeNode

INTERVAL_MS = 20


@dataclass
class Controller:
    """An active controller that answers with a given error code."""

    code: int = 0
    beats: int = 0

    def answer(self, request: Message) -> Message:
        if isinstance(request, BrokerRegistrationRequest):
            return BrokerRegistrationResponse(broker_epoch=9)
        assert isinstance(request, BrokerHeartbeatRequest)
        self.beats += 1
        return BrokerHeartbeatResponse(0, self.code, True, request.want_fence, request.want_shut_down)


@dataclass
class Broker:
    """A broker that sends heartbeats."""

    controller: Controller = field(default_factory=Controller)
    follows: bool = True
    steps: int = 0
    failures: list[str] = field(default_factory=list)

    def step(self) -> None:
        self.steps += 1
        self.stepped.set()

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        self.stepped = asyncio.Event()
        registrant = Registrant(7, "c", bytes(16), [Endpoint("PLAINTEXT", "h", 1)], {}, None, [bytes(16)], -1)
        self.lifecycle = Lifecycle(
            registrant,
            heartbeat_interval_ms=INTERVAL_MS,
            shutdown_timeout_ms=60_000,
            directory_failure_timeout_ms=30_000,
        )
        async with FakeNode(self.controller.answer) as node:
            known = KnownControllers([], {1: Address("127.0.0.1", node.port)})
            known.take_leader(1, 1)
            self.heartbeats = Heartbeats(
                self.lifecycle,
                ControllerChannel(known, "test"),
                is_following=lambda: self.follows,
                changed=self.step,
                fail=self.failures.append,
                time_s=itertools.count().__next__,  # a refusal that comes twice has lasted for a second
            )
            self.task = asyncio.ensure_future(self.heartbeats.run())
            self.lifecycle.ready_to_unfence()
            while self.lifecycle.state is not BrokerState.RUNNING:
                await self.some_steps(1)
            yield
            self.task.cancel()

    async def some_steps(self, count: int) -> None:
        until = self.steps + count
        while self.steps < until:
            self.stepped.clear()
            await self.stepped.wait()


async def test_heartbeats_stop_while_the_metadata_does_not_arrive() -> None:
    broker = Broker()
    async with broker.running():
        broker.follows = False
        await broker.some_steps(1)  # one may have been in flight
        before = broker.controller.beats
        await broker.some_steps(4)
        assert broker.controller.beats == before
        broker.follows = True
        await broker.some_steps(6)
        assert broker.controller.beats > before


async def test_controlled_shutdown_is_asked_for_even_so() -> None:
    broker = Broker(follows=True)
    async with broker.running():
        broker.follows = False
        broker.lifecycle.begin_shutdown(monotonic_ms())
        broker.heartbeats.wake()
        await broker.task
        assert broker.lifecycle.is_shutdown_granted


@pytest.mark.parametrize(
    ("code", "text"),
    [
        (ErrorCode.STALE_BROKER_EPOCH, "the controllers no longer know this registration"),
        (ErrorCode.INVALID_REQUEST, "the active controller answers INVALID_REQUEST"),
        (9_999, "the active controller answers error 9999"),
    ],
)
async def test_refused_heartbeats_are_said(code: int, text: str, caplog: pytest.LogCaptureFixture) -> None:
    broker = Broker()
    async with broker.running():
        broker.controller.code = code
        while text not in caplog.text:
            await broker.some_steps(1)
    assert not broker.failures
