"""Framing: for any division of the bytes the frames are the same. An announced size alone allocates no memory."""

import random
import struct

import pytest

from odradek.protocol.errors import ProtocolError
from odradek.protocol.framing.frames import LARGE_FRAME_BYTES, FrameReader
from support.each import each

LIMIT = 1_000_000


def framed(*bodies: bytes) -> bytes:
    return b"".join(struct.pack(">i", len(body)) + body for body in bodies)


def receive(reader: FrameReader, data: bytes) -> list[bytes]:
    """Receives as a connection does: into the buffer of the reader if it has one."""
    frames = []
    view = memoryview(data)
    while view:
        if reader.large is None:
            whole = reader.whole_frame(view, len(view))
            frames += [bytes(frame) for frame in (reader.feed(view) if whole is None else [whole])]
            return frames
        target = reader.target()
        count = min(len(target), len(view))
        target[:count] = view[:count]
        view = view[count:]
        frame = reader.received(count)
        if frame is not None:
            frames.append(bytes(frame))
    return frames


@each("seed", range(200))
def test_any_cut_gives_the_same_frames(seed: int) -> None:
    chance = random.Random(seed)
    sizes = [
        chance.choice([0, 1, 3, 4, 5, 100, LARGE_FRAME_BYTES - 1, LARGE_FRAME_BYTES, 50_000, 300_000]) for _ in range(8)
    ]
    bodies = [chance.randbytes(size) for size in sizes]
    data = framed(*bodies)
    reader = FrameReader(LIMIT)
    frames: list[bytes] = []
    position = 0
    while position < len(data):
        step = chance.choice([1, 2, 3, 4, 5, 7, 1000, 20_000, 70_000])
        frames += receive(reader, data[position : position + step])
        position += step
    assert frames == bodies, f"seed {seed}"
    assert reader.buffered_bytes == 0


def test_bytes_are_one_whole_frame_or_left_to_feed() -> None:
    reader = FrameReader(10)
    received = bytearray(64)

    def whole(data: bytes) -> bytes | None:
        received[: len(data)] = data
        frame = reader.whole_frame(memoryview(received), len(data))
        return None if frame is None else bytes(frame)

    assert whole(framed(b"one")) == b"one"
    assert whole(framed(b"")) == b""
    for data in (framed(b"one", b"two"), framed(b"one")[:-1], framed(b"one") + b"x", b"\0\0\0", framed(bytes(11))):
        assert whole(data) is None
    assert whole(struct.pack(">i", -4)) is None
    assert reader.feed(memoryview(b"\0")) == []
    assert whole(framed(b"one")) is None, "it goes on with the frame that has begun"
    assert [bytes(frame) for frame in reader.feed(memoryview(b"\0\0\3two"))] == [b"two"]
    assert whole(framed(b"one")) == b"one"


def test_feed_alone_completes_large_frames_too() -> None:
    bodies = [bytes([i]) * 40_000 for i in range(3)]
    data = framed(*bodies)
    reader = FrameReader(LIMIT)
    frames = []
    for position in range(0, len(data), 9_999):
        frames += [bytes(frame) for frame in reader.feed(memoryview(data)[position : position + 9_999])]
    assert frames == bodies


@pytest.mark.parametrize("size", [-1, -(2**31), LIMIT + 1, 2**31 - 1])
@pytest.mark.parametrize("cut", [4, 1])
def test_a_size_out_of_bounds_is_refused_before_its_bytes_come(size: int, cut: int) -> None:
    reader = FrameReader(LIMIT)
    data = memoryview(struct.pack(">i", size))
    for position in range(0, 4 - cut, cut):
        assert reader.feed(data[position : position + cut]) == []
    with pytest.raises(ProtocolError, match="frame of"):
        reader.feed(data[4 - cut :])
    assert reader.buffered_bytes <= 4


@pytest.mark.parametrize(
    ("first", "says"),
    [
        (b"GET / HTTP/1.1\r\n", "HTTP"),
        (b"POST /topics HTTP/1.1", "HTTP"),
        (b"\x16\x03\x01\x02\x00\x01", "security.protocol"),
        (b"SSH-2.0-OpenSSH", "SSH"),
        (b"\x7f\xff\xff\xff", "socket.request.max.bytes=100000000"),
    ],
)
def test_other_protocols_are_named(first: bytes, says: str) -> None:
    with pytest.raises(ProtocolError, match=says):
        FrameReader(100_000_000).feed(memoryview(first))


def test_a_frame_within_the_received_bytes_is_not_copied() -> None:
    data = bytearray(framed(b"abc", b"def"))
    first, second = FrameReader(LIMIT).feed(memoryview(data))
    data[4:7] = b"xyz"
    assert bytes(first) == b"xyz"
    assert bytes(second) == b"def"


def test_what_is_announced_takes_no_memory_before_it_comes() -> None:
    reader = FrameReader(100_000_000)
    assert reader.feed(memoryview(struct.pack(">i", 100_000_000) + bytes(20_000))) == []
    target = reader.target()
    assert len(target) < 1_000_000


def test_many_small_frames_are_cut_a_few_at_a_time() -> None:
    """The rest of the bytes is left, and fed again later."""
    data = memoryview(b"".join(struct.pack(">i", 1) + bytes([number]) for number in range(100)) + b"\0\0")
    reader = FrameReader(LIMIT)
    frames = reader.feed(data, 30)
    assert len(frames) == 30
    while reader.left:
        some = reader.feed(reader.left, 30)
        assert 0 < len(some) <= 30
        frames += some
    assert [bytes(frame)[0] for frame in frames] == list(range(100))
    assert [bytes(frame) for frame in reader.feed(memoryview(b"\0\1x"))] == [b"x"]
