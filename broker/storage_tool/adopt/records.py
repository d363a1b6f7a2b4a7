"""The metadata records of an adoption, as a controller would have written them for these topics.

Pure. Invariants: a partition's leader epoch is not below its log's (a Kafka would truncate); a partition has the
state that an unclean stop of its last leader leaves, so that the broker that starts next is elected before it serves
(Kafka elects no leader if an unknown broker is in sync), or, before KIP-966, that of a clean stop; a missing partition
belongs to a broker that does not exist, so that it has no leader and no broker creates an empty one.
Source: ReplicationControlManager, PartitionChangeBuilder; KIP-631, KIP-858, KIP-966.
"""

from collections.abc import Iterator, Mapping, Sequence

from ....protocol.messages.metadata_records import ConfigRecord, PartitionRecord, ProducerIdsRecord, TopicRecord
from ....protocol.messages.structure import Message
from ...metadata.features import DIRECTORY_ASSIGNMENT_SUPPORTED, ELR_SUPPORTED, LATEST_METADATA_VERSION
from ...metadata.image import DIRECTORY_UNASSIGNED, NO_LEADER, ResourceType
from .plan import HASHED_TOPICS, AdoptedTopic, AdoptionPlan

NO_BROKER_EPOCH = -1


def adoption_records(
    plan: AdoptionPlan,
    internal_configs: Mapping[str, Mapping[str, str]],
    next_producer_id: int,
    metadata_version: int = LATEST_METADATA_VERSION,
) -> list[Message]:
    """All records. ``internal_configs``: the configs of the broker's internal topics; producer ids are assigned from
    ``next_producer_id`` on, above those in the logs. ``metadata_version``: the level that was finalised when the
    directory was formatted, so that a Kafka of that release can read it.
    """
    records: list[Message] = []
    for topic in plan.topics:
        configs = dict(internal_configs.get(topic.name, {})) | dict(topic.configs or {})
        records.append(TopicRecord(topic.name, topic.topic_id))
        records += [ConfigRecord(ResourceType.TOPIC, topic.name, key, value) for key, value in configs.items()]
        for partition in _partitions(topic, plan.node_id, plan.directory_ids):
            if metadata_version < ELR_SUPPORTED and partition.last_known_elr:
                partition.isr, partition.last_known_elr = partition.last_known_elr, None
            if metadata_version < DIRECTORY_ASSIGNMENT_SUPPORTED:
                partition.directories = []
            records.append(partition)
    if next_producer_id:
        records.append(ProducerIdsRecord(plan.node_id, NO_BROKER_EPOCH, next_producer_id))
    return records


def _partitions(topic: AdoptedTopic, node_id: int, directory_ids: Sequence[bytes]) -> Iterator[PartitionRecord]:
    for index in range(topic.partition_count):
        partition = topic.partitions.get(index)
        if partition is not None:
            yield _record(topic, index, node_id, partition.leader_epoch, directory_ids[partition.directory])
        elif topic.name in HASHED_TOPICS:  # later groups are mapped to this partition
            yield _record(topic, index, node_id, 0, DIRECTORY_UNASSIGNED)
        else:
            yield PartitionRecord(
                partition_id=index,
                topic_id=topic.topic_id,
                replicas=[node_id + 1],
                isr=[node_id + 1],
                leader=NO_LEADER,
                leader_epoch=0,
                partition_epoch=0,
                directories=[DIRECTORY_UNASSIGNED],
            )


def _record(topic: AdoptedTopic, index: int, node_id: int, leader_epoch: int, directory_id: bytes) -> PartitionRecord:
    return PartitionRecord(
        partition_id=index,
        topic_id=topic.topic_id,
        replicas=[node_id],
        isr=[],
        last_known_elr=[node_id],
        leader=NO_LEADER,
        leader_epoch=leader_epoch,
        partition_epoch=0,
        directories=[directory_id],
    )
