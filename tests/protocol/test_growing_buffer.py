"""A growing buffer holds the bytes that were added, in a bytearray or in a mapping, and takes no memory beyond them."""

from mmap import mmap
from random import Random

import pytest

from odradek.protocol.framing.growing_buffer import MAPPED_BYTES, MAPPED_FROM_BYTES, GrowingBuffer


@pytest.mark.parametrize("most_bytes", [MAPPED_BYTES // 2, MAPPED_BYTES])
@pytest.mark.parametrize("size", [0, 1, MAPPED_FROM_BYTES - 61, MAPPED_FROM_BYTES - 60, 3 * MAPPED_FROM_BYTES + 11])
def test_it_holds_what_was_added(size: int, most_bytes: int) -> None:
    random = Random(size)
    data = random.randbytes(size)
    buffer = GrowingBuffer(61, 61 + most_bytes, filled=61)
    position = 0
    while position < size:
        count = random.randrange(100_000)
        buffer.add(data[position : position + count])
        position += count
        assert buffer.filled == 61 + min(position, size)
    view = buffer.view()
    assert bytes(view) == bytes(61) + data
    view[:3] = b"abc"
    assert bytes(buffer.view()[:4]) == b"abc\0"


@pytest.mark.parametrize(
    ("most_bytes", "size", "is_mapped"),
    [
        (MAPPED_BYTES + 1, MAPPED_FROM_BYTES, False),
        (MAPPED_BYTES + 1, MAPPED_FROM_BYTES + 1, True),
        (MAPPED_BYTES, MAPPED_BYTES, False),
    ],
)
def test_only_one_that_is_large_and_may_become_larger_is_mapped(most_bytes: int, size: int, is_mapped: bool) -> None:
    buffer = GrowingBuffer(0, most_bytes)
    buffer.add(bytes(size - 1))
    buffer.add(b"1")
    assert isinstance(buffer.memory, mmap) == is_mapped
    assert bytes(buffer.view()) == bytes(size - 1) + b"1"


def test_it_grows_by_a_factor_beside_views_of_its_old_memory() -> None:
    buffer = GrowingBuffer(100, 1000)
    views = []
    sizes = []
    while buffer.filled < buffer.most_bytes:
        views.append(memoryview(buffer.memory))
        views[-1][buffer.filled :] = bytes([len(views)]) * (len(buffer.memory) - buffer.filled)
        buffer.filled = len(buffer.memory)
        sizes.append(buffer.filled)
        if buffer.filled < buffer.most_bytes:
            buffer.grow(buffer.filled + 1)
    assert sizes == [100, 400, 1000]
    assert bytes(buffer.view()) == b"\1" * 100 + b"\2" * 300 + b"\3" * 600


def test_more_than_was_allowed_is_a_mistake_of_the_caller() -> None:
    buffer = GrowingBuffer(61, 1000, filled=61)
    buffer.add(bytes(939))
    with pytest.raises(AssertionError, match="1001 bytes in a buffer of 1000"):
        buffer.add(b"1")
