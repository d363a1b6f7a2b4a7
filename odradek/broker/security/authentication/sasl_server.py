"""The broker's side of SASL on one connection: authenticates a new client, or renews its session (KIP-368).

    FIRST ----ApiVersions----> HANDSHAKE ----SaslHandshake----> TOKENS ----last token----> (success)
      \\---SaslHandshake-------------------------------------->/
    RENEWAL --SaslHandshake, same mechanism--> TOKENS;  another mechanism --> OTHER_MECHANISM --any frame--> (failure)

Tokens are the messages of the SASL mechanism. After SaslHandshake v1 the client sends them in SaslAuthenticate
requests, after v0 each as a frame of its own.

Pure: frames and the time in, an outcome out. Never does: sending, waiting, logging. Invariants: only ApiVersions
(once), SaslHandshake and tokens are served; a failure whose ``is_delayed`` is False closes the connection immediately,
without an answer. Source: ``SaslServerAuthenticator``; KIP-43, KIP-152, KIP-368.
"""

import enum
from collections.abc import Mapping, Sequence
from typing import NamedTuple, Protocol

from odradek.protocol.apis.api_keys import ApiKey, api
from odradek.protocol.codec import decoder
from odradek.protocol.codec.header import request_head_decoder, response_encoder
from odradek.protocol.errors import ErrorCode, ProtocolError
from odradek.protocol.messages.security import (
    SaslAuthenticateRequest,
    SaslAuthenticateResponse,
    SaslHandshakeRequest,
    SaslHandshakeResponse,
)

from .mechanism import Authenticated, Mechanisms, Refused, SaslExchange

Part = bytes | bytearray | memoryview

ILLEGAL_MAX_BYTES = 16 * 1024
"""The largest request, in bytes, that gets the answer ILLEGAL_SASL_STATE. The answer requires decoding the request."""
_HEAD_BYTES = 4


class SaslAnswer(NamedTuple):
    """The authentication continues. ``parts``: the response to send."""

    parts: Sequence[Part]


class Success(NamedTuple):
    """The client is authenticated.

    ``session_ms``: when the session ends, in ms from now; None: it ends with the connection.
    """

    parts: Sequence[Part]
    client: Authenticated
    mechanism: str
    session_ms: int | None


class Failure(NamedTuple):
    """The connection must be closed. ``reason``: for the log.

    If ``is_delayed``, ``parts`` (if any) are sent after a delay, then the connection is closed; otherwise now.
    """

    reason: str
    parts: Sequence[Part] | None = None
    is_delayed: bool = False


Outcome = SaslAnswer | Success | Failure


class OtherAnswers(Protocol):
    """Answers that other code must make. Each method raises ProtocolError if the request can't be decoded."""

    def api_versions(self, frame: memoryview, version: int) -> tuple[Sequence[Part], bool]:
        """The answer to ApiVersions, and True if it has no error."""

    def illegal_state(self, frame: memoryview, api_key: int, version: int) -> Sequence[Part] | None:
        """The answer ILLEGAL_SASL_STATE to a request; None if it wants none."""


class Session(NamedTuple):
    """The mechanism and the principal of a session, which a renewal must not change."""

    mechanism: str
    principal: str


class SaslState(enum.Enum):
    """The state of an authentication: the frame that is expected next. See the diagram above."""

    FIRST = enum.auto()
    VERSIONS_OR_HANDSHAKE = enum.auto()
    HANDSHAKE = enum.auto()
    TOKENS = enum.auto()
    RENEWAL = enum.auto()
    OTHER_MECHANISM = enum.auto()
    END = enum.auto()


