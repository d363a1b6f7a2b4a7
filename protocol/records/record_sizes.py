"""Sums the sizes of keys and values in a batch, without decoding its records. Pure.

It reads only the lengths in each record, which takes about a fifth of the time of decoding; those of two bytes are read
inline, since most records of 64 bytes to 8 KiB have them. For tools that measure.
The layout is that of :mod:`.record`.
"""

from .errors import InvalidRecordError
from .varint import decode_varint


def payload_bytes(section: bytes, count: int) -> int:
    """The number of bytes of all keys and values in a decompressed records section, without headers.

    Raises InvalidRecordError if the section is not exactly ``count`` records.
    """
    total = position = 0
    try:
        for _ in range(count):
            size = section[position]
            if size < 0x80:
                position += 1
                size = (size >> 1) ^ -(size & 1)
            elif (high := section[position + 1]) < 0x80:
                position += 2
                size = ((size & 0x7F | high << 7) >> 1) ^ -(size & 1)
            else:
                size, position = decode_varint(section, position)
            end = position + size
            position += 1  # attributes
            while section[position] >= 0x80:  # timestamp delta
                position += 1
            position += 1
            while section[position] >= 0x80:  # offset delta
                position += 1
            position += 1
            length = section[position]
            if length < 0x80:
                position += 1
                length = (length >> 1) ^ -(length & 1)
            else:
                length, position = decode_varint(section, position)
            if length > 0:
                total += length
                position += length
            length = section[position]
            if length < 0x80:
                length = (length >> 1) ^ -(length & 1)
            elif (high := section[position + 1]) < 0x80:
                position += 2
                length = ((length & 0x7F | high << 7) >> 1) ^ -(length & 1)
            else:
                length, position = decode_varint(section, position)
            if length > 0:
                total += length
                position += length
            if position >= end:
                raise InvalidRecordError(f"record of {size} bytes ends inside its value, at {position}")
            position = end
    except IndexError:
        raise InvalidRecordError(f"records end inside a record at {position} of {len(section)} bytes") from None
    if position != len(section):
        raise InvalidRecordError(f"{count} records end at {position} of {len(section)} bytes")
    return total
