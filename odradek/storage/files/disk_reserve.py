"""A reserve of disk space in a log directory, for the writes that must succeed when the disk is full.

    .odradek-reserve    a file with allocated blocks and no content; Kafka ignores files at the top of a log directory

Owns: the reserve. Commits, metadata records, deletes, checkpoints, indexes and a start use it when the file system is
full; clients' records and the cleaner's output never do. Never does: deciding when to fill it again (the broker's disk
watch does). Invariant: an operation for which the reserve has enough room does not fail with ENOSPC. Source: our own;
Kafka takes the directory offline.
"""

import errno
import logging
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from threading import Lock
from typing import TypeVar

from .file_names import (
    CLEANED_SUFFIX,
    DELETE_DIRECTORY_SUFFIX,
    DELETED_SUFFIX,
    FUTURE_DIRECTORY_SUFFIX,
    LOG_SUFFIX,
    SNAPSHOT_DELETED_SUFFIX,
)
from .files import CREATE, EXISTING, READ_ONLY, Buffer, Files

logger = logging.getLogger(__name__)

RESERVE_FILE = ".odradek-reserve"
RESERVE_BYTES = 4 << 20
RESERVE_SHARE = 32
"""The reserve is RESERVE_BYTES, or this fraction (1/32) of the file system if that is less."""
STEP_BYTES = 128 << 10
FULL = (errno.ENOSPC, errno.EDQUOT)
"""The errors of a full file system and of an exhausted quota."""
INTERNAL_PREFIX = "__"

Result = TypeVar("Result")


def reserve_size(total_bytes: int) -> int:
    """The size of the reserve on a file system of `total_bytes`."""
    return min(RESERVE_BYTES, total_bytes // RESERVE_SHARE)


class ReservedFiles(Files):
    """The files of one log directory, backed by the reserve.

    `when_full` is called on the writing thread each time the file system is full, even if the reserve helps.
    """

    def __init__(self, directory: Path, when_full: Callable[[], None] = lambda: None) -> None:
        self.when_full = when_full
        self.is_starting = True
        """True until the directory is served. A start on a full disk without reserve removes `.deleted` files, once."""
        self._directory = directory
        self._path = directory / RESERVE_FILE
        self._lock = Lock()
        self._unreserved: set[int] = set()

    # The reserve ---------------------------------------------------------------

    @property
    def reserved_bytes(self) -> int:
        """The current size of the reserve. Raises OSError."""
        try:
            descriptor = super().open(self._path, READ_ONLY)  # not Path.stat: a simulated disk has files of its own
        except FileNotFoundError:
            return 0
        try:
            return self.size(descriptor)
        finally:
            super().close(descriptor)

    def shrink(self, wanted_bytes: int) -> bool:
        """Frees at least `wanted_bytes` of the reserve, or all of it if it holds less.

        If the reserve is empty and the directory starts, removes files that are marked as deleted instead. Returns
        False if nothing was freed.
        """
        with self._lock:
            try:
                held = self.reserved_bytes
                if held:
                    descriptor = super().open(self._path, EXISTING)
                    try:
                        super().truncate(descriptor, max(0, held - max(wanted_bytes, STEP_BYTES)))
                    finally:
                        super().close(descriptor)
                    return True
                if self.is_starting:
                    self.is_starting = False
                    return self._remove_deleted() > 0
            except OSError as error:
                logger.warning("%s: cannot shrink the disk reserve: %s", self._path, error)
            return False

    def fill(self, target_bytes: int) -> int:
        """Grows the reserve to `target_bytes`, or as far as free space allows. Returns its new size."""
        with self._lock:
            held = self.reserved_bytes
            target = min(target_bytes, held + self.space(self._directory)[0])
            if target <= held:
                return held
            descriptor = super().open(self._path, CREATE)
            try:
                self.allocate(descriptor, target)
            except OSError as error:
                if error.errno not in FULL:
                    raise
                super().truncate(descriptor, held)
                return held
            finally:
                super().close(descriptor)
            return target

    def _remove_deleted(self) -> int:
        """Removes files that wait for file.delete.delay.ms, as a start does anyway. Returns the number of files."""
        removed = 0
        for entry in super().list(self._directory):
            if not entry.is_dir(follow_symlinks=False):
                continue
            is_deleted = entry.name.endswith(DELETE_DIRECTORY_SUFFIX)
            for file in super().list(Path(entry.path)):
                waits = file.name.endswith((DELETED_SUFFIX, CLEANED_SUFFIX))
                if file.is_file() and (is_deleted or (waits and not file.name.endswith(SNAPSHOT_DELETED_SUFFIX))):
                    super().remove(Path(file.path))
                    removed += 1
        if removed:
            logger.warning(
                "%s: the disk is full; removing %d files that were already marked as deleted", self._directory, removed
            )
        return removed

    # Operations that take space --------------------------------------------------

    def _with_room(self, wanted_bytes: int, operation: Callable[[], Result]) -> Result:
        while True:
            try:
                return operation()
            except OSError as error:
                if error.errno not in FULL:
                    raise
                self.when_full()
                if not self.shrink(wanted_bytes):
                    raise

    def open(self, path: Path, flags: int = EXISTING) -> int:
        """Opens a file; log files of clients, of the cleaner and of moves may not use the reserve."""
        if flags == READ_ONLY:
            return super().open(path, flags)  # needs no space
        descriptor = self._with_room(0, partial(super().open, path, flags))
        _, dot, suffixes = path.name.partition(LOG_SUFFIX)
        partition = path.parent.name
        is_internal = partition.startswith(INTERNAL_PREFIX) and not partition.endswith(FUTURE_DIRECTORY_SUFFIX)
        if dot and (suffixes.startswith(CLEANED_SUFFIX) or not is_internal):
            self._unreserved.add(descriptor)
        return descriptor

    def close(self, descriptor: int) -> None:
        """Closes a descriptor."""
        self._unreserved.discard(descriptor)
        super().close(descriptor)

    def write(self, descriptor: int, parts: Sequence[Buffer], position: int) -> int:
        """Writes the parts at `position`. Returns the number of bytes that the system took."""
        try:
            return super().write(descriptor, parts, position)
        except OSError as error:
            if error.errno not in FULL:
                raise
            if descriptor in self._unreserved:
                self.when_full()
                raise
        return self._with_room(sum(map(len, parts)), partial(super().write, descriptor, parts, position))

    def truncate(self, descriptor: int, size: int) -> None:
        """Cuts (or grows) an open file."""
        self._with_room(0, partial(super().truncate, descriptor, size))

    def rename(self, source: Path, target: Path) -> None:
        """Renames, over an existing target too."""
        self._with_room(0, partial(super().rename, source, target))

    def remove(self, path: Path) -> None:
        """Removes a file; copy-on-write file systems need space for that too."""
        self._with_room(0, partial(super().remove, path))

    def make_directory(self, path: Path) -> None:
        """Creates a directory with its parents, unless it exists."""
        self._with_room(0, partial(super().make_directory, path))
