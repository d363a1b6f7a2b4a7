"""Fetch and FetchSnapshot of the metadata log, which brokers (observers) send to the controller (the leader).

Shell. Owns: nothing. Never does: deciding. Invariant: everything in the log is committed, because there is one voter.
Source: KafkaRaftClient.handleFetchRequest, handleFetchSnapshotRequest, ReplicatedLog.validateOffsetAndEpoch.
"""

from odradek.broker.metadata.log.snapshot_files import SnapshotId
from odradek.protocol.errors import ErrorCode
from odradek.protocol.messages.fetch import FetchRequest, FetchResponse
from odradek.protocol.messages.quorum import FetchSnapshotRequest, FetchSnapshotResponse
from odradek.protocol.names.topics import METADATA_TOPIC, METADATA_TOPIC_ID

from .active_controller import ActiveController


async def answer_fetch(controller: ActiveController, request: FetchRequest) -> FetchResponse:
    """Fetch: if the observer has the whole log, waits for new records, for ``max_wait_ms`` at most."""
    if request.cluster_id not in (None, controller.metadata.cluster_id):
        return FetchResponse(error_code=ErrorCode.INCONSISTENT_CLUSTER_ID)
    asked = [
        (topic.topic_id, partition.partition, partition) for topic in request.topics for partition in topic.partitions
    ]
    if [(topic_id, index) for topic_id, index, _ in asked] != [(METADATA_TOPIC_ID, 0)]:
        return FetchResponse(error_code=ErrorCode.INVALID_REQUEST)
    wanted = asked[0][2]
    answer = _partition(controller, wanted)
    log = controller.metadata.log
    if _has_no_news(answer) and wanted.high_watermark == log.log_end_offset:
        await controller.grown(wanted.fetch_offset, request.max_wait_ms / 1000)
        answer = _partition(controller, wanted)
    _, host, port = controller.metadata.controller_endpoint
    return FetchResponse(
        responses=[FetchResponse.FetchableTopicResponse(METADATA_TOPIC, METADATA_TOPIC_ID, [answer])],
        node_endpoints=[FetchResponse.NodeEndpoint(controller.metadata.node_id, host, port)],
    )


def _has_no_news(answer: FetchResponse.PartitionData) -> bool:
    return not (
        answer.error_code or answer.records or answer.diverging_epoch.epoch >= 0 or answer.snapshot_id.end_offset >= 0
    )


def _partition(controller: ActiveController, wanted: FetchRequest.FetchPartition) -> FetchResponse.PartitionData:
    """The answer for the metadata log as it is now."""
    metadata = controller.metadata
    log = metadata.log
    answer = FetchResponse.PartitionData(
        high_watermark=-1,
        current_leader=FetchResponse.LeaderIdAndEpoch(metadata.node_id, log.leader_epoch),
        aborted_transactions=None,
    )
    answer.error_code = _leader_problem(controller, wanted.current_leader_epoch)
    if answer.error_code:
        return answer
    answer.high_watermark, answer.log_start_offset = log.log_end_offset, log.log_start_offset
    offset, epoch = wanted.fetch_offset, wanted.last_fetched_epoch
    if log.log_start_offset or offset:
        earliest = log.snapshot_ids[0] if log.snapshot_ids else None
        is_before_log = offset < log.log_start_offset or (
            offset == log.log_start_offset and earliest is not None and epoch != earliest.epoch
        )
        if earliest is not None and (is_before_log or epoch < earliest.epoch):
            answer.snapshot_id = FetchResponse.SnapshotId(*log.snapshot_ids[-1])
            return answer
        same_epoch, end = log.end_of_epoch(epoch)
        if same_epoch != epoch or end < offset:
            answer.diverging_epoch = FetchResponse.EpochEndOffset(same_epoch, end)
            return answer
    answer.records = log.batches_from(offset)
    return answer


def _leader_problem(controller: ActiveController, current_leader_epoch: int) -> ErrorCode:
    own = controller.metadata.log.leader_epoch
    if current_leader_epoch < own:
        return ErrorCode.FENCED_LEADER_EPOCH
    return ErrorCode.UNKNOWN_LEADER_EPOCH if current_leader_epoch > own else ErrorCode.NONE


async def answer_fetch_snapshot(controller: ActiveController, request: FetchSnapshotRequest) -> FetchSnapshotResponse:
    """FetchSnapshot: up to ``max_bytes`` of a snapshot, from a byte position on."""
    metadata = controller.metadata
    if request.cluster_id not in (None, metadata.cluster_id):
        return FetchSnapshotResponse(error_code=ErrorCode.INCONSISTENT_CLUSTER_ID)
    asked = [(topic.name, partition.partition, partition) for topic in request.topics for partition in topic.partitions]
    if [(name, index) for name, index, _ in asked] != [(METADATA_TOPIC, 0)]:
        return FetchSnapshotResponse(error_code=ErrorCode.INVALID_REQUEST)
    wanted = asked[0][2]
    answer = FetchSnapshotResponse.PartitionSnapshot(
        0,
        snapshot_id=FetchSnapshotResponse.SnapshotId(wanted.snapshot_id.end_offset, wanted.snapshot_id.epoch),
        current_leader=FetchSnapshotResponse.LeaderIdAndEpoch(metadata.node_id, metadata.log.leader_epoch),
        position=wanted.position,
        unaligned_records=b"",
    )
    answer.error_code = _leader_problem(controller, wanted.current_leader_epoch)
    if not answer.error_code:
        snapshot_id = SnapshotId(wanted.snapshot_id.end_offset, wanted.snapshot_id.epoch)
        part = metadata.log.snapshot_part(snapshot_id, wanted.position, request.max_bytes)
        if part is None:
            answer.error_code = ErrorCode.SNAPSHOT_NOT_FOUND
        elif not 0 <= wanted.position < part[1]:
            answer.error_code = ErrorCode.POSITION_OUT_OF_RANGE
        else:
            answer.unaligned_records, answer.size = part
    return FetchSnapshotResponse(topics=[FetchSnapshotResponse.TopicSnapshot(METADATA_TOPIC, [answer])])
