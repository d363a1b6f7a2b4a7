"""Kafka's wire types as construct classes, with limits that construct itself does not check.

Owns: the encoding of each type. Never does: I/O beyond the given in-memory stream. Invariants: each length or count is
compared with the bytes left before it is used; a varint has at most 5 (int32) or 10 (int64) bytes; each failure is a
ConstructError with the path of the field. Source: Kafka's protocol guide "Protocol Primitive Types", ``ByteUtils``,
``MessageDataGenerator`` and KIP-482 (compact types, tagged fields).

Not used here: construct's ``VarInt`` (accepts any number of bytes, in quadratic time), ``PrefixedArray`` (does not
check the count) and ``compile()`` (drops the checks of lengths).
"""

from collections.abc import Sequence
from io import BytesIO
from itertools import pairwise
from typing import Any

from construct import (
    Adapter,
    Bytes,
    Construct,
    ConstructError,
    Flag,
    Float64b,
    Int8sb,
    Int16sb,
    Int16ub,
    Int32sb,
    Int32ub,
    Int64sb,
    IntegerError,
    RangeError,
    StreamError,
    StringError,
    Subconstruct,
    stream_read,
    stream_write,
)

MAX_STRING_BYTES = 0x7FFF
"""Kafka refuses longer strings, also in the compact form, which could carry them."""


class Reader:
    """The stream that a parse reads from: a view of the bytes, without a copy, with the number of bytes left."""

    def __init__(self, buffer: bytes | bytearray | memoryview, position: int = 0) -> None:
        self._view = memoryview(buffer)
        self._position = position

    def read(self, size: int) -> bytes:
        """The next ``size`` bytes, fewer at the end."""
        data = bytes(self._view[self._position : self._position + size])
        self._position += len(data)
        return data

    def tell(self) -> int:
        """The position of the next byte."""
        return self._position

    @property
    def left(self) -> int:
        """How many bytes are still to be read."""
        return len(self._view) - self._position


def read_exactly(stream: Reader, size: int, path: str) -> bytes:
    """Reads ``size`` bytes. Raises StreamError if fewer are left."""
    if size > stream.left:
        raise StreamError(f"the length is {size} bytes, only {stream.left} are left", path=path)
    return stream.read(size)


class Varint(Construct):
    """An unsigned varint of at most ``max_bytes`` bytes, least significant group first; keeps the low ``bits`` bits."""

    def __init__(self, bits: int, max_bytes: int) -> None:
        super().__init__()
        self.bits = bits
        self.max_bytes = max_bytes

    def _parse(self, stream: Reader, context: Any, path: str) -> int:
        value = 0
        for group in range(self.max_bytes):
            byte: int = stream_read(stream, 1, path)[0]
            value |= (byte & 0x7F) << (7 * group)
            if byte < 0x80:
                return value & ((1 << self.bits) - 1)
        raise IntegerError(f"a varint of more than {self.max_bytes} bytes", path=path)

    def _build(self, value: Any, stream: BytesIO, context: Any, path: str) -> int:
        if not isinstance(value, int) or not 0 <= value < 1 << self.bits:
            raise IntegerError(f"{value!r} is not an unsigned integer of {self.bits} bits", path=path)
        rest = value
        groups = bytearray()
        while rest > 0x7F:
            groups.append(0x80 | rest & 0x7F)
            rest >>= 7
        groups.append(rest)
        stream_write(stream, bytes(groups), len(groups), path)
        return value


class ZigZag(Adapter):
    """A signed varint: 0, -1, 1, -2 are encoded as 0, 1, 2, 3. Only records use it; no message field has this type."""

    def _decode(self, value: int, context: Any, path: str) -> int:
        return (value >> 1) ^ -(value & 1)

    def _encode(self, value: Any, context: Any, path: str) -> int:
        if not isinstance(value, int):
            raise IntegerError(f"{value!r} is not an integer", path=path)
        return value << 1 if value >= 0 else (~value << 1) | 1


class Compact(Adapter):
    """The length or count of a compact type. It is encoded as one more than its value, and 0 is null (KIP-482)."""

    def _decode(self, value: int, context: Any, path: str) -> int:
        return value - 1

    def _encode(self, value: int, context: Any, path: str) -> int:
        return value + 1


UNSIGNED_VARINT = Varint(bits=32, max_bytes=5)
VARINT = ZigZag(UNSIGNED_VARINT)
VARLONG = ZigZag(Varint(bits=64, max_bytes=10))
COMPACT_LENGTH = Compact(UNSIGNED_VARINT)
UUID = Bytes(16)

