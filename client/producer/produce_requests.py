"""Batches in the form of a Produce request, and the answers of its response by partition. Pure.

Source: ``Sender.sendProduceRequest``, ``Sender.handleProduceResponse``.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping

from ...protocol.messages.produce import ProduceRequest, ProduceResponse
from ...protocol.records.builder import BatchBuilder
from ...protocol.records.compression import CompressionType
from ..types import TopicPartition
from .accumulator import ProducerBatch


def encoded_batch(batch: ProducerBatch, compression: CompressionType, is_transactional: bool) -> bytes:
    """The bytes of a batch, which are kept: a retry sends the same ones."""
    if batch.encoded is None:
        builder = BatchBuilder(
            compression=compression,
            producer_id=batch.producer_id,
            producer_epoch=batch.producer_epoch,
            base_sequence=batch.base_sequence,
            is_transactional=is_transactional,
        )
        builder.append_next(batch.records)
        batch.encoded = builder.build()
    return batch.encoded


def topic_data(batches: Iterable[ProducerBatch], ids: Mapping[str, bytes]) -> list[ProduceRequest.TopicProduceData]:
    """Encoded batches by topic. ``ids``: topic name -> topic id."""
    topics: dict[str, list[ProduceRequest.PartitionProduceData]] = defaultdict(list)
    for batch in batches:
        data = ProduceRequest.PartitionProduceData(index=batch.partition.partition, records=batch.encoded)
        topics[batch.partition.topic].append(data)
    return [
        ProduceRequest.TopicProduceData(name=name, topic_id=ids[name], partition_data=data)
        for name, data in topics.items()
    ]


def answers_by_partition(
    response: ProduceResponse, names: Mapping[bytes, str]
) -> dict[TopicPartition, ProduceResponse.PartitionProduceResponse]:
    """The answer for each partition. ``names``: topic id -> name, for versions that answer with ids."""
    return {
        TopicPartition(topic.name or names.get(topic.topic_id, ""), partition.index): partition
        for topic in response.responses
        for partition in topic.partition_responses
    }
