"""The leader's half of one partition: what its followers have, the in-sync replicas, and the high watermark.

    isr = InSyncReplicas(node_id, lag_max_ms, registration)
    isr.lead(image, end_offset, ...)                    this broker was elected, or the metadata has changed
    isr.fetched(replica_id, broker_epoch, ...)          a follower fetches from the end of its log
    isr.appended(end_offset, now_ms)                    the leader's log has grown
    isr.time_passed(end_offset, now_ms)                 proposes to remove lagging followers from the ISR
    isr.answered(proposal, outcome, ...)                the controllers have answered a proposal

After each call :attr:`InSyncReplicas.high_watermark` may be higher, and :attr:`InSyncReplicas.unsent` may hold a change
of the ISR to send. Pure. Owns: the state of the followers, the committed and the proposed ISR. Never does: I/O, reading
a clock. Invariants: the high watermark never falls, and does not pass the end of a replica in the maximal ISR (the
committed ISR and the proposed one together); at most one proposal is under way. Source: Partition.scala, Replica.scala,
PartitionState; KIP-497, KIP-841, KIP-903.
"""

from collections.abc import Callable, Iterator
from typing import NamedTuple

from odradek.protocol.common.holder import holder
from odradek.protocol.errors import ErrorCode, KafkaError

from ..metadata.image.image import (
    DIRECTORY_LOST,
    DIRECTORY_UNASSIGNED,
    BrokerRegistration,
    LeaderRecoveryState,
    PartitionImage,
)
from .replica_selector import ReplicaView

UNKNOWN_OFFSET = -1
NO_EPOCH = -1

_LEAVES_IT = frozenset({ErrorCode.OPERATION_NOT_ATTEMPTED, ErrorCode.INELIGIBLE_REPLICA})
"""Errors after which the committed ISR is unchanged: the proposal is dropped, and another one may follow."""
_METADATA_TELLS = frozenset(
    {
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
        ErrorCode.UNKNOWN_TOPIC_ID,
        ErrorCode.FENCED_LEADER_EPOCH,
        ErrorCode.INVALID_UPDATE_VERSION,
        ErrorCode.INVALID_REQUEST,
        ErrorCode.NEW_LEADER_ELECTED,
    }
)
"""Errors which show that the controllers have a later state. The proposal stays open until the metadata brings it."""


class Follower:
    """The state of one follower, as the leader knows it. Times are ms of a monotonic clock."""

    __slots__ = (
        "broker_epoch",
        "caught_up_ms",
        "directory_id",
        "end_offset",
        "last_fetch_ms",
        "leader_end_offset",
        "log_start_offset",
    )

    def __init__(self) -> None:
        self.directory_id = DIRECTORY_UNASSIGNED
        """The log directory of the replica, as the metadata has it."""
        self.end_offset = UNKNOWN_OFFSET
        self.log_start_offset = UNKNOWN_OFFSET
        self.broker_epoch = NO_EPOCH
        self.caught_up_ms = 0
        """When the follower last had all that the leader had."""
        self.last_fetch_ms = 0
        self.leader_end_offset = UNKNOWN_OFFSET
        """The end of the leader's log at the follower's last fetch."""

    def reset(self, now_ms: int, leader_end_offset: int, *, is_new_leader: bool, is_in_sync: bool) -> None:
        """Begins a leader epoch (``Replica.resetReplicaState``). A new leader knows nothing of its followers' logs."""
        if is_new_leader:
            self.end_offset = self.log_start_offset = self.leader_end_offset = UNKNOWN_OFFSET
            self.broker_epoch = NO_EPOCH
            self.last_fetch_ms = 0
        else:
            self.leader_end_offset = leader_end_offset
            self.last_fetch_ms = now_ms if is_in_sync else 0
        self.caught_up_ms = now_ms if is_in_sync else 0

    def fetched(
        self, offset: int, log_start_offset: int, leader_end_offset: int, broker_epoch: int, now_ms: int
    ) -> None:
        """Notes a fetch at ``offset``, the end of the follower's log (``Replica.updateFetchStateOrThrow``).

        A follower that has everything is caught up now. One that has all that the leader had at the follower's previous
        fetch was caught up at the time of that fetch.
        """
        if offset >= leader_end_offset:
            self.caught_up_ms = max(self.caught_up_ms, now_ms)
        elif offset >= self.leader_end_offset:
            self.caught_up_ms = max(self.caught_up_ms, self.last_fetch_ms)
        self.end_offset = offset
        self.log_start_offset = log_start_offset
        self.leader_end_offset = max(leader_end_offset, self.leader_end_offset)
        self.last_fetch_ms = now_ms
        self.broker_epoch = broker_epoch

    def is_caught_up(self, leader_end_offset: int, now_ms: int, lag_max_ms: int) -> bool:
        """Whether the follower has everything now, or was caught up within the last ``lag_max_ms``."""
        return self.end_offset == leader_end_offset or now_ms - self.caught_up_ms <= lag_max_ms