FIXED: dict[str, Construct] = {
    "bool": Flag,
    "int8": Int8sb,
    "int16": Int16sb,
    "uint16": Int16ub,
    "int32": Int32sb,
    "uint32": Int32ub,
    "int64": Int64sb,
    "float64": Float64b,
    "uuid": UUID,
}
"""The types of fixed size."""


class SizedBytes(Construct):
    """A length, then that many bytes. If nullable, a length below 0 is null."""

    def __init__(self, length: Construct, *, nullable: bool, limit: int | None = None) -> None:
        super().__init__()
        self.length = length
        self.nullable = nullable
        self.limit = limit
        self.flagbuildnone = nullable

    def _check_limit(self, size: int, path: str) -> None:
        if self.limit is not None and size > self.limit:
            raise RangeError(f"{size} bytes, the limit is {self.limit}", path=path)

    def _parse(self, stream: Reader, context: Any, path: str) -> bytes | None:
        size = self.length._parsereport(stream, context, path)
        if size < 0:
            if not self.nullable:
                raise RangeError("null in a field that is not nullable", path=path)
            return None
        self._check_limit(size, path)
        return read_exactly(stream, size, path)

    def _build(self, value: Any, stream: BytesIO, context: Any, path: str) -> Any:
        if value is None:
            if not self.nullable:
                raise RangeError("null in a field that is not nullable", path=path)
            self.length._build(-1, stream, context, path)
            return None
        if not isinstance(value, bytes | bytearray | memoryview):
            raise StringError(f"expected bytes, found {type(value).__name__}", path=path)
        data = bytes(value)
        self._check_limit(len(data), path)
        self.length._build(len(data), stream, context, path)
        stream_write(stream, data, len(data), path)
        return value


class Utf8(Adapter):
    """A string: sized bytes, decoded as UTF-8."""

    def __init__(self, subcon: SizedBytes) -> None:
        super().__init__(subcon)
        self.flagbuildnone = subcon.flagbuildnone

    def _decode(self, data: bytes | None, context: Any, path: str) -> str | None:
        if data is None:
            return None
        try:
            return data.decode()
        except UnicodeDecodeError as error:
            raise StringError(f"not valid UTF-8: {error.reason}", path=path) from None

    def _encode(self, text: Any, context: Any, path: str) -> bytes | None:
        if text is None:
            return None
        if not isinstance(text, str):
            raise StringError(f"expected a string, found {type(text).__name__}", path=path)
        try:
            return text.encode()
        except UnicodeEncodeError as error:
            raise StringError(f"cannot be encoded as UTF-8: {error.reason}", path=path) from None


class Elements(Subconstruct):
    """An array: its count, then its elements. If nullable, a count below 0 is null.

    ``element_bytes`` is the smallest size of an element (at least 1). If the bytes left can't hold ``count`` elements,
    the count is refused before the first element is read, so that a count alone never causes an allocation.
    """

    def __init__(self, count: Construct, element: Construct, element_bytes: int, kind: str, *, nullable: bool) -> None:
        super().__init__(element)
        self.count = count
        self.element_bytes = max(1, element_bytes)
        self.kind = kind
        self.nullable = nullable
        self.flagbuildnone = nullable

    def _parse(self, stream: Reader, context: Any, path: str) -> list[Any] | None:
        count = self.count._parsereport(stream, context, path)
        note_content(stream, context, path)
        if count < 0:
            if not self.nullable:
                raise RangeError("null in an array that is not nullable", path=path)
            return None
        if count * self.element_bytes > stream.left:
            raise RangeError(f"{count} elements do not fit into {stream.left} bytes", path=path)
        return [
            parse_noted(self.subcon, self.kind, stream, context, f"{path}[{position}]") for position in range(count)
        ]

    def _build(self, values: Any, stream: BytesIO, context: Any, path: str) -> Any:
        if values is None:
            if not self.nullable:
                raise RangeError("null in an array that is not nullable", path=path)
            self.count._build(-1, stream, context, path)
            return None
        if not isinstance(values, Sequence):
            raise RangeError(f"expected a list, found {type(values).__name__}", path=path)
        self.count._build(len(values), stream, context, path)
        for position, value in enumerate(values):
            self.subcon._build(value, stream, context, f"{path}[{position}]")
        return values


class NullableStruct(Subconstruct):
    """A nullable struct: one signed byte, then the struct unless the byte is below 0, which means null (KIP-893).

    As the value of a tagged field, it begins with a varint instead, and 0 means null (Kafka's generated classes).
    """

    def __init__(self, subcon: Construct, *, tagged: bool) -> None:
        super().__init__(subcon)
        self.flagbuildnone = True
        self.presence = UNSIGNED_VARINT if tagged else Int8sb
        self.null = 0 if tagged else -1

    def _parse(self, stream: Reader, context: Any, path: str) -> Any:
        presence = self.presence._parsereport(stream, context, path)
        note_content(stream, context, path)
        if presence <= self.null:
            return None
        return self.subcon._parsereport(stream, context, path)

    def _build(self, value: Any, stream: BytesIO, context: Any, path: str) -> Any:
        self.presence._build(self.null if value is None else 1, stream, context, path)
        return value if value is None else self.subcon._build(value, stream, context, path)


