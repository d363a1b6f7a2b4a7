"""Binds the listeners before anything is served, so that ports chosen by the system are known at registration.

Owns: the bound sockets until the event loop takes them. Never does: accepting. Invariant: all addresses of one listener
have one port (localhost is bound for IPv4 and IPv6).
"""

import contextlib
import errno
import socket
from dataclasses import dataclass

from ..config.listeners import Listener

BACKLOG = 128
BIND_ATTEMPTS = 20
"""The number of attempts if a port chosen by the system is taken in the other address family."""


class BindError(Exception):
    """A listener can't be bound, or its address for clients is unknown. The text names it, the cause and a remedy."""


@dataclass(slots=True)
class BoundListener:
    """A listener with its sockets. ``port``: the bound port, even if the configured one is 0."""

    listener: Listener
    sockets: list[socket.socket]
    port: int

    def close(self) -> None:
        """Closes the sockets."""
        for one in self.sockets:
            one.close()


def bind(listener: Listener) -> BoundListener:
    """Binds one listener's addresses. Raises BindError."""
    for attempt in range(BIND_ATTEMPTS):
        try:
            sockets = _bind_all(listener)
        except OSError as error:
            last_chance = listener.port != 0 or attempt == BIND_ATTEMPTS - 1
            if error.errno == errno.EADDRINUSE and not last_chance:
                continue
            raise BindError(describe(listener, error)) from error
        return BoundListener(listener, sockets, sockets[0].getsockname()[1])
    raise AssertionError("unreachable")


def describe(listener: Listener, error: OSError) -> str:
    """Why a listener can't be bound, and what to do about it."""
    hints = {
        errno.EADDRINUSE: "another process has this port: stop it, or choose another one (0: any free one)",
        errno.EADDRNOTAVAIL: "this machine has no such address: use one of its own, or none for all interfaces",
        errno.EACCES: "this user may not bind the port: choose one above 1023",
    }
    hint = hints.get(error.errno or 0)
    if isinstance(error, socket.gaierror):
        hint = "the host name has no address here"
    return f"can't listen on {listener}: {error.strerror or error}" + (f" ({hint})" if hint else "")


def _bind_all(listener: Listener) -> list[socket.socket]:
    sockets: list[socket.socket] = []
    port = listener.port
    with contextlib.ExitStack() as undo:
        for family, address in _addresses(listener):
            one = socket.socket(family, socket.SOCK_STREAM)
            undo.callback(one.close)
            one.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            if family == socket.AF_INET6:
                one.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
            one.bind((address, port))
            # Listening reserves the port (after a bind alone, another process could still take it). Clients that
            # connect before we serve wait in the backlog.
            one.listen(BACKLOG)
            one.setblocking(False)
            port = one.getsockname()[1]
            sockets.append(one)
        undo.pop_all()
    return sockets


def _addresses(listener: Listener) -> list[tuple[socket.AddressFamily, str]]:
    """The addresses of a listener's host, IPv4 first; all interfaces if it has no host."""
    if listener.host == "":
        wildcard = [(socket.AF_INET, "0.0.0.0")]
        return [*wildcard, (socket.AF_INET6, "::")] if _has_ipv6() else wildcard
    found: dict[tuple[socket.AddressFamily, str], None] = {}
    for family, _, _, _, address in socket.getaddrinfo(listener.host, listener.port, type=socket.SOCK_STREAM):
        if family == socket.AF_INET or (family == socket.AF_INET6 and _has_ipv6()):
            found[family, str(address[0])] = None
    if listener.host == "localhost":
        found[socket.AF_INET, "127.0.0.1"] = None
        if _has_ipv6():
            found[socket.AF_INET6, "::1"] = None
    if not found:
        raise OSError(errno.EADDRNOTAVAIL, "no address of a family that this machine has")
    return sorted(found, key=lambda pair: pair[0] != socket.AF_INET)


def _has_ipv6() -> bool:
    """Whether the loopback address of IPv6 can be bound: containers are often without."""
    if not socket.has_ipv6:
        return False
    try:
        with socket.socket(socket.AF_INET6, socket.SOCK_STREAM) as probe:
            probe.bind(("::1", 0))
    except OSError:
        return False
    return True
