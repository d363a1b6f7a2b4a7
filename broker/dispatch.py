"""From a frame to a handler, and from its response back to bytes.

Owns: the routes (api key, version) that were used. Never does: I/O, deciding. Invariant: what is not served is answered
as Kafka answers it: an ApiVersions request of an unknown version gets UNSUPPORTED_VERSION in version 0's layout, which
every client can read; anything else closes the connection. A handler that fails costs its request, not the connection.
Source: ``RequestContext.parseRequest``, ``SocketServer``, ``KafkaApis.handle``.

What a small request costs here: one header decoded, one dictionary look-up, one body decoded, one call, one response
encoded; no task, no await.
"""

import logging
from collections.abc import Callable, Mapping
from functools import partial
from struct import Struct
from time import time_ns
from typing import Any

from ..protocol.api_keys import ApiDescription, ApiKey, api
from ..protocol.codec import decoder
from ..protocol.errors import ErrorCode, KafkaError, ProtocolError
from ..protocol.header import request_head_decoder, response_encoder
from .connection import Connection
from .log_lines import quoted
from .request import ConnectionRefusal, RequestContext
from .response_writer import Part
from .served import ANNOUNCED, Handler, handler, served_versions
from .stall_report import RequestSeen

API_KEY_AND_VERSION = Struct(">hh")

logger = logging.getLogger(__name__)


class Route:
    """How one version of one API is decoded, served and answered."""

    __slots__ = ("api_key", "decode", "decode_head", "encode", "handle", "name", "response_version", "version")

    def __init__(self, description: ApiDescription, version: int, decode: Callable[..., Any], handle: Handler) -> None:
        self.api_key: int = description.key
        self.version = version
        self.decode_head = request_head_decoder(description.key, version)
        self.decode = decode
        self.handle = handle
        self.name = description.name
        # The request's, but version 0 for an ApiVersions of a version that is not known.
        self.response_version = 0 if decode is _skip_body else version
        self.encode = response_encoder(description.response_class(), self.response_version)


class RequestInService(RequestContext):
    """A request as its handler knows it, and the way to answer it: handlers get one object as both.

    Called with the response, or with None where the client wants none.
    """

    __slots__ = ("_connection", "_correlation_id", "_route")

    def __init__(
        self,
        connection: Connection,
        route: Route,
        correlation_id: int,
        client_id: str | None,
        now_ms: int,
        owns_frame: bool,
    ) -> None:
        self._connection: Connection | _Unheard | None = connection
        self._route = route
        self._correlation_id = correlation_id
        self.api_key = route.api_key
        self.api_version = route.version
        self.client_id = client_id
        self.client_host = connection.client_host
        self.listener_name = connection.listener_name
        self.connection_id = connection.connection_id
        self.now_ms = now_ms
        self.owns_frame = owns_frame

    @property
    def name(self) -> str:
        """The API's name."""
        return self._route.name

    def __call__(self, response: Any) -> None:
        """Encodes and sends; a second call is an error of the handler's."""
        connection = self._connection
        assert connection is not None, "a request was answered twice"
        # Encoded first: a response that can't be encoded is not sent, and the request failed.
        parts = None if response is None else self._route.encode(response, self._correlation_id)
        self._connection = None
        connection.answered(parts)

    def refuse(self, reason: str) -> None:
        """Closes the connection in place of an answer that comes later than the handler's return."""
        connection = self._connection
        assert connection is not None, "a request was answered twice"
        self._connection = None
        connection.refuse(reason)

    def fail(self, request: Any, error: Exception) -> None:
        """Answers that serving the request failed (``RequestHandlerHelper.handleError``).

        Not heard any more: an answer of the handler's that is still on its way. Nothing is sent where there was one.
        """
        connection = self._connection
        if connection is None:
            return
        from .error_responses import error_response  # the rules of all APIs: only once a handler failed

        code = error.error_code if isinstance(error, KafkaError) else ErrorCode.UNKNOWN_SERVER_ERROR
        response = error_response(self.api_key, self._route.response_version, request, code)
        if response is None:
            self.refuse(f"serving it failed ({code.name}), and it wants no answer")
        else:
            self(response)
        self._connection = _UNHEARD


class _Unheard:
    """In place of a connection whose request was answered with an error: what comes later goes nowhere."""

    __slots__ = ()

    def answered(self, parts: list[Part] | None) -> None:
        """Nobody is told."""

    def refuse(self, reason: str) -> None:
        """Nobody is told."""


_UNHEARD = _Unheard()


