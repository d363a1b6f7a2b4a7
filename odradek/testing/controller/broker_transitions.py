"""The records that fence, unfence and shut down a broker, with the leader changes that follow. Pure.

A leader is elected from the in-sync replicas only. Source: ReplicationControlManager.handleBrokerFenced,
handleBrokerUnfenced, handleBrokerInControlledShutdown.
"""

from odradek.broker.metadata.controller.elections import leave_partition
from odradek.broker.metadata.image.image import MetadataImage
from odradek.broker.metadata.image.replay_brokers import FENCE, UNFENCE
from odradek.protocol.messages.metadata_records import BrokerRegistrationChangeRecord, PartitionChangeRecord
from odradek.protocol.messages.structure import Message

from .broker_sessions import BrokerControlState

CONTROLLED_SHUTDOWN = 1


def leads_any(image: MetadataImage, broker_id: int) -> bool:
    """Whether a broker leads a partition."""
    return any(
        partition.leader == broker_id
        for topic in image.topics_by_id.values()
        for partition in topic.partitions.values()
    )


def transition_records(image: MetadataImage, broker_id: int, state: BrokerControlState) -> list[Message]:
    """The records that bring a registered broker into a state; empty if it is in that state already."""
    broker = image.brokers[broker_id]
    change = BrokerRegistrationChangeRecord(broker_id, broker.epoch)
    if state.is_fenced:
        if broker.fenced:
            return []
        change.fenced = FENCE
        return [*departure_records(image, broker_id), change]
    if state is BrokerControlState.CONTROLLED_SHUTDOWN:
        if broker.in_controlled_shutdown:
            return []
        change.in_controlled_shutdown = CONTROLLED_SHUTDOWN
        return [change, *departure_records(image, broker_id)]
    if not broker.fenced:
        return []
    change.fenced = UNFENCE
    return [change, *_return_records(image, broker_id)]


def departure_records(image: MetadataImage, broker_id: int) -> list[Message]:
    """The records that remove a broker from all ISRs. Each partition it led gets a leader from the ISR, or none."""
    records: list[Message] = []
    for topic in image.topics_by_id.values():
        for index, partition in topic.partitions.items():
            if broker_id not in partition.isr and partition.leader != broker_id:
                continue
            change = leave_partition(image, topic.topic_id, index, partition, broker_id)
            if change != PartitionChangeRecord(index, topic.topic_id):
                records.append(change)
    return records


def _return_records(image: MetadataImage, broker_id: int) -> list[Message]:
    """The records that make a returning broker the leader of partitions that have no leader and have it in the ISR."""
    broker = image.brokers[broker_id]
    return [
        PartitionChangeRecord(index, topic.topic_id, leader=broker_id)
        for topic in image.topics_by_id.values()
        for index, partition in topic.partitions.items()
        if not partition.has_leader
        and broker_id in partition.isr
        and broker.has_online_directory(partition.directory_of(broker_id))
    ]
