"""A route: the decoder, the handler and the encoder of one version of one API.

Owns: these functions, which are looked up once for each (API, version). Never does: serving. Source:
``ApiMessageType``.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from odradek.protocol.apis.api_keys import ApiDescription, ApiKey
from odradek.protocol.codec import ElementCounter, StepDecoder, carries_records, decoder, element_counter, step_decoder
from odradek.protocol.codec.header import (
    CORRELATION_ID_BYTES,
    ResponseStepEncoder,
    request_head_decoder,
    response_encoder,
    response_header_version,
    response_step_encoder,
)

from ..network.connection import ASKS, WORKS, Connection
from .served import Handler

if TYPE_CHECKING:
    from ..metrics.error_plan import CountErrors
    from ..metrics.request_meters import RequestMeters, VersionMeter


def skip_body(frame: memoryview, position: int) -> tuple[None, int]:
    """The decoder of a request whose version is unknown: reads nothing and returns None with the end of the frame."""
    return None, len(frame)


def whole_frame(frame: memoryview, position: int) -> tuple[bytes, int]:
    """The decoder of a request to forward: returns a copy of its header and body as received."""
    return bytes(frame), len(frame)


TO_ANY_BROKER = frozenset(
    {
        ApiKey.API_VERSIONS,
        ApiKey.SASL_HANDSHAKE,
        ApiKey.SASL_AUTHENTICATE,
        ApiKey.DESCRIBE_CLUSTER,
        ApiKey.FIND_COORDINATOR,
        ApiKey.INIT_PRODUCER_ID,
        ApiKey.GET_TELEMETRY_SUBSCRIPTIONS,
        ApiKey.PUSH_TELEMETRY,
    }
)
"""What clients send on whichever connection they have, also on the one by which they came."""
UNDECODED = (skip_body, whole_frame)
"""Decoders that read no body, however large it is."""

NoteAnswer = Callable[[Any, Any, list[Any] | None], None]
"""``note(request, response, parts)`` counts an answer. ``parts``: its bytes; None if the client wants none."""
Keep = Callable[[Any, Sequence[Any]], None]
"""``keep(response, parts)`` gets the answer of the general path, encoded in parts, to give it again."""
Lane = Callable[[Connection, memoryview], bool | Keep]
"""``lane(connection, frame)`` answers a request and returns True. Otherwise the general path serves the request, and
calls what the lane returned if that is not False (:mod:`.lane`).
"""
NoteReturn = Callable[[Any, Iterator[object] | None], Iterator[object] | None]
"""``note(request, steps)`` notes that a handler has returned ``steps``. It returns the steps to run instead."""


class Route:
    """How one version of one API is decoded, served and answered."""

    __slots__ = (
        "_decode_steps",
        "_description",
        "_encode_steps",
        "api_key",
        "decode",
        "decode_head",
        "encode",
        "handle",
        "lane",
        "meter",
        "name",
        "note_answer",
        "note_return",
        "response_version",
        "sends",
        "version",
    )

    def __init__(self, description: ApiDescription, version: int, decode: Callable[..., Any], handle: Handler) -> None:
        self._description = description
        self._decode_steps: StepDecoder | None = None
        self._encode_steps: ResponseStepEncoder | None = None
        self.api_key: int = description.key
        self.version = version
        self.decode_head = request_head_decoder(description.key, version)
        self.decode = decode
        self.handle = handle
        self.name = description.name
        self.sends = ASKS if description.key == ApiKey.METADATA else 0 if description.key in TO_ANY_BROKER else WORKS
        """What a request says about its connection."""
        # The version of the response is that of the request, or 0 for an ApiVersions request of an unknown version.
        self.response_version = 0 if decode is skip_body else version
        self.encode = response_encoder(description.response_class(), self.response_version)
        self.lane: Lane | None = None
        """Serves small requests of the common shape before :attr:`handle` is asked; None if there is none."""
        self.meter: VersionMeter | None = None
        """Counts the requests of this route; None without metrics. :mod:`.metering` sets it."""
        self.note_answer: NoteAnswer
        """Counts an answer; only with metrics."""
        self.note_return: NoteReturn
        """Notes that a handler has returned and its request is not answered yet; only with metrics."""

    def error_counter(self, meters: "RequestMeters") -> "CountErrors":
        """The function that counts the error codes of a response."""
        return meters.errors_of(self.name, self.response_version).count

    def decode_answer(self, answer: memoryview) -> Any:
        """Decodes a response, without the size of its frame. Its header must have no tagged fields. Raises
        ProtocolError."""
        head = CORRELATION_ID_BYTES + response_header_version(self.api_key, self.version)
        body, _ = decoder(self._description.response_class(), self.version)(answer, head)
        return body

    # For large requests and responses; created on first use.

    @property
    def decode_steps(self) -> StepDecoder:
        """:attr:`decode` as a generator."""
        # Cached: every large Produce request needs it.
        if self._decode_steps is None:
            self._decode_steps = step_decoder(self._description.request_class(), self.version)
        return self._decode_steps

    @property
    def count(self) -> ElementCounter:
        """The function that counts the elements of a request's body."""
        return element_counter(self._description.request_class(), self.version)

    @property
    def takes_records(self) -> bool:
        """Whether a request of this API can contain records, which decoding does not copy."""
        return carries_records(self._description.request_class(), self.version)

    @property
    def encode_steps(self) -> ResponseStepEncoder:
        """:attr:`encode` as a generator."""
        if self._encode_steps is None:
            self._encode_steps = response_step_encoder(self._description.response_class(), self.response_version)
        return self._encode_steps


class ForwardingRoute(Route):
    """A route whose requests are forwarded.

    The handler replies with the bytes of the response's header and body, or with a message if forwarding failed.
    """

    __slots__ = ("_encode_message",)

    def __init__(self, description: ApiDescription, version: int, decode: Callable[..., Any], handle: Handler) -> None:
        super().__init__(description, version, decode, handle)
        self._encode_message = self.encode
        self.encode = self._encode_either

    def error_counter(self, meters: "RequestMeters") -> "CountErrors":
        """The function that counts the error codes of a message; of bytes it counts none."""
        count_errors = super().error_counter(meters)

        def count(response: Any, counts: dict[int, int]) -> int:
            # Bytes are the answer of a controller, which is not decoded.
            return 0 if isinstance(response, bytes) else count_errors(response, counts)

        return count

    def message(self, response: bytes) -> Any:
        """Decodes a response. Its header must have no tagged fields. Raises ProtocolError."""
        return self.decode_answer(memoryview(response))

    def _encode_either(self, response: Any, correlation_id: int) -> list[Any]:
        if isinstance(response, bytes):
            return [len(response).to_bytes(4, "big"), response]
        return self._encode_message(response, correlation_id)
