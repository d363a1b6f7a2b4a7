"""Flushes of many logs of one log directory at once (storage/log/log_flush.py has the steps of one).

Owns: the threads of large flushes. Never does: choosing when and which logs. Invariant: recovery points move only past
synced data; a failed sync takes the directory offline. Source: Kafka's UnifiedLog.flush, LogDirFailureChannel.
"""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

from ..errors import StorageError
from ..files.disk_errors import lacks_descriptors
from ..files.files import Files
from ..log.log import Log
from ..log.log_flush import FEW, PARALLEL_SYNCS, Flush, sync_all

OPEN_FILES_A_THREAD = 16


class DirectoryFlusher:
    """Makes logs of one directory durable, in one call or in steps."""

    def __init__(
        self,
        files: Files,
        fail: Callable[[OSError], None],
        storage_error: Callable[[OSError], StorageError],
        max_open_files: int,
    ) -> None:
        """`fail` takes the directory offline; `storage_error` makes the error to raise for a disk error.

        Each thread opens a file in addition to the `max_open_files`, so there is at most one thread for every
        OPEN_FILES_A_THREAD of them.
        """
        self._threads = max(1, min(PARALLEL_SYNCS, max_open_files // OPEN_FILES_A_THREAD))
        self._files = files
        self._fail = fail
        self._storage_error = storage_error
        self._pool: ThreadPoolExecutor | None = None

    def flush(self, logs: list[Log], now_ms: int | None = None) -> None:
        """Makes the logs durable before it returns. Raises StorageError."""
        flushes = self.prepare(logs)
        try:
            self.sync(flushes)
        except OSError as error:
            raise self.abort(flushes, error) from error
        self.complete(flushes, now_ms)

    def prepare(self, logs: list[Log], *, with_indexes: bool = True) -> list[tuple[Log, Flush]]:
        """The first step. Raises StorageError."""
        flushes: list[tuple[Log, Flush]] = []
        for log in logs:
            log.health.check_usable()
            try:
                flushes.append((log, log.flusher.prepare_flush() if with_indexes else log.flusher.prepare_sync()))
            except OSError as error:
                raise log.health.storage_error(error) from error
        return flushes

    def sync(self, flushes: list[tuple[Log, Flush]]) -> None:
        """The slow step. Any thread may run it, but only one at a time. Raises OSError."""
        if len(flushes) > FEW and self._pool is None:
            self._pool = ThreadPoolExecutor(self._threads, thread_name_prefix="sync")
        sync_all(self._files, [flush for _, flush in flushes], self._pool)

    def complete(self, flushes: list[tuple[Log, Flush]], now_ms: int | None) -> None:
        """The last step: the recovery points move."""
        for log, flush in flushes:
            log.flusher.complete_flush(flush, log.flusher.last_flushed_ms if now_ms is None else now_ms)

    def abort(self, flushes: list[tuple[Log, Flush]], error: OSError) -> StorageError:
        """The last step if the sync failed: the contents of the disk are unknown. Returns the error to raise.

        If only a descriptor was missing, the directory stays online, and the flushes may be prepared anew.
        """
        for log, flush in flushes:
            log.flusher.fail_flush(flush, error)
        if not lacks_descriptors(error):
            self._fail(error)
        return self._storage_error(error)

    def take_back(self, flushes: list[tuple[Log, Flush]]) -> None:
        """The last step if the sync was not carried out, although no file failed. The flushes may be prepared anew."""
        for log, flush in flushes:
            log.flusher.take_back(flush)
