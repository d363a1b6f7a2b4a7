"""Keeps a broker alive on a full disk: looks at the log directories, shuts and opens them to clients' records.

Owns: the state of each directory, when the next look is due, the reserve's filling. Never does: deciding (disk_space.py
does). Invariants: a change of state is one log line that says what to do; with room again everything goes on by itself.
Source: our own; see docs/disk-space.md.
"""

import asyncio
import logging
from collections.abc import Callable, Mapping, Sequence
from functools import partial

from ...protocol.errors import KafkaError
from ...storage.directory.log_directory import LogDirectory
from ...storage.files.disk_reserve import ReservedFiles, reserve_size
from ...storage.files.disk_usage import allocated_bytes
from ...storage.log.log import Log
from ..timers.loop_timers import LoopTimers
from .disk_space import (
    CAP_KEY,
    MIN_FREE_KEY,
    SegmentSize,
    SpaceMarks,
    SpaceState,
    announce_below,
    cap_marks,
    free_space_marks,
    in_words,
    min_free_bytes,
    next_look_ms,
    next_state,
    oldest_segments,
)

logger = logging.getLogger(__name__)

RETENTION_INTERVAL_MS = 250
"""How often retention runs while room is low and there is something to remove."""
IDLE_RETENTION_INTERVAL_MS = 1_000
"""How often it runs while room is low and the last time removed nothing: thousands of logs are asked each time."""
COUNT_INTERVAL_MS = 10_000
"""How often files are counted under a cap; between, the logs' own sizes say how much has come."""
TELL_INTERVAL_MS = 1_000
"""How often it is told at most what goes next under the cap."""
FAR_FUTURE_MS = 1 << 62
WHAT_TO_DO = (
    "delete topics or records, lower retention.ms or retention.bytes, or make the file system larger; "
    "`odradek storage explain` says for each topic what is kept and why"
)


class WatchedDirectory:
    """One log directory and how it is off."""

    def __init__(self, directory: LogDirectory) -> None:
        self.directory = directory
        self.by_space = SpaceState.NORMAL
        self.state = SpaceState.NORMAL
        self.was_refused = False
        """Whether the file system refused bytes since the last look."""
        self.free_bytes = 0
        self.total_bytes = 0


