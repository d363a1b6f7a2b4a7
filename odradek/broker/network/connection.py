"""The connections of clients: bytes in, frames to the dispatcher.

Owns: the socket's receive side, who the client is, how the connection ends. Never does: decoding, deciding. The order
of requests and answers is :mod:`.request_order`'s. Source: ``SocketServer``, ``KafkaChannel``.

All connections of the loop share one receive buffer, so a frame is a view that is valid only inside the callback. (With
its own buffer, an idle connection costs 262 KiB; with the shared one, 1.4 KiB.)
"""

import asyncio
import logging
import sys
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Protocol, cast

from odradek.protocol.errors import ProtocolError
from odradek.protocol.framing.frames import NOTHING, REQUESTS, UNAUTHENTICATED, FrameReader
from odradek.protocol.security.acl import ANONYMOUS

from ..timers.slices import Slices
from .request_order import FRAMES_A_TURN, RequestOrder, SocketReading
from .response_writer import Part, writer_of
from .turns import SharedTurns

if TYPE_CHECKING:
    from .waiting import Waiting

logger = logging.getLogger(__name__)

ASKS, WORKS = 1, 2
"""What a connection has sent: questions for metadata; anything that clients send to the node that they chose."""
UNKNOWN_SOFTWARE = ("unknown", "unknown")
"""Name and version of a client that has not sent them (``ClientInformation.UNKNOWN_NAME_OR_VERSION``)."""

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
    turns: SharedTurns
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


