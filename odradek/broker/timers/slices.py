"""Runs long work in slices: one turn of the event loop runs a bounded part of it.

Owns: the work in progress. Never does: I/O, choosing the work. Invariant: all work together takes at most three slices
of a turn: one for new work that starts at once, one for work that waits for its start (so that a small request does not
wait for large ones of other clients), and one for work in progress. A step is one `next()` of an iterator and must take
less than 1 ms; its result is ignored (``protocol/common/steps.py``).
Source: Kafka gives each request a thread of its own instead (``num.io.threads``).
"""

import asyncio
import time
from collections import deque
from collections.abc import Callable, Iterator
from functools import partial

from odradek.protocol.common.steps import Result, Steps

from .stall_report import RequestSeen, Served, seen
from .work import KindOfWork

SLICES = KindOfWork("slices", "does a part of long work in each turn of the event loop")
SLICE_MS = 1.0
"""The length of a slice."""


class SlicedWork:
    """One piece of work that has begun."""

    __slots__ = ("_failed", "_is_running", "_steps", "is_done", "request")

    def __init__(self, steps: Iterator[object], failed: Callable[[Exception], None]) -> None:
        self._steps: Iterator[object] | None = steps
        self._failed = failed
        self._is_running = False
        self.is_done = False
        self.request: Served | str | None = None
        """The request that it serves, or words for other work, for the log of stalls; None when it is done."""

    def cancel(self) -> None:
        """Ends the work, unless it is done. A generator is closed, so that its ``finally`` blocks run.

        A step may cancel its own work: the generator is closed when that step ends.
        """
        self.is_done = True
        if not self._is_running:
            self._close()

    def advance(self, until_ms: float, now_ms: Callable[[], float]) -> None:
        """Runs steps until ``until_ms``. An exception ends the work and is passed to ``failed``."""
        assert self._steps is not None, "only work that is not done is advanced"
        self._is_running = True
        try:
            for _ in self._steps:
                if self.is_done or now_ms() >= until_ms:
                    break
            else:
                self.is_done = True
        except Exception as error:  # noqa: BLE001 - any error ends this work only: `failed` answers and logs
            self.is_done = True
            SLICES.call(self._failed, error)  # if that raises, the other work still goes on
        finally:
            self._is_running = False
        if self.is_done:
            self._close()

    def _close(self) -> None:
        """Drops all references: a connection keeps its last work, which must not keep a large request alive."""
        steps, self._steps = self._steps, None
        self._failed = _ignore
        self.request = None
        close = getattr(steps, "close", None)
        if close is not None:
            close()


def _ignore(_: Exception) -> None:
    """The ``failed`` of work that has ended."""


class Slices:
    """All sliced work of one event loop."""

    def __init__(self, call_soon: Callable[[Callable[[], None]], object], now_ms: Callable[[], float]) -> None:
        """``call_soon`` is the event loop's; ``now_ms`` reads a monotonic clock in milliseconds."""
        self._call_soon = call_soon
        self._now_ms = now_ms
        self._new: deque[SlicedWork] = deque()
        self._begun: deque[SlicedWork] = deque()
        self._is_closed = False
        self._begins_until_ms: float | None = None
        """The time until which new work begins at once; None while no turn of this class is scheduled."""
        self._running: SlicedWork | None = None

    def __len__(self) -> int:
        """The number of pieces of work that are not done. Cancelled ones count until their turn."""
        return len(self._new) + len(self._begun)

    def start(
        self, steps: Iterator[object], failed: Callable[[Exception], None], request: Served | str | None = None
    ) -> SlicedWork:
        """Starts work: at once if no other work waits and the work started in this turn took less than a slice.

        Otherwise it starts at its turn.

        ``failed`` is called with the exception of a step, which ends the work. ``request``: the request that the work
        serves, or a name of the work.
        """
        work = SlicedWork(steps, failed)
        work.request = request
        if self._is_closed:
            work.cancel()
            return work
        if self._begins_until_ms is None:
            self._begins_until_ms = self._now_ms() + SLICE_MS
            self._call_soon(self._turn)
        if self._running is not None or self._new or self._begun or self._now_ms() >= self._begins_until_ms:
            self._new.append(work)
        else:
            self._run(work, self._begins_until_ms)
        return work

    def start_background(self, steps: Iterator[object], name: str) -> SlicedWork:
        """Starts work that no request waits for, as :meth:`start`. ``name``: a noun phrase for log lines.

        An exception of a step is a bug. It ends the work, and an ERROR line says that the work failed.
        """
        return self.start(steps, partial(_log_failure, name), name)

    def request(self) -> RequestSeen | str | None:
        """The request, or the name of the work, of the running slice, for the log of stalls. Any thread may call."""
        work = self._running
        request = None if work is None else work.request
        return request if request is None or isinstance(request, str) else seen(request)

    def close(self) -> None:
        """Cancels all work, and starts no more, because the broker stops."""
        self._is_closed = True
        for work in (*self._new, *self._begun):
            work.cancel()

    def _turn(self) -> None:
        """Gives one slice to new work and one to work that has begun. Then other callbacks of the event loop run."""
        begun = self._begun.popleft() if self._begun else None
        now_ms = self._now_ms()
        until_ms = now_ms + SLICE_MS
        while self._new and now_ms < until_ms:
            self._run(self._new.popleft(), until_ms)
            now_ms = self._now_ms()
        if begun is not None:
            self._run(begun, now_ms + SLICE_MS)
        if self._new or self._begun:
            self._begins_until_ms = now_ms
            self._call_soon(self._turn)
        else:
            self._begins_until_ms = None

    def _run(self, work: SlicedWork, until_ms: float) -> None:
        if not work.is_done:
            self._running = work
            work.advance(until_ms, self._now_ms)
            self._running = None
        if not work.is_done:
            self._begun.append(work)


def _log_failure(name: str, error: Exception) -> None:
    SLICES.failed(name, error)


async def run_in_slices(slices: Slices, steps: Steps[Result]) -> Result:
    """Runs steps in slices and returns their result. Raises their exceptions. Cancelling it cancels the work."""
    done: asyncio.Future[Result] = asyncio.get_running_loop().create_future()

    def run() -> Steps[None]:
        result = yield from steps
        if not done.done():
            done.set_result(result)

    def failed(error: Exception) -> None:
        if not done.done():
            done.set_exception(error)

    work = slices.start(run(), failed)
    try:
        return await done
    finally:
        work.cancel()


def slices_of(loop: asyncio.AbstractEventLoop) -> Slices:
    """The sliced work of a running broker."""
    return Slices(loop.call_soon, slice_clock_ms)


def slice_clock_ms() -> float:
    """A monotonic clock in ms: the one that measures slices in a running broker."""
    return time.perf_counter() * 1000