class Dispatcher:
    """Serves the frames of all connections."""

    def __init__(self, broker: Any) -> None:
        """``broker``: what the handlers are given."""
        self._broker = broker
        self._time_s = broker.timers.time_s
        self._routes: dict[int, Route] = {}
        self._instead: dict[int, Handler] = {}
        self._last: RequestInService | None = None

    def last_request(self) -> RequestSeen | None:
        """The request that was dispatched last, for the log of stalls; any thread may ask."""
        last = self._last
        return None if last is None else RequestSeen(last.name, last.client_id, last.client_host)

    def serve_otherwise(self, handlers: Mapping[int, Handler]) -> None:
        """Serves these APIs by other handlers than their modules'; before the first request."""
        self._instead.update(handlers)

    def dispatch(self, connection: Connection, frame: memoryview, owned: bool) -> None:
        """Serves one frame. ``owned``: its bytes stay valid after this call (otherwise only inside it)."""
        if len(frame) < API_KEY_AND_VERSION.size:
            connection.refuse(f"a frame of {len(frame)} bytes is no request")
            return
        api_key, version = API_KEY_AND_VERSION.unpack_from(frame)
        route = self._routes.get(api_key << 16 | version & 0xFFFF) or self._route(api_key, version)
        if route is None:
            connection.refuse(describe_unserved(api_key, version))
            return
        client_id = None
        try:
            correlation_id, client_id, position = route.decode_head(frame)
            # What stands behind the last field is left unread, as Kafka leaves it.
            request, _ = route.decode(frame, position)
        except ProtocolError as error:
            connection.refuse(FaultyFrame(frame, error, client_id))
            return
        connection.last_used_ms = self._time_s() * 1000
        now_ms = time_ns() // 1_000_000
        in_service = RequestInService(connection, route, correlation_id, client_id, now_ms, owned)
        self._last = in_service
        try:
            steps = route.handle(self._broker, request, in_service, in_service)
        except Exception as error:  # noqa: BLE001 - whatever a handler raises fails its own request, and nothing else
            _failed(connection, in_service, request, error)
            return
        if steps is not None:
            work = self._broker.slices.start(steps, partial(_failed, connection, in_service, request))
            if not work.is_done:
                connection.work = work

    def _route(self, api_key: int, version: int) -> Route | None:
        """The route of an (API, version) used for the first time, or None where it is not served."""
        if api_key not in ANNOUNCED:
            return None
        lowest, highest = served_versions(api_key)
        description = api(api_key)
        if not lowest <= version <= highest:
            if api_key != ApiKey.API_VERSIONS:
                return None
            # The body of a version that is newer than we know can't be read, and need not be.
            return Route(description, version, _skip_body, handler(api_key))
        decode = decoder(description.request_class(), version)
        route = Route(description, version, decode, self._instead.get(api_key) or handler(api_key))
        self._routes[api_key << 16 | version & 0xFFFF] = route
        return route


class FaultyFrame:
    """Why a frame was refused, in words. They take up to 5 ms, so they are looked for only if the log shows them.

    The words must be asked for before the frame's bytes change, as a log call does.
    """

    __slots__ = ("_client_id", "_error", "_frame", "_text")

    def __init__(self, frame: memoryview, error: ProtocolError, client_id: str | None) -> None:
        self._frame = frame
        self._error = error
        self._client_id = client_id
        self._text: str | None = None

    def __str__(self) -> str:
        if self._text is None:
            from ..protocol.reference.dissect import explain  # construct: only once a frame was refused

            self._text = f"{explain(self._frame, self._error)}; client id {quoted(self._client_id)}"
        return self._text


def _failed(connection: Connection, in_service: RequestInService, request: Any, error: Exception) -> None:
    """Answers a request whose handler raised, or closes its connection if the handler refused that."""
    if isinstance(error, ConnectionRefusal):
        connection.refuse(str(error))
        return
    logger.error(
        "%s version %d of client id %r at %s:%d failed",
        in_service.name,
        in_service.api_version,
        in_service.client_id,
        connection.client_host,
        connection.client_port,
        exc_info=error,
    )
    in_service.fail(request, error)


def _skip_body(frame: memoryview, position: int) -> tuple[None, int]:
    return None, len(frame)


def describe_unserved(api_key: int, version: int) -> str:
    """Says in words what was asked that is not served."""
    try:
        name = api(api_key).name
    except KeyError:
        return f"API key {api_key} (version {version}) is not one of Kafka's"
    if api_key not in ANNOUNCED:
        return f"{name} (API key {api_key}) is not served"
    lowest, highest = served_versions(api_key)
    return f"{name} version {version} is not served, only {lowest} to {highest}"
