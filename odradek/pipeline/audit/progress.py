"""How far an audit is: partitions, bytes, rate, and the time that is left, as one line.

Pure: the clock and the place to show the line are given.
"""

from collections.abc import Callable

from .report.number_texts import bytes_text, duration_text

MINUTE_S = 60.0


class AuditProgress:
    """Calls `show` with a line when `every_s` seconds have passed since the last line, by the clock `clock_s`."""

    def __init__(self, show: Callable[[str], None], clock_s: Callable[[], float], every_s: float = MINUTE_S) -> None:
        self._show = show
        self._clock_s = clock_s
        self._every_s = every_s
        self._begin_s = self._shown_s = clock_s()
        self._bytes = self._bytes_done = 0
        self._partitions = self._partitions_done = 0
        self._name = ""

    def begin(self, size: int) -> None:
        """Begins to read `size` bytes of log."""
        self._bytes = size

    def finished(self, done: int, total: int) -> None:
        """Hears of finished partitions."""
        self._partitions_done, self._partitions = done, total
        self._show_if_due()

    def tell(self, name: str, count: int) -> None:
        """Hears of bytes of the partition `name` that were read or known; "" for none in particular."""
        self._name = name or self._name
        self._bytes_done += count
        self._show_if_due()

    def _show_if_due(self) -> None:
        now_s = self._clock_s()
        if now_s - self._shown_s >= self._every_s:
            self._shown_s = now_s
            self._show(self.line())

    def line(self) -> str:
        """The line."""
        spent_s = max(self._clock_s() - self._begin_s, 0.001)
        words = [f"{self._partitions_done} of {self._partitions} partitions"] if self._partitions else []
        share = self._partitions_done / self._partitions if self._partitions else 0.0
        if self._bytes_done > 0:  # Spark's tasks do not tell of bytes
            rate = bytes_text(round(self._bytes_done / spent_s))
            words.append(f"{bytes_text(self._bytes_done)} of {bytes_text(self._bytes)}, {rate} a second")
            share = self._bytes_done / max(self._bytes, self._bytes_done)
        if 0 < share < 1:
            words.append(f"about {duration_text(round(1000 * spent_s * (1 - share) / share))} left")
        if self._name:
            words.append(f"now {self._name}")
        return ", ".join(words) or "nothing is read yet"
