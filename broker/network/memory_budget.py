"""A budget of bytes that requests reserve before they take memory, and wait for in the order in which they asked.

Owns: who has reserved how much, and who waits. Never does: allocating, I/O. Invariants: no more is reserved than the
budget has; a reservation waits only behind earlier ones, whatever their sizes, so that none starves; one that is
released while it waits gives way to the next. Source: Kafka's ``MemoryPool`` (``queued.max.request.bytes``), which has
no order.
"""

from collections import deque
from collections.abc import Callable


class Reservation:
    """Bytes reserved, or waited for."""

    __slots__ = ("_budget", "granted", "size")

    def __init__(self, budget: "MemoryBudget", size: int, granted: Callable[[], None]) -> None:
        self._budget: MemoryBudget | None = budget
        self.size = size
        self.granted: Callable[[], None] | None = granted
        """What is called when the bytes are reserved; None afterwards."""

    @property
    def is_waiting(self) -> bool:
        """Whether the bytes are not reserved yet."""
        return self.granted is not None

    def release(self) -> None:
        """Gives the bytes back, or no longer waits for them; harmless when repeated."""
        budget, self._budget = self._budget, None
        if budget is not None:
            budget.release(self)


class MemoryBudget:
    """The bytes that all reservations together may have."""

    def __init__(self, total_bytes: int) -> None:
        self.total_bytes = total_bytes
        self.reserved_bytes = 0
        self._waiting: deque[Reservation] = deque()
        self._is_granting = False

    @property
    def waiting_count(self) -> int:
        """How many reservations wait."""
        return len(self._waiting)

    def reserve(self, size: int, granted: Callable[[], None]) -> Reservation:
        """Reserves ``size`` bytes, at most the whole budget; ``granted`` is called once they are, perhaps at once."""
        assert 0 <= size <= self.total_bytes, "the caller refuses what can never be granted"
        reservation = Reservation(self, size, granted)
        self._waiting.append(reservation)
        self._grant()
        return reservation

    def release(self, reservation: Reservation) -> None:
        """Takes a reservation back; called by :meth:`Reservation.release`, once."""
        if reservation.is_waiting:
            self._waiting.remove(reservation)
        else:
            self.reserved_bytes -= reservation.size
        self._grant()

    def _grant(self) -> None:
        """Grants the first reservations that wait. One that is released by what it calls is granted no further."""
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
