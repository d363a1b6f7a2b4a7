"""Limits the speed of a cleaning round, and stops it between two chunks.

Pure: the clock and the wait function are passed in. Source: Kafka's Throttler, Cleaner.throttler and checkDone;
log.cleaner.io.max.bytes.per.second counts bytes read and bytes written.
"""

from collections.abc import Callable

WINDOW_S = 1.0
"""The rate is limited over this window. Unused capacity is not carried over."""
SHORTEST_PAUSE_S = 0.01


class CleaningStoppedError(Exception):
    """The round must end now, because the broker stops or the log has changed."""


class Throttle:
    """Computes the pauses that limit the bytes moved per second."""

    __slots__ = ("_begun_s", "_bytes", "bytes_per_second")

    def __init__(self, bytes_per_second: float, now_s: float) -> None:
        self.bytes_per_second = bytes_per_second
        self._begun_s = now_s
        self._bytes = 0

    def pause_s(self, moved: int, now_s: float) -> float:
        """Counts bytes that were just moved. Returns the seconds to wait before the next ones."""
        self._bytes += moved
        pause = self._bytes / self.bytes_per_second - (now_s - self._begun_s)
        if pause < -WINDOW_S:
            self._begun_s, self._bytes = now_s, 0
        return pause if pause >= SHORTEST_PAUSE_S else 0.0


class Pace:
    """The pace of a round; its code calls this after each chunk."""

    __slots__ = ("_clock_s", "_throttle", "_wait", "bytes_read", "bytes_written")

    def __init__(self, bytes_per_second: float, clock_s: Callable[[], float], wait: Callable[[float], bool]) -> None:
        """``wait(seconds)`` pauses (0: not at all) and returns whether to stop the round."""
        self._clock_s = clock_s
        self._throttle = Throttle(bytes_per_second, clock_s())
        self._wait = wait
        self.bytes_read = 0
        self.bytes_written = 0

    def read(self, count: int) -> None:
        """Counts bytes that were read. Raises CleaningStoppedError."""
        self.bytes_read += count
        self._moved(count)

    def written(self, count: int) -> None:
        """Counts bytes that were written. Raises CleaningStoppedError."""
        self.bytes_written += count
        self._moved(count)

    def _moved(self, count: int) -> None:
        if self._wait(self._throttle.pause_s(count, self._clock_s())):
            raise CleaningStoppedError("cleaning was stopped")


def full_speed() -> Pace:
    """A pace without a limit, which never stops the round."""
    return Pace(float("inf"), lambda: 0.0, lambda _: False)
