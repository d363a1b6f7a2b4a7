"""The broker's background work: retention, cleaning, checkpoints, flushes.

Owns: the interval of each kind of work. Never does: deciding what to delete or flush (the logs do), blocking the event
loop with a sync of the disk. Invariant: work on a failing directory is logged and tried again; work on the others
continues. Source: ``LogManager.startup``, ``ReplicaManager.startHighWatermarkCheckPointThread``.
"""

import asyncio
import logging
from collections.abc import Callable, Iterator, Sequence, Set
from threading import Event
from typing import TYPE_CHECKING

from odradek.protocol.common.lazy_imports import lazy_imports
from odradek.protocol.common.steps import Steps
from odradek.protocol.errors import KafkaError
from odradek.protocol.messages.structure import Message
from odradek.storage.directory.directory_retention import retain_logs
from odradek.storage.directory.log_directory import LogDirectory
from odradek.storage.log.due_removals import DueRemovals
from odradek.storage.log.log import Log

from ..config.server_config import ServerConfig
from ..groups.coordinator import GroupCoordinator
from ..groups.retention_warnings import RetentionWarnings
from ..replicas.directories.disk_space import CAP_KEY, MIN_FREE_KEY
from ..replicas.directories.disk_watch import DiskWatch
from ..replicas.group_commit import GroupCommit
from ..replicas.partitions import Partitions
from ..timers.loop_timers import LoopTimers
from ..timers.slices import SlicedWork, Slices, run_in_slices
from ..timers.work import KindOfWork
from .broker import Broker
from .surroundings import FixedSettings

with lazy_imports:
    from ..metadata.controller import delegation_tokens
    from ..replicas.cleaner import cleaner
    from . import warm_up

if TYPE_CHECKING:
    from ..metrics.cleaner_state import CleanerState
    from ..replicas.cleaner.cleaner import LogCleaner

logger = logging.getLogger(__name__)

REMOVALS = KindOfWork("file-removal", "removes deleted files")

LOOKS_A_STEP = 128
"""Logs that one step looks at: to flush them, or to find that they have no producers."""
WARM_UP_MS = 1_000
LONGEST_FLUSH_CHECK_MS = 60_000
"""``log.flush.scheduler.interval.ms`` is unlimited by default. Recovery points move at least this often."""


