"""One HTTP connection: reads requests, has them answered, sends the answers.

Owns: the exchange by h11, deadlines, the end of the connection. Never does: deciding what to answer. Invariants: a head
has at most ``HttpLimits.head_bytes`` and arrives in time; no body is kept before the handler asks for it; no more
pieces are made for a client that does not read; one that reads nothing for ``max_wait_s`` is cut off. Source: RFC 9112.
"""

import asyncio
import contextlib
import logging
from collections.abc import AsyncGenerator, Iterator
from time import perf_counter
from typing import NamedTuple, Protocol

import h11

from ..timers.work import KindOfWork
from .messages import BodyRefusedError, HttpRequest, HttpResponse, HttpService, reason_of


class HttpLimits(NamedTuple):
    """What one client, and all clients together, may use."""

    head_bytes: int = 8192
    """The most bytes of a request line with its headers."""
    max_wait_s: float = 10.0
    """The time for a request to arrive, for its body to arrive, and for a client to read something of its answer."""
    max_idle_s: float = 0.0
    """The time for which a connection is kept for the next request; 0 closes it after each answer."""
    max_requests: int = 100
    """The most connections that have not sent their request. Another one takes the place of the oldest."""
    turn_s: float = 0.0005
    """The time after which a turn makes no further piece of an answer. Most pieces take a tenth of it: with one in each
    turn, an answer would wait for a hundred turns, which takes a second if the broker is busy."""


logger = logging.getLogger(__name__)

HTTP = KindOfWork("http-connection", "answers requests of HTTP")
READ_BYTES = 16 * 1024
SKIPPED_BYTES = 4 << 20
"""The most bytes of a body that are skipped if nothing has read them. A connection that is closed with unread bytes is
reset, and its client would not see the answer."""


class AwaitedConnections(Protocol):
    """The connections of a server whose request is awaited."""

    def enter(self, writer: asyncio.StreamWriter) -> None:
        """Adds one. The oldest is closed if there are too many."""

    def leave(self, writer: asyncio.StreamWriter) -> None:
        """Removes one."""


