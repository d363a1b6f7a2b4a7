"""The sessions of brokers, and the state that a heartbeat puts a broker into.

Pure. Owns: for each broker the time of its last heartbeat, the metadata offset that it has applied, the offset that its
controlled shutdown waits for. Never does: reading a clock, writing records. Invariant: a broker in controlled shutdown
may stop only when it leads nothing and every active broker knows that. Source: BrokerHeartbeatManager,
BrokerHeartbeatTracker.
"""

from collections.abc import Collection, Iterable
from enum import Enum

from odradek.broker.metadata.image.image import BrokerRegistration
from odradek.protocol.messages.quorum import BrokerHeartbeatRequest

UNKNOWN_OFFSET = -1


class BrokerControlState(Enum):
    """The state of a broker, as the controller decides it."""

    FENCED = "fenced"
    UNFENCED = "unfenced"
    CONTROLLED_SHUTDOWN = "controlled shutdown"
    SHUTDOWN_NOW = "shutdown now"

    @property
    def is_fenced(self) -> bool:
        """Whether the broker is fenced: it may not lead partitions or be in an ISR."""
        return self in (BrokerControlState.FENCED, BrokerControlState.SHUTDOWN_NOW)


class BrokerSessions:
    """The sessions that the active controller keeps. Times are in ms of a monotonic clock."""

    def __init__(self, timeout_ms: int) -> None:
        """``timeout_ms``: ``broker.session.timeout.ms``."""
        self.timeout_ms = timeout_ms
        self._contact_ms: dict[int, int] = {}
        self._applied: dict[int, int] = {}
        self._shutdown_offsets: dict[int, int] = {}

    def begin(self, broker_ids: Iterable[int], now_ms: int) -> None:
        """Begins new sessions: for all known brokers when the controller starts, for each broker when it registers."""
        for broker_id in broker_ids:
            self._contact_ms[broker_id] = now_ms
            self._shutdown_offsets.pop(broker_id, None)

    def touch(self, broker_id: int, applied_offset: int, now_ms: int) -> None:
        """Notes a heartbeat. ``applied_offset``: the broker has applied the metadata log up to this offset."""
        self._contact_ms[broker_id] = now_ms
        self._applied[broker_id] = applied_offset

    def end(self, broker_id: int) -> None:
        """Ends the session of a broker that was told to stop, so that its next start can register at once.

        In Kafka the next start waits until the session times out. Ending it early is safe: the old process serves
        nothing any more.
        """
        self._contact_ms.pop(broker_id, None)

    def is_valid(self, broker_id: int, now_ms: int) -> bool:
        """Whether a broker has sent a heartbeat within the session timeout."""
        contact_ms = self._contact_ms.get(broker_id)
        return contact_ms is not None and now_ms - contact_ms <= self.timeout_ms

    def expired(self, unfenced: Iterable[int], now_ms: int) -> list[int]:
        """The unfenced brokers whose session has timed out."""
        return [broker_id for broker_id in unfenced if not self.is_valid(broker_id, now_ms)]

    def extend(self, ms: int) -> None:
        """Extends all sessions by ``ms``, the time of a controller stall: heartbeats may wait unread in its sockets."""
        for broker_id in self._contact_ms:
            self._contact_ms[broker_id] += ms

    def shutdown_began(self, broker_id: int, offset: int) -> None:
        """Notes that the records up to ``offset`` have moved the leaderships of a broker that shuts down."""
        self._shutdown_offsets[broker_id] = offset

    def next_state(
        self,
        broker: BrokerRegistration,
        request: BrokerHeartbeatRequest,
        *,
        registered_at: int,
        leads: bool,
        active: Collection[int],
    ) -> BrokerControlState:
        """The state of a broker after a heartbeat (``calculateNextBrokerState``).

        ``registered_at``: the offset of its last RegisterBroker record. ``leads``: whether it leads a partition.
        ``active``: the brokers that are neither fenced nor in controlled shutdown.
        """
        if broker.fenced:
            if request.want_shut_down:
                return BrokerControlState.SHUTDOWN_NOW
            is_caught_up = request.current_metadata_offset >= registered_at
            may_serve = is_caught_up and not request.want_fence
            return BrokerControlState.UNFENCED if may_serve else BrokerControlState.FENCED
        if broker.in_controlled_shutdown:
            is_known = self._shutdown_offsets.get(broker.broker_id, UNKNOWN_OFFSET) <= self._lowest_applied(active)
            return BrokerControlState.CONTROLLED_SHUTDOWN if leads or not is_known else BrokerControlState.SHUTDOWN_NOW
        if request.want_shut_down:
            is_needed = leads and not request.want_fence
            return BrokerControlState.CONTROLLED_SHUTDOWN if is_needed else BrokerControlState.SHUTDOWN_NOW
        return BrokerControlState.FENCED if request.want_fence else BrokerControlState.UNFENCED

    def _lowest_applied(self, active: Collection[int]) -> float:
        """The metadata offset that all active brokers have applied (``lowestActiveOffset``); infinite without any."""
        return min((self._applied.get(broker_id, UNKNOWN_OFFSET) for broker_id in active), default=float("inf"))
