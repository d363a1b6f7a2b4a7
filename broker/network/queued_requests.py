"""``queued.max.request.bytes``: the bytes of requests that were received and are not answered.

Owns: which connection may receive or serve its next request. Never does: decoding, deciding. Invariants: the requests
of all connections hold no more bytes than configured; memory is given in the order in which it was asked for, so a
large request waits behind earlier ones only and no connection starves another; a connection asks for memory only if it
holds none, so connections never wait for each other in a circle. Source: Kafka's ``SimpleMemoryPool`` and
``SocketServer``, which mutes all connections while the pool is empty and has no order;
``RequestChannel.Request.releaseBuffer``.

Only a broker with the key has these connections: without it, :class:`.connection.Connection` counts nothing.
"""

import asyncio
from collections.abc import Callable
from typing import cast

from ...protocol.api_keys import ApiKey
from ..timers.slices import Slices
from .connection import Connection, Connections, ServeFrame
from .memory_budget import MemoryBudget, Reservation
from .response_writer import Part

QUEUED_BYTES_KEY = "queued.max.request.bytes"
RECEIVE_MAX_MS = 30_000
"""How long a request that has its memory may take to arrive while others wait for memory: Kafka's clients wait as long
for an answer (``request.timeout.ms``)."""
PRODUCE = ApiKey.PRODUCE.to_bytes(2, "big")


class QueuedRequests:
    """The memory of all requests, and what serves them once they have theirs."""

    def __init__(self, max_bytes: int, serve: ServeFrame, slices: Slices, now_ms: Callable[[], int]) -> None:
        """``max_bytes``: the value of the key, above 0. ``now_ms``: a monotonic clock."""
        self.budget = MemoryBudget(max_bytes)
        self.serve = serve
        self.slices = slices
        self.receiving: dict[MeteredConnection, int] = {}
        """The connections whose large request is arriving, and since when."""
        self.now_ms = now_ms

    def close_slow(self) -> None:
        """Closes connections that keep memory for a request that does not arrive, if others wait for memory."""
        oldest_ms = self.now_ms() - RECEIVE_MAX_MS
        for connection, since_ms in list(self.receiving.items()):
            if self.budget.waiting_count and since_ms <= oldest_ms:
                connection.refuse(
                    f"its request did not arrive within {RECEIVE_MAX_MS // 1000} s, and others wait for the memory"
                    f" that it holds ({QUEUED_BYTES_KEY}={self.budget.total_bytes})"
                )


class MeteredConnection(Connection):
    """A connection that waits for memory before it receives the rest of a large request, or serves a small one."""

    __slots__ = ("_is_deferred", "_is_held", "_is_receiving", "_pending", "_queue", "_queued")

    def __init__(self, connections: Connections, queue: QueuedRequests, listener_name: str) -> None:
        # The method of the class and not of this object, which would refer to itself. It gets this object alone.
        super().__init__(connections, cast(ServeFrame, MeteredConnection.serve_within), queue.slices, listener_name)
        self._queue = queue
        self._queued: Reservation | None = None
        """The memory of the request in service, or of the large one that is arriving."""
        self._is_receiving = False
        """Whether that is a large request which has not arrived."""
        self._is_deferred = False
        """Whether a large request has begun to arrive behind others, which are served first."""
        self._pending: memoryview | None = None
        """The request in service, while it waits for memory."""
        self._is_held = False
        """Whether reading is paused until there is memory."""

    # What the event loop calls.

    def buffer_updated(self, nbytes: int) -> None:
        """As of every connection; a large request asks for memory as soon as its size is known."""
        super().buffer_updated(nbytes)
        if self._frames.large is not None and not (self._is_receiving or self._is_deferred or self._closing):
            self._begin_large()

    def connection_lost(self, exc: Exception | None) -> None:
        """As of every connection; its memory is given back."""
        self._queue.receiving.pop(self, None)
        self._pending = None
        super().connection_lost(exc)

    # What the dispatcher calls.

    def answered(self, parts: list[Part] | None) -> None:
        """As of every connection; the memory of the request is given back."""
        self._release_queued()
        super().answered(parts)
        self._go_on_receiving()

    def release_memory(self) -> None:
        """As of every connection: the request has been decoded, or it is answered."""
        super().release_memory()
        self._release_queued()

    @property
    def holds_frames(self) -> bool:
        """Whether requests wait here that were received and are not served."""
        return self._pending is not None or super().holds_frames

    # Memory.

    def serve_within(self, frame: memoryview, owned: bool) -> None:
        """Serves the request now if it has memory, or later."""
        if self._is_receiving:
            self._is_receiving = False
            self._queue.receiving.pop(self, None)
            self._serve(frame, owned)
            return
        self._queued = self._queue.budget.reserve(len(frame), self._granted_to_serve)
        if not self._queued.is_waiting:
            self._serve(frame, owned)
            return
        self._pending = frame if owned else memoryview(bytes(frame))
        self._hold_reading()

    def _granted_to_serve(self) -> None:
        """There is memory. If it took a while the request is served in a turn of its own."""
        if self._pending is not None:
            asyncio.get_running_loop().call_soon(self._serve_pending)

    def _serve_pending(self) -> None:
        frame, self._pending = self._pending, None
        if frame is not None and not self._closing:
            self._read_on()
            self._serve(frame, True)

    def _serve(self, frame: memoryview, owned: bool) -> None:
        """Serves a request. Its memory is free as soon as nothing refers to its bytes, as in Kafka.

        A Produce refers to them until it is answered, one in slices until it has been decoded or answered.
        """
        reservation = self._queued
        is_produce = frame[:2] == PRODUCE
        self._queue.serve(self, frame, owned)
        is_sliced = self.reservation is not None or (self.work is not None and not self.work.is_done)
        if self._queued is reservation and not is_produce and not is_sliced:
            self._release_queued()

    def _begin_large(self) -> None:
        """Asks for the memory of a large request, once the requests before it are answered."""
        if self._in_service or self._waiting or self.is_sending:
            self._is_deferred = True
            self._hold_reading()
            return
        self._is_receiving = True
        self._queued = self._queue.budget.reserve(self._frames.large_bytes, self._granted_to_receive)
        if self._queued.is_waiting:
            self._hold_reading()

    def _granted_to_receive(self) -> None:
        self._queue.receiving[self] = self._queue.now_ms()
        self._read_on()

    def _go_on_receiving(self) -> None:
        if self._is_deferred and not (self._in_service or self._waiting or self.is_sending or self._closing):
            self._is_deferred = False
            self._begin_large()

    def _release_queued(self) -> None:
        reservation, self._queued = self._queued, None
        if reservation is not None:
            reservation.release()

    # Reading.

    def _drain(self) -> None:
        super()._drain()
        if self._is_held and self.transport is not None:
            self.transport.pause_reading()  # the buffer has room again, but there is no memory
        self._go_on_receiving()

    def _hold_reading(self) -> None:
        self._is_held = True
        if self.transport is not None:
            self.transport.pause_reading()

    def _read_on(self) -> None:
        if self._is_held:
            self._is_held = False
            if not self._paused_reading and self.transport is not None:
                self.transport.resume_reading()
