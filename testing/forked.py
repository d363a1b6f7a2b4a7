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
    """A broker of this process."""

    def ports(self) -> set[int]:
        """The TCP ports that it listens on."""

    def forget(self) -> None:
        """Called in a forked child: the broker is the parent's."""


_brokers: WeakSet[Forkable] = WeakSet()
_of_parents: list[Forkable] = []
"""In a forked child, the parent's brokers: kept, because an event loop's destructor would act on what is shared."""

_one_fork = threading.RLock()
"""Held while a thread forks: the child of another fork at that time would keep the pipe open. See :func:`no_fork`."""

_pipes: list[tuple[int, int] | None] = []
"""For each fork that is under way, a pipe that the child closes when it has closed the sockets; None without brokers.

More than one only if a signal handler forks.
"""


def watch(broker: Forkable) -> None:
    """Has every forked child let go of a broker's sockets, as long as the broker exists."""
    _brokers.add(broker)


@contextlib.contextmanager
def no_fork() -> Iterator[None]:
    """Waits for the fork that another thread has begun, and lets no thread of Python's fork inside the block.

    A broker binds its port inside: the child of a fork under way may still have the old socket, and a fork between the
    binding and the first call of ``ports`` would copy a socket that its child does not know.
    """
    with _one_fork:
        yield


def _before_fork() -> None:
    _one_fork.acquire()
    pipe = None
    if _brokers:
        with contextlib.suppress(OSError):  # no descriptor is left: the parent does not wait
            pipe = os.pipe()
    _pipes.append(pipe)


def _after_fork_in_parent() -> None:
    """Waits for the child: on a busy machine the broker would otherwise try to bind a port that the child still has."""
    try:
        pipe = _pipes.pop()
        if pipe is not None:
            read, write = pipe
            os.close(write)
            os.read(read, 1)  # ends when the child closes its copy or ends, and at once if the fork failed
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
    """Replaces every TCP socket whose own port is one of ``ports`` by the null device.

    The kernel's list counts, not the event loop's: a fork may happen between the accepting of a connection and the
    loop's first event for it. Clients of the broker in this process have the port as their peer's, and keep theirs.
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
        return False  # the descriptor of the listing itself, or a kind of socket that Python doesn't know
    try:
        if one.family not in (socket.AF_INET, socket.AF_INET6) or one.type != socket.SOCK_STREAM:
            return False
        return one.getsockname()[1] in ports
    except OSError:
        return False  # macOS: the peer has reset the connection
    finally:
        one.detach()


os.register_at_fork(before=_before_fork, after_in_parent=_after_fork_in_parent, after_in_child=_after_fork_in_child)
