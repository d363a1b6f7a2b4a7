"""Decodes each frame, calls the handler of its API and version, and hands the response on to be encoded.

Owns: the routes (api key, version) that were used. Never does: I/O, deciding. Invariants: requests that are not served
are treated as in Kafka: an ApiVersions request of an unknown version gets UNSUPPORTED_VERSION in the layout of version
0, which every client can read; any other request closes the connection. If a handler fails, its request gets an error
and the connection stays open. Source: ``RequestContext.parseRequest``, ``SocketServer``, ``KafkaApis.handle``.

A small request costs: decoding its header, a dictionary look-up, decoding its body, one call, encoding the response. It
creates no task and awaits nothing.
"""

import logging
from collections.abc import Callable, Iterator, Mapping
from functools import cached_property, partial
from struct import Struct
from time import perf_counter_ns
from typing import TYPE_CHECKING, Any

from odradek.protocol.apis.api_keys import ApiKey, api
from odradek.protocol.codec import decoder
from odradek.protocol.common.lazy_imports import lazy_imports
from odradek.protocol.common.steps import begun
from odradek.protocol.common.wall_clock import clock_ms
from odradek.protocol.errors import ProtocolError
from odradek.protocol.framing.frames import LARGE_FRAME_BYTES

from ..config.server_config import ServerConfig
from ..network.connection import Connection
from ..network.memory_budget import MemoryBudget
from ..timers.stall_report import RequestSeen, Served, seen
from .lane import Answering, SentAnswers, unless
from .large_requests import MAX_BYTES_KEY, TOTAL_BYTES_KEY, LargeRequests
from .request_in_service import FaultyFrame, RequestInService, answer_failure
from .route import UNDECODED, ForwardingRoute, Keep, Route, skip_body, whole_frame
from .served import SERVED, Handler, handler, served_versions

with lazy_imports:
    from . import charged_lane

if TYPE_CHECKING:
    from .charge import Charging
    from .lane import Lanes
    from .metering import Metering

logger = logging.getLogger(__name__)

API_KEY_AND_VERSION = Struct(">hh")
KIND = Struct(">I")
"""API key and version as one number, the key of a route."""


