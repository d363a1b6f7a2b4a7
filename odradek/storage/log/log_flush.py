"""A flush of a log in three steps, so that the slow step can run on another thread and for many logs at once.

    flush = log.flusher.prepare_flush()     on the loop: writes the indexes, without a sync, and holds the files open
    flush.sync()                            anywhere: the system calls that wait for the disk
    log.flusher.complete_flush(flush)       on the loop: the recovery point moves

`prepare_sync` instead leaves out the indexes if only the active segment has grown. Then `synced_offset` moves, but the
recovery point does not, so recovery reads the batches after it and adds their index entries.

Invariant: both offsets move only past synced data. Source: Kafka's UnifiedLog.flush.
"""

from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Executor
from functools import partial
from pathlib import Path

from ..files.descriptors import Descriptor
from ..files.disk_errors import lacks_descriptors
from ..files.files import EXISTING, Files

FEW = 4
PARALLEL_SYNCS = 16


class Flush:
    """The files of one flush. `offset`: everything below it is durable once `sync` has returned.

    `with_indexes`: the indexes, snapshots and leader epochs too.
    """

    __slots__ = ("_descriptors", "_files", "directories", "offset", "paths", "with_indexes")

    def __init__(
        self,
        files: Files,
        offset: int,
        descriptors: list[Descriptor],
        paths: list[Path],
        directories: list[Path],
        *,
        with_indexes: bool = True,
    ) -> None:
        """`descriptors` are held until `close`; `paths` are synced by name, `directories` for new names in them."""
        self._files = files
        self._descriptors = descriptors
        self.paths = paths
        self.directories = directories
        self.offset = offset
        self.with_indexes = with_indexes

    def sync(self) -> None:
        """Waits until everything is on the disk. After an OSError the contents of the disk are unknown."""
        self.sync_files()
        sync_directories(self._files, self.directories)

    def sync_files(self) -> None:
        """Syncs the files only. The caller, who may have many flushes, syncs the `directories`."""
        for descriptor in self._descriptors:
            self._files.sync(descriptor.fd)
        for path in self.paths:
            try:
                fd = self._files.open(path, EXISTING)
            except FileNotFoundError:
                continue  # renamed or removed since: no sync under this name is needed
            try:
                self._files.sync(fd)
            finally:
                self._files.close(fd)

    def close(self) -> None:
        """Releases the files."""
        for descriptor in self._descriptors:
            descriptor.release()
        self._descriptors = []


def sync_directories(files: Files, directories: Iterable[Path]) -> None:
    """Makes the names in directories durable; skips removed directories. Raises OSError."""
    for directory in directories:
        if files.exists(directory):
            files.sync_directory(directory)


def sync_all(files: Files, flushes: Sequence[Flush], pool: Executor | None = None) -> None:
    """Runs the sync step of many flushes. Syncs each directory once.

    More than FEW flushes run in parallel on `pool`, which is faster on a disk. Raises the OSError of a flush that
    failed, after all threads have ended; then none of the flushes counts as durable. If several failed, a failed sync
    is raised rather than a lack of descriptors, because the caller may repeat a flush after the latter.
    """
    directories = sorted({directory for flush in flushes for directory in flush.directories})
    if len(flushes) <= FEW or pool is None:
        for flush in flushes:
            flush.sync_files()
        sync_directories(files, directories)
        return
    _in_parallel(pool, [flush.sync_files for flush in flushes])
    _in_parallel(pool, [partial(sync_directories, files, [directory]) for directory in directories])


def _in_parallel(pool: Executor, calls: Sequence[Callable[[], None]]) -> None:
    errors = [error for error in pool.map(_error_of, calls) if error is not None]
    if errors:
        raise min(errors, key=lacks_descriptors)


def _error_of(call: Callable[[], None]) -> OSError | None:
    try:
        call()
    except OSError as error:
        return error
    return None
