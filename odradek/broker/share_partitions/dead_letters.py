"""Writes the dead letters of share groups (KIP-1191).

Shell. Owns: a queue of letters for each share partition. Never does: deciding which record gets a letter. Invariants:
the letters of a share partition are written in the order in which its records were given up; records are archived
after their letters were written, or can't be written. Source: ``ShareGroupDLQManager``. Other than there, one request
creates the topic for all letters that wait, letters keep their order, too few in-sync replicas are waited for, and a
topic is never its own dead letter queue.
"""

import asyncio
import logging
from collections import deque
from collections.abc import Awaitable, Callable
from functools import partial

from odradek.protocol.common.steps import Steps
from odradek.protocol.errors import ErrorCode, KafkaError, error_of
from odradek.protocol.records.record import iterate_records
from odradek.storage.log.read_result import in_memory

from ..config.server_config import ServerConfig
from ..coordinator.partition_log import ACKS_ALL, PartitionLog
from ..metadata.image.image import MetadataImage, ResourceType, TopicImage
from ..metadata.publisher.controller_link import TopicCreator
from ..metrics.counts import ShareCounts
from ..replicas.partitions import Partitions
from ..replicas.record_work import RecordWork
from ..timers.work import KindOfWork
from .dead_letter_records import Content, LetterSource, letter_batches
from .live import LiveSharePartition
from .reading import whole_batches
from .share_partition import Cause

logger = logging.getLogger(__name__)

LETTERS = KindOfWork("dead-letters", "writes the dead letters of share groups")

ENABLE_KEY = "errors.deadletterqueue.group.enable"
CREATE_KEY = "errors.deadletterqueue.auto.create.topics.enable"
PREFIX_KEY = "errors.deadletterqueue.topic.name.prefix"
TOPIC_CONFIGS = {ENABLE_KEY: "true", "message.timestamp.type": "CreateTime"}
ATTEMPTS = 6
FIRST_PAUSE_S = 1.0
LONGEST_PAUSE_S = 30.0
CREATION_PAUSE_S = 0.1
"""How often a topic that is being created is looked for."""
CREATION_LOOKS = 300
READ_BYTES = 1 << 20
RETRIED = frozenset(
    {
        ErrorCode.NOT_LEADER_OR_FOLLOWER,
        ErrorCode.LEADER_NOT_AVAILABLE,
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
        ErrorCode.NETWORK_EXCEPTION,
        ErrorCode.REQUEST_TIMED_OUT,
        ErrorCode.NOT_ENOUGH_REPLICAS,
        ErrorCode.NOT_ENOUGH_REPLICAS_AFTER_APPEND,
        ErrorCode.KAFKA_STORAGE_ERROR,
    }
)

Produce = Callable[[int, str, int, bytes], Awaitable[ErrorCode]]
"""Has another broker append a batch: broker id, topic, partition, batch."""


