"""Logs the progress of the recovery every few seconds, and ends the recovery if the broker must stop.

Owns: the counters, the log lines, the flag to stop. Never does: recovering. Invariants: a quick start logs little, a
slow one logs its progress at least every five seconds; a stop takes effect within the next 16 MiB. Source:
LogManager.loadLogs, LogLoader.recoverLog; Kafka does not stop before it has recovered everything.
"""

import logging
from collections.abc import Callable
from threading import Event, Lock

from odradek.protocol.names.topics import TopicPartition
from odradek.storage.directory.log_directories import LogDirectories
from odradek.storage.directory.log_directory import LogDirectory
from odradek.storage.log.log_config import LogConfig
from odradek.storage.log.log_loader import RecoveryReports

logger = logging.getLogger(__name__)

SECONDS_BETWEEN_LINES = 5.0
MIB = 1 << 20
REPORT_BYTES = 16 * MIB
"""A stop takes effect after this much at most."""


class RecoveryStopped(Exception):  # noqa: N818 - a state, not an error
    """The broker had to stop during recovery. The next start continues."""


class RecoveryProgress:
    """The recovery of all directories at one start."""

    def __init__(self, clock: Callable[[], float], report_bytes: int = REPORT_BYTES) -> None:
        """``clock``: seconds from any starting point. ``report_bytes``: how much is checked between two reports."""
        self._clock = clock
        self._reports = RecoveryReports(self._checked, report_bytes)
        self._began = self._last_line = clock()
        self._lock = Lock()
        self._stop = Event()
        self._bytes = 0
        self._done: dict[str, tuple[int, int]] = {}

    @staticmethod
    def unclean(directories: LogDirectories) -> list[LogDirectory]:
        """The directories with logs, but without a marker of a clean stop."""
        return [directory for directory in directories.online if directory.found and not directory.was_clean]

    def stop(self) -> None:
        """Makes the recovery raise RecoveryStopped soon, even if it has not begun. Any thread may call."""
        self._stop.set()

    def recover(
        self, directories: LogDirectories, config_of: Callable[[str], LogConfig], now_ms: int, threads: int
    ) -> None:
        """Opens and recovers every log of the directories without a marker of a clean stop, all directories at once.

        ``threads``: for each directory (``num.recovery.threads.per.data.dir``). After :meth:`stop`, writes the recovery
        points of the completed logs and raises RecoveryStopped. Raises StorageError.
        """
        unclean = self.unclean(directories)
        if not unclean:
            return
        for directory in unclean:
            logger.info(
                "Recovering %d logs from %s since no clean shutdown file was found",
                len(directory.found),
                directory.path,
            )
            for topic, _ in directory.found:
                config_of(topic)  # computed here, so that the threads only read

        def recover(directory: LogDirectory) -> None:
            def one_done(key: TopicPartition, done: int, total: int) -> None:
                self._log_done(directory, key, done, total)

            directory.open_found(config_of, now_ms, threads=threads, progress=one_done, reports=self._reports)

        try:
            directories.in_parallel(unclean, recover)
        except RecoveryStopped:
            done = sum(done for done, _ in self._done.values())
            logger.info("recovery was stopped after %d logs; the next start recovers the others", done)
            for directory in unclean:
                directory.write_checkpoints()
            raise
        total = sum(total for _, total in self._done.values())
        logger.info(
            "Recovered %d logs in %.1f s; read %d MiB after the recovery points",
            total,
            self._clock() - self._began,
            self._bytes // MIB,
        )

    def _log_done(self, directory: LogDirectory, key: TopicPartition, done: int, total: int) -> None:
        with self._lock:
            self._done[str(directory.path)] = done, total
            self._log(f"recovered {key[0]}-{key[1]} ({done}/{total} completed in {directory.path})")

    def _checked(self, path: str, position: int, size: int, new_bytes: int) -> None:
        """Notes that a segment was checked up to ``position`` of ``size`` bytes: ``new_bytes`` more since the last
        call. Raises RecoveryStopped after :meth:`stop`."""
        with self._lock:
            self._bytes += new_bytes
            self._log(f"recovering {path} ({position // MIB} of {size // MIB} MiB)")

    def _log(self, what: str) -> None:
        if self._stop.is_set():
            raise RecoveryStopped
        now = self._clock()
        if now - self._last_line >= SECONDS_BETWEEN_LINES:
            self._last_line = now
            done = sum(done for done, _ in self._done.values())
            logger.info("%s; so far %d logs and %d MiB in %.0f s", what, done, self._bytes // MIB, now - self._began)
