"""The order in which the requests of a connection are served and answered.

Owns: the one request in service, the frames that wait, turns. Never does: receiving, decoding, deciding.
Invariants: one request of a connection is in service at a time (as in Kafka, which mutes the channel), so answers keep
the order of requests and a client can't make the broker hold more than one answer and one receive buffer for it; while
an answer waits for a slow reader, no further request is served. Source: ``SocketServer.processNewResponses``,
``KafkaChannel.ChannelMuteState``.
"""

import asyncio
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable, Iterator
from functools import partial
from typing import TYPE_CHECKING, Any

from odradek.protocol.framing.frames import NOTHING

from ..timers.slices import SlicedWork, Slices
from ..timers.stall_report import Served
from ..timers.work import KindOfWork
from .memory_budget import Reservation
from .response_writer import Part, ResponseWriter
from .turns import SharedTurns

CONNECTIONS = KindOfWork("connection", "continues with the requests of a connection")

if TYPE_CHECKING:
    from .waiting import Waiting

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


class FrameQueue(deque[memoryview]):
    """Frames in the order of their arrival.

    It is a deque, so that a connection asks whether a frame waits without a call of Python.
    """

    __slots__ = ("_arrivals", "_clock_ns", "nbytes")

    def __init__(self, clock_ns: Callable[[], int] | None) -> None:
        """``clock_ns``: None without metrics."""
        super().__init__()
        self.nbytes = 0
        """The bytes of all frames."""
        self._clock_ns = clock_ns
        self._arrivals: deque[int] = deque()

    def keep(self, frame: memoryview, owned: bool) -> None:
        """Adds a frame: a copy, unless the frame owns its bytes."""
        self.append(frame if owned else memoryview(bytes(frame)))
        self.nbytes += len(frame)
        if self._clock_ns is not None:
            self._arrivals.append(self._clock_ns())

    def take(self) -> tuple[memoryview, int]:
        """Removes the oldest frame. Returns it and when it arrived; 0 without metrics."""
        frame = self.popleft()
        self.nbytes -= len(frame)
        return frame, self._arrivals.popleft() if self._arrivals else 0


RECEIVE_BUFFER_BYTES = 256 * 1024
"""The buffer that all connections share. A connection reads no more while this much of its requests waits."""
FRAMES_A_TURN = 32
"""The number of pipelined requests of one connection that are served before other connections get a turn."""
SERVE_S = 0.005
"""The time in seconds for requests of all connections in one turn of the loop. The one in service is finished."""

UNAUTHENTICATED_FRAMES = 4
"""The number of requests of a client that has not authenticated which may wait for an answer. Clients send one at a
time; 65,536 empty ones in one receive buffer would take 15 MB.
"""


