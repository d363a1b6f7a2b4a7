"""A file layer with injected failures: the nth write, sync, open or rename fails, completely or after some bytes."""

import errno
import os
from collections.abc import Sequence
from pathlib import Path

from odradek.storage.files.files import CREATE, EXISTING, Buffer, Files


class FaultyFiles(Files):
    """Counts down to a failure. ``fail("write", after=2)``: the third write from now on fails, and all later ones.

    ``short_by``: a failing write first writes all but this many bytes, as on a disk that becomes full. ``repair()``
    ends the failures.
    """

    def __init__(self) -> None:
        self.calls: dict[str, int] = {}
        self._operation: str | None = None
        self._remaining = 0
        self._error = errno.ENOSPC
        self._short_by: int | None = None

    def fail(self, operation: str, *, after: int = 0, error: int = errno.ENOSPC, short_by: int | None = None) -> None:
        self._operation, self._remaining, self._error, self._short_by = operation, after, error, short_by

    def repair(self) -> None:
        self._operation = None

    def _fails(self, operation: str) -> bool:
        self.calls[operation] = self.calls.get(operation, 0) + 1
        if self._operation != operation:
            return False
        if self._remaining:
            self._remaining -= 1
            return False
        return True

    def _raise(self) -> None:
        raise OSError(self._error, os.strerror(self._error))

    def open(self, path: Path, flags: int = EXISTING) -> int:
        if flags == CREATE and not path.exists() and self._fails("create"):
            self._raise()
        return super().open(path, flags)

    def write(self, descriptor: int, parts: Sequence[Buffer], position: int) -> int:
        if self._fails("write"):
            if self._short_by is not None:
                data = b"".join(bytes(part) for part in parts)[: -self._short_by or None]
                if data:
                    return super().write(descriptor, [data], position)
            self._raise()
        return super().write(descriptor, parts, position)

    def truncate(self, descriptor: int, size: int) -> None:
        if self._fails("truncate"):
            self._raise()
        super().truncate(descriptor, size)

    def sync(self, descriptor: int) -> None:
        if self._fails("sync"):
            self._raise()
        super().sync(descriptor)

    def rename(self, source: Path, target: Path) -> None:
        if self._fails("rename"):
            self._raise()
        super().rename(source, target)
