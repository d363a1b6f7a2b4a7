"""Epochs of groups, and the time at which a group looks at its topics again.

Pure. Source: ``ModernGroup``.
"""

from typing import NamedTuple

INITIAL_EPOCH = 1
NO_EPOCH = -1
JOINING_EPOCH = 0
"""The member epoch of a request to join."""
LEAVE_GROUP_MEMBER_EPOCH = -1
MAX_EPOCH = 2**31 - 1
METADATA_REFRESH_INTERVAL_MS = 2**31 - 1
NEVER_ASSIGNED = 0
"""The time of a target assignment after which the next one is due at once."""


def next_epoch(epoch: int) -> int:
    """Returns the next group epoch. The highest int32 does not rise: only a forged log can hold it, and only that group
    then gets no new assignment."""
    return min(epoch + 1, MAX_EPOCH)


class RefreshDeadline(NamedTuple):
    """The time at which the subscribed topics are checked again, in ms. They are checked at once if the group's epoch
    is below ``epoch``: then the record of that epoch was not stored."""

    deadline_ms: int
    epoch: int

    def is_over(self, group_epoch: int, now_ms: int) -> bool:
        """Whether a group in the epoch ``group_epoch`` must check its topics now."""
        return now_ms >= self.deadline_ms or group_epoch < self.epoch


REFRESH_NOW = RefreshDeadline(0, 0)
