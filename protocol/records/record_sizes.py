"""The bytes of keys and values in a batch, without decoding its records. Pure.

For tools that measure: of each record only the lengths are read, which takes about a third of the time of decoding it.
The layout is that of :mod:`.record`.
"""

from .errors import InvalidRecordError
from .varint import decode_varint


def payload_bytes(section: bytes, count: int) -> int:
    """The bytes of the keys and values of ``count`` records, which make up the whole (decompressed) section.

    Headers are not counted. Raises InvalidRecordError for a section that holds something else.
    """
    total = position = 0
    try:
        for _ in range(count):
            size = section[position]
            if size < 0x80:
                position += 1
                size = (size >> 1) ^ -(size & 1)
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
