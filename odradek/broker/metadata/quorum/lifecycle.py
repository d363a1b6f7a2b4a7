"""The life of a broker in a cluster: registration, heartbeats, fencing, controlled shutdown.

    lifecycle.next(now_ms)        -> Register, Heartbeat, Wait until something is due, or EndBroker
    lifecycle.registered(...)     and the other answers and events

Pure. Owns: the state, the broker epoch, when the next request is due. Never does: I/O, reading a clock. Invariants: no
heartbeat goes out before a registration was accepted; the broker asks to be unfenced only after the metadata was caught
up and its partitions are served; directories that failed stay in every heartbeat. Source: BrokerLifecycleManager.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from odradek.protocol.errors import ErrorCode, error_name
from odradek.protocol.messages.quorum import (
    BrokerHeartbeatRequest,
    BrokerHeartbeatResponse,
    BrokerRegistrationRequest,
    BrokerRegistrationResponse,
)
from odradek.storage.files.meta_properties import uuid_text

from ..image.image import BrokerState, Endpoint
from .channel import described

BUSY_DELAY_MS = 50
"""The pause between heartbeats while a change of state is near, unless a heartbeat has news. Kafka's brokers send the
next one at once; each costs the controller 6 ms."""


@dataclass(frozen=True, slots=True)
class Registrant:
    """What a broker registers with. ``previous_epoch``: the broker epoch in the markers of a clean stop, else -1."""

    node_id: int
    cluster_id: str
    incarnation_id: bytes
    endpoints: Sequence[Endpoint]
    features: Mapping[str, tuple[int, int]]
    rack: str | None
    directory_ids: Sequence[bytes]
    previous_epoch: int


class Register(NamedTuple):
    """Send this registration."""

    request: BrokerRegistrationRequest


class Heartbeat(NamedTuple):
    """Send this heartbeat."""

    request: BrokerHeartbeatRequest


class Wait(NamedTuple):
    """Nothing is due before ``until_ms``."""

    until_ms: int


class EndBroker(NamedTuple):
    """This broker must stop: it could not report a failed directory to the controllers in time."""

    reason: str


Action = Register | Heartbeat | Wait | EndBroker


class Lifecycle:
    """The registration, heartbeats and controlled shutdown of one broker process, as a state machine."""

    def __init__(
        self,
        registrant: Registrant,
        *,
        heartbeat_interval_ms: int,
        shutdown_timeout_ms: int,
        directory_failure_timeout_ms: int,
    ) -> None:
        """``heartbeat_interval_ms``: ``broker.heartbeat.interval.ms``. ``shutdown_timeout_ms``: how long a controlled
        shutdown may take before the broker stops without it. ``directory_failure_timeout_ms``:
        ``log.dir.failure.timeout.ms``."""
        self.state = BrokerState.STARTING
        self.broker_epoch = -1
        self.is_fenced = True
        self.is_shutdown_granted = False
        """Whether the controllers have moved everything that this broker led."""
        self.problem: str | None = None
        """Why the controllers refused the last registration; None once one is accepted."""
        self.fatal: str | None = None
        """Why this broker can never be registered as it is configured, None if it may be."""
        self._registrant = registrant
        self._interval_ms = heartbeat_interval_ms
        self._shutdown_timeout_ms = shutdown_timeout_ms
        self._due_ms = 0
        self._applied_offset = -1
        self._is_caught_up = False
        self._is_ready = False
        self._shutdown_until_ms: int | None = None
        self._directory_failure_timeout_ms = directory_failure_timeout_ms
        self._offline: dict[bytes, int | None] = {}
        """Failed directory -> the deadline for reporting it to the controllers, in ms; None once it is reported."""
        self._must_register_again = False
        self._asked_to_be_unfenced = False
        """Whether the last heartbeat asked to be unfenced."""
        self._reported: tuple[bytes, ...] = ()
        """The failed directories in the last heartbeat."""
        self._cordoned: Sequence[bytes] = ()

    # Events ------------------------------------------------------------------

    def applied(self, offset: int) -> None:
        """Notes that the metadata image holds everything up to ``offset``."""
        self._applied_offset = offset
        self._look_whether_caught_up()

    def _look_whether_caught_up(self) -> None:
        """Notes that the broker is caught up once the image holds its registration, whose offset is the broker epoch.

        The controllers use the same condition, so no heartbeat has to ask for it, and none is in flight when the
        partitions are served.
        """
        if self.state is BrokerState.RECOVERY and not self._is_caught_up and self._applied_offset >= self.broker_epoch:
            self._is_caught_up = True
            if self._is_ready:
                self._due_ms = 0

    def controller_found(self) -> None:
        """An active controller was found, after a time without one: the registration is due at once."""
        if self.state is BrokerState.STARTING and self.problem is None:
            self._due_ms = 0

    def ready_to_unfence(self) -> None:
        """Lets the next heartbeat ask to be unfenced, because all partitions of this broker are served."""
        self._is_ready = True
        self._due_ms = 0

    def directory_failed(self, directory_id: bytes, now_ms: int) -> None:
        """Notes that a log directory is offline. The next heartbeat goes out at once and reports it."""
        if directory_id not in self._offline:
            self._offline[directory_id] = now_ms + self._directory_failure_timeout_ms
            self._due_ms = 0

    def cordon(self, directory_ids: Sequence[bytes]) -> None:
        """Notes the directories that take no new partitions (KIP-1066). The next heartbeat reports them."""
        if list(directory_ids) != list(self._cordoned):
            self._cordoned = list(directory_ids)
            self._due_ms = 0

    def register_again(self) -> None:
        """Registers again, because metadata.version was raised and the registration record can hold more now."""
        if self.state in (BrokerState.RECOVERY, BrokerState.RUNNING):
            self._must_register_again = True
            self._due_ms = 0

    def begin_shutdown(self, now_ms: int) -> None:
        """Asks the controllers to move what this broker leads. Before a registration, shuts down at once."""
        if self.state in (BrokerState.RECOVERY, BrokerState.RUNNING):
            self.state = BrokerState.PENDING_CONTROLLED_SHUTDOWN
            self._shutdown_until_ms = now_ms + self._shutdown_timeout_ms
            self._due_ms = 0
        elif self.state is BrokerState.STARTING:
            self.state = BrokerState.SHUTTING_DOWN

    # Requests ----------------------------------------------------------------

    def next(self, now_ms: int) -> Action:
        """The action that is due now."""
        if self._shutdown_until_ms is not None and now_ms >= self._shutdown_until_ms:
            self.state = BrokerState.SHUTTING_DOWN
        if self.state in (BrokerState.RECOVERY, BrokerState.RUNNING):
            for directory_id, until_ms in self._offline.items():
                if until_ms is not None and now_ms >= until_ms:
                    return EndBroker(_unreported(directory_id, self._directory_failure_timeout_ms))
        if now_ms < self._due_ms:
            return Wait(self._due_ms)
        if self.state is BrokerState.STARTING or self._must_register_again:
            return Register(self._registration())
        return Heartbeat(self._heartbeat())

    def _registration(self) -> BrokerRegistrationRequest:
        own = self._registrant
        return BrokerRegistrationRequest(
            broker_id=own.node_id,
            cluster_id=own.cluster_id,
            incarnation_id=own.incarnation_id,
            listeners=[
                BrokerRegistrationRequest.Listener(
                    endpoint.name, endpoint.host, endpoint.port, endpoint.security_protocol
                )
                for endpoint in own.endpoints
            ],
            features=[
                BrokerRegistrationRequest.Feature(name, lowest, highest)
                for name, (lowest, highest) in sorted(own.features.items())
            ],
            rack=own.rack,
            log_dirs=sorted(own.directory_ids),
            previous_broker_epoch=own.previous_epoch,
        )

    def _heartbeat(self) -> BrokerHeartbeatRequest:
        is_stopping = self.state is BrokerState.PENDING_CONTROLLED_SHUTDOWN
        self._reported = tuple(self._offline)
        self._asked_to_be_unfenced = self._may_be_unfenced
        return BrokerHeartbeatRequest(
            broker_id=self._registrant.node_id,
            broker_epoch=self.broker_epoch,
            current_metadata_offset=self._applied_offset,
            want_fence=not self._may_be_unfenced and not is_stopping,
            want_shut_down=is_stopping,
            offline_log_dirs=list(self._reported),
            cordoned_log_dirs=list(self._cordoned) if self._is_caught_up else None,
        )

    @property
    def _may_be_unfenced(self) -> bool:
        """Whether a heartbeat may ask to be unfenced.

        A starting broker first reports its failed directories in another heartbeat. If one heartbeat did both, the
        controller would elect the broker for the partitions in those directories, too
        (ReplicationControlManager.processBrokerHeartbeat).
        """
        is_reported = self.state is not BrokerState.RECOVERY or all(
            until_ms is None for until_ms in self._offline.values()
        )
        return self._is_caught_up and self._is_ready and is_reported

    def registered(self, response: BrokerRegistrationResponse, now_ms: int) -> None:
        """Takes the answer to a registration."""
        code = response.error_code
        self._must_register_again = False  # if it was refused, heartbeats matter more
        if not code:
            self.broker_epoch = response.broker_epoch
            self.problem = None
            self._due_ms = now_ms
            if self.state is BrokerState.STARTING:
                self.state = BrokerState.RECOVERY
                # Before the registration is applied, a heartbeat has no news, and the next one would have to wait for
                # its answer, which comes only when the controller has written its records. A fenced broker has no
                # session that could end.
                self._due_ms += self._interval_ms
                self._look_whether_caught_up()  # the record may have come before this answer
            return
        self._due_ms = now_ms + self._interval_ms
        self.problem = _refusal(code, self._registrant)
        if self.state is BrokerState.STARTING and code in (
            ErrorCode.INCONSISTENT_CLUSTER_ID,
            ErrorCode.UNSUPPORTED_VERSION,
        ):
            self.fatal = self.problem

    def heartbeat_answered(self, response: BrokerHeartbeatResponse, now_ms: int) -> bool:
        """Takes the answer to a heartbeat. Returns False if the controllers no longer know this broker or its epoch."""
        if response.error_code:
            self._due_ms = now_ms + self._interval_ms
            return response.error_code != ErrorCode.STALE_BROKER_EPOCH
        self._offline.update(dict.fromkeys(self._reported))
        self.is_fenced = response.is_fenced
        self._is_caught_up = self._is_caught_up or response.is_caught_up
        if self.state is BrokerState.RECOVERY and self._is_caught_up and self._is_ready and not response.is_fenced:
            self.state = BrokerState.RUNNING
        if self.state is BrokerState.PENDING_CONTROLLED_SHUTDOWN and response.should_shut_down:
            self.state = BrokerState.SHUTTING_DOWN
            self.is_shutdown_granted = True
        is_waiting_for_logs = self._is_caught_up and not self._is_ready
        is_busy = self.state is not BrokerState.RUNNING and not is_waiting_for_logs
        self._due_ms = now_ms + (min(BUSY_DELAY_MS, self._interval_ms) if is_busy else self._interval_ms)
        has_news = self.state is BrokerState.RECOVERY and self._may_be_unfenced and not self._asked_to_be_unfenced
        if has_news or len(self._reported) < len(self._offline):  # one failed while that heartbeat was in flight
            self._due_ms = now_ms
        return True

    def unanswered(self, now_ms: int, retry_ms: int) -> None:
        """No controller has answered; the next attempt is due after ``retry_ms``."""
        self._due_ms = now_ms + retry_ms


def _unreported(directory_id: bytes, timeout_ms: int) -> str:
    """``BrokerLifecycleManager.OfflineDirBrokerFailureEvent``."""
    return (
        f"Shutting down because no controller could be told within log.dir.failure.timeout.ms ({timeout_ms} ms) that"
        f" the log directory with directory.id {uuid_text(directory_id)} has failed: they would go on naming this"
        " broker as the leader of its partitions. Start it again once the controllers can be reached"
    )


def _refusal(code: int, own: Registrant) -> str:
    name = error_name(code)
    if code == ErrorCode.DUPLICATE_BROKER_REGISTRATION:
        return (
            f"{name}: another broker is registered with node.id {own.node_id}. If that is this broker before a kill or"
            " a restart, its session ends within broker.session.timeout.ms (9 s by default); otherwise give this broker"
            " another node.id"
        )
    if code == ErrorCode.INCONSISTENT_CLUSTER_ID:
        return (
            f"{name}: the controllers belong to another cluster than this broker's directories (cluster.id"
            f" {own.cluster_id} in meta.properties)"
        )
    if code == ErrorCode.UNSUPPORTED_VERSION:
        ranges = ", ".join(f"{name} {low} to {high}" for name, (low, high) in sorted(own.features.items()))
        return (
            f"{name}: the cluster has finalised a feature level that this broker does not support. It supports"
            f" {ranges}."
            " Lower the others, for example: kafka-features.sh --bootstrap-controller HOST:PORT downgrade"
            " --feature NAME=LEVEL"
        )
    return described(code)
