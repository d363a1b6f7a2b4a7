"""Zigzag variable-length integers of the record format: 32 bits in at most 5 bytes, 64 bits in at most 10.

The two hot loops (builder.py, record.py) have their own path for one byte and call these for more. Bits beyond the
width are dropped, as Kafka's ByteUtils does. Malformed input is InvalidRecordError, also when the bytes end.
"""

from .errors import InvalidRecordError

MAX_VARINT_SIZE = 5
MAX_VARLONG_SIZE = 10

# The encodings of -64 to 63: index by the number itself, the negative ones from the end as Python's lists do.
ONE_BYTE_VARINTS = [bytes((number << 1,)) for number in range(64)] + [
    bytes(((number << 1) ^ 0xFF & 0x7F,)) for number in range(64)
]


def encode_varlong(number: int) -> bytes:
    """`number` (-2^63 to 2^63-1) as zigzag varint; a 32-bit number has the same bytes as varint and as varlong."""
    rest = number << 1 if number >= 0 else (-number << 1) - 1
    if rest < 0x80:
        return bytes((rest,))
    if rest < 0x4000:
        return bytes((rest & 0x7F | 0x80, rest >> 7))
    encoded = bytearray()
    while rest >= 0x80:
        encoded.append(rest & 0x7F | 0x80)
        rest >>= 7
    encoded.append(rest)
    return bytes(encoded)


def decode_varint(buffer: bytes, position: int) -> tuple[int, int]:
    """(number, position behind it) of a 32-bit zigzag varint of at most 5 bytes."""
    return _decode(buffer, position, MAX_VARINT_SIZE, 0xFFFFFFFF)


def decode_varlong(buffer: bytes, position: int) -> tuple[int, int]:
    """(number, position behind it) of a 64-bit zigzag varint of at most 10 bytes."""
    return _decode(buffer, position, MAX_VARLONG_SIZE, 0xFFFFFFFFFFFFFFFF)


def _decode(buffer: bytes, position: int, max_size: int, mask: int) -> tuple[int, int]:
    value = 0
    for index, byte in enumerate(buffer[position : position + max_size]):
        value |= (byte & 0x7F) << (7 * index)
        if byte < 0x80:
            value &= mask
            return (value >> 1) ^ -(value & 1), position + index + 1
    if len(buffer) - position >= max_size:
        raise InvalidRecordError(f"variable-length number at {position} has more than {max_size} bytes")
    raise InvalidRecordError(f"bytes end inside the variable-length number at {position}")