class DiskWatch:
    """Looks at the log directories on a timer, and when the file system has refused bytes."""

    def __init__(
        self,
        directories: Sequence[LogDirectory],
        timers: LoopTimers,
        clock_ms: Callable[[], int],
        *,
        min_free_bytes: int,
        cap_bytes: int,
        going_under_cap: Callable[[Mapping[Log, int]], None] = lambda going: None,
    ) -> None:
        """``min_free_bytes`` and ``cap_bytes`` are the values of the two keys; ``clock_ms``: ms since the epoch.

        ``going_under_cap`` is told, for each log, before which offset the cap takes its records next: when that is near
        and once more right before.
        """
        self._watched = [WatchedDirectory(directory) for directory in directories]
        self._timers = timers
        self._clock_ms = clock_ms
        self._min_free = min_free_bytes
        self._cap = cap_bytes
        self._cap_state = SpaceState.NORMAL
        self._used_bytes = 0
        self._other_bytes = 0
        self._counted_at_ms = -1
        self._retained_at_ms = -RETENTION_INTERVAL_MS
        self._has_removed = True
        self._going_under_cap = going_under_cap
        self._told_at_ms = -TELL_INTERVAL_MS
        self._loop: asyncio.AbstractEventLoop | None = None
        self._look_is_due = False

    @property
    def states(self) -> list[SpaceState]:
        """The state of each directory, in their order."""
        return [watched.state for watched in self._watched]

    def start(self) -> None:
        """Looks for the first time, before anybody is served; then by its timer."""
        self._loop = asyncio.get_running_loop()
        for watched in self._watched:
            files = watched.directory.files
            if isinstance(files, ReservedFiles):
                files.is_starting = False
                files.when_full = partial(self._refused, watched)
        self._look(fills=False)
        self._schedule()

    def finish(self) -> None:
        """The broker stops: what room there is goes to the reserve, so that the next start has it."""
        self._loop = None
        for watched in self._watched:
            self._fill_reserve(watched, least_room=0)

    def _refused(self, watched: WatchedDirectory) -> None:
        """The file system has refused bytes, on whatever thread."""
        loop = self._loop
        if loop is None or loop.is_closed():
            return
        watched.was_refused = True
        if watched.directory.gate.refusal is None:
            watched.directory.gate.refusal = f"{watched.directory.path}: the disk is full"
        if not self._look_is_due:
            self._look_is_due = True
            loop.call_soon_threadsafe(self._look_now)

    def _look_now(self) -> None:
        if self._loop is not None:
            self._look()

    def _schedule(self) -> None:
        delays = [next_look_ms(watched.by_space, watched.free_bytes, self._marks(watched)) for watched in self._watched]
        if self._cap >= 0:
            delays.append(next_look_ms(self._cap_state, self._cap - self._used_bytes, cap_marks(self._cap)))
        self._timers.schedule(min(delays), self._on_timer)

    def _on_timer(self) -> None:
        if self._loop is None:
            return
        try:
            self._look()
        finally:
            self._schedule()

    # Looking -------------------------------------------------------------------

    def _look(self, *, fills: bool = True) -> None:
        self._look_is_due = False
        self._measure()
        self._tell_what_goes()
        if self._is_low and self._make_room():
            self._measure()
        for watched in self._watched:
            self._settle(watched)
            if fills:
                self._fill_reserve(watched, self._marks(watched).resume)

    @property
    def _is_low(self) -> bool:
        return self._cap_state is not SpaceState.NORMAL or any(
            watched.by_space is not SpaceState.NORMAL for watched in self._watched
        )

    def _marks(self, watched: WatchedDirectory) -> SpaceMarks:
        return free_space_marks(min_free_bytes(self._min_free, watched.total_bytes))

    def _measure(self) -> None:
        """Finds out how much room there is, and what that means."""
        for watched in self._watched:
            try:
                watched.free_bytes, watched.total_bytes = watched.directory.files.space(watched.directory.path)
            except OSError as error:
                # A directory that is gone is the business of who reads and writes there.
                logger.debug("%s: %s", watched.directory.path, error)
                continue
            watched.by_space = next_state(
                watched.by_space, watched.free_bytes, self._marks(watched), was_refused=watched.was_refused
            )
            watched.was_refused = False
        if self._cap >= 0:
            self._count()
            self._cap_state = next_state(self._cap_state, self._cap - self._used_bytes, cap_marks(self._cap))

    def _count(self, *, anew: bool = False) -> None:
        """How much all log directories take: counted now and then, and by what the logs have grown since."""
        in_logs = sum(log.size_in_bytes for log in self._logs())
        now_ms = self._timers.now_ms()
        if anew or self._counted_at_ms < 0:
            self._counted_at_ms = now_ms
            self._other_bytes = self._allocated_bytes() - in_logs
        elif now_ms - self._counted_at_ms >= COUNT_INTERVAL_MS and self._loop is not None:
            self._counted_at_ms = now_ms
            counting = self._loop.run_in_executor(None, self._allocated_bytes)
            counting.add_done_callback(partial(self._counted, in_logs))
        self._used_bytes = in_logs + self._other_bytes

    def _allocated_bytes(self) -> int:
        """What all files take; on any thread. Raises OSError."""
        online = [watched.directory for watched in self._watched if watched.directory.failure is None]
        return sum(allocated_bytes(directory.files, directory.path) for directory in online)

    def _counted(self, in_logs: int, counting: asyncio.Future[int]) -> None:
        """A count on another thread has ended; what the logs have grown meanwhile counts twice until the next."""
        if counting.cancelled():
            return
        if isinstance(problem := counting.exception(), OSError):
            logger.warning("the files of the log directories could not be counted: %s", problem)
            return
        self._other_bytes = counting.result() - in_logs

    def _logs(self) -> list[Log]:
        return [log for watched in self._watched for log in watched.directory.logs.values() if log.failure is None]

    # Making room ---------------------------------------------------------------

    def _make_room(self) -> bool:
        """Runs retention before its time and removes deleted files at once; whether it has done anything."""
        interval_ms = RETENTION_INTERVAL_MS if self._has_removed else IDLE_RETENTION_INTERVAL_MS
        if self._timers.now_ms() - self._retained_at_ms < interval_ms and not self._is_over_cap:
            return False
        self._retained_at_ms = self._timers.now_ms()
        removed = 0
        for watched in self._watched:
            directory = watched.directory
            if directory.failure is not None:
                continue
            try:
                removed += directory.enforce_retention(self._clock_ms())
                removed += directory.remove_deleted(FAR_FUTURE_MS)
            except KafkaError as error:
                logger.error("%s: %s", directory.path, error)
        self._has_removed = removed > 0
        if self._cap >= 0:
            self._count(anew=True)
            if self._is_over_cap:
                self._remove_oldest(self._used_bytes - (self._cap - cap_marks(self._cap).normal))
                self._count(anew=True)
        return True

    @property
    def _is_over_cap(self) -> bool:
        return self._cap >= 0 and self._cap - self._used_bytes < cap_marks(self._cap).low

    def _tell_what_goes(self) -> None:
        """Announces what the cap takes next, where that is near."""
        room = self._cap - self._used_bytes
        if self._cap >= 0 and room < announce_below(self._cap):
            marks = cap_marks(self._cap)
            self._tell(self._oldest(max(marks.normal - marks.low, marks.normal - room)))

    def _tell(self, chosen: Mapping[Log, int]) -> None:
        if self._timers.now_ms() - self._told_at_ms >= TELL_INTERVAL_MS:
            self._told_at_ms = self._timers.now_ms()
            self._going_under_cap({log: _end_of(log, count) for log, count in chosen.items()})

    def _oldest(self, excess: int) -> dict[Log, int]:
        """How many of the oldest segments go of topics that are deleted by age or size: what the cap is set for."""
        candidates = {}
        for log in self._logs():
            if log.config.cleanup_policy == {"delete"} and not log.directory.name.startswith("__"):
                below = [segment for segment in log.segments if segment.size]
                candidates[log] = [SegmentSize(segment.largest_timestamp, segment.size) for segment in below]
        return oldest_segments(candidates, excess)

    def _remove_oldest(self, excess: int) -> None:
        chosen = self._oldest(excess)
        self._tell(chosen)
        for log, count in chosen.items():
            try:
                self._remove_first(log, count)
            except KafkaError as error:
                logger.error("%s: %s", log.directory, error)
        for watched in self._watched:
            watched.directory.remove_deleted(FAR_FUTURE_MS)

    def _remove_first(self, log: Log, count: int) -> None:
        segments = list(log.segments)
        if count >= len(segments):
            log.roll(self._clock_ms())
            segments = list(log.segments)
        end = min(segments[count].base_offset, log.high_watermark)
        logger.warning(
            "%s: %s is %d, so the oldest records of all topics go first: here those before offset %d",
            log.directory,
            CAP_KEY,
            self._cap,
            end,
        )
        log.increment_log_start_offset(end)
        log.delete_old_segments(self._clock_ms())

    def _fill_reserve(self, watched: WatchedDirectory, least_room: int) -> None:
        files = watched.directory.files
        if not isinstance(files, ReservedFiles) or watched.directory.failure is not None:
            return
        try:
            target = reserve_size(watched.total_bytes)
            held = files.reserved_bytes
            if held < target and watched.free_bytes - (target - held) >= least_room:
                files.fill(target)
        except OSError as error:
            logger.warning("%s: no reserve for a full disk can be kept: %s", watched.directory.path, error)

    # Saying it -----------------------------------------------------------------

    def _settle(self, watched: WatchedDirectory) -> None:
        """Shuts or opens the directory to clients' records; a change is said once."""
        before, state = watched.state, max(watched.by_space, self._cap_state)
        watched.state = state
        told = self._by_cap() if self._cap_state > watched.by_space else self._by_space(watched)
        gate = watched.directory.gate
        gate.refusal = f"{watched.directory.path}: {told}" if state is SpaceState.FULL else None
        gate.is_low = state is not SpaceState.NORMAL
        if state is before:
            return
        path = watched.directory.path
        if state is SpaceState.FULL:
            logger.error(
                "%s: %s. Producers get KAFKA_STORAGE_ERROR and try again; reads, deletes and commits go on. "
                "To make room: %s",
                path,
                told,
                WHAT_TO_DO,
            )
        elif before is SpaceState.FULL:
            logger.warning("%s: there is room again, producers are served: %s", path, told)
        elif state is SpaceState.LOW:
            logger.warning(
                "%s: %s. Retention runs at once and deleted files go without delay; soon producers are refused."
                " To make room: %s",
                path,
                told,
                WHAT_TO_DO,
            )
        else:
            logger.info("%s: room enough: %s", path, told)

    def _by_space(self, watched: WatchedDirectory) -> str:
        least = min_free_bytes(self._min_free, watched.total_bytes)
        return (
            f"{in_words(watched.free_bytes)} of {in_words(watched.total_bytes)} free"
            f" ({MIN_FREE_KEY}: {in_words(least)})"
        )

    def _by_cap(self) -> str:
        return f"{in_words(self._used_bytes)} taken of {in_words(self._cap)} ({CAP_KEY})"


def _end_of(log: Log, count: int) -> int:
    """Before which offset the records lie of a log's so many oldest segments."""
    segments = list(log.segments)
    return segments[count].base_offset if count < len(segments) else log.high_watermark
