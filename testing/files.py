"""The files of a broker under test: nothing waits for the disk, and the disk is full when a test says so.

Owns: the switch. Never does: keeping data in memory. A crash of the broker loses nothing, since the system has the
data; only a power failure would, which a test does not survive either.
"""

import errno
import os
from collections.abc import Sequence
from pathlib import Path

from ..storage.files.disk_reserve import ReservedFiles
from ..storage.files.files import Buffer


class FullDisk:
    """Whether the disk of a broker is full, for all its directories."""

    def __init__(self) -> None:
        self.is_full = False

    def files_for(self, directory: Path) -> "FilesUnderTest":
        """The files of a directory."""
        return FilesUnderTest(directory, self)


class FilesUnderTest(ReservedFiles):
    """Files whose syncs do nothing, on a disk that can be full."""

    def __init__(self, directory: Path, disk: FullDisk) -> None:
        super().__init__(directory)
        self._disk = disk
        self._directory = directory

    def sync(self, descriptor: int) -> None:
        """Does nothing: the system has the data."""

    def sync_directory(self, path: Path) -> None:
        """Does nothing: the system has the names."""

    def write(self, descriptor: int, parts: Sequence[Buffer], position: int) -> int:
        """Writes. Raises OSError ENOSPC for clients' records while the disk is full; a reserve is left for the rest."""
        if self._disk.is_full and descriptor in self._unreserved:
            self.when_full()
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(self._directory))
        return super().write(descriptor, parts, position)

    def space(self, path: Path) -> tuple[int, int]:
        """(bytes free, total bytes): none are free while the disk is full."""
        free, total = super().space(path)
        return (0, total) if self._disk.is_full else (free, total)
