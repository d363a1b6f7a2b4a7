"""A growing buffer holds the bytes that were added, in a bytearray or in a mapping, and takes no memory beyond them."""

from mmap import mmap
from random import Random

import pytest

from odradek.protocol.records.growing_buffer import MAPPED_FROM_BYTES, GrowingBuffer


@pytest.mark.parametrize("size", [0, 1, MAPPED_FROM_BYTES - 61, MAPPED_FROM_BYTES - 60, 3 * MAPPED_FROM_BYTES + 11])
def test_it_holds_what_was_added(size: int) -> None:
    random = Random(size)
    data = random.randbytes(size)
    buffer = GrowingBuffer(61, 61 + size)
    position = 0
    while position < size:
        count = random.randrange(100_000)
        buffer.add(data[position : position + count])
        position += count
        assert len(buffer) == 61 + min(position, size)
    view = buffer.view()
    assert bytes(view) == bytes(61) + data
    view[:3] = b"abc"
    assert bytes(buffer.view()[:4]) == b"abc\0"


def test_only_a_large_one_is_mapped() -> None:
    buffer = GrowingBuffer(0, 2 * MAPPED_FROM_BYTES)
    buffer.add(bytes(MAPPED_FROM_BYTES))
    assert isinstance(buffer.view().obj, bytearray)
    buffer = GrowingBuffer(0, 2 * MAPPED_FROM_BYTES)
    buffer.add(bytes(MAPPED_FROM_BYTES))
    buffer.add(b"1")
    assert isinstance(buffer.view().obj, mmap)


def test_more_than_was_allowed_is_a_mistake_of_the_caller() -> None:
    buffer = GrowingBuffer(61, 1000)
    buffer.add(bytes(939))
    with pytest.raises(AssertionError, match="1001 bytes in a buffer of 1000"):
        buffer.add(b"1")
