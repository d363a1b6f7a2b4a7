"""A producer: batches records by partition and sends them, by default idempotently with acks=all.

Owns: configuration, waiting for memory, start and stop. The queues are ``accumulator.py`` (pure), the sending is
``sender.py``, transactions ``transactions.py``. Defaults are those of Kafka 4's Java producer.
Source: ``org.apache.kafka.clients.producer.KafkaProducer``.
"""

import asyncio
import logging
import random
from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager
from types import TracebackType
from typing import TYPE_CHECKING, Self

from odradek.protocol.common.lazy_imports import lazy_imports
from odradek.protocol.common.wall_clock import clock_ms
from odradek.protocol.errors import ErrorCode, KafkaError
from odradek.protocol.records.compression import COMPRESSION_NAMES, CompressionType
from odradek.protocol.records.varint import MAX_INT32

from ..cluster.cluster import Cluster, ClusterTimes
from ..cluster.metadata import TopicMetadata
from ..errors import BufferExhaustedError, ClientError, ClosedError, ConfigurationError, broker_error
from ..types import GroupMetadata, Header, OffsetAndMetadata, RecordMetadata, TopicPartition
from .accumulator import Accumulator
from .batches import (
    Part,
    PendingRecord,
    QueuedRecord,
    QueuedValues,
    SharedDelivery,
    record_size,
    values_size,
)
from .delivery import delivery
from .partitioner import PartitionChoice, Partitioner, StickyPartitioner
from .producer_identity import ProducerIdentity
from .sender import Sender, SenderConfig

with lazy_imports:
    from . import transactions

if TYPE_CHECKING:
    from ..security.secured import ConnectionSecurity
    from .transactions import Transactions

logger = logging.getLogger(__name__)


