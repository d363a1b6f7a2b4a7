"""Selects the segments that retention removes, and holds files that wait for removal.

Pure but for the given file layer. Only whole segments below the high watermark are removed, oldest first. Source:
Kafka's UnifiedLog.deleteOldSegments; LocalLog.deleteSegmentFiles.
"""

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from pathlib import Path
from typing import NamedTuple

from ..files.files import Files
from ..segment.segment import Segment
from .log_config import LogConfig
from .log_segments import LogSegments


class RetentionSegment(NamedTuple):
    """The facts about a segment that retention needs: exclusive end offset, bytes, getter of the timestamp (ms)."""

    end_offset: int
    size: int
    largest_timestamp: Callable[[], int]


def breached_segments(
    facts: Sequence[RetentionSegment], config: LogConfig, *, log_start_offset: int, high_watermark: int, now_ms: int
) -> tuple[int, str]:
    """The number of oldest segments to remove, and the reason (empty if none).

    The reasons are tried in Kafka's order: below the log's start, beyond retention.bytes, older than retention.ms; each
    looks at the segments that the one before leaves.
    """
    removable = 0
    while removable < len(facts) and facts[removable].end_offset <= high_watermark:
        removable += 1
    if removable == len(facts) and not facts[-1].size:
        removable -= 1  # an empty active segment stays; older ones may be empty after cleaning
    count = 0
    reasons = []
    while count < min(removable, len(facts) - 1) and facts[count].end_offset <= log_start_offset:
        count += 1
    if count:
        reasons.append(f"log start offset {log_start_offset} breached")
    if config.is_deleted:
        before = count
        excess = sum(fact.size for fact in facts[count:]) - config.retention_bytes
        while config.retention_bytes >= 0 and count < removable and excess - facts[count].size >= 0:
            excess -= facts[count].size
            count += 1
        if count > before:
            reasons.append(f"retention size {config.retention_bytes} bytes breached")
        before = count
        while (
            config.retention_ms >= 0
            and count < removable
            and now_ms - facts[count].largest_timestamp() > config.retention_ms
        ):
            count += 1
        if count > before:
            reasons.append(f"retention time {config.retention_ms} ms breached")
    return count, ", ".join(reasons)


def oldest_breached(
    segments: Iterable[Segment],
    config: LogConfig,
    *,
    log_start_offset: int,
    high_watermark: int,
    log_end_offset: int,
    now_ms: int,
) -> tuple[list[Segment], list[int], int, str]:
    """(all segments, the end offset of each, the number of oldest ones to remove, the reason)."""
    ordered = list(segments)
    ends = [segment.base_offset for segment in ordered[1:]] + [log_end_offset]
    facts = [
        RetentionSegment(end, segment.size, partial(getattr, segment, "largest_timestamp"))
        for segment, end in zip(ordered, ends, strict=True)
    ]
    count, reason = breached_segments(
        facts, config, log_start_offset=log_start_offset, high_watermark=high_watermark, now_ms=now_ms
    )
    return ordered, ends, count, reason


def may_be_breached(segments: LogSegments, config: LogConfig, now_ms: int) -> bool:
    """False if :func:`breached_segments` finds nothing. A quick look at a log with one segment, as most have."""
    if len(segments) > 1 or config.retention_bytes >= 0:
        return True
    only = segments.active
    return only.size > 0 and 0 <= config.retention_ms < now_ms - only.largest_timestamp


class RemovalNotices:
    """Whether files may wait for their removal in any log of a directory. If not, no log need be looked at."""

    __slots__ = ("may_wait",)

    def __init__(self) -> None:
        self.may_wait = True


class RemovalQueue:
    """Files that were renamed to `.deleted`, and are removed after a delay so that readers can finish."""

    __slots__ = ("_files", "_waiting", "notices")

    def __init__(self, files: Files) -> None:
        self._files = files
        self._waiting: list[tuple[int, list[Path]]] = []
        self.notices: RemovalNotices | None = None
        """Gets to know that files wait here. All logs of a directory share it."""

    def __len__(self) -> int:
        return len(self._waiting)

    def add(self, paths: list[Path], due_ms: int) -> None:
        """Adds files to remove at `due_ms`."""
        self._waiting.append((due_ms, paths))
        if self.notices is not None:
            self.notices.may_wait = True

    def take_due(self, now_ms: int) -> list[Path]:
        """Takes the files that are due, for the caller to remove."""
        due = [path for due_ms, paths in self._waiting if due_ms <= now_ms for path in paths]
        if due:
            self._waiting = [entry for entry in self._waiting if entry[0] > now_ms]
        return due

    def remove_due(self, now_ms: int) -> int:
        """Removes the files that are due. Returns the number. After an OSError, the next call tries again."""
        due = self.take_due(now_ms)
        for index, path in enumerate(due):
            try:
                self._files.remove(path)
            except OSError:
                self.add(due[index:], now_ms)
                raise
        return len(due)
