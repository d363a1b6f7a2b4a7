"""The connections of clients: bytes in, frames to the dispatcher, answers out in the order of the requests.

Owns: the socket's receive side, the one request in service, the queued frames. Never does: decoding, deciding.
Invariants: one request of a connection is in service at a time (as in Kafka, which mutes the channel), so answers keep
the order of requests and a client can't make the broker hold more than one answer and one receive buffer for it; while
an answer waits for a slow reader, no further request is served. Source: ``SocketServer``.

All connections of the loop share one receive buffer, so a frame is a view that is valid only inside the callback. (With
its own buffer, an idle connection costs 262 KiB; with the shared one, 1.4 KiB.)
"""

import asyncio
import logging
import sys
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from time import perf_counter
from typing import TYPE_CHECKING, Protocol, cast

from ...protocol.errors import ProtocolError
from ...protocol.framing import REQUESTS, UNAUTHENTICATED, FrameReader
from ..acls.acl import ANONYMOUS
from ..timers.slices import SlicedWork, Slices
from ..timers.stall_report import Served
from .memory_budget import Reservation
from .response_writer import Part, ResponseWriter, writer_of

if TYPE_CHECKING:
    from .waiting import Waiting

logger = logging.getLogger(__name__)

RECEIVE_BUFFER_BYTES = 256 * 1024
FRAMES_A_TURN = 32
"""The number of pipelined requests of one connection that are served before other connections get a turn."""
TURN_S = 0.005
"""The longest time that pipelined requests of one connection are served in one turn. The one in service is finished."""

UNKNOWN_SOFTWARE = ("unknown", "unknown")
"""Name and version of a client that has not sent them (``ClientInformation.UNKNOWN_NAME_OR_VERSION``)."""

UNAUTHENTICATED_FRAMES = 4
"""The number of requests of a client that has not authenticated which may wait for an answer. Clients send one at a
time; 65,536 empty ones in one receive buffer would take 15 MB.
"""

ServeFrame = Callable[["Connection", memoryview, bool], None]
"""Serves a frame. The flag: whether the bytes stay valid after the call; otherwise they are valid only inside it."""


class Authentication(Protocol):
    """How the connections of a listener authenticate (``ChannelBuilder``, ``Authenticator``)."""

    @property
    def max_frame_bytes(self) -> int:
        """The largest frame before a connection has authenticated (``sasl.server.max.receive.size``)."""

    def start(self) -> ServeFrame:
        """Serves the frames of a new connection until :meth:`Connection.authenticated` is called."""


class Registry(Protocol):
    """What a connection needs of the set of open connections (:class:`.connections.Connections`)."""

    max_request_bytes: int
    receive_buffer: memoryview
    waiting: "Waiting | None"

    def admit(self, connection: "Connection") -> bool:
        """Adds a new connection to the open ones. Returns False if a limit is reached."""

    def authenticated(self, connection: "Connection") -> None:
        """Notes that the connection has authenticated."""

    def holds(self, connection: "Connection", held_bytes: int) -> None:
        """Notes the bytes that are held for a connection that has not authenticated."""

    def forget(self, connection: "Connection") -> None:
        """Removes a closed connection from the open ones."""

    def used(self, connection: "Connection") -> None:
        """Notes that the connection is in use."""


