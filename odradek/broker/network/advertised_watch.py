"""Logs which clients reach the broker, get its advertised address, and never come there.

Such a client hangs, and says only that a broker is down or that metadata did not arrive: the most frequent mistake with
Kafka. It asks for metadata again and again, on the connection by which it came, and sends nothing else.

Shell. Owns: what each address of clients has sent. Never does: closing connections, resolving names. Invariants: one
line for an address; an address from which anything but questions for metadata came is never logged; none is logged
where the advertised address is the one by which it came; at most MOST_HOSTS addresses are kept, the latest ones.
"""

import logging
from collections import OrderedDict
from collections.abc import Callable, Iterable

from odradek.protocol.common.steps import Steps

from ..timers.log_lines import quoted
from .connection import UNKNOWN_SOFTWARE, Connection

logger = logging.getLogger(__name__)

LONG_MS = 30_000
"""A client that has only asked for metadata for this time is logged."""
MOST_HOSTS = 1_000
CONNECTIONS_A_STEP = 256
LOCAL = frozenset({"localhost", "127.0.0.1", "::1"})

AdvertisedAt = Callable[[str], tuple[str, int] | None]
"""The host and port that clients of a listener get; None if the listener is not advertised."""


class AdvertisedWatch:
    """Checks all connections at each call of :meth:`log_changes`."""

    def __init__(self, advertised_at: AdvertisedAt) -> None:
        self._advertised_at = advertised_at
        self._asking_since: OrderedDict[str, int | None] = OrderedDict()
        """Address of clients -> when it asked for metadata first. None: it has come, or is logged."""

    def log_changes(self, connections: Iterable[Connection], now_ms: int) -> Steps[None]:
        """Logs, in steps, which clients do not come. ``now_ms``: monotonic."""
        asking: dict[str, Connection] = {}
        for count, connection in enumerate(connections, 1):
            if not count % CONNECTIONS_A_STEP:
                yield
            if connection.has_worked:
                self._keep(connection.client_host, None)
            elif connection.sent and self._asking_since.get(connection.client_host, now_ms) is not None:
                asking[connection.client_host] = connection
        for host, connection in asking.items():
            since_ms = self._asking_since.get(host, now_ms)
            if since_ms is None or not self._is_elsewhere(connection):
                continue
            is_long = now_ms - since_ms >= LONG_MS
            if is_long:
                self._log(connection, (now_ms - since_ms) // 1000)
            self._keep(host, None if is_long else since_ms)

    def _keep(self, host: str, since_ms: int | None) -> None:
        self._asking_since[host] = since_ms
        self._asking_since.move_to_end(host)
        if len(self._asking_since) > MOST_HOSTS:
            self._asking_since.popitem(last=False)

    def _is_elsewhere(self, connection: Connection) -> bool:
        """Whether the advertised address is another one than that by which the client came."""
        advertised, came_to = self._advertised_at(connection.listener_name), connection.came_to
        if advertised is None or came_to is None:
            return False
        hosts = {advertised[0], came_to[0]}
        return advertised[1] != came_to[1] or (len(hosts) > 1 and not hosts <= LOCAL)

    def _log(self, connection: Connection, seconds: int) -> None:
        host, port = self._advertised_at(connection.listener_name) or ("", 0)
        name, version = connection.software
        library = "" if connection.software == UNKNOWN_SOFTWARE else f", library {quoted(name)} {quoted(version)}"
        logger.warning(
            "a client at %s (client.id %s%s) asks the listener %s for metadata, and has sent nothing else for %d s. It "
            "was told to connect to %s:%d. If it can't reach that, set advertised.listeners to an address that it "
            "reaches; `odradek doctor` shows there what it gets",
            connection.client_host,
            quoted(connection.client_id or ""),
            library,
            connection.listener_name,
            seconds,
            host,
            port,
        )
