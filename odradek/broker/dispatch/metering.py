"""Measures the requests of a route: how long each takes, and what its answer holds.

Owns: when the clock is read: at the answer, and when a handler returns without one. (The dispatcher reads it before
the handler.) Never does: keeping counts. A broker without metrics does not use this module. Source:
``RequestChannel.Request.updateRequestMetrics``.

The functions for a route are made once, so that counting a small request looks nothing up. It costs 1 us of a
Heartbeat and 3 us of a Produce (docs/metrics.md). What a handler still does after its answer, such as waking fetches,
is part of no time.
"""

from collections.abc import Iterator
from time import perf_counter_ns
from typing import Any, Protocol

from ..metrics.error_plan import CountErrors
from ..metrics.request_meters import ApiMeter, RequestMeters
from ..network.waiting import Waiting
from .lane import CountedAnswers
from .route import NoteAnswer, NoteReturn, Route

SERVED = 0
"""The ``begun_ns`` of a request whose answer was counted, and of every request without metrics."""


class Measured(Protocol):
    """A request. ``begun_ns``: when it began, in ns of ``perf_counter_ns``; the same below 0 after its handler has
    returned without an answer, and :data:`SERVED` after the answer.
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
        route.note_answer = answer_counter(meter, route.error_counter(self._meters), self._waiting)
        route.note_return = return_counter(meter)
        self._waiting.apis[route.api_key << 16 | route.version] = meter

    def lane_answers(self, route: Route) -> CountedAnswers:
        """Counts the answers of a route's lane."""
        return CountedAnswers(self._meters.of(route.name), route.error_counter(self._meters), self._waiting)


def return_counter(meter: ApiMeter) -> NoteReturn:
    """The function that notes the handlers of a route that have returned before the answer."""

    def note_return(request: Measured, steps: Iterator[object] | None) -> Iterator[object] | None:
        begun_ns = request.begun_ns
        request.begun_ns = -begun_ns
        ns = perf_counter_ns() - begun_ns
        if steps is None:
            meter.worked.note(ns)
            return None
        meter.queue_waits.begin()  # for a turn among the slices
        return _timed_steps(meter, request.take_arrival(begun_ns), ns, steps)

    return note_return


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
    failures, answered, served, buckets = meter.failures, meter.answered.note, meter.served, meter.served.buckets

    def note_answer(request: Measured, response: Any, parts: list[Any] | None) -> None:
        begun_ns = request.begun_ns
        request.begun_ns = SERVED
        if begun_ns > 0:
            ns = perf_counter_ns() - begun_ns
            served.ns += ns
            buckets[(ns // 1000).bit_length()] += 1  # Times.note, without its call
        else:
            answered(perf_counter_ns() + begun_ns)
        waiting.answering = meter
        if parts is not None:
            size = meter.response_bytes
            for part in parts:
                size += len(part)
            meter.response_bytes = size
            meter.successes += count_errors(response, failures)

    return note_answer
