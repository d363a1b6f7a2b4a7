"""Whether a consumer keeps up, by the rules of LinkedIn's Burrow, from its commits and where the log ended then.

Pure. Taken over with Burrow's defaults: ten commits (`intervals`), no lag is tolerated (`allowed-lag` 0), fewer commits
are judged, too (`minimum-complete` 0), the log's end is remembered for 10 times 10 s (`offset-refresh`). Two things
differ. The lag of a commit is that at its own moment, which a log knows and a poll does not. And one commit alone,
which is what the cleaner leaves, can say that a consumer has stopped, never that it stalls or falls behind. Source:
Burrow's core/internal/evaluator/caching.go (calculatePartitionStatus, evaluateConsumerStatus), storage/inmemory.go.
"""

from collections.abc import Iterable, Sequence
from enum import StrEnum
from itertools import pairwise
from typing import NamedTuple

RECENT_MS = 10 * 10_000
"""So long ago the log's end is looked at before a silent consumer counts as stopped."""


class Status(StrEnum):
    """Of a consumer in one partition; a group has OK, WARN or ERR."""

    NOTFOUND = "NOTFOUND"
    """Nothing is known of the group at that moment."""
    OK = "OK"
    WARN = "WARN"
    """It commits, but its lag grows."""
    ERR = "ERR"
    STOP = "STOP"
    """It commits no more, though there is something to read."""
    STALL = "STALL"
    """It commits the same offset again and again, though there is something to read."""
    REWIND = "REWIND"
    """It went back and has not come forward again."""


_ORDER = list(Status)


class ConsumerCommit(NamedTuple):
    """A commit, ms since 1970, and the lag it left: never below 0, None where the log does not say."""

    timestamp: int
    offset: int
    lag: int | None


def partition_status(
    commits: Sequence[ConsumerCommit], current_lag: int, recent_end_offset: int | None, now_ms: int
) -> Status:
    """The status of a consumer in one partition; `commits` oldest first, `recent_end_offset` RECENT_MS ago."""
    if not commits or current_lag <= 0:
        return Status.OK
    was_recently_done = recent_end_offset is not None and recent_end_offset <= commits[-1].offset
    if _has_stopped(commits, now_ms) and not was_recently_done:
        return Status.STOP
    if has_rewound([commit.offset for commit in commits]):
        return Status.REWIND
    if any(commit.lag == 0 for commit in commits):
        return Status.OK
    if len(commits) == 1:
        return Status.OK
    if len({commit.offset for commit in commits}) == 1:
        return Status.STALL
    return Status.WARN if _is_lag_never_less(commits) else Status.OK


def group_status(statuses: Iterable[Status]) -> Status:
    """Of a group: that of its worst partition, everything beyond WARN as ERR."""
    worst = max(statuses, key=_ORDER.index, default=Status.NOTFOUND)
    return Status.ERR if _ORDER.index(worst) > _ORDER.index(Status.ERR) else worst


def has_rewound(offsets: Sequence[int]) -> bool:
    """Whether the first step back was never made good."""
    for index in range(1, len(offsets)):
        if offsets[index] < offsets[index - 1]:
            return all(later < offsets[index - 1] for later in offsets[index:])
    return False


def _has_stopped(commits: Sequence[ConsumerCommit], now_ms: int) -> bool:
    """Whether the last commit is longer ago than all of them took."""
    last = commits[-1].timestamp
    return now_ms - last > last - commits[0].timestamp


def _is_lag_never_less(commits: Sequence[ConsumerCommit]) -> bool:
    lags = [commit.lag for commit in commits if commit.lag is not None]
    return all(later >= earlier for earlier, later in pairwise(lags))