class Background:
    """The periodic work of a broker, until its timers are closed."""

    def __init__(
        self,
        directories: Sequence[LogDirectory],
        timers: LoopTimers,
        clock_ms: Callable[[], int],
        group_commit: GroupCommit,
        slices: Slices,
        settings: FixedSettings,
    ) -> None:
        """``clock_ms``: milliseconds since the epoch. ``slices`` runs the steps of retention."""
        self._directories = directories
        self._timers = timers
        self._clock_ms = clock_ms
        self._group_commit = group_commit
        self._slices = slices
        self._settings = settings
        self._retaining: SlicedWork | None = None
        self._writing: SlicedWork | None = None
        self._collecting: SlicedWork | None = None
        self._flushing: SlicedWork | None = None
        self._removing: asyncio.Future[None] | None = None
        self._is_stopped = Event()
        self._holds_removals = False
        self.cleaner: LogCleaner | None = None
        """The log cleaner; None before it has started."""
        self._cleaner_config: Callable[[], ServerConfig] | None = None
        """The current configuration, for the log cleaner; None if it is not enabled."""

    def start(self, config: ServerConfig, current_config: Callable[[], ServerConfig]) -> None:
        """Sets the first timers. ``current_config`` returns the configuration with dynamic configs."""
        first_ms = config.get_int("log.initial.task.delay.ms")
        flush_interval_ms = min(config.get_int("log.flush.scheduler.interval.ms"), LONGEST_FLUSH_CHECK_MS)
        self._timers.every(self._settings.deleted_files_check_ms, self._remove_deleted)
        self._timers.every(config.get_int("log.retention.check.interval.ms"), self._retain, first_ms)
        checkpoints = ("log.flush.offset.checkpoint.interval.ms", "log.flush.start.offset.checkpoint.interval.ms")
        self._timers.every(
            min(config.get_int(key) for key in checkpoints),
            self._write_checkpoints,
            first_ms,
        )
        self._timers.every(flush_interval_ms, self._flush)
        if config.get_boolean("log.cleaner.enable"):
            self._cleaner_config = current_config
        self._timers.schedule(WARM_UP_MS, self._warm_up)

    def start_cleaner(self) -> "LogCleaner | None":
        """Starts the log cleaner, which otherwise starts with the warm-up. Returns it; None if it is not enabled."""
        if self.cleaner is None and self._cleaner_config is not None:
            thread_bytes = self._settings.cleaner_thread_bytes
            self.cleaner = cleaner.LogCleaner(
                self._directories,
                self._cleaner_config,
                self._clock_ms,
                thread_bytes,
                is_held=lambda: self._holds_removals,
            )
            self.cleaner.start()
        return self.cleaner

    def cleaner_state(self) -> "CleanerState | None":
        """The state of the log cleaner; None before it has started."""
        return None if self.cleaner is None else self.cleaner.state

    async def apply_retention(self) -> None:
        """Applies retention now, as each ``log.retention.check.interval.ms`` does; returns when it is done."""
        await run_in_slices(self._slices, self._retention_steps())

    async def stop(self) -> None:
        """Stops the cleaner and the removal of files."""
        self._is_stopped.set()
        if self._retaining is not None:
            self._retaining.cancel()
        if self._writing is not None:
            self._writing.cancel()
        if self._collecting is not None:
            self._collecting.cancel()
        if self._flushing is not None:
            self._flushing.cancel()
        if self._removing is not None:
            await asyncio.wait([self._removing])
        if self.cleaner is not None:
            await self.cleaner.stop()

    def _warm_up(self) -> None:
        """Imports the modules that requests need, then starts the cleaner if it is enabled."""

        def finished() -> None:
            warm_up.log_imported()
            self.start_cleaner()

        warm_up.WarmUp(self._timers.schedule, finished).step()

    def _write_checkpoints(self) -> None:
        """Starts to write the checkpoints, in slices, unless the last write is still running."""
        if self._writing is None or self._writing.is_done:
            self._writing = self._slices.start_background(self._checkpoint_steps(), "the write of the checkpoints")

    def _checkpoint_steps(self) -> Iterator[None]:
        for directory in list(self._directories):
            try:
                yield from directory.checkpoints()
            except KafkaError as error:
                logger.error("%s: %s", directory.path, error)

    def _retain(self) -> None:
        """Starts a round of retention, in slices, unless the last one is still running."""
        if self._retaining is None or self._retaining.is_done:
            self._retaining = self._slices.start_background(self._retention_steps(), "retention")

    def _retention_steps(self) -> Steps[None]:
        """Each step removes some segments of a log, or finds nothing to remove."""
        for directory in self._directories:
            try:
                yield from retain_logs(directory.logs.values(), self._clock_ms)
                for count, log in enumerate(list(directory.logs.values()), 1):
                    if log.producer_state.producers:
                        yield from log.remove_expired_producers(self._clock_ms())
                        yield
                    elif not count % LOOKS_A_STEP:
                        yield
            except KafkaError as error:
                logger.error("%s: %s", directory.path, error)

    def hold_removals(self) -> None:
        """Keeps files that retention, the cleaner or a deletion has renamed to ``.deleted``, until
        :meth:`release_removals`. The cleaner begins no round meanwhile: the next one would give the same name to other
        files. A full disk removes the files nevertheless."""
        self._holds_removals = True

    def release_removals(self) -> None:
        """Removes deleted files again when they are due."""
        self._holds_removals = False

    def _remove_deleted(self) -> None:
        """Removes deleted files whose delay has passed, unless an earlier removal is still running."""
        if self._holds_removals:
            return
        is_collecting = self._collecting is not None and not self._collecting.is_done
        if not is_collecting and (self._removing is None or self._removing.done()):
            self._collecting = self._slices.start_background(self._removal_steps(), "the search for deleted files")

    def _removal_steps(self) -> Iterator[None]:
        """Collects the due files of one log in each step, then removes them on a thread: 1 GB takes up to 200 ms."""
        due: list[tuple[LogDirectory, DueRemovals]] = []
        for directory in list(self._directories):
            removals = yield from directory.collect_deleted(self._clock_ms())
            if len(removals):
                due.append((directory, removals))
        if due:
            self._removing = REMOVALS.on_thread(self._remove, due)

    def _remove(self, due: list[tuple[LogDirectory, DueRemovals]]) -> None:
        """Removes due files, on a thread, until the broker stops."""
        for directory, removals in due:
            try:
                removals.remove(self._is_stopped.is_set)
            except OSError as error:
                logger.error("%s: %s", directory.path, directory.storage_error(error))

    def _flush(self) -> None:
        """Starts to flush logs, in slices, unless the last look at the logs is still running."""
        if self._flushing is None or self._flushing.is_done:
            self._flushing = self._slices.start_background(self._flush_steps(), "the search for logs to flush")

    def _flush_steps(self) -> Iterator[None]:
        """Flushes logs with their indexes, which moves recovery points. Other syncs leave the indexes out."""
        for directory in list(self._directories):
            logs = list(directory.logs.values())
            for start in range(0, len(logs), LOOKS_A_STEP):
                if start:
                    yield
                some = logs[start : start + LOOKS_A_STEP]
                # Most logs have nothing to flush, and are looked at without a call.
                for log in [one for one in some if one.offsets.log_end_offset > one.offsets.recovery_point]:
                    if is_to_be_flushed(log, self._clock_ms()):
                        self._group_commit.request(log, with_indexes=True)


