"""Measures the requests of a route: how long each takes, and what its answer holds.

Owns: when the clock is read: before the handler, after it, and at an answer that comes later. Never does: keeping
counts. A broker without metrics does not use this module. Source: ``RequestChannel.Request.updateRequestMetrics``.

The functions for a route are made once, so that counting a small request looks nothing up. It costs 1 us of a
Heartbeat and 3 us of a Produce (docs/metrics.md).
"""

from collections.abc import Iterator
from time import perf_counter_ns
from typing import Any, Protocol

from ..metrics.error_plan import CountErrors
from ..metrics.request_meters import ApiMeter, RequestMeters
from ..network.waiting import Waiting
from .route import NoteAnswer, Route
from .served import Handler

UNFINISHED = 0
"""The ``begun_ns`` of a request whose handler has not returned yet, and that is not answered."""
ANSWERED = -1
"""The ``begun_ns`` of a request whose answer was counted."""


class Measured(Protocol):
    """A request. ``begun_ns``: when it began, in ns of ``perf_counter_ns``, after its handler has returned without an
    answer; before that :data:`UNFINISHED`, and after the answer :data:`ANSWERED`.
    """

    begun_ns: int

    def take_arrival(self, now_ns: int) -> int:
        """When the request arrived, if it has waited and nothing has counted that yet; else ``now_ns``."""


class Metering:
    """Measures routes."""

    def __init__(self, meters: RequestMeters, waiting: Waiting) -> None:
        """``waiting``: the waits on connections."""
        self._meters = meters
        self._waiting = waiting

    def measure(self, route: Route) -> None:
        """Counts the requests of a route from now on. Call it before the first one."""
        meter = self._meters.of(route.name)
        route.meter = meter.version(route.version)
        route.handle = timed(route.handle, meter)
        route.note_answer = answer_counter(meter, route.error_counter(self._meters), self._waiting)
        self._waiting.apis[route.api_key << 16 | route.version] = meter


def timed(handle: Handler, meter: ApiMeter) -> Handler:
    """The same handler, which also measures its time. Its context must be a :class:`Measured`."""
    served, buckets = meter.served, meter.served.buckets

    def serve(broker: Any, request: Any, context: Any, reply: Any) -> Iterator[object] | None:
        begun_ns = perf_counter_ns()
        try:
            steps = handle(broker, request, context, reply)
        except Exception:
            if context.begun_ns == UNFINISHED:
                context.begun_ns = begun_ns  # the dispatcher answers it
            meter.worked.note(perf_counter_ns() - begun_ns)
            raise
        ns = perf_counter_ns() - begun_ns
        if steps is None and context.begun_ns == ANSWERED:
            served.ns += ns
            buckets[(ns // 1000).bit_length()] += 1  # Times.note, without its call
            return None
        return _note_unfinished(meter, context, begun_ns, ns, steps)

    return serve


def _note_unfinished(
    meter: ApiMeter, request: Measured, begun_ns: int, ns: int, steps: Iterator[object] | None
) -> Iterator[object] | None:
    """Notes a handler that has returned after ``ns`` and is to answer later, or has further steps."""
    if request.begun_ns == ANSWERED:
        meter.answered.note(ns)
    else:
        request.begun_ns = begun_ns
    if steps is None:
        meter.worked.note(ns)
        return None
    meter.queue_waits.begin()  # for a turn among the slices
    return _timed_steps(meter, request.take_arrival(begun_ns), ns, steps)


def _timed_steps(meter: ApiMeter, arrived_ns: int, ns: int, steps: Iterator[object]) -> Iterator[object]:
    """Runs the same steps and measures their time. ``arrived_ns``: when the request began to wait for the first one.
    ``ns``: the handler's time before it.
    """
    begun_ns = perf_counter_ns()
    meter.queue_waits.end(begun_ns - arrived_ns - ns)
    try:
        while True:
            try:
                step = next(steps)
            except StopIteration:
                return
            finally:
                ns += perf_counter_ns() - begun_ns
            yield step
            begun_ns = perf_counter_ns()
    finally:
        meter.worked.note(ns)
        close = getattr(steps, "close", None)
        if close is not None:
            close()


def answer_counter(meter: ApiMeter, count_errors: CountErrors, waiting: Waiting) -> NoteAnswer:
    """The function that counts the answers of a route. ``count_errors``: counts the error codes of its response.
    ``waiting`` gets to know which answer comes next.
    """
    failures, answered = meter.failures, meter.answered.note

    def note_answer(request: Measured, response: Any, parts: list[Any] | None) -> None:
        begun_ns = request.begun_ns
        if begun_ns:
            if begun_ns == ANSWERED:
                return  # the second answer of a handler that has failed: it is dropped
            answered(perf_counter_ns() - begun_ns)
        request.begun_ns = ANSWERED
        waiting.answering = meter
        if parts is not None:
            size = meter.response_bytes
            for part in parts:
                size += len(part)
            meter.response_bytes = size
            meter.successes += count_errors(response, failures)

    return note_answer
