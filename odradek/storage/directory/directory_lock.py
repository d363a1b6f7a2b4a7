"""The lock on a log directory: `.lock`, as Kafka holds it while it runs.

Owns: the locked file. Invariant: one holder at a time, in this process or another. The system releases a dead process's
lock. Source: Kafka's FileLock, which is Java's FileChannel.tryLock: a POSIX record lock on the whole file.
"""

import errno
from pathlib import Path

from ..errors import DirectoryLockedError
from ..files.files import CREATE, Files

LOCK_FILE = ".lock"

# POSIX locks belong to the process, so a second broker inside one process would get the lock too (Java keeps the same
# table for the same reason: OverlappingFileLockException).
_held_here: set[Path] = set()


class DirectoryLock:
    """Holds the lock from creation on until `close`."""

    __slots__ = ("_descriptor", "_files", "_path")

    def __init__(self, directory: Path, files: Files | None = None) -> None:
        """Takes the lock. Raises DirectoryLockedError if another broker has it, OSError for the lock file."""
        self._path = directory.resolve() / LOCK_FILE
        self._descriptor = -1
        if self._path in _held_here:
            raise DirectoryLockedError(f"{directory}: another broker in this process has this log directory open")
        self._files = files or Files()
        descriptor = self._files.open(self._path, CREATE)
        try:
            self._files.lock(descriptor)
        except OSError as error:
            self._files.close(descriptor)
            if error.errno in (errno.EACCES, errno.EAGAIN):
                raise DirectoryLockedError(
                    f"{directory}: another process has this log directory open (it holds {LOCK_FILE}); stop it first"
                ) from error
            raise
        self._descriptor = descriptor
        _held_here.add(self._path)

    def close(self) -> None:
        """Releases the lock. A second call does nothing. The file stays, as Kafka's does after a kill."""
        if self._descriptor >= 0:
            descriptor, self._descriptor = self._descriptor, -1
            _held_here.discard(self._path)
            self._files.close(descriptor)
