"""Encodes OTLP ``MetricsData``, as clients push it (KIP-714)."""

import struct
from collections.abc import Mapping

Points = Mapping[tuple[tuple[str, str], ...], float]
"""Attributes -> value."""


def varint(number: int) -> bytes:
    """A number of protocol buffers."""
    encoded = bytearray()
    while number > 0x7F:
        encoded.append(number & 0x7F | 0x80)
        number >>= 7
    encoded.append(number)
    return bytes(encoded)


def message(field: int, content: bytes) -> bytes:
    """A field that holds a message, a string or bytes."""
    return varint(field << 3 | 2) + varint(len(content)) + content


def number(field: int, value: int) -> bytes:
    """A field that holds a varint."""
    return varint(field << 3) + varint(value)


def attributes(field: int, pairs: tuple[tuple[str, str], ...]) -> bytes:
    """Attributes with strings as values."""
    return b"".join(
        message(field, message(1, name.encode()) + message(2, message(1, value.encode()))) for name, value in pairs
    )


def _points(points: Points) -> bytes:
    encoded = b""
    for labels, value in points.items():
        as_number = b"\x31" + struct.pack("<q", value) if isinstance(value, int) else b"\x21" + struct.pack("<d", value)
        encoded += message(1, attributes(7, labels) + number(3 + 8, 1) + as_number)
    return encoded


def gauge(name: str, points: Points) -> bytes:
    """A metric."""
    return message(2, message(1, name.encode()) + message(5, _points(points)))


def counter(name: str, points: Points, *, is_delta: bool = True, is_monotonic: bool = True) -> bytes:
    """A metric of the kind sum."""
    facts = number(2, 1 if is_delta else 2) + number(3, int(is_monotonic))
    return message(2, message(1, name.encode()) + message(7, facts + _points(points)))


def push(*metrics: bytes, client: tuple[tuple[str, str], ...] = ()) -> bytes:
    """The metrics of one client, with the client's attributes."""
    return message(1, message(1, attributes(1, client)) + message(2, b"".join(metrics)))