class HttpConnection:
    """One accepted connection."""

    def __init__(
        self,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
        service: HttpService,
        limits: HttpLimits,
        turn: asyncio.Lock,
        waiting: AwaitedConnections,
    ) -> None:
        """``turn``: held by the answer that makes pieces in this turn of the event loop."""
        self._reader, self._writer = reader, writer
        self._service = service
        self._limits = limits
        self._turn = turn
        self._waiting = waiting
        self._announced_bytes = 0
        """The size of the request's body, if the request names it."""
        self._exchange = h11.Connection(h11.SERVER, max_incomplete_event_size=limits.head_bytes)

    async def serve(self) -> None:
        """Serves requests until the connection ends."""
        wait_s = self._limits.max_wait_s
        try:
            while await self._serve_one(wait_s):
                wait_s = self._limits.max_idle_s
        except (TimeoutError, ConnectionError):
            pass  # no request arrived, or the client has disconnected
        finally:
            self._writer.close()
            with contextlib.suppress(ConnectionError):
                await self._writer.wait_closed()

    async def _serve_one(self, wait_s: float) -> bool:
        """Answers one request. Returns whether another one may follow."""
        try:
            head = await self._head(wait_s)
            if head is None:
                return False
            await self._send(head, await self._answered(head))
            await self._skip_body()
        except h11.RemoteProtocolError as error:
            if self._exchange.our_state in (h11.IDLE, h11.SEND_RESPONSE):
                await self._send(None, self._service.refused(error.error_status_hint, f"{error}\n"))
            return False
        if not self._limits.max_idle_s or self._exchange.our_state is not h11.DONE:
            return False
        if self._exchange.their_state is not h11.DONE:
            return False
        self._exchange.start_next_cycle()
        return True

    # Requests

    async def _head(self, wait_s: float) -> h11.Request | None:
        """The next request; None if the client has closed its side."""
        with self._awaited():
            async with asyncio.timeout(wait_s):
                event = await self._next_event()
        if not isinstance(event, h11.Request):
            return None
        # h11 limits heads that arrive in several reads.
        size = len(event.target) + sum(len(name) + len(value) for name, value in event.headers)
        if size > self._limits.head_bytes:
            raise h11.RemoteProtocolError("the head is too long", error_status_hint=431)
        self._announced_bytes = next((int(value) for name, value in event.headers if name == b"content-length"), 0)
        return event

    @contextlib.contextmanager
    def _awaited(self) -> Iterator[None]:
        """The connection counts as one whose request, or the rest of it, is awaited."""
        self._waiting.enter(self._writer)
        try:
            yield
        finally:
            self._waiting.leave(self._writer)

    async def _next_event(self) -> object:
        """The next event of h11, for which bytes are read as needed."""
        while True:
            event = self._exchange.next_event()
            if event is not h11.NEED_DATA:
                return event
            self._exchange.receive_data(await self._reader.read(READ_BYTES))

    async def _body(self, max_bytes: int) -> bytes:
        """Reads the body of the request. Raises BodyRefusedError, ConnectionError."""
        if self._announced_bytes > max_bytes:
            raise BodyRefusedError(413, f"the body has more than {max_bytes} bytes")
        if self._exchange.they_are_waiting_for_100_continue:
            go_on = self._exchange.send(h11.InformationalResponse(status_code=100, headers=[]))
            self._writer.write(go_on or b"")
        parts: list[bytes] = []
        left = max_bytes
        try:
            with self._awaited():
                async with asyncio.timeout(self._limits.max_wait_s):
                    while isinstance(event := await self._next_event(), h11.Data):
                        left -= len(event.data)
                        if left < 0:
                            raise BodyRefusedError(413, f"the body has more than {max_bytes} bytes")
                        parts.append(bytes(event.data))
        except h11.RemoteProtocolError as error:
            raise BodyRefusedError(400, f"the body is malformed: {error}") from None
        except TimeoutError:
            raise ConnectionResetError("the body did not arrive") from None
        return b"".join(parts)

    async def _skip_body(self) -> None:
        """Skips what nothing has read of a body, up to SKIPPED_BYTES."""
        if self._exchange.their_state is not h11.SEND_BODY or self._exchange.they_are_waiting_for_100_continue:
            return
        if self._announced_bytes > SKIPPED_BYTES:
            return  # its client may wait for the answer before it sends the body
        left = SKIPPED_BYTES
        with self._awaited():
            async with asyncio.timeout(self._limits.max_wait_s):
                while left > 0 and isinstance(event := await self._next_event(), h11.Data):
                    left -= len(event.data)

    async def _answered(self, head: h11.Request) -> HttpResponse:
        headers = tuple((name.decode("latin-1"), value.decode("latin-1")) for name, value in head.headers)
        target = head.target.decode("latin-1")
        try:
            return await self._service.answer(HttpRequest(head.method.decode(), target, headers, self._body))
        except BodyRefusedError as error:
            return self._service.refused(error.status, f"{error}\n")
        except ConnectionError:
            raise
        except Exception as error:  # noqa: BLE001 - a fault of one answer ends that answer only
            HTTP.failed(f"{head.method.decode()} of {target.partition('?')[0][:200]!r}", error)
            return self._service.refused(500, "this request failed; the log says why\n")

    # Answers

    async def _send(self, head: h11.Request | None, response: HttpResponse) -> None:
        body = response.body
        headers = [(name.encode("latin-1"), value.encode("latin-1")) for name, value in self._framed(response)]
        reason = reason_of(response.status).encode()
        sent = self._exchange.send(h11.Response(status_code=response.status, headers=headers, reason=reason))
        begin = sent or b""
        if head is not None and head.method == b"HEAD":
            body = b""
        if isinstance(body, bytes):
            data = self._exchange.send(h11.Data(data=body)) if body else b""
            end = self._exchange.send(h11.EndOfMessage())
            self._writer.write(b"".join((begin, data or b"", end or b"")))
            await self._drained()
        elif isinstance(body, AsyncGenerator):
            await self._stream(begin, body)
        else:
            await self._send_pieces(begin, body)

    def _framed(self, response: HttpResponse) -> Iterator[tuple[str, str]]:
        yield from response.headers
        if isinstance(response.body, bytes) and response.status != 304:
            yield "Content-Length", str(len(response.body))
        if not self._limits.max_idle_s:
            yield "Connection", "close"

    async def _send_pieces(self, begin: bytes, pieces: Iterator[bytes]) -> None:
        """Sends the pieces. A turn of the event loop makes pieces of one answer, for ``turn_s`` and one piece more."""
        is_first, is_over = True, False
        while not is_over:
            async with self._turn:
                some = [begin] if is_first else []
                is_first = False
                is_over = not self._make_some(pieces, some)
                await asyncio.sleep(0)  # other work gets a turn before the next pieces of any answer
            self._writer.write(b"".join(some))
            if not await self._drained():
                return

    def _make_some(self, pieces: Iterator[bytes], some: list[bytes]) -> bool:
        """Adds the next pieces, as many as there is time for, at least one. Returns False after the last one."""
        end_s = perf_counter() + self._limits.turn_s
        for piece in pieces:
            some.append(self._exchange.send(h11.Data(data=piece)) or b"")
            if perf_counter() >= end_s:
                return True
        some.append(self._exchange.send(h11.EndOfMessage()) or b"")
        return False

    async def _stream(self, begin: bytes, pieces: AsyncGenerator[bytes, None]) -> None:
        """Sends each piece when it is made, until the last one or until the client is gone."""
        self._writer.write(begin)
        sending = HTTP.awaited(self._send_stream(pieces))
        leaving = HTTP.awaited(self._reader.read(1))
        try:
            await asyncio.wait((sending, leaving), return_when=asyncio.FIRST_COMPLETED)
            if not sending.done():
                # The client has closed the connection, or has sent a request during the answer, which browsers don't.
                raise ConnectionResetError("the client is gone")
            sending.result()
        finally:
            for task in (sending, leaving):
                task.cancel()
            await asyncio.gather(sending, leaving, return_exceptions=True)

    async def _send_stream(self, pieces: AsyncGenerator[bytes, None]) -> None:
        async with contextlib.aclosing(pieces) as closed:
            async for piece in closed:
                self._writer.write(self._exchange.send(h11.Data(data=piece)) or b"")
                if not await self._drained():
                    raise ConnectionResetError("the client reads nothing")
        self._writer.write(self._exchange.send(h11.EndOfMessage()) or b"")
        await self._drained()

    async def _drained(self) -> bool:
        """Waits until the client has read most of the written bytes. Cuts off a client that has read nothing for
        ``max_wait_s``, and returns False."""
        transport = self._writer.transport
        while True:
            unread_bytes = transport.get_write_buffer_size()
            try:
                async with asyncio.timeout(self._limits.max_wait_s):
                    await self._writer.drain()
            except TimeoutError:
                if transport.get_write_buffer_size() >= unread_bytes:
                    self._cut_off()
                    return False
            else:
                return True

    def _cut_off(self) -> None:
        host, port = self._writer.get_extra_info("peername")[:2]
        wait_s = self._limits.max_wait_s
        logger.warning(
            "%s:%d has read none of its %s for %g s: connection closed", host, port, self._service.content, wait_s
        )
        self._writer.transport.abort()
