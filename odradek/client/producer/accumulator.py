"""The queues of a producer: batches by partition, when each may be sent, and their order after a failure.

Pure. Owns: the queues of batches, the sequence numbers of idempotence, the memory bound. Never does: I/O, clocks (every
call takes ``now_ms``), encoding, setting futures' results (a batch carries its callers' futures as opaque values).

Invariants: Batches of a partition are sent in the order of their records. After a failure the partition sends nothing
until all of its batches in flight are answered; then it sends the oldest first, so that retries never reorder. After
the first batch of a producer epoch the partition sends nothing until that batch is acknowledged, because a broker
without state of the producer accepts any sequence number. A sequence number of a batch that may have been written is
never used for other records under the same producer epoch.

Source: ``org.apache.kafka.clients.producer.internals.RecordAccumulator`` and ``TransactionManager``, KIP-360. There an
idempotent producer bumps its own epoch after a lost sequence number; here only the affected partition does, because
brokers keep producer state by partition.
"""

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import takewhile
from typing import Any

from odradek.protocol.records.batch import increment_sequence

from ..types import TopicPartition
from .batches import BATCH_OVERHEAD_BYTES, Part, ProducerBatch
from .delivery import Delivery

MAX_PRODUCER_EPOCH = 32766
SPARE_SHARE = 16


@dataclass(slots=True)
class PartitionQueue:
    """The batches of one partition and its sequence state."""

    waiting: list[ProducerBatch] = field(default_factory=list)
    in_flight: list[ProducerBatch] = field(default_factory=list)
    recovering: bool = False
    """True after a batch is to be retried: nothing is sent until all batches in flight are answered."""
    epoch_bump: bool = False
    """True after a sequence number was lost: a new producer epoch must start once nothing is in flight."""
    not_before_ms: float = 0.0
    next_serial: int = 0
    producer_id: int = -1
    producer_epoch: int = -1
    next_sequence: int = 0
    established: bool = False
    """Whether the broker acknowledged a batch of this producer id and epoch, so that it can check the next sequence."""


