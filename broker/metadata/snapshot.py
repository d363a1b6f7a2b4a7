"""The image as a snapshot: what a start reads instead of everything that was ever written.

    control batch   SnapshotHeader, and under kraft.version 1 KRaftVersion and KRaftVoters
    data batches    features, brokers, controllers, topics with their partitions, configs, quotas, producer ids, and the
                    records that are kept as they were
    control batch   SnapshotFooter

Pure. Replaying a snapshot's records gives the image that it was made of. Source: MetadataImage.write,
RecordsSnapshotWriter; KIP-630.
"""

from collections.abc import Iterator

from ...protocol.codec import encode
from ...protocol.messages import metadata_records as records
from ...protocol.messages.snapshots import KRaftVersionRecord, SnapshotFooterRecord, SnapshotHeaderRecord
from ...protocol.messages.structure import Message
from ...protocol.records.builder import BatchBuilder
from ...protocol.records.control import ControlRecordType, encode_control_batch
from .features import DIRECTORY_ASSIGNMENT_SUPPORTED, METADATA_VERSION, record_version
from .image import BrokerRegistration, MetadataImage, PartitionImage
from .records import encode_record

BATCH_BYTES = 1 << 20


def image_records(image: MetadataImage) -> Iterator[Message]:
    """Records that make the image, but for those that it keeps as they were."""
    yield records.FeatureLevelRecord(METADATA_VERSION, image.metadata_version)
    for name, level in image.features.items():
        if name != METADATA_VERSION:
            yield records.FeatureLevelRecord(name, level)
    for broker in image.brokers.values():
        yield _broker_record(broker)
    has_directories = image.metadata_version >= DIRECTORY_ASSIGNMENT_SUPPORTED
    for topic in image.topics_by_id.values():
        yield records.TopicRecord(topic.name, topic.topic_id)
        for index, partition in topic.partitions.items():
            yield _partition_record(topic.topic_id, index, partition, has_directories)
    for (resource_type, resource_name), configs in image.configs.items():
        for name, value in configs.items():
            yield records.ConfigRecord(resource_type, resource_name, name, value)
    for entity, quotas in image.client_quotas.items():
        for key, quota in quotas.items():
            parts = [records.ClientQuotaRecord.EntityData(kind, name) for kind, name in entity]
            yield records.ClientQuotaRecord(parts, key, quota)
    if image.next_producer_id:
        yield records.ProducerIdsRecord(-1, -1, image.next_producer_id)


def _broker_record(broker: BrokerRegistration) -> records.RegisterBrokerRecord:
    return records.RegisterBrokerRecord(
        broker_id=broker.broker_id,
        is_migrating_zk_broker=broker.is_migrating_zk_broker,
        incarnation_id=broker.incarnation_id,
        broker_epoch=broker.epoch,
        end_points=[
            records.RegisterBrokerRecord.BrokerEndpoint(one.name, one.host, one.port, one.security_protocol)
            for one in broker.endpoints.values()
        ],
        features=[
            records.RegisterBrokerRecord.BrokerFeature(name, lowest, highest)
            for name, (lowest, highest) in broker.features.items()
        ],
        rack=broker.rack,
        fenced=broker.fenced,
        in_controlled_shutdown=broker.in_controlled_shutdown,
        log_dirs=list(broker.directories),
        cordoned_log_dirs=list(broker.cordoned_directories) or None,
    )


def _partition_record(
    topic_id: bytes, index: int, partition: PartitionImage, has_directories: bool
) -> records.PartitionRecord:
    return records.PartitionRecord(
        partition_id=index,
        topic_id=topic_id,
        replicas=list(partition.replicas),
        isr=list(partition.isr),
        removing_replicas=list(partition.removing_replicas),
        adding_replicas=list(partition.adding_replicas),
        leader=partition.leader,
        leader_recovery_state=partition.leader_recovery_state,
        leader_epoch=partition.leader_epoch,
        partition_epoch=partition.partition_epoch,
        directories=list(partition.directories) if has_directories else [],
        eligible_leader_replicas=list(partition.eligible_leader_replicas) or None,
        last_known_elr=list(partition.last_known_elr) or None,
    )


def _values(image: MetadataImage) -> Iterator[bytes]:
    for record in image_records(image):
        yield encode_record(record, record_version(record, image.metadata_version))
    for kept in image.kept.values():
        yield encode_record(kept.message, kept.version)


def encode_snapshot(image: MetadataImage, kraft_version: int, voters: bytes | None, epoch: int, now_ms: int) -> bytes:
    """The whole file. ``voters``: the value of the KRaftVoters record in force, which the next start must find here."""
    header = SnapshotHeaderRecord(last_contained_log_timestamp=image.last_timestamp_ms)
    control = [(ControlRecordType.SNAPSHOT_HEADER, encode(header, 0))]
    if kraft_version and voters is not None:
        control.append((ControlRecordType.KRAFT_VERSION, encode(KRaftVersionRecord(0, kraft_version), 0)))
        control.append((ControlRecordType.KRAFT_VOTERS, voters))
    parts = [encode_control_batch(control, timestamp=now_ms, base_offset=0, partition_leader_epoch=epoch)]
    builder = BatchBuilder(base_offset=len(control), partition_leader_epoch=epoch)
    for value in _values(image):
        if builder.size_in_bytes > BATCH_BYTES:
            parts.append(builder.build())
            builder = BatchBuilder(base_offset=builder.last_offset + 1, partition_leader_epoch=epoch)
        builder.append(now_ms, None, value)
    parts.append(builder.build())
    footer = [(ControlRecordType.SNAPSHOT_FOOTER, encode(SnapshotFooterRecord(), 0))]
    parts.append(
        encode_control_batch(
            footer, timestamp=now_ms, base_offset=builder.last_offset + 1, partition_leader_epoch=epoch
        )
    )
    return b"".join(parts)
