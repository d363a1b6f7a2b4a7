"""DescribeQuorum (55): the quorum of the metadata log. The only voter is this node.

Versions: 0 to 2. 1: times of the last fetch. 2: directory ids, listeners, error messages.
Errors, for each partition: UNKNOWN_TOPIC_OR_PARTITION, unless the request names only partition 0 of
``__cluster_metadata``.
Source: KIP-595, KIP-853; ``KafkaRaftClient.handleDescribeQuorumRequest``, ``LeaderState.describeQuorum``.
"""

from collections.abc import Callable

from odradek.protocol.apis.api_keys import ApiKey
from odradek.protocol.errors import ErrorCode
from odradek.protocol.messages.quorum import DescribeQuorumRequest, DescribeQuorumResponse
from odradek.protocol.names.topics import METADATA_TOPIC

from ..dispatch.request import RequestContext
from .parts import ControllerParts

API_KEY = ApiKey.DESCRIBE_QUORUM
DIRECTORIES_SINCE = 2


def handle(
    broker: ControllerParts,
    request: DescribeQuorumRequest,
    context: RequestContext,
    reply: Callable[[DescribeQuorumResponse], None],
) -> None:
    """Answers from the metadata log."""
    asked = [
        (topic.topic_name, partition.partition_index) for topic in request.topics for partition in topic.partitions
    ]
    if len(request.topics) != 1 or asked != [(METADATA_TOPIC, 0)]:
        reply(_refusal(request))
        return
    metadata = broker.own_metadata
    log_end_offset = metadata.log.log_end_offset
    voter = DescribeQuorumResponse.ReplicaState(
        replica_id=metadata.node_id,
        log_end_offset=log_end_offset,
        last_fetch_timestamp=context.now_ms,
        last_caught_up_timestamp=context.now_ms,
    )
    response = DescribeQuorumResponse()
    if context.api_version >= DIRECTORIES_SINCE:
        voter.replica_directory_id = metadata.directory_id
        name, host, port = metadata.controller_endpoint
        listener = DescribeQuorumResponse.Listener(name, host, port)
        response.nodes = [DescribeQuorumResponse.Node(metadata.node_id, [listener])]
    partition = DescribeQuorumResponse.PartitionData(
        partition_index=0,
        leader_id=metadata.node_id,
        leader_epoch=metadata.log.leader_epoch,
        high_watermark=log_end_offset,
        current_voters=[voter],
    )
    response.topics = [DescribeQuorumResponse.TopicData(METADATA_TOPIC, [partition])]
    reply(response)


def _refusal(request: DescribeQuorumRequest) -> DescribeQuorumResponse:
    code = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    topics = []
    for topic in request.topics:
        partitions = [
            DescribeQuorumResponse.PartitionData(
                partition_index=partition.partition_index, error_code=code, error_message=code.message
            )
            for partition in topic.partitions
        ]
        topics.append(DescribeQuorumResponse.TopicData(topic.topic_name, partitions))
    return DescribeQuorumResponse(topics=topics)