class Proposal(NamedTuple):
    """An ISR that the leader asks the controllers to commit. ``isr``: (broker id, broker epoch of its last fetch)."""

    leader_epoch: int
    partition_epoch: int
    isr: tuple[tuple[int, int], ...]
    recovery_state: LeaderRecoveryState = LeaderRecoveryState.RECOVERED

    @property
    def members(self) -> frozenset[int]:
        """The broker ids."""
        return frozenset(broker_id for broker_id, _ in self.isr)


@holder()
class Committed:
    """The state of the partition after the controllers have accepted a proposal."""

    leader_epoch: int
    partition_epoch: int
    isr: tuple[int, ...]
    recovery_state: LeaderRecoveryState = LeaderRecoveryState.RECOVERED


class InSyncReplicas:
    """One partition in this broker's leadership."""

    def __init__(self, node_id: int, lag_max_ms: int, registration: Callable[[int], BrokerRegistration | None]) -> None:
        """``lag_max_ms``: ``replica.lag.time.max.ms``. ``registration``: of a broker, in the current image."""
        self._node_id = node_id
        self._lag_max_ms = lag_max_ms
        self._registration = registration
        self.followers: dict[int, Follower] = {}
        self.isr: frozenset[int] = frozenset()
        """The committed ISR."""
        self.leader_epoch = NO_EPOCH
        self.partition_epoch = NO_EPOCH
        self.recovery_state = LeaderRecoveryState.RECOVERED
        self.epoch_start_offset = 0
        """The end of the log at the election."""
        self.high_watermark = 0
        self.min_isr = 1
        """``min.insync.replicas`` of the topic."""
        self.pending: Proposal | None = None
        """The proposal that the controllers have not decided yet."""
        self.unsent: Proposal | None = None
        """The same proposal as long as it has to be sent. The sender sets this to None."""

    @property
    def maximal_isr(self) -> frozenset[int]:
        """The committed ISR and the members of the pending proposal, which may have been accepted already."""
        return self.isr if self.pending is None else self.isr | self.pending.members

    @property
    def effective_min_isr(self) -> int:
        """``min.insync.replicas``, at most the number of replicas (``Partition.effectiveMinIsr``)."""
        return min(self.min_isr, len(self.followers) + 1)

    @property
    def is_under_min_isr(self) -> bool:
        """Whether too few replicas are in sync for acks=all; the high watermark stands still then (KIP-966)."""
        return len(self.isr) < self.effective_min_isr

    @property
    def are_offsets_settled(self) -> bool:
        """Whether the high watermark has reached the start of this leader epoch. Until then, ListOffsets for LATEST
        could return less than a former leader has returned (KIP-207)."""
        return self.high_watermark >= self.epoch_start_offset

    def lead(self, image: PartitionImage, end_offset: int, high_watermark: int, now_ms: int) -> None:
        """Takes the partition's state from the metadata: an election, or a change of replicas or ISR.

        ``high_watermark``: of the log. Does nothing if the partition epoch is not newer than the known one. Here Kafka
        differs: it takes the same state again, and forgets the proposal under way. If the controllers then accept that
        proposal, the high watermark can pass the end of an ISR member. Source: ``Partition.makeLeader``.
        """
        if image.partition_epoch <= self.partition_epoch:
            return
        is_new_leader = self.leader_epoch == NO_EPOCH
        is_new_epoch = image.leader_epoch > self.leader_epoch
        for gone in self.followers.keys() - set(image.replicas):
            del self.followers[gone]
        self.isr = frozenset(image.isr)
        self.partition_epoch = image.partition_epoch
        self.recovery_state = image.leader_recovery_state
        self.pending = self.unsent = None
        if is_new_epoch:
            self.leader_epoch = image.leader_epoch
            self.epoch_start_offset = end_offset
        for replica in image.replicas:
            if replica != self._node_id:
                is_new = replica not in self.followers
                follower = self.followers.setdefault(replica, Follower())
                follower.directory_id = image.directory_of(replica)
                if is_new_epoch or is_new:
                    follower.reset(
                        now_ms, end_offset, is_new_leader=is_new_leader or is_new, is_in_sync=replica in self.isr
                    )
        self.high_watermark = max(self.high_watermark, high_watermark)
        self._advance(end_offset, now_ms)

    def check_follower(self, replica_id: int, broker_epoch: int, leader_epoch: int) -> None:
        """Refuses a fetch whose sender is not a follower, or whose broker epoch is old. Raises KafkaError.

        UNKNOWN_LEADER_EPOCH: not a follower; the sender may know of a reassignment that this broker has not heard of.
        NOT_LEADER_OR_FOLLOWER: the broker epoch is older than the broker's registration; or the sender is not a
        follower and gives no leader epoch, such as a client that claims to be a broker (CVE-2018-1288). Kafka requires
        CLUSTER_ACTION instead, and accepts a broker epoch of -1.
        """
        if replica_id not in self.followers:
            raise KafkaError(ErrorCode.NOT_LEADER_OR_FOLLOWER if leader_epoch < 0 else ErrorCode.UNKNOWN_LEADER_EPOCH)
        registration = self._registration(replica_id)
        if registration is not None and broker_epoch < registration.epoch:
            raise KafkaError(ErrorCode.NOT_LEADER_OR_FOLLOWER)

    def fetched(
        self, replica_id: int, broker_epoch: int, offset: int, log_start_offset: int, end_offset: int, now_ms: int
    ) -> None:
        """Notes that a follower fetches at ``offset``, so it has everything below. See :meth:`check_follower`.

        May propose to add the follower to the ISR. ``end_offset``: of the leader's log.
        """
        follower = self.followers[replica_id]
        follower.fetched(offset, log_start_offset, end_offset, broker_epoch, now_ms)
        if self.pending is None and replica_id not in self.isr and self._may_join(replica_id, follower):
            self._propose(self.isr | {replica_id})
        self._advance(end_offset, now_ms)

    def appended(self, end_offset: int, now_ms: int) -> None:
        """Notes that the leader's log has grown. The high watermark follows at once if the leader is alone in the ISR.
        Otherwise it waits for followers.
        """
        self._advance(end_offset, now_ms)

    def time_passed(self, end_offset: int, now_ms: int) -> None:
        """Proposes to remove from the ISR the followers that have not caught up for ``replica.lag.time.max.ms``
        (``Partition.maybeShrinkIsr``).
        """
        if self.pending is not None:
            return
        lagging = frozenset(
            replica
            for replica in self.isr - {self._node_id}
            if not self.followers[replica].is_caught_up(end_offset, now_ms, self._lag_max_ms)
        )
        if lagging:
            self._propose(self.isr - lagging)

    def answered(self, proposal: Proposal, outcome: Committed | ErrorCode, end_offset: int, now_ms: int) -> None:
        """Takes the controllers' answer. An answer to another proposal than the pending one counts only if it commits a
        newer state.

        An error that is neither in _LEAVES_IT nor in _METADATA_TELLS makes the proposal :attr:`unsent` again, so that
        the sender retries it. Source: ``Partition.handleAlterPartitionUpdate``, ``handleAlterPartitionError``.
        """
        if isinstance(outcome, Committed):
            if outcome.leader_epoch != self.leader_epoch or outcome.partition_epoch < self.partition_epoch:
                return
            if outcome.partition_epoch == self.partition_epoch and proposal is not self.pending:
                return  # the metadata has brought it already, and another proposal may be under way since
            self.isr = frozenset(outcome.isr)
            self.partition_epoch = outcome.partition_epoch
            self.recovery_state = outcome.recovery_state
            self.pending = self.unsent = None
            self._advance(end_offset, now_ms)
        elif proposal is self.pending:
            if outcome in _LEAVES_IT:
                self.pending = self.unsent = None
            elif outcome not in _METADATA_TELLS:
                self.unsent = proposal

    def enough_in_sync(self) -> None:
        """Raises KafkaError NOT_ENOUGH_REPLICAS if too few replicas are in sync for acks=all."""
        if self.is_under_min_isr:
            raise KafkaError(
                ErrorCode.NOT_ENOUGH_REPLICAS,
                f"The size of the current ISR {sorted(self.isr)} is insufficient to satisfy the min.isr requirement of"
                f" {self.min_isr}",
            )

    def followers_with(self, offset: int) -> Iterator[ReplicaView]:
        """The followers in the committed ISR that a consumer can read from at this offset (KIP-392).

        Followers outside the ISR may lag for long, and a consumer that reads from one would lag as well.
        """
        for replica, follower in self.followers.items():
            if replica in self.isr and follower.log_start_offset <= offset <= follower.end_offset:
                yield ReplicaView(follower.end_offset, follower.caught_up_ms, replica)

    def low_watermark(self, log_start_offset: int) -> int:
        """The lowest log start offset of the leader and of the followers whose brokers are not fenced."""
        followers = self.followers.items()
        return min(
            [
                log_start_offset,
                *(follower.log_start_offset for replica, follower in followers if self._is_there(replica)),
            ]
        )

    def _is_there(self, replica: int) -> bool:
        registration = self._registration(replica)
        return registration is not None and not registration.fenced

    def _may_join(self, replica_id: int, follower: Follower) -> bool:
        """Whether a follower may be added to the ISR (``Partition.isFollowerInSync``, ``isReplicaIsrEligible``)."""
        end_offset = follower.end_offset
        return (
            end_offset >= self.high_watermark
            and end_offset >= self.epoch_start_offset
            and self._is_eligible(replica_id, follower)
        )

    def _is_eligible(self, replica_id: int, follower: Follower) -> bool:
        """Whether the follower can be in the ISR: its broker is registered, neither fenced nor shutting down, and has
        fetched since its last start, and its log directory has not failed.

        The last is ours. Kafka's leader waits for a replica in a failed directory until ``replica.lag.time.max.ms``
        have passed, and acknowledges no write meanwhile. A directory that is LOST is in use: its broker has handed over
        the leadership only.
        """
        registration = self._registration(replica_id)
        if registration is None or not registration.is_active or follower.broker_epoch != registration.epoch:
            return False
        directory_id = follower.directory_id
        return directory_id == DIRECTORY_LOST or registration.has_online_directory(directory_id)

    def _propose(self, members: frozenset[int]) -> None:
        epochs = {replica: self.followers[replica].broker_epoch for replica in members if replica != self._node_id}
        own = self._registration(self._node_id)
        epochs[self._node_id] = NO_EPOCH if own is None else own.epoch
        self.pending = self.unsent = Proposal(self.leader_epoch, self.partition_epoch, tuple(sorted(epochs.items())))

    def _advance(self, end_offset: int, now_ms: int) -> None:
        """Raises the high watermark to the lowest end offset of the replicas that count: the maximal ISR, and followers
        that may join the ISR because they are caught up (``maybeIncrementLeaderHW``)."""
        if self.high_watermark >= end_offset or self.is_under_min_isr:
            return
        lowest, maximal_isr = end_offset, self.maximal_isr
        for replica, follower in self.followers.items():
            if follower.end_offset < lowest and (
                replica in maximal_isr
                or (
                    follower.is_caught_up(end_offset, now_ms, self._lag_max_ms) and self._is_eligible(replica, follower)
                )
            ):
                lowest = follower.end_offset
        self.high_watermark = max(self.high_watermark, lowest)
