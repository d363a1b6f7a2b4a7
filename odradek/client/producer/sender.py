"""Sends a producer's batches: takes ready ones, sends Produce requests, handles the responses.

Owns: what a turn sends, the Produce requests in flight, the request for a producer id. Never does: queueing and
sequence numbers (``accumulator.py``), deciding when a turn begins (``sender_turns.py``). Source:
``org.apache.kafka.clients.producer.internals.Sender`` and ``TransactionManager.canRetry``.
"""

import asyncio
from collections import defaultdict
from collections.abc import Coroutine, Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

from odradek.protocol.errors import ErrorCode, KafkaError
from odradek.protocol.messages.produce import ProduceRequest, ProduceResponse
from odradek.protocol.records.compression import CompressionType

from ..cluster.cluster import Cluster
from ..cluster.connection import BrokerConnection
from ..cluster.metadata import ZERO_TOPIC_ID
from ..errors import (
    AuthenticationError,
    BrokerConnectionError,
    ClientError,
    ClosedError,
    DeliveryTimeoutError,
    UnsupportedVersionError,
    broker_error,
)
from ..types import RecordMetadata, TopicPartition
from .accumulator import Accumulator
from .batches import ProducerBatch, QueuedValues, SharedDelivery
from .delivery import Delivery
from .produce_requests import answers_by_partition, encoded_batch, topic_data
from .producer_identity import ProducerIdentity
from .sender_turns import SenderTurns

REFRESH_ON = frozenset(
    {
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
        ErrorCode.LEADER_NOT_AVAILABLE,
        ErrorCode.NOT_LEADER_OR_FOLLOWER,
        ErrorCode.REPLICA_NOT_AVAILABLE,
        ErrorCode.KAFKA_STORAGE_ERROR,
        ErrorCode.FENCED_LEADER_EPOCH,
        ErrorCode.UNKNOWN_LEADER_EPOCH,
        ErrorCode.UNKNOWN_TOPIC_ID,
        ErrorCode.NETWORK_EXCEPTION,
    }
)
"""Errors after which the metadata is refreshed (Java's InvalidMetadataException)."""
LOST_SEQUENCE = frozenset({ErrorCode.UNKNOWN_PRODUCER_ID, ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER})
"""Errors if the broker has no state of the producer, or misses batches before this one."""


TOPIC_IDS_SINCE = 13


class SenderConfig(NamedTuple):
    """The producer's settings for sending, named as Kafka's keys."""

    delivery: Delivery
    compression: CompressionType
    max_request_size: int
    request_timeout_ms: float