def is_to_be_flushed(log: Log, now_ms: int) -> bool:
    """Whether a log has unflushed records, and was last flushed flush.ms ago or before its active segment was
    rolled."""
    return (
        log.health.is_open
        and log.health.failure is None
        and log.offsets.unflushed_records > 0
        and (
            now_ms - log.flusher.last_flushed_ms >= log.config.flush_ms
            or log.offsets.recovery_point < log.segments.active.base_offset
        )
    )


def watch_disks(
    config: ServerConfig,
    directories: Sequence[LogDirectory],
    partitions: Partitions,
    groups: GroupCoordinator,
    timers: LoopTimers,
    clock_ms: Callable[[], int],
    slices: Slices,
    refuses_in: Callable[[Set[bytes]], None],
    count_interval_ms: int,
) -> DiskWatch:
    """Starts to watch the space in these directories, and groups that are about to lose records.

    ``clock_ms``: milliseconds since the epoch. ``slices`` runs the work. ``refuses_in`` and
    ``count_interval_ms``: as for :class:`DiskWatch`.
    """
    interval_ms = config.get_int("log.retention.check.interval.ms")
    warnings = RetentionWarnings(partitions, groups, timers, clock_ms, interval_ms, slices)
    watch = DiskWatch(
        directories,
        timers,
        clock_ms,
        slices,
        min_free_bytes=config.get_int(MIN_FREE_KEY),
        cap_bytes=config.get_int(CAP_KEY),
        warn_under_cap=warnings.warn_under_cap,
        refuses_in=refuses_in,
        count_interval_ms=count_interval_ms,
    )
    watch.start()
    warnings.start()
    return watch


INTERVAL_KEY = "delegation.token.expiry.check.interval.ms"


def remove_expired_tokens(broker: Broker, timers: LoopTimers, clock_ms: Callable[[], int]) -> None:
    """Removes expired tokens at a regular interval (:data:`INTERVAL_KEY`), if this broker is its own controller.

    ``clock_ms``: wall clock, milliseconds since the epoch.
    """
    if broker.token_hmacs is None or broker.is_cluster_member:
        return
    metadata = broker.own_metadata
    interval_ms = broker.static_config.get_int(INTERVAL_KEY)

    def expired() -> list[Message]:
        found = delegation_tokens.expired_tokens(metadata.image, clock_ms())
        if found:
            logger.info("removing %d expired delegation tokens", len(found))
        return found

    def failed(error: KafkaError) -> None:
        logger.error("could not remove expired delegation tokens: %s", error)

    def check() -> None:
        timers.schedule(interval_ms, check)
        metadata.record(expired, clock_ms(), failed)

    timers.schedule(interval_ms, check)
