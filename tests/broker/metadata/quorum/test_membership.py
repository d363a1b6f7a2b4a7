"""A wait for the controllers ends at a signal and at a failure, even if a request hangs."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from odradek.broker.config.server_config import ServerConfig
from odradek.broker.metadata.image.image import Endpoint
from odradek.broker.metadata.publisher.followed import FollowedMetadata
from odradek.broker.metadata.quorum.lifecycle import Registrant
from odradek.broker.metadata.quorum.membership import ClusterMembership, LeftError, NotJoinedError
from odradek.storage.directory.log_directory import LogDirectory
from support.brokers.fake_node import FakeNode
from support.brokers.metadata_service import NOW_MS


@asynccontextmanager
async def waiting(path: Path) -> AsyncIterator[ClusterMembership]:
    """A membership whose controller answers no request. The first request hangs."""
    directory = LogDirectory.open(path)
    hanging = asyncio.Event()
    async with FakeNode(lambda _: hanging.set()) as node:
        overrides = [
            "node.id=71",
            "process.roles=broker",
            "controller.listener.names=CONTROLLER",
            f"controller.quorum.voters=1@127.0.0.1:{node.port}",
        ]
        config = ServerConfig.load(None, overrides, {})
        directory.format("c" * 22, 71, b"follower id 1234")
        metadata = FollowedMetadata.open(directory, config, NOW_MS)
        registrant = Registrant(71, "c" * 22, bytes(16), [Endpoint("PLAINTEXT", "h", 1)], {}, None, [bytes(16)], -1)
        membership = ClusterMembership(metadata, config, registrant, clock_ms=lambda: NOW_MS, ended=lambda _: None)
        membership.start()
        await hanging.wait()
        try:
            yield membership
        finally:
            await membership.close()
            directory.abort()


async def test_signal_ends_each_wait(tmp_path: Path) -> None:
    async with waiting(tmp_path) as membership:
        for wait in (membership.joined(), membership.unfenced(), membership.reached(asyncio.Event())):
            task = asyncio.ensure_future(wait)
            await asyncio.sleep(0)
            membership.stop_waiting()
            with pytest.raises(LeftError):
                await task
            membership._is_stopping = False


async def test_event_that_is_set_ends_the_wait_for_it(tmp_path: Path) -> None:
    async with waiting(tmp_path) as membership:
        event = asyncio.Event()
        task = asyncio.ensure_future(membership.reached(event))
        await asyncio.sleep(0)
        event.set()
        await task


async def test_task_that_fails_ends_the_start(tmp_path: Path) -> None:
    async def fails() -> None:
        raise ValueError("a bug")

    async with waiting(tmp_path) as membership:
        joining = asyncio.ensure_future(membership.joined())
        asyncio.ensure_future(fails()).add_done_callback(membership.task_ended)
        with pytest.raises(NotJoinedError, match="a bug"):
            await joining


async def test_broker_that_never_registered_leaves_without_the_controllers(tmp_path: Path) -> None:
    async with waiting(tmp_path) as membership:
        with pytest.raises(NotJoinedError, match="have not granted the controlled shutdown"):
            await membership.leave()