class Connection(RequestOrder, asyncio.BufferedProtocol):
    """The protocol object of one accepted socket."""

    __slots__ = (
        "_ciphertext_bytes",
        "_connections",
        "_frames",
        "by_token",
        "came_to",
        "client_host",
        "client_id",
        "client_port",
        "committed_head",
        "connection_id",
        "is_known",
        "last_used_ms",
        "listener_name",
        "name",
        "principal",
        "produced_head",
        "sent",
        "serve_request",
        "software",
        "transport",
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
        serve_first = serve if authentication is None else authentication.start()
        super().__init__(serve_first, slices, connections.turns, connections.waiting, authentication is None)
        self._connections = connections
        self.serve_request = serve
        """Serves the request of a connection that has authenticated."""
        if authentication is None:
            self._frames = FrameReader(connections.max_request_bytes)
        else:
            self._frames = FrameReader(authentication.max_frame_bytes, UNAUTHENTICATED)
        self._ciphertext_bytes = 0
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
        self.is_known = False
        """Whether the client has sent a request with its client id."""
        self.client_id: str | None = None
        """The client id of a request that it has sent."""
        self.name = ""
        """The API of the request that is served in a lane, for the log of stalls."""
        self.committed_head = 0
        """The bytes of the last OffsetCommit request before its partitions, for the lane of OffsetCommit."""
        self.produced_head = 0
        """The bytes of the last Produce request before its records, for the lane of Produce."""
        self.last_used_ms = 0.0
        self.came_to: tuple[str, int] | None = None
        """The host and port by which the client came."""
        self.sent = 0
        """ASKS and WORKS, as far as requests took the general path."""

    @property
    def has_worked(self) -> bool:
        """Whether the client has sent anything but what it sends to any broker, to learn where to go."""
        lane = self.name not in ("", "ApiVersions", "Metadata")
        return self.sent >= WORKS or lane or bool(self.produced_head or self.committed_head)

    # Called by the event loop.

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """A client connected. It is refused at once if a limit of connections is reached."""
        # uvloop's transports do not inherit from asyncio.Transport, but have its methods.
        self.transport = transport = cast("asyncio.Transport", transport)
        peer = transport.get_extra_info("peername")
        if peer:
            # One string object for all connections of a host: every request reads it.
            self.client_host, self.client_port = sys.intern(peer[0]), peer[1]
            came_to = transport.get_extra_info("sockname")
            self.came_to = None if came_to is None else (came_to[0], came_to[1])
        if not self._connections.admit(self):
            self._closing = True
            transport.abort()
            return
        self._writer = writer_of(transport) if self._waits is None else self._waits.writer_of(transport)
        self._reading = SocketReading(transport)

    def connection_lost(self, exc: Exception | None) -> None:
        """The socket is gone. The answer to a request in service is dropped."""
        self._end()
        self.transport = None
        self._connections.forget(self)

    def get_buffer(self, sizehint: int) -> memoryview:
        """The buffer for the next bytes: a large frame's own, or the loop's shared one. In a turn without time for them
        it is small: a thousand sockets can have 256 KiB each.
        """
        if self._frames.large is not None:
            return self._frames.target()
        buffer = self._connections.receive_buffer
        return buffer if self._turns.has_time else self._turns.room(buffer)

    def buffer_updated(self, nbytes: int) -> None:
        """Bytes arrived: serves the frames that they complete, as far as there is time in this turn."""
        if self._closing:
            return
        turns = self._turns
        began_s = turns.begin()
        try:
            frame = self._frames.whole_frame(self._connections.receive_buffer, nbytes)
            if frame is not None:
                self._serve_or_queue(frame, False)
            else:
                self._received(nbytes)
        finally:
            turns.end(began_s)

    def _received(self, nbytes: int) -> None:
        """Serves the frames that received bytes complete, if they are not exactly one whole frame."""
        reader = self._frames
        if reader.large is not None:
            frame = reader.received(nbytes)
            if frame is not None:
                self._serve_or_queue(frame, owned=True)
        elif not self._turns.has_time:
            self._put_off(self._connections.receive_buffer[:nbytes])
        else:
            try:
                frames = reader.feed(self._connections.receive_buffer[:nbytes], FRAMES_A_TURN)
            except ProtocolError as error:
                self.refuse(str(error))
                return
            left = reader.left
            if len(frames) == 1:
                self._serve_or_queue(frames[0], False)
            else:
                self._serve_pipelined(frames)
            if left and not self._closing:
                self._put_off(left)  # not before: an answer would serve them before these frames
            if self.muted is not None and self._frames.large is not None:
                self._pause_reading()
        if not self.is_authenticated:
            self._note_held_bytes()

    def _put_off(self, received: memoryview) -> None:
        """Keeps received bytes for the next turn."""
        self._unread = memoryview(bytes(self._unread) + bytes(received))
        self._pause_reading()
        self._resume_next_turn()

    def _read_on(self) -> bool:
        """Queues the next frames of bytes that have arrived earlier. Returns False if none are left."""
        if not self._unread:
            return False
        try:
            frames = self._frames.feed(self._unread, FRAMES_A_TURN)
        except ProtocolError as error:
            self.refuse(str(error))
            return False
        self._unread = self._frames.left
        for frame in frames:
            self._keep(frame, owned=True)
        if self.muted is not None and self._frames.large is not None:
            self._pause_reading()
        return bool(frames)

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
        self._used()  # a slow reader of a large answer is not idle
        if self._writer.resume() and not self._in_service:
            self._drain()

    # Called by the TLS of its transport.

    def holds_ciphertext(self, nbytes: int) -> None:
        """Notes the bytes that TLS holds: those of the handshake, since OpenSSL never shrinks its buffers, and those
        that wait to be decrypted. They count until the connection has authenticated.
        """
        self._ciphertext_bytes = nbytes
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

    # Its end.

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
        self._kept, self._unread = None, NOTHING
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

    # Limits.

    def _note_held_bytes(self) -> None:
        """Counts the memory of what the client has sent before it has authenticated."""
        if not self._closing:
            queued_bytes = self._unread.nbytes + (0 if self._kept is None else self._kept.nbytes)
            self._connections.holds(self, self._frames.held_bytes + queued_bytes + self._ciphertext_bytes)

    def _used(self) -> None:
        self._connections.used(self)
