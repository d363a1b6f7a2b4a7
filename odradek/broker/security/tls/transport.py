"""TLS between the socket's transport and a connection, which sees a transport that has plaintext.

Owns: the order of ciphertext and plaintext, backpressure in both directions, the end of a connection. Never does:
serving, encryption (:mod:`.engine`). Invariants: a connection counts from its accept on, so that its limits and
deadlines hold during the handshake; all connections of the loop share one buffer for received ciphertext, and the time
for decryption in each turn (:mod:`...network.turns`); ciphertext that a connection has not decrypted, because it has
paused or waits for its turn, is copied, at most that buffer, and its socket is not read; alerts and close_notify are
sent before the socket is closed. Source: ``SslTransportLayer``.

uvloop's and asyncio's own TLS call the protocol only after the handshake, keep 256 KiB for each connection, and can't
limit how many handshakes a turn does.
"""

import asyncio
import ssl
from typing import Any, Protocol, cast

from odradek.protocol.security.tls_context import ServerTls

from ...network.turns import SharedTurns
from ...timers.work import KindOfWork
from .engine import PIECE_BYTES, EmptyRecordsError, TlsEngine
from .handshakes import HandshakeQueue

TLS = KindOfWork("tls-connection", "continues to read a TLS connection")

RECEIVE_BUFFER_BYTES = 128 * 1024
HANDSHAKE_MAX_BYTES = 256 * 1024
"""The most that a client may send before its handshake is finished: OpenSSL allows 100 KiB of certificates."""
LIGHT_BYTES = 1024
"""A connection with at most this much ciphertext has its turn before others: a small request, but 40 KeyUpdates."""
DECRYPT_S = 0.002
"""The time for decryption in one turn of the loop, in seconds, with the serving of what was decrypted."""
HANDSHAKE_RECORD = 0x16
"""The first byte of every TLS connection."""


class Plaintext(Protocol):
    """The protocol above TLS: a :class:`...network.connection.Connection`, or a :mod:`.stream`."""

    is_authenticated: bool

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """A client connected; its handshake follows."""

    def connection_lost(self, exc: Exception | None) -> None:
        """The socket is gone."""

    def get_buffer(self, sizehint: int) -> memoryview:
        """Where the next plaintext goes."""

    def buffer_updated(self, nbytes: int) -> None:
        """Plaintext arrived."""

    def pause_writing(self) -> None:
        """The peer reads slowly."""

    def resume_writing(self) -> None:
        """The peer has read everything."""

    def holds_ciphertext(self, nbytes: int) -> None:
        """Notes the bytes that TLS holds for a connection that has not authenticated."""

    def refuse(self, reason: object) -> None:
        """Closes the connection because of what its client sent."""

    def close(self) -> None:
        """Closes the connection."""


class TlsListener(Protocol):
    """A listener's TLS as it is now."""

    @property
    def current(self) -> ServerTls:
        """What new connections use."""

    def finished(self, connection: Any, engine: TlsEngine, tls: ServerTls) -> None:
        """A handshake is finished: authenticates the connection, or refuses it."""


class TlsLoop:
    """What the TLS connections of one event loop share."""

    def __init__(self) -> None:
        self.receive_buffer = memoryview(bytearray(RECEIVE_BUFFER_BYTES))
        self.handshakes = HandshakeQueue()
        self.turns = SharedTurns(DECRYPT_S)


