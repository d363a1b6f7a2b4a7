"""The rules for the expiration of sessions after a stall, without a clock.

Pure. Owns: the length of stalls, and whether expirations are held back. Never does: I/O, reading a clock. Invariants:
time in which the broker could not read does not count for a session; after a stall nothing expires before the data in
the sockets has been read and a grace period has passed, so that heartbeats in transit arrive; a dead member still
expires, because holds last at most `HOLD_MAX_MS` in total. Kafka has no such rule: a pause of the JVM that is longer
than the session timeout expires its sessions.
"""

TICK_MS = 500
"""The longest time between two wake-ups. A shorter stall can go unnoticed, and then counts for sessions."""
LATE_MS = 500
"""A wake-up that is late by at least this time ends a stall. Less is normal under load."""
LEAST_GRACE_MS = 1_000
LONGEST_GRACE_MS = 10_000
"""The grace period equals the stall, up to this limit. After a long stall, clients have to reconnect."""
DRAIN_MAX_MS = 5_000
"""The longest wait for data in the sockets, so that a client that never stops sending can't prevent expirations."""
HOLD_MAX_MS = 30_000
"""The longest time that expirations are held back, even if stalls follow each other."""


class Patience:
    """The state of one event loop. All times are milliseconds of a monotonic clock that the caller reads."""

    __slots__ = (
        "_drained_ms",
        "_due_ms",
        "_grace_ms",
        "_held_ms",
        "_looked_ms",
        "_suspended_ms",
        "_undrained_ms",
        "lost_ms",
        "stalled_ms",
    )

    def __init__(self, suspended_ms: int) -> None:
        """``suspended_ms``: the time that the machine has been suspended so far, from any starting point."""
        self.stalled_ms = 0
        """The total time of stalls, by which the clock of sessions is late."""
        self.lost_ms = 0
        """The total time of stalls and suspensions of the machine. It is subtracted from the age of a transaction,
        which is measured by the wall clock.
        """
        self._suspended_ms = suspended_ms
        self._due_ms: int | None = None
        self._grace_ms = 0
        self._looked_ms: int | None = None
        """The time of the last check of the current hold; None without a hold."""
        self._held_ms = 0
        """The length of the current hold, without stalls."""
        self._undrained_ms = 0
        """The time since the last stall in which the sockets were not drained."""
        self._drained_ms: int | None = None

    @property
    def is_holding(self) -> bool:
        """Whether expirations are held back."""
        return self._looked_ms is not None

    def armed(self, due_ms: int) -> None:
        """Notes the time of the next wake-up."""
        self._due_ms = due_ms

    def note_wakeup(self, now_ms: int, suspended_ms: int) -> int:
        """Processes a wake-up. Returns the length in ms of the stall that it ends; 0 if it is in time.

        A suspension of the machine counts as a stall, although the monotonic clock of Linux stops during it.
        """
        late_ms = 0 if self._due_ms is None else now_ms - self._due_ms
        slept_ms, self._suspended_ms = suspended_ms - self._suspended_ms, suspended_ms
        late_ms = late_ms if late_ms >= LATE_MS else 0
        slept_ms = slept_ms if slept_ms >= LATE_MS else 0
        self._due_ms = None
        stall_ms = late_ms + slept_ms
        if stall_ms:
            self.stalled_ms += late_ms
            self.lost_ms += stall_ms
            self._grace_ms = min(max(LEAST_GRACE_MS, stall_ms), LONGEST_GRACE_MS)
            self._looked_ms = now_ms
            self._undrained_ms = 0
            self._drained_ms = None
        return stall_ms

    def may_expire(self, now_ms: int, is_drained: bool) -> bool:
        """Whether due sessions may expire now. ``is_drained``: the data in the sockets after the stall has been
        read.
        """
        if self._looked_ms is None:
            return True
        passed_ms, self._looked_ms = now_ms - self._looked_ms, now_ms
        self._held_ms += passed_ms
        if self._drained_ms is None:
            self._undrained_ms += passed_ms
            if is_drained or self._undrained_ms >= DRAIN_MAX_MS:
                self._drained_ms = now_ms
        grace_passed = self._drained_ms is not None and now_ms >= self._drained_ms + self._grace_ms
        if not grace_passed and self._held_ms < HOLD_MAX_MS:
            return False
        self._looked_ms = self._drained_ms = None
        self._held_ms = 0
        return True
