"""The metadata records of an adoption, as a controller would have written them for these topics.

Pure. Invariants: the leader epoch of a partition is not below the highest in its log, or Kafka would truncate the log.
An adopted partition has the state after an unclean stop of its leader (empty ISR, last known ELR), so that this broker
is elected when it starts; with a metadata.version before KIP-966, the state after a clean stop (the broker in the ISR).
A missing partition is assigned to a broker that does not exist: it has no leader, and no broker creates an empty log.
Source: ReplicationControlManager, PartitionChangeBuilder; KIP-631, KIP-858, KIP-966.
"""

from collections.abc import Iterator, Mapping, Sequence

from odradek.protocol.messages.metadata_records import ConfigRecord, PartitionRecord, ProducerIdsRecord, TopicRecord
from odradek.protocol.messages.structure import Message

from ...metadata.image.features import BOOTSTRAP_METADATA_VERSION, DIRECTORY_ASSIGNMENT_SUPPORTED, ELR_SUPPORTED
from ...metadata.image.image import DIRECTORY_UNASSIGNED, NO_LEADER, ResourceType
from .plan import HASHED_TOPICS, AdoptedTopic, AdoptionPlan

NO_BROKER_EPOCH = -1


def adoption_records(
    plan: AdoptionPlan,
    internal_configs: Mapping[str, Mapping[str, str]],
    next_producer_id: int,
    metadata_version: int = BOOTSTRAP_METADATA_VERSION,
) -> list[Message]:
    """All metadata records of the plan.

    ``internal_configs``: the configs of internal topics. ``next_producer_id``: the first producer id to assign, above
    those in the logs; 0 writes no record. ``metadata_version``: the finalized level of the directory, so that a Kafka
    broker of that release can read the records.
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
        elif topic.name in HASHED_TOPICS:  # this broker serves it empty: new keys may be hashed to it
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