class SaslServer:
    """One authentication, or one renewal of a session, on one connection."""

    __slots__ = (
        "_answers",
        "_exchange",
        "_has_requests",
        "_max_reauth_ms",
        "_mechanism",
        "_mechanisms",
        "_previous",
        "state",
    )

    def __init__(
        self,
        mechanisms: Mechanisms,
        max_reauth_ms: Mapping[str, int],
        answers: OtherAnswers,
        previous: Session | None = None,
    ) -> None:
        """``max_reauth_ms``: ``connections.max.reauth.ms`` of each mechanism; 0: no limit.

        ``previous``: the session to renew; None for a new connection.
        """
        self._mechanisms = mechanisms
        self._max_reauth_ms = max_reauth_ms
        self._answers = answers
        self._previous = previous
        self._exchange: SaslExchange | None = None
        self._mechanism = ""
        self._has_requests = False
        """Whether tokens come in SaslAuthenticate requests."""
        self.state = SaslState.FIRST if previous is None else SaslState.RENEWAL

    def receive(self, frame: memoryview, now_ms: int) -> Outcome:
        """Takes the next frame, without its size field, and returns the outcome. ``now_ms``: wall-clock time."""
        try:
            if self.state is SaslState.TOKENS:
                outcome = self._token_request(frame, now_ms) if self._has_requests else self._token(frame, now_ms)
            elif self.state is SaslState.OTHER_MECHANISM:
                outcome = Failure("the client re-authenticates with another mechanism", None, True)
            else:
                outcome = self._kafka_request(frame)
        except ProtocolError as error:
            outcome = Failure(f"{error}, {self._during}")
        if not isinstance(outcome, SaslAnswer):
            self.state = SaslState.END
        return outcome

    @property
    def _during(self) -> str:
        return "before authentication" if self._previous is None else "during re-authentication"

    # Requests before tokens.

    def _kafka_request(self, frame: memoryview) -> Outcome:
        if len(frame) < _HEAD_BYTES:
            raise ProtocolError(f"a frame of {len(frame)} bytes is not a request")
        api_key, version = _head(frame)
        if api_key == ApiKey.API_VERSIONS:
            return self._api_versions(frame, version)
        if api_key == ApiKey.SASL_HANDSHAKE and _is_served(api_key, version):
            return self._handshake(frame, version)
        reason = (
            f"a request with API key {api_key}, version {version}, {self._during}: this listener requires SASL first"
        )
        return Failure(reason)

    def _api_versions(self, frame: memoryview, version: int) -> Outcome:
        if self.state not in (SaslState.FIRST, SaslState.VERSIONS_OR_HANDSHAKE):
            return Failure(f"a second ApiVersions request {self._during}")
        parts, is_good = self._answers.api_versions(frame, version)
        self.state = SaslState.HANDSHAKE if is_good else SaslState.VERSIONS_OR_HANDSHAKE
        return SaslAnswer(parts)

    def _handshake(self, frame: memoryview, version: int) -> Outcome:
        correlation_id, _, position = request_head_decoder(ApiKey.SASL_HANDSHAKE, version)(frame)
        request, _ = decoder(SaslHandshakeRequest, version)(frame, position)
        start = self._mechanisms.get(request.mechanism)
        code = ErrorCode.NONE if start is not None else ErrorCode.UNSUPPORTED_SASL_MECHANISM
        response = SaslHandshakeResponse(error_code=code, mechanisms=list(self._mechanisms))
        parts = response_encoder(SaslHandshakeResponse, version)(response, correlation_id)
        if start is None:
            reason = f"SASL mechanism {request.mechanism[:50]!r} is not enabled"
            # As in Kafka, a failure at the first frame of a renewal gets no answer.
            return Failure(reason, parts, True) if self._previous is None else Failure(reason)
        if self._previous is not None and request.mechanism != self._previous.mechanism:
            self.state = SaslState.OTHER_MECHANISM
            return SaslAnswer(parts)
        self._has_requests = version >= 1
        self._mechanism = request.mechanism
        self._exchange = start()
        self.state = SaslState.TOKENS
        return SaslAnswer(parts)

    # Tokens.

    def _token(self, frame: memoryview, now_ms: int) -> Outcome:
        """A token in a frame of its own."""
        try:
            answer = self._respond(bytes(frame), now_ms)
        except Refused as refused:
            return Failure(self._refusal(refused), None, refused.answer is not None)
        token = answer.token if isinstance(answer, Authenticated) else answer
        parts = [len(token).to_bytes(4, "big") + token]
        if isinstance(answer, Authenticated):
            return Success(parts, answer, self._mechanism, self._session_ms(answer, now_ms))
        return SaslAnswer(parts)

    def _token_request(self, frame: memoryview, now_ms: int) -> Outcome:
        """A token in a SaslAuthenticate request."""
        if len(frame) < _HEAD_BYTES:
            raise ProtocolError(f"a frame of {len(frame)} bytes is not a request")
        api_key, version = _head(frame)
        if not _is_served(api_key, version):
            return Failure(f"a request with API key {api_key}, version {version}, instead of a SASL token")
        if api_key != ApiKey.SASL_AUTHENTICATE:
            reason = f"a request of {api(api_key).name} instead of a SASL token"
            if len(frame) > ILLEGAL_MAX_BYTES:
                return Failure(reason)
            return Failure(reason, self._answers.illegal_state(frame, api_key, version), True)
        correlation_id, _, position = request_head_decoder(api_key, version)(frame)
        request, _ = decoder(SaslAuthenticateRequest, version)(frame, position)
        encode = response_encoder(SaslAuthenticateResponse, version)
        try:
            answer = self._respond(bytes(request.auth_bytes), now_ms)
        except Refused as refused:
            failed = SaslAuthenticateResponse(
                error_code=ErrorCode.SASL_AUTHENTICATION_FAILED, error_message=self._sentence(refused), auth_bytes=b""
            )
            return Failure(self._refusal(refused), encode(failed, correlation_id), True)
        if not isinstance(answer, Authenticated):
            return SaslAnswer(encode(SaslAuthenticateResponse(auth_bytes=answer), correlation_id))
        session_ms = self._session_ms(answer, now_ms)
        response = SaslAuthenticateResponse(auth_bytes=answer.token, session_lifetime_ms=session_ms or 0)
        return Success(encode(response, correlation_id), answer, self._mechanism, session_ms)

    def _respond(self, token: bytes, now_ms: int) -> bytes | Authenticated:
        """The mechanism's answer. Raises Refused, also if a renewal has another principal."""
        assert self._exchange is not None
        answer = self._exchange.respond(token, now_ms)
        if isinstance(answer, Authenticated) and self._previous is not None:
            before, now = self._previous.principal, answer.principal
            if before != now:
                sentence = (
                    "Cannot change principals during re-authentication from "
                    f"{before.replace(':', '.', 1)}: {now.replace(':', '.', 1)}"
                )
                raise Refused("the client re-authenticates as another principal", sentence)
        return answer

    def _sentence(self, refused: Refused) -> str:
        """The error message for the client."""
        if refused.answer is not None:
            return refused.answer
        kind = "authentication" if self._previous is None else "re-authentication"
        return f"Authentication failed during {kind} due to invalid credentials with SASL mechanism {self._mechanism}"

    def _refusal(self, refused: Refused) -> str:
        return f"SASL {self._mechanism} failed: {refused}"

    def _session_ms(self, client: Authenticated, now_ms: int) -> int | None:
        limits = [client.expires_ms - now_ms] if client.expires_ms is not None else []
        max_reauth_ms = self._max_reauth_ms.get(self._mechanism, 0)
        if max_reauth_ms > 0:
            limits.append(max_reauth_ms)
        return max(0, min(limits)) if limits else None


def _head(frame: memoryview) -> tuple[int, int]:
    """API key and version of a request."""
    return int.from_bytes(frame[:2], "big", signed=True), int.from_bytes(frame[2:4], "big", signed=True)


def _is_served(api_key: int, version: int) -> bool:
    """Whether Kafka 4 supports this version of the API."""
    try:
        lowest, highest = api(api_key).stable_versions
    except KeyError:
        return False
    return lowest <= version <= highest
