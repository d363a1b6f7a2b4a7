"""Cuts a byte stream into Kafka's frames: an int32 size, then that many bytes.

Pure. Owns: the bytes of a frame that has not arrived completely. Never does: I/O, decoding. Invariant: a size is
checked against the limit before it is used, and no memory is allocated for a frame beyond the limit. Source: Kafka's
protocol guide, "Common Request and Response Structure", and ``NetworkReceive``.

Copies: a frame that lies completely in the received bytes is a view of them, without a copy. A frame that ends in a
later read is copied once. Of a large frame (LARGE_FRAME_BYTES), only the part that was received together with its size
is copied; the rest is received directly into the frame's buffer (:meth:`FrameReader.target`).
"""

from collections.abc import Callable
from functools import partial
from struct import Struct
from typing import NamedTuple

from ..errors import ProtocolError
from .growing_buffer import BUFFER_GROWTH, GrowingBuffer

SIZE = Struct(">i")
LARGE_FRAME_BYTES = 16 * 1024
"""An unfinished frame of at least this size gets its own buffer, into which the rest is received."""
FIRST_BUFFER_BYTES = 64 * 1024
"""The first buffer of a large frame. It is small, because a sender can announce any size without sending it (300
connections that each announce 100 MB would otherwise take 30 GB)."""
UNLIMITED = 1 << 31
NOTHING = memoryview(b"")


class Frames(NamedTuple):
    """The settings for one kind of frames."""

    refusal: Callable[[int, int], str]
    """Returns the error text for a frame, by its size and the limit."""
    first_buffer_bytes: int = FIRST_BUFFER_BYTES
    """The smallest first buffer of a large unfinished frame, in bytes."""


def describe_size(max_key: str, size: int, max_frame_bytes: int) -> str:
    """The error text for a frame's size, which the config ``max_key`` limits. Recognizes the first bytes of HTTP, TLS
    and SSH, which were read as a size."""
    first = SIZE.pack(size)
    if first in (b"GET ", b"POST", b"PUT ", b"HEAD", b"DELE", b"OPTI", b"PATC", b"CONN", b"PRI "):
        reason = "these are the first bytes of an HTTP request; this listener speaks the Kafka protocol"
    elif first[0] == 0x16 and first[1] == 0x03:
        reason = (
            "these are the first bytes of a TLS handshake; this listener is PLAINTEXT: "
            "set the client's security.protocol to PLAINTEXT or connect to a TLS listener"
        )
    elif first == b"SSH-":
        reason = "these are the first bytes of an SSH client; this listener speaks the Kafka protocol"
    elif size < 0:
        reason = "a size can't be negative"
    else:
        reason = f"larger than {max_key}={max_frame_bytes}"
    return f"frame of {size} bytes: {reason}"


REQUESTS = Frames(partial(describe_size, "socket.request.max.bytes"))
UNAUTHENTICATED = Frames(partial(describe_size, "sasl.server.max.receive.size"), 1024)
"""Frames of clients that have not authenticated: an announced size alone makes the reader allocate only 1 KiB."""


