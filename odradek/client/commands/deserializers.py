"""Kafka's deserializers by class name. Each converts bytes to the text that Kafka's console consumer prints.

Pure. Source: ``org.apache.kafka.common.serialization``, and ``toString`` of the objects that its classes return.
"""

import math
import struct
import uuid
from collections.abc import Callable

from odradek.protocol.common.lazy_imports import lazy_imports

with lazy_imports:
    from odradek.protocol.show import message_documents

Deserializer = Callable[[bytes], bytes]
PRINTABLE = range(0x20, 0x7F)


class DeserializationError(ValueError):
    """Bytes that a deserializer rejects."""


def deserializer_of(class_name: str) -> Deserializer:
    """The deserializer of a class, with or without its package. Raises ValueError for an unknown one."""
    name = class_name.rpartition(".")[2].removesuffix("Deserializer")
    if name not in DESERIALIZERS:
        known = ", ".join(f"{name}Deserializer" for name in DESERIALIZERS)
        raise ValueError(f"{class_name} is an unknown deserializer; known are {known}")
    return DESERIALIZERS[name]


def _number(name: str, layout: str) -> Deserializer:
    size = struct.calcsize(layout)

    def read(data: bytes) -> bytes:
        if len(data) != size:
            raise DeserializationError(f"Size of data received by {name}Deserializer is not {size}")
        (value,) = struct.unpack(layout, data)
        return str(value).encode()

    return read


def _double(data: bytes) -> bytes:
    if len(data) != 8:
        raise DeserializationError("Size of data received by DoubleDeserializer is not 8")
    return _java_text(struct.unpack(">d", data)[0])


def _float(data: bytes) -> bytes:
    if len(data) != 4:
        raise DeserializationError("Size of data received by FloatDeserializer is not 4")
    (value,) = struct.unpack(">f", data)
    if math.isfinite(value):
        # The fewest digits that identify this number among 4-byte floats, as in Java's Float.toString.
        texts = (f"{value:.{digits}g}" for digits in range(1, 10))
        value = float(next(text for text in texts if struct.pack(">f", float(text)) == data))
    return _java_text(value)


def _java_text(number: float) -> bytes:
    return message_documents.java_double(number).encode()


def _boolean(data: bytes) -> bytes:
    if data not in (b"\0", b"\1"):
        raise DeserializationError("Size of data received by BooleanDeserializer is not 1, or it is neither 0 nor 1")
    return b"true" if data == b"\1" else b"false"


def _uuid(data: bytes) -> bytes:
    try:
        return str(uuid.UUID(data.decode())).encode()
    except ValueError as malformed:
        raise DeserializationError(f"Error parsing data into UUID: {malformed}") from None


def _string(data: bytes) -> bytes:
    return data.decode("utf-8", "replace").encode()


def _bytes(data: bytes) -> bytes:
    """Java's Bytes.toString: printable ASCII unchanged, other bytes as \\xNN."""
    return b"".join(bytes([byte]) if byte in PRINTABLE and byte != ord("\\") else b"\\x%02X" % byte for byte in data)


def _byte_array(data: bytes) -> bytes:
    """Returns the bytes unchanged. (Kafka prints the Java array's address, which is useless.)"""
    return data


DESERIALIZERS: dict[str, Deserializer] = {
    "String": _string,
    "Long": _number("Long", ">q"),
    "Integer": _number("Integer", ">i"),
    "Short": _number("Short", ">h"),
    "Double": _double,
    "Float": _float,
    "Boolean": _boolean,
    "UUID": _uuid,
    "Bytes": _bytes,
    "ByteArray": _byte_array,
}
"""Class name without ``Deserializer`` -> function."""
