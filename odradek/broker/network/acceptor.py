"""Accepts connections on all listeners, up to the limits of connections and descriptors.

Owns: the listening sockets, and whether accepting is paused. Never does: serving. Invariants: at a limit, new
connections wait in the system's backlog, as in Kafka at ``max.connections``, of one listener or of all; open
connections continue, and a reserve of descriptors stays for files. (The event loop's own servers accept until no
descriptor is left, and then close waiting connections.) Source: ``SocketServer.Acceptor``,
``ConnectionQuotas.waitForConnectionSlot``.
"""

import asyncio
import errno
import logging
import os
import socket
from collections import Counter
from collections.abc import Callable, Sequence
from enum import Enum

from ..timers.work import KindOfWork
from .connections import Connections
from .descriptor_limit import DescriptorShares

logger = logging.getLogger(__name__)

ACCEPTOR = KindOfWork("acceptor", "accepts connections")

ACCEPTED_A_TURN = 16
"""The number of connections accepted before other work gets a turn: about 2 ms of work."""
RETRY_S = 0.2
"""The interval of checks for room while accepting is paused. A closed connection triggers a check at once."""
MAX_THROTTLED = 1_000
"""The number of connections that are held because their addresses connect too often. Others are closed at once."""
EXHAUSTED = (errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM)
"""Errors of a system that can't open another connection."""

ConnectionFactory = Callable[[], asyncio.BaseProtocol]


class Listening:
    """One listening socket."""

    __slots__ = ("factory", "held", "name", "paused", "socket")

    def __init__(self, name: str, bound: socket.socket, factory: ConnectionFactory) -> None:
        """``name``: of the listener."""
        self.name = name
        self.socket = bound
        self.factory = factory
        self.held: tuple[socket.socket, str] | None = None
        """An accepted connection that waits because of the rate limit, with its address; None without one."""
        self.paused: Paused | None = None
        """Why this listener accepts nothing; None if it accepts."""


class Paused(Enum):
    """Why a listener accepts nothing while the others do."""

    FULL = 1
    RATE = 2


