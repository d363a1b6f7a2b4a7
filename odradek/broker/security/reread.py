"""A value that is read from files and configs, and read again after they changed, such as certificates and passwords.

Owns: the current value. Never does: watching files; changes are noticed when the value is requested. Invariant: if a
read fails, the earlier value stays, and one log line names the config key, the file and the position, but no secret.
The next read is after the next change. Source: ours; Kafka reads a store again only when a dynamic config names it.
"""

import logging
import os
from collections.abc import Callable, Iterable
from typing import Generic, TypeVar

from ..config.errors import ConfigError

logger = logging.getLogger(__name__)

Value = TypeVar("Value")
Stamp = tuple[int, int, int] | None
"""Identifies the contents of a file: inode, size in bytes, modification time in ns. None if the file is missing."""


def stamp_of(path: str) -> Stamp:
    """The stamp of a file. Follows symbolic links, because Kubernetes renews a secret by changing a link."""
    try:
        found = os.stat(path)
    except OSError:
        return None
    return found.st_ino, found.st_size, found.st_mtime_ns


class Reread(Generic[Value]):
    """A value that is read again after its sources have changed.

    Several threads may request it. While one of them reads, the others get the earlier value.
    """

    def __init__(
        self, what: str, read: Callable[[], Value], sources: Callable[[], tuple[object, Iterable[str]]]
    ) -> None:
        """Reads the value. Raises ConfigError if ``read`` does.

        ``what``: names the value in the log. ``sources`` returns the configs and the files that the value depends on.
        """
        self._what = what
        self._read = read
        self._sources = sources
        self._seen = self._look()
        self.value = read()

    def current(self) -> Value:
        """The value. Reads it again first if its sources have changed."""
        seen = self._look()
        if seen != self._seen:
            self._seen = seen
            try:
                self.value = self._read()
            except ConfigError as error:
                logger.warning(
                    "%s were not reloaded, the earlier ones stay in use: %s", self._what, "; ".join(error.problems)
                )
            else:
                logger.info("%s were reloaded", self._what)
        return self.value

    def _look(self) -> tuple[object, list[Stamp]]:
        configs, files = self._sources()
        return configs, [stamp_of(path) for path in files]
