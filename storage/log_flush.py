"""A flush of a log in three steps, so that the slow one can run on another thread, for many logs at once.

    flush = log.prepare_flush()     on the loop: index bytes go to the page cache, files are held
    flush.sync()                    anywhere: the system calls that wait for the disk
    log.complete_flush(flush)       on the loop: the recovery point moves

Invariant: the recovery point moves only over what was synced. Source: Kafka's UnifiedLog.flush.
"""

from pathlib import Path

from .descriptors import Descriptor
from .files import EXISTING, Files


class Flush:
    """What one flush syncs. `offset`: all below it is durable once `sync` has returned."""

    __slots__ = ("_descriptors", "_directories", "_files", "_paths", "offset")

    def __init__(
        self, files: Files, offset: int, descriptors: list[Descriptor], paths: list[Path], directories: list[Path]
    ) -> None:
        """Holds the descriptors; `paths` are synced by name, `directories` for names that are new in them."""
        self._files = files
        self._descriptors = [descriptor.hold() for descriptor in descriptors]
        self._paths = paths
        self._directories = directories
        self.offset = offset

    def sync(self) -> None:
        """Waits until everything is on the disk. Raises OSError: then nobody knows what is."""
        for descriptor in self._descriptors:
            self._files.sync(descriptor.fd)
        for path in self._paths:
            try:
                fd = self._files.open(path, EXISTING)
            except FileNotFoundError:
                continue  # renamed or removed since: nothing of it needs to be durable under this name
            try:
                self._files.sync(fd)
            finally:
                self._files.close(fd)
        for directory in self._directories:
            if self._files.exists(directory):
                self._files.sync_directory(directory)

    def release(self) -> None:
        """Lets the files go."""
        for descriptor in self._descriptors:
            descriptor.release()
        self._descriptors = []
