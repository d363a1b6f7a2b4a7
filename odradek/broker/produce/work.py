"""The appends of one Produce request, and the syncs and the replication that must end before its answer.

Owns: the count of what the answer waits for. Never does: deciding what is accepted (:mod:`.acceptance` does).
Invariant: answers exactly once, after each append, required sync and required replication has ended, failed or timed
out. Source: ``ReplicaManager.appendRecords``, ``DelayedProduce``; the syncs are our own.
"""

from collections.abc import Sequence
from functools import partial
from typing import NamedTuple, Protocol

from odradek.protocol.common.steps import Steps, begun, run_to_end
from odradek.protocol.errors import ErrorCode, KafkaError
from odradek.protocol.records.batch import Buffer
from odradek.storage.log.append_plan import InspectionNeededError, inspect_client_batch
from odradek.storage.log.log import AppendInfo, AppendOrigin
from odradek.storage.log.record_inspection import InspectedBatch, wants_inspection

from ..dispatch.request import RequestContext
from ..replicas.partition import Partition
from ..replicas.record_work import RecordWork
from ..timers.loop_timers import LoopTimers
from ..timers.slices import Slices
from ..timers.timers import Timer
from .acceptance import BATCHES_A_STEP, AcceptedBatch
from .answer import PartitionProduceResponse, ProduceAnswer
from .transaction import Refusals

Grown = tuple[Partition, int, int]
"""A partition, its new end offset, and the bytes that were appended."""
Unsynced = tuple[Partition, int, PartitionProduceResponse]
"""A partition that must be synced up to an offset (exclusive) before its answer."""
Unreplicated = tuple[Partition, int, int, PartitionProduceResponse]
"""A partition whose in-sync replicas must have the log up to an offset (exclusive) before its answer, with the bytes
that were appended."""

SYNCS_A_STEP = 256


class WorkParts(Protocol):
    """What the appends of a request need of a broker."""

    @property
    def timers(self) -> LoopTimers:
        """For the wait for replicas."""

    @property
    def slices(self) -> Slices:
        """For work that goes on without its request."""

    def record_work_for(self, context: RequestContext) -> RecordWork:
        """Inspects the records of a request on threads."""


class _LongAppend(NamedTuple):
    """A batch whose append may end after the call that begins it. ``records`` stay valid until the end. ``size``: of
    the batch as received, in bytes."""

    partition: Partition
    records: Buffer
    answer: PartitionProduceResponse
    size: int


