"""Arrays of whole numbers in few bytes, for the sums of a segment: in memory and in the state they are the same bytes.

Pure. An array with few numbers that are not 0 is kept as their indexes and values, with the smallest type that has
them, compressed with zlib at its fastest level.
"""

import zlib
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy
from numpy.typing import NDArray

_SPARSE = 8
_LEVEL = 1


class PackedPart(NamedTuple):
    """The type of some numbers, as numpy names it, and their compressed bytes."""

    kind: str
    data: bytes

    def numbers(self) -> NDArray[Any]:
        """The numbers; they can't be changed."""
        return numpy.frombuffer(zlib.decompress(self.data), self.kind)


class PackedArray(NamedTuple):
    """An array: its type and length, and all of its numbers, or the indexes and values of those that are not 0."""

    kind: str
    size: int
    parts: tuple[PackedPart, ...]

    @classmethod
    def of(cls, values: NDArray[Any]) -> "PackedArray":
        """Packs an array of one dimension."""
        used = numpy.flatnonzero(values)
        is_sparse = len(used) * _SPARSE <= len(values) and len(values) > 0
        return cls(values.dtype.str, len(values), tuple(map(_packed, [used, values[used]] if is_sparse else [values])))

    def values(self) -> NDArray[Any]:
        """The array, as a new one."""
        entries = self.entries()
        if entries is None:
            return self.parts[0].numbers().astype(self.kind)
        array = numpy.zeros(self.size, self.kind)
        indexes, numbers = entries
        array[indexes] = numbers
        return array

    def entries(self) -> tuple[NDArray[Any], NDArray[Any]] | None:
        """The indexes and values of the numbers that are not 0; None if there are many of them."""
        if len(self.parts) == 1:
            return None
        indexes, numbers = self.parts
        return indexes.numbers(), numbers.numbers()

    def described(self) -> list[Any]:
        """What a reader needs to know besides the bytes of the parts."""
        return [self.kind, self.size, [[part.kind, len(part.data)] for part in self.parts]]


def as_described(described: list[Any], take: Callable[[int], bytes]) -> PackedArray:
    """The array that `described` describes; `take` returns the next bytes."""
    kind, size, parts = described
    return PackedArray(kind, size, tuple(PackedPart(name, take(length)) for name, length in parts))


def _packed(values: NDArray[Any]) -> PackedPart:
    is_plain = not len(values) or int(values.min()) < 0
    small = values if is_plain else values.astype(numpy.min_scalar_type(int(values.max())))
    return PackedPart(small.dtype.str, zlib.compress(small.tobytes(), _LEVEL))
