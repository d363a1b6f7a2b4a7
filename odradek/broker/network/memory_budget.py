"""A memory budget: requests reserve bytes before they allocate, and wait for them in FIFO order.

Owns: the reservations, granted and waiting. Never does: allocating, I/O. Invariants: the granted bytes never exceed the
budget; a reservation waits only for earlier ones, of any size, so that none starves; releasing a waiting one lets the
next proceed. Source: Kafka's ``MemoryPool`` (``queued.max.request.bytes``), which has no order.
"""

from collections import deque
from collections.abc import Callable


class Reservation:
    """A reservation, granted or waiting."""

    __slots__ = ("_budget", "granted", "size")

    def __init__(self, budget: "MemoryBudget", size: int, granted: Callable[[], None]) -> None:
        self._budget: MemoryBudget | None = budget
        self.size = size
        self.granted: Callable[[], None] | None = granted
        """Called when the bytes are reserved; None afterwards."""

    @property
    def is_waiting(self) -> bool:
        """Whether the bytes are not reserved yet."""
        return self.granted is not None

    def release(self) -> None:
        """Returns the bytes, or stops waiting for them. A second call does nothing."""
        budget, self._budget = self._budget, None
        if budget is not None:
            budget.release(self)


class MemoryBudget:
    """The budget that all reservations share."""

    def __init__(self, total_bytes: int) -> None:
        self.total_bytes = total_bytes
        self.reserved_bytes = 0
        self._waiting: deque[Reservation] = deque()
        self._is_granting = False

    @property
    def waiting_count(self) -> int:
        """The number of waiting reservations."""
        return len(self._waiting)

    def reserve(self, size: int, granted: Callable[[], None]) -> Reservation:
        """Reserves ``size`` bytes, at most the whole budget; ``granted`` is called once when they are granted, perhaps
        at once.
        """
        assert 0 <= size <= self.total_bytes, "the caller must refuse requests that can never be granted"
        reservation = Reservation(self, size, granted)
        self._waiting.append(reservation)
        self._grant()
        return reservation

    def release(self, reservation: Reservation) -> None:
        """Ends a reservation. :meth:`Reservation.release` calls it once."""
        if reservation.is_waiting:
            self._waiting.remove(reservation)
        else:
            self.reserved_bytes -= reservation.size
        self._grant()

    def _grant(self) -> None:
        """Grants the first waiting reservations. A callback may release its own reservation."""
        if self._is_granting:
            return
        self._is_granting = True
        try:
            while self._waiting and self._waiting[0].size <= self.total_bytes - self.reserved_bytes:
                reservation = self._waiting.popleft()
                self.reserved_bytes += reservation.size
                granted, reservation.granted = reservation.granted, None
                assert granted is not None
                granted()
        finally:
            self._is_granting = False
