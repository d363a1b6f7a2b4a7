"""What share groups have done since the start, for the metrics. Pure. Source: ``ShareGroupMetrics``."""

from collections import Counter


class ShareCounts:
    """Counts of all share groups together.

    ``acknowledgements``: acknowledge type -> records. ``lock_timeouts``: records that members held until their locks
    ended. ``evictions``: sessions that ended with their connections, or made room. ``letters``, ``lost_letters``: dead
    letters that were written, and that could not be.
    """

    __slots__ = ("acknowledgements", "evictions", "letters", "lock_timeouts", "lost_letters")

    def __init__(self) -> None:
        self.acknowledgements: Counter[int] = Counter()
        self.lock_timeouts = 0
        self.evictions = 0
        self.letters = 0
        self.lost_letters = 0
