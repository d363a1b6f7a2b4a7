"""Records that contain their number, so that received records can be compared with the sent ones."""

from dataclasses import dataclass

CODECS = ("none", "gzip", "snappy", "lz4", "zstd")
"""Kafka's compression types."""
KEYS = 97


@dataclass(frozen=True, slots=True)
class NumberedRecord:
    """The record of one number."""

    key: bytes
    value: bytes
    headers: list[tuple[str, bytes]]


def numbered_record(number: int) -> NumberedRecord:
    """The record of a number: one of a few keys, a value of 20 to 220 bytes, two headers, one of them empty."""
    value = b"%09d " % number + b"padding-" * (number % 27)
    return NumberedRecord(b"key-%d" % (number % KEYS), value, [("number", b"%d" % number), ("empty", b"")])


def number_of(key: bytes | None, value: bytes | None, headers: list[tuple[str, bytes]]) -> int:
    """The number of a received record. Raises AssertionError if its bytes differ from those sent."""
    assert value is not None
    number = int(value[:9])
    sent = numbered_record(number)
    received = NumberedRecord(key or b"", value, [(name, data) for name, data in headers])
    assert received == sent, f"received {received}, sent was {sent}"
    return number


def by_codec(first: int, count: int) -> list[tuple[str, range]]:
    """``count`` numbers from ``first`` on, divided into one range for each codec."""
    bounds = [first + count * index // len(CODECS) for index in range(len(CODECS) + 1)]
    return [(codec, range(bounds[index], bounds[index + 1])) for index, codec in enumerate(CODECS)]
