"""The appends of one Produce request, and the syncs and the replication that must end before its answer.

Owns: the answers of the partitions, and the count of what they wait for. Never does: deciding what is accepted
(``api/produce.py`` does). Invariant: completes exactly once, after each append, required sync and required replication
has ended, failed or timed out. Source: ``ReplicaManager.appendRecords``, ``DelayedProduce``; the syncs are our own.
"""

from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from odradek.protocol.common.steps import Steps, run_to_end
from odradek.protocol.errors import ErrorCode, KafkaError
from odradek.protocol.messages.produce import ProduceResponse
from odradek.protocol.records.batch import BatchHeader, Buffer
from odradek.storage.errors import RecordValidationError
from odradek.storage.log.append_plan import InspectionNeededError, inspect_client_batch
from odradek.storage.log.log import AppendInfo
from odradek.storage.log.record_inspection import InspectedBatch, wants_inspection

from ..dispatch.request import RequestContext
from ..replicas.partition import Partition
from ..replicas.record_work import RecordWork
from ..timers.timers import Timer

if TYPE_CHECKING:
    from ..metrics.topic_meters import TopicMeters

PartitionProduceResponse = ProduceResponse.PartitionProduceResponse
Later = tuple[Partition, BatchHeader, Buffer, PartitionProduceResponse]
"""A batch to append after the request handler has returned: its partition, header, bytes, and the answer to fill."""
Grown = tuple[Partition, int, int]
"""A partition, its new end offset, and the bytes that were appended."""
Unsynced = tuple[Partition, int, PartitionProduceResponse]
"""A partition that must be synced up to an offset (exclusive) before its answer."""
Unreplicated = tuple[Partition, int, int, PartitionProduceResponse]
"""A partition whose in-sync replicas must have the log up to an offset (exclusive) before its answer, with the bytes
that were appended."""
WaitForReplicas = Callable[[Callable[[], None]], Timer]
"""Sets the timer of a request that waits for replicas."""

SYNCS_A_STEP = 256

PLAIN = (
    ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
    ErrorCode.UNKNOWN_TOPIC_ID,
    ErrorCode.INVALID_REQUIRED_ACKS,
    ErrorCode.NOT_LEADER_OR_FOLLOWER,
)
"""Errors of the request, not of a batch. Kafka gives no text for these."""
WITHOUT_LOG_START = frozenset(
    {
        ErrorCode.MESSAGE_TOO_LARGE,
        ErrorCode.RECORD_LIST_TOO_LARGE,
        ErrorCode.CORRUPT_MESSAGE,
        ErrorCode.KAFKA_STORAGE_ERROR,
    }
)
"""Errors of the log for which Kafka's answer has no log start offset (``ReplicaManager.appendRecordsToLeader``)."""


class _LongAppend(NamedTuple):
    """A batch whose append may end after the call that begins it. ``records`` stay valid until the end. ``size``: of
    the batch as received, in bytes."""

    partition: Partition
    records: Buffer
    answer: PartitionProduceResponse
    size: int


