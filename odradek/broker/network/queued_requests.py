"""``queued.max.request.bytes``: the bytes of requests that were received and are not answered.

Owns: the order in which connections receive or serve their next request. Never does: decoding, deciding. Invariants:
the requests of all connections hold at most the configured bytes; memory is granted in FIFO order, so a large request
waits only for earlier ones and no connection starves another; a connection asks for memory only if it holds none, so
they never deadlock. Source: Kafka's ``SimpleMemoryPool`` and ``SocketServer``, which mutes all connections while the
pool is empty, without an order; ``RequestChannel.Request.releaseBuffer``.

Only a broker with this key uses these connections. :class:`.connection.Connection` counts no memory.
"""

from collections.abc import Callable
from typing import cast

from odradek.protocol.apis.api_keys import ApiKey

from ..timers.slices import Slices
from ..timers.work import KindOfWork
from .connection import Authentication, Connection, Registry, ServeFrame
from .memory_budget import MemoryBudget, Reservation
from .request_order import MEMORY
from .response_writer import Part

QUEUED = KindOfWork("queued-request", "serves a request that waited for memory")

QUEUED_BYTES_KEY = "queued.max.request.bytes"
RECEIVE_MAX_MS = 30_000
"""The time in which a request that has its memory must arrive while others wait for memory. It equals the time that
Kafka's clients wait for an answer (``request.timeout.ms``).
"""
PRODUCE = ApiKey.PRODUCE.to_bytes(2, "big")


class QueuedRequests:
    """The memory of all requests, and how to serve a request that has its memory."""

    def __init__(self, max_bytes: int, serve: ServeFrame, slices: Slices, now_ms: Callable[[], int]) -> None:
        """``max_bytes``: the value of the key, above 0. ``now_ms``: a monotonic clock."""
        self.budget = MemoryBudget(max_bytes)
        self.serve = serve
        self.slices = slices
        self.receiving: dict[MeteredConnection, int] = {}
        """The connections whose large request is arriving, with the start time."""
        self.now_ms = now_ms

    def close_slow(self) -> None:
        """Closes connections that hold memory for a request that does not arrive, if others wait for memory."""
        oldest_ms = self.now_ms() - RECEIVE_MAX_MS
        for connection, since_ms in list(self.receiving.items()):
            if self.budget.waiting_count and since_ms <= oldest_ms:
                connection.refuse(
                    f"its request did not arrive within {RECEIVE_MAX_MS // 1000} s, and other connections wait for the"
                    f" memory that it holds ({QUEUED_BYTES_KEY}={self.budget.total_bytes})"
                )


class MeteredConnection(Connection):
    """A connection that waits for memory before it receives the rest of a large request, or serves a small one."""

    __slots__ = ("_is_deferred", "_is_receiving", "_pending", "_pending_since_ns", "_queue", "_queued")

    def __init__(
        self,
        connections: Registry,
        queue: QueuedRequests,
        listener_name: str,
        authentication: Authentication | None = None,
    ) -> None:
        # The function of the class: a bound method would make a reference cycle. It is called with this object.
        serve = cast(ServeFrame, MeteredConnection.serve_within)
        super().__init__(connections, serve, queue.slices, listener_name, authentication)
        self._queue = queue
        self._queued: Reservation | None = None
        """The memory of the request in service, or of the large one that is arriving."""
        self._is_receiving = False
        """Whether ``_queued`` is for a large request that has not arrived completely."""
        self._is_deferred = False
        """Whether a large request has begun to arrive after others, which are served first."""
        self._pending: memoryview | None = None
        """The request in service, while it waits for memory."""
        self._pending_since_ns = 0
        """When it arrived; 0 without metrics."""

    # Called by the event loop.

    def buffer_updated(self, nbytes: int) -> None:
        """As in the base class. A large request asks for memory as soon as its size is known."""
        super().buffer_updated(nbytes)
        self._ask_for_memory()

    def _ask_for_memory(self) -> None:
        if self._frames.large is None or not self.is_authenticated:
            return  # the limit before authentication is small
        if not (self._is_receiving or self._is_deferred or self._closing):
            self._begin_large()

    def connection_lost(self, exc: Exception | None) -> None:
        """As in the base class. Releases the memory of the connection."""
        self._queue.receiving.pop(self, None)
        self._pending = None
        super().connection_lost(exc)

    # Called by the dispatcher.

    def answered(self, parts: list[Part] | None) -> None:
        """As in the base class. Releases the memory of the request."""
        self._release_queued()
        super().answered(parts)
        self._resume_receiving()

    def release_memory(self) -> None:
        """As in the base class: the request has been decoded or answered."""
        super().release_memory()
        self._release_queued()

    @property
    def holds_frames(self) -> bool:
        """Whether received requests wait here that are not served yet."""
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
        if self._waits is not None:
            self._pending_since_ns = self.take_arrival(self._waits.clock_ns())
        self._hold_reading()

    def _granted_to_serve(self) -> None:
        """Memory was granted. If that was not at once, the request is served in a turn of its own."""
        if self._pending is not None:
            QUEUED.soon(self._serve_pending)

    def _serve_pending(self) -> None:
        frame, self._pending = self._pending, None
        if frame is not None and not self._closing:
            self._resume_reading()
            if self._waits is not None:
                # A class's function, as above.
                self._serve_kept(cast(ServeFrame, MeteredConnection._serve), frame, self._pending_since_ns)
            else:
                self._serve(frame, True)

    def _serve(self, frame: memoryview, owned: bool) -> None:
        """Serves a request. As in Kafka, its memory is released when nothing refers to its bytes any more.

        A Produce request refers to them until it is answered, a request in slices until it is decoded or answered.
        """
        reservation = self._queued
        is_produce = frame[:2] == PRODUCE
        self._queue.serve(self, frame, owned)
        is_sliced = self.reservation is not None or (self.work is not None and not self.work.is_done)
        if self._queued is reservation and not is_produce and not is_sliced:
            self._release_queued()

    def _begin_large(self) -> None:
        """Asks for the memory of a large request, once the requests before it are answered."""
        if self._in_service or self._kept or self.is_sending:
            self._is_deferred = True
            self._hold_reading()
            return
        self._is_receiving = True
        self._queued = self._queue.budget.reserve(self._frames.large_bytes, self._granted_to_receive)
        if self._queued.is_waiting:
            self._hold_reading()

    def _granted_to_receive(self) -> None:
        self._queue.receiving[self] = self._queue.now_ms()
        self._resume_reading()

    def _resume_receiving(self) -> None:
        if self._is_deferred and not (self._in_service or self._kept or self.is_sending or self._closing):
            self._is_deferred = False
            self._begin_large()

    def _release_queued(self) -> None:
        reservation, self._queued = self._queued, None
        if reservation is not None:
            reservation.release()

    # Reading.

    def _drain(self) -> None:
        super()._drain()
        self._resume_receiving()
        self._ask_for_memory()

    def _hold_reading(self) -> None:
        assert self._reading is not None
        self._reading.pause(MEMORY)

    def _resume_reading(self) -> None:
        assert self._reading is not None
        self._reading.resume(MEMORY)
