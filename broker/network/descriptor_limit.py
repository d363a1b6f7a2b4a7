"""The limit of open files of this process, and its division.

Owns: the division. Half of the limit, 4,096 at most, is for segments of logs; a reserve is for other files
(checkpoints, snapshots, the cleaner, threads); connections get the rest. Never does: closing anything.
"""

import sys
from typing import NamedTuple

SEGMENTS_MAX = 4_096
LEAST_RESERVE = 32
LARGEST_RESERVE = 256
UNLIMITED = 1 << 20
"""Used if the system has no limit."""
MACOS_LIMIT = 10_240
"""The most that macOS grants if its hard limit is "unlimited" (OPEN_MAX)."""


class DescriptorShares(NamedTuple):
    """The maximum numbers of descriptors."""

    limit: int
    """In total: the soft limit of the process."""
    segments: int
    """Open segments of all log directories together."""
    reserve: int
    """Kept for other files; not for connections or segments."""

    @property
    def connections(self) -> int:
        """Connections of clients."""
        return max(1, self.limit - self.segments - self.reserve)


def shares_of(limit: int) -> DescriptorShares:
    """Divides a limit between segments, the reserve and connections."""
    reserve = min(LARGEST_RESERVE, max(LEAST_RESERVE, limit // 8))
    return DescriptorShares(limit, max(1, min(SEGMENTS_MAX, limit // 2)), reserve)


def descriptor_shares() -> DescriptorShares:
    """The division of this process's present limit."""
    if sys.platform == "win32":
        return shares_of(UNLIMITED)
    import resource

    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return shares_of(UNLIMITED if soft == resource.RLIM_INFINITY else soft)


def raise_descriptor_limit() -> None:
    """Raises the soft limit of open files to the hard one, or as far as the system allows."""
    if sys.platform != "win32":
        import resource

        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        for wanted in (hard, MACOS_LIMIT):
            if soft != resource.RLIM_INFINITY and (wanted == resource.RLIM_INFINITY or wanted > soft):
                try:
                    resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
                except (ValueError, OSError):
                    continue
                return
