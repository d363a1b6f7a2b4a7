"""The broker's background work: retention, cleaning, checkpoints, flushes.

Owns: the interval of each kind of work. Never does: deciding what to delete or flush (the logs do), blocking the event
loop with a sync of the disk. Invariant: work on a failing directory is logged and tried again; work on the others
continues. Source: ``LogManager.startup``, ``ReplicaManager.startHighWatermarkCheckPointThread``.
"""

import asyncio
import logging
from collections.abc import Callable, Iterator, Sequence
from threading import Event
from typing import TYPE_CHECKING, Never

from odradek.protocol.common.steps import Steps
from odradek.protocol.errors import KafkaError
from odradek.storage.directory.directory_retention import retain_logs
from odradek.storage.directory.log_directories import LogDirectories
from odradek.storage.directory.log_directory import LogDirectory
from odradek.storage.log.due_removals import DueRemovals
from odradek.storage.log.log import Log

from ..config.server_config import ServerConfig
from ..metrics.replica_state import IsrChanges
from ..network.listening import BindError, wildcard_hosts
from ..replicas.cleaner.worker_code import WorkerCode
from ..replicas.following import ReplicaFollowing
from ..replicas.group_commit import GroupCommit
from ..replicas.leaders import Leaders
from ..replicas.partitions import Partitions
from ..timers.loop_timers import LoopTimers
from ..timers.slices import SlicedWork, Slices, run_in_slices
from ..timers.work import KindOfWork

if TYPE_CHECKING:
    from ..metrics.endpoint import MetricsEndpoint
    from ..metrics.loop_delay import LoopDelay
    from ..metrics.loop_load import LoopLoad
    from ..metrics.pieces import MetricsSource
    from ..replicas.cleaner.cleaner import LogCleaner
    from ..security.tls.metrics_tls import MetricsTls

logger = logging.getLogger(__name__)

REMOVALS = KindOfWork("file-removal", "removes deleted files")

