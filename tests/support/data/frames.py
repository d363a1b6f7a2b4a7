"""Frames as a connection receives them."""

from odradek.protocol.framing.frames import FrameReader

READ_BYTES = 256 * 1024


def as_received(data: bytes) -> memoryview:
    """The one frame in ``data``, which begins with its size, received piece by piece."""
    reader = FrameReader(len(data))
    for start in range(0, len(data), READ_BYTES):
        frames = reader.feed(memoryview(data)[start : start + READ_BYTES])
        if frames:
            return frames[0]
    raise AssertionError("the frame has no end")