class Dispatcher:
    """Serves the frames of all connections."""

    def __init__(
        self,
        broker: object,
        time_s: Callable[[], float],
        config: ServerConfig,
        wall_clock_ms: Callable[[], int] = clock_ms,
        metering: "Metering | None" = None,
        lanes: "Lanes | None" = None,
    ) -> None:
        """``broker`` is passed to the handlers, which know its type. ``time_s``: a monotonic clock in seconds.
        ``wall_clock_ms``: ms since the epoch. ``metering`` counts requests and measures their times; None without
        metrics. ``lanes`` serve the common shapes of small requests; None: all take the general path."""
        self._lanes = lanes
        self._broker = broker
        self._time_s = time_s
        self._config = config
        self._clock_ms = wall_clock_ms
        self._routes: dict[int, Route] = {}
        """The routes used so far, by :data:`KIND`."""
        self._instead: dict[int, Handler] = {}
        self._forwarded: frozenset[int] = frozenset()
        self._forward: Handler | None = None
        self._forwarded_versions: Callable[[], Mapping[int, tuple[int, int]]] = dict
        self._guard: Callable[[int, Handler], Handler] | None = None
        self._intercepts: list[tuple[Callable[[int, Handler], Handler], Callable[[], bool]]] = []
        self._metering = metering
        self._last: Served | None = None
        self._charging: Charging | None = None

    def last_request(self) -> RequestSeen | None:
        """The request that was dispatched last, for the log of stalls. Any thread may call."""
        last = self._last
        return None if last is None else seen(last)

    def override_handlers(self, handlers: Mapping[int, Handler]) -> None:
        """Replaces the handlers of these APIs. Call it before the first request."""
        self._instead.update(handlers)

    def guard(self, guard: Callable[[int, Handler], Handler]) -> None:
        """Wraps each handler: ``guard(api_key, handler)`` returns a handler that checks the authorizer first.

        Call it before the first request.
        """
        self._guard = guard

    def intercept(
        self, intercept: Callable[[int, Handler], Handler], is_intercepting: Callable[[], bool] = lambda: True
    ) -> None:
        """Wraps each handler: ``intercept(api_key, handler)`` returns the handler to call instead.

        It wraps the guard and earlier interceptors too. Lanes serve requests while ``is_intercepting`` returns False.
        Call it before the first request.
        """
        self._intercepts.append((intercept, is_intercepting))

    def charge_with(self, charging: "Charging | None") -> None:
        """Charges requests to the quotas of their clients from now on; None if there are no quotas."""
        self._charging = charging
        for route in self._routes.values():
            if route.lane is not None and self._lanes is not None:
                self._add_lane(self._lanes, route)

    def forward(
        self, api_keys: frozenset[int], versions: Callable[[], Mapping[int, tuple[int, int]]], handle: Handler
    ) -> None:
        """Forwards requests of these APIs: ``handle`` gets header and body as received, as bytes, and replies in bytes.

        ``versions`` returns the lowest and highest version of each API that can be forwarded now. Call it before the
        first request.
        """
        self._forwarded, self._forwarded_versions, self._forward = api_keys, versions, handle

    def dispatch(self, connection: Connection, frame: memoryview, owned: bool) -> None:
        """Serves one frame. ``owned``: the frame's bytes stay valid after this call; otherwise only during it."""
        size = len(frame)
        if size < KIND.size:
            connection.refuse(f"a frame of {size} bytes is not a request")
            return
        (kind,) = KIND.unpack_from(frame)
        route = self._routes.get(kind) or self._route(kind)
        if route is None:
            connection.refuse(describe_unserved(*API_KEY_AND_VERSION.unpack_from(frame)))
            return
        meter = route.meter
        if meter is not None:
            meter.requests += 1
            meter.request_bytes += size
        lane, keep = route.lane, None
        if lane is not None and (connection.is_known or route.api_key == ApiKey.API_VERSIONS):
            connection.last_used_ms = self._time_s() * 1000
            self._last = connection
            connection.name = route.name
            try:
                served = lane(connection, frame)
            except Exception:
                # A bug. The request may have taken effect, so its client gets no answer, as after a lost connection.
                logger.exception("%s version %d failed", route.name, route.version)
                connection.refuse(f"{route.name} version {route.version} failed")
                return
            if served is True:
                return
            keep = served or None
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
        self._serve(connection, route, correlation_id, client_id, request, size, owned, False, keep)

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
        keep: Keep | None = None,
    ) -> None:
        """Serves a decoded request: at once if its handler makes no pause, otherwise in slices from the first pause on.

        ``size``: of the frame, in bytes.
        ``is_large``: memory is reserved for the request. ``keep``: gets the answer for a lane.
        """
        connection.last_used_ms = self._time_s() * 1000
        connection.client_id, connection.is_known = client_id, True
        connection.sent |= route.sends
        now_ms = self._clock_ms()
        in_service = RequestInService(connection, route, correlation_id, client_id, now_ms, owned, is_large)
        in_service.keep = keep
        self._last = in_service
        if self._charging is not None:
            in_service.charge = self._charging.begin(in_service, size)
        if route.meter is not None:
            in_service.begun_ns = perf_counter_ns()
        try:
            steps = route.handle(self._broker, request, in_service, in_service)
            if is_large:
                steps = _with_memory(connection, in_service, steps)
            if steps is not None:
                steps = begun(steps)
        except Exception as error:  # noqa: BLE001 - any error of a handler fails its own request only
            answer_failure(connection, in_service, request, error)
            if in_service.begun_ns:
                route.note_return(in_service, None)
            return
        if in_service.begun_ns:
            steps = route.note_return(in_service, steps)
        if in_service.charge is not None:
            steps = in_service.charge.handled(steps)
        if steps is not None:
            in_service.in_slices = True
            connection.run(steps, partial(answer_failure, connection, in_service, request), in_service)

    @cached_property
    def _large(self) -> LargeRequests:
        budget = MemoryBudget(self._config.get_int(TOTAL_BYTES_KEY))
        return LargeRequests(budget, self._config.get_int(MAX_BYTES_KEY), self._serve)

    def _route(self, kind: int) -> Route | None:
        """Creates the route of a :data:`KIND` at its first use. Returns None if API or version is not served."""
        api_key, version = API_KEY_AND_VERSION.unpack(KIND.pack(kind))
        if self._forward is not None and api_key in self._forwarded:
            return self._forwarding_route(kind, api_key, version)
        if api_key not in SERVED:
            return None
        lowest, highest = served_versions(api_key)
        description = api(api_key)
        if not lowest <= version <= highest:
            if api_key != ApiKey.API_VERSIONS:
                return None
            # The body of an unknown version can't be read, and is not needed for the answer.
            return Route(description, version, skip_body, handler(api_key))
        decode = decoder(description.request_class(), version)
        handle = self._instead.get(api_key) or handler(api_key)
        if self._guard is not None:
            handle = self._guard(api_key, handle)
        for intercept, _ in self._intercepts:
            handle = intercept(api_key, handle)
        return self._added(kind, Route(description, version, decode, handle))

    def _added(self, kind: int, route: Route) -> Route:
        self._routes[kind] = route
        if self._metering is not None:
            self._metering.measure(route)
        if self._lanes is not None and route.api_key not in self._instead:
            self._add_lane(self._lanes, route)
        return route

    def _add_lane(self, lanes: "Lanes", route: Route) -> None:
        answers = None if self._metering is None else self._metering.lane_answers(route)
        answering: Answering = SentAnswers() if answers is None else answers
        charged = None
        if self._charging is not None:
            answering = charged = charged_lane.ChargedAnswers(self._charging, route, answering)
        lane = lanes.lane_of(route, answering, is_charged=charged is not None)
        if lane is not None and charged is not None:
            lane = charged.charging(lane)
        if lane is not None and answers is not None:
            lane = answers.timed(lane)
        for _, is_intercepting in self._intercepts:
            lane = None if lane is None else unless(is_intercepting, lane)
        route.lane = lane

    def _forwarding_route(self, kind: int, api_key: int, version: int) -> Route | None:
        versions = self._forwarded_versions().get(api_key)
        if versions is None or not versions[0] <= version <= versions[1]:
            return None
        assert self._forward is not None
        return self._added(kind, ForwardingRoute(api(api_key), version, whole_frame, self._forward))


def _with_memory(
    connection: Connection, in_service: RequestInService, steps: Iterator[object] | None
) -> Iterator[object]:
    """Runs the steps of a request with reserved memory, and releases the memory if it then waits for its answer."""
    if steps is not None:
        yield from steps
    if not in_service.is_answered:
        # The request waits for its answer, perhaps for minutes. The code that keeps it waiting bounds its memory.
        connection.release_memory()


def describe_unserved(api_key: int, version: int) -> str:
    """Says in words why a request is not served, for the log."""
    try:
        name = api(api_key).name
    except KeyError:
        return f"API key {api_key} (version {version}) is unknown: Apache Kafka has no such API"
    if api_key not in SERVED:
        return f"{name} (API key {api_key}) is not supported"
    lowest, highest = served_versions(api_key)
    return f"{name} version {version} is not supported, only versions {lowest} to {highest} are"
