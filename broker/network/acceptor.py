"""Accepts connections on all listeners, up to the limits of connections and descriptors.

Owns: the order of the listening sockets, and whether accepting is paused. Never does: serving. Invariants: at a limit,
new connections wait in the system's backlog, as in Kafka at ``max.connections``; open connections continue, and a
reserve of descriptors stays for files. (The event loop's own servers accept until no descriptor is left, and then close
waiting connections.) Source: ``SocketServer.Acceptor``, ``ConnectionQuotas.waitForConnectionSlot``.
"""

import asyncio
import errno
import logging
import os
import socket
from collections.abc import Callable, Sequence
from functools import partial

from .connections import Connections
from .descriptor_limit import DescriptorShares

logger = logging.getLogger(__name__)

ACCEPTED_A_TURN = 16
"""The number of connections accepted before other work gets a turn: about 2 ms of work."""
RETRY_S = 0.2
"""The interval of checks for room while accepting is paused. A closed connection triggers a check at once."""
MAX_THROTTLED = 1_000
"""The number of connections that are held because their addresses connect too often. Others are closed at once."""
EXHAUSTED = (errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM)
"""Errors of a system that can't open another connection."""

ConnectionFactory = Callable[[], asyncio.BaseProtocol]


class Acceptor:
    """Accepts until it is closed."""

    def __init__(
        self,
        loop: asyncio.AbstractEventLoop,
        listeners: Sequence[tuple[socket.socket, ConnectionFactory]],
        connections: Connections,
        shares: DescriptorShares,
    ) -> None:
        """``listeners``: bound sockets, each with the factory of its connections."""
        self._loop = loop
        self._listeners = listeners
        self._connections = connections
        self._shares = shares
        self._highest_descriptor = shares.limit - shares.reserve
        self._throttled: set[socket.socket] = set()
        """Connections of addresses that connect too often: they are closed unserved, within one quota window."""
        self._opening: dict[asyncio.Task[object], socket.socket] = {}
        self._held: tuple[socket.socket, ConnectionFactory] | None = None
        """A connection that was accepted when too few descriptors were left. It is served later, when enough are
        free.
        """
        self._is_accepting = False
        self._is_closed = False
        self._retry_timer: asyncio.TimerHandle | None = None

    def start(self) -> None:
        """Starts to accept."""
        self._connections.quotas.on_room = self._resume
        self._accept_again()

    def close(self) -> None:
        """Stops accepting, and closes the listening sockets."""
        if self._is_closed:
            return
        self._is_closed = True
        self._stop_accepting()
        if self._retry_timer is not None:
            self._retry_timer.cancel()
        if self._held is not None:
            self._held[0].close()
        for accepted in self._throttled:
            accepted.close()
        for task, accepted in self._opening.items():
            task.cancel()
            accepted.close()  # a task that has not begun will not
        for one, _ in self._listeners:
            one.close()

    def _accept_again(self) -> None:
        self._is_accepting = True
        for one, factory in self._listeners:
            self._loop.add_reader(one.fileno(), partial(self._accept, one, factory))

    def _stop_accepting(self) -> None:
        if self._is_accepting:
            self._is_accepting = False
            for one, _ in self._listeners:
                self._loop.remove_reader(one.fileno())

    def _accept(self, listener: socket.socket, factory: ConnectionFactory) -> None:
        """Accepts the waiting connections of one listener, as far as there is room."""
        for _ in range(ACCEPTED_A_TURN):
            if not self._is_accepting:
                return
            if self._is_full():
                by_key = self._connections.quotas.max_connections < self._shares.connections
                self._pause("max.connections allows no more" if by_key else "the limit of open files allows no more")
                return
            try:
                accepted, address = listener.accept()
            except (BlockingIOError, InterruptedError):
                return
            except OSError as error:
                if error.errno in EXHAUSTED:
                    self._pause(str(error))
                    return
                continue  # the client has disconnected (ECONNABORTED), or its network has failed: see accept(2)
            accepted.setblocking(False)
            if accepted.fileno() >= self._highest_descriptor:
                # The system assigns the lowest free number, so nearly all are in use. Files need the rest.
                self._held = accepted, factory
                self._pause("the limit of open files is near")
                return
            delay_ms = self._connections.quotas.delay_ms
            if delay_ms is not None and (too_soon_ms := delay_ms(address[0])):
                self._close_later(accepted, too_soon_ms)
                continue
            self._open(accepted, factory)

    def _close_later(self, accepted: socket.socket, delay_ms: int) -> None:
        """Holds a connection of an address that connects too often, so that its client does not try again at once."""
        if len(self._throttled) >= MAX_THROTTLED:
            accepted.close()
            return
        self._throttled.add(accepted)
        self._loop.call_later(delay_ms / 1000, self._close_throttled, accepted)

    def _close_throttled(self, accepted: socket.socket) -> None:
        self._throttled.discard(accepted)
        accepted.close()

    def _is_full(self) -> bool:
        most = min(self._connections.quotas.max_connections, self._shares.connections)
        return len(self._connections) + len(self._opening) >= most

    def _open(self, accepted: socket.socket, factory: ConnectionFactory) -> None:
        task = self._loop.create_task(self._connect(accepted, factory))
        self._opening[task] = accepted
        task.add_done_callback(self._opened)

    async def _connect(self, accepted: socket.socket, factory: ConnectionFactory) -> object:
        try:
            return await self._loop.connect_accepted_socket(factory, accepted)
        except OSError as error:
            accepted.close()
            logger.debug("a client disconnected before it was served: %s", error)
            return None

    def _opened(self, task: "asyncio.Task[object]") -> None:
        self._opening.pop(task, None)
        if not task.cancelled():
            task.result()

    def _pause(self, why: str) -> None:
        self._stop_accepting()
        logger.warning("%d connections are open, and %s: others wait until one is closed", len(self._connections), why)
        self._retry_later()

    def _retry_later(self) -> None:
        if self._retry_timer is None:
            self._retry_timer = self._loop.call_later(RETRY_S, self._retry)

    def _retry(self) -> None:
        self._retry_timer = None
        self._resume()

    def _resume(self) -> None:
        """Accepts again if there is room. May be called at any time."""
        if self._is_accepting or self._is_closed:
            return
        if self._is_full() or not self._has_descriptors():
            self._retry_later()
            return
        held, self._held = self._held, None
        if held is not None:
            self._open(*held)
        self._accept_again()

    def _has_descriptors(self) -> bool:
        """Whether there are more free descriptors than the reserve."""
        try:
            probe = os.dup(self._listeners[0][0].fileno())
        except OSError:
            return False
        os.close(probe)
        return probe < self._highest_descriptor
