"""Watches the event loop from a thread, and logs what blocked it.

Owns: one thread, from the first tick after the start: a broker for one test does not wait for it. Never does: deciding
about the consequences (see :mod:`.patience`). It costs two wake-ups a second, and one attribute assignment for each
request, in :class:`..dispatch.dispatch.Dispatcher`. The words are in :mod:`.stall_report`.
"""

import logging
import sys
import threading
import time
from collections.abc import Callable
from inspect import CO_COROUTINE
from types import CodeType, FrameType

from .patience import TICK_MS
from .stall_report import RequestSeen, StackFrame, Stall, words

logger = logging.getLogger(__name__)

STALL_MS = 1_000
"""Stalls of at least this length are logged."""
RUNNERS = ("run", "run_forever", "run_until_complete", "_run_once", "_run")
DEPTH = 40
"""The number of stack frames that are kept."""


class StallWatch:
    """The watch of one event loop: :meth:`note_turn` is called on its thread at least every `TICK_MS`."""

    def __init__(self) -> None:
        self._end = threading.Event()
        self._watches = False
        self._thread: threading.Thread | None = None
        self._loop_thread = 0
        self._loop_runs_in: CodeType | None = None
        self._last_request: Callable[[], RequestSeen | None] = lambda: None
        self._sliced_request: Callable[[], RequestSeen | str | None] = lambda: None
        self._turn_s = 0.0
        self._cpu_s = 0.0
        self._suspended_ms = 0
        self._seen: tuple[tuple[StackFrame, ...], RequestSeen | None, RequestSeen | str | None] = ((), None, None)
        """The stack and the requests that the thread has recorded since the last turn."""

    def start(
        self,
        last_request: Callable[[], RequestSeen | None],
        sliced_request: Callable[[], RequestSeen | str | None],
        suspended_ms: int,
    ) -> None:
        """Starts to watch the calling thread. ``last_request`` returns the request that was dispatched last.

        ``sliced_request`` returns the request, or the name of the work, of the running slice. Both are called on the
        thread of the watch.
        """
        self._last_request = last_request
        self._sliced_request = sliced_request
        self._loop_thread = threading.get_ident()
        self._loop_runs_in = runner_of(sys._getframe())
        self._turn_s, self._cpu_s, self._suspended_ms = time.monotonic(), time.thread_time(), suspended_ms
        self._watches = True

    def stop(self) -> None:
        """Ends the watch, if it has started."""
        self._watches = False
        self._end.set()
        if self._thread is not None:
            self._thread.join()
            self._thread = None

    def note_turn(self, _: int, suspended_ms: int) -> None:
        """Notes a turn of the event loop. ``suspended_ms``: the total time of suspensions, from any starting point."""
        if not self._watches:
            return
        if self._thread is None:
            self._thread = threading.Thread(target=self._watch, name="odradek-stalls", daemon=True)
            self._thread.start()
        now_s, cpu_s = time.monotonic(), time.thread_time()
        slept_ms = max(0, suspended_ms - self._suspended_ms)
        # Between two turns the loop may sleep for a tick, which is not part of a stall.
        length_ms = int((now_s - self._turn_s) * 1000) - TICK_MS + slept_ms
        if length_ms >= STALL_MS:
            stack, request, sliced = self._seen
            cpu_ms = int((cpu_s - self._cpu_s) * 1000)
            stall = Stall(length_ms, cpu_ms, slept_ms, stack, request or self._last_request(), sliced)
            logger.warning(
                "the broker served no requests for %.1f s (%.1f s of CPU time): %s",
                length_ms / 1000,
                cpu_ms / 1000,
                words(stall),
            )
        self._turn_s, self._cpu_s, self._suspended_ms = now_s, cpu_s, suspended_ms
        self._seen = ((), None, None)

    def _watch(self) -> None:
        checked_s = time.monotonic()
        while not self._end.wait(TICK_MS / 1000):
            now_s = time.monotonic()
            if now_s - checked_s > 2 * TICK_MS / 1000:
                # This thread did not run either: the stack is from after the stall.
                checked_s = now_s
                continue
            checked_s = now_s
            if now_s - self._turn_s >= (TICK_MS + STALL_MS / 2) / 1000 and not self._seen[0]:
                frame = sys._current_frames().get(self._loop_thread)
                self._seen = stack_of(frame, self._loop_runs_in), self._last_request(), self._sliced_request()


def runner_of(frame: FrameType | None) -> CodeType | None:
    """The function that runs the event loop of ``frame``: the first caller that is not a coroutine."""
    while frame is not None and frame.f_code.co_flags & CO_COROUTINE:
        frame = frame.f_back
    while frame is not None and runs_a_loop(frame.f_code):
        frame = frame.f_back
    return None if frame is None else frame.f_code


def runs_a_loop(code: CodeType) -> bool:
    """Whether a function is one of asyncio's that run the event loop's callbacks."""
    return "/asyncio/" in code.co_filename and code.co_name in RUNNERS


def stack_of(frame: FrameType | None, runner: CodeType | None) -> tuple[StackFrame, ...]:
    """The stack of a thread, outermost first, without the frames that run the event loop; empty if the loop sleeps."""
    places: list[StackFrame] = []
    while frame is not None and len(places) < DEPTH:
        code = frame.f_code
        if code is runner or runs_a_loop(code):
            break
        places.append(StackFrame(code.co_filename, frame.f_lineno, code.co_qualname))
        frame = frame.f_back
    return tuple(reversed(places))
