"""Encodes records that have only a value: no key, no headers, one timestamp for all. Pure.

The layout is that of :mod:`.record`. What stands between two values depends only on the offset and the values' sizes,
so for values of one size it is computed once and kept. Then a record costs about 0.1 us: one join copies everything.
"""

from collections.abc import Sequence
from functools import lru_cache
from itertools import repeat

from .varint import encode_repeated_varlong

_NULL_KEY = b"\x01"  # -1 as varint
_NO_HEADERS = b"\0"
_SMALLEST_TABLE = 256


def encode_values(values: Sequence[bytes], first_delta: int, timestamp_delta: int) -> bytes:
    """The records of ``values``, with the offset deltas ``first_delta``, ``first_delta`` + 1, ..."""
    sizes = set(map(len, values))
    end = first_delta + len(values)
    if len(sizes) == 1:
        table_size = max(_SMALLEST_TABLE, 1 << (end - 1).bit_length())
        before = _before_values_of(sizes.pop(), timestamp_delta, table_size)[first_delta:end]
    else:
        before = list(map(_before_value, map(len, values), repeat(timestamp_delta), range(first_delta, end)))
    parts = [_NO_HEADERS] * (3 * len(values))
    parts[::3] = before
    parts[1::3] = values
    return b"".join(parts)


@lru_cache(maxsize=32)
def _before_values_of(size: int, timestamp_delta: int, count: int) -> list[bytes]:
    """The bytes before each value of ``size`` bytes, for the offset deltas 0 to ``count`` - 1."""
    return [_before_value(size, timestamp_delta, delta) for delta in range(count)]


def _before_value(size: int, timestamp_delta: int, delta: int) -> bytes:
    """The bytes of a record before its value of ``size`` bytes; one byte without headers follows it."""
    varint = encode_repeated_varlong
    fields = b"\0" + varint(timestamp_delta) + varint(delta) + _NULL_KEY + varint(size)
    return varint(len(fields) + size + len(_NO_HEADERS)) + fields