class Connection(asyncio.BufferedProtocol):
    """The protocol object of one accepted socket."""

    __slots__ = (
        "_arrivals",
        "_closing",
        "_connections",
        "_draining",
        "_frames",
        "_handshake_bytes",
        "_in_service",
        "_paused_reading",
        "_resuming",
        "_serve_frame",
        "_slices",
        "_waiting",
        "_waiting_bytes",
        "_writer",
        "arrived_ns",
        "by_token",
        "client_host",
        "client_port",
        "connection_id",
        "is_authenticated",
        "last_used_ms",
        "listener_name",
        "muted",
        "principal",
        "reservation",
        "serve_request",
        "software",
        "transport",
        "work",
    )

    def __init__(
        self,
        connections: Registry,
        serve: ServeFrame,
        slices: Slices,
        listener_name: str,
        authentication: Authentication | None = None,
    ) -> None:
        """``serve`` is called with each frame in turn. ``slices`` runs long work of a request. ``authentication``
        serves the frames until the client has authenticated; None: the connection counts as authenticated (PLAINTEXT).
        """
        self._connections = connections
        self.serve_request = serve
        """Serves the request of a connection that has authenticated."""
        self.is_authenticated = authentication is None
        if authentication is None:
            self._serve_frame = serve
            self._frames = FrameReader(connections.max_request_bytes)
        else:
            self._serve_frame = authentication.start()
            self._frames = FrameReader(authentication.max_frame_bytes, UNAUTHENTICATED)
        self._handshake_bytes = 0
        self._slices = slices
        self._writer: ResponseWriter | None = None
        self._waiting: deque[memoryview] | None = None
        """Created when a frame has to wait: an empty deque has 0.6 KiB, and most connections never need one."""
        self._waiting_bytes = 0
        self._arrivals: deque[int] | None = None
        """When each of them arrived; None without metrics."""
        self.arrived_ns = 0
        """When the request in service arrived, if it has waited and nothing has counted that yet; else 0."""
        self._in_service = False
        self._draining = False
        self._closing = False
        self._paused_reading = False
        self._resuming = False
        self.muted: asyncio.TimerHandle | None = None  # the end of the mute, while the client is over a quota
        self.transport: asyncio.Transport | None = None
        self.listener_name = listener_name
        self.client_host = ""
        self.principal = ANONYMOUS
        """The authenticated principal, as ``Type:name``."""
        self.by_token = False
        """Whether it has authenticated with a delegation token."""
        self.client_port = 0
        self.software = UNKNOWN_SOFTWARE
        """Name and version of the client library (KIP-511)."""
        self.connection_id = 0
        self.last_used_ms = 0.0
        self.work: SlicedWork | None = None
        """The request in service, if it takes more than one slice; it ends with the connection."""
        self.reservation: Reservation | None = None
        """The memory that the request in service has reserved, or waits for, if it is large."""

    # Called by the event loop.

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """A client connected. It is refused at once if a limit of connections is reached."""
        # uvloop's transports do not inherit from asyncio.Transport, but have its methods.
        self.transport = transport = cast("asyncio.Transport", transport)
        peer = transport.get_extra_info("peername")
        if peer:
            # One string object for all connections of a host: every request reads it.
            self.client_host, self.client_port = sys.intern(peer[0]), peer[1]
        if not self._connections.admit(self):
            self._closing = True
            transport.abort()
            return
        waiting = self._connections.waiting
        self._writer = writer_of(transport) if waiting is None else waiting.writer_of(transport)

    def connection_lost(self, exc: Exception | None) -> None:
        """The socket is gone. The answer to a request in service is dropped."""
        self._closing = True
        self.transport = None
        self._waiting = None
        if self.work is not None:
            self.work.cancel()
        if self.muted is not None:
            self.muted.cancel()
        self.release_memory()
        if self._writer is not None:
            self._writer.close()
        self._connections.forget(self)

    def get_buffer(self, sizehint: int) -> memoryview:
        """The buffer for the next bytes: a large frame's own, or the loop's shared one."""
        if self._frames.large is None:
            return self._connections.receive_buffer
        return self._frames.target()

    def buffer_updated(self, nbytes: int) -> None:
        """Bytes arrived: serves the frames that they complete."""
        if self._closing:
            return
        reader = self._frames
        frame = reader.whole_frame(self._connections.receive_buffer, nbytes)
        if frame is not None:
            self._serve_or_queue(frame, False)
            return
        if reader.large is not None:
            frame = reader.received(nbytes)
            if frame is not None:
                self._serve_or_queue(frame, owned=True)
        else:
            try:
                frames = reader.feed(self._connections.receive_buffer[:nbytes])
            except ProtocolError as error:
                self.refuse(str(error))
                return
            if len(frames) == 1:
                self._serve_or_queue(frames[0], False)
            else:
                self._serve_pipelined(frames)
            if self.muted is not None and self._frames.large is not None:
                self._pause_reading()
        if not self.is_authenticated:
            self._note_held_bytes()

    def eof_received(self) -> bool:
        """The client closed its side, so the connection closes."""
        return False

    def pause_writing(self) -> None:
        """The peer reads slowly: no further request is served until it has caught up."""
        if self._writer is not None:
            self._writer.pause()

    def resume_writing(self) -> None:
        """The write buffer is empty again: sends the rest of the answer, then continues."""
        if self._writer is None or self._closing:
            return
        self._connections.used(self)  # a slow reader of a large answer is not idle
        if self._writer.resume() and not self._in_service:
            self._drain()

    # Called by the TLS of its transport.

    def received_handshake(self, nbytes: int) -> None:
        """Bytes of a TLS handshake arrived. They count as held until the connection has authenticated: OpenSSL never
        shrinks its buffers.
        """
        self._handshake_bytes += nbytes
        if not self.is_authenticated:
            self._note_held_bytes()

    # Called by the listener's authentication.

    def authenticated(self, principal: str, serve: ServeFrame | None = None, by_token: bool = False) -> None:
        """The client is ``principal`` from now on. Its frames go to ``serve``; None: to :attr:`serve_request`.

        ``by_token``: it has logged in with a delegation token.
        """
        self.principal = sys.intern(principal)
        self.by_token = by_token
        self._serve_frame = self.serve_request if serve is None else serve
        if not self.is_authenticated:
            self.is_authenticated = True
            self._frames.limit(self._connections.max_request_bytes, REQUESTS)
            self._connections.authenticated(self)

    # Called by the dispatcher.

    def answered(self, parts: list[Part] | None) -> None:
        """Sends the answer to the request in service (None: it wants no answer), and serves the next one."""
        self._in_service = self.muted is not None
        if self._closing:
            return
        if parts is not None:
            assert self._writer is not None
            self._writer.write(parts)
        if self._waiting and not self._draining:
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
            self.muted = asyncio.get_running_loop().call_later(mute_ms / 1000, self._unmute)

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

    def release_memory(self) -> None:
        """Releases the memory that the request in service has reserved, if any."""
        reservation, self.reservation = self.reservation, None
        if reservation is not None:
            reservation.release()

    def refuse(self, reason: object, parts: Sequence[Part] | None = None) -> None:
        """Closes this connection because of what its client sent, after ``parts`` as the last answer. Logs one line
        with ``str(reason)``.
        """
        if self._closing:
            return
        if parts is not None and self._writer is not None:
            self._writer.write(list(parts))
        self._closing = True
        logger.warning(
            "closing the connection of %s:%d on listener %s: %s",
            self.client_host,
            self.client_port,
            self.listener_name,
            reason,
        )
        self._waiting = None
        self._close_transport()

    def close(self) -> None:
        """Closes the connection without a log line (shutdown, idle)."""
        if not self._closing:
            self._closing = True
            self._close_transport()

    def _close_transport(self) -> None:
        """Closes the transport after the answers that are already written."""
        if self._writer is not None:
            self._writer.flush()
        if self.transport is not None:
            self.transport.close()

    def abort(self) -> None:
        """Breaks the connection. Unsent data is lost."""
        self._closing = True
        if self.transport is not None:
            self.transport.abort()

    @property
    def is_in_service(self) -> bool:
        """Whether a request waits for its answer."""
        return self._in_service

    @property
    def holds_frames(self) -> bool:
        """Whether received requests wait here that are not served yet."""
        return bool(self._waiting)

    @property
    def is_closing(self) -> bool:
        """Whether the connection is closing. Earlier answers may still be in transit."""
        return self._closing

    @property
    def is_sending(self) -> bool:
        """Whether an answer waits for a slow reader."""
        return self._writer is not None and self._writer.is_sending

    # Order and limits.

    def _note_held_bytes(self) -> None:
        """Counts the memory of what the client has sent before it has authenticated."""
        if not self._closing:
            held_bytes = self._frames.held_bytes + self._waiting_bytes + self._handshake_bytes
            self._connections.holds(self, held_bytes)

    def _serve_or_queue(self, frame: memoryview, owned: bool) -> None:
        """Serves a frame now, or queues it (a copy, unless the frame owns its bytes) after the one in service."""
        if self._closing:
            return
        assert self._writer is not None
        if self._in_service or self._waiting or self._writer.is_sending:
            self._keep(frame, owned)
            return
        self._in_service = True
        self._serve_frame(self, frame, owned)

    def _serve_pipelined(self, frames: list[memoryview]) -> None:
        """Serves pipelined frames until the turn of this connection is over, and queues the rest for the next turn."""
        if not frames:
            return
        assert self._writer is not None
        self._writer.gather()
        until_s = perf_counter() + TURN_S
        try:
            for number, frame in enumerate(frames, 1):
                self._serve_or_queue(frame, False)
                if number < len(frames) and (number == FRAMES_A_TURN or perf_counter() >= until_s):
                    for later in frames[number:]:
                        self._keep(later, owned=False)
                    self._resume_next_turn()
                    return
        finally:
            self._writer.flush()

    def _keep(self, frame: memoryview, owned: bool) -> None:
        """Queues a frame for later. Reading pauses if the queue holds as much as a receive buffer."""
        if self._closing:
            return
        if self._waiting is None:
            self._waiting = deque()
        if len(self._waiting) == UNAUTHENTICATED_FRAMES and not self.is_authenticated:
            self.refuse(f"its client sent more than {UNAUTHENTICATED_FRAMES} requests before it authenticated")
            return
        self._waiting.append(frame if owned else memoryview(bytes(frame)))
        self._waiting_bytes += len(frame)
        if self._connections.waiting is not None:
            self._arrivals = self._arrivals or deque()
            self._arrivals.append(self._connections.waiting.clock_ns())
        if self._waiting_bytes >= RECEIVE_BUFFER_BYTES or not self.is_authenticated:
            self._pause_reading()

    def _pause_reading(self) -> None:
        if not self._paused_reading and self.transport is not None:
            self._paused_reading = True
            self.transport.pause_reading()

    def _unmute(self) -> None:
        self.muted, self._in_service = None, False
        self._connections.used(self)  # it was not idle: it had to wait
        self._drain()

    def _resume_next_turn(self) -> None:
        """Continues after the other connections had a turn."""
        if not self._resuming:
            self._resuming = True
            asyncio.get_running_loop().call_soon(self._resume)

    def _resume(self) -> None:
        self._resuming = False
        if not self._draining:
            self._drain()

    def _serve_late(self, serve: ServeFrame, frame: memoryview, arrived_ns: int) -> None:
        """Serves a request that has waited since ``arrived_ns``. Counts the wait, unless it goes on (in slices)."""
        waiting = self._connections.waiting
        assert waiting is not None
        begun_ns, self.arrived_ns = waiting.clock_ns(), arrived_ns
        is_request = self.is_authenticated  # else it belongs to the authentication, which metrics do not count
        serve(self, frame, True)
        if self.take_arrival(0) and is_request:
            waiting.waited(frame, begun_ns - arrived_ns)

    def _drain(self) -> None:
        """Serves queued frames until one stays in service, an answer must wait, or the turn is over."""
        self._draining = True
        served = 0
        if self._waiting and len(self._waiting) > 1 and self._writer is not None:
            self._writer.gather()
        until_s = perf_counter() + TURN_S
        try:
            while self._waiting and not self._closing and not self._in_service and not self.is_sending:
                if served == FRAMES_A_TURN or (served and perf_counter() >= until_s):
                    self._resume_next_turn()
                    break
                served += 1
                frame = self._waiting.popleft()
                self._waiting_bytes -= len(frame)
                self._in_service = True
                if self._arrivals:
                    self._serve_late(self._serve_frame, frame, self._arrivals.popleft())
                else:
                    self._serve_frame(self, frame, True)
        finally:
            self._draining = False
            if self._writer is not None:
                self._writer.flush()
        if not self.is_authenticated:
            self._note_held_bytes()
        if self._paused_reading and self._waiting_bytes < RECEIVE_BUFFER_BYTES and self.muted is None:
            self._paused_reading = False
            if self.transport is not None:
                self.transport.resume_reading()
