"""A TCP proxy between two processes, which breaks their connections in the ways that networks do.

    with TcpProxy(port) as proxy:
        connect to 127.0.0.1:proxy.port
        proxy.hang()

One proxy is for one port. It runs in its own thread; its methods return once the fault is in effect. A proxy that can
identify the source of a connection has a line for each source, which can be broken alone: ``proxy.line(2).hang()``.
"""

import asyncio
import contextlib
import math
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from enum import Enum
from functools import partial
from types import TracebackType
from typing import Protocol, Self

READ_BYTES = 64 << 10


class Direction(Enum):
    """The direction of bytes."""

    TO_SERVER = "to the server"
    TO_CLIENT = "to the client"


BOTH = frozenset(Direction)


class Watch(Protocol):
    """Sees the bytes of one connection."""

    def to_server(self, data: bytes) -> None:
        """Bytes that the client has sent."""

    def to_client(self, data: bytes) -> None:
        """Bytes that are passed on to the client."""

    def close(self) -> None:
        """The connection has ended."""


@dataclass(eq=False)
class Link:
    """One connection: the streams to its two ends."""

    client: asyncio.StreamWriter
    server: asyncio.StreamWriter
    swallowed: frozenset[Direction] = frozenset()
    """The directions whose bytes are read and dropped until the connection ends."""
    watch: Watch | None = None
    due_s: dict[Direction, float] = field(default_factory=lambda: dict.fromkeys(BOTH, 0.0))
    """The time at which the last delayed bytes are passed on, by the loop's clock."""

    def target(self, direction: Direction) -> asyncio.StreamWriter:
        """The end that the bytes of a direction go to."""
        return self.server if direction is Direction.TO_SERVER else self.client

    def abort(self) -> None:
        """Resets both ends."""
        for writer in (self.client, self.server):
            writer.transport.abort()


class TcpLine:
    """The connections from one source to a server, and their faults."""

    def __init__(self, loop: asyncio.AbstractEventLoop, watch: Callable[[], Watch] | None = None) -> None:
        """``loop``: the event loop of the proxy. ``watch`` makes what sees the bytes of a new connection."""
        self._watch = watch
        self.accepted = 0
        """The number of connections that were accepted so far."""
        self.links: set[Link] = set()
        self.swallowed: frozenset[Direction] = frozenset()
        self.refuses = False
        self.delay_s = 0.0
        self._loop = loop

    def cut(self, *, refuse: bool = False) -> None:
        """Resets all connections. ``refuse``: resets new ones too, until :meth:`heal`."""

        def reset() -> None:
            self.refuses = refuse
            for link in list(self.links):
                link.abort()

        self._in_loop(reset)

    def hang(self, directions: frozenset[Direction] = BOTH) -> None:
        """Makes the current connections lose all bytes and stay open. New connections work."""

        def swallow() -> None:
            for link in self.links:
                link.swallowed |= directions

        self._in_loop(swallow)

    def swallow(self, directions: frozenset[Direction] = BOTH) -> None:
        """Makes all connections, also new ones, lose all bytes until :meth:`heal`."""
        self._in_loop(lambda: setattr(self, "swallowed", directions))

    def delay(self, seconds: float) -> None:
        """Delays the bytes of each direction by this time, in order."""
        self._in_loop(lambda: setattr(self, "delay_s", seconds))

    def heal(self) -> None:
        """Ends all faults. Connections that lost bytes are reset, because their ends would wait for ever."""

        def repair() -> None:
            lossy = [link for link in self.links if link.swallowed | self.swallowed]
            self.refuses, self.swallowed, self.delay_s = False, frozenset(), 0.0
            for link in lossy:
                link.abort()

        self._in_loop(repair)

    def _in_loop(self, change: Callable[[], None]) -> None:
        async def run() -> None:
            change()

        asyncio.run_coroutine_threadsafe(run(), self._loop).result()

    async def serve(self, from_client: asyncio.StreamReader, client: asyncio.StreamWriter, server_port: int) -> None:
        """Passes on the bytes of one connection until an end closes it."""
        link = None
        if not self.refuses:
            with contextlib.suppress(OSError):
                from_server, server = await asyncio.open_connection("127.0.0.1", server_port)
                link = Link(client, server, watch=None if self._watch is None else self._watch())
                self.links.add(link)
        self.accepted += 1  # only now: who sees it may break the connection
        if link is None:
            client.transport.abort()
            return
        try:
            await asyncio.gather(
                self._pump(link, from_client, Direction.TO_SERVER), self._pump(link, from_server, Direction.TO_CLIENT)
            )
        except OSError:
            pass  # one end has reset the connection, the other one is reset below
        finally:
            self.links.discard(link)
            link.abort()
            if link.watch is not None:
                link.watch.close()

    async def _pump(self, link: Link, source: asyncio.StreamReader, direction: Direction) -> None:
        target = link.target(direction)
        while data := await source.read(READ_BYTES):
            if link.watch is not None and direction is Direction.TO_SERVER:
                link.watch.to_server(data)
            if direction in link.swallowed | self.swallowed:
                continue
            if link.watch is not None and direction is Direction.TO_CLIENT:
                link.watch.to_client(data)
            now_s = self._loop.time()
            if self.delay_s or link.due_s[direction] > now_s:
                self._later(link, direction, partial(target.write, data))
            else:
                target.write(data)
                await target.drain()
        if direction not in link.swallowed | self.swallowed and target.can_write_eof():
            self._later(link, direction, target.write_eof)

    def _later(self, link: Link, direction: Direction, act: Callable[[], None]) -> None:
        """Calls ``act`` after the delay, and after earlier delayed calls."""
        due_s = max(self._loop.time() + self.delay_s, math.nextafter(link.due_s[direction], math.inf))
        link.due_s[direction] = due_s

        def unless_closed() -> None:
            if link in self.links:
                with contextlib.suppress(OSError):  # the other end has reset it, and its pump has not seen that yet
                    act()

        self._loop.call_at(due_s, unless_closed)