class Field(Subconstruct):
    """A named field of a Struct: adds its name to the path, and reports its position to a trace."""

    def __init__(self, name: str, kind: str, subcon: Construct) -> None:
        super().__init__(subcon)
        self.name = name
        self.kind = kind

    def _parse(self, stream: Reader, context: Any, path: str) -> Any:
        return parse_noted(self.subcon, self.kind, stream, context, f"{path}.{self.name}")

    def _build(self, value: Any, stream: BytesIO, context: Any, path: str) -> Any:
        return self.subcon._build(value, stream, context, f"{path}.{self.name}")


def parse_noted(subcon: Construct, kind: str, stream: Reader, context: Any, path: str) -> Any:
    """Parses one field or element, and adds a note of its position if the parse has a trace."""
    trace = context._params.get("trace")
    if trace is None:
        return subcon._parsereport(stream, context, path)
    return trace.field(path, kind, stream.tell, lambda: subcon._parsereport(stream, context, path))


def note_content(stream: Reader, context: Any, path: str) -> None:
    """Reports to a trace, if there is one, that the length or count of a container ends here."""
    trace = context._params.get("trace")
    if trace is not None:
        trace.content_starts(path, stream.tell())


class TaggedFields(Construct):
    """The tagged fields at the end of a flexible struct: their count, then tag, size and content of each (KIP-482).

    Parses into a dict of field name -> value, with a list of unknown fields ``(tag, bytes)`` under ``UNKNOWN``. The
    size of a known field must match its content. Like Kafka's classes, refuses the tags in ``other_versions``, which
    the struct defines only in other versions.
    """

    UNKNOWN = "unknown_tagged_fields"

    def __init__(self, known: dict[int, Field], other_versions: frozenset[int]) -> None:
        super().__init__()
        self.known = known
        self.other_versions = other_versions

    def _parse(self, stream: Reader, context: Any, path: str) -> dict[str, Any]:
        count = UNSIGNED_VARINT._parsereport(stream, context, path)
        note_content(stream, context, path)
        if count * 2 > stream.left:
            raise RangeError(f"{count} tagged fields do not fit into {stream.left} bytes", path=path)
        values: dict[str, Any] = {}
        unknown: list[tuple[int, bytes]] = []
        for _ in range(count):
            tag = UNSIGNED_VARINT._parsereport(stream, context, path)
            size = UNSIGNED_VARINT._parsereport(stream, context, path)
            if size > stream.left:
                raise StreamError(f"tag {tag} has {size} bytes, only {stream.left} are left", path=path)
            if tag in self.other_versions:
                raise RangeError(f"this version does not have the field of tag {tag}", path=path)
            field = self.known.get(tag)
            if field is None:
                content = parse_noted(Bytes(size), f"tag {tag}", stream, context, f"{path}.tag_{tag}")
                unknown.append((tag, content))
                continue
            end = stream.tell() + size
            values[field.name] = field._parsereport(stream, context, path)
            if (position := stream.tell()) != end:
                raise RangeError(
                    f"the value of tag {tag} has {position - end + size} bytes, its size says {size}",
                    path=f"{path}.{field.name}",
                )
        if unknown:
            values[self.UNKNOWN] = unknown
        return values

    def _build(self, values: dict[str, Any], stream: BytesIO, context: Any, path: str) -> dict[str, Any]:
        unknown = [(tag, bytes(data)) for tag, data in values.get(self.UNKNOWN) or ()]
        if any(tag in self.known or tag in self.other_versions for tag, _ in unknown):
            raise ConstructError("an unknown tagged field has the tag of a known one", path=path)
        if any(later[0] <= earlier[0] for earlier, later in pairwise(unknown)):
            raise ConstructError("the tags of unknown tagged fields do not rise", path=path)
        contents = list(unknown)
        for tag, field in self.known.items():
            if field.name in values:
                content = BytesIO()
                field._build(values[field.name], content, context, path)
                contents.append((tag, content.getvalue()))
        contents.sort(key=lambda item: item[0])
        UNSIGNED_VARINT._build(len(contents), stream, context, path)
        for tag, data in contents:
            UNSIGNED_VARINT._build(tag, stream, context, path)
            UNSIGNED_VARINT._build(len(data), stream, context, path)
            stream_write(stream, data, len(data), path)
        return values
