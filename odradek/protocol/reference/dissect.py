"""Decodes bytes into a list of fields with their positions, up to the first error, and describes the error.

Owns: traced parses, the texts of errors, the reason in the log line for a refused frame. Never does: I/O; not for the
hot path. Invariant: the work is bounded by a number of fields, whatever the bytes contain.
"""

from dataclasses import dataclass
from struct import unpack_from

from construct import Construct, Int32sb, Struct

from ..apis.api_keys import api
from ..apis.table import MessageSpec, message
from ..codec.header import request_header_version, response_header_version
from ..errors import ProtocolError
from ..messages import message_class
from ..messages.headers import RequestHeader, ResponseHeader
from .primitives import Field
from .schema import structure_of
from .trace import Note, Trace
from .wire import parse_at

DISSECTED_FIELDS = 1_000_000
"""The default limit of fields that :func:`dissect` reads."""
EXPLAINED_FIELDS = 1_000
"""The default limit of fields that :func:`explain` reads: about 5 ms of work, once before a connection is closed."""


@dataclass(frozen=True, slots=True)
class Dissection:
    """The fields that were found in the bytes, and the first error."""

    notes: list[Note]
    """The fields in the order of the bytes. If there is a fault, it is in the last field that was begun."""
    fault: str | None
    """The error and its place; None if the bytes are exactly one message."""


def dissect(
    spec: MessageSpec,
    version: int,
    data: bytes | memoryview,
    *,
    frame: bool = False,
    limit: int = DISSECTED_FIELDS,
) -> Dissection:
    """Decodes a message into fields; with ``frame``, a whole frame: size, header and message.

    Malformed bytes do not raise. Raises ProtocolError for a version that the message does not have.
    """
    structure = frame_structure(spec, version, sized=True) if frame else structure_of(message_class(spec.name), version)
    found = _dissect(structure, data, limit)
    if frame and found.fault is None:
        size = found.notes[0].value
        if size != len(data) - 4:
            return Dissection(found.notes, f"size: the frame says {size} bytes, but has {len(data) - 4}, at byte 0")
    return found


def explain(frame: bytes | memoryview, refusal: ProtocolError | None = None, limit: int = EXPLAINED_FIELDS) -> str:
    """The reason why a request frame (without its size) was refused, in one line for the log. Never raises.

    ``refusal``: the error of the fast codec; it is the reason if the first ``limit`` fields have no fault.
    """
    if len(frame) < 4:
        return f"{len(frame)} bytes are too few for a request header"
    key, version = unpack_from(">hh", frame)
    try:
        name = api(key).name
    except KeyError:
        return f"no API has the key {key}"
    try:
        structure = frame_structure(message(f"{name}Request"), version, sized=False)
    except ProtocolError as error:
        return f"{name} v{version}: {error.what}"
    found = _dissect(structure, frame, limit)
    fault = found.fault or "the reference decoder finds no error"
    if refusal is not None and (found.fault is None or len(found.notes) >= limit):
        fault = str(refusal)
    return f"{name} v{version}: {fault}"


def frame_structure(spec: MessageSpec, version: int, *, sized: bool) -> Construct:
    """Header and body of a request or response as one Struct, with the frame's size before them if ``sized``.

    Raises ProtocolError for a message that has no frame of its own, and for a version that it does not have.
    """
    body = structure_of(message_class(spec.name), version)
    if spec.type == "request":
        header = structure_of(RequestHeader, request_header_version(spec.api_key, version))
    elif spec.type == "response":
        header = structure_of(ResponseHeader, response_header_version(spec.api_key, version))
    else:
        raise ProtocolError(f"{spec.name} is neither a request nor a response, so it has no frame")
    size = [Field("size", "int32", Int32sb)] if sized else []
    return Struct(*size, Field("header", header.cls.NAME, header), Field("body", spec.name, body))


def _dissect(structure: Construct, data: bytes | memoryview, limit: int) -> Dissection:
    trace = Trace(limit)
    try:
        _, end = parse_at(structure, data, 0, trace)
    except ProtocolError as error:
        unended = [note.start for note in trace.notes if note.end is None]
        place = f", in the field at byte {unended[-1]}" if unended else ""
        path = error.where.removeprefix("body.")
        return Dissection(trace.notes, f"{path}: {error.what}{place}" if path else f"{error.what}{place}")
    if end < len(data):
        return Dissection(trace.notes, f"{len(data) - end} bytes follow the end of the message, at byte {end}")
    return Dissection(trace.notes, None)
