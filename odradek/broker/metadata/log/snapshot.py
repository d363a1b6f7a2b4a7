"""The image as a snapshot, which a start reads instead of the whole log.

    control batch   SnapshotHeader, and under kraft.version 1 KRaftVersion and KRaftVoters
    data batches    features, brokers, controllers, topics with their partitions, configs, quotas, producer ids, ACLs,
                    SCRAM credentials, delegation tokens: Kafka's order
    control batch   SnapshotFooter

Pure. Replaying a snapshot's records gives the same image. The batches are small: encoding one takes about 2 ms of the
event loop (8 us a record). If the finalised metadata.version was lowered and can't represent the image, no snapshot is
made, and the log keeps all records. Source: MetadataImage.write, RecordsSnapshotWriter, UnwritableMetadataException;
KIP-630.
"""

from collections.abc import Iterator

from odradek.protocol.codec import encode
from odradek.protocol.errors import ProtocolError
from odradek.protocol.internal_records.metadata_serde import encode_record
from odradek.protocol.messages import metadata_records as records
from odradek.protocol.messages.snapshots import KRaftVersionRecord, SnapshotFooterRecord, SnapshotHeaderRecord
from odradek.protocol.messages.structure import Message
from odradek.protocol.records.builder import BatchBuilder
from odradek.protocol.records.control import ControlRecordType, encode_control_batch

from ..image.delegation_tokens import DelegationToken
from ..image.features import (
    CONTROLLER_REGISTRATION_SUPPORTED,
    CORDONED_DIRECTORIES_SUPPORTED,
    DELEGATION_TOKENS_SUPPORTED,
    DIRECTORY_ASSIGNMENT_SUPPORTED,
    METADATA_VERSION,
    SCRAM_SUPPORTED,
    record_version,
)
from ..image.image import DIRECTORY_MIGRATING, BrokerRegistration, MetadataImage, PartitionImage

BATCH_BYTES = 24 << 10
"""A batch is closed at this size, which ends a step of the encoding. Kafka reads batches up to 8 MiB."""


class UnwritableMetadataError(Exception):
    """The finalised metadata.version can't represent the image (Kafka's UnwritableMetadataException)."""

    def __init__(self, metadata_version: int, loss: str) -> None:
        """``loss``: the data that a snapshot would lose."""
        super().__init__(
            f"metadata.version {metadata_version} can't represent {loss}; raise it: `odradek features upgrade`"
        )


def image_records(image: MetadataImage) -> Iterator[tuple[Message, int]]:
    """The records that make the image, with their versions, in Kafka's order.

    Raises UnwritableMetadataError.
    """
    _check_no_loss(image)
    for record in _served_before_topics(image):
        yield record, record_version(record, image.metadata_version)
    yield from image.kept_records(records.RegisterControllerRecord)
    for record in _records_from_topics(image):
        yield record, record_version(record, image.metadata_version)
    for acl_id, acl in image.acls.items():
        yield records.AccessControlEntryRecord(acl_id, *acl), 0
    for (name, mechanism), credential in image.scram_credentials.items():
        yield records.UserScramCredentialRecord(name, mechanism, *credential), 0
    for token in image.delegation_tokens.values():
        yield token_record(token), 0


def token_record(token: DelegationToken) -> records.DelegationTokenRecord:
    """The record that makes a token (``DelegationTokenData.toRecord``)."""
    return records.DelegationTokenRecord(
        token.owner,
        token.requester,
        list(token.renewers),
        token.issue_ms,
        token.max_ms,
        token.expiry_ms,
        token.token_id,
    )


def _check_no_loss(image: MetadataImage) -> None:
    """Raises UnwritableMetadataError for data that records of an older version would silently lose."""
    level = image.metadata_version
    if level < CORDONED_DIRECTORIES_SUPPORTED and any(broker.cordoned_directories for broker in image.brokers.values()):
        raise UnwritableMetadataError(level, "the cordoned log directories of one or more brokers")
    if level < DELEGATION_TOKENS_SUPPORTED and image.delegation_tokens:
        raise UnwritableMetadataError(level, "delegation tokens")
    if level < SCRAM_SUPPORTED and image.scram_credentials:
        raise UnwritableMetadataError(level, "SCRAM credentials")
    if level < CONTROLLER_REGISTRATION_SUPPORTED and any(image.kept_records(records.RegisterControllerRecord)):
        raise UnwritableMetadataError(level, "controller registration data")