class Sender:
    """Sends the accumulator's ready batches: one turn after each event that may have made a batch ready."""

    def __init__(
        self, cluster: Cluster, accumulator: Accumulator, config: SenderConfig, identity: ProducerIdentity
    ) -> None:
        self._cluster = cluster
        self._accumulator = accumulator
        self._config = config
        self._delivery = config.delivery
        self._identity = identity
        identity.bind(self.wake, self._fail_waiting)
        self._turns = SenderTurns(self._send_all, self._end)
        self._room = asyncio.Event()
        self._flushing = 0
        self._background: set[asyncio.Task[None]] = set()
        self._connecting: set[int] = set()
        self._in_flight: dict[int, int] = defaultdict(int)
        self._refreshing = False
        self._initializing = False

    def start(self) -> None:
        """Starts sending."""
        self._cluster.on_refusal.append(self.wake)
        self._turns.start()

    @property
    def loop(self) -> asyncio.AbstractEventLoop:
        """The event loop, from ``start`` on."""
        return self._turns.loop

    async def stop(self) -> None:
        """Stops sending. Records that are not acknowledged fail with ClosedError."""
        tasks = list(self._background)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        self._end(ClosedError("the producer was stopped before the record was acknowledged"))

    def _end(self, failure: BaseException) -> None:
        """Ends the turns and fails every pending record, so that no caller waits for ever."""
        self._turns.stop()
        for future in self._accumulator.pending_futures():
            if not future.done():
                future.set_exception(failure)
        self._room.set()

    def wake(self) -> None:
        """Makes it look for ready batches."""
        self._turns.wake()

    @contextmanager
    def flushing(self) -> Iterator[None]:
        """Inside the block, batches are sent without lingering."""
        self._flushing += 1
        self.wake()
        try:
            yield
        finally:
            self._flushing -= 1

    async def room(self) -> None:
        """Waits until acknowledged or failed batches have freed a share of the memory (``has_spare_room``)."""
        self._room.clear()
        await self._room.wait()

    def _send_all(self) -> float | None:
        """Sends what is ready. Returns the ms until the next turn is needed (None: only after ``wake``)."""
        if self._cluster.refusal is not None:
            self._fail_waiting(self._cluster.refusal)
        now_ms = self._now_ms()
        self._fail_expired(now_ms)
        if self._cluster.is_stale:
            self._refresh_metadata()
        if self._accumulator.needs_producer_id and self._accumulator.has_waiting and not self._initializing:
            self._initializing = True
            self._spawn(self._init_producer_id())
        return None if self._initializing else self._send_ready(now_ms)

    def _now_ms(self) -> float:
        return self._turns.loop.time() * 1000

    def _fail_expired(self, now_ms: float) -> None:
        for batch in self._accumulator.expired(now_ms):
            reason = "is the partition's leader reachable?" if batch.last_error is None else f"last: {batch.last_error}"
            self._fail(
                batch,
                DeliveryTimeoutError(
                    f"{batch.count} records for {batch.partition} were not acknowledged within "
                    f"{self._delivery.timeout_ms:.0f} ms; {reason}"
                ),
            )

    # Sending

    def _send_ready(self, now_ms: float) -> float | None:
        """Sends all ready batches. Returns the ms until it must be called again (None: only after ``wake``)."""
        delays: list[float] = []
        expiry_ms = self._accumulator.next_expiry_ms()
        if expiry_ms is not None:
            delays.append(max(0.0, expiry_ms - now_ms))
        by_node: dict[int, list[TopicPartition]] = defaultdict(list)
        flushing = self._flushing > 0
        for partition in self._accumulator.partitions_with_waiting():
            delay_ms = self._accumulator.ready_in_ms(partition, now_ms, flushing=flushing)
            if delay_ms is None or not self._identity.may_send(partition):
                continue
            if delay_ms > 0:
                delays.append(delay_ms)
                continue
            leader = self._cluster.metadata.leader(*partition)
            if leader is None:
                self._refresh_metadata([partition.topic])
            else:
                by_node[leader.leader].append(partition)
        for node_id, partitions in by_node.items():
            connection = self._cluster.open_connection(node_id)
            if connection is None:
                self._connect(node_id)
            else:
                self._send_to_node(node_id, connection, partitions, now_ms, flushing)
        return min(delays) if delays else None

    def _send_to_node(
        self,
        node_id: int,
        connection: BrokerConnection,
        partitions: list[TopicPartition],
        now_ms: float,
        flushing: bool,
    ) -> None:
        """Sends requests up to ``max_in_flight``. Each has at most one batch of a partition.

        A request is full when its size reaches ``max_request_size`` bytes.
        """
        is_transactional = self._identity.transactional_id is not None
        while self._in_flight[node_id] < self._delivery.max_in_flight:
            batches: list[ProducerBatch] = []
            size = 0
            for partition in partitions:
                batch = self._accumulator.take(partition, now_ms, flushing=flushing)
                if batch is None:
                    continue
                encoded = encoded_batch(batch, self._config.compression, is_transactional)
                batches.append(batch)
                size += len(encoded)
                if size >= self._config.max_request_size:
                    break
            if not batches:
                return
            self._send(node_id, connection, batches)

    def _send(self, node_id: int, connection: BrokerConnection, batches: list[ProducerBatch]) -> None:
        topics = self._cluster.metadata.topics
        ids = {name: topics[name].topic_id for name in {batch.partition.topic: None for batch in batches}}
        request = ProduceRequest(
            transactional_id=self._identity.transactional_id,
            acks=self._delivery.acks,
            timeout_ms=int(self._config.request_timeout_ms),
            topic_data=topic_data(batches, ids),
        )
        max_version = TOPIC_IDS_SINCE - 1 if ZERO_TOPIC_ID in ids.values() else self._identity.max_produce_version
        try:
            if self._delivery.acks == 0:
                connection.send_without_response(request, max_version=max_version)
                for batch in batches:
                    self._acknowledge(batch, -1, -1)
                return
            future = connection.send(request, ProduceResponse, max_version=max_version)
        except BrokerConnectionError as error:
            for batch in batches:
                self._retry(batch, error)
            return
        except UnsupportedVersionError as error:
            for batch in batches:
                self._fail(batch, error)
            return
        names = {topic_id: name for name, topic_id in ids.items()}
        self._in_flight[node_id] += 1
        future.add_done_callback(lambda done: self._answered(node_id, batches, names, done))

    # Answers

    def _answered(
        self,
        node_id: int,
        batches: list[ProducerBatch],
        names: dict[bytes, str],
        done: "asyncio.Future[ProduceResponse]",
    ) -> None:
        self._in_flight[node_id] -= 1
        self.wake()
        if done.cancelled():
            return
        failure = done.exception()
        if failure is not None:
            self._refresh_metadata()
            for batch in batches:
                if isinstance(failure, AuthenticationError):
                    self._fail(batch, failure)
                else:
                    self._retry(batch, failure)
            return
        answers = answers_by_partition(done.result(), names)
        for batch in batches:
            answer = answers.get(batch.partition)
            if answer is None:
                self._fail(batch, broker_error(ErrorCode.UNKNOWN_SERVER_ERROR, f"{batch.partition}: no answer for it"))
            elif answer.error_code in (ErrorCode.NONE, ErrorCode.DUPLICATE_SEQUENCE_NUMBER):
                self._acknowledge(batch, answer.base_offset, answer.log_append_time_ms)
            else:
                self._refused(batch, answer)

    def _refused(self, batch: ProducerBatch, answer: ProduceResponse.PartitionProduceResponse) -> None:
        error = broker_error(answer.error_code, str(batch.partition), answer.error_message)
        code = error.error_code
        if code in REFRESH_ON:
            self._refresh_metadata([batch.partition.topic])
        if code == ErrorCode.MESSAGE_TOO_LARGE and batch.count > 1:
            self._accumulator.split(batch)
        elif code in LOST_SEQUENCE and batch.producer_id >= 0:
            # OUT_OF_ORDER_SEQUENCE_NUMBER is expected if an older batch failed: its retry closes the gap. For the
            # oldest batch it means that the broker has lost the producer's state.
            lost = code == ErrorCode.UNKNOWN_PRODUCER_ID or self._accumulator.is_first_in_flight(batch)
            if lost and self._identity.transactional_id is not None:
                self._fail(batch, error)  # earlier records of the transaction may be lost
            else:
                self._retry(batch, error, lost_sequence=lost)
        elif code.retriable:
            self._retry(batch, error)
        else:
            for record_error in answer.record_errors:
                if 0 <= record_error.batch_index < batch.count and record_error.batch_index_error_message:
                    error = KafkaError(code, f"{error.args[-1]}: {record_error.batch_index_error_message}")
                    break
            self._fail(batch, error)

    def _retry(self, batch: ProducerBatch, error: BaseException, *, lost_sequence: bool = False) -> None:
        if not self._identity.may_retry or batch.attempts >= self._delivery.retries:
            self._fail(batch, error)
            return
        batch.last_error = error.with_traceback(None)  # its frames refer to the batch
        delay_s = self._cluster.backoff_s(batch.attempts)
        self._accumulator.retry(batch, self._now_ms() + delay_s * 1000, lost_sequence=lost_sequence)

    def _acknowledge(self, batch: ProducerBatch, base_offset: int, log_append_time_ms: int) -> None:
        self._accumulator.complete(batch)
        topic, partition = batch.partition
        offset = base_offset
        for part in batch.parts:
            timestamp = log_append_time_ms if log_append_time_ms >= 0 else part.timestamp_ms
            metadata = RecordMetadata(topic, partition, offset, timestamp)
            if isinstance(part, QueuedValues):
                self._acknowledge_part(part.delivery, metadata)
            elif not part.future.done():
                part.future.set_result(metadata)
            offset += part.count if base_offset >= 0 else 0
        self._notify_room()

    @staticmethod
    def _acknowledge_part(shared: SharedDelivery, metadata: RecordMetadata) -> None:
        """Sets the shared future after all parts are acknowledged, with the metadata of the first one.

        Parts are acknowledged in the order of their records.
        """
        shared.first = shared.first or metadata
        shared.parts -= 1
        if not shared.parts and not shared.future.done():
            shared.future.set_result(shared.first)

    def _fail(self, batch: ProducerBatch, error: BaseException) -> None:
        self._accumulator.fail(batch)
        self._identity.batch_failed(error)
        for future in batch.futures:
            if not future.done():
                future.set_exception(error)
        self._notify_room()

    def _notify_room(self) -> None:
        if self._accumulator.has_spare_room:
            self._room.set()

    # Connections, metadata, producer id

    def _spawn(self, coroutine: Coroutine[Any, Any, None]) -> None:
        task = asyncio.ensure_future(coroutine)
        self._background.add(task)
        task.add_done_callback(self._background_ended)

    def _background_ended(self, task: asyncio.Task[None]) -> None:
        self._background.discard(task)
        failure = None if task.cancelled() else task.exception()
        if failure is not None:  # a bug: the tasks handle the errors of brokers
            self._end(failure)

    def _connect(self, node_id: int) -> None:
        if node_id not in self._connecting:
            self._connecting.add(node_id)
            self._spawn(self._connect_to(node_id))

    async def _connect_to(self, node_id: int) -> None:
        attempts = 0
        try:
            while node_id in self._cluster.metadata.brokers and self._cluster.refusal is None:
                try:
                    await self._cluster.connection(node_id)
                    return
                except (ClientError, KafkaError):
                    await asyncio.sleep(self._cluster.backoff_s(attempts))
                    attempts += 1
                await self._try_refresh(())
        finally:
            self._connecting.discard(node_id)
            self.wake()

    def _refresh_metadata(self, topics: list[str] | None = None) -> None:
        if not self._refreshing:
            self._refreshing = True
            self._spawn(self._refresh(topics or []))

    async def _refresh(self, topics: list[str]) -> None:
        try:
            await self._try_refresh(topics)
            # Limits refreshes to one per backoff: an election or a topic creation takes some time.
            await asyncio.sleep(self._cluster.backoff_s(0))
        finally:
            self._refreshing = False
            self.wake()

    async def _try_refresh(self, topics: "list[str] | tuple[()]") -> None:
        """Refreshes the metadata. Ignores errors: if they persist, the delivery timeout fails the records."""
        try:
            await self._cluster.refresh(topics)
        except (ClientError, KafkaError):
            return

    async def _init_producer_id(self) -> None:
        """Requests a producer id, with retries. The delivery timeout applies to records that wait for it."""
        attempts = 0
        try:
            while self._accumulator.needs_producer_id and self._cluster.refusal is None:
                try:
                    self._accumulator.set_producer_id(*await self._identity.obtain())
                    return
                except KafkaError as error:
                    if not error.error_code.retriable:
                        self._fail_waiting(error)
                        return
                except ClientError:
                    self._fail_expired(self._now_ms())
                await asyncio.sleep(self._cluster.backoff_s(attempts))
                attempts += 1
        finally:
            self._initializing = False
            self.wake()

    def _fail_waiting(self, error: BaseException) -> None:
        for batch in self._accumulator.waiting_batches():
            self._fail(batch, error)