class RequestOrder(ABC):
    """The half of a connection that serves requests. The other half is :class:`.connection.Connection`.

    It is a base class and not an object of its own, since each request would pass through one more call.
    """

    __slots__ = (
        "_closing",
        "_draining",
        "_in_service",
        "_kept",
        "_reading",
        "_resuming",
        "_serve_frame",
        "_slices",
        "_turns",
        "_unread",
        "_waits",
        "_writer",
        "arrived_ns",
        "is_authenticated",
        "muted",
        "reservation",
        "work",
    )

    def __init__(
        self,
        serve: Callable[[Any, memoryview, bool], None],
        slices: Slices,
        turns: SharedTurns,
        waits: "Waiting | None",
        is_authenticated: bool,
    ) -> None:
        """``serve`` is called with this object and each frame in turn. ``turns``: the time that
        connections share. ``waits`` counts waits; None without metrics."""
        self._serve_frame = serve
        self._slices = slices
        self._turns = turns
        self._waits = waits
        self.is_authenticated = is_authenticated
        self._writer: ResponseWriter | None = None
        self._reading: SocketReading | None = None
        """This and the writer are set once the connection is made and admitted."""
        self._kept: FrameQueue | None = None
        """Created when a frame has to wait: an empty deque has 0.6 KiB, and most connections never need one."""
        self._unread = NOTHING
        """Received bytes that are not cut into frames yet: many small ones."""
        self.arrived_ns = 0
        """When the request in service arrived, if it has waited and nothing has counted that yet; else 0."""
        self._in_service = False
        self._draining = False
        self._closing = False
        self._resuming = False
        self.muted: asyncio.TimerHandle | None = None  # the end of the mute, while the client is over a quota
        self.work: SlicedWork | None = None
        """The request in service, if it takes more than one slice; it ends with the connection."""
        self.reservation: Reservation | None = None
        """The memory that the request in service has reserved, or waits for, if it is large."""

    # What the other half does.

    @abstractmethod
    def refuse(self, reason: object) -> None:
        """Closes the connection because of what its client sent."""

    @abstractmethod
    def _read_on(self) -> bool:
        """Queues the next frames of bytes that have arrived earlier. Returns False if none are left."""

    @abstractmethod
    def _used(self) -> None:
        """Notes that the client is not idle."""

    @abstractmethod
    def _note_held_bytes(self) -> None:
        """Counts the memory of what the client has sent before it has authenticated."""

    # Called by the dispatcher.

    def answered(self, parts: list[Part] | None) -> None:
        """Sends the answer to the request in service (None: it wants no answer), and serves the next one."""
        self._in_service = self.muted is not None
        if self._closing:
            return
        if parts is not None:
            assert self._writer is not None
            self._writer.write(parts)
        if (self._kept or self._unread) and not self._draining:
            self._drain()

    def answered_in_pieces(self, parts: list[Part]) -> None:
        """As :meth:`answered`, for a large answer: it is sent piece by piece as the client reads it."""
        self.release_memory()
        if not self._closing:
            assert self._writer is not None
            self._writer.write_in_pieces(parts)
        self.answered(None)

    def mute(self, mute_ms: int) -> None:
        """Serves no further request for ``mute_ms``. The answer to the one in service must follow at once (KIP-219)."""
        if not self._closing:
            self.muted = CONNECTIONS.later(mute_ms / 1000, self._unmute)

    def run(self, steps: Iterator[object], failed: Callable[[Exception], None], request: Served) -> None:
        """Runs the request in service, or a part of it, in slices; it ends with the connection.

        ``request``: the request in service, for the log of stalls.
        """
        work = self._slices.start(steps, failed, request)
        if not work.is_done:
            self.work = work

    def take_arrival(self, now_ns: int) -> int:
        """When the request in service arrived; ``now_ns`` if it has not waited. The caller counts its wait now."""
        arrived_ns, self.arrived_ns = self.arrived_ns, 0
        return arrived_ns or now_ns

    def serve_late(self, serve: Callable[[], None], arrived_ns: int) -> bool:
        """Serves a request that has waited since ``arrived_ns``. Returns whether the caller counts the wait; if not, it
        goes on (in slices).
        """
        self.arrived_ns = arrived_ns
        serve()
        return self.take_arrival(0) != 0

    def release_memory(self) -> None:
        """Releases the memory that the request in service has reserved, if any."""
        reservation, self.reservation = self.reservation, None
        if reservation is not None:
            reservation.release()

    # What the connection is doing.

    @property
    def is_in_service(self) -> bool:
        """Whether a request waits for its answer."""
        return self._in_service

    @property
    def holds_frames(self) -> bool:
        """Whether received requests wait here that are not served yet."""
        return bool(self._kept or self._unread)

    @property
    def is_closing(self) -> bool:
        """Whether the connection is closing. Earlier answers may still be in transit."""
        return self._closing

    @property
    def is_sending(self) -> bool:
        """Whether an answer waits for a slow reader."""
        return self._writer is not None and self._writer.is_sending

    # Order and turns.

    def _serve_or_queue(self, frame: memoryview, owned: bool) -> None:
        """Serves a frame now, or queues it (a copy, unless the frame owns its bytes) after the one in service."""
        if self._closing:
            return
        assert self._writer is not None
        if self._in_service or self._kept or self._writer.is_sending:
            self._keep(frame, owned)
            return
        if not self._turns.has_time:
            self._keep(frame, owned)
            self._resume_next_turn()
            return
        self._in_service = True
        self._serve_frame(self, frame, owned)

    def _serve_pipelined(self, frames: list[memoryview]) -> None:
        """Serves pipelined frames until the turn of this connection is over, and queues the rest for the next turn."""
        if not frames:
            return
        assert self._writer is not None
        self._writer.gather()
        began_s = self._turns.begin()
        try:
            for number, frame in enumerate(frames, 1):
                self._serve_or_queue(frame, False)
                if number < len(frames) and not self._turns.may_go_on():
                    for later in frames[number:]:
                        self._keep(later, owned=False)
                    self._resume_next_turn()
                    return
        finally:
            self._turns.end(began_s)
            self._writer.flush()

    def _keep(self, frame: memoryview, owned: bool) -> None:
        """Queues a frame for later. Reading pauses if the queue holds as much as a receive buffer."""
        if self._closing:
            return
        if self._kept is None:
            self._kept = FrameQueue(None if self._waits is None else self._waits.clock_ns)
        if len(self._kept) == UNAUTHENTICATED_FRAMES and not self.is_authenticated:
            self.refuse(f"its client sent more than {UNAUTHENTICATED_FRAMES} requests before it authenticated")
            return
        self._kept.keep(frame, owned)
        if self._kept.nbytes >= RECEIVE_BUFFER_BYTES or not self.is_authenticated:
            self._pause_reading()

    def _pause_reading(self) -> None:
        """Pauses reading until :meth:`_drain` has served enough."""
        assert self._reading is not None
        self._reading.pause(BACKLOG)

    def _unmute(self) -> None:
        self.muted, self._in_service = None, False
        self._used()  # it was not idle: it had to wait
        self._drain()

    def _resume_next_turn(self) -> None:
        """Continues after the other connections had a turn."""
        if not self._resuming:
            self._resuming = True
            self._turns.put(self, not self._unread and (self._kept is None or len(self._kept) <= 1))

    def continue_turn(self) -> None:
        """Serves requests that waited for their turn (:class:`.turns.TurnTaker`)."""
        self._resuming = False
        if not self._draining:
            self._drain()

    def _serve_kept(self, serve: Callable[[Any, memoryview, bool], None], frame: memoryview, arrived_ns: int) -> None:
        """Serves a frame that has waited since ``arrived_ns``, and counts the wait. Only with metrics."""
        waits = self._waits
        assert waits is not None
        begun_ns = waits.clock_ns()
        is_request = self.is_authenticated  # else it belongs to the authentication, which metrics do not count
        if self.serve_late(partial(serve, self, frame, True), arrived_ns) and is_request:
            waits.waited(frame, begun_ns - arrived_ns)

    def _drain(self) -> None:
        """Serves queued frames until one stays in service, an answer must wait, or the turn is over."""
        if (self._kept or self._unread) and not self._turns.has_time:
            self._resume_next_turn()
            return
        began_s = self._turns.begin()
        self._draining = True
        served = 0
        if self._kept and len(self._kept) > 1 and self._writer is not None:
            self._writer.gather()
        try:
            while not self._closing and not self._in_service and not self.is_sending:
                if (not self._kept and not self._read_on()) or self._closing:
                    break
                if served == FRAMES_A_TURN or (served and not self._turns.may_go_on()):
                    self._resume_next_turn()
                    break
                assert self._kept is not None
                served += 1
                frame, arrived_ns = self._kept.take()
                self._in_service = True
                if self._waits is None:
                    self._serve_frame(self, frame, True)
                else:
                    self._serve_kept(self._serve_frame, frame, arrived_ns)
        finally:
            self._draining = False
            self._turns.end(began_s)
            if self._writer is not None:
                self._writer.flush()
        if not self.is_authenticated:
            self._note_held_bytes()
        is_full = bool(self._unread) or (self._kept is not None and self._kept.nbytes >= RECEIVE_BUFFER_BYTES)
        if self._reading is not None and not is_full and self.muted is None:
            self._reading.resume(BACKLOG)

    def _end(self) -> None:
        """The socket is gone: ends the request in service. Its answer is dropped."""
        self._closing = True
        self._kept, self._unread = None, NOTHING
        if self.work is not None:
            self.work.cancel()
        if self.muted is not None:
            self.muted.cancel()
        self.release_memory()
        if self._writer is not None:
            self._writer.close()
        if self._reading is not None:
            self._reading.end()
