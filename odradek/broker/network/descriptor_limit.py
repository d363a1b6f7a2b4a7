"""The limit of open files of this process, and its division.

Owns: the division. What the process has open at the start (standard output, the event loop's files, listeners, all of
a program that a broker runs in) is subtracted first. Half of the rest, 4,096 at most, is for segments of logs; a
reserve is for files that are open for a moment (checkpoints, snapshots, indexes, syncs by name, modules, the cleaner);
connections get the rest. Never does: closing anything.
"""

import logging
import os
import sys
from typing import NamedTuple

from odradek.protocol.common.lazy_imports import lazy_imports

with lazy_imports:
    import resource

logger = logging.getLogger(__name__)

SEGMENTS_MAX = 4_096
LEAST_RESERVE = 32
LARGEST_RESERVE = 256
LEAST_CONNECTIONS = 8
"""A broker with room for fewer does not start: one client has several connections."""
FEW_CONNECTIONS = 100
"""A start with room for fewer logs a warning."""
UNLIMITED = 1 << 20
"""Used if the system has no limit."""
UNLISTED_MAX = 4_096
"""Descriptors that are looked at one by one, 0.5 us each, if the system does not list them."""
MACOS_LIMIT = 10_240
"""The most that macOS grants if its hard limit is "unlimited" (OPEN_MAX)."""


class TooFewDescriptorsError(Exception):
    """The limit of open files is too low for a broker. The text says what to do."""


class DescriptorShares(NamedTuple):
    """The maximum numbers of descriptors."""

    limit: int
    """In total: the soft limit of the process."""
    in_use: int
    """Open before the broker opened its logs, and kept open."""
    segments: int
    """Open segments of all log directories together."""
    reserve: int
    """Kept for other files; not for connections or segments."""

    @property
    def connections(self) -> int:
        """Connections of clients."""
        return self.limit - self.in_use - self.segments - self.reserve


def shares_of(limit: int, in_use: int) -> DescriptorShares:
    """Divides a limit between segments, the reserve and connections. Raises TooFewDescriptorsError."""
    free = limit - in_use
    reserve = min(LARGEST_RESERVE, max(LEAST_RESERVE, free // 8))
    shares = DescriptorShares(limit, in_use, min(SEGMENTS_MAX, free // 2), reserve)
    if shares.connections < LEAST_CONNECTIONS:
        least = in_use + 2 * (LEAST_RESERVE + LEAST_CONNECTIONS) - 1
        raise TooFewDescriptorsError(
            f"this process may open {limit} files, and {in_use} are open before the first log and connection. "
            f"Raise the limit (ulimit -n) to 1024 or more; {least} is the least that a broker starts with"
        )
    return shares


def descriptor_shares(more: int = 0) -> DescriptorShares:
    """The division of this process's present limit. ``more``: files that will be opened and kept open. Raises
    TooFewDescriptorsError.
    """
    if sys.platform == "win32":
        return shares_of(UNLIMITED, more)
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return shares_of(UNLIMITED if soft == resource.RLIM_INFINITY else soft, open_descriptors() + more)


def log_few_connections(shares: DescriptorShares) -> None:
    """Warns of a limit that leaves little room for connections."""
    if shares.connections < FEW_CONNECTIONS:
        logger.warning(
            "the limit of open files (ulimit -n %d) leaves room for %d connections: more will wait until one is closed",
            shares.limit,
            shares.connections,
        )


def open_descriptors(directory: str = "/dev/fd") -> int:
    """The number of descriptors that this process has open. Raises OSError if it has none left to count them.

    ``directory``: where the system lists them. A chroot without it is asked for each descriptor up to UNLISTED_MAX.
    """
    try:
        return len(os.listdir(directory)) - 1  # without that of the listing
    except FileNotFoundError:
        return sum(_is_open(descriptor) for descriptor in range(UNLISTED_MAX))


def _is_open(descriptor: int) -> bool:
    try:
        os.fstat(descriptor)
    except OSError:
        return False
    return True


def raise_descriptor_limit() -> None:
    """Raises the soft limit of open files to the hard one, or as far as the system allows."""
    if sys.platform != "win32":
        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        for wanted in (hard, MACOS_LIMIT):
            if soft != resource.RLIM_INFINITY and (wanted == resource.RLIM_INFINITY or wanted > soft):
                try:
                    resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
                except (ValueError, OSError):
                    continue
                return
