"""Makes room in log directories, in steps: early retention, and removal of the oldest segments under the node's cap.

Owns: nothing. Never does: removing a file (segments are renamed to `.deleted`, and `disk_watch.py` removes them on a
thread), reading a clock. Invariant: a step handles a bounded number of logs and segments. A log may change between two
steps, so deletions are given by offset, never by a number of segments. Source: our own; see docs/operating.md.
"""

import logging
from collections.abc import Callable, Iterable, Mapping, Sequence

from odradek.protocol.common.steps import Steps
from odradek.protocol.errors import KafkaError
from odradek.storage.directory.directory_retention import remove_old_segments, retain_logs
from odradek.storage.directory.log_directory import LogDirectory
from odradek.storage.log.log import Log

from .disk_space import CAP_KEY, SegmentSize, oldest_segments

logger = logging.getLogger(__name__)

Clock = Callable[[], int]
"""Milliseconds since the epoch."""

LOGS_A_STEP = 16
"""Logs whose sizes are added up in one step."""
SIZES_A_STEP = 512
"""Segments whose sizes and times are read in one step."""
WHOLE_LOG = 1 << 63
"""Stands for an offset: all records that the log has when its removal step runs."""


def size_steps(logs: Iterable[Log]) -> Steps[int]:
    """The bytes of the files of all logs that have not failed."""
    total = 0
    for number, log in enumerate(list(logs), 1):
        if log.health.failure is None:
            total += log.segments.size_in_bytes
        if number % LOGS_A_STEP == 0:
            yield
    return total


def retention_steps(directories: Iterable[LogDirectory], clock_ms: Clock) -> Steps[int]:
    """Runs retention now. Returns the number of removed segments. A failing directory is logged."""
    removed = 0
    for directory in directories:
        try:
            removed += yield from retain_logs(directory.logs.values(), clock_ms)
        except KafkaError as error:
            logger.error("%s: %s", directory.path, error)
    return removed


def oldest_steps(logs: Sequence[Log], excess: int) -> Steps[dict[Log, int]]:
    """For each log, the offset before which to remove records, to free at least `excess` bytes.

    Considers only topics with ``cleanup.policy=delete`` whose names do not begin with ``__``. WHOLE_LOG: all segments.
    """
    candidates: dict[Log, list[SegmentSize]] = {}
    ends: dict[Log, list[int]] = {}
    for number, log in enumerate(logs, 1):
        if number % LOGS_A_STEP == 0:
            yield
        if (
            log.health.failure is not None
            or log.config.cleanup_policy != {"delete"}
            or log.directory.name.startswith("__")
        ):
            continue
        segments = [segment for segment in log.segments if segment.size]
        candidates[log] = sizes = []
        for count, segment in enumerate(segments, 1):
            sizes.append(SegmentSize(segment.largest_timestamp, segment.size))
            if count % SIZES_A_STEP == 0:
                yield
        ends[log] = [*(segment.base_offset for segment in segments[1:]), WHOLE_LOG]
    chosen = yield from oldest_segments(candidates, excess)
    return {log: ends[log][count - 1] for log, count in chosen.items()}


def removal_steps(chosen: Mapping[Log, int], cap: int, clock_ms: Clock) -> Steps[None]:
    """Removes the records that `oldest_steps` has chosen. A failing log is logged, and the others continue."""
    for log, end in chosen.items():
        if log.health.failure is not None or not log.health.is_open:
            continue
        try:
            yield from _remove_before(log, end, cap, clock_ms)
        except KafkaError as error:
            logger.error("%s: %s", log.directory, error)


def _remove_before(log: Log, end: int, cap: int, clock_ms: Clock) -> Steps[None]:
    if end == WHOLE_LOG:
        log.roll(clock_ms())
        end = log.segments.active.base_offset
    end = min(end, log.high_watermark)
    if end <= log.log_start_offset:
        return  # retention has removed these records since they were chosen
    logger.warning(
        "%s: deletes the records before offset %d, because the log directories are near %s=%d",
        log.directory,
        end,
        CAP_KEY,
        cap,
    )
    log.offsets.increment_log_start_offset(end)
    yield from remove_old_segments(log, clock_ms)
