"""Functions that the generated codecs call: varints, tagged fields, arrays of numbers, and the errors.

Pure. Owns: the slow and rare parts of decoding and encoding, as ordinary functions. Never does: I/O. Invariant: no
function reads beyond the buffer's end, and no varint is longer than 5 bytes. Source: Kafka's ``ByteUtils``,
``RawTaggedFieldWriter``.
"""

from collections.abc import Callable
from functools import cache
from itertools import pairwise
from struct import Struct
from typing import Any, Final

from ..errors import ProtocolError

Buffer = bytes | bytearray | memoryview
UnknownTaggedFields = list[tuple[int, bytes]] | None

MAX_STRING_BYTES: Final = 32767
"""The longest string, also in compact form (Kafka's ``Readable.readString``)."""

SMALL_ARRAY: Final = 16
"""Arrays with fewer numbers use a ``Struct`` that was compiled in advance."""

UUID_BYTES: Final = 16


def read_unsigned_varint(buffer: Buffer, position: int) -> tuple[int, int]:
    """The number at ``position`` and the position after it. As in Kafka, bits above the 32nd are dropped.

    Raises ProtocolError for a varint of more than 5 bytes, IndexError if the buffer ends inside it."""
    value = shift = 0
    for at in range(position, position + 5):
        byte = buffer[at]
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value & 0xFFFFFFFF, at + 1
        shift += 7
    raise ProtocolError("a varint is longer than 5 bytes", f"byte {position}")


def _varint(value: int) -> bytes:
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


VARINTS: Final = tuple(_varint(value) for value in range(128))
"""The varints of the values 0 to 127, which have one byte; the index is the value."""


def unsigned_varint(value: int) -> bytes:
    """A number from 0 to 2^32-1 as a varint."""
    return VARINTS[value] if 0 <= value < 128 else _varint(value)


def read_unknown_tagged_fields(buffer: Buffer, position: int) -> tuple[list[tuple[int, bytes]], int]:
    """Reads the tagged fields of a structure that defines none; ``position`` is where their count begins."""
    count, position = read_unsigned_varint(buffer, position)
    check_tagged_field_count(count, position, len(buffer))
    fields = []
    for _ in range(count):
        tag, position, end = read_tag(buffer, position)
        fields.append((tag, bytes(buffer[position:end])))
        position = end
    return fields, position


def read_tag(buffer: Buffer, position: int) -> tuple[int, int, int]:
    """Reads the tag and size of a tagged field; returns (tag, start, end), the positions of its value."""
    tag, position = read_unsigned_varint(buffer, position)
    size, position = read_unsigned_varint(buffer, position)
    end = position + size
    if end > len(buffer):
        raise ProtocolError(
            f"tagged field {tag} has {size} bytes, only {len(buffer) - position} are left", f"byte {position}"
        )
    return tag, position, end


def check_tagged_field_count(count: int, position: int, end: int) -> None:
    """Raises ProtocolError for more tagged fields than the bytes left can hold: each has at least a tag and a size."""
    if count * 2 > end - position:
        raise ProtocolError(f"{count} tagged fields do not fit into {end - position} bytes", f"byte {position}")


def check_tagged_field_end(tag: int, position: int, end: int) -> None:
    """Raises ProtocolError if the value of a tagged field does not end at ``end``, as its size says."""
    if position != end:
        raise ProtocolError(
            f"the value of tagged field {tag} ends at byte {position}, by its size at {end}", f"byte {end}"
        )


def tagged_fields(known: list[tuple[int, bytes]], unknown: UnknownTaggedFields, defined: frozenset[int]) -> bytes:
    """Encodes the tagged fields of a structure: the ``known`` ones to write and the ``unknown`` ones, sorted by tag.

    Like Kafka, raises ProtocolError if unknown fields are not sorted by tag, or have the tag of a ``defined`` field.
    """
    fields = known
    if unknown:
        tags = [tag for tag, _ in unknown]
        if any(tag in defined for tag in tags):
            raise ProtocolError(f"an unknown tagged field has the tag of a known one: {tags}", "unknown_tagged_fields")
        if any(later <= earlier for earlier, later in pairwise(tags)):
            raise ProtocolError(f"the tags of unknown tagged fields do not rise: {tags}", "unknown_tagged_fields")
        if tags[0] < 0 or tags[-1] > 0xFFFFFFFF:
            raise ProtocolError(f"a tag is out of range: {tags}", "unknown_tagged_fields")
        fields = sorted([*known, *unknown], key=_tag)
    parts = [unsigned_varint(len(fields))]
    for tag, value in fields:
        parts += (unsigned_varint(tag), unsigned_varint(len(value)), value)
    return b"".join(parts)


