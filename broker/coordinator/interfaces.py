"""What the coordinator's shell needs of the rest of the broker: a log for each partition, timers."""

from collections.abc import Callable, Iterator
from typing import Protocol

from ...protocol.errors import ErrorCode


class CoordinatorLog(Protocol):
    """One partition of ``__consumer_offsets``, led by this broker."""

    def append(self, batch: bytes, now_ms: int) -> int:
        """Appends one record batch; the offset of its first record. Raises KafkaError with the reason."""

    def when_durable(self, callback: Callable[[ErrorCode], None]) -> None:
        """Calls back when everything appended so far is as durable as configured; at once where it is already.

        With the error where it never will be: the log can't be used any more.
        """

    def read_batches(self) -> Iterator[bytes | memoryview]:
        """All that is stored, in order, in buffers of whole batches."""


class TimerHandle(Protocol):
    """A timer that was set."""

    def cancel(self) -> None:
        """Takes it back; harmless when it has fired."""


class Timers(Protocol):
    """Sets timers."""

    def schedule(self, delay_ms: int, callback: Callable[[], None]) -> TimerHandle:
        """Calls back once after ``delay_ms``, never inside this call."""
