"""Binds the listeners before anything is served, so that ports chosen by the system are known at registration.

Owns: the bound sockets until the event loop takes them. Never does: accepting. Invariants: all addresses of one
listener have one port; ``0.0.0.0``, ``[::]``, no host and localhost listen on IPv4 and IPv6, as Java's sockets do,
unless another listener has the other family at that port. A socket takes one family only, so the address of an IPv4
client is never an IPv4-mapped one, for ACLs, quotas and limits. Source: ``ServerSocketChannel`` of a JVM with IPv6.
"""

import contextlib
import errno
import socket
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

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
        for opened in self.sockets:
            opened.close()


class BindAddress(NamedTuple):
    """An address to bind. ``scope_id``: the interface of a link-local IPv6 address (``fe80::1%eth0``), else 0."""

    family: socket.AddressFamily
    host: str
    scope_id: int = 0

    def at(self, port: int) -> tuple[str, int] | tuple[str, int, int, int]:
        """The address of a socket on this port."""
        return (self.host, port) if self.family == socket.AF_INET else (self.host, port, 0, self.scope_id)


class Literal(NamedTuple):
    """A host that is an address: its family and bytes."""

    family: socket.AddressFamily
    packed: bytes


IPV4_MAPPED = bytes(10) + b"\xff\xff"
"""The start of an IPv4-mapped IPv6 address."""
EVERY_IPV4 = BindAddress(socket.AF_INET, "0.0.0.0")
EVERY_IPV6 = BindAddress(socket.AF_INET6, "::")


def bind(listener: Listener, all_listeners: Sequence[Listener] = ()) -> BoundListener:
    """Binds one listener's addresses. ``all_listeners``: of this broker. Raises BindError."""
    for attempt in range(BIND_ATTEMPTS):
        try:
            sockets = _bind_all(listener, all_listeners)
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


def _bind_all(listener: Listener, all_listeners: Sequence[Listener]) -> list[socket.socket]:
    sockets: list[socket.socket] = []
    port = listener.port
    with contextlib.ExitStack() as undo:
        for address in _addresses(listener, all_listeners):
            one = socket.socket(address.family, socket.SOCK_STREAM)
            undo.callback(one.close)
            one.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            if address.family == socket.AF_INET6:
                one.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
            one.bind(address.at(port))
            # Listening reserves the port (after a bind alone, another process could still take it). Clients that
            # connect before we serve wait in the backlog.
            one.listen(BACKLOG)
            one.setblocking(False)
            port = one.getsockname()[1]
            sockets.append(one)
        undo.pop_all()
    return sockets


def _addresses(listener: Listener, all_listeners: Sequence[Listener]) -> list[BindAddress]:
    """The addresses of a listener's host, IPv4 first."""
    if _is_wildcard(listener.host):
        return _wildcard(listener, all_listeners)
    literal = _literal(listener.host)
    if literal is not None and literal.packed.startswith(IPV4_MAPPED):
        return [BindAddress(socket.AF_INET, socket.inet_ntoa(literal.packed[-4:]))]  # as Java's InetAddress
    found: dict[BindAddress, None] = {}
    for family, _, _, _, known in socket.getaddrinfo(listener.host, listener.port, type=socket.SOCK_STREAM):
        if family == socket.AF_INET:
            found[BindAddress(family, str(known[0]))] = None
        elif family == socket.AF_INET6 and _has_ipv6():
            found[BindAddress(family, str(known[0]).partition("%")[0], known[3] if len(known) == 4 else 0)] = None
    if listener.host == "localhost":
        found[BindAddress(socket.AF_INET, "127.0.0.1")] = None
        if _has_ipv6():
            found[BindAddress(socket.AF_INET6, "::1")] = None
    if not found:
        raise OSError(errno.EADDRNOTAVAIL, "no address of a family that this machine has")
    return sorted(found, key=lambda address: address.family != socket.AF_INET)


def _wildcard(listener: Listener, all_listeners: Sequence[Listener]) -> list[BindAddress]:
    """All interfaces of both families; of one, if the machine has no IPv6, or another listener has the other family."""
    if not _has_ipv6():
        return [EVERY_IPV4]
    others = [
        _literal(other.host) for other in all_listeners if other.port == listener.port != 0 and other is not listener
    ]
    taken = {other.family for other in others if other is not None}
    return [address for address in (EVERY_IPV4, EVERY_IPV6) if address.family not in taken]


def _literal(host: str) -> Literal | None:
    """The address that a host is, None for a name or no host. (``ipaddress`` would add 3 ms to a start.)"""
    for family in (socket.AF_INET, socket.AF_INET6):
        with contextlib.suppress(OSError):
            return Literal(family, socket.inet_pton(family, host.partition("%")[0]))
    return None


def _is_wildcard(host: str) -> bool:
    literal = _literal(host)
    return not host or (literal is not None and not any(literal.packed))


def wildcard_hosts(host: str) -> list[str]:
    """The hosts to listen on for a host of ``odradek.metrics.listener``: both wildcards for one of them."""
    if not _is_wildcard(host):
        return [host]
    return [EVERY_IPV4.host, EVERY_IPV6.host] if _has_ipv6() else [EVERY_IPV4.host]


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
