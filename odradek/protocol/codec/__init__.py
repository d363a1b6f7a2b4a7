"""The fast codec: encodes and decodes messages with functions that it generates from the message table on first use.

Owns: the cache of these functions. Never does: I/O. Invariant: malformed bytes, and values that a version cannot carry,
raise ProtocolError and nothing else. The source of each function is kept in linecache, so that tracebacks and debuggers
show it. Generating one takes about 1 ms (:mod:`.decode`, :mod:`.encode`). :func:`step_decoder`, :func:`step_encoder`
and :func:`element_counter` are for large messages of untrusted size: they are generators that yield after short steps,
so that the event loop can serve other requests in between (:mod:`.steps`, :mod:`.count`).
"""

import linecache
from collections.abc import Callable, Generator
from typing import Any, TypeVar

from ..apis.table import MessageSpec, message
from ..common.lazy_imports import lazy_imports
from ..errors import ProtocolError
from ..messages.structure import Message
from .decode import decode_source
from .encode import encode_parts_source, encode_source
from .source import FunctionSource, has_records

with lazy_imports:
    from . import count, steps

__all__ = [
    "Message",
    "carries_records",
    "decode",
    "decoder",
    "element_counter",
    "encode",
    "encode_parts",
    "encoder",
    "parts_encoder",
    "step_decoder",
    "step_encoder",
]

Buffer = bytes | bytearray | memoryview
AnyMessage = TypeVar("AnyMessage", bound=Message)
Decoder = Callable[[Buffer, int], tuple[AnyMessage, int]]
Encoder = Callable[[AnyMessage], bytes]
PartsEncoder = Callable[[AnyMessage], list[Any]]
StepDecoder = Callable[[Buffer, int], Generator[None, None, tuple[Any, int]]]
StepEncoder = Callable[[Any], Generator[None, None, list[Any]]]
ElementCounter = Callable[[Buffer, int, int], Generator[None, None, tuple[int, int]]]

_DECODERS: dict[tuple[type[Message], int], Any] = {}
_ENCODERS: dict[tuple[type[Message], int], Any] = {}
_PARTS_ENCODERS: dict[tuple[type[Message], int], Any] = {}
_STEP_DECODERS: dict[tuple[type[Message], int], Any] = {}
_STEP_ENCODERS: dict[tuple[type[Message], int], Any] = {}
_COUNTERS: dict[tuple[type[Message], int], Any] = {}


def decode(cls: type[AnyMessage], version: int, buffer: Buffer, position: int = 0) -> tuple[AnyMessage, int]:
    """Decodes the message at ``position`` of ``buffer``; returns it and the position after it.

    Bytes after the message are not read. Fields of type ``records`` are memoryviews into ``buffer``. Raises
    ProtocolError for malformed bytes, and for a version that the message does not have.
    """
    function: Decoder[AnyMessage] = _DECODERS.get((cls, version)) or decoder(cls, version)
    return function(buffer, position)


def encode(message: Message, version: int) -> bytes:
    """Encodes ``message`` in ``version``.

    Raises ProtocolError if the version cannot carry a value: a field that the version lacks is set to another value
    than its default (unless Kafka marks it ignorable), a field that is not nullable is None, a number is out of range,
    a string is too long.
    """
    function: Encoder[Message] = _ENCODERS.get((message.__class__, version)) or encoder(type(message), version)
    return function(message)


def encode_parts(message: Message, version: int) -> list[Any]:
    """As :func:`encode`, but returns buffers to send one after the other: ``records`` values are not copied."""
    key = (message.__class__, version)
    function: PartsEncoder[Message] = _PARTS_ENCODERS.get(key) or parts_encoder(type(message), version)
    return function(message)


def decoder(cls: type[AnyMessage], version: int) -> Decoder[AnyMessage]:
    """Returns the function ``(buffer, position) -> (message, end)`` that :func:`decode` calls; for hot paths."""
    known: Decoder[AnyMessage] | None = _DECODERS.get((cls, version))
    if known is None:
        known = _DECODERS[cls, version] = _compile(decode_source(_spec(cls, version), cls, version))
    return known


def encoder(cls: type[AnyMessage], version: int) -> Encoder[AnyMessage]:
    """Returns the function ``(message) -> bytes`` that :func:`encode` calls; for hot paths."""
    known: Encoder[AnyMessage] | None = _ENCODERS.get((cls, version))
    if known is None:
        known = _ENCODERS[cls, version] = _compile(encode_source(_spec(cls, version), cls, version))
    return known


def parts_encoder(cls: type[AnyMessage], version: int) -> PartsEncoder[AnyMessage]:
    """Returns the function ``(message) -> [buffer, …]`` that :func:`encode_parts` calls; for hot paths."""
    known: PartsEncoder[AnyMessage] | None = _PARTS_ENCODERS.get((cls, version))
    if known is None:
        if carries_records(cls, version):
            known = _compile(encode_parts_source(_spec(cls, version), cls, version))
        else:
            known = _in_one_part(encoder(cls, version))
        _PARTS_ENCODERS[cls, version] = known
    return known


def step_decoder(cls: type[Message], version: int) -> StepDecoder:
    """Like :func:`decoder`, but the function is a generator: it yields between steps and returns ``(message, end)``.

    Unknown tagged fields are skipped, not kept. The buffer must stay valid until the generator has returned.
    """
    known: StepDecoder | None = _STEP_DECODERS.get((cls, version))
    if known is None:
        known = _STEP_DECODERS[cls, version] = _compile(steps.decode_steps_source(_spec(cls, version), cls, version))
    return known


def step_encoder(cls: type[Message], version: int) -> StepEncoder:
    """Like :func:`parts_encoder`, but the function is a generator: it yields between steps and returns the parts."""
    known: StepEncoder | None = _STEP_ENCODERS.get((cls, version))
    if known is None:
        known = _STEP_ENCODERS[cls, version] = _compile(steps.encode_steps_source(_spec(cls, version), cls, version))
    return known


def element_counter(cls: type[Message], version: int) -> ElementCounter:
    """Returns a generator function ``(buffer, position, most) -> (elements, end)``, which counts without decoding.

    A caller uses it to reserve memory before it decodes with :func:`step_decoder`. Counting stops above ``most``
    elements, and at malformed bytes.
    """
    known: ElementCounter | None = _COUNTERS.get((cls, version))
    if known is None:
        known = _COUNTERS[cls, version] = _compile(count.count_source(_spec(cls, version), cls, version))
    return known


def carries_records(cls: type[Message], version: int) -> bool:
    """Whether the message has fields of type ``records`` in that version; it may then be encoded in several parts."""
    return has_records(_spec(cls, version).layout(version))


def _in_one_part(encode_whole: Encoder[AnyMessage]) -> PartsEncoder[AnyMessage]:
    def encode_parts_of(message: AnyMessage) -> list[Any]:
        return [encode_whole(message)]

    return encode_parts_of


def _spec(cls: type[Message], version: int) -> MessageSpec:
    spec = message(cls.NAME)
    if version not in spec.versions:
        raise ProtocolError(f"{spec.name} has no version {version}, only {spec.versions}", "version")
    return spec


def _compile(source: FunctionSource) -> Any:
    """Compiles the source, and returns the function that it defines."""
    text = source.text()
    file_name = f"<odradek {source.function}>"
    linecache.cache[file_name] = (len(text), None, text.splitlines(keepends=True), file_name)
    names = dict(source.names)
    exec(compile(text, file_name, "exec"), names)
    return names[source.function]