def _check_directories(image: MetadataImage, partition: PartitionImage) -> None:
    if any(directory != DIRECTORY_MIGRATING for directory in partition.directories):
        loss = "the directory assignment state of one or more replicas"
        raise UnwritableMetadataError(image.metadata_version, loss)


def _served_before_topics(image: MetadataImage) -> Iterator[Message]:
    yield records.FeatureLevelRecord(METADATA_VERSION, image.metadata_version)
    for name, level in image.features.items():
        if name != METADATA_VERSION:
            yield records.FeatureLevelRecord(name, level)
    # Kafka 4 ignores this record. It is kept for Kafka 3.9, whose directory this may be.
    for kept, _ in image.kept_records(records.ZkMigrationStateRecord):
        yield kept
    for broker in image.brokers.values():
        yield broker_record(broker, image.metadata_version)


def _records_from_topics(image: MetadataImage) -> Iterator[Message]:
    has_directories = image.metadata_version >= DIRECTORY_ASSIGNMENT_SUPPORTED
    for topic in image.topics_by_id.values():
        yield records.TopicRecord(topic.name, topic.topic_id)
        for index, partition in topic.partitions.items():
            if not has_directories:
                _check_directories(image, partition)
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


def broker_record(broker: BrokerRegistration, metadata_version: int) -> records.RegisterBrokerRecord:
    """The record that makes a registration what it is."""
    return records.RegisterBrokerRecord(
        broker_id=broker.broker_id,
        is_migrating_zk_broker=broker.is_migrating_zk_broker,
        incarnation_id=broker.incarnation_id,
        broker_epoch=broker.epoch,
        end_points=[
            records.RegisterBrokerRecord.BrokerEndpoint(
                endpoint.name, endpoint.host, endpoint.port, endpoint.security_protocol
            )
            for endpoint in broker.endpoints.values()
        ],
        features=[
            records.RegisterBrokerRecord.BrokerFeature(name, lowest, highest)
            for name, (lowest, highest) in broker.features.items()
        ],
        rack=broker.rack,
        fenced=broker.fenced,
        in_controlled_shutdown=broker.in_controlled_shutdown,
        log_dirs=list(broker.directories),
        cordoned_log_dirs=(
            list(broker.cordoned_directories)
            if broker.has_reported_cordoned and metadata_version >= CORDONED_DIRECTORIES_SUPPORTED
            else None
        ),
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


def encode_snapshot(
    image: MetadataImage, kraft_version: int, voters: bytes | None, epoch: int, now_ms: int
) -> Iterator[bytes]:
    """The file, batch by batch. The image must not change during this: pass a ``MetadataImage.view``.

    ``voters``: the value of the current KRaftVoters record, which the next start needs. Raises UnwritableMetadataError.
    """
    header = SnapshotHeaderRecord(last_contained_log_timestamp=max(image.last_timestamp_ms, 0))
    control = [(ControlRecordType.SNAPSHOT_HEADER, encode(header, 0))]
    if kraft_version:
        control.append((ControlRecordType.KRAFT_VERSION, encode(KRaftVersionRecord(0, kraft_version), 0)))
        if voters is not None:
            control.append((ControlRecordType.KRAFT_VOTERS, voters))
    yield encode_control_batch(control, timestamp=now_ms, base_offset=0, partition_leader_epoch=epoch)
    builder = BatchBuilder(base_offset=len(control), partition_leader_epoch=epoch)
    for record, version in image_records(image):
        if builder.size_in_bytes > BATCH_BYTES:
            yield builder.build()
            builder = BatchBuilder(base_offset=builder.last_offset + 1, partition_leader_epoch=epoch)
        try:
            value = encode_record(record, version)
        except ProtocolError as error:
            raise UnwritableMetadataError(image.metadata_version, f"a {record.NAME}: {error}") from error
        builder.append(now_ms, None, value)
    yield builder.build()
    footer = [(ControlRecordType.SNAPSHOT_FOOTER, encode(SnapshotFooterRecord(), 0))]
    yield encode_control_batch(
        footer, timestamp=now_ms, base_offset=builder.last_offset + 1, partition_leader_epoch=epoch
    )
