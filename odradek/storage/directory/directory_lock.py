"""The lock on a log directory: `.lock`, as Kafka holds it while it runs.

Owns: the locked file. Invariant: one holder at a time, in this process or another. The system releases a dead process's
lock. The holder is found without taking the lock (F_GETLK). Source: Kafka's FileLock, which is Java's
FileChannel.tryLock: a POSIX record lock on the whole file.
"""

import errno
import fcntl
import os
import struct
import sys
from pathlib import Path

from ..errors import DirectoryLockedError
from ..files.files import CREATE, Files
from ..files.regular_files import open_regular

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


FLOCK = {"linux": ("hhqqi", 0, 4), "darwin": ("qqihh", 3, 2)}
"""`struct flock` of each system: its layout, and the positions of the lock's type and the process id among its five
fields.
"""


def lock_holder(directory: Path) -> int | None:
    """The process that has the directory's lock; None if it is free, 0 if the system can't tell.

    It only queries the lock, so a broker that is starting is not disturbed.
    """
    try:
        descriptor = open_regular(directory / LOCK_FILE)
    except FileNotFoundError:
        return None
    try:
        if sys.platform not in FLOCK:
            return 0
        layout, type_at, process_at = FLOCK[sys.platform]
        lock_fields = [0] * 5  # the whole file: from SEEK_SET, start 0, length 0
        lock_fields[type_at] = fcntl.F_WRLCK
        answer = struct.unpack(layout, fcntl.fcntl(descriptor, fcntl.F_GETLK, struct.pack(layout, *lock_fields)))
        return None if answer[type_at] == fcntl.F_UNLCK else int(answer[process_at])
    finally:
        os.close(descriptor)
