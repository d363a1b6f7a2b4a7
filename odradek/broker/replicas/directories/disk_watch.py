"""Keeps a broker alive on a full disk: checks free space, and closes or opens the log directories for clients' records.

Owns: the state of each directory, the time of the next check, filling the reserve. Never does: choosing states
(disk_space.py does), removing a file on the event loop. Invariants: a change of state is one log line that says what to
do; when there is room again, producers are served without help; one check at a time, in slices (make_room.py has the
steps). Source: our own; see docs/operating.md.
"""

import asyncio
import logging
from collections.abc import Callable, Mapping, Sequence, Set
from functools import partial
from itertools import chain
from threading import Event
from typing import TypeVar

from odradek.protocol.common.steps import Steps, run_to_end
from odradek.storage.directory.log_directory import LogDirectory
from odradek.storage.files.disk_reserve import ReservedFiles, reserve_size
from odradek.storage.files.disk_usage import allocated_bytes
from odradek.storage.log.due_removals import DueRemovals
from odradek.storage.log.log import Log

from ...timers.loop_timers import LoopTimers
from ...timers.slices import Slices, run_in_slices
from ...timers.work import KindOfWork
from .disk_space import (
    CAP_KEY,
    MIN_FREE_KEY,
    SpaceMarks,
    SpaceState,
    announce_below,
    cap_marks,
    free_space_marks,
    in_words,
    min_free_bytes,
    next_check_ms,
    next_state,
)
from .make_room import WHOLE_LOG, oldest_steps, removal_steps, retention_steps, size_steps

logger = logging.getLogger(__name__)

WATCH = KindOfWork("disk-watch", "checks the free space of the log directories")

Result = TypeVar("Result")

RETENTION_INTERVAL_MS = 250
"""The interval of retention while room is low and it finds segments to remove."""
IDLE_RETENTION_INTERVAL_MS = 1_000
"""The interval if the last run removed nothing. It is longer, because each run may check thousands of logs."""
COUNT_INTERVAL_MS = 10_000
"""The interval of full counts of file sizes under a cap. Between them, the growth of the logs is added."""
ANNOUNCE_INTERVAL_MS = 1_000
"""The minimum interval of announcements of upcoming deletions under the cap."""
FAR_FUTURE_MS = 1 << 62
WHAT_TO_DO = (
    "delete topics or records, lower retention.ms or retention.bytes, or make the file system larger; "
    "`odradek storage explain` shows for each topic what is kept and why"
)


class WatchedDirectory:
    """One log directory and its state. ``by_space``: the state by free space alone, without the cap."""

    def __init__(self, directory: LogDirectory) -> None:
        self.directory = directory
        self.by_space = SpaceState.NORMAL
        self.state = SpaceState.NORMAL
        self.was_refused = False
        """Whether the file system has refused bytes since the last check."""
        self.free_bytes = 0
        self.total_bytes = 0


