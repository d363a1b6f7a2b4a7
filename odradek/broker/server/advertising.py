"""The addresses that clients get for each listener: its own host and port, or this machine's name and the bound port.

Owns: the name that clients get if none is configured. Never does: opening a socket. Invariant: that name resolves on
this machine. Otherwise the broker does not start, since clients would hang. Source:
``ListenerInfo.withWildcardHostnamesResolved``, Java's ``InetAddress.getLocalHost().getCanonicalHostName()``.
"""

import socket
from collections.abc import Sequence

from odradek.protocol.common.lazy_imports import lazy_imports

from ..config.listeners import Listener
from ..metadata.image.image import Endpoint
from ..network.listening import BindError, BoundListener
from .broker import Broker

with lazy_imports:
    from ..network import advertised_watch

LOOK_MS = 10_000
"""The interval of checks for clients that do not come to an advertised address."""


def endpoints(advertised: Sequence[Listener], bound: Sequence[BoundListener]) -> list[Endpoint]:
    """The endpoint of each advertised listener, in their order. Raises BindError if this machine has no name."""
    ports = {socket.listener.name: socket.port for socket in bound}  # as in Kafka, a listener need not be advertised
    return [
        Endpoint(listener.name, listener.host or _machine_name_for(listener), listener.port or ports[listener.name])
        for listener in advertised
    ]


def _machine_name_for(listener: Listener) -> str:
    try:
        return canonical_host_name()
    except socket.gaierror as error:
        port = listener.port or 9092
        raise BindError(
            f"clients of the listener {listener} would get this machine's name, {socket.gethostname()}, which "
            f"has no address here ({error.strerror}): set advertised.listeners to what they can reach, for example "
            f"{listener.name}://localhost:{port}, or listen on one address, {listener.name}://127.0.0.1:{port}"
        ) from error


def canonical_host_name() -> str:
    """This machine's full name from its resolver, or its address if that name does not resolve back to it.

    Raises socket.gaierror if the machine's own name has no address.
    """
    address = _addresses(socket.gethostname())[0]
    try:
        name, _ = socket.getnameinfo((address, 0), socket.NI_NAMEREQD)
        return name if address in _addresses(name) else address
    except socket.gaierror:
        return address


def _addresses(name: str) -> list[str]:
    """The addresses of a name, those of IPv4 first, as Java prefers them. Raises socket.gaierror."""
    found = socket.getaddrinfo(name, None, type=socket.SOCK_STREAM)
    return [str(address[0]) for family, *_, address in sorted(found, key=lambda info: info[0] != socket.AF_INET)]


def watch_clients(broker: Broker) -> None:
    """Looks from time to time for clients that do not come to the advertised address of their listener."""
    watch: advertised_watch.AdvertisedWatch | None = None
    metadata = broker.metadata

    def advertised_at(listener_name: str) -> tuple[str, int] | None:
        endpoint = metadata.image.brokers[metadata.node_id].endpoints.get(listener_name)
        return None if endpoint is None else (endpoint.host, endpoint.port)

    def look() -> None:
        nonlocal watch
        watch = watch or advertised_watch.AdvertisedWatch(advertised_at)
        connections = [*broker.connections.ended_asking(), *broker.connections]
        changes = watch.log_changes(connections, broker.timers.now_ms())
        broker.slices.start_background(changes, "the check for clients that do not come")

    broker.timers.every(LOOK_MS, look)
