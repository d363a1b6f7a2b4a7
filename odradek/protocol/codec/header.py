"""Encodes and decodes the headers of requests and responses, and whole frames.

Pure. Owns: the header version for each version of an API. Never does: I/O. Invariants: from the first flexible version
of an API on, request headers have version 2 and response headers version 1; before, 1 and 0. The exception is
ApiVersions: its response header always has version 0, because a client must be able to read the answer to a version
that the broker does not know (KIP-511). Source: KIP-482, Kafka's ``ApiMessageType.requestHeaderVersion`` and
``responseHeaderVersion``.
"""

from collections.abc import Callable, Generator, Sequence
from functools import cache
from struct import Struct
from struct import error as struct_error
from typing import Any

from ..apis.api_keys import ApiKey, api
from ..errors import ProtocolError
from ..messages.headers import RequestHeader, ResponseHeader
from . import Buffer, Message, carries_records, decoder, encoder, parts_encoder, step_encoder

ResponseEncoder = Callable[[Any, int], list[Any]]
ResponseStepEncoder = Callable[[Any, int], Generator[None, None, list[Any]]]

CORRELATION_ID_BYTES = 4
_API_KEY_AND_VERSION = Struct(">hh")
_CORRELATION_ID_AND_SIZE = Struct(">ih")
_REQUEST_HEAD = Struct(">ihhih")
_RESPONSE_HEAD = Struct(">ii")
_NO_TAGGED_FIELDS = b"\0"
_MAX_CLIENT_ID_BYTES = 32767
_PARTS_JOINED = 32
"""The number of parts of a step encoder, each of a few KB, that are joined into one buffer."""


@cache
def _flexible_since(api_key: int) -> int:
    try:
        return api(api_key).flexible_since
    except KeyError:
        raise ProtocolError(f"API key {api_key} is not one of Kafka's", "request_api_key") from None


def request_header_version(api_key: int, version: int) -> int:
    """The version of a request's header: 1 or 2. Raises ProtocolError for an API key that is not Kafka's.

    Works for any API version, also one that is not in the table. So the header of such a request can be read, and the
    request refused with its name.
    """
    return 2 if version >= _flexible_since(api_key) else 1


def response_header_version(api_key: int, version: int) -> int:
    """The version of a response's header: 0 or 1. Raises ProtocolError for an API key that is not Kafka's."""
    return 1 if version >= _flexible_since(api_key) and api_key != ApiKey.API_VERSIONS else 0


def response_body_position(api_key: int, version: int, frame: Buffer) -> int:
    """The position of the body in a response's frame (without the size), after the header. Raises ProtocolError."""
    if response_header_version(api_key, version) == 0:
        return CORRELATION_ID_BYTES
    if frame[CORRELATION_ID_BYTES : CORRELATION_ID_BYTES + 1] == _NO_TAGGED_FIELDS:  # as most responses
        return CORRELATION_ID_BYTES + 1
    return decoder(ResponseHeader, 1)(frame, 0)[1]


def decode_request_header(frame: Buffer) -> tuple[RequestHeader, int]:
    """Decodes the header at the start of a frame (without the size); returns it and the body's position.

    Raises ProtocolError.
    """
    try:
        api_key, version = _API_KEY_AND_VERSION.unpack_from(frame)
    except struct_error:
        raise ProtocolError(f"a frame of {len(frame)} bytes is too short for a request header", "byte 0") from None
    return decoder(RequestHeader, request_header_version(api_key, version))(frame, 0)


def request_head_decoder(api_key: int, version: int) -> Callable[[Buffer], tuple[int, str | None, int]]:
    """Returns a function ``frame -> (correlation id, client id, position of the body)``; for hot paths.

    It raises ProtocolError as :func:`decode_request_header` does. For a header with a client id and without tagged
    fields, as most are, it does not create a RequestHeader.
    """
    header_version = request_header_version(api_key, version)
    decode_any = decoder(RequestHeader, header_version)
    tail_size = header_version - 1
    unpack = _CORRELATION_ID_AND_SIZE.unpack_from

    def decode_head(frame: Buffer) -> tuple[int, str | None, int]:
        try:
            correlation_id, size = unpack(frame, 4)
            stop = 10 + size
            if 0 <= size <= len(frame) - 10 and not (tail_size and frame[stop]):
                return correlation_id, str(frame[10:stop], "utf-8"), stop + tail_size
        except (IndexError, struct_error, UnicodeDecodeError):
            pass  # decode_any() below raises ProtocolError with the reason
        header, position = decode_any(frame, 0)
        return header.correlation_id, header.client_id, position

    return decode_head


