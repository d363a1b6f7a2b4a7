"""Makes the answers of a lane: an encoded answer, cut where its numbers change.

Pure. Owns: the place of the numbers in an encoded answer. Never does: knowing an API. Invariant: the codec has written
the rest of the answer.
"""

from collections.abc import Callable
from struct import Struct

Template = Callable[..., bytes]
"""Makes the answer to a request of the request's frame and the numbers that change."""
CORRELATION_ID = slice(4, 8)
"""Of a request's frame, which comes without its size."""
_CORRELATION_ID = Struct(">4xI")

MARKS = {"q": (0x1122334455667788, 0x2233445566778811, 0x3344556677881122), "i": (0x12345678, 0x23456781, 0x34567812)}
"""Numbers that stand for those that change, by their format. They are unlikely in the rest of an answer."""


def marks(numbers: str) -> tuple[int, ...]:
    """The marks for numbers with these formats, such as "qqi"."""
    return tuple(MARKS[each][at] for at, each in enumerate(numbers))


def template(encoded: bytes, numbers: str) -> Template | None:
    """A function that makes the answer to a request of the request's frame and the numbers.

    ``encoded``: the frame of an answer with :func:`marks` in their place, one after the other. None if these bytes are
    not in it exactly once.
    """
    marked = Struct(f">{numbers}").pack(*marks(numbers))
    at = encoded.find(marked)
    end = at + len(marked)
    if at < 8 or encoded.find(marked, at + 1) >= 0:
        return None
    pack = Struct(f">4sI{at - 8}s{numbers}{len(encoded) - end}s").pack
    size, head, tail = encoded[:4], encoded[8:at], encoded[end:]

    unpack = _CORRELATION_ID.unpack_from

    def answer(frame: memoryview, *changing: int) -> bytes:
        return pack(size, unpack(frame)[0], head, *changing, tail)

    return answer


class FixedAnswer:
    """An answer of which only the correlation id changes."""

    __slots__ = ("_body", "_size")

    def __init__(self, encoded: bytes) -> None:
        """``encoded``: the frame of an answer, with any correlation id."""
        self._size = encoded[:4]
        self._body = encoded[8:]

    def encoded(self, frame: memoryview) -> bytes:
        """The answer to a request, in one piece."""
        return b"".join((self._size, frame[CORRELATION_ID], self._body))

    def parts(self, frame: memoryview) -> tuple[bytes, bytes]:
        """The same in two parts, the second of which is not copied."""
        return b"".join((self._size, frame[CORRELATION_ID])), self._body
