"""What is made of files and configs, and made again when they have changed: certificates, credentials of this node.

Owns: the present value. Never does: watching; the owner asks. Invariant: a failed read keeps the earlier value, with
one log line that has the key, the file and the position, and no secret; it is tried again after the next change.
Source: ours; Kafka reads a store again only when a dynamic config names it.
"""

import logging
import os
from collections.abc import Callable, Iterable
from typing import Generic, TypeVar

from ..config.errors import ConfigError

logger = logging.getLogger(__name__)

Value = TypeVar("Value")
Stamp = tuple[int, int, int] | None
"""What identifies the contents of a file: inode, size, time of change in ns; None for a missing one."""


def stamp_of(path: str) -> Stamp:
    """The stamp of a file. Links are followed: Kubernetes renews a secret by changing one."""
    try:
        found = os.stat(path)
    except OSError:
        return None
    return found.st_ino, found.st_size, found.st_mtime_ns


class Reread(Generic[Value]):
    """A value that is read again when its sources have changed. Threads may ask at the same time: the others get the
    earlier value while one reads.
    """

    def __init__(
        self, what: str, read: Callable[[], Value], sources: Callable[[], tuple[object, Iterable[str]]]
    ) -> None:
        """``what``: for the log. ``read`` raises ConfigError, here too. ``sources``: the configs that it depends on,
        and the files.
        """
        self._what = what
        self._read = read
        self._sources = sources
        self._seen = self._look()
        self.value = read()

    def current(self) -> Value:
        """The value, after a look at its sources."""
        seen = self._look()
        if seen != self._seen:
            self._seen = seen
            try:
                self.value = self._read()
            except ConfigError as error:
                logger.warning("%s stay as they were: %s", self._what, "; ".join(error.problems))
            else:
                logger.info("%s were read again", self._what)
        return self.value

    def _look(self) -> tuple[object, list[Stamp]]:
        configs, files = self._sources()
        return configs, [stamp_of(path) for path in files]
