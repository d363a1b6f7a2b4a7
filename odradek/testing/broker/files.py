"""The files of a broker under test: fsync does nothing, and a test can make the disk appear full.

Owns: the switch for the full disk. Never does: keeping data in memory. A crash of the broker loses nothing, because
written data is in the page cache; only a power failure would lose it, which would end the test, too.
"""

import errno
import os
from collections.abc import Sequence
from pathlib import Path

from odradek.storage.files.disk_reserve import ReservedFiles
from odradek.storage.files.files import Buffer


class FullDisk:
    """The switch that makes the disk of a broker appear full, in all its log directories."""

    def __init__(self) -> None:
        self.is_full = False

    def files_for(self, directory: Path) -> "FilesUnderTest":
        """The files of a log directory on this disk."""
        return FilesUnderTest(directory, self)


class FilesUnderTest(ReservedFiles):
    """Files whose syncs do nothing, on a disk that can be full."""

    def __init__(self, directory: Path, disk: FullDisk) -> None:
        super().__init__(directory)
        self._disk = disk
        self._directory = directory

    def sync(self, descriptor: int) -> None:
        """Does nothing: the data is in the page cache."""

    def sync_directory(self, path: Path) -> None:
        """Does nothing: the system has the directory entries."""

    def write(self, descriptor: int, parts: Sequence[Buffer], position: int) -> int:
        """Writes ``parts``. While the disk is full, raises OSError (ENOSPC) for clients' records only: other writes use
        the disk reserve.
        """
        if self._disk.is_full and descriptor in self._unreserved:
            self.when_full()
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(self._directory))
        return super().write(descriptor, parts, position)

    def space(self, path: Path) -> tuple[int, int]:
        """(free bytes, total bytes); 0 bytes are free while the disk is full."""
        free, total = super().space(path)
        return (0, total) if self._disk.is_full else (free, total)