def encode_request(message: Message, version: int, correlation_id: int, client_id: str | None) -> bytes:
    """Encodes a request as a whole frame, including its 4-byte size. Raises ProtocolError as :func:`encode` does."""
    return _request_frame(message, version, correlation_id, client_id, parts_encoder(type(message), version)(message))


def encode_request_steps(
    message: Message, version: int, correlation_id: int, client_id: str | None
) -> Generator[None, None, bytes]:
    """Like :func:`encode_request`, but a generator for large requests: yields between steps, returns the frame."""
    parts = yield from step_encoder(type(message), version)(message)
    return _request_frame(message, version, correlation_id, client_id, parts)


def _request_frame(
    message: Message, version: int, correlation_id: int, client_id: str | None, body: Sequence[bytes]
) -> bytes:
    try:
        client = b"" if client_id is None else client_id.encode()
    except UnicodeEncodeError as error:
        raise ProtocolError(f"the client id cannot be encoded: {error}", "client_id") from None
    if len(client) > _MAX_CLIENT_ID_BYTES:
        raise ProtocolError(f"the client id has {len(client)} bytes, the limit is {_MAX_CLIENT_ID_BYTES}", "client_id")
    tail = _NO_TAGGED_FIELDS if request_header_version(message.API_KEY, version) == 2 else b""
    size = _REQUEST_HEAD.size - 4 + len(client) + len(tail) + sum(map(len, body))
    length = -1 if client_id is None else len(client)
    return b"".join((_REQUEST_HEAD.pack(size, message.API_KEY, version, correlation_id, length), client, tail, *body))


def encode_response_parts(message: Message, version: int, correlation_id: int) -> list[Any]:
    """Encodes a response as a whole frame, in parts to send one after the other. The first has the 4-byte size.

    The values of ``records`` fields are parts of their own, not copied. Raises ProtocolError as :func:`encode` does.
    """
    return response_encoder(type(message), version)(message, correlation_id)


def response_encoder(cls: type[Message], version: int) -> ResponseEncoder:
    """Returns the function ``(message, correlation_id) -> [buffer, …]`` of :func:`encode_response_parts`; for hot
    paths.
    """
    tail = _NO_TAGGED_FIELDS if response_header_version(cls.API_KEY, version) == 1 else b""
    head_size = 4 + len(tail)
    pack = _RESPONSE_HEAD.pack
    if not carries_records(cls, version):
        encode_whole = encoder(cls, version)

        def encode_in_one_part(message: Message, correlation_id: int) -> list[Any]:
            body = encode_whole(message)
            return [pack(head_size + len(body), correlation_id) + tail + body]

        return encode_in_one_part
    encode_body = parts_encoder(cls, version)

    def encode_response(message: Message, correlation_id: int) -> list[Any]:
        parts = encode_body(message)
        size = head_size + sum(map(len, parts))
        head = pack(size, correlation_id) + tail
        if parts:
            parts[0] = head + parts[0]
        else:
            parts.append(head)
        return parts

    return encode_response


def response_step_encoder(cls: type[Message], version: int) -> ResponseStepEncoder:
    """Like :func:`response_encoder`, but returns a generator function, for large responses: it yields between steps and
    returns the parts.
    """
    tail = _NO_TAGGED_FIELDS if response_header_version(cls.API_KEY, version) == 1 else b""
    encode_in_steps = step_encoder(cls, version)
    joins = not carries_records(cls, version)

    def encode_response(message: Message, correlation_id: int) -> Generator[None, None, list[Any]]:
        parts = yield from encode_in_steps(message)
        size = 4 + len(tail) + sum(map(len, parts))
        head = _RESPONSE_HEAD.pack(size, correlation_id) + tail
        if not joins:  # records may be regions of files
            return [head, *parts]
        joined = []
        for at in range(0, len(parts), _PARTS_JOINED):
            joined.append(b"".join((head if at == 0 else b"", *parts[at : at + _PARTS_JOINED])))
            yield
        return joined or [head]

    return encode_response
