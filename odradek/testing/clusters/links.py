"""Network partitions between brokers of one process, and between them and their controller.

Every broker of this process has its own event loop, and opens all its connections to other nodes through it. Owns:
which pairs of nodes are cut. Never does: touching connections of clients, which use other loops. Invariant: after
:meth:`Links.cut`, no connection between the two nodes can be opened in either direction; :meth:`NodeLoop.drop_cut`
closes the open ones. A paused node closes its connections when it continues.
"""

import asyncio
import threading
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

from odradek.broker.server.commands import loop_factory

if TYPE_CHECKING:
    BaseLoop = asyncio.SelectorEventLoop
else:
    BaseLoop = loop_factory() or asyncio.SelectorEventLoop

NodeId = int
Pair = frozenset[NodeId]


class Links:
    """Which nodes of a cluster can't reach each other."""

    def __init__(self, node_at: Callable[[int], NodeId | None]) -> None:
        """``node_at`` returns the node that listens on a port now."""
        self._node_at = node_at
        self._cut: frozenset[Pair] = frozenset()

    def cut(self, one: Iterable[NodeId], other: Iterable[NodeId]) -> None:
        """Cuts each node of ``one`` off from each of ``other``. The caller must then have the loops close connections
        that are open (:meth:`NodeLoop.drop_cut`).
        """
        others = set(other)
        self._cut |= {frozenset({left, right}) for left in one for right in others if left != right}

    def heal(self) -> None:
        """Connects all nodes again."""
        self._cut = frozenset()

    def is_cut(self, node_id: NodeId, port: int) -> bool:
        """Whether a node is cut off from the node that listens on ``port``."""
        if not self._cut:
            return False
        other = self._node_at(port)
        return other is not None and frozenset({node_id, other}) in self._cut

    def are_cut(self, one: NodeId, other: NodeId) -> bool:
        """Whether two nodes are cut off from each other."""
        return frozenset({one, other}) in self._cut


class NodeLoop(BaseLoop):
    """The event loop of one broker. It opens no connection to a node that is cut off."""

    def __init__(self, links: Links, node_id: NodeId) -> None:
        super().__init__()
        self._links = links
        self._node_id = node_id
        self._opened: dict[asyncio.BaseTransport, int] = {}
        """Open connection -> the remote port."""

    async def create_connection(  # type: ignore[override]
        self, protocol_factory: Callable[[], Any], host: str, port: int, **options: Any
    ) -> tuple[asyncio.BaseTransport, Any]:
        """Opens a connection. Raises ConnectionRefusedError for a node that is cut off, OSError."""
        self._refuse_cut(port)
        transport, protocol = await super().create_connection(protocol_factory, host, port, **options)
        try:
            self._refuse_cut(port)
        except ConnectionRefusedError:
            transport.abort()
            raise
        self._opened = {opened: where for opened, where in self._opened.items() if not opened.is_closing()}
        self._opened[transport] = port
        return transport, protocol

    def _refuse_cut(self, port: int) -> None:
        if self._links.is_cut(self._node_id, port):
            raise ConnectionRefusedError(f"the network between this node and port {port} is cut")

    def drop_cut(self, done: threading.Event) -> None:
        """Closes the connections to nodes that are cut off, then sets ``done``. Must be called in this loop."""
        for transport, port in list(self._opened.items()):
            if self._links.is_cut(self._node_id, port):
                del self._opened[transport]
                transport.abort()  # type: ignore[attr-defined]
        done.set()
