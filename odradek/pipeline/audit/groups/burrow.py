"""Decides by the rules of LinkedIn's Burrow whether a consumer keeps up, from its commits and the log's past ends.

Pure. Uses Burrow's defaults: ten commits (`intervals`), no tolerated lag (`allowed-lag` 0), a status also with fewer
commits (`minimum-complete` 0), the log end offsets of the last 100 s (10 times `offset-refresh`, 10 s). Two things
differ. The lag of a commit is exact, because the log's end at that moment is looked up; Burrow polls. The cleaner may
leave only one commit: it can show that a consumer has stopped, but not that it stalls or falls behind. Source:
Burrow's core/internal/evaluator/caching.go (calculatePartitionStatus, evaluateConsumerStatus), storage/inmemory.go.
"""

from collections.abc import Iterable, Sequence
from enum import StrEnum
from itertools import pairwise
from typing import NamedTuple

RECENT_MS = 10 * 10_000
"""A consumer does not count as stopped if it has committed the log end offset of RECENT_MS ago, or a later one."""


class Status(StrEnum):
    """The status of a consumer in one partition. A group has only NOTFOUND, OK, WARN or ERR."""

    NOTFOUND = "NOTFOUND"
    """The offsets topic has no commit up to the moment of the audit."""
    OK = "OK"
    WARN = "WARN"
    """The consumer commits, but its lag never decreases."""
    ERR = "ERR"
    STOP = "STOP"
    """The consumer no longer commits, although there are records to read."""
    STALL = "STALL"
    """The consumer commits the same offset repeatedly, although there are records to read."""
    REWIND = "REWIND"
    """The committed offset decreased and has not reached its old value again."""


_ORDER = list(Status)


class ConsumerCommit(NamedTuple):
    """A commit: its time (ms since 1970), its offset, and the lag after it (at least 0; None if unknown)."""

    timestamp: int
    offset: int
    lag: int | None


def partition_status(
    commits: Sequence[ConsumerCommit], current_lag: int, recent_end_offset: int | None, now_ms: int
) -> Status:
    """The status of a consumer in one partition.

    `commits`: oldest first. `recent_end_offset`: the log end offset RECENT_MS before `now_ms`; None if unknown.
    """
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
    """The status of a group: that of its worst partition. Anything worse than WARN is ERR."""
    worst = max(statuses, key=_ORDER.index, default=Status.NOTFOUND)
    return Status.ERR if _ORDER.index(worst) > _ORDER.index(Status.ERR) else worst


def has_rewound(offsets: Sequence[int]) -> bool:
    """Whether the offset is still below its value before the first decrease."""
    for index in range(1, len(offsets)):
        if offsets[index] < offsets[index - 1]:
            return all(later < offsets[index - 1] for later in offsets[index:])
    return False


def _has_stopped(commits: Sequence[ConsumerCommit], now_ms: int) -> bool:
    """Whether more time has passed since the last commit than between the first and the last."""
    last = commits[-1].timestamp
    return now_ms - last > last - commits[0].timestamp


def _is_lag_never_less(commits: Sequence[ConsumerCommit]) -> bool:
    lags = [commit.lag for commit in commits if commit.lag is not None]
    return all(later >= earlier for earlier, later in pairwise(lags))
