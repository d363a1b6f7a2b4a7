"""Metadata snapshots with any number of partitions."""

from odradek.broker.metadata.image.image import MetadataDelta, MetadataImage
from odradek.broker.metadata.image.replay import replay
from odradek.broker.metadata.log.snapshot import encode_snapshot
from odradek.protocol.messages.metadata_records import FeatureLevelRecord, PartitionRecord, TopicRecord
from odradek.protocol.messages.structure import Message

METADATA_VERSION = 30
PARTITIONS_OF_A_TOPIC = 100


def snapshot_of_partitions(count: int, broker_id: int, now_ms: int) -> bytes:
    """A snapshot with ``count`` partitions that a broker leads, in topics of :data:`PARTITIONS_OF_A_TOPIC`."""
    image = MetadataImage()
    records: list[Message] = [FeatureLevelRecord("metadata.version", METADATA_VERSION)]
    for number in range(0, count, PARTITIONS_OF_A_TOPIC):
        topic_id = (1 + number).to_bytes(16, "big")
        records.append(TopicRecord(f"many{number}", topic_id))
        records.extend(
            PartitionRecord(index, topic_id, [broker_id], [broker_id], leader=broker_id, directories=[bytes(16)])
            for index in range(min(PARTITIONS_OF_A_TOPIC, count - number))
        )
    for record in records:
        replay(image, record, MetadataDelta(), 2 if isinstance(record, PartitionRecord) else 0)
    return b"".join(encode_snapshot(image, 0, None, 1, now_ms))
