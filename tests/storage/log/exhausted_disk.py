"""A simulated disk in a process that sometimes has no file descriptor left."""

import errno
import os
import random
from pathlib import Path

from odradek.storage.files.files import EXISTING
from support.disks.simulated_disk import SimulatedDisk

OFTEN = 0.05


class ExhaustedDisk(SimulatedDisk):
    """While ``chance`` is set, opens of files and directories fail at random. ``refused``: the number of failures."""

    chance: random.Random | None = None
    error = errno.EMFILE
    refused = 0

    def open(self, path: Path, flags: int = EXISTING) -> int:
        self._take_descriptor(path)
        return super().open(path, flags)

    def sync_directory(self, path: Path) -> None:
        self._take_descriptor(path)
        super().sync_directory(path)

    def _take_descriptor(self, path: Path) -> None:
        if self.chance is not None and self.chance.random() < OFTEN:
            self.refused += 1
            raise OSError(self.error, os.strerror(self.error), str(path))
