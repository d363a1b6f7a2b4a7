"""One connection that this broker opened to another node: a request out, the frame of its answer in.

Owns: the socket, the bytes of an answer that has not wholly arrived, the one request in flight. Never does: encoding,
decoding, retries. Invariants: an answer is never larger than its limit; what arrives without a request is an error.

A protocol of its own instead of asyncio's streams: an answer wakes its request through one future. A produce with
acks=all waits for one fetch of each follower.
"""

import asyncio
from typing import cast

from ...protocol.errors import ProtocolError
from ...protocol.framing import FrameReader
from ...protocol.records.buffers import Buffer

MAX_RESPONSE_BYTES = 64 << 20
"""Larger frames are refused. The first bytes of an HTTP or a TLS answer are no size below this."""
RECEIVE_BUFFER_BYTES = 16 * 1024
"""An answer that is larger gets a buffer of its own, which grows as its bytes arrive."""


class NodeConnection(asyncio.BufferedProtocol):
    """The protocol object of one connection."""

    __slots__ = ("_answer", "_failure", "_frames", "_received", "_transport")

    def __init__(self) -> None:
        self._transport: asyncio.Transport | None = None
        self._frames = FrameReader(MAX_RESPONSE_BYTES)
        self._received = memoryview(bytearray(RECEIVE_BUFFER_BYTES))
        self._answer: asyncio.Future[Buffer] | None = None
        """What waits for the answer to the request in flight."""
        self._failure: Exception | None = None
        """Why the connection can't be used any more."""

    @property
    def is_open(self) -> bool:
        """Whether a request can be sent."""
        return self._failure is None and self._transport is not None and not self._transport.is_closing()

    async def exchange(self, request: bytes, timeout_s: float | None = None) -> Buffer:
        """Sends a request; the frame that answers it, without its size. One at a time.

        ``timeout_s``: None if the caller limits the time. Raises TimeoutError, OSError, EOFError or ProtocolError. The
        caller then closes the connection, also if it is cancelled.
        """
        if self._failure is not None:
            raise self._failure
        assert self._transport is not None
        assert self._answer is None, "a request is in flight"
        loop = asyncio.get_running_loop()
        self._answer = loop.create_future()
        self._transport.write(request)
        timer = None if timeout_s is None else loop.call_later(timeout_s, self._fail, TimeoutError())
        try:
            return await self._answer
        finally:
            self._answer = None
            if timer is not None:
                timer.cancel()

    def abort(self) -> None:
        """Closes the connection at once."""
        if self._transport is not None:
            self._transport.abort()

    # Called by the event loop.

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """The connection is open."""
        # uvloop's transports do not inherit from asyncio.Transport, but have its methods.
        self._transport = cast("asyncio.Transport", transport)

    def connection_lost(self, exc: Exception | None) -> None:
        """The connection is closed, by either side."""
        self._fail(exc or EOFError(f"closed the connection after {self._frames.buffered_bytes} bytes of an answer"))

    def get_buffer(self, sizehint: int) -> memoryview:
        """Where the next bytes go."""
        return self._received if self._frames.large is None else self._frames.target()

    def buffer_updated(self, nbytes: int) -> None:
        """Bytes have arrived."""
        try:
            frames = self._frames_in(nbytes)
        except ProtocolError as error:
            self._fail(error)
            return
        for frame in frames:
            if self._answer is None or self._answer.done():
                self._fail(ProtocolError(f"{len(frame)} bytes arrived that no request asked for"))
            else:
                self._answer.set_result(frame)

    def _frames_in(self, count: int) -> list[Buffer]:
        """The whole frames, which stay valid. Raises ProtocolError."""
        if self._frames.large is not None:
            large = self._frames.received(count)
            return [] if large is None else [large]
        try:
            frames = self._frames.feed(self._received[:count])
        except ProtocolError:
            raise ProtocolError(f"a response of more than {MAX_RESPONSE_BYTES} bytes was announced") from None
        return [bytes(frame) for frame in frames]

    def eof_received(self) -> bool:
        """The other side sends no more, so the connection closes."""
        return False

    def _fail(self, error: Exception) -> None:
        self._failure = self._failure or error
        if self._answer is not None and not self._answer.done():
            self._answer.set_exception(error)