class ProduceWork:
    """The appends of one request."""

    __slots__ = (
        "_acks",
        "_answer",
        "_context",
        "_grown",
        "_missing",
        "_parts",
        "_replicates_later",
        "_replicating",
        "_timeout_ms",
        "_timer",
        "_unreplicated",
        "_unsynced",
    )

    def __init__(self, timeout_ms: int, context: RequestContext, answer: ProduceAnswer, parts: WorkParts) -> None:
        """``answer`` is sent when all is done. ``timeout_ms``: the longest wait for replicas."""
        self._acks = answer.acks
        self._context = context
        self._answer = answer
        self._parts = parts
        self._timeout_ms = timeout_ms
        self._timer: Timer | None = None
        self._missing = 1
        """The appends, syncs and replications that have not ended, plus one until all have begun."""
        self._grown: list[Grown] = []
        """The partitions whose waiting fetches to wake after the answer."""
        self._unsynced: list[Unsynced] = []
        self._unreplicated: list[Unreplicated] = []
        self._replicating: dict[int, PartitionProduceResponse] = {}
        self._replicates_later = False
        """Whether an append that ends later may have to wait for replicas."""

    def append(self, batches: Sequence[AcceptedBatch], refusals: Refusals) -> Steps[None]:
        """Appends the batches that have no refusal. The answer is sent once all has ended.

        A batch that is large, has many records to inspect, or follows one that a thread still appends, is appended off
        the event loop.
        """
        for number, batch in enumerate(batches):
            if number and not number % BATCHES_A_STEP:
                yield
            partition, _, _, answer = batch
            refusal = refusals.get((partition.topic, partition.index)) if refusals else None
            if refusal is None:
                self._append(batch)
            else:
                self._answer.fail(answer, refusal)
        if self._unreplicated:
            yield from self._await_replicas()
        # Only now: setting a timer takes a while, and the followers need not wait for it.
        if self._replicating or self._replicates_later:
            self._timer = self._parts.timers.schedule(max(0, self._timeout_ms), self._time_is_up)
        if self._unsynced:
            yield from self._await_syncs()
        self._one_less()

    def _append(self, batch: AcceptedBatch) -> None:
        partition, header, records, answer = batch
        try:
            if partition.leading is not None and self._acks == -1:
                partition.leading.isr.enough_in_sync()
            if len(records) >= partition.writers.large_bytes or partition.appends is not None:
                self._append_later(batch)
                return
            appended = partition.append(records, self._context.now_ms, AppendOrigin.CLIENT, header)
        except KafkaError as error:
            self._answer.refuse_appended(answer, partition, error)
        except InspectionNeededError:
            self._append_later(batch)
        else:
            self._note(answer, partition, appended, len(records))

    def _note(
        self, answer: PartitionProduceResponse, partition: Partition, appended: AppendInfo, received_bytes: int
    ) -> None:
        """Notes that the log has appended a batch. ``received_bytes``: its size before the log changed anything."""
        answer.base_offset, last_offset, _, answer.log_append_time_ms, answer.log_start_offset, size, _ = appended
        end_offset = last_offset + 1
        meters = self._answer.meters
        if meters is not None:
            # As in Kafka, a batch that the log had already counts again (LogAppendInfo.numMessages).
            meters.appended(partition.topic, received_bytes, end_offset - answer.base_offset)
        if partition.leading is not None and self._acks == -1:
            self._unreplicated.append((partition, end_offset, size, answer))
        else:
            self._grown.append((partition, end_offset, size))
        log = partition.log
        if log.offsets.wants_sync and self._acks:
            synced_to = log.offsets.flush_policy.offset_to_answer(end_offset, acks_all=self._acks == -1)
            if synced_to > log.offsets.synced_offset:
                self._unsynced.append((partition, synced_to, answer))

    # Appends that end later.

    def _append_later(self, batch: AcceptedBatch) -> None:
        partition, header, records, answer = batch
        context = self._context
        self._missing += 1
        self._replicates_later |= self._acks == -1 and partition.leading is not None
        kept = records if context.owns_frame else memoryview(bytes(records))
        long = _LongAppend(partition, kept, answer, len(records))
        try:
            is_to_be_inspected = wants_inspection(header, context.now_ms, partition.log.config)
        except KafkaError as error:
            self._appended(long, error)
            return
        if is_to_be_inspected and header.size_in_bytes <= partition.log.config.max_message_bytes:
            self._inspect(long)
        else:
            partition.append_later(kept, context.now_ms, None, partial(self._appended, long))

    def _inspect(self, batch: _LongAppend) -> None:
        """Inspects the records on a thread, before the batch is queued in the partition."""
        context = self._context
        steps = inspect_client_batch(batch.records, context.now_ms, batch.partition.log.config)
        is_wanted = context.is_wanted if self._acks else _always
        then = partial(self._inspected, batch)
        self._parts.record_work_for(context).run(context.connection_id, steps, then, is_wanted)

    def _inspected(self, batch: _LongAppend, result: InspectedBatch | KafkaError) -> None:
        if isinstance(result, KafkaError):
            self._appended(batch, result)
            return
        # From here on the batch holds the inspected records; the buffer of the received ones may be gone. If the
        # topic's configuration changes before the append, the inspected ones are inspected again.
        inspected = batch._replace(records=result.batch)
        batch.partition.append_later(result.batch, self._context.now_ms, result, partial(self._appended, inspected))

    def _appended(self, batch: _LongAppend, result: AppendInfo | KafkaError | InspectionNeededError) -> None:
        partition, _, answer, size = batch
        if isinstance(result, InspectionNeededError):
            self._inspect(batch)
            return
        if isinstance(result, KafkaError):
            self._answer.refuse_appended(answer, partition, result)
        elif partition.open_log is None:
            error = KafkaError(partition.refusal or ErrorCode.KAFKA_STORAGE_ERROR)
            self._answer.refuse(answer, partition.topic, error)
        else:
            self._note(answer, partition, result, size)
            run_to_end(self._await_syncs())
            run_to_end(self._await_replicas())
        self._one_less()

    # Syncs and replicas.

    def _await_syncs(self) -> Steps[None]:
        unsynced, self._unsynced = self._unsynced, []
        self._missing += len(unsynced)
        for number, (partition, offset, answer) in enumerate(unsynced):
            if number and not number % SYNCS_A_STEP:
                yield
            partition.group_commit.when_synced(partition.log, offset, partial(self._synced, answer))

    def _synced(self, answer: PartitionProduceResponse, failure: KafkaError | None) -> None:
        if failure is not None:
            answer.log_append_time_ms = answer.log_start_offset = -1
            self._answer.fail(answer, failure)
        self._one_less()

    def _await_replicas(self) -> Steps[None]:
        """Wakes the waiting fetches of followers, and waits until the in-sync replicas have what was appended."""
        unreplicated, self._unreplicated = self._unreplicated, []
        self._missing += len(unreplicated)
        for number, (partition, end_offset, size, answer) in enumerate(unreplicated):
            if number and not number % SYNCS_A_STEP:
                yield
            self._replicating[id(answer)] = answer
            partition.notify_when_seen(end_offset, size)
            if partition.leading is None:
                self._replicated(answer, KafkaError(ErrorCode.NOT_LEADER_OR_FOLLOWER))
            else:
                partition.leading.when_replicated(end_offset, partial(self._replicated, answer))

    def _replicated(self, answer: PartitionProduceResponse, failure: KafkaError | None) -> None:
        if self._replicating.pop(id(answer), None) is not None:
            self._synced(answer, failure)

    def _time_is_up(self) -> None:
        """Answers REQUEST_TIMED_OUT for the appends that an in-sync replica still lacks. They stay in the log."""
        for answer in list(self._replicating.values()):
            self._replicated(answer, KafkaError(ErrorCode.REQUEST_TIMED_OUT))

    # The end.

    def _one_less(self) -> None:
        """Notes that one more has ended. After the last one sends the answer, and wakes the fetches that wait."""
        self._missing -= 1
        if self._missing:
            return
        if self._timer is not None:
            self._timer.cancel()
        self._answer.send()
        rest = begun(_wake(self._grown))
        if rest is not None:
            self._parts.slices.start_background(rest, "the answering of waiting fetches")


def _wake(grown: Sequence[Grown]) -> Steps[None]:
    for number, (partition, end_offset, appended_bytes) in enumerate(grown):
        if number and not number % BATCHES_A_STEP:
            yield
        partition.notify_when_seen(end_offset, appended_bytes)


def _always() -> bool:
    """The ``is_wanted`` of a request with acks=0: its batches are appended even if the client disconnects."""
    return True
