"""Wakes clients of librdkafka that stand still in a transaction after their broker was restarted.

Shell. Owns: one timer for each such transaction. Never does: touching a transaction. Invariant: a connection is closed
only if it was silent for SILENT_MS after its AddOffsetsToTxn was answered. Source: our own.

librdkafka 2.16 retires its connection to a broker that was lost, but keeps it as that of the group's coordinator. Then
``send_offsets_to_transaction`` sends AddOffsetsToTxn, and waits for the retired connection for ever. Another connection
that goes down makes it look for the coordinator again (confluentinc/librdkafka issue 5511). A record that was not
acknowledged before the restart is sent again meanwhile: AddPartitionsToTxn may follow on the same connection.
"""

import logging
import re
from collections.abc import Callable

from ..metrics.counts import TransactionCounts
from ..network.connections import Connections
from ..timers.timers import Timer, Timers

logger = logging.getLogger(__name__)

SILENT_MS = 1_500
"""How long a client may be silent between AddOffsetsToTxn and TxnOffsetCommit. It takes milliseconds otherwise."""
AFTER_START_MS = 600_000
"""How long after a start clients are watched, if no other broker can have lost them."""
SOFTWARE = re.compile(r"librdkafka|confluent-kafka-.*|confluent-.*-client")
LIBRARY = re.compile(r"(?:.*librdkafka-)?v?(\d+)\.(\d+)")
SINCE = (2, 16)
"""The first version with the defect."""


class StalledClients:
    """The transactions whose client has not committed offsets yet."""

    def __init__(
        self,
        timers: Timers,
        now_ms: Callable[[], int],
        connections: Connections,
        counts: TransactionCounts,
        *,
        is_enabled: bool,
        watches_always: bool,
    ) -> None:
        """``now_ms``: the clock of the connections, in ms. ``counts`` gets the closed connections. ``watches_always``:
        in a cluster, where the coordinator of a group may move at any time."""
        self._timers = timers
        self._now_ms = now_ms
        self._connections = connections
        self._is_enabled = is_enabled
        self._until_ms = None if watches_always else now_ms() + AFTER_START_MS
        self._waiting: dict[str, Timer] = {}
        self._counts = counts

    def offsets_added(self, transactional_id: str, connection_id: int) -> None:
        """AddOffsetsToTxn was answered without an error, over a connection: TxnOffsetCommit follows."""
        if not self._is_enabled or (self._until_ms is not None and self._now_ms() > self._until_ms):
            return
        connection = self._connections.find(connection_id)
        if connection is None or not has_defect(*connection.software):
            return
        self.went_on(transactional_id)
        heard_ms: float = self._now_ms()

        def look() -> None:
            nonlocal heard_ms
            del self._waiting[transactional_id]
            found = self._connections.find(connection_id)
            if found is None:
                return
            if found.last_used_ms > heard_ms:
                silent_ms = self._now_ms() - found.last_used_ms
                heard_ms = found.last_used_ms
                self._waiting[transactional_id] = self._timers.schedule(max(1, int(SILENT_MS - silent_ms)), look)
                return
            self._counts.nudges += 1
            logger.info(
                "closing the connection of %s:%d: %s %s stands still in transaction %r after a restart "
                "(librdkafka issue 5511); it goes on when it connects again",
                found.client_host,
                found.client_port,
                *found.software,
                transactional_id,
            )
            found.close()

        self._waiting[transactional_id] = self._timers.schedule(SILENT_MS, look)

    def went_on(self, transactional_id: str | None) -> None:
        """A later request of the producer has come."""
        timer = self._waiting.pop(transactional_id or "", None)
        if timer is not None:
            timer.cancel()


def has_defect(name: str, version: str) -> bool:
    """Whether a client with this name and version (KIP-511) may stand still."""
    if SOFTWARE.fullmatch(name) is None:
        return False
    found = LIBRARY.match(version)
    return found is not None and (int(found[1]), int(found[2])) >= SINCE
