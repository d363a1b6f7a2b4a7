"""The protocol state of one connection, without I/O: versions, correlation ids, framing, matching of responses.

Owns: the API versions of the broker, the requests without a response yet. Never does: I/O, clocks, tasks. Invariant: a
broker answers the requests of a connection in order, so a response belongs to the oldest waiting request. Another
correlation id is a protocol error and ends the connection. Source: Kafka's protocol guide; KIP-511 and
``NetworkClient.handleApiVersionsResponse`` for the fallback if the broker does not know the version of ApiVersions.
"""

from collections import deque
from collections.abc import Iterator
from typing import Any, NamedTuple

from odradek import __version__
from odradek.protocol.codec import decode
from odradek.protocol.codec.header import encode_request, response_header_version
from odradek.protocol.errors import ErrorCode, ProtocolError
from odradek.protocol.framing.frames import FrameReader, Frames
from odradek.protocol.messages.headers import ResponseHeader
from odradek.protocol.messages.metadata import ApiVersionsRequest, ApiVersionsResponse
from odradek.protocol.messages.structure import Message

from ..errors import UnsupportedVersionError

CLIENT_SOFTWARE_NAME = "odradek"
CLIENT_SOFTWARE_VERSION = __version__

HTTP_SIZE = int.from_bytes(b"HTTP", "big")
NO_TAGGED_FIELDS = b"\0"
TLS_ALERT_AND_MAJOR_VERSION = 0x1503
MAX_RESPONSE_BYTES = 256 * 1024 * 1024
"""Larger frames are protocol errors. The first 4 bytes of HTTP and TLS answers, read as a size, exceed this limit."""


RECEIVE_BYTES = 64 * 1024
"""The size of the buffer that receives what is not the rest of a large frame."""
RESPONSES = Frames("MAX_RESPONSE_BYTES", first_buffer_bytes=2 * 1024 * 1024)
"""A Fetch response of the default size gets its whole buffer at once, so that its bytes are not copied."""


class PendingRequest(NamedTuple):
    """A request that waits for its response; ``token`` is any object of the caller (here a future)."""

    correlation_id: int
    request: str
    response_type: type[Message]
    version: int
    token: Any


