"""Tells when the data that waited in connections after a stall has been read and served.

Owns: the connections that may still hold bytes or frames from before. Never does: reading them. Each check asks the
kernel about a bounded number of sockets.
"""

import select
from collections import deque
from collections.abc import Iterable

from .connection import Connection

LOOKED_AT_AT_ONCE = 1_000
"""The number of connections in one check: about 2 ms of work."""


class Unread:
    """The connections that were open at one moment and are not known to be drained yet."""

    def __init__(self, connections: Iterable[Connection]) -> None:
        self._left = deque(connections)

    def is_drained(self) -> bool:
        """Checks some of the remaining connections. Returns True after each of them was seen without unread data."""
        some = [self._left.popleft() for _ in range(min(LOOKED_AT_AT_ONCE, len(self._left)))]
        self._left += unread(some)
        return not self._left


def unread(connections: Iterable[Connection]) -> list[Connection]:
    """The connections with frames that are not served or with unread bytes in their sockets."""
    found = []
    by_descriptor: dict[int, Connection] = {}
    poll = select.poll()
    for connection in connections:
        if connection.is_closing or connection.transport is None or connection.muted is not None:
            continue  # no client waits for what a muted one sends: that may take hours
        if connection.holds_frames:
            found.append(connection)
            continue
        socket = connection.transport.get_extra_info("socket")  # None if the client has just disconnected
        descriptor = -1 if socket is None else socket.fileno()
        if descriptor >= 0:
            by_descriptor[descriptor] = connection
            poll.register(descriptor, select.POLLIN)
    if by_descriptor:
        found += [by_descriptor[descriptor] for descriptor, _ in poll.poll(0)]
    return found
