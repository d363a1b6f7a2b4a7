"""Encodes and decodes messages with the construct reference, and converts construct's errors to ProtocolError.

Owns: these calls, the texts of errors. Never does: I/O. Invariant: malformed bytes, and values that can't be encoded,
raise ProtocolError with the field's path and nothing else.
"""

from collections.abc import Mapping
from typing import Any, TypeVar

from construct import Construct, ConstructError

from ..apis.table import MessageSpec, message
from ..errors import ProtocolError
from ..messages.structure import Structure
from .primitives import Reader
from .schema import structure_of
from .trace import Trace

Message = TypeVar("Message")


UNKNOWN_TAGGED_FIELDS = "unknown_tagged_fields"
"""The field that every structure has (:class:`..messages.structure.Structure`)."""


def refusal(error: ConstructError) -> ProtocolError:
    """Converts an error of construct to a ProtocolError with the problem and the path of the field."""
    path = (error.path or "").removeprefix("(parsing)").removeprefix("(building)").removeprefix(".")
    what = str(error).removeprefix(f"Error in path {error.path}\n")
    if what.startswith("stream read less"):  # construct's words for a field of fixed size
        what = "the bytes end inside the field"
    return ProtocolError(what, path)


def parse_at(structure: Construct, buffer: bytes | memoryview, position: int, trace: Trace | None) -> tuple[Any, int]:
    """The value at ``position``, and the position after it; raises ProtocolError."""
    stream = Reader(buffer, position)
    try:
        return structure.parse_stream(stream, trace=trace), stream.tell()
    except ConstructError as error:
        raise refusal(error) from None


def parse(structure: Construct, buffer: bytes | memoryview, *, position: int = 0, trace: Trace | None = None) -> Any:
    """The value of a structure at ``position`` of the buffer, with notes of its fields in ``trace``."""
    return parse_at(structure, buffer, position, trace)[0]


def decode(
    cls: type[Message], version: int, buffer: bytes | memoryview, position: int = 0, trace: Trace | None = None
) -> tuple[Message, int]:
    """The message at ``position`` and the position after it, as the fast codec's ``decode`` gives them."""
    decoded, end = parse_at(structure_of(cls, version), buffer, position, trace)
    return decoded, end


def encode(structure: Structure, version: int) -> bytes:
    """The bytes of a message at a version; raises ProtocolError for what the version cannot carry."""
    try:
        return bytes(structure_of(type(structure), version).build(structure))
    except ConstructError as error:
        raise refusal(error) from None


def encode_as(cls: type[Any], values: Mapping[str, Any], version: int) -> bytes:
    """The bytes of a message given as a dict, with dicts for its structures: a field left out has its default.

    Raises ProtocolError for a field that the message does not have, and for what the version cannot carry.
    """
    return encode(_from_dict(cls, message(cls.NAME), cls.NAME, values), version)


def as_dict(structure: Structure) -> dict[str, Any]:
    """A message with its structures as plain dicts, the reverse of what :func:`encode_as` takes."""
    return {name: _plain(getattr(structure, name)) for name in (*structure.__slots__, UNKNOWN_TAGGED_FIELDS)}


def _plain(value: Any) -> Any:
    if isinstance(value, list):
        return [_plain(element) for element in value]
    return as_dict(value) if isinstance(value, Structure) else value


def _from_dict(cls: type[Any], spec: MessageSpec, name: str, values: Mapping[str, Any]) -> Any:
    """The structure called ``name`` of a message from a dict."""
    structure = cls() if name == spec.name else getattr(cls, name)()
    types = {field.attribute: field.element for field in spec.structures()[name].fields if field.is_structure}
    for attribute, value in values.items():
        if attribute not in (*structure.__slots__, UNKNOWN_TAGGED_FIELDS):
            raise ProtocolError(f"{name} has no field {attribute}", attribute)
        if attribute not in types or value is None:
            setattr(structure, attribute, value)
        elif isinstance(value, list):
            setattr(structure, attribute, [_from_dict(cls, spec, types[attribute], element) for element in value])
        else:
            setattr(structure, attribute, _from_dict(cls, spec, types[attribute], value))
    return structure