class Acceptor:
    """Accepts connections until it is closed."""

    def __init__(
        self,
        loop: asyncio.AbstractEventLoop,
        listeners: Sequence[Listening],
        connections: Connections,
        shares: DescriptorShares,
        now_ms: Callable[[], int],
    ) -> None:
        """``listeners``: bound sockets, each with the factory of its connections. ``now_ms``: a monotonic clock."""
        self._loop = loop
        self._listeners = listeners
        self._connections = connections
        self._shares = shares
        self._now_ms = now_ms
        self._highest_descriptor = shares.limit - shares.reserve
        self._throttled: set[socket.socket] = set()
        """Connections of addresses that connect too often: they are closed unserved, within one quota window."""
        self._opening: dict[asyncio.Task[object], tuple[socket.socket, str]] = {}
        self._opening_by_listener: Counter[str] = Counter()
        self._held: tuple[socket.socket, Listening] | None = None
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
        for task, (accepted, _) in self._opening.items():
            task.cancel()
            accepted.close()  # a task that has not begun does not close it
        for listener in self._listeners:
            if listener.held is not None:
                listener.held[0].close()
            listener.socket.close()

    def _accept_again(self) -> None:
        self._is_accepting = True
        for listener in self._listeners:
            if listener.paused is None:
                ACCEPTOR.when_readable(listener.socket.fileno(), self._accept, listener)

    def _stop_accepting(self) -> None:
        if self._is_accepting:
            self._is_accepting = False
            for listener in self._listeners:
                if listener.paused is None:
                    self._loop.remove_reader(listener.socket.fileno())

    def _accept(self, one: Listening) -> None:
        """Accepts the waiting connections of one listener, as far as there is room."""
        for _ in range(ACCEPTED_A_TURN):
            if not self._is_accepting or one.paused is not None:
                return
            if len(self._connections) + len(self._opening) >= self._shares.connections:
                self._pause("the limit of open files (ulimit -n) allows no more")
                return
            if (key := self._full_key(one)) is not None:
                self._log_pause(f"{key} allows no more")
                self._pause_one(one, Paused.FULL)
                return
            try:
                accepted, address = one.socket.accept()
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
                self._held = accepted, one
                self._pause("the limit of open files (ulimit -n) is near")
                return
            quotas = self._connections.quotas
            if quotas.rates is not None and (wait_ms := quotas.creation_delay_ms(one.name, self._now_ms())):
                # As in Kafka, the listener accepts nothing meanwhile; then the connection is served.
                one.held = accepted, address[0]
                self._pause_one(one, Paused.RATE)
                ACCEPTOR.later(wait_ms / 1000, self._end_wait, one)
                return
            self._admit(one, accepted, address[0])

    def _full_key(self, one: Listening) -> str | None:
        return self._connections.quotas.full_key(one.name, self._opening_by_listener)

    def _admit(self, one: Listening, accepted: socket.socket, host: str) -> None:
        """Serves a connection, unless its address connects too often."""
        delay_ms = self._connections.quotas.delay_ms
        if delay_ms is not None and (too_soon_ms := delay_ms(host)):
            self._connections.quotas.refused(one.name, too_soon_ms, self._now_ms())
            self._close_later(accepted, too_soon_ms)
        else:
            self._open(one, accepted)

    def _end_wait(self, one: Listening) -> None:
        """Accepts on a listener again: its rate is within the limit now."""
        if not self._is_closed:
            one.paused = Paused.FULL
            self._resume_one(one)

    def _pause_one(self, one: Listening, why: Paused) -> None:
        one.paused = why
        self._loop.remove_reader(one.socket.fileno())

    def _resume_one(self, one: Listening) -> None:
        """Accepts on a listener again that had no room, if there is room now."""
        if one.paused is not Paused.FULL or self._full_key(one) is not None:
            return
        one.paused = None
        held, one.held = one.held, None
        if held is not None:
            self._admit(one, *held)
        if self._is_accepting:
            ACCEPTOR.when_readable(one.socket.fileno(), self._accept, one)

    def _close_later(self, accepted: socket.socket, delay_ms: int) -> None:
        """Holds a connection of an address that connects too often, so that its client does not try again at once."""
        if len(self._throttled) >= MAX_THROTTLED:
            accepted.close()
            return
        self._throttled.add(accepted)
        ACCEPTOR.later(delay_ms / 1000, self._close_throttled, accepted)

    def _close_throttled(self, accepted: socket.socket) -> None:
        self._throttled.discard(accepted)
        accepted.close()

    def _open(self, one: Listening, accepted: socket.socket) -> None:
        task = ACCEPTOR.awaited(self._connect(accepted, one.factory))
        self._opening[task] = accepted, one.name
        self._opening_by_listener[one.name] += 1
        ACCEPTOR.when_done(task, self._opened)

    async def _connect(self, accepted: socket.socket, factory: ConnectionFactory) -> object:
        try:
            return await self._loop.connect_accepted_socket(factory, accepted)
        except OSError as error:
            accepted.close()
            logger.debug("a client disconnected before its connection was set up: %s", error)
            return None

    def _opened(self, task: "asyncio.Task[object]") -> None:
        opened = self._opening.pop(task, None)
        if opened is not None:
            self._opening_by_listener[opened[1]] -= 1
        if not self._is_closed:
            self._resume_full()  # the connection may not have been admitted
            self._connections.close_excess()
        if not task.cancelled():
            task.result()

    def _resume_full(self) -> None:
        for listener in self._listeners:
            if listener.paused is Paused.FULL:
                self._resume_one(listener)

    def _pause(self, why: str) -> None:
        self._stop_accepting()
        self._log_pause(why)
        self._retry_later()

    def _log_pause(self, why: str) -> None:
        count = len(self._connections) + len(self._opening)
        logger.warning("%d connections are open, and %s: others wait until one is closed", count, why)

    def _retry_later(self) -> None:
        if self._retry_timer is None:
            self._retry_timer = ACCEPTOR.later(RETRY_S, self._retry)

    def _retry(self) -> None:
        self._retry_timer = None
        self._resume()

    def _resume(self) -> None:
        """Accepts again if there is room. May be called at any time."""
        if self._is_closed:
            return
        if not self._is_accepting:
            is_full = len(self._connections) + len(self._opening) >= self._shares.connections
            if is_full or not self._has_descriptors():
                self._retry_later()
                return
            held, self._held = self._held, None
            if held is not None:
                self._open(held[1], held[0])
            self._accept_again()
        self._resume_full()
        self._connections.close_excess()

    def _has_descriptors(self) -> bool:
        """Whether there are more free descriptors than the reserve."""
        try:
            probe = os.dup(self._listeners[0].socket.fileno())
        except OSError:
            return False
        os.close(probe)
        return probe < self._highest_descriptor
