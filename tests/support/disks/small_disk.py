"""A file system of a given size for a test: a tmpfs in its own mount namespace, which is removed after the test."""

import os
import subprocess
from pathlib import Path
from types import TracebackType

KEEP = 'mount -t tmpfs -o size="$2" tmpfs "$1" && echo mounted && exec cat'
"""Mounts the file system, reports it, and keeps the namespace until its input ends, at the latest with the test."""


class SmallDisk:
    """A tmpfs of ``size_bytes`` at ``mount_point``, seen by processes that are started with ``prefix``."""

    def __init__(self, mount_point: Path, size_bytes: int) -> None:
        mount_point.mkdir()
        self.mount_point = mount_point
        self._size_bytes = size_bytes
        self._keeper: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> "SmallDisk":
        command = ["unshare", "-rm", "sh", "-c", KEEP, "sh", str(self.mount_point), str(self._size_bytes)]
        keeper = self._keeper = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        assert keeper.stdout is not None
        assert keeper.stdout.readline() == b"mounted\n", "no mount namespace can be made here"
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        assert self._keeper is not None
        self._keeper.communicate()

    @property
    def prefix(self) -> list[str]:
        """The words before a command that make it see the file system."""
        assert self._keeper is not None
        return ["nsenter", "-t", str(self._keeper.pid), "-U", "-m", "--preserve-credentials"]

    @property
    def seen_from_here(self) -> Path:
        """The path at which this process sees the file system."""
        assert self._keeper is not None
        return Path(f"/proc/{self._keeper.pid}/root{self.mount_point}")

    def resize(self, size_bytes: int) -> None:
        """Changes the size, also while processes use it. Raises subprocess.CalledProcessError if it holds more than
        that.
        """
        options = f"remount,size={size_bytes}"
        subprocess.run([*self.prefix, "mount", "-o", options, str(self.mount_point)], check=True)

    def shrink(self, left_bytes: int = 0) -> None:
        """Makes it as large as its content and ``left_bytes``. Other processes may write to it at the same time."""
        while True:
            facts = os.statvfs(self.seen_from_here)
            used = (facts.f_blocks - facts.f_bfree) * facts.f_frsize
            try:
                self.resize(used + left_bytes)
            except subprocess.CalledProcessError:
                continue
            return
