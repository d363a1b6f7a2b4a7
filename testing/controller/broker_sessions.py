"""The sessions of brokers, and what a heartbeat makes of a broker.

Pure. Owns: when each broker was heard of, how far it has applied the metadata, the offset that a controlled shutdown
waits for. Never does: reading a clock, writing records. Invariant: a broker that shuts down may stop only when it leads
nothing and every active broker knows that. Source: BrokerHeartbeatManager, BrokerHeartbeatTracker.
"""

from collections.abc import Collection, Iterable
from enum import Enum

from ...broker.metadata.image import BrokerRegistration
from ...protocol.messages.quorum import BrokerHeartbeatRequest

UNKNOWN_OFFSET = -1


class BrokerControlState(Enum):
    """What the controller makes of a broker."""

    FENCED = "fenced"
    UNFENCED = "unfenced"
    CONTROLLED_SHUTDOWN = "controlled shutdown"
    SHUTDOWN_NOW = "shutdown now"

    @property
    def is_fenced(self) -> bool:
        """Whether the broker may lead nothing and be in no ISR."""
        return self in (BrokerControlState.FENCED, BrokerControlState.SHUTDOWN_NOW)


class BrokerSessions:
    """The sessions that the active controller knows of. Times are milliseconds of a monotonic clock."""

    def __init__(self, timeout_ms: int) -> None:
        """``timeout_ms``: ``broker.session.timeout.ms``."""
        self.timeout_ms = timeout_ms
        self._contact_ms: dict[int, int] = {}
        self._applied: dict[int, int] = {}
        self._shutdown_offsets: dict[int, int] = {}

    def begin(self, broker_ids: Iterable[int], now_ms: int) -> None:
        """Gives brokers a fresh session: those that a new active controller finds, and each that registers."""
        for broker_id in broker_ids:
            self._contact_ms[broker_id] = now_ms
            self._shutdown_offsets.pop(broker_id, None)

    def touch(self, broker_id: int, applied_offset: int, now_ms: int) -> None:
        """A heartbeat has come; the broker's image holds everything up to ``applied_offset``."""
        self._contact_ms[broker_id] = now_ms
        self._applied[broker_id] = applied_offset

    def end(self, broker_id: int) -> None:
        """A broker was told that it may stop: its next start need not wait for the end of this session.

        Kafka's does. Nothing can come of it: this start of the broker serves nothing any more.
        """
        self._contact_ms.pop(broker_id, None)

    def is_valid(self, broker_id: int, now_ms: int) -> bool:
        """Whether a broker was heard of within the timeout."""
        contact_ms = self._contact_ms.get(broker_id)
        return contact_ms is not None and now_ms - contact_ms <= self.timeout_ms

    def expired(self, unfenced: Iterable[int], now_ms: int) -> list[int]:
        """Those of the unfenced brokers whose session has ended."""
        return [broker_id for broker_id in unfenced if not self.is_valid(broker_id, now_ms)]

    def extend(self, ms: int) -> None:
        """The controller itself did not run for so long: heartbeats may lie in its sockets."""
        for broker_id in self._contact_ms:
            self._contact_ms[broker_id] += ms

    def shutdown_began(self, broker_id: int, offset: int) -> None:
        """The records up to ``offset`` have moved what a broker led."""
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
        """What a heartbeat makes of a broker (``calculateNextBrokerState``).

        ``registered_at``: the offset of its last RegisterBroker record. ``leads``: whether it leads a partition.
        ``active``: the brokers that are unfenced and do not shut down.
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
        """How far every active broker has applied the metadata (``lowestActiveOffset``)."""
        return min((self._applied.get(one, UNKNOWN_OFFSET) for one in active), default=float("inf"))
