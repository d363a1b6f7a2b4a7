"""One connection to a broker or a controller, without I/O: what to send for each event, and who gets which response.

Pure. Owns: correlation ids, the negotiated versions, the login and when to renew it, framing, the requests without a
response and their deadlines. Never does: sockets, clocks, tasks; its caller has them.

Events are the methods :meth:`Exchange.negotiate`, ``hold``, ``log_in``, ``request``, ``received`` and ``overdue``.
Effects are the frames in ``unsent``, the outcomes that ``received`` yields, and ``failure``. After each event the
caller writes ``take_unsent()``, and it calls ``overdue`` at ``check_at_s``. Times are in seconds by its clock.

Invariants: a broker answers the requests of a connection in order, so a response belongs to the oldest request. Another
correlation id is a failure. Until a login has succeeded, only its messages are sent: requests are held, and their time
begins when they are sent. Source: Kafka's protocol guide; ``NetworkClient``, ``SaslClientAuthenticator``; KIP-511 and
KIP-368.
"""

from collections import deque
from collections.abc import Callable, Generator, Iterator
from functools import partial
from math import inf
from typing import TYPE_CHECKING, Any, NamedTuple

from odradek import __version__

from .apis.api_keys import api
from .codec import decode
from .codec.header import CORRELATION_ID_BYTES, encode_request, response_body_position
from .common.lazy_imports import lazy_imports
from .errors import ErrorCode, LoginRefusedError, ProtocolError
from .framing.frames import FrameReader, Frames
from .messages.metadata import ApiVersionsRequest, ApiVersionsResponse
from .messages.structure import Message
from .records.buffers import Buffer

with lazy_imports:
    from .security import login_exchange

if TYPE_CHECKING:
    from .security.login_mechanisms import ClientLogin

SOFTWARE_NAME, SOFTWARE_VERSION = "odradek", __version__
_UNSUPPORTED = int(ErrorCode.UNSUPPORTED_VERSION).to_bytes(2, "big")
RENEW_AFTER, RENEW_JITTER = 0.85, 0.10
"""A session is renewed after a random 85 to 95 % of its lifetime, to spread the load (``SaslClientAuthenticator``)."""

Expected = type[Message] | None
Steps = Generator[Message, Any, None]
"""Yields each request of a negotiation or a login, and receives its response."""


class NoCommonVersionError(Exception):
    """The two sides have no version of an API in common; ``request`` is the name of its request. ``{api}`` in the text
    becomes the name of the API."""

    def __init__(self, request: type[Message], text: str) -> None:
        super().__init__(text.format(api=request.NAME.removesuffix("Request")))
        self.request = request.NAME


class ResponseLimits(NamedTuple):
    """The memory for the responses of one kind of peers, and the texts of errors about them."""

    max_bytes: int
    receive_buffer_bytes: int
    """The size of the buffer that receives everything but the rest of a large frame."""
    frames: Frames
    short: str = "a response of {size} bytes arrived"
    unasked: str = "a response arrived that no request waits for (correlation id)"
    mismatched: str = "{name} {sent} got an answer to {received} (header)"
    refused: str = "ApiVersions answered error {code} (error_code)"


class PendingRequest(NamedTuple):
    """A request that waits for its response; ``token`` is any object of the caller."""

    correlation_id: int
    response_type: type[Message]
    version: int
    token: Any
    timeout_s: float
    deadline_s: float
    steps: Steps | None
    """The negotiation or login that goes on with the response; None for a request of the caller."""

    @property
    def name(self) -> str:
        """The name of the API."""
        return self.response_type.NAME.removesuffix("Response")