class TcpProxy(TcpLine):
    """A proxy before a port of 127.0.0.1. Its own port is :attr:`port`. It is also the line of all sources without a
    line of their own."""

    def __init__(
        self,
        server_port: int,
        source_of: Callable[[int, int], int] | None = None,
        watch: Callable[[], Watch] | None = None,
    ) -> None:
        """``server_port``: where the server listens, now or later. ``source_of``: the source port of a connection and
        the proxy's port -> the source. It is called in the proxy's thread, while the connection is open. ``watch``: as
        for :class:`TcpLine`."""
        super().__init__(asyncio.new_event_loop(), watch)
        self.port = 0
        self._server_port = server_port
        self._source_of = source_of
        self._lines: dict[int, TcpLine] = {}
        self._thread = threading.Thread(target=self._loop.run_forever, name=f"proxy of {server_port}", daemon=True)

    def line(self, source: int) -> TcpLine:
        """The connections from one source, from now on."""
        return self._lines.setdefault(source, TcpLine(self._loop))

    def named_lines(self) -> Iterator[tuple[int, TcpLine]]:
        """The lines that were named, with their sources."""
        yield from self._lines.items()

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

    async def _listen(self) -> int:
        self._listener = await asyncio.start_server(self._accept, "127.0.0.1", 0)
        port: int = self._listener.sockets[0].getsockname()[1]
        return port

    async def _close(self) -> None:
        self._listener.close()
        for line in (self, *self._lines.values()):
            for link in list(line.links):
                link.abort()
        others = asyncio.all_tasks(self._loop) - {asyncio.current_task(self._loop)}
        for task in others:
            task.cancel()
        await asyncio.gather(*others, return_exceptions=True)

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        line: TcpLine = self
        if self._source_of is not None:
            source = self._source_of(writer.get_extra_info("peername")[1], self.port)
            line = self._lines.get(source, self)
        await line.serve(reader, writer, self._server_port)