DELETED_FILES_CHECK_MS = 10_000
LOOKS_A_STEP = 128
"""Logs that a flush looks at in one step."""
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
    ) -> None:
        """``clock_ms``: milliseconds since the epoch. ``slices`` runs the steps of retention."""
        self._directories = directories
        self._timers = timers
        self._clock_ms = clock_ms
        self._group_commit = group_commit
        self._slices = slices
        self._retaining: SlicedWork | None = None
        self._writing: SlicedWork | None = None
        self._collecting: SlicedWork | None = None
        self._flushing: SlicedWork | None = None
        self._removing: asyncio.Future[None] | None = None
        self._is_stopped = Event()
        self.cleaner: LogCleaner | None = None
        """The log cleaner; None before it has started."""
        self._metrics: MetricsEndpoint | None = None
        self.metrics_tls: MetricsTls | None = None
        self._of_loop: Sequence[LoopDelay | LoopLoad] = ()
        self._worker_code = WorkerCode()
        self._cleaner_config: Callable[[], ServerConfig] | None = None
        """The current configuration, for the log cleaner; None if it is not enabled."""
        self.metrics_port: int | None = None
        """The port of the metrics; None without metrics."""

    def start(self, config: ServerConfig, current_config: Callable[[], ServerConfig]) -> None:
        """Sets the first timers. ``current_config`` returns the configuration with dynamic configs."""
        first_ms = config.get_int("log.initial.task.delay.ms")
        flush_interval_ms = min(config.get_int("log.flush.scheduler.interval.ms"), LONGEST_FLUSH_CHECK_MS)
        self._every(DELETED_FILES_CHECK_MS, self._remove_deleted)
        self._every(config.get_int("log.retention.check.interval.ms"), self._retain, first_ms)
        checkpoints = ("log.flush.offset.checkpoint.interval.ms", "log.flush.start.offset.checkpoint.interval.ms")
        self._every(
            min(config.get_int(key) for key in checkpoints),
            self._write_checkpoints,
            first_ms,
        )
        self._every(flush_interval_ms, self._flush)
        if config.get_boolean("log.cleaner.enable"):
            self._cleaner_config = current_config
        self._timers.schedule(WARM_UP_MS, self._warm_up)

    def start_cleaner(self) -> "LogCleaner | None":
        """Starts the log cleaner, which otherwise starts with the warm-up. Returns it; None if it is not enabled."""
        if self.cleaner is None and self._cleaner_config is not None:
            from ..replicas.cleaner.cleaner import LogCleaner  # not before the broker serves

            self.cleaner = LogCleaner(self._directories, self._cleaner_config, self._clock_ms, self._worker_code)
            self.cleaner.start()
        return self.cleaner

    async def apply_retention(self) -> None:
        """Applies retention now, as each ``log.retention.check.interval.ms`` does; returns when it is done."""
        await run_in_slices(self._slices, self._retention_steps())

    async def show_metrics(
        self,
        config: ServerConfig,
        log_dirs: LogDirectories,
        partitions: Partitions,
        leaders: Leaders | None,
        replication: ReplicaFollowing | None,
        served: "Sequence[MetricsSource]",
    ) -> None:
        """Listens at ``odradek.metrics.listener``, if it is set. Raises BindError.

        ``leaders``, ``replication``: None for a broker that is its own controller. ``served``: the metrics of what
        the dispatcher serves, and of the role.
        """
        address = config.get_string("odradek.metrics.listener")
        if not address:
            return
        from ..metrics.directory_metrics import DirectoryMetrics
        from ..metrics.endpoint import MetricsEndpoint, host_and_port  # imported only if metrics are on
        from ..metrics.log_metrics import LogMetrics
        from ..metrics.loop_delay import LoopDelay
        from ..metrics.loop_load import LoopLoad
        from ..metrics.pieces import JoinedSources
        from ..metrics.process_metrics import ProcessMetrics, WorkMetrics
        from ..metrics.replica_metrics import ReplicaMetrics, ReplicaSources

        state = lambda: None if self.cleaner is None else self.cleaner.state  # noqa: E731
        replica_sources = ReplicaSources(
            _nothing if leaders is None else leaders.led,
            IsrChanges() if leaders is None else leaders.isr_changes,
            partitions.counts,
            _nothing if replication is None else replication.followed,
            _nothing if replication is None else replication.fetchers,
        )
        replicas = ReplicaMetrics(replica_sources)
        logs = LogMetrics(self._directories, state, self._clock_ms)
        self._of_loop = LoopDelay(), LoopLoad()
        for one in self._of_loop:
            one.start(asyncio.get_running_loop())
        of_process: list[MetricsSource] = [ProcessMetrics(), WorkMetrics(), *self._of_loop]
        sources = [*of_process, *served, replicas, logs, DirectoryMetrics(log_dirs)]
        if config.get_boolean("odradek.metrics.ssl.enable"):
            from ..security.tls.metrics_tls import MetricsTls

            self.metrics_tls = MetricsTls(config)
        over_tls = None if self.metrics_tls is None else self.metrics_tls.streams.over_tls
        credentials = config.get_string("odradek.metrics.credentials")
        self._metrics = MetricsEndpoint(JoinedSources(*sources), self._unready, credentials, over_tls)
        try:
            host, port = host_and_port(address)
            hosts = wildcard_hosts(host) if port else ()  # two sockets would get two ports of the system's choice
            self.metrics_port = await self._metrics.start(host, port, hosts)
        except OSError as error:
            raise BindError(f"odradek.metrics.listener={address} can't be bound: {error.strerror}") from error
        if self.metrics_tls is not None:
            self._every(self.metrics_tls.WATCH_MS, self.metrics_tls.look_at_files)

    def _unready(self) -> str | None:
        """Why producers can't write now, for the readiness of the metrics' endpoint."""
        for directory in self._directories:
            if directory.failure is None and directory.gate.refusal is None:
                return None
        reasons = [str(directory.failure or directory.gate.refusal) for directory in self._directories]
        return "; ".join(reasons) or "no log directory is online"

    async def stop(self) -> None:
        """Stops the cleaner, the removal of files, and the metrics."""
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
        if self._metrics is not None:
            self._metrics.stop()
        for one in self._of_loop:
            one.stop()
        if self.cleaner is not None:
            await self.cleaner.stop()

    def _warm_up(self) -> None:
        """Imports the modules that requests need, then starts the cleaner if it is enabled."""
        from . import warm_up  # not before the broker serves

        def finished() -> None:
            warm_up.log_imported()
            self.start_cleaner()

        warm_up.WarmUp(self._timers.schedule, self._worker_code, finished).step()

    def _every(self, interval_ms: int, work: Callable[[], object], first_ms: int | None = None) -> None:
        def run() -> None:
            self._timers.schedule(interval_ms, run)
            work()

        self._timers.schedule(interval_ms if first_ms is None else first_ms, run)

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
                for log in list(directory.logs.values()):
                    yield from log.remove_expired_producers(self._clock_ms())
                    yield
            except KafkaError as error:
                logger.error("%s: %s", directory.path, error)

    def _remove_deleted(self) -> None:
        """Removes deleted files whose delay has passed, unless an earlier removal is still running."""
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
            for count, log in enumerate(list(directory.logs.values()), 1):
                if not count % LOOKS_A_STEP:
                    yield
                if is_to_be_flushed(log, self._clock_ms()):
                    self._group_commit.request(log, with_indexes=True)


def _nothing() -> Iterator[Never]:
    """An empty iterator: there are no other brokers."""
    return iter(())


def is_to_be_flushed(log: Log, now_ms: int) -> bool:
    """Whether a log has unflushed records, and was last flushed flush.ms ago or before its active segment was
    rolled."""
    return (
        log.is_open
        and log.failure is None
        and log.offsets.unflushed_records > 0
        and (
            now_ms - log.flusher.last_flushed_ms >= log.config.flush_ms
            or log.offsets.recovery_point < log.segments.active.base_offset
        )
    )
