"""Encodes and decodes records that have only a value: no key, no headers, one timestamp for all. Pure.

The layout is that of :mod:`.record`. What stands between two values depends only on the offset and the values' sizes,
so for values of one size it is computed once and kept. Then a record costs about 0.1 us: one join copies everything.
"""

from collections.abc import Sequence
from functools import lru_cache
from itertools import repeat

from .varint import decode_varint, encode_repeated_varlong

_NULL_KEY = b"\x01"  # -1 as varint
_NO_HEADERS = b"\0"
_SMALLEST_TABLE = 256


def encode_values(values: Sequence[bytes], first_delta: int, timestamp_delta: int, size: int | None = None) -> bytes:
    """The records of ``values``, with the offset deltas ``first_delta``, ``first_delta`` + 1, ...

    ``size``: that of each value; None: they differ, or the caller does not know.
    """
    if not values:
        return b""
    end = first_delta + len(values)
    if size is None:
        between = list(map(_between, map(len, values), repeat(timestamp_delta), range(first_delta, end)))
    else:
        table_size = max(_SMALLEST_TABLE, 1 << (end - 1).bit_length())
        between = _between_values_of(size, timestamp_delta, table_size)[first_delta:end]
    parts = [_NO_HEADERS] * (2 * len(values) + 1)
    between[0] = between[0][len(_NO_HEADERS) :]  # no record ends before the first value
    parts[:-1:2] = between
    parts[1::2] = values
    return b"".join(parts)


def decode_values(encoded: bytes) -> list[bytes]:
    """The values of what ``encode_values`` returned."""
    values, position = [], 0
    while position < len(encoded):
        size, start = decode_varint(encoded, position)
        position = start + size
        _, start = decode_varint(encoded, start + 1)  # after the attributes: the timestamp's delta
        _, start = decode_varint(encoded, start)
        _, start = decode_varint(encoded, start + len(_NULL_KEY))
        values.append(encoded[start : position - len(_NO_HEADERS)])
    return values


@lru_cache(maxsize=32)
def _between_values_of(size: int, timestamp_delta: int, count: int) -> list[bytes]:
    """The bytes before each value of ``size`` bytes, for the offset deltas 0 to ``count`` - 1."""
    return [_between(size, timestamp_delta, delta) for delta in range(count)]


def _between(size: int, timestamp_delta: int, delta: int) -> bytes:
    """The end of the record before, and the bytes of a record before its value of ``size`` bytes."""
    varint = encode_repeated_varlong
    fields = b"\0" + varint(timestamp_delta) + varint(delta) + _NULL_KEY + varint(size)
    return _NO_HEADERS + varint(len(fields) + size + len(_NO_HEADERS)) + fields
