"""A broker of ours under fire: its disk can become full, and its clock can jump."""

import os
from collections.abc import Mapping
from pathlib import Path

from support.brokers import jumping_clock
from support.brokers.jumping_clock import JumpingClock
from support.brokers.our_broker import OurBroker
from support.disks.small_disk import SmallDisk

SIZE_BYTES = 1 << 30
"""The size of its file system, which only takes memory for its content."""


class FireBroker(OurBroker):
    """``odradek serve`` with its own file system and its own clock. Call :meth:`close` after it has ended."""

    def __init__(self, directory: Path, configs: Mapping[str, str], size_bytes: int = SIZE_BYTES) -> None:
        """``size_bytes``: of its file system."""
        directory.mkdir(parents=True)
        self._size_bytes = size_bytes
        self._disk = SmallDisk(directory / "disk", size_bytes).__enter__()
        super().__init__(directory, configs, command_prefix=self._disk.prefix)
        self.log_dir = self._disk.seen_from_here / "logs"
        self.clock = JumpingClock(directory / "clock")
        self.program = ("-P", jumping_clock.__file__, str(self.clock.path), "serve")

    def keys(self) -> dict[str, str]:
        """Its configuration. It sees its log directory at another path than the test."""
        return {**super().keys(), "log.dirs": str(self._disk.mount_point / "logs")}

    def fill_disk(self, left_bytes: int = 0) -> None:
        """Leaves this many bytes free."""
        self._disk.shrink(left_bytes)

    def free_disk(self) -> None:
        """Gives the disk its size back."""
        self._disk.resize(self._size_bytes)

    def free_bytes(self) -> int:
        """The free space on its disk."""
        facts = os.statvfs(self._disk.seen_from_here)
        return facts.f_bavail * facts.f_frsize

    def close(self) -> None:
        """Removes the file system with its content."""
        self._disk.__exit__(None, None, None)