class DeadLetters:
    """Writes letters, one queue for each share partition at a time."""

    def __init__(
        self,
        image: Callable[[], MetadataImage],
        config: Callable[[], ServerConfig],
        node_id: int,
        partitions: Partitions,
        topics: TopicCreator,
        record_work: RecordWork,
        clock_ms: Callable[[], int],
        produce: Produce | None,
        counts: ShareCounts,
    ) -> None:
        """``image`` and ``config`` return the present ones. ``clock_ms``: wall clock, milliseconds since the epoch.
        ``produce`` writes to partitions that other brokers lead; None for a broker without others.
        ``counts``: the metrics."""
        self._image = image
        self._config = config
        self._node_id = node_id
        self._partitions = partitions
        self._topics = topics
        self._record_work = record_work
        self._clock_ms = clock_ms
        self._produce = produce
        self._queues: dict[LiveSharePartition, deque[Cause]] = {}
        self._counts = counts

    def write(self, share: LiveSharePartition, causes: list[Cause]) -> None:
        """Writes letters after those of the same share partition that still wait."""
        queue = self._queues.get(share)
        if queue is not None:
            queue.extend(causes)
            return
        self._queues[share] = deque(causes)
        LETTERS.task(self._run(share), share.key.coordinator_key)

    async def _run(self, share: LiveSharePartition) -> None:
        queue = self._queues[share]
        try:
            while queue and share.is_active:
                cause = queue[0]
                try:
                    await self._deliver(share, cause)
                except KafkaError as error:
                    self._lost(share, cause, error.message or ErrorCode(error.error_code).name)
                except Exception as error:  # noqa: BLE001 - a bug must not keep the records from being archived
                    LETTERS.failed(share.key.coordinator_key, error)
                    self._lost(share, cause, repr(error))
                queue.popleft()
                share.letters_done(cause)
        finally:
            del self._queues[share]

    def _lost(self, share: LiveSharePartition, cause: Cause, why: str) -> None:
        self._counts.lost_letters += cause.last - cause.first + 1
        logger.warning(
            "%s: records %d to %d are archived without a dead letter: %s",
            share.key.coordinator_key,
            cause.first,
            cause.last,
            why,
        )

    async def _deliver(self, share: LiveSharePartition, cause: Cause) -> None:
        """Writes the letters of one cause. Raises KafkaError if they can't be written."""
        settings = share.settings()
        if not settings.dead_letter_topic:
            return  # the group has given up its queue meanwhile
        source = LetterSource(share.key.group_id, share.partition.topic, share.key.partition)
        topic = await self._topic(settings.dead_letter_topic, source)
        index = source.partition % len(topic.partitions)
        own = self._image().config_of(ResourceType.TOPIC, topic.name)
        max_bytes = int(own.get("max.message.bytes", self._config().get_int("message.max.bytes")))
        contents = await self._contents(share, cause, max_bytes) if settings.copies_record else {}
        for batch in letter_batches(source, cause, contents, max_bytes, self._clock_ms()):
            await self._append_with_retries(topic.name, index, batch)
        self._counts.letters += cause.last - cause.first + 1

    async def _topic(self, name: str, source: LetterSource) -> TopicImage:
        """The topic of the letters, which is created if that is enabled. Raises KafkaError."""
        config = self._config()
        if name == source.topic:
            raise KafkaError(ErrorCode.INVALID_REQUEST, f"topic {name!r} can't be its own dead letter queue")
        prefix = config.get_string(PREFIX_KEY)
        if not name.startswith(prefix):
            raise KafkaError(ErrorCode.INVALID_REQUEST, f"the name of topic {name!r} does not begin with {prefix!r}")
        for look in range(CREATION_LOOKS):
            topic = self._image().topics_by_name.get(name)
            if topic is not None:
                if self._image().config_of(ResourceType.TOPIC, name).get(ENABLE_KEY) != "true":
                    raise KafkaError(ErrorCode.INVALID_REQUEST, f"topic {name!r} does not have {ENABLE_KEY}=true")
                return topic
            if not config.get_boolean(CREATE_KEY):
                raise KafkaError(
                    ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"topic {name!r} does not exist, and {CREATE_KEY} is false"
                )
            try:
                self._topics.ensure(name, self._clock_ms(), TOPIC_CONFIGS)
            except KafkaError as error:
                if error.error_code != ErrorCode.COORDINATOR_NOT_AVAILABLE:
                    raise
                if look:
                    await asyncio.sleep(CREATION_PAUSE_S)
                else:
                    await asyncio.sleep(0)
        raise KafkaError(ErrorCode.REQUEST_TIMED_OUT, f"topic {name!r} was not created in time")

    # --- the original records

    async def _contents(self, share: LiveSharePartition, cause: Cause, max_bytes: int) -> dict[int, Content]:
        """Keys and values of records that get letters; none if the log has lost the first one. Raises KafkaError."""
        contents: dict[int, Content] = {}
        log = share.partition.log
        offset = cause.first
        while offset <= cause.last:
            if offset < log.log_start_offset:
                return {}
            read = log.read(offset, READ_BYTES, upper_bound_offset=log.high_watermark, min_one_batch=True)
            data = in_memory(read.data)
            found = whole_batches(data)
            if not found:
                break
            decoded = await self._decoded(partial(_contents_in, data, cause, max_bytes), share)
            if offset == cause.first and cause.first not in decoded:
                return {}
            contents |= decoded
            offset = found[-1][1].last_offset + 1
        return contents

    async def _decoded(
        self, decode: Callable[[], Steps[dict[int, Content]]], share: LiveSharePartition
    ) -> dict[int, Content]:
        future: asyncio.Future[dict[int, Content] | KafkaError] = asyncio.get_running_loop().create_future()
        self._record_work.run(share.key, decode(), future.set_result, lambda: True)
        result = await future
        if isinstance(result, KafkaError):
            raise result
        return result

    # --- appending

    async def _append_with_retries(self, topic: str, index: int, batch: bytes) -> None:
        pause_s = FIRST_PAUSE_S
        error = ErrorCode.NONE
        for attempt in range(ATTEMPTS):
            if attempt:
                await asyncio.sleep(pause_s)
                pause_s = min(2 * pause_s, LONGEST_PAUSE_S)
            error = await self._append(topic, index, batch)
            if error not in RETRIED:
                break
        if error:
            raise KafkaError(error, f"can't write to {topic}-{index}: {error.name}")

    async def _append(self, topic: str, index: int, batch: bytes) -> ErrorCode:
        placed = self._image().partition(topic, index)
        if placed is None:
            return ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        if placed.leader == self._node_id:
            return await self._append_here(topic, index, batch)
        if placed.leader < 0 or self._produce is None:
            return ErrorCode.LEADER_NOT_AVAILABLE
        return await self._produce(placed.leader, topic, index, batch)

    async def _append_here(self, topic: str, index: int, batch: bytes) -> ErrorCode:
        partition = self._partitions.find(topic, index)
        if partition is None:
            return ErrorCode.NOT_LEADER_OR_FOLLOWER
        log = PartitionLog(partition, ACKS_ALL)
        durable: asyncio.Future[ErrorCode] = asyncio.get_running_loop().create_future()

        def settle(error: ErrorCode) -> None:
            if not durable.done():
                durable.set_result(error)

        try:
            log.append(batch, self._clock_ms())
            log.when_durable(settle)
        except KafkaError as error:
            return error_of(error.error_code)
        try:
            async with asyncio.timeout(self._config().get_int("request.timeout.ms") / 1_000):
                return await durable
        except TimeoutError:
            return ErrorCode.REQUEST_TIMED_OUT


def _contents_in(data: bytes, cause: Cause, max_bytes: int) -> Steps[dict[int, Content]]:
    """Keys and values of the wanted records in batches that were read. Decompresses at most ``max_bytes`` of a batch,
    as in Kafka: a larger one is not copied."""
    contents: dict[int, Content] = {}
    for position, header in whole_batches(data):
        if header.last_offset < cause.first or header.base_offset > cause.last or header.is_control:
            continue
        try:
            for record in iterate_records(data, header, position, max_decompressed_size=max_bytes):
                if cause.first <= record.offset <= cause.last:
                    contents[record.offset] = (record.key, record.value)
        except KafkaError as error:
            logger.warning("records %d to %d are not copied: %s", header.base_offset, header.last_offset, error.message)
        yield
    return contents
