"""From a frame to a handler, and from its response back to bytes.

Owns: the routes (api key, version) that were used. Never does: I/O, deciding. Invariant: unserved requests are treated
as in Kafka: an ApiVersions request of an unknown version gets UNSUPPORTED_VERSION in the layout of version 0, which
every client can read; any other closes the connection. If a handler fails, its request gets an error and the connection
stays open. Source: ``RequestContext.parseRequest``, ``SocketServer``, ``KafkaApis.handle``.

The cost of a small request: decoding a header, a dictionary look-up, decoding a body, a call, encoding a response; no
task, no await.
"""

import logging
import sys
from collections.abc import Callable, Iterator, Mapping
from functools import cached_property, partial
from struct import Struct
from typing import TYPE_CHECKING, Any

from ...protocol.api_keys import ApiKey, api
from ...protocol.codec import decoder
from ...protocol.errors import ErrorCode, KafkaError, ProtocolError
from ...protocol.framing import LARGE_FRAME_BYTES
from ...protocol.wall_clock import clock_ms
from ..config.server_config import ServerConfig
from ..network.connection import Connection
from ..network.memory_budget import MemoryBudget
from ..network.response_writer import Part
from ..timers.stall_report import RequestSeen, seen
from .faulty_frame import FaultyFrame
from .large_requests import MAX_BYTES_KEY, TOTAL_BYTES_KEY, LargeRequests
from .request import ConnectionRefusal, Denial, RequestContext
from .route import UNDECODED, ForwardingRoute, Route, skip_body, whole_frame
from .served import ANNOUNCED, Handler, handler, served_versions

if TYPE_CHECKING:
    from ..metrics.request_meters import RequestMeters
    from .charge import Charge, Charging

API_KEY_AND_VERSION = Struct(">hh")
KIND = Struct(">I")
"""API key and version as one number, the key of a route."""

logger = logging.getLogger(__name__)


class RequestInService(RequestContext):
    """The context of a request and its reply function, in one object.

    Call it with the response, or with None if the client wants none. ``in_slices``: it is served in slices, and its
    response is encoded in slices too.
    """

    __slots__ = ("_begun_s", "_connection", "_correlation_id", "_route")

    def __init__(
        self,
        connection: Connection,
        route: Route,
        correlation_id: int,
        client_id: str | None,
        now_ms: int,
        owns_frame: bool,
        in_slices: bool,
        begun_s: float,
    ) -> None:
        """``begun_s``: the monotonic time of the request, in seconds."""
        self._connection: Connection | ClosedReply | None = connection
        self._begun_s = begun_s
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
        self.in_slices = in_slices
        self.principal = connection.principal
        self.access = None
        self.charge: Charge | None = None

    @property
    def name(self) -> str:
        """The API's name."""
        return self._route.name

    def __call__(self, response: Any) -> None:
        """Encodes and sends. A second call is a bug of the handler."""
        connection = self._connection
        assert connection is not None, "a request was answered twice"
        charge = self.charge
        if charge is not None:
            response = charge.settle(self._route, response)
        if self.in_slices and response is not None:
            self._answer_in_slices(connection, response)
            return
        # Encode first: if that fails, nothing is sent, and the request has failed.
        parts = None if response is None else self._route.encode(response, self._correlation_id)
        self._connection = None
        if charge is not None:
            charge.mute(connection)
        if self._route.meter is not None:
            self._route.note_answer(self._begun_s, response, parts)
        connection.answered(parts)

    def _answer_in_slices(self, connection: "Connection | ClosedReply", response: Any) -> None:
        """Encodes in slices, then sends. For a large response, even if the handler returned earlier."""
        self._connection = None
        if not isinstance(connection, ClosedReply):
            connection.run(self._encode_steps(connection, response), partial(self._not_encoded, connection), self)

    def _encode_steps(self, connection: Connection, response: Any) -> Iterator[object]:
        parts = yield from self._route.encode_steps(response, self._correlation_id)
        if self.charge is not None:
            self.charge.mute(connection)
        if self._route.meter is not None:
            self._route.note_answer(self._begun_s, response, parts)
        connection.answered_in_pieces(parts)

    def _not_encoded(self, connection: Connection, error: Exception) -> None:
        logger.error("the response to %s version %d can't be encoded", self.name, self.api_version, exc_info=error)
        connection.refuse(f"the response to {self.name} version {self.api_version} can't be encoded")

    def run_steps(self, request: Any, steps: Iterator[object]) -> None:
        """Runs further steps of a request whose handler has returned. They end with the connection."""
        self.in_slices = True
        connection = self._connection
        if connection is not None and not isinstance(connection, ClosedReply) and not connection.is_closing:
            steps = steps if self.charge is None else self.charge.timed(steps)
            connection.run(steps, partial(_failed, connection, self, request), self)

    @property
    def is_answered(self) -> bool:
        """Whether the request was answered or its connection was closed."""
        return self._connection is None

    def is_by_token(self) -> bool:
        """See :class:`RequestContext`."""
        connection = self._connection
        return isinstance(connection, Connection) and connection.by_token

    def identify(self, software_name: str, software_version: str) -> None:
        """See :class:`RequestContext`."""
        if isinstance(self._connection, Connection):
            self._connection.software = sys.intern(software_name), sys.intern(software_version)

    def is_wanted(self) -> bool:
        """Whether a client waits for the answer; False once the connection has closed."""
        connection = self._connection
        return connection is not None and not connection.is_closing

    def refuse(self, reason: str) -> None:
        """Closes the connection instead of an answer, after the handler has returned."""
        connection = self._connection
        assert connection is not None, "a request was answered twice"
        self._connection = None
        if self.charge is not None:
            self.charge.settle(self._route, None)
        connection.refuse(reason)

    def fail_undecoded(self, frame: bytes, error: KafkaError) -> None:
        """:meth:`fail` for a request that was to be passed on; closes the connection where its body can't be read."""
        try:
            request, _ = decoder(api(self.api_key).request_class(), self.api_version)(
                memoryview(frame), self._route.decode_head(memoryview(frame))[2]
            )
        except ProtocolError as problem:
            self.refuse(str(FaultyFrame(memoryview(frame), problem, self.client_id)))
            return
        self.fail(request, error)

    def fail(self, request: Any, error: Exception) -> None:
        """Answers that serving the request failed (``RequestHandlerHelper.handleError``).

        A later answer of the handler is dropped. If there was an answer already, nothing is sent.
        """
        connection = self._connection
        if connection is None:
            return
        from .error_responses import error_response  # large; imported only if a handler fails

        code = error.error_code if isinstance(error, KafkaError) else ErrorCode.UNKNOWN_SERVER_ERROR
        response = error_response(self.api_key, self._route.response_version, request, code)
        if response is None:
            self.refuse(f"serving it failed ({code.name}), and it wants no answer")
        else:
            self(response)
        self._connection = _CLOSED_REPLY