class TlsTransport(asyncio.BufferedProtocol):
    """The protocol of an accepted socket, and the transport of its connection."""

    __slots__ = (
        "_closing",
        "_connection",
        "_engine",
        "_handshake_bytes",
        "_is_queued",
        "_is_ready",
        "_left",
        "_listener",
        "_loop",
        "_paused",
        "_reading_paused",
        "_resuming",
        "_sending_paused",
        "_shared",
        "_tls",
        "_waits_for_turn",
    )

    def __init__(self, connection: Plaintext, listener: TlsListener, shared: TlsLoop) -> None:
        """``connection``: not connected yet; it counts as unauthenticated."""
        self._connection = connection
        self._listener = listener
        self._shared = shared
        self._tls = listener.current
        """Taken at the accept: a reload changes later connections only."""
        self._engine: TlsEngine | None = None
        """Made with the first bytes: a silent connection costs no more than a plaintext one."""
        self._loop: asyncio.Transport | None = None
        """The socket's own transport; None before the connection is made and after it is lost."""
        self._is_ready = False
        """Whether the handshake is finished."""
        self._is_queued = False
        self._handshake_bytes = 0
        self._closing = False
        self._paused = False
        """Whether the connection has paused reading."""
        self._sending_paused = False
        self._reading_paused = False
        """Whether the socket is not read."""
        self._resuming = False
        self._left: memoryview | bytes = b""
        """Received ciphertext that OpenSSL has not got yet."""
        self._waits_for_turn = False

    # Called by the event loop.

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """A client connected: the connection counts from now on."""
        self._loop = cast("asyncio.Transport", transport)
        self._connection.connection_made(cast("asyncio.BaseTransport", self))

    def connection_lost(self, exc: Exception | None) -> None:
        """The socket is gone."""
        self._closing = True
        self._loop = None
        self._left = b""
        self._engine = None
        self._connection.connection_lost(exc)

    def get_buffer(self, sizehint: int) -> memoryview:
        """The shared buffer for ciphertext, a small part of it if the time of this turn is over."""
        return self._shared.turns.room(self._shared.receive_buffer)

    def buffer_updated(self, nbytes: int) -> None:
        """Ciphertext arrived."""
        if self._closing:
            return
        received = self._shared.receive_buffer[:nbytes]
        if self._is_ready:
            self._received(received)
            return
        if self._engine is None:
            if received[0] != HANDSHAKE_RECORD:
                self._connection.refuse(_not_tls(bytes(received[:4])))
                return
            self._engine = TlsEngine(self._tls.context)
        self._handshake_bytes += nbytes
        if self._handshake_bytes > HANDSHAKE_MAX_BYTES:
            self._connection.refuse(f"its TLS handshake has more than {HANDSHAKE_MAX_BYTES} bytes")
            return
        self._left = memoryview(bytes(self._left) + bytes(received))
        self._connection.holds_ciphertext(self._handshake_bytes)
        if self.is_closing():
            return
        self._queue_handshake()
        self._read_or_not()

    def eof_received(self) -> bool:
        """The client closed its side, so the connection closes."""
        return False

    def pause_writing(self) -> None:
        """The peer reads slowly: nothing more is sent or received until it has caught up."""
        self._sending_paused = True
        self._connection.pause_writing()
        self._read_or_not()

    def resume_writing(self) -> None:
        """The peer has read everything."""
        self._sending_paused = False
        self._connection.resume_writing()
        self._read_or_not()

    # Called by the queue of handshakes.

    def continue_handshake(self) -> None:
        """Does one step of the handshake."""
        self._is_queued = False
        engine = self._engine
        if self._closing or engine is None:
            return
        self._left = self._left[engine.feed(self._left, 0) :]
        try:
            self._is_ready = engine.handshake()
        except ssl.SSLError as error:
            self._connection.refuse(f"its TLS handshake failed: {describe(error)}")
            return
        if self._is_ready:
            self._listener.finished(self._connection, engine, self._tls)
            if self.is_closing():
                return
        self._send_waiting()
        if self._is_ready:
            self._decrypt(self._left)
        elif self._left:
            self._queue_handshake()
        self._read_or_not()

    # Called by the queue of connections with more ciphertext than there was time for.

    def continue_turn(self) -> None:
        """Decrypts a piece of the ciphertext that waits, and more if no other connection waits."""
        self._waits_for_turn = False
        if not self._closing and not self._paused:
            self._decrypt(self._left)
            self._read_or_not()

    # Called by the connection, as a transport.

    def get_extra_info(self, name: str, default: Any = None) -> Any:
        """As in asyncio's transports: ``ssl_object`` is not None; other values are those of the socket."""
        if name == "ssl_object":
            return self
        return default if self._loop is None else self._loop.get_extra_info(name, default)

    def set_write_buffer_limits(self, high: int | None = None, low: int | None = None) -> None:
        """Sets the limits of the ciphertext that waits to be sent, in bytes."""
        if self._loop is not None:
            self._loop.set_write_buffer_limits(high, low)

    def get_write_buffer_size(self) -> int:
        """The number of bytes that wait to be sent."""
        return 0 if self._loop is None else self._loop.get_write_buffer_size()

    def write(self, data: bytes | bytearray | memoryview) -> None:
        """Encrypts and sends."""
        if self._closing or self._engine is None or self._loop is None:
            return
        try:
            if len(data) <= PIECE_BYTES:
                self._loop.write(self._engine.encrypt(memoryview(data)))
                return
            view = memoryview(data)
            for start in range(0, len(view), PIECE_BYTES):
                self._loop.write(self._engine.encrypt(view[start : start + PIECE_BYTES]))
        except ssl.SSLError as error:
            self._connection.refuse(f"TLS: {describe(error)}")

    def pause_reading(self) -> None:
        """Stops giving plaintext to the connection, and reading the socket."""
        self._paused = True
        self._read_or_not()

    def resume_reading(self) -> None:
        """Continues in the next turn, first with the ciphertext that was already received."""
        self._paused = False
        if not self._resuming:
            self._resuming = True
            TLS.soon(self._resume)

    def is_closing(self) -> bool:
        """Whether the connection is closing."""
        return self._closing

    def close(self) -> None:
        """Sends what waits, an alert or close_notify, and closes the socket."""
        if self._closing:
            return
        self._closing = True
        if self._loop is None:
            return
        if self._engine is not None:
            last = self._engine.close()
            if last:
                self._loop.write(last)
        self._loop.close()

    def abort(self) -> None:
        """Breaks the connection. Unsent bytes are lost."""
        self._closing = True
        if self._loop is not None:
            self._loop.abort()

    # From ciphertext to plaintext.

    def _received(self, ciphertext: memoryview) -> None:
        """Decrypts at once if there is time in this turn of the loop."""
        if not self._left and self._shared.turns.has_time:
            self._decrypt(ciphertext)
        else:
            self._keep(bytes(self._left) + bytes(ciphertext))
            self._wait_for_turn()
        if self._left:
            self._read_or_not()

    def _decrypt(self, ciphertext: memoryview | bytes) -> None:
        """Gives the connection the plaintext of received bytes. Keeps the rest if the connection has paused, or if its
        turn is over: then it waits for the next one.
        """
        engine = self._engine
        assert engine is not None
        turns = self._shared.turns
        began_s = turns.begin()
        start, is_over = 0, False
        try:
            while self._deliver(engine) and start < len(ciphertext):
                if start and not turns.may_go_on():
                    is_over = True
                    break
                start = engine.feed(ciphertext, start)
            self._keep(ciphertext[start:])
            if is_over:
                self._wait_for_turn()
        finally:
            turns.end(began_s)

    def _keep(self, left: memoryview | bytes) -> None:
        """Keeps ciphertext for later: a copy, unless it is a part of what was kept before."""
        if self._closing or not left:
            left = b""
        elif isinstance(left, memoryview) and left.obj is self._shared.receive_buffer.obj:
            left = memoryview(bytes(left))
        if left or self._left:
            self._left = left
            if not self._connection.is_authenticated:
                self._connection.holds_ciphertext(self._handshake_bytes + len(left))

    def _wait_for_turn(self) -> None:
        if not self._waits_for_turn:
            self._waits_for_turn = True
            self._shared.turns.put(self, len(self._left) <= LIGHT_BYTES)

    def _queue_handshake(self) -> None:
        if not self._is_queued:
            self._is_queued = True
            self._shared.handshakes.put(self)

    def _deliver(self, engine: TlsEngine) -> bool:
        """Decrypts what was fed. Returns False if the connection has paused or closed."""
        connection = self._connection
        while not self._paused and not self._closing:
            target = connection.get_buffer(-1)
            try:
                count = engine.read_into(target)
            except ssl.SSLError as error:
                connection.refuse(f"TLS: {describe(error)}")
                return False
            except EmptyRecordsError as error:
                connection.refuse(error)
                return False
            if count:
                connection.buffer_updated(count)
            if self.is_closing():
                return False
            self._send_waiting()
            if engine.is_at_end:
                connection.close()
                return False
            if count < len(target):
                return not self._paused
        return False

    def _resume(self) -> None:
        self._resuming = False
        if self._closing or self._paused or not self._is_ready or self._waits_for_turn:
            return
        if self._shared.turns.has_time:
            self._decrypt(self._left)
            self._read_or_not()
        else:
            self._wait_for_turn()

    def _send_waiting(self) -> None:
        """Sends bytes that OpenSSL has produced by itself, such as alerts."""
        assert self._engine is not None
        waiting = self._engine.take()
        if waiting and self._loop is not None:
            self._loop.write(waiting)

    def _read_or_not(self) -> None:
        """Reads the socket unless the connection or the peer is behind, or received bytes wait for their turn."""
        if self._closing or self._loop is None:
            return
        has_enough = len(self._left) >= (1 if self._is_ready else PIECE_BYTES)
        pause = self._paused or self._sending_paused or has_enough
        if pause != self._reading_paused:
            self._reading_paused = pause
            if pause:
                self._loop.pause_reading()
            else:
                self._loop.resume_reading()


def describe(error: ssl.SSLError) -> str:
    """The reason of OpenSSL in words, such as ``certificate verify failed: certificate has expired``."""
    reason = (error.reason or str(error)).lower().replace("_", " ")
    if isinstance(error, ssl.SSLCertVerificationError):
        return f"{reason}: {error.verify_message}"
    return reason


def _not_tls(first: bytes) -> str:
    """Why the first bytes are refused."""
    if first in (b"GET ", b"POST", b"PUT ", b"HEAD", b"CONN"):
        return "these are the first bytes of an HTTP request; this listener speaks the Kafka protocol over TLS"
    return "its first bytes are not TLS: a client of this listener needs security.protocol=SSL or SASL_SSL"
