"""A node's event loop opens no connection to a node that is cut off, and drops those that are open."""

import asyncio
import threading
from collections.abc import Callable, Coroutine
from typing import Any

import pytest

from odradek.broker.network.node_client import NodeClient, NodeUnavailableError
from odradek.protocol.messages.quorum import BrokerHeartbeatRequest, BrokerHeartbeatResponse
from odradek.testing.clusters.links import Links, NodeLoop
from support.brokers.fake_node import FakeNode

HERE, THERE = 1, 2
TIMEOUT_S = 60.0


class Side:
    """Node 1 with its event loop, and the ports of the other nodes."""

    def __init__(self) -> None:
        self.ports: dict[int, int] = {}
        self.links = Links(self.ports.get)

    def run(self, test: Callable[[], Coroutine[Any, Any, None]]) -> None:
        with asyncio.Runner(loop_factory=lambda: NodeLoop(self.links, HERE)) as runner:
            runner.run(test())

    async def drop(self) -> None:
        """Makes the loop close the connections to nodes that are cut off, as the cluster does, and waits for that."""
        loop = asyncio.get_running_loop()
        assert isinstance(loop, NodeLoop)
        dropped = threading.Event()
        loop.drop_cut(dropped)
        assert dropped.is_set()
        for _ in range(3):
            await asyncio.sleep(0)


async def beat(client: NodeClient) -> None:
    await client.send(BrokerHeartbeatRequest(), BrokerHeartbeatResponse, TIMEOUT_S)


def test_cut_drops_what_is_open_and_refuses_what_is_new_until_it_heals() -> None:
    side = Side()

    async def test() -> None:
        async with FakeNode(lambda _: BrokerHeartbeatResponse()) as node:
            side.ports[node.port] = THERE
            client = NodeClient("127.0.0.1", node.port, "test")
            await beat(client)
            side.links.cut([HERE], [THERE, HERE])
            await side.drop()
            for _ in range(2):
                with pytest.raises(NodeUnavailableError, match="is cut"):
                    await beat(client)
            side.links.heal()
            await beat(client)
            assert node.connections == 2
            client.close()

    side.run(test)


def test_connection_that_was_reset_is_opened_again() -> None:
    """A write to a closed transport of uvloop raises RuntimeError, which used to end the broker."""
    side = Side()

    async def test() -> None:
        async with FakeNode(lambda _: BrokerHeartbeatResponse()) as node:
            side.ports[node.port] = THERE
            client = NodeClient("127.0.0.1", node.port, "test")
            await beat(client)
            side.links.cut([HERE], [THERE])
            await side.drop()
            side.links.heal()
            await beat(client)
            await client.connect(TIMEOUT_S)
            assert node.connections == 2
            client.close()

    side.run(test)


def test_other_nodes_are_reached() -> None:
    side = Side()

    async def test() -> None:
        async with FakeNode(lambda _: BrokerHeartbeatResponse()) as node:
            side.ports[node.port] = 3
            client = NodeClient("127.0.0.1", node.port, "test")
            side.links.cut([HERE], [THERE])
            await beat(client)
            await side.drop()
            await beat(client)
            assert node.connections == 1
            assert side.links.are_cut(THERE, HERE)
            client.close()

    side.run(test)
