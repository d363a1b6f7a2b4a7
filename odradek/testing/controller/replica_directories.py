"""Decides on the directories that brokers report for their replicas. Pure: image and request go in, records come out.

Source: ReplicationControlManager.handleAssignReplicasToDirs; KIP-858.
"""

from collections.abc import Iterator, Mapping

from odradek.broker.metadata.controller.directories import assignment_records
from odradek.broker.metadata.controller.elections import electable, leave_partition
from odradek.broker.metadata.image.image import MetadataImage, Replica
from odradek.broker.metadata.publisher.decision import Decision
from odradek.protocol.errors import ErrorCode
from odradek.protocol.messages.metadata_records import PartitionChangeRecord
from odradek.protocol.messages.quorum import AssignReplicasToDirsRequest, AssignReplicasToDirsResponse


def assign_replicas(
    image: MetadataImage, request: AssignReplicasToDirsRequest
) -> Decision[AssignReplicasToDirsResponse]:
    """Records which log directory holds each replica of one broker; each assignment succeeds or fails independently.

    A replica in a directory that is not online leaves the ISR and the leadership.
    """
    broker = image.brokers.get(request.broker_id)
    if broker is None or broker.epoch != request.broker_epoch:
        return Decision(AssignReplicasToDirsResponse(error_code=ErrorCode.STALE_BROKER_EPOCH))
    lies_in: dict[Replica, bytes] = {}
    response = AssignReplicasToDirsResponse()
    for directory in request.directories:
        topics = []
        for asked in directory.topics:
            partitions = []
            for partition in asked.partitions:
                code = _refusal(image, asked.topic_id, partition.partition_index, request.broker_id)
                if code is ErrorCode.NONE:
                    lies_in[asked.topic_id, partition.partition_index] = directory.id
                partitions.append(AssignReplicasToDirsResponse.PartitionData(partition.partition_index, code))
            topics.append(AssignReplicasToDirsResponse.TopicData(asked.topic_id, partitions))
        response.directories.append(AssignReplicasToDirsResponse.DirectoryData(directory.id, topics))
    records = assignment_records(image, request.broker_id, lies_in)
    return Decision(response, [*records, *_election_records(image, request.broker_id, lies_in)])


def _election_records(
    image: MetadataImage, broker_id: int, lies_in: Mapping[Replica, bytes]
) -> Iterator[PartitionChangeRecord]:
    """As Kafka, looks at the directories before this request to see who may lead: a leaderless partition whose replica
    returns to an online directory gets a leader with the next report only."""
    for (topic_id, index), directory_id in lies_in.items():
        partition = image.topics_by_id[topic_id].partitions[index]
        if not image.brokers[broker_id].has_online_directory(directory_id):
            change = leave_partition(image, topic_id, index, partition, broker_id)
            if change != PartitionChangeRecord(index, topic_id):
                yield change
        elif not partition.has_leader and broker_id in partition.isr and electable(image, partition, broker_id):
            yield PartitionChangeRecord(index, topic_id, leader=broker_id)


def _refusal(image: MetadataImage, topic_id: bytes, index: int, broker_id: int) -> ErrorCode:
    topic = image.topics_by_id.get(topic_id)
    if topic is None:
        return ErrorCode.UNKNOWN_TOPIC_ID
    partition = topic.partitions.get(index)
    if partition is None:
        return ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    return ErrorCode.NONE if broker_id in partition.replicas else ErrorCode.NOT_LEADER_OR_FOLLOWER
