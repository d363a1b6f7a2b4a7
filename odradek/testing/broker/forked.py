"""Closes the sockets of the parent's in-process brokers in a forked child.

A fork copies every descriptor. While a child holds copies of a broker's listening and accepted sockets, the parent's
broker cannot bind its port again, and its clients do not notice that it closed their connections. Owns: the brokers of
this process that a fork would copy. Never does: shutting a socket down, which would reach the parent's connections.
Invariants: when a fork returns in the parent, the child has closed its copies; a descriptor's number stays taken in the
child (by the null device), because objects that were copied may still close it. Source: fork(2);
``os.register_at_fork``.
"""

import contextlib
import os
import socket
import stat
import threading
from collections.abc import Iterator
from typing import Protocol
from weakref import WeakSet

DESCRIPTORS = "/dev/fd"
"""The open descriptors of the process that lists it, on Linux and macOS."""


class Forkable(Protocol):
    """A broker or controller of this process."""

    def ports(self) -> set[int]:
        """The TCP ports that it listens on."""

    def forget(self) -> None:
        """Marks the broker as not running; called in a forked child, since it runs in the parent."""


_brokers: WeakSet[Forkable] = WeakSet()
_of_parents: list[Forkable] = []
"""In a forked child, the parent's brokers. Kept alive, because an event loop's destructor would act on resources that
are shared with the parent."""

_one_fork = threading.RLock()
"""Held while a thread forks. Otherwise the child of another fork at the same time would keep this fork's pipe open. See
:func:`no_fork`."""

_pipes: list[tuple[int, int] | None] = []
"""For each fork in progress, a pipe that the child closes after it has closed the sockets; None without brokers.

There is more than one only if a signal handler forks during a fork.
"""


def watch(broker: Forkable) -> None:
    """Registers a broker, so that every forked child closes its copies of the broker's sockets. Keeps no reference."""
    _brokers.add(broker)


@contextlib.contextmanager
def no_fork() -> Iterator[None]:
    """Waits until a fork of another thread is complete, and blocks ``os.fork`` in all other threads during the block.

    A broker binds its port in such a block, for two reasons. The child of a fork in progress may still hold the old
    socket. A fork after the bind, but before ``ports`` returns the new port, would leave a copy open in the child.
    """
    with _one_fork:
        yield


def _before_fork() -> None:
    _one_fork.acquire()
    pipe = None
    if _brokers:
        with contextlib.suppress(OSError):  # no free descriptor: the parent then does not wait for the child
            pipe = os.pipe()
    _pipes.append(pipe)


def _after_fork_in_parent() -> None:
    """Waits until the child has closed its copies: the broker could otherwise not bind a port that the child holds."""
    try:
        pipe = _pipes.pop()
        if pipe is not None:
            read, write = pipe
            os.close(write)
            os.read(read, 1)  # returns when the child closes its end or exits; at once if the fork failed
            os.close(read)
    finally:
        _one_fork.release()


def _after_fork_in_child() -> None:
    global _one_fork
    _one_fork = threading.RLock()
    brokers = list(_brokers)
    _brokers.clear()
    _of_parents.extend(brokers)
    ports = set[int]().union(*(broker.ports() for broker in brokers))
    try:
        if ports:
            _close_sockets_on(ports)
    finally:
        for pipe in _pipes:
            for descriptor in pipe or ():
                os.close(descriptor)
        _pipes.clear()
    for broker in brokers:
        broker.forget()


def _close_sockets_on(ports: set[int]) -> None:
    """Replaces every TCP socket whose local port is one of ``ports`` by the null device.

    Uses the kernel's list of descriptors, not the event loop's: a fork may come after a connection was accepted and
    before the loop has registered it. Sockets of clients in this process have the port as their remote port, and stay.
    """
    null = os.open(os.devnull, os.O_RDWR)
    try:
        for name in os.listdir(DESCRIPTORS):
            if _is_bound_to(int(name), ports):
                os.dup2(null, int(name), inheritable=False)
    finally:
        os.close(null)


def _is_bound_to(descriptor: int, ports: set[int]) -> bool:
    try:
        if not stat.S_ISSOCK(os.fstat(descriptor).st_mode):
            return False
        one = socket.socket(fileno=descriptor)
    except OSError:
        return False  # the descriptor of os.listdir itself, or a kind of socket that Python doesn't know
    try:
        if one.family not in (socket.AF_INET, socket.AF_INET6) or one.type != socket.SOCK_STREAM:
            return False
        return one.getsockname()[1] in ports
    except OSError:
        return False  # macOS: the peer has reset the connection
    finally:
        one.detach()


os.register_at_fork(before=_before_fork, after_in_parent=_after_fork_in_parent, after_in_child=_after_fork_in_child)
