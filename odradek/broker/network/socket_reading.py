"""Whether a connection reads from its socket.

Owns: the reasons why it does not. Invariant: the transport is paused exactly while a reason is set.
"""

import asyncio

BACKLOG = 1
"""Enough received requests wait, or the client is muted or has not authenticated."""
MEMORY = 2
"""A request waits for memory (``queued.max.request.bytes``)."""


class SocketReading:
    """Reads from the socket of one connection, or pauses."""

    __slots__ = ("_reasons", "_transport")

    def __init__(self, transport: asyncio.Transport) -> None:
        self._transport: asyncio.Transport | None = transport
        self._reasons = 0

    def pause(self, reason: int) -> None:
        """Stops reading until :meth:`resume` for the same reason."""
        if not self._reasons and self._transport is not None:
            self._transport.pause_reading()
        self._reasons |= reason

    def resume(self, reason: int) -> None:
        """Removes a reason. Reading continues if it was the last one."""
        if self._reasons == reason and self._transport is not None:
            self._transport.resume_reading()
        self._reasons &= ~reason

    def end(self) -> None:
        """The socket is gone."""
        self._transport = None