class FrameReader:
    """Cuts the received bytes of one connection into frames."""

    __slots__ = ("_kind", "_max_frame_bytes", "_small", "large", "left")

    def __init__(self, max_frame_bytes: int, kind: Frames = REQUESTS) -> None:
        """``max_frame_bytes``: the largest frame that is accepted, without its 4 bytes of size."""
        self._max_frame_bytes = max_frame_bytes
        self._kind = kind
        self._small = bytearray()
        self.left = NOTHING
        """The bytes that the last :meth:`feed` has not looked at. Feed them before any others."""
        self.large: GrowingBuffer | None = None
        """The buffer of a large unfinished frame, or None. If it is set, receive the next bytes into :meth:`target`."""

    def whole_frame(self, buffer: memoryview, count: int) -> memoryview | None:
        """The frame in the first ``count`` bytes of ``buffer`` if they are exactly one frame, as most requests are.

        Otherwise returns None and changes nothing: pass the bytes to :meth:`feed`.
        """
        if count < 4 or self._small or self.large is not None:
            return None
        size = SIZE.unpack_from(buffer)[0]
        return buffer[4:count] if size == count - 4 and size <= self._max_frame_bytes else None

    def limit(self, max_frame_bytes: int, kind: Frames) -> None:
        """Sets the limit and the kind of the frames whose size has not been read yet."""
        self._max_frame_bytes = max_frame_bytes
        self._kind = kind

    @property
    def buffered_bytes(self) -> int:
        """The number of bytes that have arrived of an unfinished frame."""
        return len(self._small) if self.large is None else self.large.filled

    @property
    def held_bytes(self) -> int:
        """The bytes of memory that are allocated for an unfinished frame."""
        return len(self._small) if self.large is None else len(self.large.memory)

    @property
    def large_bytes(self) -> int:
        """The size of the :attr:`large` frame, without its 4 bytes of size."""
        assert self.large is not None, "large_bytes without a large frame"
        return self.large.most_bytes

    def target(self) -> memoryview:
        """The buffer to receive the next bytes into, while there is a :attr:`large` frame.

        After receiving n bytes into it, call ``received(n)``. Do not call :meth:`feed` in between.
        """
        large = self.large
        assert large is not None, "target() without a large frame"
        return memoryview(large.memory)[large.filled :]

    def received(self, count: int) -> memoryview | None:
        """Notes ``count`` bytes received into :meth:`target`. Returns the frame if it is complete; it stays valid."""
        large = self.large
        assert large is not None, "received() without target()"
        large.filled += count
        if large.filled < len(large.memory):
            return None
        if large.filled < large.most_bytes:
            large.grow(large.filled + 1)  # the transport may still hold a view of the old memory
            return None
        self.large = None
        return memoryview(large.memory)

    def feed(self, data: memoryview, most: int = UNLIMITED) -> list[memoryview]:
        """Takes received bytes; returns the frames (without their size) that they complete, in order.

        After ``most`` frames the rest of the bytes is in :attr:`left`: 256 KiB hold 65,536 frames. A frame may be a
        view of ``data``: it is valid only until the caller reuses that buffer. Raises ProtocolError for a negative size
        or one beyond the limit; the caller must then close the connection.
        """
        self.left = NOTHING
        if self.large is not None:
            return self._feed_large(data, most)
        frames: list[memoryview] = []
        position = 0
        end = len(data)
        if self._small:
            position = self._complete_small(data, frames)
        while end - position >= 4:
            size = SIZE.unpack_from(data, position)[0]
            if size < 0 or size > self._max_frame_bytes:
                raise self._refused(size)
            body = position + 4
            if end - body < size:
                break
            position = body + size
            frames.append(data[body:position])
            if len(frames) >= most:
                self.left = data[position:]
                return frames
        if position < end:
            self._keep(data[position:])
        return frames

    def _complete_small(self, data: memoryview, frames: list[memoryview]) -> int:
        """Continues the small unfinished frame with ``data``; returns the position after the bytes taken."""
        small = self._small
        position = 0
        if len(small) < 4:
            position = min(4 - len(small), len(data))
            small += data[:position]
            if len(small) < 4:
                return position
        size: int = SIZE.unpack_from(small)[0]
        if size < 0 or size > self._max_frame_bytes:
            raise self._refused(size)
        missing = 4 + size - len(small)
        taken = data[position : position + missing]
        if len(taken) < missing:
            small += taken
            self._small = bytearray()
            self._keep(memoryview(small))
            return len(data)
        small += taken
        self._small = bytearray()
        frames.append(memoryview(small)[4:])
        return position + missing

    def _keep(self, rest: memoryview) -> None:
        """Keeps the beginning of an unfinished frame. If its size has arrived, the caller has checked it."""
        if len(rest) >= 4:
            size = SIZE.unpack_from(rest)[0]
            if size >= LARGE_FRAME_BYTES:
                filled = len(rest) - 4
                first_bytes = min(size, max(self._kind.first_buffer_bytes, BUFFER_GROWTH * filled))
                self.large = GrowingBuffer(first_bytes, size, filled)
                memoryview(self.large.memory)[:filled] = rest[4:]
                return
        self._small += rest

    def _feed_large(self, data: memoryview, most: int) -> list[memoryview]:
        """:meth:`feed` for an unfinished large frame, if the caller does not use :meth:`target`."""
        frame = None
        position = 0
        while self.large is not None and position < len(data):
            target = self.target()
            count = min(len(target), len(data) - position)
            target[:count] = data[position : position + count]
            position += count
            frame = self.received(count)
        rest = self.feed(data[position:], most) if position < len(data) else []
        return rest if frame is None else [frame, *rest]

    def _refused(self, size: int) -> ProtocolError:
        return ProtocolError(self._kind.refusal(size, self._max_frame_bytes))
