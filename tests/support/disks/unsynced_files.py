"""The real file system without waiting for the disk: for tests that write much and are not about power cuts."""

from pathlib import Path

from odradek.storage.files.files import Files


class UnsyncedFiles(Files):
    """Files whose syncs do nothing."""

    def sync(self, descriptor: int) -> None:
        """Nothing: the page cache is enough here."""

    def sync_directory(self, path: Path) -> None:
        """Nothing: the page cache is enough here."""