def _tag(field: tuple[int, bytes]) -> int:
    return field[0]


@cache
def fixed_format(codes: str) -> Struct:
    """The compiled ``Struct`` (big-endian) of a run of fields of fixed size."""
    return Struct(f">{codes}")


@cache
def array_unpackers(code: str) -> tuple[Callable[[Buffer, int], tuple[Any, ...]], ...]:
    """The functions that unpack arrays of 0 to ``SMALL_ARRAY`` - 1 numbers of a ``struct`` format; the index is the
    count.
    """
    return tuple(Struct(f">{count}{code}").unpack_from for count in range(SMALL_ARRAY))


@cache
def array_packers(code: str) -> tuple[Callable[..., bytes], ...]:
    """The functions that pack such arrays, see :func:`array_unpackers`."""
    return tuple(Struct(f">{count}{code}").pack for count in range(SMALL_ARRAY))


def unpack_array(code: str, count: int, buffer: Buffer, position: int) -> tuple[Any, ...]:
    """Unpacks an array of numbers; the caller has checked that ``count`` fits into the bytes left."""
    return Struct(f">{count}{code}").unpack_from(buffer, position)


def pack_array(code: str, values: list[Any]) -> bytes:
    """Packs an array of numbers."""
    return Struct(f">{len(values)}{code}").pack(*values)


def pack_uuids(values: list[bytes], where: str) -> bytes:
    """Packs an array of uuids. Raises ProtocolError for one that is not 16 bytes long."""
    for value in values:
        if len(value) != UUID_BYTES:
            raise uuid_refusal(where, value)
    return b"".join(values)


def length_refusal(where: str, size: int, left: int) -> ProtocolError:
    """The error for a string, bytes or records with a negative length or more bytes than are left."""
    if size < 0:
        return null_refusal(where)
    return ProtocolError(f"the length is {size} bytes, only {left} are left", where)


def count_refusal(where: str, count: int, left: int) -> ProtocolError:
    """The error for an array with a negative count or more elements than the bytes left can hold."""
    if count < 0:
        return null_refusal(where)
    return ProtocolError(f"an array of {count} elements does not fit into {left} bytes", where)


def null_refusal(where: str) -> ProtocolError:
    """The error for null in a field that is not nullable."""
    return ProtocolError("null in a field that is not nullable", where)


def uuid_refusal(where: str, value: bytes) -> ProtocolError:
    """The error for a uuid that is not 16 bytes long."""
    return ProtocolError(f"an id has {UUID_BYTES} bytes, not {len(value)}", where)


def version_refusal(where: str, version: int) -> ProtocolError:
    """The error for a value that the version cannot carry (Kafka's UnsupportedVersionException)."""
    return ProtocolError(f"version {version} does not have this field, and its value is not the default", where)


def foreign_tag_refusal(where: str, tag: int, version: int) -> ProtocolError:
    """The error for a tag that the structure defines only in other versions; Kafka's classes refuse it, too."""
    return ProtocolError(f"tag {tag} is not valid in version {version}", where.removesuffix("."))


def string_refusal(where: str, size: int) -> ProtocolError:
    """The error for a string longer than MAX_STRING_BYTES, read or to be written."""
    return ProtocolError(f"a string has {size} bytes, the limit is {MAX_STRING_BYTES}", where)


def truncation(buffer: Buffer) -> ProtocolError:
    """The error for bytes that end inside a field."""
    return ProtocolError("the bytes end inside the message", f"byte {len(buffer)}")


def utf8_refusal(position: int) -> ProtocolError:
    """The error for a string that is not UTF-8."""
    return ProtocolError("a string is not valid UTF-8", f"byte {position}")
