"""The memory of bytes of a mapped frame is freed after their last read, and no other byte changes."""

import sys
from mmap import PAGESIZE, mmap

import pytest

from odradek.protocol.framing.growing_buffer import MAPPED_BYTES
from odradek.protocol.records.consumed_pages import STEP_BYTES, consumer_of
from support.data.frames import as_received

SIZE = MAPPED_BYTES + 3 * STEP_BYTES


def frame_of(size: int) -> memoryview:
    return as_received(size.to_bytes(4) + bytes(range(1, 252)) * (size // 251) + b"x" * (size % 251))


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux gives such pages back")
@pytest.mark.parametrize("begin", [0, 1, 61, PAGESIZE - 1, PAGESIZE, 3 * PAGESIZE + 7])
def test_whole_pages_of_what_was_consumed_are_gone(begin: int) -> None:
    frame = frame_of(SIZE)
    assert isinstance(frame.obj, mmap), "the frame is mapped"
    before = bytes(frame)
    end = SIZE - STEP_BYTES - 11
    consumed = consumer_of(frame[begin:end])
    for count in range(0, end - begin, 65_536):
        consumed(count)
    last = begin + count
    first_page, last_page = -(-begin // PAGESIZE) * PAGESIZE, last // PAGESIZE * PAGESIZE
    gone = bytes(frame[first_page:last_page]).count(0)
    assert gone >= last_page - first_page - STEP_BYTES
    assert gone % PAGESIZE == 0
    assert bytes(frame[:first_page]) == before[:first_page]
    assert bytes(frame[last_page:]) == before[last_page:]


def test_a_step_is_given_back_at_once() -> None:
    frame = frame_of(SIZE)
    consumed = consumer_of(frame)
    consumed(STEP_BYTES - 1)
    assert frame[0] == 1
    consumed(STEP_BYTES)
    assert frame[0] == (0 if sys.platform == "linux" else 1)
    assert frame[STEP_BYTES] != 0


def test_bytes_that_are_not_mapped_stay() -> None:
    for kept in (memoryview(b"\x01" * SIZE), memoryview(bytearray(b"\x01" * SIZE)), frame_of(SIZE).toreadonly()):
        consumer_of(kept)(SIZE)
        assert 0 not in kept[:PAGESIZE].tobytes()