class Producer:
    """An asyncio producer. Times in ms, sizes in bytes; every argument has the name and default of Kafka's key."""

    _loop: asyncio.AbstractEventLoop
    """The event loop, from ``start`` on."""

    def __init__(
        self,
        bootstrap_servers: str | Sequence[str] = "localhost:9092",
        *,
        client_id: str = "odradek-producer",
        acks: str | int = "all",
        retries: int = MAX_INT32,
        compression_type: str = "none",
        batch_size: int = 16_384,
        linger_ms: float = 5,
        max_request_size: int = 1_048_576,
        buffer_memory: int = 33_554_432,
        enable_idempotence: bool | None = None,
        max_in_flight_requests_per_connection: int = 5,
        delivery_timeout_ms: float = 120_000,
        request_timeout_ms: float = 30_000,
        connection_timeout_ms: float = 10_000,
        max_block_ms: float = 60_000,
        retry_backoff_ms: float = 100,
        retry_backoff_max_ms: float = 1_000,
        metadata_max_age_ms: float = 300_000,
        send_buffer_bytes: int = -1,
        partitioner: Partitioner | None = None,
        partitioner_ignore_keys: bool = False,
        partitioner_adaptive_partitioning_enable: bool = True,
        transactional_id: str | None = None,
        transaction_timeout_ms: int = 60_000,
        security: "ConnectionSecurity | Mapping[str, str] | None" = None,
    ) -> None:
        """``enable_idempotence`` is on by default if ``acks`` and ``retries`` allow it. Raises ConfigurationError."""
        settings = delivery(
            acks,
            retries,
            max_in_flight_requests_per_connection,
            delivery_timeout_ms,
            enable_idempotence,
            transactional_id,
        )
        self._max_request_size, self._max_block_ms = max_request_size, max_block_ms
        self._cluster = Cluster(
            bootstrap_servers,
            client_id=client_id,
            times=ClusterTimes(
                request_timeout_ms, connection_timeout_ms, retry_backoff_ms, retry_backoff_max_ms, metadata_max_age_ms
            ),
            send_buffer_bytes=send_buffer_bytes,
            security=security,
        )
        self._accumulator = Accumulator(
            settings, batch_size=batch_size, linger_ms=linger_ms, buffer_memory=buffer_memory
        )
        sticky = StickyPartitioner(batch_size, random.Random().randrange)
        loads = self._accumulator.waiting_counts if partitioner_adaptive_partitioning_enable else None
        self._choice = PartitionChoice(sticky, loads, partitioner, ignores_keys=partitioner_ignore_keys)
        config = SenderConfig(settings, compression_of(compression_type), max_request_size, request_timeout_ms)
        self._transactions = self._transactions_of(transactional_id, transaction_timeout_ms)
        identity = self._transactions or ProducerIdentity(self._cluster)
        self._sender = Sender(self._cluster, self._accumulator, config, identity)
        self._running = False
        self._is_full = False  # whether callers wait for memory; later ones then wait, too, even if theirs is free

    def _transactions_of(self, transactional_id: str | None, timeout_ms: int) -> "Transactions | None":
        """Creates the transactions' object. The import is here because most producers use no transactions."""
        if transactional_id is None:
            return None
        return transactions.Transactions(
            self._cluster,
            self._accumulator,
            transactional_id,
            transaction_timeout_ms=timeout_ms,
            max_block_ms=self._max_block_ms,
        )

    async def start(self) -> None:
        """Connects to the cluster and starts the sender. Raises NoBrokersAvailableError."""
        try:
            await self._cluster.start()
        except BaseException:
            await self._cluster.close()
            raise
        self._sender.start()
        self._loop = asyncio.get_running_loop()
        self._running = True

    async def stop(self, *, flush: bool = True) -> None:
        """Sends queued records (unless ``flush`` is False) and closes; records not sent fail with ClosedError.

        An open transaction is aborted.
        """
        try:
            if self._running and self._transactions is not None and self._transactions.is_open:
                try:
                    await self._transactions.abort()
                except (KafkaError, ClientError) as error:
                    logger.warning(
                        "could not abort the open transaction; the broker aborts it when it times out: %s", error
                    )
            elif flush and self._running:
                await self.flush()
        finally:
            self._running = False
            await self._sender.stop()
            await self._cluster.close()

    async def __aenter__(self) -> Self:
        """Starts."""
        await self.start()
        return self

    async def __aexit__(
        self, exc_type: type[BaseException] | None, exc: BaseException | None, traceback: TracebackType | None
    ) -> None:
        """Stops; queued records are sent unless the block was cancelled or interrupted."""
        await self.stop(flush=exc_type is None or issubclass(exc_type, Exception))

    async def send(
        self,
        topic: str,
        value: bytes | None = None,
        key: bytes | None = None,
        *,
        partition: int | None = None,
        timestamp_ms: int | None = None,
        headers: Iterable[Header] = (),
    ) -> asyncio.Future[RecordMetadata]:
        """Queues a record. The future returns its RecordMetadata, or raises KafkaError, DeliveryTimeoutError.

        The call itself raises KafkaError if the record is larger than ``max_request_size``, or if the topic or
        partition does not exist after ``max_block_ms``; BufferExhaustedError if ``buffer_memory`` stays full that long.
        """
        for part in (key, value):
            if part is not None and not isinstance(part, bytes):
                raise TypeError(f"key and value must be bytes or None, not {type(part).__name__}")
        header_list = list(headers)
        size = record_size(key, value, header_list)
        metadata = await self._ready(topic, partition, size)
        timestamp = clock_ms() if timestamp_ms is None else timestamp_ms
        record: PendingRecord = (timestamp, key, value, header_list)
        future: asyncio.Future[RecordMetadata] = self._loop.create_future()
        self._queue(metadata, partition, key, QueuedRecord(record, future), size)
        return future

    async def send_values(
        self, topic: str, values: Sequence[bytes], *, partition: int | None = None, timestamp_ms: int | None = None
    ) -> asyncio.Future[RecordMetadata]:
        """Queues records without keys and headers together, at a small part of the cost of ``send`` for each.

        They are written to one partition, next to each other, with the same timestamp; ``batch_size`` and ``linger_ms``
        apply as to one record. Together they must fit ``max_request_size``. The future returns the RecordMetadata of
        the first record. Raises ValueError without values, and the errors of ``send``.
        """
        if not values:
            raise ValueError("send_values needs at least one value")
        if set(map(type, values)) != {bytes}:
            raise TypeError("values must be bytes")
        size, value_size = values_size(values)
        metadata = await self._ready(topic, partition, size)
        timestamp = clock_ms() if timestamp_ms is None else timestamp_ms
        future: asyncio.Future[RecordMetadata] = self._loop.create_future()
        part = QueuedValues(timestamp, values, len(values), size, value_size, SharedDelivery(future))
        self._queue(metadata, partition, None, part, size)
        return future

    def _queue(self, topic: TopicMetadata, partition: int | None, key: bytes | None, part: Part, size: int) -> None:
        """Chooses the partition, unless one is given, and queues records of at most ``size`` bytes."""
        if partition is None:
            partition = self._choice.partition(topic.name, key, size, topic.numbers, topic.available)
        place = TopicPartition(topic.name, partition)
        if self._transactions is not None:
            self._transactions.use(place)
        if self._accumulator.append(place, part, size, self._loop.time() * 1000):
            self._sender.wake()

    async def send_and_wait(
        self,
        topic: str,
        value: bytes | None = None,
        key: bytes | None = None,
        *,
        partition: int | None = None,
        timestamp_ms: int | None = None,
        headers: Iterable[Header] = (),
    ) -> RecordMetadata:
        """Sends a record and waits for its acknowledgement; errors as ``send`` and its future."""
        future = await self.send(topic, value, key, partition=partition, timestamp_ms=timestamp_ms, headers=headers)
        return await future

    async def _ready(self, topic: str, partition: int | None, size: int) -> TopicMetadata:
        """Waits for the topic's metadata and for room of ``size`` bytes. Raises the errors of ``send``."""
        if not self._running:
            raise ClosedError("the producer is not running; use 'async with' or call start()")
        self._cluster.raise_refusal()
        if size > self._max_request_size:
            raise broker_error(
                ErrorCode.MESSAGE_TOO_LARGE,
                f"record for '{topic}'",
                f"{size} bytes are more than max_request_size ({self._max_request_size})",
            )
        metadata = self._cluster.metadata.topics.get(topic)
        if metadata is None or metadata.error_code or (partition is not None and partition not in metadata.partitions):
            metadata = await self._topic(topic, partition)
        if self._is_full or not self._accumulator.has_room(size):
            await self._wait_for_room(size)
        return metadata

    async def flush(self) -> None:
        """Sends everything queued without lingering, and waits until each record is acknowledged or has failed."""
        futures: list[asyncio.Future[RecordMetadata]] = self._accumulator.pending_futures()
        if not futures:
            return
        with self._sender.flushing():
            await asyncio.wait(futures)

    # Transactions

    async def init_transactions(self) -> None:
        """Fences earlier producers of the transactional id and aborts their open transaction. Call it once, first.

        Raises ConfigurationError without a transactional_id, KafkaError, TransactionTimeoutError.
        """
        await self._transactional().initialize()

    async def begin_transaction(self) -> None:
        """Opens a transaction. Raises TransactionStateError, KafkaError."""
        await self._transactional().begin()

    async def send_offsets_to_transaction(
        self, offsets: Mapping[TopicPartition, OffsetAndMetadata | int], group: GroupMetadata | str
    ) -> None:
        """Commits a consumer's offsets (each the next one to read) with the transaction.

        ``group`` is the consumer's ``group_metadata()``. With a group id only, the coordinator cannot refuse offsets of
        a consumer that has lost its partitions. Raises KafkaError.
        """
        positions = {
            p: OffsetAndMetadata(offset) if isinstance(offset, int) else offset for p, offset in offsets.items()
        }
        metadata = GroupMetadata(group) if isinstance(group, str) else group
        await self._transactional().send_offsets(positions, metadata)

    async def commit_transaction(self) -> None:
        """Sends the queued records, waits for their acknowledgement and commits the transaction.

        Raises the error of a record that failed, KafkaError (PRODUCER_FENCED: another producer has the transactional
        id), TransactionTimeoutError (call it again).
        """
        await self._transactional().commit(self.flush)

    async def abort_transaction(self) -> None:
        """Drops queued records and aborts; required after an error. Raises the errors of ``commit_transaction``."""
        await self._transactional().abort()

    @asynccontextmanager
    async def transaction(self) -> AsyncIterator[None]:
        """Runs a block in a transaction, which is committed at its end, or aborted if it raises."""
        await self.begin_transaction()
        try:
            yield
            await self.commit_transaction()
        except BaseException:
            if self._transactional().may_abort:
                await self.abort_transaction()
            raise

    def _transactional(self) -> "Transactions":
        if self._transactions is None:
            raise ConfigurationError("transactions need a transactional_id")
        if not self._running:
            raise ClosedError("the producer is not running; use 'async with' or call start()")
        return self._transactions

    async def partitions_for(self, topic: str) -> list[int]:
        """The partition numbers of a topic. Raises KafkaError if it does not exist after ``max_block_ms``."""
        return list((await self._topic(topic, None)).partitions)

    async def _topic(self, topic: str, partition: int | None) -> TopicMetadata:
        self._cluster.wanted_topics.add(topic)
        metadata = await self._cluster.topic(topic, auto_create=True, timeout_ms=self._max_block_ms)
        if partition is not None and partition not in metadata.partitions:
            await self._cluster.refresh([topic])
            metadata = self._cluster.metadata.topics.get(topic, metadata)
            if partition not in metadata.partitions:
                raise broker_error(
                    ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
                    f"partition {partition} of '{topic}'",
                    f"the topic has partitions 0 to {len(metadata.partitions) - 1}",
                )
        return metadata

    async def _wait_for_room(self, size: int) -> None:
        """Waits until a share of the memory is free: to wait for each batch would cost as much as to send it."""
        self._is_full = True
        try:
            async with asyncio.timeout(self._max_block_ms / 1000):
                while True:
                    self._is_full = self._is_full and not self._accumulator.has_spare_room
                    if not self._is_full and self._accumulator.has_room(size):
                        return
                    await self._sender.room()
                    if not self._running:
                        raise ClosedError("the producer was stopped")
        except TimeoutError:
            if self._accumulator.has_room(size):
                return
            raise BufferExhaustedError(
                f"no room for {size} bytes within {self._max_block_ms:.0f} ms: buffer_memory is full of records "
                "that the brokers have not acknowledged"
            ) from None


def compression_of(name: str) -> CompressionType:
    """The CompressionType of a name (none, gzip, snappy, lz4, zstd). Raises ConfigurationError."""
    try:
        return CompressionType[name.upper()]
    except KeyError:
        known = ", ".join(COMPRESSION_NAMES)
        raise ConfigurationError(f"compression_type is {name!r}; it can be {known}") from None
