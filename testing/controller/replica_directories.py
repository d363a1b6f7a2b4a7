"""Decides on the directories that brokers report for their replicas. Pure: image and request go in, records come out.

Source: ReplicationControlManager.handleAssignReplicasToDirs; KIP-858.
"""

from ...broker.controller.directories import assignment_records
from ...broker.metadata.decision import Decision
from ...broker.metadata.image import MetadataImage, Replica
from ...protocol.errors import ErrorCode
from ...protocol.messages.quorum import AssignReplicasToDirsRequest, AssignReplicasToDirsResponse


def assign_replicas(
    image: MetadataImage, request: AssignReplicasToDirsRequest
) -> Decision[AssignReplicasToDirsResponse]:
    """Records which log directory holds each replica of one broker; each assignment succeeds or fails independently."""
    broker = image.brokers.get(request.broker_id)
    if broker is None or broker.epoch != request.broker_epoch:
        return Decision(AssignReplicasToDirsResponse(error_code=ErrorCode.STALE_BROKER_EPOCH))
    lies_in: dict[Replica, bytes] = {}
    response = AssignReplicasToDirsResponse()
    for directory in request.directories:
        topics = []
        for asked in directory.topics:
            partitions = []
            for one in asked.partitions:
                code = _refusal(image, asked.topic_id, one.partition_index, request.broker_id)
                if code is ErrorCode.NONE:
                    lies_in[asked.topic_id, one.partition_index] = directory.id
                partitions.append(AssignReplicasToDirsResponse.PartitionData(one.partition_index, code))
            topics.append(AssignReplicasToDirsResponse.TopicData(asked.topic_id, partitions))
        response.directories.append(AssignReplicasToDirsResponse.DirectoryData(directory.id, topics))
    return Decision(response, assignment_records(image, request.broker_id, lies_in))


def _refusal(image: MetadataImage, topic_id: bytes, index: int, broker_id: int) -> ErrorCode:
    topic = image.topics_by_id.get(topic_id)
    if topic is None:
        return ErrorCode.UNKNOWN_TOPIC_ID
    partition = topic.partitions.get(index)
    if partition is None:
        return ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    return ErrorCode.NONE if broker_id in partition.replicas else ErrorCode.NOT_LEADER_OR_FOLLOWER