class Accumulator:
    """The queues of all partitions. Sizes are in bytes, times in ms."""

    def __init__(
        self,
        delivery: Delivery,
        *,
        batch_size: int,
        linger_ms: float,
        buffer_memory: int,
    ) -> None:
        """The producer's settings of the same names.

        Of a transactional producer, ``restart`` sets the producer id. After a lost sequence number the partition sends
        nothing until the next ``restart``.
        """
        self._batch_size = batch_size
        self._linger_ms = linger_ms
        self._buffer_memory = buffer_memory
        self._max_in_flight = delivery.max_in_flight
        self._delivery_timeout_ms = delivery.timeout_ms
        self._idempotent = delivery.is_idempotent
        self._transactional = delivery.is_transactional
        self._queues: dict[TopicPartition, PartitionQueue] = {}
        self._producer = (-1, -1)
        self.buffered_bytes = 0
        self.needs_producer_id = self._idempotent and not self._transactional
        """Whether an InitProducerId is needed: no producer id is known, or its epochs are used up."""

    def set_producer_id(self, producer_id: int, producer_epoch: int) -> None:
        """Sets the result of InitProducerId. Partitions without a producer id use it from sequence 0 on."""
        self._producer = (producer_id, producer_epoch)
        self.needs_producer_id = False

    def restart(self, producer_id: int, producer_epoch: int) -> None:
        """Sets a new producer id and epoch between two transactions: all partitions restart with sequence 0."""
        for queue in self._queues.values():
            assert not queue.in_flight, "a batch waits for its answer"
            queue.producer_id = -1
            queue.recovering = queue.epoch_bump = False
            queue.not_before_ms = 0.0
        self._producer = (producer_id, producer_epoch)

    @property
    def lost_sequences(self) -> bool:
        """Whether a partition has lost a sequence number and has not started a new epoch since."""
        return any(queue.epoch_bump for queue in self._queues.values())

    @property
    def has_sequences(self) -> bool:
        """Whether a partition has sent batches with the current producer id."""
        return any(queue.producer_id >= 0 for queue in self._queues.values())

    def has_room(self, size: int) -> bool:
        """Whether ``buffer_memory`` has room for ``size`` bytes. An empty buffer takes a record of any size."""
        return self.buffered_bytes == 0 or self.buffered_bytes + size <= self._buffer_memory

    @property
    def has_spare_room(self) -> bool:
        """Whether a share of ``buffer_memory`` is free, so that more than one batch can be queued before it is full."""
        return self.buffered_bytes <= self._buffer_memory - self._buffer_memory // SPARE_SHARE

    def append(self, partition: TopicPartition, part: Part, size: int, now_ms: float) -> bool:
        """Adds records to the partition's open batch or to a new one. Returns True if the batch is new or full.

        ``size`` is an upper bound of their bytes. A part of several records is never divided between batches here.
        """
        queue = self._queues.get(partition)
        if queue is None:
            queue = self._queues[partition] = PartitionQueue()
        batch = queue.waiting[-1] if queue.waiting else None
        news = False
        if batch is None or batch.closed or batch.size + size > self._batch_size:
            if batch is not None:
                batch.closed = True
            news = True
            batch = ProducerBatch(partition, now_ms, (queue.next_serial, 0))
            queue.next_serial += 1
            queue.waiting.append(batch)
        batch.add(part, size)
        self.buffered_bytes += size
        if batch.size >= self._batch_size:
            batch.closed = news = True
        return news

    def partitions_with_waiting(self) -> list[TopicPartition]:
        """The partitions that have a batch to send, now or later."""
        return [partition for partition, queue in self._queues.items() if queue.waiting]

    def waiting_counts(self, topic: str, partitions: Sequence[int]) -> list[int]:
        """The number of batches that wait to be sent, for each partition."""
        queues = (self._queues.get(TopicPartition(topic, partition)) for partition in partitions)
        return [0 if queue is None else len(queue.waiting) for queue in queues]

    @property
    def has_waiting(self) -> bool:
        """Whether any batch waits to be sent."""
        return any(queue.waiting for queue in self._queues.values())

    def waiting_batches(self) -> list[ProducerBatch]:
        """All batches that are not in flight."""
        return [batch for queue in self._queues.values() for batch in queue.waiting]

    def pending_futures(self) -> list[Any]:
        """The futures of all records that are not answered yet (what ``flush`` waits for)."""
        return [part.future for batch in self._batches() for part in batch.parts]

    def _batches(self) -> Iterator[ProducerBatch]:
        for queue in self._queues.values():
            yield from queue.in_flight
            yield from queue.waiting

    def ready_in_ms(self, partition: TopicPartition, now_ms: float, *, flushing: bool) -> float | None:
        """The ms until the partition's next batch may be sent; 0: now.

        None: nothing can be sent before a response arrives or a record is added.
        """
        queue = self._queues[partition]
        limit = self._max_in_flight if queue.established or not self._idempotent else 1
        if not queue.waiting or len(queue.in_flight) >= limit:
            return None
        if (queue.recovering or queue.epoch_bump) and queue.in_flight:
            return None
        first = queue.waiting[0]
        ready_ms = queue.not_before_ms
        if not (flushing or first.closed or len(queue.waiting) > 1):
            ready_ms = max(ready_ms, first.created_ms + self._linger_ms)
        return max(0.0, ready_ms - now_ms)

    def take(self, partition: TopicPartition, now_ms: float, *, flushing: bool) -> ProducerBatch | None:
        """Takes the partition's next batch, sets its sequence number and counts it as in flight.

        Returns None if no batch may be sent now.
        """
        if self.ready_in_ms(partition, now_ms, flushing=flushing) != 0.0:
            return None
        queue = self._queues[partition]
        if self._idempotent and not self._prepare_sequence(queue):
            return None
        queue.recovering = False
        batch = queue.waiting.pop(0)
        batch.closed = True
        if self._idempotent and batch.base_sequence < 0:
            batch.producer_id, batch.producer_epoch = queue.producer_id, queue.producer_epoch
            batch.base_sequence = queue.next_sequence
            queue.next_sequence = increment_sequence(queue.next_sequence, batch.count)
        queue.in_flight.append(batch)
        return batch

    def _prepare_sequence(self, queue: PartitionQueue) -> bool:
        """Sets the partition's producer id, or its next epoch after a lost sequence number.

        Returns False if the partition must not send yet: it waits for a producer id or for ``restart``.
        """
        if queue.epoch_bump and self._transactional:
            return False
        if queue.epoch_bump:
            queue.epoch_bump = False
            if queue.producer_epoch < MAX_PRODUCER_EPOCH:
                queue.producer_epoch += 1
            else:
                if self._producer[0] == queue.producer_id:
                    self.needs_producer_id = True
                queue.producer_id = -1
            queue.next_sequence = 0
            queue.established = False
            for batch in queue.waiting:
                batch.base_sequence = -1
                batch.encoded = None
        if queue.producer_id < 0:
            if self.needs_producer_id:
                return False
            queue.producer_id, queue.producer_epoch = self._producer
            queue.next_sequence = 0
            queue.established = False
        return True

    def complete(self, batch: ProducerBatch) -> None:
        """Removes an acknowledged batch."""
        queue = self._queues[batch.partition]
        queue.in_flight.remove(batch)
        if (batch.producer_id, batch.producer_epoch) == (queue.producer_id, queue.producer_epoch):
            queue.established = True
        self._release(batch)

    def fail(self, batch: ProducerBatch) -> None:
        """Removes a failed batch, waiting or in flight. If it had sequence numbers, the partition needs a new epoch."""
        queue = self._queues[batch.partition]
        (queue.in_flight if batch in queue.in_flight else queue.waiting).remove(batch)
        if batch.base_sequence >= 0:
            queue.epoch_bump = True
        self._release(batch)

    def retry(self, batch: ProducerBatch, not_before_ms: float, *, lost_sequence: bool = False) -> None:
        """Puts a batch back to its place in the queue. ``lost_sequence``: the broker lost the producer's state."""
        queue = self._back(batch, [batch])
        batch.attempts += 1
        queue.not_before_ms = not_before_ms
        queue.epoch_bump = queue.epoch_bump or lost_sequence

    def split(self, batch: ProducerBatch) -> None:
        """Puts a batch that the broker found too large back as two halves, which keep the sequence numbers."""
        halves = batch.halves()
        self._back(batch, halves)
        self._release(batch)
        self.buffered_bytes += sum(half.size - BATCH_OVERHEAD_BYTES for half in halves)

    def is_first_in_flight(self, batch: ProducerBatch) -> bool:
        """Whether it is the oldest batch of the partition, among those in flight and those waiting for a retry."""
        queue = self._queues[batch.partition]
        return all(other.order >= batch.order for other in (*queue.in_flight, *queue.waiting))

    def _back(self, batch: ProducerBatch, parts: list[ProducerBatch]) -> PartitionQueue:
        queue = self._queues[batch.partition]
        queue.in_flight.remove(batch)
        queue.recovering = True
        place = bisect_left(queue.waiting, parts[0].order, key=lambda other: other.order)
        queue.waiting[place:place] = parts
        return queue

    def expired(self, now_ms: float) -> list[ProducerBatch]:
        """Waiting batches older than ``delivery_timeout_ms``; the caller fails them.

        The batches of a queue are in the order of their creation, so only the expired ones and one more are looked at.
        """
        timeout_ms = self._delivery_timeout_ms
        # Computed as next_expiry_ms does: with another order of the operands, rounding can make the batch expire later.
        expired: list[ProducerBatch] = []
        for queue in self._queues.values():
            expired += takewhile(lambda batch: batch.created_ms + timeout_ms <= now_ms, queue.waiting)
        return expired

    def next_expiry_ms(self) -> float | None:
        """The time (ms) at which the oldest waiting batch expires, in the caller's clock; None if none waits."""
        oldest = [queue.waiting[0].created_ms for queue in self._queues.values() if queue.waiting]
        return min(oldest) + self._delivery_timeout_ms if oldest else None

    def _release(self, batch: ProducerBatch) -> None:
        self.buffered_bytes -= batch.size - BATCH_OVERHEAD_BYTES
