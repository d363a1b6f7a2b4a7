"""A TCP proxy between two processes, which breaks their connections in the ways that networks do.

    with TcpProxy(port) as proxy:
        connect to 127.0.0.1:proxy.port
        proxy.hang()

One proxy stands before one port. It runs in a thread of its own; its methods return once the fault is there.
"""

import asyncio
import math
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from enum import Enum
from functools import partial
from types import TracebackType
from typing import Self

READ_BYTES = 64 << 10


class Direction(Enum):
    """Which way bytes go."""

    TO_SERVER = "to the server"
    TO_CLIENT = "to the client"


BOTH = frozenset(Direction)


@dataclass(eq=False)
class Link:
    """One connection: the streams to its two ends."""

    client: asyncio.StreamWriter
    server: asyncio.StreamWriter
    swallowed: frozenset[Direction] = frozenset()
    """The directions whose bytes are read and dropped for as long as the connection lives."""
    due_s: dict[Direction, float] = field(default_factory=lambda: dict.fromkeys(BOTH, 0.0))
    """When the last delayed bytes are passed on, by the loop's clock."""

    def target(self, direction: Direction) -> asyncio.StreamWriter:
        """The end that the bytes of a direction go to."""
        return self.server if direction is Direction.TO_SERVER else self.client

    def abort(self) -> None:
        """Resets both ends."""
        for writer in (self.client, self.server):
            writer.transport.abort()


class TcpProxy:
    """A proxy before a port of 127.0.0.1. Its own port is :attr:`port`."""

    def __init__(self, server_port: int) -> None:
        """``server_port``: where the server listens, now or later."""
        self.port = 0
        self.accepted = 0
        """Connections that were accepted so far."""
        self._server_port = server_port
        self._links: set[Link] = set()
        self._swallowed: frozenset[Direction] = frozenset()
        self._refuses = False
        self._delay_s = 0.0
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name=f"proxy of {server_port}", daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        self.port = asyncio.run_coroutine_threadsafe(self._listen(), self._loop).result()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        asyncio.run_coroutine_threadsafe(self._close(), self._loop).result()
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    def cut(self, *, refuse: bool = False) -> None:
        """Resets all connections. ``refuse``: resets new ones too, until :meth:`heal`."""

        def reset() -> None:
            self._refuses = refuse
            for link in list(self._links):
                link.abort()

        self._in_loop(reset)

    def hang(self, directions: frozenset[Direction] = BOTH) -> None:
        """The connections that are open now stay open and lose all bytes. New connections work."""

        def swallow() -> None:
            for link in self._links:
                link.swallowed |= directions

        self._in_loop(swallow)

    def swallow(self, directions: frozenset[Direction] = BOTH) -> None:
        """All connections, and those to come, lose all bytes until :meth:`heal`."""
        self._in_loop(lambda: setattr(self, "_swallowed", directions))

    def delay(self, seconds: float) -> None:
        """Bytes of each direction arrive later by this, in their order."""
        self._in_loop(lambda: setattr(self, "_delay_s", seconds))

    def heal(self) -> None:
        """New connections work, and bytes pass at once. Connections that lost bytes are reset, as their ends wait for
        what never comes."""

        def repair() -> None:
            lossy = [link for link in self._links if link.swallowed | self._swallowed]
            self._refuses, self._swallowed, self._delay_s = False, frozenset(), 0.0
            for link in lossy:
                link.abort()

        self._in_loop(repair)

    def _in_loop(self, change: Callable[[], None]) -> None:
        async def run() -> None:
            change()

        asyncio.run_coroutine_threadsafe(run(), self._loop).result()

    async def _listen(self) -> int:
        self._listener = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        port: int = self._listener.sockets[0].getsockname()[1]
        return port

    async def _close(self) -> None:
        self._listener.close()
        for link in list(self._links):
            link.abort()
        others = asyncio.all_tasks(self._loop) - {asyncio.current_task(self._loop)}
        for task in others:
            task.cancel()
        await asyncio.gather(*others, return_exceptions=True)

    async def _serve(self, from_client: asyncio.StreamReader, client: asyncio.StreamWriter) -> None:
        self.accepted += 1
        if self._refuses:
            client.transport.abort()
            return
        try:
            from_server, server = await asyncio.open_connection("127.0.0.1", self._server_port)
        except OSError:
            client.transport.abort()
            return
        link = Link(client, server)
        self._links.add(link)
        try:
            await asyncio.gather(
                self._pump(link, from_client, Direction.TO_SERVER), self._pump(link, from_server, Direction.TO_CLIENT)
            )
        except OSError:
            pass  # one end has reset the connection, the other one is reset below
        finally:
            self._links.discard(link)
            link.abort()

    async def _pump(self, link: Link, source: asyncio.StreamReader, direction: Direction) -> None:
        target = link.target(direction)
        while data := await source.read(READ_BYTES):
            if direction in link.swallowed | self._swallowed:
                continue
            now_s = self._loop.time()
            if self._delay_s or link.due_s[direction] > now_s:
                self._later(link, direction, partial(target.write, data))
            else:
                target.write(data)
                await target.drain()
        if direction not in link.swallowed | self._swallowed and target.can_write_eof():
            self._later(link, direction, target.write_eof)

    def _later(self, link: Link, direction: Direction, act: Callable[[], None]) -> None:
        """Calls ``act`` after the delay, and after what was delayed before it."""
        due_s = max(self._loop.time() + self._delay_s, math.nextafter(link.due_s[direction], math.inf))
        link.due_s[direction] = due_s

        def unless_closed() -> None:
            if link in self._links:
                act()

        self._loop.call_at(due_s, unless_closed)