class ProduceWork:
    """The appends of one request. ``grown``: partitions whose waiters to notify, with end offset and bytes.
    ``unsynced``: partitions to sync before the answer, with the offset. ``unreplicated``: partitions that followers
    must have before the answer, which are not in ``grown``. ``failed``: whether a partition was refused.
    """

    __slots__ = (
        "_complete",
        "_context",
        "_missing",
        "_record_work",
        "_replicating",
        "_timer",
        "_topics",
        "acks",
        "failed",
        "grown",
        "unreplicated",
        "unsynced",
    )

    def __init__(self, acks: int, topics: "TopicMeters | None") -> None:
        """``topics``: count what is appended and refused; None without metrics."""
        self.acks = acks
        self._topics = topics
        self._timer: Timer | None = None
        self.failed = False
        self.grown: list[Grown] = []
        self.unsynced: list[Unsynced] = []
        self.unreplicated: list[Unreplicated] = []

    def refuse(self, answer: PartitionProduceResponse, topic: str, error: KafkaError) -> None:
        """Sets the error of a partition whose batch was not appended. ``topic``: its name; empty if it is unknown."""
        if self._topics is not None:
            self._topics.refused(topic, error.error_code)
        self.fail(answer, error)

    def fail(self, answer: PartitionProduceResponse, error: KafkaError) -> None:
        """Sets the error of a partition without counting it: the log was not asked, or has appended the batch."""
        self.failed = True
        refused(answer, error)

    def refuse_appended(self, answer: PartitionProduceResponse, partition: Partition, error: KafkaError) -> None:
        """Sets the error of a partition whose log has refused a batch."""
        self.refuse(answer, partition.topic, error)
        log = partition.open_log
        if log is not None and error.error_code not in WITHOUT_LOG_START:
            answer.log_start_offset = log.log_start_offset

    def note(
        self, answer: PartitionProduceResponse, partition: Partition, appended: AppendInfo, received_bytes: int
    ) -> None:
        """Notes that the log has appended a batch. ``received_bytes``: its size before the log changed anything."""
        answer.base_offset, last_offset, _, answer.log_append_time_ms, answer.log_start_offset, size, _ = appended
        end_offset = last_offset + 1
        if self._topics is not None:
            # As in Kafka, a batch that the log had already counts again (LogAppendInfo.numMessages).
            self._topics.appended(partition.topic, received_bytes, end_offset - answer.base_offset)
        if partition.leading is not None and self.acks == -1:
            self.unreplicated.append((partition, end_offset, size, answer))
        else:
            self.grown.append((partition, end_offset, size))
        log = partition.log
        if log.offsets.wants_sync and self.acks:
            synced_to = log.offsets.flush_policy.offset_to_answer(end_offset, acks_all=self.acks == -1)
            if synced_to > log.offsets.synced_offset:
                self.unsynced.append((partition, synced_to, answer))

    def finish_later(
        self,
        later: Sequence[Later],
        context: RequestContext,
        record_work: RecordWork,
        wait_for_replicas: WaitForReplicas,
        complete: Callable[["ProduceWork"], None],
    ) -> Steps[None]:
        """Appends batches that are too large for the event loop, and those that follow them: one in each step.

        ``wait_for_replicas`` sets the timer that ends the wait for replicas (the request's ``timeout.ms``).
        ``complete`` is called once, after the last step and the last append, with this object as its argument, since a
        closure that holds it would be a reference cycle.
        """
        self._complete = complete
        self._context = context
        self._record_work = record_work
        self._missing = 1 + len(later)
        self._replicating: dict[int, PartitionProduceResponse] = {}
        yield from self._await_replicas()
        # Only now: setting a timer takes a while, and the followers need not wait for it.
        if self._replicating or (self.acks == -1 and any(partition.leading is not None for partition, *_ in later)):
            self._timer = wait_for_replicas(self._time_is_up)
        for batch in later:
            self._append_later(batch)
            yield
        unsynced, self.unsynced = self.unsynced, []
        for start in range(0, len(unsynced), SYNCS_A_STEP):
            self._await_syncs(unsynced[start : start + SYNCS_A_STEP])
            yield
        self._one_less()

    def _append_later(self, later: Later) -> None:
        partition, header, records, answer = later
        context = self._context
        kept = records if context.owns_frame else memoryview(bytes(records))
        batch = _LongAppend(partition, kept, answer, len(records))
        try:
            is_to_be_inspected = wants_inspection(header, context.now_ms, partition.log.config)
        except KafkaError as error:
            self._appended(batch, error)
            return
        if is_to_be_inspected and header.size_in_bytes <= partition.log.config.max_message_bytes:
            self._inspect(batch)
        else:
            partition.append_later(kept, context.now_ms, None, partial(self._appended, batch))

    def _inspect(self, batch: "_LongAppend") -> None:
        """Inspects the records on a thread, before the batch is queued in the partition."""
        now_ms = self._context.now_ms
        steps = inspect_client_batch(batch.records, now_ms, batch.partition.log.config)
        is_wanted = self._context.is_wanted if self.acks else _always
        self._record_work.run(self._context.connection_id, steps, partial(self._inspected, batch), is_wanted)

    def _inspected(self, batch: "_LongAppend", result: InspectedBatch | KafkaError) -> None:
        if isinstance(result, KafkaError):
            self._appended(batch, result)
            return
        # From here on the batch holds the inspected records; the buffer of the received ones may be gone. If the
        # topic's configuration changes before the append, the inspected ones are inspected again.
        inspected = batch._replace(records=result.batch)
        batch.partition.append_later(result.batch, self._context.now_ms, result, partial(self._appended, inspected))

    def _appended(self, batch: "_LongAppend", result: AppendInfo | KafkaError | InspectionNeededError) -> None:
        partition, _, answer, size = batch
        if isinstance(result, InspectionNeededError):
            self._inspect(batch)
            return
        if isinstance(result, KafkaError):
            self.refuse_appended(answer, partition, result)
        elif partition.open_log is None:
            self.refuse(answer, partition.topic, KafkaError(partition.refusal or ErrorCode.KAFKA_STORAGE_ERROR))
        else:
            self.note(answer, partition, result, size)
            unsynced, self.unsynced = self.unsynced, []
            self._await_syncs(unsynced)
            run_to_end(self._await_replicas())
        self._one_less()

    def _await_syncs(self, unsynced: Sequence[Unsynced]) -> None:
        self._missing += len(unsynced)
        for partition, offset, answer in unsynced:
            partition.group_commit.when_synced(partition.log, offset, partial(self._synced, answer))

    def _synced(self, answer: PartitionProduceResponse, failure: KafkaError | None) -> None:
        if failure is not None:
            answer.log_append_time_ms = answer.log_start_offset = -1
            self.fail(answer, failure)
        self._one_less()

    def _await_replicas(self) -> Steps[None]:
        """Wakes the waiting fetches of followers, and waits until the in-sync replicas have what was appended."""
        unreplicated, self.unreplicated = self.unreplicated, []
        self._missing += len(unreplicated)
        for count, (partition, end_offset, size, answer) in enumerate(unreplicated, 1):
            self._replicating[id(answer)] = answer
            partition.notify_when_seen(end_offset, size)
            if partition.leading is None:
                self._replicated(answer, KafkaError(ErrorCode.NOT_LEADER_OR_FOLLOWER))
            else:
                partition.leading.when_replicated(end_offset, partial(self._replicated, answer))
            if not count % SYNCS_A_STEP:
                yield

    def _replicated(self, answer: PartitionProduceResponse, failure: KafkaError | None) -> None:
        if self._replicating.pop(id(answer), None) is not None:
            self._synced(answer, failure)

    def _time_is_up(self) -> None:
        """Answers REQUEST_TIMED_OUT for the appends that an in-sync replica still lacks. They stay in the log."""
        for answer in list(self._replicating.values()):
            self._replicated(answer, KafkaError(ErrorCode.REQUEST_TIMED_OUT))

    def _one_less(self) -> None:
        self._missing -= 1
        if not self._missing:
            if self._timer is not None:
                self._timer.cancel()
            self._complete(self)


def _always() -> bool:
    """The ``is_wanted`` of a request with acks=0: its batches are appended even if the client disconnects."""
    return True


def refused(answer: PartitionProduceResponse, error: KafkaError) -> PartitionProduceResponse:
    """Makes the answer an error, with the refused records of the batch if the error has them (KIP-467)."""
    answer.error_code = error.error_code
    answer.base_offset = -1
    answer.error_message = None if error.error_code in PLAIN else str(error)
    if isinstance(error, RecordValidationError):
        answer.record_errors = [
            ProduceResponse.BatchIndexAndErrorMessage(index, message) for index, message in error.record_errors
        ]
    return answer
