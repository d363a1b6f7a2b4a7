"""The queue of all timers of the broker, driven by one timer of the event loop.

Pure. Owns: the timers and their deadlines. Never does: reading a clock (the caller passes the time), keeping cancelled
callbacks alive. Deadlines are rounded up to a tick, so that thousands of sessions share few wake-ups: setting a timer
costs a dictionary look-up and an append, cancelling or postponing one an assignment. A postponed timer stays in its
bucket, and moves to that of its new deadline when the first bucket is due: a session that fifteen heartbeats renew
moves once. Source: Kafka's hierarchical timing wheel (``SystemTimer``), for the same reason. Here one level of buckets
in a heap suffices, since the heap holds ticks and not timers.
"""

from collections import deque
from collections.abc import Callable, Iterable
from heapq import heappop, heappush

from .work import KindOfWork

TIMERS = KindOfWork("timers", "does what a timer was set for")
TICK_MS = 4
FIRED_A_TURN = 32
"""Callbacks of timers in one turn of the event loop. The end of a session takes 0.1 to 0.3 ms."""
FEW_CANCELLED = 1024
"""Up to this number, cancelled timers are kept. Above it, they are removed when they are more than half of all."""


class TimerHandle:
    """A timer that was set. :meth:`cancel` cancels it until it fires."""

    __slots__ = ("_queue", "callback", "deadline_ms")

    def __init__(self, deadline_ms: int, callback: Callable[[], None], queue: "TimerQueue") -> None:
        self.deadline_ms = deadline_ms
        self.callback: Callable[[], None] | None = callback
        self._queue: TimerQueue | None = queue

    def cancel(self) -> None:
        """Drops the callback. Does nothing if the timer has fired."""
        if self.callback is None:
            return
        self.callback = None
        queue, self._queue = self._queue, None
        if queue is not None:
            queue.note_cancelled()

    def postpone(self, deadline_ms: int) -> bool:
        """Moves the deadline. Returns False and changes nothing if it is due already or the new deadline is earlier."""
        if self._queue is None or deadline_ms < self.deadline_ms:
            return False
        self.deadline_ms = deadline_ms
        return True

    def leave(self) -> None:
        """Called when the queue drops a due timer. It may still be cancelled before it fires."""
        self._queue = None

    def fire(self) -> None:
        """Calls back, unless it was cancelled since it became due."""
        callback, self.callback = self.callback, None
        if callback is not None:
            TIMERS.call(callback)


class TimerQueue:
    """Timers by deadline, in milliseconds of a monotonic clock that the caller reads."""

    __slots__ = ("_buckets", "_cancelled", "_handles", "_ticks")

    def __init__(self) -> None:
        self._buckets: dict[int, list[TimerHandle]] = {}
        self._ticks: list[int] = []
        self._handles = 0
        self._cancelled = 0

    def __len__(self) -> int:
        """The number of timers, with cancelled ones that are not removed yet."""
        return self._handles

    def add(self, deadline_ms: int, callback: Callable[[], None]) -> TimerHandle:
        """Sets a timer for ``deadline_ms``; it fires at that time or up to ``TICK_MS`` later."""
        handle = TimerHandle(deadline_ms, callback, self)
        self._put(handle)
        return handle

    def _put(self, handle: TimerHandle) -> None:
        """Puts a timer into the bucket of its deadline."""
        self._handles += 1
        tick = _tick(handle.deadline_ms)
        bucket = self._buckets.get(tick)
        if bucket is None:
            self._buckets[tick] = [handle]
            heappush(self._ticks, tick)
        else:
            bucket.append(handle)

    def note_cancelled(self) -> None:
        """Counts a cancelled timer, and removes them if there are too many.

        Otherwise each request that asks to wait for days, and is answered at once, would leave a handle for days.
        """
        self._cancelled += 1
        if self._cancelled <= FEW_CANCELLED or 2 * self._cancelled <= self._handles:
            return
        live = {
            tick: kept
            for tick, bucket in self._buckets.items()
            if (kept := [handle for handle in bucket if handle.callback is not None])
        }
        self._buckets = live
        self._ticks = sorted(live)  # a sorted list is a heap
        self._handles = sum(map(len, live.values()))
        self._cancelled = 0

    def next_deadline_ms(self) -> int | None:
        """The next deadline, or None. Empties buckets in which all timers were cancelled or postponed."""
        while self._ticks:
            tick = self._ticks[0]
            if any(handle.callback is not None and _tick(handle.deadline_ms) == tick for handle in self._buckets[tick]):
                return tick * TICK_MS
            self._pop_first_bucket()
        return None

    def pop_due(self, now_ms: int) -> list[Callable[[], None]]:
        """Takes out the timers due at ``now_ms``, in the order of ticks, then in the order of setting. Calling one
        fires it.

        Within a tick, timers that were postponed to it come last. One that is cancelled before its call, for example by
        another one, does nothing.
        """
        due: list[Callable[[], None]] = []
        while self._ticks and self._ticks[0] * TICK_MS <= now_ms:
            due += [handle.fire for handle in self._pop_first_bucket()]
        return due

    def _pop_first_bucket(self) -> list[TimerHandle]:
        """Empties the first bucket. Returns the timers of its tick; postponed ones move to their own buckets."""
        tick = heappop(self._ticks)
        bucket = self._buckets.pop(tick)
        self._handles -= len(bucket)
        due = []
        for handle in bucket:
            if handle.callback is None:
                self._cancelled -= 1
            elif _tick(handle.deadline_ms) > tick:
                self._put(handle)
            else:
                handle.leave()
                due.append(handle)
        return due


class DueCallbacks:
    """Calls what is due in order, FIRED_A_TURN callbacks in each turn of the event loop.

    The callbacks do not raise: a timer's failure is counted and logged (:data:`TIMERS`).
    """

    __slots__ = ("_call_soon", "_waiting")

    def __init__(self, call_soon: Callable[[Callable[[], None]], object]) -> None:
        self._call_soon = call_soon
        self._waiting: deque[Callable[[], None]] = deque()

    def add(self, callbacks: Iterable[Callable[[], None]]) -> None:
        """Calls these after all that were added before, from the next turn on."""
        is_running = bool(self._waiting)
        self._waiting.extend(callbacks)
        if self._waiting and not is_running:
            self._call_soon(self._run)

    def _run(self) -> None:
        for _ in range(min(FIRED_A_TURN, len(self._waiting))):
            self._waiting[0]()
            self._waiting.popleft()  # only now: while it runs, what it adds must not start a second run
        if self._waiting:
            self._call_soon(self._run)


def _tick(deadline_ms: int) -> int:
    """The first tick that is not before the deadline."""
    return -(-deadline_ms // TICK_MS)
