"""Timers of the broker: one queue for all, driven by one timer of the event loop.

Pure. Owns: what is due when. Never does: reading a clock of its own (the shell gives one), keeping cancelled callbacks
alive. Deadlines are rounded up to a tick, so that thousands of sessions share few wake-ups: setting a timer costs a
dictionary look-up and an append, cancelling or postponing one an assignment. Who was postponed stays in its bucket, and
goes to that of its deadline when the first is due: a session that fifteen heartbeats renew moves once. Source: Kafka's
hierarchical timing wheel (``SystemTimer``), for the same reason; here one level of buckets in a heap does, since the
heap holds ticks and not timers.
"""

from collections.abc import Callable
from heapq import heappop, heappush

TICK_MS = 4
FEW_CANCELLED = 1024
"""So many cancelled timers may always lie about; above, they are swept out once they are the greater half."""


class TimerHandle:
    """A timer that was set; :meth:`cancel` takes it back, until the moment in which it fires."""

    __slots__ = ("_queue", "callback", "deadline_ms")

    def __init__(self, deadline_ms: int, callback: Callable[[], None], queue: "TimerQueue") -> None:
        self.deadline_ms = deadline_ms
        self.callback: Callable[[], None] | None = callback
        self._queue: TimerQueue | None = queue

    def cancel(self) -> None:
        """Forgets the callback; harmless when the timer has fired."""
        if self.callback is None:
            return
        self.callback = None
        queue, self._queue = self._queue, None
        if queue is not None:
            queue.note_cancelled()

    def postpone(self, deadline_ms: int) -> bool:
        """Makes it due later; False, and nothing is changed, where it is due already or is asked to come sooner."""
        if self._queue is None or deadline_ms < self.deadline_ms:
            return False
        self.deadline_ms = deadline_ms
        return True

    def leave(self) -> None:
        """The queue lets go of it: it is due, and may still be cancelled before it fires."""
        self._queue = None

    def fire(self) -> None:
        """Calls back, unless it was cancelled since it became due."""
        callback, self.callback = self.callback, None
        if callback is not None:
            callback()


class TimerQueue:
    """Timers by deadline, in milliseconds of a monotonic clock that the caller reads."""

    __slots__ = ("_buckets", "_cancelled", "_handles", "_ticks")

    def __init__(self) -> None:
        self._buckets: dict[int, list[TimerHandle]] = {}
        self._ticks: list[int] = []
        self._handles = 0
        self._cancelled = 0

    def __len__(self) -> int:
        """How many timers it holds, cancelled ones that were not swept out yet among them."""
        return self._handles

    def add(self, deadline_ms: int, callback: Callable[[], None]) -> TimerHandle:
        """Sets a timer for ``deadline_ms``; it fires at that time or up to ``TICK_MS`` later."""
        handle = TimerHandle(deadline_ms, callback, self)
        self._put(handle)
        return handle

    def _put(self, handle: TimerHandle) -> None:
        """Into the bucket of its deadline."""
        self._handles += 1
        tick = _tick(handle.deadline_ms)
        bucket = self._buckets.get(tick)
        if bucket is None:
            self._buckets[tick] = [handle]
            heappush(self._ticks, tick)
        else:
            bucket.append(handle)

    def note_cancelled(self) -> None:
        """Counts a cancelled timer, and sweeps them out where they are too many.

        Without it a client that asks to wait for days, and is answered at once, leaves a handle for days each time.
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
        """When the next timer is due, or None; empties buckets in which all were cancelled or postponed."""
        while self._ticks:
            tick = self._ticks[0]
            if any(handle.callback is not None and _tick(handle.deadline_ms) == tick for handle in self._buckets[tick]):
                return tick * TICK_MS
            self._take_first()
        return None

    def pop_due(self, now_ms: int) -> list[Callable[[], None]]:
        """Takes out what is due at ``now_ms``, in the order of the ticks, then of setting; calling each fires it.

        Of one tick, those that were postponed to it come behind. One that is cancelled before it is called (by another
        of them, say) does nothing then.
        """
        due: list[Callable[[], None]] = []
        while self._ticks and self._ticks[0] * TICK_MS <= now_ms:
            due += [handle.fire for handle in self._take_first()]
        return due

    def _take_first(self) -> list[TimerHandle]:
        """Empties the first bucket: the timers that it is the time of. Those that were postponed go to theirs."""
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


def _tick(deadline_ms: int) -> int:
    """The first tick that is not before the deadline."""
    return -(-deadline_ms // TICK_MS)