class DiskWatch:
    """Checks the log directories on a timer, and when the file system has refused bytes."""

    def __init__(
        self,
        directories: Sequence[LogDirectory],
        timers: LoopTimers,
        clock_ms: Callable[[], int],
        slices: Slices,
        *,
        min_free_bytes: int,
        cap_bytes: int,
        warn_under_cap: Callable[[Mapping[Log, int]], None] = lambda going: None,
        refuses_in: Callable[[Set[bytes]], None] = lambda directory_ids: None,
        count_interval_ms: int = COUNT_INTERVAL_MS,
    ) -> None:
        """``min_free_bytes`` and ``cap_bytes`` are the values of the two keys; ``clock_ms``: ms since the epoch.

        ``warn_under_cap`` is called with upcoming deletions under the cap: for each log, the offset before which
        records are removed. It is called when they are near and again right before. ``refuses_in`` is called with the
        ids of all directories that refuse clients' records, whenever one is added or removed. ``count_interval_ms``: of
        full counts under a cap.
        """
        self._watched = [WatchedDirectory(directory) for directory in directories]
        self._timers = timers
        self._clock_ms = clock_ms
        self._slices = slices
        self._min_free = min_free_bytes
        self._cap = cap_bytes
        self._cap_state = SpaceState.NORMAL
        self._used_bytes = 0
        self._other_bytes = 0
        self._count_interval_ms = count_interval_ms
        self._counted_at_ms = -1
        self._retained_at_ms = -RETENTION_INTERVAL_MS
        self._has_removed = True
        self._warn_under_cap = warn_under_cap
        self._refuses_in = refuses_in
        self._announced_at_ms = -ANNOUNCE_INTERVAL_MS
        self._loop: asyncio.AbstractEventLoop | None = None
        self._check_is_due = asyncio.Event()
        self._watching: asyncio.Task[None] | None = None
        self._removing: asyncio.Future[int] | None = None
        self._is_stopped = Event()

    @property
    def states(self) -> list[SpaceState]:
        """The state of each directory, in their order."""
        return [watched.state for watched in self._watched]

    def start(self) -> None:
        """Makes the first check, before clients are served, and starts the timer."""
        self._loop = asyncio.get_running_loop()
        for watched in self._watched:
            files = watched.directory.files
            if isinstance(files, ReservedFiles):
                files.is_starting = False
                files.when_full = partial(self._refused, watched)
        run_to_end(self._measure())
        self._refuse_if_full()
        self._watching = WATCH.keep_running(self._watch)

    def cancel(self) -> None:
        """Stops checking. The removal of a file in progress completes."""
        self._loop = None
        self._is_stopped.set()
        if self._watching is not None:
            self._watching.cancel()

    async def stop(self) -> None:
        """Does the same as `cancel`, then waits until the check and the removal in progress have ended."""
        self.cancel()
        if self._watching is not None:
            await asyncio.wait([self._watching])
        if self._removing is not None:
            await asyncio.wait([self._removing])

    def fill_reserves(self) -> None:
        """Fills the reserve file of each directory if there is room, for the next start. Call it after `stop`."""
        for watched in self._watched:
            self._fill_reserve(watched, least_room=0)

    def _refused(self, watched: WatchedDirectory) -> None:
        """Notes that the file system has refused bytes. Any thread may call."""
        loop = self._loop
        if loop is None or loop.is_closed():
            return
        is_first, watched.was_refused = not watched.was_refused, True
        if watched.directory.gate.refusal is None:
            watched.directory.gate.refusal = f"{watched.directory.path}: the disk is full"
        if is_first:
            WATCH.soon_in(loop, self._check_is_due.set)

    async def _watch(self) -> None:
        """Checks and waits in turn, until it is cancelled."""
        while True:
            self._check_is_due.clear()
            await self._check()
            timer = self._timers.schedule(self._next_check_ms(), self._check_is_due.set)
            await self._check_is_due.wait()
            timer.cancel()

    def _next_check_ms(self) -> int:
        delays = [
            next_check_ms(watched.by_space, watched.free_bytes, self._marks(watched)) for watched in self._watched
        ]
        if self._cap >= 0:
            delays.append(next_check_ms(self._cap_state, self._cap - self._used_bytes, cap_marks(self._cap)))
        return min(delays)

    async def _in_slices(self, steps: Steps[Result]) -> Result:
        return await run_in_slices(self._slices, steps)

    # Checking -------------------------------------------------------------------

    async def _check(self) -> None:
        await self._in_slices(self._measure())
        await self._announce_upcoming()
        if self._is_low:
            self._refuse_if_full()  # making room takes several turns
            if await self._make_room():
                await self._in_slices(self._measure())
        for watched in self._watched:
            self._apply_state(watched)
            self._fill_reserve(watched, self._marks(watched).resume)

    def _refuse_if_full(self) -> None:
        for watched in self._watched:
            if max(watched.by_space, self._cap_state) is SpaceState.FULL:
                self._apply_state(watched)

    @property
    def _is_low(self) -> bool:
        return self._cap_state is not SpaceState.NORMAL or any(
            watched.by_space is not SpaceState.NORMAL for watched in self._watched
        )

    def _marks(self, watched: WatchedDirectory) -> SpaceMarks:
        return free_space_marks(min_free_bytes(self._min_free, watched.total_bytes))

    def _measure(self) -> Steps[None]:
        """Measures the room in each directory and sets its state."""
        for watched in self._watched:
            try:
                watched.free_bytes, watched.total_bytes = watched.directory.files.space(watched.directory.path)
            except OSError as error:
                # Reads and writes of the logs handle a missing directory.
                logger.debug("%s: %s", watched.directory.path, error)
                continue
            watched.by_space = next_state(
                watched.by_space, watched.free_bytes, self._marks(watched), was_refused=watched.was_refused
            )
            watched.was_refused = False
        if self._cap >= 0:
            yield from self._count()
            self._cap_state = next_state(self._cap_state, self._cap - self._used_bytes, cap_marks(self._cap))

    def _count(self) -> Steps[None]:
        """Sets the bytes that all log directories take: the logs' sizes now, plus all other files of the last full
        count. Starts the next full count on a thread if it is due."""
        in_logs = yield from size_steps(self._logs())
        now_ms = self._timers.now_ms()
        if self._counted_at_ms < 0:  # at the start, before clients are served
            self._counted_at_ms = now_ms
            self._other_bytes = self._allocated_bytes() - in_logs
        elif now_ms - self._counted_at_ms >= self._count_interval_ms and self._loop is not None:
            self._counted_at_ms = now_ms
            counting = WATCH.awaited_on_thread(self._allocated_bytes)
            WATCH.when_done(counting, partial(self._counted, in_logs))
        self._used_bytes = in_logs + self._other_bytes

    async def _recount(self) -> None:
        """Counts all files again, after some were removed."""
        assert self._loop is not None
        in_logs = await self._in_slices(size_steps(self._logs()))
        self._counted_at_ms = self._timers.now_ms()
        try:
            self._other_bytes = await WATCH.awaited_on_thread(self._allocated_bytes) - in_logs
        except OSError as error:
            logger.warning("the files of the log directories could not be counted: %s", error)
        self._used_bytes = await self._in_slices(size_steps(self._logs())) + self._other_bytes

    def _allocated_bytes(self) -> int:
        """The bytes that all files take. May be called on any thread. Raises OSError."""
        return sum(allocated_bytes(directory.files, directory.path) for directory in self._online())

    def _counted(self, in_logs: int, counting: asyncio.Future[int]) -> None:
        """Takes the result of a full count on another thread. What the logs grew by during the count is counted twice
        until the next one. ``in_logs``: the logs' sizes when it began."""
        if counting.cancelled():
            return
        if isinstance(problem := counting.exception(), OSError):
            logger.warning("the files of the log directories could not be counted: %s", problem)
            return
        self._other_bytes = counting.result() - in_logs

    def _logs(self) -> list[Log]:
        """All logs, including failed ones: copying 15,000 references takes 0.1 ms, but checking each log takes 3 ms."""
        return list(chain.from_iterable(watched.directory.logs.values() for watched in self._watched))

    # Making room ---------------------------------------------------------------

    async def _make_room(self) -> bool:
        """Runs retention early, removes deleted files at once, and over the cap the oldest segments. Returns False,
        without doing anything, if the last run was too recent."""
        interval_ms = RETENTION_INTERVAL_MS if self._has_removed else IDLE_RETENTION_INTERVAL_MS
        if self._timers.now_ms() - self._retained_at_ms < interval_ms and not self._is_over_cap:
            return False
        self._retained_at_ms = self._timers.now_ms()
        removed = await self._in_slices(retention_steps(self._online(), self._clock_ms))
        removed += await self._remove_deleted()
        self._has_removed = removed > 0
        if self._cap >= 0:
            await self._recount()
            if self._is_over_cap:
                await self._remove_oldest(self._used_bytes - (self._cap - cap_marks(self._cap).normal))
                await self._recount()
        return True

    async def _remove_deleted(self) -> int:
        """Removes all deleted files, on a thread: a file of 1 GB takes up to 200 ms. Returns how many."""
        due = [
            (log_directory, await self._in_slices(log_directory.collect_deleted(FAR_FUTURE_MS)))
            for log_directory in self._online()
        ]
        if not any(len(removals) for _, removals in due):
            return 0
        assert self._loop is not None
        self._removing = WATCH.awaited_on_thread(self._remove, due)
        return await asyncio.shield(self._removing)  # `stop` waits for it

    def _remove(self, due: Sequence[tuple[LogDirectory, DueRemovals]]) -> int:
        """Removes due files, on a thread, until the broker stops."""
        removed = 0
        for directory, removals in due:
            try:
                removed += removals.remove(self._is_stopped.is_set)
            except OSError as error:
                logger.error("%s: %s", directory.path, directory.storage_error(error))
        return removed

    def _online(self) -> list[LogDirectory]:
        return [watched.directory for watched in self._watched if watched.directory.failure is None]

    @property
    def _is_over_cap(self) -> bool:
        return self._cap >= 0 and self._cap - self._used_bytes < cap_marks(self._cap).low

    async def _announce_upcoming(self) -> None:
        """Announces upcoming deletions under the cap, if they are near."""
        room = self._cap - self._used_bytes
        if self._cap >= 0 and room < announce_below(self._cap) and self._may_announce:
            marks = cap_marks(self._cap)
            excess = max(marks.normal - marks.low, marks.normal - room)
            self._announce(await self._in_slices(oldest_steps(self._logs(), excess)))

    @property
    def _may_announce(self) -> bool:
        return self._timers.now_ms() - self._announced_at_ms >= ANNOUNCE_INTERVAL_MS

    def _announce(self, chosen: Mapping[Log, int]) -> None:
        if self._may_announce:
            self._announced_at_ms = self._timers.now_ms()
            self._warn_under_cap({log: log.high_watermark if end == WHOLE_LOG else end for log, end in chosen.items()})

    async def _remove_oldest(self, excess: int) -> None:
        chosen = await self._in_slices(oldest_steps(self._logs(), excess))
        self._announce(chosen)
        await self._in_slices(removal_steps(chosen, self._cap, self._clock_ms))
        await self._remove_deleted()

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
            problem = watched.directory.storage_error(error)  # detects a failed disk even if no client writes
            logger.warning("%s: can't allocate the reserve for a full disk: %s", watched.directory.path, problem)

    # Logging -----------------------------------------------------------------

    def _apply_state(self, watched: WatchedDirectory) -> None:
        """Closes or opens the directory for clients' records, and logs a change once."""
        before, state = watched.state, max(watched.by_space, self._cap_state)
        watched.state = state
        reason = self._by_cap() if self._cap_state > watched.by_space else self._by_space(watched)
        gate = watched.directory.gate
        gate.refusal = f"{watched.directory.path}: {reason}" if state is SpaceState.FULL else None
        gate.is_low = state is not SpaceState.NORMAL
        if state is before:
            return
        if SpaceState.FULL in (state, before):
            self._refuses_in(
                {each.directory.directory_id for each in self._watched if each.state is SpaceState.FULL},
            )
        path = watched.directory.path
        if state is SpaceState.FULL:
            logger.error(
                "%s: %s. Producers get KAFKA_STORAGE_ERROR and retry; reads, deletions and offset commits continue. "
                "To make room: %s",
                path,
                reason,
                WHAT_TO_DO,
            )
        elif before is SpaceState.FULL:
            logger.warning("%s: there is room again, producers can write: %s", path, reason)
        elif state is SpaceState.LOW:
            logger.warning(
                "%s: %s. Retention runs at once and removes deleted files without delay. If less space is left,"
                " producers are refused. To make room: %s",
                path,
                reason,
                WHAT_TO_DO,
            )
        else:
            logger.info("%s: there is enough room: %s", path, reason)

    def _by_space(self, watched: WatchedDirectory) -> str:
        least = min_free_bytes(self._min_free, watched.total_bytes)
        return (
            f"{in_words(watched.free_bytes)} of {in_words(watched.total_bytes)} free"
            f" ({MIN_FREE_KEY}: {in_words(least)})"
        )

    def _by_cap(self) -> str:
        return f"{in_words(self._used_bytes)} of {in_words(self._cap)} used ({CAP_KEY})"