class Exchange:
    """Encodes the requests of one connection and decodes its responses."""

    def __init__(self, client_id: str | None, max_response_bytes: int = MAX_RESPONSE_BYTES) -> None:
        """``client_id`` goes into every request's header."""
        self._client_id = client_id
        self._frames = FrameReader(max_response_bytes, RESPONSES)
        self._received = memoryview(bytearray(RECEIVE_BYTES))
        self._next_correlation_id = 0
        self._pending: deque[PendingRequest] = deque()
        self.answered = 0
        """The number of responses received so far."""
        self.versions: dict[int, tuple[int, int]] = {}
        """API key -> lowest and highest version that the broker serves."""
        self.finalized_features: dict[str, int] = {}
        """The cluster's feature levels, such as transaction.version."""

    @property
    def pending(self) -> list[PendingRequest]:
        """The requests that wait for their responses, oldest first."""
        return list(self._pending)

    def version_for(self, request_type: type[Message], max_version: int | None = None) -> int:
        """The highest version that both sides know, at most ``max_version``. Raises UnsupportedVersionError."""
        ours_low, ours_high = request_type.VERSIONS
        if max_version is not None:
            ours_high = min(ours_high, max_version)
        name = request_type.__name__.removesuffix("Request")
        if request_type.API_KEY not in self.versions:
            raise UnsupportedVersionError(f"the broker does not support {name}")
        low, high = self.versions[request_type.API_KEY]
        version = min(high, ours_high)
        if version < max(low, ours_low):
            raise UnsupportedVersionError(
                f"{name}: the broker supports versions {low} to {high}, this request needs {ours_low} to {ours_high}"
            )
        return version

    def request(
        self, message: Message, version: int, response_type: type[Message] | None, token: Any = None
    ) -> tuple[int, bytes]:
        """Encodes a request. Returns its correlation id and frame.

        ``response_type`` is None if the broker sends no response (Produce with acks=0).
        """
        correlation_id = self._next_correlation_id
        self._next_correlation_id = (correlation_id + 1) & 0x7FFFFFFF
        frame = encode_request(message, version, correlation_id, self._client_id)
        if response_type is not None:
            name = type(message).__name__.removesuffix("Request")
            self._pending.append(PendingRequest(correlation_id, name, response_type, version, token))
        return correlation_id, frame

    def target(self) -> memoryview:
        """The buffer to receive the next bytes into: that of an unfinished large response, or a small one.

        After receiving n bytes into it, call ``received(n)``. Do not call :meth:`receive` in between.
        """
        return self._received if self._frames.large is None else self._frames.target()

    def received(self, count: int) -> Iterator[tuple[PendingRequest, Message]]:
        """As :meth:`receive`, for ``count`` bytes in :meth:`target`. Raises ProtocolError."""
        if self._frames.large is None:
            # Copied, because the records of a response are views of the bytes that were received.
            yield from self.receive(bytes(self._received[:count]))
        elif (frame := self._frames.received(count)) is not None:
            yield self._response(frame)

    def receive(self, data: bytes) -> Iterator[tuple[PendingRequest, Message]]:
        """Takes received bytes and yields each response that is complete now, with its request.

        Raises ProtocolError; the request of the malformed response stays in ``pending``.
        """
        if not self.answered:
            _recognise_other_protocols(data)
        for frame in self._frames.feed(memoryview(data)):
            yield self._response(frame)

    def _response(self, frame: memoryview) -> tuple[PendingRequest, Message]:
        if not self._pending:
            raise ProtocolError("a response arrived that no request waits for", "correlation id")
        pending = self._pending[0]
        correlation_id = int.from_bytes(frame[:4], "big", signed=True)
        if correlation_id != pending.correlation_id:
            raise ProtocolError(
                f"{pending.request} {pending.correlation_id} got an answer to {correlation_id}", "header"
            )
        version = pending.version
        if pending.response_type is ApiVersionsResponse and version > 0 and _error_code(frame) == _UNSUPPORTED:
            version = 0  # a broker that does not know our version answers in the layout of version 0 (KIP-511)
        position = 4
        if response_header_version(pending.response_type.API_KEY, version):
            position = 5
            if frame[4:5] != NO_TAGGED_FIELDS:
                _, position = decode(ResponseHeader, 1, frame)
        message, _ = decode(pending.response_type, version, frame, position)
        self.answered += 1
        self._pending.popleft()
        return pending, message

    def api_versions_request(self, max_version: int | None = None) -> tuple[ApiVersionsRequest, int]:
        """The first request of a connection, and its version."""
        version = ApiVersionsRequest.VERSIONS[1] if max_version is None else max_version
        return ApiVersionsRequest(CLIENT_SOFTWARE_NAME, CLIENT_SOFTWARE_VERSION), version

    def accept_api_versions(self, sent_version: int, response: ApiVersionsResponse) -> int | None:
        """Stores the broker's versions and returns None; if it refused ``sent_version``, returns the version to retry.

        Raises UnsupportedVersionError if the broker refuses version 0 too; ProtocolError for other errors.
        """
        if response.error_code == ErrorCode.UNSUPPORTED_VERSION:
            if sent_version == 0:
                raise UnsupportedVersionError("the broker refuses every version of ApiVersions")
            known = [entry for entry in response.api_keys if entry.api_key == ApiVersionsRequest.API_KEY]
            return min(known[0].max_version, sent_version - 1) if known else 0
        if response.error_code:
            raise ProtocolError(f"ApiVersions answered error {response.error_code}", "error_code")
        self.versions = {entry.api_key: (entry.min_version, entry.max_version) for entry in response.api_keys}
        self.finalized_features = {feature.name: feature.max_version_level for feature in response.finalized_features}
        return None


_UNSUPPORTED = int(ErrorCode.UNSUPPORTED_VERSION)


def _error_code(frame: memoryview) -> int:
    return int.from_bytes(frame[4:6], "big", signed=True)


def _recognise_other_protocols(data: bytes) -> None:
    """Raises ProtocolError with a hint if the first bytes come from an HTTP server or a TLS listener."""
    size = int.from_bytes(data[:4], "big")
    if size == HTTP_SIZE:
        raise ProtocolError("an HTTP server answers there, not a Kafka broker; check host and port")
    if size >> 16 == TLS_ALERT_AND_MAJOR_VERSION:
        raise ProtocolError(
            "the listener requires TLS: set security.protocol=SSL or SASL_SSL, or name a PLAINTEXT listener"
        )
