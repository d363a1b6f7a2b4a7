"""Encodes batches for a Produce request, and maps its response to partitions. Pure.

Source: ``Sender.sendProduceRequest``, ``Sender.handleProduceResponse``.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import TypedDict

from odradek.protocol.messages.produce import ProduceRequest, ProduceResponse
from odradek.protocol.records.builder import BatchBuilder, encode_values_batch
from odradek.protocol.records.compression import CompressionType

from ..types import TopicPartition
from .batches import PendingRecord, ProducerBatch, QueuedRecord, QueuedValues


class ProducerFields(TypedDict):
    """What a batch's header says of its compression and its producer."""

    compression: CompressionType
    producer_id: int
    producer_epoch: int
    base_sequence: int
    is_transactional: bool


def encoded_batch(batch: ProducerBatch, compression: CompressionType, is_transactional: bool) -> bytes:
    """Encodes a batch. The bytes are kept in the batch, so that a retry sends the same ones."""
    if batch.encoded is None:
        producer: ProducerFields = {
            "compression": compression,
            "producer_id": batch.producer_id,
            "producer_epoch": batch.producer_epoch,
            "base_sequence": batch.base_sequence,
            "is_transactional": is_transactional,
        }
        first = batch.parts[0]
        if len(batch.parts) == 1 and isinstance(first, QueuedValues):
            batch.encoded = encode_values_batch(first.timestamp_ms, first.encoded, first.count, **producer)
            return batch.encoded
        builder = BatchBuilder(**producer)
        records: list[PendingRecord] = []
        for part in batch.parts:
            if isinstance(part, QueuedRecord):
                records.append(part.record)
                continue
            builder.append_next(records)
            records.clear()
            builder.append_encoded(part.encoded, part.count, part.timestamp_ms)
        builder.append_next(records)
        batch.encoded = builder.build()
    return batch.encoded


def topic_data(batches: Iterable[ProducerBatch], ids: Mapping[str, bytes]) -> list[ProduceRequest.TopicProduceData]:
    """Groups encoded batches by topic for the request. ``ids``: topic name -> topic id."""
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
    """The response for each partition. ``names``: topic id -> name, for versions whose response has topic ids."""
    return {
        TopicPartition(topic.name or names.get(topic.topic_id, ""), partition.index): partition
        for topic in response.responses
        for partition in topic.partition_responses
    }
