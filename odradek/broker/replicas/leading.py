"""A partition with several replicas that this broker leads, and the requests that wait for its followers.

Shell around :class:`.isr.InSyncReplicas`. Owns: the requests that wait for the high watermark, for the log's end
(followers) or for the low watermark. Never does: deciding which replicas are in sync. Invariants: after every event the
log has the high watermark of InSyncReplicas; each waiting request is called back once, in the order of the offsets, or
with NOT_LEADER_OR_FOLLOWER when the leadership ends. Source: Partition.scala; DelayedProduce, DelayedDeleteRecords.
"""

from collections import deque
from collections.abc import Callable

from odradek.protocol.common.holder import holder
from odradek.protocol.errors import ErrorCode, KafkaError, error_of
from odradek.protocol.messages.fetch import FetchResponse
from odradek.protocol.messages.quorum import AlterPartitionRequest, AlterPartitionResponse
from odradek.storage.log.log import Log

from ..metadata.image.image import LeaderRecoveryState, PartitionImage
from ..metrics.replica_state import IsrChanges
from .isr import Committed, InSyncReplicas, Proposal
from .replica_selector import RackAwareReplicaSelector
from .replication_throttle import ReplicationThrottle
from .uncommitted_appends import UncommittedAppends

Replicated = Callable[[KafkaError | None], None]
"""Called with None once all in-sync replicas have an append, or with the error for the producer."""
Change = AlterPartitionRequest.PartitionData
ChangeAnswer = AlterPartitionResponse.PartitionData | ErrorCode
Waiter = Callable[[int], None]
"""Called with the bytes appended; 0: the partition has changed in another way."""
SendChange = Callable[[bytes, Change, Callable[[ChangeAnswer], None]], None]
"""Sends a change of an ISR to the controllers: called with topic id, change, and the callback for the answer."""
SHARED_BYTES = 16 * 1024
"""A read of at most this many bytes is kept for the other followers."""


@holder()
class LeadingCommon:
    """The objects that all leaderships of a broker share. ``clock_ms``: a monotonic clock."""

    send: SendChange
    clock_ms: Callable[[], int]
    isr_changes: IsrChanges
    throttle: ReplicationThrottle
    """Limits the rate at which followers get records."""
    selector: RackAwareReplicaSelector | None
    """Chooses the replica that a consumer reads from; None: always the leader."""


