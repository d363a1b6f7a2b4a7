"""Ports of 127.0.0.1 for brokers that bind them seconds after they were chosen."""

import contextlib
import itertools
import os
import socket

from odradek.testing.broker.forked import no_fork

FIRST_PORT, PORTS = 20_000, 12_000
_numbers = itertools.count(os.getpid() * 997)


def free_ports(count: int) -> list[int]:
    """Free ports, each another one.

    They are below the range from which the system chooses (32768 and up on Linux), so that no connection and no bind to
    port 0 takes them in between. Each process starts at another number. A forked process inherits none of the sockets.
    """
    found: list[int] = []
    while len(found) < count:
        port = FIRST_PORT + next(_numbers) % PORTS
        with no_fork(), contextlib.suppress(OSError), socket.socket() as opened:
            opened.bind(("127.0.0.1", port))
            found.append(port)
    return found


def free_port() -> int:
    """One free port."""
    return free_ports(1)[0]
