"""Decodes requests in large frames: in slices, after memory for their elements has been reserved.

Owns: decoding large frames. Never does: serving them. Invariants: INLINE_STEPS steps are decoded without a reservation;
if there is more, the elements are counted and memory is reserved first; a single request above the limit closes its
connection. Records are not counted, since they are not copied. Source: ours; Kafka limits a request only by its size in
bytes (``socket.request.max.bytes``).

Most large frames have few elements with many bytes, such as records. They need no reservation.
"""

from collections.abc import Callable, Iterator
from functools import partial
from time import perf_counter_ns
from typing import Any

from odradek.protocol.errors import ProtocolError

from ..network.connection import Connection
from ..network.memory_budget import MemoryBudget
from ..timers.log_lines import quoted
from .request_in_service import FaultyFrame
from .route import Route

INLINE_STEPS = 8
"""The number of steps (64 elements each) that are decoded without a reservation: below 1 ms."""
HEAD_BYTES = 40 * 1024
"""The header must end in this many bytes of a frame. A client id has at most 32,767 bytes."""
ELEMENT_BYTES = 400
"""The bytes reserved for one element of a request and its part of the response. Measured: 185 bytes for a name in
DescribeGroups, 390 for a topic in Metadata.
"""

MAX_BYTES_KEY = "odradek.request.decoded.max.bytes"
TOTAL_BYTES_KEY = "odradek.request.decoded.total.bytes"

Serve = Callable[[Connection, Route, int, str | None, Any, int, bool, bool], None]
"""Serves a decoded request: ``(connection, route, correlation id, client id, request, size of its frame, owns its
frame, is large)``."""


class LargeRequests:
    """Decodes large frames."""

    def __init__(self, budget: MemoryBudget, request_max_bytes: int, serve: Serve) -> None:
        """``budget``: the memory for all requests together. ``request_max_bytes``: the maximum for one request."""
        self._budget = budget
        self._request_max_bytes = min(request_max_bytes, budget.total_bytes)
        self._serve = serve

    def decode(self, connection: Connection, route: Route, frame: memoryview, owned: bool) -> Any:
        """(correlation id, client id, request) if the frame holds few elements.

        Otherwise None: the request is decoded and served in slices, or the connection is closed. Raises ProtocolError
        for a malformed header.
        """
        head = frame if len(frame) <= HEAD_BYTES else frame[:HEAD_BYTES]
        correlation_id, client_id, position = route.decode_head(head)
        if len(frame) > self._request_max_bytes and not route.takes_records:
            connection.refuse(
                f"{route.name} version {route.version} has {len(frame)} bytes, more than "
                f"{MAX_BYTES_KEY}={self._request_max_bytes}; client id {quoted(client_id)}"
            )
            return None
        decoding = route.decode_steps(frame, position)
        try:
            for _ in range(INLINE_STEPS):
                next(decoding)
        except StopIteration as end:
            return correlation_id, client_id, end.value[0]
        except ProtocolError as error:
            connection.refuse(FaultyFrame(frame, error, client_id))
            return None
        decoding.close()
        kept = frame if owned else memoryview(bytes(frame))
        large = LargeRequest(connection, route, kept, position, correlation_id, client_id)
        if route.meter is not None:
            large.arrived_ns = connection.take_arrival(perf_counter_ns())
            route.meter.api.queue_waits.begin()
        connection.run(self._count(large), partial(_refuse, large), large)
        return None

    def _count(self, large: "LargeRequest") -> Iterator[object]:
        """Counts the elements and reserves memory for them. Decoding continues once the memory is granted."""
        text_bytes = 0 if large.route.takes_records else len(large.frame)
        most = (self._request_max_bytes - text_bytes) // ELEMENT_BYTES
        elements, _ = yield from large.route.count(large.frame, large.position, most)
        if elements > most:
            large.connection.refuse(
                f"{large.route.name} version {large.route.version} in {len(large.frame)} bytes has more than {most} "
                f"elements ({MAX_BYTES_KEY}={self._request_max_bytes}); client id {quoted(large.client_id)}"
            )
            return
        large.connection.reservation = self._budget.reserve(
            elements * ELEMENT_BYTES + text_bytes, partial(self._granted, large)
        )

    def _granted(self, large: "LargeRequest") -> None:
        large.connection.run(self._decode(large), partial(_refuse, large), large)

    def _decode(self, large: "LargeRequest") -> Iterator[object]:
        request, _ = yield from large.route.decode_steps(large.frame, large.position)
        meter = large.route.meter
        if meter is None:
            self._serve_decoded(large, request)
            return
        begun_ns, connection = perf_counter_ns(), large.connection
        meter.api.queue_waits.end(0)  # the handler counts the wait, if it waits on, or the next lines
        if connection.serve_late(partial(self._serve_decoded, large, request), large.arrived_ns):
            meter.api.queue_waits.note(begun_ns - large.arrived_ns)

    def _serve_decoded(self, large: "LargeRequest", request: Any) -> None:
        size = len(large.frame)
        self._serve(large.connection, large.route, large.correlation_id, large.client_id, request, size, True, True)


class LargeRequest:
    """A request whose body has not been decoded yet."""

    __slots__ = ("arrived_ns", "client_id", "connection", "correlation_id", "frame", "position", "route")

    def __init__(
        self,
        connection: Connection,
        route: Route,
        frame: memoryview,
        position: int,
        correlation_id: int,
        client_id: str | None,
    ) -> None:
        """``frame`` owns its bytes; ``position``: where the body begins."""
        self.arrived_ns = 0
        """When it arrived; 0 without metrics."""
        self.connection = connection
        self.route = route
        self.frame = frame
        self.position = position
        self.correlation_id = correlation_id
        self.client_id = client_id

    @property
    def name(self) -> str:
        """The API's name."""
        return self.route.name

    @property
    def client_host(self) -> str:
        """The client's address."""
        return self.connection.client_host


def _refuse(large: LargeRequest, error: Exception) -> None:
    """Closes the connection if a body can't be decoded. Re-raises exceptions other than ProtocolError."""
    if not isinstance(error, ProtocolError):
        raise error
    large.connection.refuse(FaultyFrame(large.frame, error, large.client_id))