class Exchange:
    """The state of one connection."""

    def __init__(
        self,
        client_id: str | None,
        limits: ResponseLimits,
        *,
        has_login: bool = False,
        is_wanted: Callable[[Any], bool] = lambda _token: True,
    ) -> None:
        """``client_id`` goes into every request's header. ``has_login``: requests are held until :meth:`log_in` has
        succeeded. ``is_wanted(token)``: whether a request that was held is still to be sent."""
        self._client_id = client_id
        self._limits = limits
        self._is_wanted = is_wanted
        self.frames = FrameReader(limits.max_bytes, limits.frames)
        self._buffer = memoryview(bytearray(limits.receive_buffer_bytes))
        self._next_correlation_id = 0
        self._asked_version = ApiVersionsRequest.VERSIONS[1]
        self._now_s = 0.0
        self._held: deque[tuple[Any, Callable[[], None]]] = deque()
        """The token of each request that is held, and what sends it."""
        self.pending: deque[PendingRequest] = deque()
        """The requests without a response, oldest first."""
        self.answered = 0
        """The number of responses received so far."""
        self.negotiated = 0
        """How many of them belong to the negotiation: one for each version of ApiVersions that was tried."""
        self.versions: dict[int, tuple[int, int]] = {}
        """API key -> lowest and highest version that the peer serves; empty before the negotiation has succeeded."""
        self.finalized_features: dict[str, int] = {}
        """The cluster's feature levels, such as transaction.version."""
        self._is_holding = has_login
        self.renew_at_s: float | None = None
        """When the login is due again; None if the session does not expire."""
        self.unsent = b""
        """The frames to write."""
        self.check_at_s = inf
        """When to call :meth:`overdue`; infinite if no request is pending."""
        self.failure: ProtocolError | None = None
        """Why the connection must be closed."""

    def negotiate(self, token: Any, timeout_s: float, now_s: float) -> None:
        """The connection is open: asks for the peer's versions. ``timeout_s``: for each request.

        The outcome is None, NoCommonVersionError or ProtocolError.
        """
        self._now_s = now_s
        self._advance(self._negotiation(), None, token, timeout_s)

    def hold(self) -> None:
        """The caller renews the login: requests are held until :meth:`log_in` has succeeded."""
        self._is_holding = True

    def log_in(
        self, login: "ClientLogin", address: str, chance: float, token: Any, timeout_s: float, now_s: float
    ) -> None:
        """Logs in, or renews the login on the open connection (KIP-368). ``timeout_s``: for each request.

        ``address`` is for error texts; ``chance``, random in 0 to 1, spreads renewals. The outcome is None,
        LoginRefusedError, or ProtocolError. Raises NoCommonVersionError.
        """
        self._now_s = now_s
        self._is_holding = True
        self._advance(self._login(login, address, chance), None, token, timeout_s)

    def request(
        self, message: Message, version: int, response_type: Expected, token: Any, timeout_s: float, now_s: float
    ) -> None:
        """Sends a request, or holds it until the login has succeeded. The outcome is the response.

        ``response_type`` is None if the peer sends no response (Produce with acks=0). Raises ProtocolError if the
        version can't carry the message.
        """
        self._now_s = now_s
        if self._is_holding:
            self._held.append((token, partial(self._send, message, version, response_type, token, timeout_s, None)))
        else:
            self._send(message, version, response_type, token, timeout_s, None)

    def received(self, count: int, now_s: float) -> Iterator[tuple[Any, Any]]:
        """``count`` bytes have arrived in :meth:`target`. Yields (token, outcome) of each request that has ended.

        Sets :attr:`failure` if the bytes are not the responses that were asked for. The request of a malformed response
        stays in :attr:`pending`. After a failure, bytes are ignored.
        """
        self._now_s = now_s
        if self.failure is not None:
            return
        try:
            for frame in self._frames_in(count):
                pending, message = self._response(frame)
                if pending.steps is None:
                    yield pending.token, message
                else:
                    yield from self._continue(pending, pending.steps, message)
        except ProtocolError as error:
            self.failure = error

    def overdue(self, now_s: float) -> PendingRequest | None:
        """Returns a request whose deadline has passed, if there is one. The caller must close the connection: later
        responses would be late, too. Otherwise sets :attr:`check_at_s`."""
        first = min(self.pending, key=lambda pending: pending.deadline_s, default=None)
        self.check_at_s = inf if first is None else first.deadline_s
        return first if self.check_at_s <= now_s else None

    def abandon(self) -> list[Any]:
        """The connection is closed: forgets all requests. Returns the tokens of those that expect an outcome."""
        tokens = [pending.token for pending in self.pending] + [token for token, _ in self._held]
        self.pending.clear()
        self._held.clear()
        return tokens

    def target(self) -> memoryview:
        """The buffer to receive the next bytes into: that of an unfinished large response, or a small one."""
        return self._buffer if self.frames.large is None else self.frames.target()

    def take_unsent(self) -> bytes:
        """Removes the frames from :attr:`unsent` and returns them."""
        frames, self.unsent = self.unsent, b""
        return frames

    def is_renewal_due(self, now_s: float) -> bool:
        """Whether the session's time for a renewal has come."""
        return self.renew_at_s is not None and now_s >= self.renew_at_s

    def version_for(self, request_type: type[Message], max_version: int | None = None) -> int:
        """The highest version that both sides know, at most ``max_version``. Raises NoCommonVersionError."""
        ours_low, ours_high = request_type.VERSIONS
        if max_version is not None:
            ours_high = min(ours_high, max_version)
        if request_type.API_KEY not in self.versions:
            raise NoCommonVersionError(request_type, "the broker does not support {api}")
        low, high = self.versions[request_type.API_KEY]
        if low <= ours_high and ours_low <= high:
            return high if high < ours_high else ours_high
        ours = f"{ours_low} to {ours_high}"
        text = f"{{api}}: the broker supports versions {low} to {high}, this request needs {ours}"
        raise NoCommonVersionError(request_type, text)

    def _send(
        self, message: Message, version: int, response_type: Expected, token: Any, timeout_s: float, steps: Steps | None
    ) -> None:
        correlation_id = self._next_correlation_id
        self._next_correlation_id = (correlation_id + 1) & 0x7FFFFFFF
        self.unsent += encode_request(message, version, correlation_id, self._client_id)  # b"" + frame copies nothing
        if response_type is None:
            return
        deadline_s = self._now_s + timeout_s
        pending = PendingRequest(correlation_id, response_type, version, token, timeout_s, deadline_s, steps)
        self.pending.append(pending)
        if deadline_s < self.check_at_s:
            self.check_at_s = deadline_s

    def _advance(self, steps: Steps, response: Message | None, token: Any, timeout_s: float) -> None:
        """Sends the next request of a negotiation or a login, or the first one if ``response`` is None."""
        message = steps.send(response)
        kind = type(message)
        version = self._asked_version if kind is ApiVersionsRequest else self.version_for(kind)
        self._send(message, version, api(kind.API_KEY).response_class(), token, timeout_s, steps)

    def _continue(self, pending: PendingRequest, steps: Steps, response: Message) -> Iterator[tuple[Any, Any]]:
        """Goes on with a negotiation or a login. Yields its outcome if it has ended."""
        try:
            self._advance(steps, response, pending.token, pending.timeout_s)
        except StopIteration:
            yield pending.token, None
            self._release()
        except (LoginRefusedError, NoCommonVersionError, ProtocolError) as refusal:
            yield pending.token, refusal

    def _negotiation(self) -> Steps:
        while True:
            response = yield ApiVersionsRequest(SOFTWARE_NAME, SOFTWARE_VERSION)
            assert isinstance(response, ApiVersionsResponse)
            self.negotiated += 1
            if response.error_code != ErrorCode.UNSUPPORTED_VERSION:
                break
            if self._asked_version == 0:
                raise NoCommonVersionError(ApiVersionsRequest, "the broker refuses every version of ApiVersions")
            known = [entry.max_version for entry in response.api_keys if entry.api_key == ApiVersionsRequest.API_KEY]
            self._asked_version = min(known[0], self._asked_version - 1) if known else 0
        if response.error_code:
            raise ProtocolError(self._limits.refused.format(code=response.error_code))
        self.versions.update((entry.api_key, (entry.min_version, entry.max_version)) for entry in response.api_keys)
        self.finalized_features.update(
            (feature.name, feature.max_version_level) for feature in response.finalized_features
        )

    def _login(self, login: "ClientLogin", address: str, chance: float) -> Steps:
        lifetime_ms = yield from login_exchange.login_steps(login, address)
        share = RENEW_AFTER + RENEW_JITTER * chance
        self.renew_at_s = self._now_s + share * lifetime_ms / 1000 if lifetime_ms > 0 else None
        self._is_holding = False

    def _release(self) -> None:
        """Sends the held requests after a login. One that can't be encoded stays held."""
        while self._held and not self._is_holding:
            token, send = self._held[0]
            if self._is_wanted(token):
                send()
            self._held.popleft()

    def _frames_in(self, count: int) -> list[Buffer]:
        """The frames that are complete now. They stay valid: the records of a response are views of them."""
        if self.frames.large is not None:
            large = self.frames.received(count)
            return [] if large is None else [large]
        whole = self.frames.whole_frame(self._buffer, count)
        if whole is not None:
            return [bytes(whole)]
        return [bytes(frame) for frame in self.frames.feed(self._buffer[:count])]

    def _response(self, frame: Buffer) -> tuple[PendingRequest, Message]:
        """Decodes a response and takes its request from :attr:`pending`. Raises ProtocolError."""
        if not self.pending:
            raise ProtocolError(self._limits.unasked.format(size=len(frame)))
        if len(frame) < CORRELATION_ID_BYTES:
            raise ProtocolError(self._limits.short.format(size=len(frame)))
        pending = self.pending[0]
        response_type, version = pending.response_type, pending.version
        correlation_id = int.from_bytes(frame[:CORRELATION_ID_BYTES], "big", signed=True)
        if correlation_id != pending.correlation_id:
            text = self._limits.mismatched
            raise ProtocolError(text.format(name=pending.name, sent=pending.correlation_id, received=correlation_id))
        if response_type is ApiVersionsResponse and version and frame[4:6] == _UNSUPPORTED:
            version = 0  # a peer that does not know our version answers in the layout of version 0 (KIP-511)
        position = response_body_position(response_type.API_KEY, version, frame)
        message, _ = decode(response_type, version, frame, position)
        self.answered += 1
        self.pending.popleft()
        return pending, message
