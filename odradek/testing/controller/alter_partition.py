"""Decides on the ISR changes that leaders ask for. Pure: an image and a request go in, records and a response come out.

Source: ReplicationControlManager.alterPartition and validateAlterPartitionData; KIP-497, KIP-704, KIP-903.
"""

from odradek.broker.metadata.controller.placement import Placer
from odradek.broker.metadata.controller.reassignments import PartitionChange
from odradek.broker.metadata.image.image import LeaderRecoveryState, MetadataImage, PartitionImage, TopicImage
from odradek.broker.metadata.image.replay_topics import NO_LEADER_CHANGE, merge
from odradek.broker.metadata.publisher.decision import Decision
from odradek.protocol.errors import ErrorCode
from odradek.protocol.messages.metadata_records import PartitionChangeRecord
from odradek.protocol.messages.quorum import AlterPartitionRequest, AlterPartitionResponse

ANY_EPOCH = -1
"""The broker epoch in a request whose leader does not know the epoch of a replica; it matches any epoch."""


def alter_partition(
    image: MetadataImage, request: AlterPartitionRequest, placer: Placer
) -> Decision[AlterPartitionResponse]:
    """Changes the ISR of each partition, or refuses it; each succeeds or fails independently.

    A change that brings the last replica of a reassignment into sync ends the reassignment.
    """
    broker = image.brokers.get(request.broker_id)
    if broker is None or broker.epoch != request.broker_epoch:
        return Decision(AlterPartitionResponse(error_code=ErrorCode.STALE_BROKER_EPOCH))
    decision = Decision(AlterPartitionResponse())
    for wanted in request.topics:
        result = AlterPartitionResponse.TopicData(wanted.topic_id)
        decision.response.topics.append(result)
        topic = image.topics_by_id.get(wanted.topic_id)
        for asked in wanted.partitions:
            code = _refusal(image, topic, asked, request.broker_id)
            if topic is None or code is not ErrorCode.NONE:
                result.partitions.append(AlterPartitionResponse.PartitionData(asked.partition_index, code))
                continue
            record = _change(image, topic, asked, placer)
            if record is not None:
                decision.records.append(record)
            partition = topic.partitions[asked.partition_index]
            result.partitions.append(_answer(partition, record, asked.partition_index, request.broker_id))
    return decision


def _refusal(
    image: MetadataImage, topic: TopicImage | None, asked: AlterPartitionRequest.PartitionData, broker_id: int
) -> ErrorCode:
    """The error of one partition, checked in Kafka's order; NONE if the change is valid."""
    if topic is None:
        return ErrorCode.UNKNOWN_TOPIC_ID
    partition = topic.partitions.get(asked.partition_index)
    if partition is None:
        return ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    if asked.leader_epoch > partition.leader_epoch or asked.partition_epoch > partition.partition_epoch:
        return ErrorCode.NOT_CONTROLLER  # the leader has newer metadata: another controller must be active
    if asked.leader_epoch < partition.leader_epoch:
        return ErrorCode.FENCED_LEADER_EPOCH
    if broker_id != partition.leader:
        return ErrorCode.INVALID_REQUEST
    if asked.partition_epoch < partition.partition_epoch:
        return ErrorCode.INVALID_UPDATE_VERSION
    isr = [epoch.broker_id for epoch in asked.new_isr_with_epochs]
    if len(set(isr)) < len(isr) or not set(isr) <= set(partition.replicas) or partition.leader not in isr:
        return ErrorCode.INVALID_REQUEST
    if asked.leader_recovery_state == LeaderRecoveryState.RECOVERING and (
        len(isr) > 1 or partition.leader_recovery_state is LeaderRecoveryState.RECOVERED
    ):
        return ErrorCode.INVALID_REQUEST
    if not all(_is_eligible(image, replica) for replica in asked.new_isr_with_epochs):
        return ErrorCode.INELIGIBLE_REPLICA
    return ErrorCode.NONE


def _is_eligible(image: MetadataImage, one: AlterPartitionRequest.BrokerState) -> bool:
    """Whether a replica may join the ISR: its broker is active, and has the requested epoch. As in Kafka, its directory
    may be offline: it was reported LOST by a broker that has handed its leadership over.
    """
    broker = image.brokers.get(one.broker_id)
    return broker is not None and broker.is_active and one.broker_epoch in (ANY_EPOCH, broker.epoch)


def _change(
    image: MetadataImage, topic: TopicImage, asked: AlterPartitionRequest.PartitionData, placer: Placer
) -> PartitionChangeRecord | None:
    index = asked.partition_index
    change = PartitionChange(image, topic, index, placer)
    change.isr = [epoch.broker_id for epoch in asked.new_isr_with_epochs]
    change.complete_if_possible()
    record = change.record()
    if topic.partitions[index].leader_recovery_state != asked.leader_recovery_state:
        record = record or PartitionChangeRecord(index, topic.topic_id)
        record.leader_recovery_state = asked.leader_recovery_state
    return record


def _answer(
    partition: PartitionImage, record: PartitionChangeRecord | None, index: int, broker_id: int
) -> AlterPartitionResponse.PartitionData:
    """The state after the change; NEW_LEADER_ELECTED if the change made another broker than the requester leader."""
    if record is not None and record.leader not in (NO_LEADER_CHANGE, broker_id):
        return AlterPartitionResponse.PartitionData(index, ErrorCode.NEW_LEADER_ELECTED)
    after = partition if record is None else merge(partition, record)
    return AlterPartitionResponse.PartitionData(
        index,
        ErrorCode.NONE,
        after.leader,
        after.leader_epoch,
        list(after.isr),
        after.leader_recovery_state,
        after.partition_epoch,
    )