class ClosedReply:
    """Replaces the connection after a request has failed, and drops what its handler sends later."""

    __slots__ = ()
    is_closing = True

    def answered(self, parts: list[Part] | None) -> None:
        """Drops the answer."""

    def mute(self, mute_ms: int) -> None:
        """Mutes nothing."""

    def refuse(self, reason: str) -> None:
        """Drops the reason."""


_CLOSED_REPLY = ClosedReply()


class Dispatcher:
    """Serves the frames of all connections."""

    def __init__(
        self,
        broker: object,
        time_s: Callable[[], float],
        config: ServerConfig,
        wall_clock_ms: Callable[[], int] = clock_ms,
    ) -> None:
        """``broker`` is passed to the handlers, which know its type. ``time_s``: a monotonic clock in seconds.
        ``wall_clock_ms``: ms since the epoch."""
        self._broker = broker
        self._time_s = time_s
        self._config = config
        self._clock_ms = wall_clock_ms
        self._routes: dict[int, Route] = {}
        """By :data:`KIND`."""
        self._instead: dict[int, Handler] = {}
        self._forwarded: frozenset[int] = frozenset()
        self._forward: Handler | None = None
        self._forwarded_versions: Callable[[], Mapping[int, tuple[int, int]]] = dict
        self._guard: Callable[[int, Handler], Handler] | None = None
        self._intercepts: list[Callable[[int, Handler], Handler]] = []
        self._meters: RequestMeters | None = None
        self._last: RequestInService | None = None
        self.charging: Charging | None = None
        """Charges requests to the quotas of their clients; None without quotas."""

    def last_request(self) -> RequestSeen | None:
        """The request that was dispatched last, for the log of stalls. Any thread may call."""
        last = self._last
        return None if last is None else seen(last)

    def override_handlers(self, handlers: Mapping[int, Handler]) -> None:
        """Replaces the handlers of these APIs. Call it before the first request."""
        self._instead.update(handlers)

    def guard(self, guard: Callable[[int, Handler], Handler]) -> None:
        """Puts what ``guard`` makes of an API key and its handler in the handler's place, for an authorizer's checks.
        Called before the first request."""
        self._guard = guard

    def intercept(self, intercept: Callable[[int, Handler], Handler]) -> None:
        """Puts what ``intercept`` makes of an API key and its handler before everything else, the guard too, and what
        was put there before. Called before the first request."""
        self._intercepts.append(intercept)

    def measure(self, meters: "RequestMeters") -> None:
        """Counts requests with their times. Called before the first request."""
        self._meters = meters

    def forward(
        self, api_keys: frozenset[int], versions: Callable[[], Mapping[int, tuple[int, int]]], handle: Handler
    ) -> None:
        """Lets ``handle`` pass on the requests of these APIs: it gets header and body as they came, and answers with
        the header and body of the response. ``versions``: those that can be passed on now. Called before the first
        request."""
        self._forwarded, self._forwarded_versions, self._forward = api_keys, versions, handle

    def dispatch(self, connection: Connection, frame: memoryview, owned: bool) -> None:
        """Serves one frame. ``owned``: its bytes stay valid after this call (otherwise only inside it)."""
        size = len(frame)
        if size < KIND.size:
            connection.refuse(f"a frame of {size} bytes is not a request")
            return
        (kind,) = KIND.unpack_from(frame)
        route = self._routes.get(kind) or self._route(kind)
        if route is None:
            connection.refuse(describe_unserved(*API_KEY_AND_VERSION.unpack_from(frame)))
            return
        if route.meter is not None:
            route.meter.received(route.version, size)
        client_id = None
        try:
            if size < LARGE_FRAME_BYTES or route.decode in UNDECODED:
                correlation_id, client_id, position = route.decode_head(frame)
                # As in Kafka, bytes after the last field are ignored.
                request, _ = route.decode(frame, position)
            else:
                few = self._large.decode(connection, route, frame, owned)
                if few is None:
                    return
                correlation_id, client_id, request = few
        except ProtocolError as error:
            connection.refuse(FaultyFrame(frame, error, client_id))
            return
        self._serve(connection, route, correlation_id, client_id, request, size, owned)

    def _serve(
        self,
        connection: Connection,
        route: Route,
        correlation_id: int,
        client_id: str | None,
        request: Any,
        size: int,
        owned: bool,
        is_large: bool = False,
    ) -> None:
        """Serves a decoded request, in slices if its handler asks for them. ``size``: that of its frame in bytes.
        ``is_large``: it has reserved memory.
        """
        begun_s = self._time_s()
        connection.last_used_ms = begun_s * 1000
        now_ms = self._clock_ms()
        in_service = RequestInService(connection, route, correlation_id, client_id, now_ms, owned, is_large, begun_s)
        self._last = in_service
        if self.charging is not None:
            in_service.charge = self.charging.begin(in_service, size)
        try:
            steps = route.handle(self._broker, request, in_service, in_service)
        except Exception as error:  # noqa: BLE001 - any error of a handler fails its own request only
            _failed(connection, in_service, request, error)
            return
        if in_service.charge is not None:
            steps = in_service.charge.handled(steps)
        if is_large:
            steps = _with_memory(connection, in_service, steps)
        if steps is not None:
            in_service.in_slices = True
            connection.run(steps, partial(_failed, connection, in_service, request), in_service)

    @cached_property
    def _large(self) -> LargeRequests:
        budget = MemoryBudget(self._config.get_int(TOTAL_BYTES_KEY))
        return LargeRequests(budget, self._config.get_int(MAX_BYTES_KEY), self._serve)

    def _route(self, kind: int) -> Route | None:
        """The route of a :data:`KIND` that is used for the first time, or None if it is not served."""
        api_key, version = API_KEY_AND_VERSION.unpack(KIND.pack(kind))
        if self._forward is not None and api_key in self._forwarded:
            return self._forwarding_route(kind, api_key, version)
        if api_key not in ANNOUNCED:
            return None
        lowest, highest = served_versions(api_key)
        description = api(api_key)
        if not lowest <= version <= highest:
            if api_key != ApiKey.API_VERSIONS:
                return None
            # The body of an unknown, newer version can't be read, and is not needed.
            return Route(description, version, skip_body, handler(api_key))
        decode = decoder(description.request_class(), version)
        handle = self._instead.get(api_key) or handler(api_key)
        if self._guard is not None:
            handle = self._guard(api_key, handle)
        for intercept in self._intercepts:
            handle = intercept(api_key, handle)
        return self._added(kind, Route(description, version, decode, handle))

    def _added(self, kind: int, route: Route) -> Route:
        self._routes[kind] = route
        if self._meters is not None:
            route.measure(self._meters, self._time_s)
        return route

    def _forwarding_route(self, kind: int, api_key: int, version: int) -> Route | None:
        versions = self._forwarded_versions().get(api_key)
        if versions is None or not versions[0] <= version <= versions[1]:
            return None
        assert self._forward is not None
        return self._added(kind, ForwardingRoute(api(api_key), version, whole_frame, self._forward))


def _with_memory(
    connection: Connection, in_service: RequestInService, steps: Iterator[object] | None
) -> Iterator[object]:
    """The steps of a request that has reserved memory. It keeps the memory until they have ended and it is answered."""
    if steps is not None:
        yield from steps
    if not in_service.is_answered:
        # It waits, perhaps for minutes. The place where it waits bounds its memory.
        connection.release_memory()


def _failed(connection: Connection, in_service: RequestInService, request: Any, error: Exception) -> None:
    """Answers a request whose handler raised, or closes its connection if the handler refused that."""
    if isinstance(error, ConnectionRefusal):
        connection.refuse(str(error))
        return
    if isinstance(error, Denial):
        in_service.fail(request, error)
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


def describe_unserved(api_key: int, version: int) -> str:
    """Describes an unserved request in words."""
    try:
        name = api(api_key).name
    except KeyError:
        return f"API key {api_key} (version {version}) is not one of Kafka's"
    if api_key not in ANNOUNCED:
        return f"{name} (API key {api_key}) is not served"
    lowest, highest = served_versions(api_key)
    return f"{name} version {version} is not served, only {lowest} to {highest}"
