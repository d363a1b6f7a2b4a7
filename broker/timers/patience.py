"""When sessions may expire after a stall: the rules, without a clock.

Pure. Owns: how long the broker was stalled, and whether expirations are held back. Never does: I/O, reading a clock.
Invariants: time in which the broker could not read does not count for a session; after a stall nothing expires before
what lay in the sockets was read and a grace has passed, so that heartbeats under way arrive; a member that is gone
still expires, because holds together last `HOLD_MAX_MS` at most. Kafka has no such rule: its sessions end after a pause
of the JVM that is longer than they are.
"""

TICK_MS = 500
"""The longest time between two wake-ups: what passes between them unnoticed still counts for sessions."""
LATE_MS = 500
"""A wake-up that is this late ends a stall; less is a busy moment."""
LEAST_GRACE_MS = 1_000
LONGEST_GRACE_MS = 10_000
"""The grace is as long as the stall, within these bounds: after a long one clients have to connect again."""
DRAIN_MAX_MS = 5_000
"""How long what lay in the sockets is waited for: a client that never stops sending does not stop expirations."""
HOLD_MAX_MS = 30_000
"""How long expirations are held back at most, also when one stall follows the other."""


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
        """``suspended_ms``: how long the machine has been suspended so far, by any zero."""
        self.stalled_ms = 0
        """How long the broker has been stalled in all: the clock of sessions is late by this."""
        self.lost_ms = 0
        """All stalls, with the time in which the machine was suspended: deducted from the age of a transaction, which
        the wall clock tells."""
        self._suspended_ms = suspended_ms
        self._due_ms: int | None = None
        self._grace_ms = 0
        self._looked_ms: int | None = None
        """When the current hold was looked at last; None without a hold."""
        self._held_ms = 0
        """How long the current hold has lasted, without the stalls in it."""
        self._undrained_ms = 0
        """How long the sockets have been waited for since the last stall."""
        self._drained_ms: int | None = None

    @property
    def is_holding(self) -> bool:
        """Whether expirations are held back."""
        return self._looked_ms is not None

    def armed(self, due_ms: int) -> None:
        """Notes when the next wake-up is due."""
        self._due_ms = due_ms

    def woke(self, now_ms: int, suspended_ms: int) -> int:
        """Takes a wake-up; the length in ms of the stall that it ends, 0 for a wake-up in time.

        A suspended machine counts as a stall, although the monotonic clock of Linux stands still meanwhile.
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
        """Whether what is due may expire now. ``is_drained``: what lay in the sockets after the stall was read."""
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
