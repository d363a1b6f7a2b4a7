"""Whether what lay in the connections after a stall was read and served.

Owns: the connections that still hold bytes or frames from before. Never does: reading them. Each look at the sockets
asks the kernel, about a bounded number of them.
"""

import select
from collections import deque
from collections.abc import Iterable

from .connection import Connection

LOOKED_AT_AT_ONCE = 1_000
"""How many connections one look asks about: about 2 ms of work."""


class Unread:
    """The connections of one moment that are not known to be drained yet."""

    def __init__(self, connections: Iterable[Connection]) -> None:
        self._left = deque(connections)

    def is_drained(self) -> bool:
        """Looks at some of the connections that are left; True when each was once seen without anything unread."""
        some = [self._left.popleft() for _ in range(min(LOOKED_AT_AT_ONCE, len(self._left)))]
        self._left += unread(some)
        return not self._left


def unread(connections: Iterable[Connection]) -> list[Connection]:
    """Those that hold frames that were not served, or whose sockets hold bytes that were not read."""
    found = []
    by_descriptor: dict[int, Connection] = {}
    poll = select.poll()
    for connection in connections:
        if connection.is_closing or connection.transport is None:
            continue
        if connection.holds_frames:
            found.append(connection)
            continue
        descriptor = connection.transport.get_extra_info("socket").fileno()
        if descriptor >= 0:
            by_descriptor[descriptor] = connection
            poll.register(descriptor, select.POLLIN)
    if by_descriptor:
        found += [by_descriptor[descriptor] for descriptor, _ in poll.poll(0)]
    return found
