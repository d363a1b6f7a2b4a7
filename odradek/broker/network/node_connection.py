"""One connection that this broker opened to another node: a request out, the frame of its answer in.

Owns: the socket, the bytes of an answer that has not wholly arrived, the one request in flight. Never does: encoding,
decoding, retries. Invariants: an answer is never larger than its limit; bytes that arrive without a request are an
error.

This does not use asyncio's streams: the callback of an answer runs in the turn of the event loop that has read it. A
Produce with acks=all waits for one Fetch of each follower, so one turn less matters.
"""

import asyncio
from collections.abc import Callable
from typing import cast

from odradek.protocol.errors import ProtocolError
from odradek.protocol.framing.frames import FrameReader
from odradek.protocol.records.buffers import Buffer

from ..timers.work import KindOfWork

DEADLINES = KindOfWork("node-request-deadline", "ends requests to other nodes that take too long")

MAX_RESPONSE_BYTES = 64 << 20
"""Larger frames are refused. The first bytes of an HTTP or TLS answer, read as a size, are above this."""
RECEIVE_BUFFER_BYTES = 16 * 1024
"""An answer that is larger gets a buffer of its own, which grows as its bytes arrive."""

Answered = Callable[[Buffer | Exception], None]
"""Gets the frame of an answer, without its size, or why there is none: TimeoutError, OSError, EOFError, ProtocolError.
"""


class NodeConnection(asyncio.BufferedProtocol):
    """The protocol object of one connection."""

    __slots__ = ("_answered", "_failure", "_frames", "_received", "_timer", "_transport", "_until_s")

    def __init__(self) -> None:
        self._transport: asyncio.Transport | None = None
        self._frames = FrameReader(MAX_RESPONSE_BYTES)
        self._received = memoryview(bytearray(RECEIVE_BUFFER_BYTES))
        self._answered: Answered | None = None
        """The callback for the answer to the request in flight; None if there is none."""
        self._until_s = 0.0
        """The deadline of the request in flight, by the loop's clock."""
        self._timer: asyncio.TimerHandle | None = None
        """One timer serves many requests: setting one for each would cost 3 us."""
        self._failure: Exception | None = None
        """Why the connection can't be used any more."""

    @property
    def is_open(self) -> bool:
        """Whether a request can be sent."""
        return self._failure is None and self._transport is not None and not self._transport.is_closing()

    async def exchange(self, request: bytes, timeout_s: float) -> Buffer:
        """Sends a request. Returns the frame of the answer, without its size. One request at a time.

        Raises TimeoutError, OSError, EOFError or ProtocolError. The caller then closes the connection, also if it is
        cancelled.
        """
        answer: asyncio.Future[Buffer] = asyncio.get_running_loop().create_future()

        def answered(outcome: Buffer | Exception) -> None:
            if answer.done():
                return  # cancelled
            if isinstance(outcome, Exception):
                answer.set_exception(outcome)
            else:
                answer.set_result(outcome)

        self.send(request, answered, timeout_s)
        return await answer

    def send(self, request: bytes, answered: Answered, timeout_s: float) -> None:
        """As :meth:`exchange`, for callers without a task: ``answered`` is called once, after this call has returned.

        Raises the error that has made the connection unusable.
        """
        if self._failure is not None:
            raise self._failure
        assert self._transport is not None
        assert self._answered is None, "a request is in flight"
        self._answered = answered
        self._transport.write(request)
        self._limit(timeout_s)

    def _limit(self, timeout_s: float) -> None:
        """Ends the request in flight after ``timeout_s``."""
        loop = asyncio.get_running_loop()
        self._until_s = loop.time() + timeout_s
        if self._timer is not None:
            if self._timer.when() <= self._until_s:
                return
            self._timer.cancel()
        self._timer = DEADLINES.at(self._until_s, self._time_is_up)

    def _time_is_up(self) -> None:
        """Fails the request in flight if its time is up. Sets the timer again if an earlier request had set it."""
        self._timer = None
        if self._answered is None:
            return
        loop = asyncio.get_running_loop()
        if loop.time() < self._until_s:
            self._timer = DEADLINES.at(self._until_s, self._time_is_up)
        else:
            self._fail(TimeoutError())

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
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        self._fail(exc or EOFError(f"closed the connection after {self._frames.buffered_bytes} bytes of an answer"))

    def get_buffer(self, sizehint: int) -> memoryview:
        """The buffer for the next bytes."""
        return self._received if self._frames.large is None else self._frames.target()

    def buffer_updated(self, nbytes: int) -> None:
        """Bytes have arrived."""
        frame = self._frames.whole_frame(self._received, nbytes)
        if frame is not None:
            self._take(bytes(frame))
            return
        try:
            frames = self._frames_in(nbytes)
        except ProtocolError as error:
            self._fail(error)
            return
        for each in frames:
            self._take(each)

    def _take(self, frame: Buffer) -> None:
        answered, self._answered = self._answered, None
        if answered is None:
            self._fail(ProtocolError(f"{len(frame)} bytes arrived that no request asked for"))
        else:
            answered(frame)

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
        answered, self._answered = self._answered, None
        if answered is not None:
            answered(error)
