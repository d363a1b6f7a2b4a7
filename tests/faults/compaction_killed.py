"""A compaction in its own process, which is killed (SIGKILL) before its n-th change of the disk."""

import os
import signal
from collections.abc import Sequence
from pathlib import Path

from odradek.pipeline.compact.job import compact_directory
from odradek.pipeline.compact.plan import CompactionOrder
from odradek.storage.files.files import CREATE, EXISTING, Buffer
from support.disks.unsynced_files import UnsyncedFiles

NEVER = 1 << 60


class KilledFiles(UnsyncedFiles):
    """Counts changes of the disk, and kills its process before one of them, or during a write."""

    def __init__(self, steps_left: int = NEVER, torn_bytes: int | None = None) -> None:
        """`torn_bytes`: the bytes of the incomplete write that are written."""
        self.steps = 0
        self._steps_left = steps_left
        self._torn_bytes = torn_bytes

    def _step(self) -> bool:
        """Whether this is the last one."""
        self.steps += 1
        return self.steps > self._steps_left

    def _die(self) -> None:
        os.kill(os.getpid(), signal.SIGKILL)

    def open(self, path: Path, flags: int = EXISTING) -> int:
        if flags == CREATE and not path.exists() and self._step():
            self._die()
        return super().open(path, flags)

    def write(self, descriptor: int, parts: Sequence[Buffer], position: int) -> int:
        if self._step():
            if self._torn_bytes is not None:
                data = b"".join(bytes(part) for part in parts)
                super().write(descriptor, [data[: self._torn_bytes % (len(data) + 1)]], position)
            self._die()
        return super().write(descriptor, parts, position)

    def truncate(self, descriptor: int, size: int) -> None:
        if self._step():
            self._die()
        super().truncate(descriptor, size)

    def rename(self, source: Path, target: Path) -> None:
        if self._step():
            self._die()
        super().rename(source, target)

    def remove(self, path: Path) -> None:
        if path.exists() and self._step():
            self._die()
        super().remove(path)


def compact_killed(order: CompactionOrder, steps: int, torn_bytes: int | None = None) -> bool:
    """Compacts in a forked process that is killed after this many steps; returns whether it was killed."""
    child = os.fork()
    if not child:
        code = 1
        try:
            code = int(any(outcome.refusal for outcome in compact_directory(order, KilledFiles(steps, torn_bytes))))
        finally:
            os._exit(code)
    _, status = os.waitpid(child, 0)
    assert os.WIFSIGNALED(status) or status == 0, f"it ended by itself with {status}"
    return os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGKILL
