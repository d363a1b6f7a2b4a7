"""What serves the connections of each listener, by its security protocol.

Owns: the choice. Never does: accepting, authenticating. Invariant: a connection of a listener that asks for
authentication counts as unauthenticated from its accept. Source: ``ChannelBuilders``.
"""

import functools
from collections.abc import Callable, Sequence
from socket import socket
from typing import TYPE_CHECKING

from ..config.listeners import Listener
from ..config.server_config import ServerConfig
from ..network.acceptor import ConnectionFactory
from ..network.connecting import limit_unauthenticated
from ..network.connection import Authentication, Connection
from ..network.connections import Connections
from ..network.listening import BoundListener
from ..timers.patient_timers import PatientTimers

if TYPE_CHECKING:
    from .tls_listeners import TlsListeners

Connect = Callable[[str, Authentication | None], Connection]
"""Makes a connection of a listener: its name, and how its clients authenticate (None: they don't)."""


def accepts_anyone(config: ServerConfig, listener: Listener) -> bool:
    """Whether a listener serves clients without asking them who they are."""
    if listener.protocol == "PLAINTEXT":
        return True
    if listener.protocol != "SSL":
        return False
    from .tls_listeners import asks_for_certificates  # a plain broker does not need it

    return not asks_for_certificates(config, listener)


class ListenerSecurity:
    """Makes the factories of connections."""

    def __init__(
        self,
        config: ServerConfig,
        connections: Connections,
        connect: Connect,
        now_ms: Callable[[], int],
        timers: PatientTimers,
        tls: "TlsListeners | None",
    ) -> None:
        """``connect`` makes a connection. ``now_ms``: a monotonic clock. ``tls``: of the listeners that have it."""
        self._tls = tls
        self._config = config
        self._connections = connections
        self._connect = connect
        self._now_ms = now_ms
        self._timers = timers

    def factories(self, bound: Sequence[BoundListener]) -> list[tuple[socket, ConnectionFactory]]:
        """The bound sockets, each with the factory of its connections."""
        made = []
        for one in bound:
            factory = self._factory(one)
            made += [(each, factory) for each in one.sockets]
        return made

    def _factory(self, bound: BoundListener) -> ConnectionFactory:
        listener = bound.listener
        if listener.protocol == "PLAINTEXT":
            return functools.partial(self._connect, listener.name, None)
        if self._connections.unauthenticated is None:
            limit_unauthenticated(self._config, self._connections, self._now_ms, self._timers)
        if listener.protocol == "SSL":
            assert self._tls is not None
            from ..network.tls_listener import HandshakeAuthentication  # a plain broker does not need it

            authentication = HandshakeAuthentication(self._config.get_int("socket.request.max.bytes"))
            return self._tls.factory(listener, functools.partial(self._connect, listener.name, authentication))
        raise AssertionError(f"{listener.protocol} is refused before")
