"""Checks the batches of a Produce request, and finds their partitions.

Owns: the checks before a log sees a batch. Never does: appending. Source: ``KafkaApis.handleProduceRequest``,
``ProduceRequest.validateRecords``.
"""

from collections.abc import Sequence
from contextlib import suppress

from odradek.protocol.errors import ErrorCode, KafkaError
from odradek.protocol.messages.produce import ProduceRequest
from odradek.protocol.names.internal_topics import is_internal
from odradek.protocol.records.batch import LOG_OVERHEAD, TRANSACTIONAL_FLAG, BatchHeader, Buffer
from odradek.protocol.records.errors import CorruptRecordError
from odradek.protocol.records.validation import read_produced_header

from ..dispatch.request import RequestContext
from ..replicas.partition import Partition
from ..replicas.partitions import Partitions
from .transaction import producer_of

ADMIN_CLIENT_ID = "__admin_client"
"""The client id that may write to internal topics (``AdminUtils.ADMIN_CLIENT_ID``)."""

TopicData = ProduceRequest.TopicProduceData
PartitionData = ProduceRequest.PartitionProduceData
Batch = tuple[BatchHeader, Buffer] | KafkaError
"""A batch with its header, or why it is refused."""
Batches = list[tuple[TopicData, PartitionData, Batch]]
BatchesByPartition = dict[tuple[str, bytes, int], tuple[TopicData, PartitionData, Batch]]
"""By topic name, topic id and partition."""


def check(
    request: ProduceRequest,
    topic: TopicData,
    partition_data: Sequence[PartitionData],
    version: int,
    batches: BatchesByPartition,
) -> None:
    """Adds the batch of each of these partitions of a topic to ``batches``, or its error.

    Raises KafkaError for problems that fail the whole request, as in Kafka: an invalid batch, or transactional data
    without a transactional id.
    """
    for data in partition_data:
        records = b"" if data.records is None else data.records
        batch: Batch
        try:
            header = read_produced_header(records, version)
        except CorruptRecordError:
            raise
        except KafkaError as error:
            batch = error.with_traceback(None)  # the traceback holds this frame: a cycle
        else:
            if header.attributes & TRANSACTIONAL_FLAG and request.transactional_id is None:
                raise KafkaError(ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED)
            size = header.batch_length + LOG_OVERHEAD
            # Cuts off what follows the first batch: it can only be an incomplete batch. Kafka does the same.
            batch = (header, records if size == len(records) else records[:size])
        # If a partition is named twice, the last batch counts, as in Kafka.
        batches[topic.name, topic.topic_id, data.index] = (topic, data, batch)


def transactional_producer(request: ProduceRequest, batches: Batches) -> tuple[int, int] | None:
    """The id and epoch of the producer of the transactional batches; None without any. Raises KafkaError if they come
    from several producers.
    """
    if request.transactional_id is None:
        return None
    return producer_of(batch[0] for *_, batch in batches if not isinstance(batch, KafkaError))


def accept(
    partitions: Partitions,
    request: ProduceRequest,
    topic: TopicData,
    data: PartitionData,
    batch: Batch,
    context: RequestContext,
) -> tuple[Partition, BatchHeader, Buffer]:
    """The partition, the header of its batch, and the batch. Raises KafkaError if the batch is refused here, before the
    log checks it.
    """
    name = topic.name
    if context.api_version >= 13:
        name = partitions.topic_name(topic.topic_id) or ""
        if not name:
            raise KafkaError(ErrorCode.UNKNOWN_TOPIC_ID)
    partition = partitions.get(name, data.index)
    if isinstance(batch, KafkaError):
        raise batch
    header, records = batch
    if request.acks not in (-1, 0, 1):
        raise KafkaError(ErrorCode.INVALID_REQUIRED_ACKS)
    if is_internal(name) and context.client_id != ADMIN_CLIENT_ID:
        raise KafkaError(ErrorCode.INVALID_TOPIC_EXCEPTION, f"Cannot append to internal topic {name}")
    if partition.leading is not None and request.acks == -1:
        partition.leading.isr.enough_in_sync()
    return partition, header, records


def accepted(
    partitions: Partitions, request: ProduceRequest, batches: Batches, context: RequestContext
) -> list[Partition]:
    """The partitions of acceptable batches. Skips the others: they get their errors later, in :func:`accept`."""
    found = []
    for topic, data, batch in batches:
        with suppress(KafkaError):
            partition, _, _ = accept(partitions, request, topic, data, batch, context)
            found.append(partition)
    return found


def copied(batches: Batches) -> Batches:
    """Copies the batches, so that they can be appended after the request's buffer is gone."""
    return [
        (topic, data, batch if isinstance(batch, KafkaError) else (batch[0], memoryview(bytes(batch[1]))))
        for topic, data, batch in batches
    ]
