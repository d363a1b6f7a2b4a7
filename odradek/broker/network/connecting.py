"""Makes a broker's connections, with the limits of its configuration.

Owns: the choice of the kind of connection. Never does: accepting one. Source: ``SocketServer``.
"""

import functools
from collections.abc import Callable
from typing import TYPE_CHECKING

from odradek.protocol.common.lazy_imports import lazy_imports

from ..config.server_config import ServerConfig
from ..timers.patient_timers import PatientTimers
from ..timers.slices import Slices
from .connection import Authentication, Connection, ServeFrame
from .connection_quotas import ConnectionQuotas
from .connections import Connections
from .unauthenticated import BYTES_KEY, CHECK_MS, MAX_KEY, TIMEOUT_KEY, Unauthenticated, all_connections

with lazy_imports:
    from . import queued_requests

if TYPE_CHECKING:
    from .waiting import Waiting

IDLE_CHECK_MS = 5_000
"""The interval of checks for idle and slow connections."""


def connections_for(
    config: ServerConfig,
    most: int,
    now_ms: Callable[[], int],
    waiting: "Waiting | None",
    closed: Callable[[int], None],
) -> Connections:
    """The registry of a broker's connections.

    ``most``: the largest number of connections of all kinds that the limit of open files allows. ``now_ms``: a
    monotonic clock. ``waiting``, ``closed``: as for :class:`Connections`.
    """
    quotas = ConnectionQuotas()
    unauthenticated = None
    if any(protocol != "PLAINTEXT" for protocol in config.protocols):
        unauthenticated = Unauthenticated(
            timeout_ms=config.get_int(TIMEOUT_KEY),
            max_connections=config.get_int(MAX_KEY),
            max_bytes=config.get_int(BYTES_KEY),
            share_of=all_connections(quotas, most),
            now_ms=now_ms,
        )
    return Connections(
        max_request_bytes=config.get_int("socket.request.max.bytes"),
        max_idle_ms=config.get_int("connections.max.idle.ms"),
        now_ms=now_ms,
        quotas=quotas,
        unauthenticated=unauthenticated,
        waiting=waiting,
        closed=closed,
    )


def connection_factory(
    config: ServerConfig,
    connections: Connections,
    serve: ServeFrame,
    slices: Slices,
    now_ms: Callable[[], int],
    timers: PatientTimers,
) -> Callable[[str, Authentication | None], Connection]:
    """Returns the function that makes a listener's connections, given its name and how they authenticate (None: they
    don't). The connections count queued bytes if queued.max.request.bytes is set.
    """
    queued_max_bytes = config.get_int("queued.max.request.bytes")
    if queued_max_bytes <= 0:
        return functools.partial(Connection, connections, serve, slices)
    queue = queued_requests.QueuedRequests(queued_max_bytes, serve, slices, now_ms)
    timers.every(IDLE_CHECK_MS, queue.close_slow)
    return functools.partial(queued_requests.MeteredConnection, connections, queue)


def close_idle_connections(connections: Connections, slices: Slices, timers: PatientTimers) -> None:
    """Closes idle connections in slices every IDLE_CHECK_MS, unless ``connections.max.idle.ms`` is -1, and those that
    authenticate too late."""

    def close() -> None:
        slices.start_background(connections.close_idle(), "the closing of idle connections")

    if connections.closes_idle:
        timers.every(IDLE_CHECK_MS, close)
    if connections.unauthenticated is not None:
        timers.every(CHECK_MS, connections.unauthenticated.close_late)
