"""The socket of a connection that this broker opened to another node, for the protocol state in an ``Exchange``.

Shell. Owns: the socket, the timer of the request's deadline. Never does: retries. Invariants: one request at a time; an
answer is never larger than its limit; bytes that arrive without a request are an error.

This does not use asyncio's streams: the callback of an answer runs in the turn of the event loop that has read it. A
Produce with acks=all waits for one Fetch of each follower, so one turn less matters.
"""

import asyncio
from collections.abc import Callable
from math import inf
from typing import Any, cast

from odradek.protocol.exchange import Exchange, ResponseLimits
from odradek.protocol.framing.frames import Frames

from ..timers.work import KindOfWork

DEADLINES = KindOfWork("node-request-deadline", "ends requests to other nodes that take too long")

MAX_RESPONSE_BYTES = 64 << 20
"""Larger frames are refused. The first bytes of an HTTP or TLS answer, read as a size, are above this."""
NODE = ResponseLimits(
    MAX_RESPONSE_BYTES,
    receive_buffer_bytes=16 * 1024,
    frames=Frames(lambda _size, limit: f"a response of more than {limit} bytes was announced"),
    unasked="{size} bytes arrived that no request asked for",
    mismatched="request {sent} got the answer to {received}",
    refused="ApiVersions was answered with error {code}",
)

Event = Callable[[Any, float, float], None]
"""A method of the exchange that has an outcome; its last arguments are the token, ``timeout_s`` and ``now_s``."""


class NodeConnection(asyncio.BufferedProtocol):
    """The protocol object of one connection."""

    __slots__ = ("_failure", "_loop", "_timer", "_timer_at_s", "_transport", "exchange")

    def __init__(self, client_id: str, *, has_login: bool) -> None:
        self.exchange = Exchange(client_id, NODE, has_login=has_login)
        self._loop = asyncio.get_running_loop()
        self._transport: asyncio.Transport | None = None
        self._timer: asyncio.TimerHandle | None = None
        """One timer serves many requests: setting one for each would cost 3 us."""
        self._timer_at_s = inf
        self._failure: Exception | None = None
        """Why the connection can't be used any more."""

    @property
    def is_open(self) -> bool:
        """Whether a request can be sent."""
        return self._failure is None and self._transport is not None and not self._transport.is_closing()

    async def outcome(self, event: Event, timeout_s: float) -> Any:
        """As :meth:`begin`; returns the outcome. Raises it if it is an exception. The caller then closes the
        connection, also if it is cancelled."""
        outcome = self._loop.create_future()

        def answered(result: Any) -> None:
            if outcome.done():
                return  # cancelled
            if isinstance(result, Exception):
                outcome.set_exception(result)
            else:
                outcome.set_result(result)

        self.begin(event, answered, timeout_s)
        return await outcome

    def begin(self, event: Event, answered: Callable[[Any], None], timeout_s: float) -> None:
        """Passes an event to the exchange. ``answered`` is called once, after this call has returned: with the outcome,
        or with why there is none, which is TimeoutError, OSError, EOFError or ProtocolError.

        Raises the error that has made the connection unusable, ProtocolError, and NoCommonVersionError.
        """
        if self._failure is not None:
            raise self._failure
        assert not self.exchange.pending, "a request is in flight"
        event(answered, timeout_s, self._loop.time())
        self._flush()

    def _flush(self) -> None:
        """Writes what the exchange sends, and sets the timer."""
        assert self._transport is not None
        if self.exchange.unsent:
            self._transport.write(self.exchange.take_unsent())
        if self.exchange.check_at_s < self._timer_at_s:
            self._set_timer(self.exchange.check_at_s)

    def _set_timer(self, at_s: float) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._timer = None if at_s == inf else DEADLINES.at(at_s, self._time_is_up)
        self._timer_at_s = at_s

    def _time_is_up(self) -> None:
        """Fails the request in flight if its time is up. Sets the timer again if an earlier request had set it."""
        if self.exchange.overdue(self._loop.time()) is not None:
            self._fail(TimeoutError())
        else:
            self._set_timer(self.exchange.check_at_s)

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
        self._set_timer(inf)
        self._fail(
            exc or EOFError(f"closed the connection after {self.exchange.frames.buffered_bytes} bytes of an answer")
        )

    def get_buffer(self, sizehint: int) -> memoryview:
        """The buffer for the next bytes."""
        return self.exchange.target()

    def buffer_updated(self, nbytes: int) -> None:
        """Bytes have arrived."""
        for answered, outcome in self.exchange.received(nbytes, self._loop.time()):
            answered(outcome)
        if self.exchange.failure is not None:
            self._fail(self.exchange.failure)
        elif self.exchange.unsent:  # the next message of a login
            self._flush()

    def eof_received(self) -> bool:
        """The other side sends no more, so the connection closes."""
        return False

    def _fail(self, error: Exception) -> None:
        self._failure = self._failure or error
        for answered in self.exchange.abandon():
            answered(error)
