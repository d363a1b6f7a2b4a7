"""Authenticates the connections of SASL listeners, and renews their sessions.

Owns: carrying out the outcomes of :mod:`.sasl_server`: answers, delays, the end of sessions. Never
does: deciding who a client is. Invariants: the answer to a failed authentication is delayed, and nothing that the
client sends after the failure is served; a connection whose session has ended is closed at its next request, unless
that request begins a renewal. Source: ``SaslServerAuthenticator``, ``KafkaChannel.maybeBeginServerReauthentication``,
``Selector`` (delayed close).
"""

from collections.abc import Callable, Mapping, Sequence
from functools import partial

from odradek.protocol.apis.api_keys import ApiKey, api
from odradek.protocol.codec import decoder
from odradek.protocol.codec.header import request_head_decoder, response_encoder
from odradek.protocol.common.wall_clock import clock_ms
from odradek.protocol.errors import ErrorCode
from odradek.protocol.messages.structure import Message

from ...config.sasl import ListenerSasl
from ...dispatch.error_responses import error_response
from ...dispatch.request import RequestContext
from ...dispatch.served import served_versions
from ...network.connection import Connection, ServeFrame
from ...timers.loop_timers import LoopTimers
from .failures import Failures
from .mechanism import Mechanisms
from .sasl_server import Failure, Part, SaslAnswer, SaslServer, Session, Success

HANDSHAKE = int(ApiKey.SASL_HANDSHAKE).to_bytes(2, "big")
RENEWALS_APART_MS = 1_000
"""The shortest time between two renewals of a session, as in Kafka."""


Answer = Callable[[object, RequestContext], Message]
"""Calls the handler of ApiVersions and returns its response. The request is None if its version is unknown."""


class OwnAnswers:
    """The answers that a :class:`SaslServer` does not make itself (``sasl_server.OtherAnswers``)."""

    def __init__(self, answer: Answer, listener_name: str) -> None:
        self._answer = answer
        self._listener_name = listener_name

    def api_versions(self, frame: memoryview, version: int) -> tuple[Sequence[Part], bool]:
        """The answer to ApiVersions, and True if it has no error. Raises ProtocolError."""
        key = ApiKey.API_VERSIONS
        description = api(key)
        correlation_id, client_id, position = request_head_decoder(key, version)(frame)
        lowest, highest = served_versions(key)
        is_known = lowest <= version <= highest
        request = decoder(description.request_class(), version)(frame, position)[0] if is_known else None
        context = RequestContext(key, version, client_id, "", self._listener_name, 0, clock_ms())
        response = self._answer(request, context)
        parts = response_encoder(description.response_class(), version if is_known else 0)(response, correlation_id)
        return parts, getattr(response, "error_code", None) == ErrorCode.NONE

    def illegal_state(self, frame: memoryview, api_key: int, version: int) -> Sequence[Part] | None:
        """The answer ILLEGAL_SASL_STATE; None if the request wants none. Raises ProtocolError."""
        description = api(api_key)
        correlation_id, _, position = request_head_decoder(api_key, version)(frame)
        request, _ = decoder(description.request_class(), version)(frame, position)
        response = error_response(api_key, version, request, ErrorCode.ILLEGAL_SASL_STATE)
        if response is None:
            return None
        return response_encoder(description.response_class(), version)(response, correlation_id)


class SaslListener:
    """Authenticates the connections of one listener (:class:`...network.connection.Authentication`)."""

    def __init__(
        self,
        mechanisms: Mechanisms,
        max_reauth_ms: Mapping[str, int],
        max_frame_bytes: int,
        answers: OwnAnswers,
        failures: Failures,
        timers: LoopTimers,
    ) -> None:
        """``max_reauth_ms``: ``connections.max.reauth.ms`` of each mechanism. ``failures``: shared by all listeners."""
        self.mechanisms = mechanisms
        self._max_reauth_ms = max_reauth_ms
        self.max_frame_bytes = max_frame_bytes
        self._answers = answers
        self._failures = failures
        self._timers = timers

    def start(self) -> ServeFrame:
        """Returns the function that serves the frames of a new connection until it has authenticated."""
        return SaslChannel(self).serve

    def server(self, previous: Session | None) -> SaslServer:
        """Makes the state machine of one authentication, or of a renewal of the session ``previous``."""
        return SaslServer(self.mechanisms, self._max_reauth_ms, self._answers, previous)

    def now_ms(self) -> int:
        """The time in ms of a monotonic clock."""
        return self._timers.now_ms()

    def fail(self, connection: Connection, failure: Failure) -> None:
        """Closes the connection, immediately or after a delayed answer. Failures of an address lengthen the delay."""
        if not failure.is_delayed:
            connection.refuse(failure.reason)
            return
        delay_ms = self._failures.failed(connection.client_host, self.now_ms())
        close: Callable[[], None] = partial(connection.refuse, failure.reason, failure.parts)
        if delay_ms:
            self._timers.schedule(delay_ms, close)
        else:
            close()


class SaslChannel:
    """The authentication of one connection, and its session after that."""

    __slots__ = ("_ends_ms", "_listener", "_renewed_ms", "_server", "_session")

    def __init__(self, listener: SaslListener) -> None:
        self._listener = listener
        self._server = listener.server(None)
        self._session: Session | None = None
        self._ends_ms = 0
        """When the session ends, by the monotonic clock."""
        self._renewed_ms: int | None = None
        """When the last renewal began."""

    def serve(self, connection: Connection, frame: memoryview, owned: bool) -> None:
        """Serves a frame of the authentication, or of a renewal."""
        if len(frame) > self._listener.max_frame_bytes:  # in a renewal, the connection's limit is that of requests
            outcome: object = Failure(f"a frame of {len(frame)} bytes during re-authentication")
        else:
            outcome = self._server.receive(frame, clock_ms())
        if isinstance(outcome, SaslAnswer):
            connection.answered(list(outcome.parts))
        elif isinstance(outcome, Success):
            self._succeed(connection, outcome)
        else:
            assert isinstance(outcome, Failure)
            self._listener.fail(connection, outcome)

    def _succeed(self, connection: Connection, success: Success) -> None:
        client = success.client
        self._session = Session(success.mechanism, client.principal)
        if success.session_ms is None:
            connection.authenticated(client.principal, by_token=client.by_token)
        else:
            self._ends_ms = self._listener.now_ms() + success.session_ms
            connection.authenticated(client.principal, self.serve_session, by_token=client.by_token)
        connection.answered(list(success.parts))

    def serve_session(self, connection: Connection, frame: memoryview, owned: bool) -> None:
        """Serves a request in a session with a limited lifetime. After its end, only a renewal is served."""
        now_ms = self._listener.now_ms()
        if frame[:2] == HANDSHAKE and (self._renewed_ms is None or now_ms - self._renewed_ms >= RENEWALS_APART_MS):
            self._renewed_ms = now_ms
            self._server = self._listener.server(self._session)
            connection.authenticated(connection.principal, self.serve, by_token=connection.by_token)
            self.serve(connection, frame, owned)
        elif now_ms > self._ends_ms:
            connection.close()
        else:
            connection.serve_request(connection, frame, owned)


def sasl_listener(
    mechanisms: Mechanisms, settings: ListenerSasl, answers: OwnAnswers, failures: Failures, timers: LoopTimers
) -> SaslListener:
    """The authentication of one listener."""
    return SaslListener(
        mechanisms,
        {mechanism.name: mechanism.max_reauth_ms for mechanism in settings.mechanisms},
        settings.max_receive_bytes,
        answers,
        failures,
        timers,
    )