class Leading:
    """One leadership of one partition, over one or several leader epochs."""

    __slots__ = (
        "_common",
        "_deletions",
        "_followers",
        "_has_ended",
        "_index",
        "_isr",
        "_log",
        "_shared",
        "_topic",
        "_topic_id",
        "_unseen",
        "_visible",
        "_waiting",
        "is_reassigning",
    )

    def __init__(
        self,
        topic: str,
        topic_id: bytes,
        index: int,
        log: Log,
        isr: InSyncReplicas,
        visible: Callable[[int], None],
        common: LeadingCommon,
    ) -> None:
        """``visible`` is called with the number of bytes that consumers can read in addition."""
        self._topic = topic
        self._topic_id = topic_id
        self._index = index
        self._log = log
        self._visible = visible
        self._has_ended = False
        self._isr = isr
        self._common = common
        self._waiting: deque[tuple[int, Replicated]] = deque()
        self._unseen = UncommittedAppends()
        self._shared: tuple[int, int, int, FetchResponse.PartitionData] | None = None
        """The last small read of a follower, for the other followers: the offset, log end and log start offset at that
        time, and the answer. It is dropped when the high watermark rises."""
        self.is_reassigning = False
        self._followers: dict[Waiter, None] = {}
        self._deletions: list[tuple[int, Replicated]] = []

    @property
    def isr(self) -> InSyncReplicas:
        """The followers and the ISR, for reading only."""
        return self._isr

    @property
    def low_watermark(self) -> int:
        """The lowest log start offset among the replicas whose brokers are not fenced (KIP-107)."""
        return self._isr.low_watermark(self._log.log_start_offset)

    def use_log(self, log: Log) -> None:
        """Continues in another log with the same records and offsets, after a move to another directory."""
        self._log = log

    def lead(self, image: PartitionImage, min_isr: int) -> None:
        """Takes an election, or a change of the replicas or the ISR, from the metadata."""
        log, isr = self._log, self._isr
        isr.min_isr = min_isr
        self.is_reassigning = image.is_reassigning
        isr.lead(image, log.log_end_offset, log.high_watermark, self._common.clock_ms())
        self._carry_out()

    def set_min_isr(self, min_isr: int) -> None:
        """Sets ``min.insync.replicas``. A lower value may let the high watermark move."""
        if min_isr != self._isr.min_isr:
            self._isr.min_isr = min_isr
            self._isr.appended(self._log.log_end_offset, self._common.clock_ms())
            self._carry_out()

    def appended(self, end_offset: int, size: int) -> None:
        """The log has grown to ``end_offset`` by ``size`` bytes: wakes the followers that wait."""
        self._unseen.appended(end_offset, size)
        self._isr.appended(self._log.offsets.log_end_offset, self._common.clock_ms())
        self._carry_out()
        for waiter in list(self._followers):
            waiter(size)

    def fetched(self, replica_id: int, broker_epoch: int, offset: int, log_start_offset: int) -> None:
        """Notes that a follower has everything below ``offset``. Call :meth:`InSyncReplicas.check_follower` first."""
        end_offset = self._log.offsets.log_end_offset
        self._isr.fetched(replica_id, broker_epoch, offset, log_start_offset, end_offset, self._common.clock_ms())
        self._carry_out()

    def preferred_read_replica(self, rack: str, listener_name: str, offset: int) -> int | None:
        """The follower that a consumer in this rack should read from; None if it should read here (KIP-392)."""
        selector = self._common.selector
        return None if selector is None else selector.select(rack, listener_name, self._isr.followers_with(offset))

    def is_throttled(self, replica_id: int) -> bool:
        """Whether a follower gets no records now: it is out of sync, and the rate of this leader is exceeded."""
        is_in_sync = replica_id in self._isr.isr
        return self._common.throttle.leaves_out(self._topic, self._index, is_in_sync, self._common.clock_ms())

    def copied(self, size: int) -> None:
        """Counts the bytes of records that a follower gets, for the throttle."""
        self._common.throttle.copied(self._topic, self._index, size, self._common.clock_ms())

    def is_still(self, replica_id: int, broker_epoch: int, offset: int, log_start_offset: int) -> bool:
        """Whether a follower's fetch at ``offset`` changes nothing but the time of its last fetch: the follower is in
        the ISR, has fetched at this offset before, and nothing was appended since.

        ``log_start_offset``: the leader's, as it was last sent to the follower.
        """
        isr, offsets = self._isr, self._log.offsets
        follower = isr.followers.get(replica_id)
        return (
            follower is not None
            and offsets.log_end_offset == offset == isr.high_watermark == follower.end_offset
            and offsets.log_start_offset == log_start_offset
            and follower.broker_epoch == broker_epoch
            and replica_id in isr.isr
        )

    def fetched_again(self, replica_id: int) -> None:
        """A faster :meth:`fetched` for a follower for which :meth:`is_still` is True: notes only the time."""
        follower = self._isr.followers[replica_id]
        follower.caught_up_ms = follower.last_fetch_ms = self._common.clock_ms()

    def is_at_end(self, offset: int, last_epoch: int) -> bool:
        """Whether a log that ends at ``offset``, with a last record of ``last_epoch``, is equal to this one."""
        offsets = self._log.offsets
        return offsets.log_end_offset == offset and offsets.latest_epoch == last_epoch

    def read(self, offset: int, max_bytes: int, *, min_one_batch: bool) -> FetchResponse.PartitionData:
        """Reads up to the end of the log, for a follower. See :meth:`Log.read`.

        The followers read the same small batch one after the other, so the second gets the answer of the first. Do not
        change the answer.
        """
        log, shared = self._log, self._shared
        offsets = log.offsets
        end_offset, start_offset = offsets.log_end_offset, offsets.log_start_offset
        if shared is not None and shared[:3] == (offset, end_offset, start_offset):
            answer = shared[3]
            if len(answer.records or b"") <= max_bytes:
                return answer
        records = log.read(offset, max_bytes, min_one_batch=min_one_batch).data
        answer = FetchResponse.PartitionData(
            partition_index=self._index,
            high_watermark=offsets.high_watermark,
            last_stable_offset=offsets.last_stable_offset,
            log_start_offset=start_offset,
            aborted_transactions=None,
            records=records,
        )
        if isinstance(records, bytes) and 0 < len(records) <= SHARED_BYTES:
            self._shared = offset, end_offset, start_offset, answer
        return answer

    def has_more(self, offset: int) -> bool:
        """Whether the log has grown beyond ``offset``, or this leadership has ended."""
        return self._has_ended or self._log.log_end_offset > offset

    def time_passed(self) -> None:
        """Checks for followers that lag. Called every half of ``replica.lag.time.max.ms``."""
        self._isr.time_passed(self._log.log_end_offset, self._common.clock_ms())
        self._carry_out()

    def when_replicated(self, offset: int, callback: Replicated) -> None:
        """Calls back when all in-sync replicas have the log up to ``offset`` (exclusive); perhaps at once."""
        if self._isr.high_watermark >= offset:
            callback(self._outcome())
        else:
            self._waiting.append((offset, callback))

    def when_deleted(self, offset: int, callback: Replicated) -> None:
        """Calls back when the low watermark has reached ``offset``."""
        if self.low_watermark >= offset:
            callback(None)
        else:
            self._deletions.append((offset, callback))

    def forget_deletion(self, callback: Replicated) -> None:
        """Drops a callback of :meth:`when_deleted`; harmless if it was called."""
        self._deletions = [deletion for deletion in self._deletions if deletion[1] is not callback]

    def wait(self, waiter: Waiter) -> None:
        """Calls ``waiter``, a fetch of a follower, at each append until :meth:`stop_waiting`."""
        self._followers[waiter] = None

    def stop_waiting(self, waiter: Waiter) -> None:
        """Removes a waiter, if it is registered."""
        self._followers.pop(waiter, None)

    def wake_followers(self) -> None:
        """Answers the fetches of followers that wait."""
        for waiter in list(self._followers):
            waiter(0)

    def resign(self) -> None:
        """Ends the leadership: waiting requests get NOT_LEADER_OR_FOLLOWER, and waiting followers are woken."""
        self._has_ended = True
        failure = KafkaError(ErrorCode.NOT_LEADER_OR_FOLLOWER)
        waiting, self._waiting = self._waiting, deque()
        for _, callback in waiting:
            callback(failure)
        deletions, self._deletions = self._deletions, []
        for _, callback in deletions:
            callback(failure)
        self.wake_followers()

    def _outcome(self) -> KafkaError | None:
        """The result of an append with acks=all that the high watermark has reached: None, or the error if too few
        replicas are in sync."""
        if not self._isr.is_under_min_isr:
            return None
        return KafkaError(
            ErrorCode.NOT_ENOUGH_REPLICAS_AFTER_APPEND,
            "Messages are written to the log, but to fewer in-sync replicas than required.",
        )

    def _carry_out(self) -> None:
        """Carries out what InSyncReplicas has decided: moves the log's high watermark, sends a change of the ISR. Also
        answers DeleteRecords requests that the low watermark has reached."""
        isr, offsets = self._isr, self._log.offsets
        if isr.high_watermark != offsets.high_watermark:
            offsets.set_high_watermark(isr.high_watermark)
            self._high_watermark_rose(isr.high_watermark)
        if self._deletions:
            self._answer_deletions()
        proposal = isr.unsent
        if proposal is not None:
            isr.unsent = None
            self._common.send(
                self._topic_id,
                _change(self._index, proposal),
                lambda answer: self._answered(proposal, answer),
            )

    def _high_watermark_rose(self, high_watermark: int) -> None:
        self._shared = None
        waiting = self._waiting
        if waiting and waiting[0][0] <= high_watermark:
            outcome = self._outcome()
            while waiting and waiting[0][0] <= high_watermark:
                waiting.popleft()[1](outcome)
        self._visible(self._unseen.seen(high_watermark))

    def _answer_deletions(self) -> None:
        low_watermark = self.low_watermark
        done = [deletion for deletion in self._deletions if deletion[0] <= low_watermark]
        if done:
            self._deletions = [deletion for deletion in self._deletions if deletion[0] > low_watermark]
            for _, callback in done:
                callback(None)

    def _answered(self, proposal: Proposal, answer: ChangeAnswer) -> None:
        if self._has_ended:
            return
        outcome: Committed | ErrorCode
        if isinstance(answer, ErrorCode):
            outcome = answer
            self._common.isr_changes.failed += 1
        elif answer.error_code:
            outcome = error_of(answer.error_code)
            self._common.isr_changes.failed += 1
        else:
            recovery_state = LeaderRecoveryState(answer.leader_recovery_state)
            outcome = Committed(answer.leader_epoch, answer.partition_epoch, tuple(answer.isr), recovery_state)
        members = len(self._isr.isr)
        self._isr.answered(proposal, outcome, self._log.log_end_offset, self._common.clock_ms())
        self._common.isr_changes.shrinks += len(self._isr.isr) < members
        self._common.isr_changes.expands += len(self._isr.isr) > members
        self._carry_out()


def _change(index: int, proposal: Proposal) -> Change:
    return Change(
        index,
        proposal.leader_epoch,
        new_isr_with_epochs=[AlterPartitionRequest.BrokerState(*member) for member in proposal.isr],
        leader_recovery_state=proposal.recovery_state,
        partition_epoch=proposal.partition_epoch,
    )
