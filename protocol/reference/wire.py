"""Decoding and encoding by the declared reference, and the one place where construct's failures become ours.

Owns: the way from bytes to a value and back, the wording of refusals. Never does: I/O. Invariant: malformed bytes and
values that cannot be written raise ProtocolError with the field's path, and nothing else is raised for them.
"""

from typing import Any, TypeVar

from construct import Construct, ConstructError

from ..errors import ProtocolError
from .primitives import Reader
from .schema import structure_of
from .trace import Trace

Message = TypeVar("Message")


def refusal(error: ConstructError) -> ProtocolError:
    """construct's failure as ours: what is wrong, and the path of the field where it is."""
    path = (error.path or "").removeprefix("(parsing)").removeprefix("(building)").removeprefix(".")
    what = str(error).removeprefix(f"Error in path {error.path}\n")
    if what.startswith("stream read less"):  # construct's words for a field of fixed size
        what = "the bytes end inside the field"
    return ProtocolError(what, path)


def parse_at(structure: Construct, buffer: bytes | memoryview, position: int, trace: Trace | None) -> tuple[Any, int]:
    """The value that lies at ``position`` and the position behind it; raises ProtocolError."""
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
    """The message at ``position`` and the position behind it, as the fast codec's ``decode`` gives them."""
    message, end = parse_at(structure_of(cls, version), buffer, position, trace)
    return message, end


def encode(message: Any, version: int) -> bytes:
    """The bytes of a message (also with plain dicts in it) at a version; raises ProtocolError for what has none."""
    return encode_as(type(message), message, version)


def encode_as(cls: type[Any], values: Any, version: int) -> bytes:
    """The bytes of a message given as a dict: absent fields take their default, unknown ones are refused."""
    try:
        return bytes(structure_of(cls, version).build(values))
    except ConstructError as error:
        raise refusal(error) from None
