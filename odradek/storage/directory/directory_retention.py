"""Retention of the logs of a directory, in steps.

Owns: which logs retention checks, and how much one step removes. Never does: reading a clock, deciding which segments
are old (`LogRemoval` does). Source: Kafka's LogManager.cleanupLogs.
"""

from collections.abc import Callable, Iterable

from odradek.protocol.common.steps import Steps

from ..log.log import Log

PASSED_A_STEP = 128
"""The number of logs that retention skips in one step, which takes up to 100 us."""
SEGMENTS_A_STEP = 4
"""Segments that are renamed in one step: five files each, 0.2 ms a segment."""


def is_retained(log: Log) -> bool:
    """Whether retention checks a log. The cleaner checks compacted logs itself, between its rounds."""
    return (
        log.health.is_open
        and log.health.failure is None
        and not log.config.is_compacted
        and log.log_files.cleaning is None
    )


def retain_logs(logs: Iterable[Log], clock_ms: Callable[[], int]) -> Steps[int]:
    """Removes old segments of the logs. Returns their number. Raises StorageError.

    ``clock_ms``: milliseconds since the epoch.
    """
    removed = passed = 0
    for log in list(logs):
        if is_retained(log) and log.may_have_old_segments(clock_ms()):
            passed = 0
            yield
            removed += yield from remove_old_segments(log, clock_ms)
        elif (passed := passed + 1) == PASSED_A_STEP:
            passed = 0
            yield
    return removed


def remove_old_segments(log: Log, clock_ms: Callable[[], int]) -> Steps[int]:
    """Removes a log's old segments, a few in each step. Returns their number. Raises StorageError."""
    removed = 0
    while count := log.delete_old_segments(clock_ms(), SEGMENTS_A_STEP):
        removed += count
        yield
        if count < SEGMENTS_A_STEP or not log.health.is_open:
            break
    return removed
