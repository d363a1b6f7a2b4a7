"""The real file system without waiting for the disk: for tests that write much and are not about power cuts."""

from pathlib import Path

from odradek.storage.files.files import Files


class UnsyncedFiles(Files):
    """Files whose syncs do nothing."""

    def sync(self, descriptor: int) -> None:
        """Does nothing: the page cache is enough for these tests."""

    def sync_directory(self, path: Path) -> None:
        """Does nothing: the page cache is enough for these tests."""
