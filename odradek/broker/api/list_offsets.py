"""ListOffsets (2): the offset for a timestamp, or the earliest or latest offset.

Versions: 0 to 11. 0: a list of offsets, one for each segment. 1: one offset and its timestamp. 2: isolation level. 4:
leader epochs. 7: the record with the largest timestamp (-3). 8: the first local offset (-4). 9: the last tiered one
(-5). 10: a timeout, for tiered storage. 11: the first offset not yet tiered (-6).
Errors: UNKNOWN_TOPIC_OR_PARTITION, FENCED_LEADER_EPOCH, UNKNOWN_LEADER_EPOCH, UNSUPPORTED_VERSION (a special timestamp
that the version does not have), INVALID_REQUEST (a duplicate partition), KAFKA_STORAGE_ERROR, NOT_LEADER_OR_FOLLOWER,
OFFSET_NOT_AVAILABLE (the leader was just elected; LEADER_NOT_AVAILABLE up to version 4). A time is compared with each
record's timestamp, never with that of its batch. Tiered storage is not served, so no offset is tiered. Source: KIP-79,
KIP-734; ``ReplicaManager.fetchOffset``, ``UnifiedLog.fetchOffsetByTimestamp``.
"""

from collections import Counter
from collections.abc import Callable, Mapping

from odradek.protocol.apis.api_keys import ApiKey
from odradek.protocol.common.steps import Steps
from odradek.protocol.errors import ErrorCode, KafkaError
from odradek.protocol.messages.offsets import ListOffsetsRequest, ListOffsetsResponse
from odradek.storage.log.log import Log

from ..dispatch.request import RequestContext
from ..fetch.partition_read import READ_COMMITTED
from ..replicas.offset_searches import Found, OffsetSearches
from ..replicas.partition import Partition
from ..replicas.partitions import Partitions
from .parts import RecordParts

API_KEY = ApiKey.LIST_OFFSETS

CONSUMER = -1
"""The replica id of consumers. Brokers and debugging tools send others, and see the log up to its end."""
DEBUGGING = -2
"""The replica id of tools, which may ask followers, too (``ListOffsetsRequest.DEBUGGING_REPLICA_ID``)."""
LATEST = -1
EARLIEST = -2
MAX_TIMESTAMP = -3
EARLIEST_LOCAL = -4
LATEST_TIERED = -5
EARLIEST_PENDING_UPLOAD = -6
SINCE_VERSION = {MAX_TIMESTAMP: 7, EARLIEST_LOCAL: 8, LATEST_TIERED: 9, EARLIEST_PENDING_UPLOAD: 11}
PARTITIONS_A_STEP = 8
"""The number of partitions that are looked up in one step."""
OFFSET_NOT_AVAILABLE_SINCE = 5
LEADER_EPOCH_SINCE = 4
"""Older versions have no field for the epoch."""

ListOffsetsPartitionResponse = ListOffsetsResponse.ListOffsetsPartitionResponse


def handle(
    broker: RecordParts,
    request: ListOffsetsRequest,
    context: RequestContext,
    reply: Callable[[ListOffsetsResponse], None],
) -> Steps[None]:
    """Looks up each partition's offset. Answers after the last step, unless timestamps must be searched in record
    batches."""
    asked: Mapping[tuple[str, int], int] = {}
    if len(request.topics) != 1 or len(request.topics[0].partitions) != 1:
        asked = Counter((topic.name, wanted.partition_index) for topic in request.topics for wanted in topic.partitions)
    by_topic: dict[str, dict[int, ListOffsetsPartitionResponse]] = {}

    def complete() -> None:
        topics = [
            ListOffsetsResponse.ListOffsetsTopicResponse(name=name, partitions=list(answers.values()))
            for name, answers in by_topic.items()
        ]
        reply(ListOffsetsResponse(topics=topics))

    searches = OffsetSearches(broker.record_work_for(context), context.connection_id, context.is_wanted, complete)
    looked_up = 0
    for topic in request.topics:
        answers = by_topic.setdefault(topic.name, {})
        for wanted in topic.partitions:
            if looked_up == PARTITIONS_A_STEP:
                looked_up = 0
                yield
            looked_up += 1
            index = wanted.partition_index
            answer = answers[index] = ListOffsetsPartitionResponse(partition_index=index)
            try:
                if asked and asked[topic.name, index] > 1:
                    raise KafkaError(ErrorCode.INVALID_REQUEST)
                partition = _partition(broker.partitions, topic.name, wanted, context.api_version)
                log = partition.log_to_fetch(only_leader=request.replica_id != DEBUGGING)
                isolation_level = request.isolation_level if request.replica_id == CONSUMER else None
                _look_up(partition, log, answer, wanted, isolation_level, context, searches)
            except KafkaError as error:
                answer.error_code = error.error_code
    searches.resume()


def _partition(
    partitions: Partitions, topic: str, wanted: ListOffsetsRequest.ListOffsetsPartition, version: int
) -> Partition:
    """Returns the partition after checking timestamp, version and leader epoch. Raises KafkaError."""
    if version < SINCE_VERSION.get(wanted.timestamp, 0) or wanted.timestamp < EARLIEST_PENDING_UPLOAD:
        raise KafkaError(ErrorCode.UNSUPPORTED_VERSION)
    partition = partitions.get(topic, wanted.partition_index)
    partition.check_leader_epoch(wanted.current_leader_epoch)
    return partition


def _look_up(
    partition: Partition,
    log: Log,
    answer: ListOffsetsPartitionResponse,
    wanted: ListOffsetsRequest.ListOffsetsPartition,
    isolation_level: int | None,
    context: RequestContext,
    searches: OffsetSearches,
) -> None:
    """Sets one partition's answer, or starts a search for it. Raises KafkaError.

    ``isolation_level``: of a consumer; None for a broker or a tool, which sees the log up to its end.
    """
    version = context.api_version
    is_settled = True
    if isolation_level is None:
        readable = log.log_end_offset
    else:
        readable = log.last_stable_offset if isolation_level == READ_COMMITTED else log.high_watermark
        if partition.leading is not None:
            is_settled = partition.leading.isr.are_offsets_settled
    if version == 0:
        answer.old_style_offsets = _offsets_before(partition, wanted.timestamp, wanted.max_num_offsets, context.now_ms)
        return

    def fill(timestamp: int, offset: int, leader_epoch: int) -> None:
        answer.timestamp, answer.offset = timestamp, offset
        if version >= LEADER_EPOCH_SINCE:
            answer.leader_epoch = leader_epoch

    def found(result: Found) -> None:
        if isinstance(result, KafkaError):
            answer.error_code = result.error_code
        # Answer only with a record that is visible at this isolation level.
        elif result is not None and result.offset < readable:
            fill(*result)
        elif result is not None and not is_settled:
            answer.error_code = _not_available(version)

    if wanted.timestamp == LATEST and not is_settled:
        raise KafkaError(_not_available(version))
    if wanted.timestamp == LATEST:
        fill(-1, readable, partition.leader_epoch)
    elif wanted.timestamp in (EARLIEST, EARLIEST_LOCAL):
        fill(-1, log.log_start_offset, log.offsets.epoch_of(log.log_start_offset))
    elif wanted.timestamp not in (LATEST_TIERED, EARLIEST_PENDING_UPLOAD):
        searches.add(log.search_timestamp(None if wanted.timestamp == MAX_TIMESTAMP else wanted.timestamp), found)


def _not_available(version: int) -> ErrorCode:
    """The error while a new leader's high watermark may be below one that consumers have already seen (KIP-207)."""
    return ErrorCode.OFFSET_NOT_AVAILABLE if version >= OFFSET_NOT_AVAILABLE_SINCE else ErrorCode.LEADER_NOT_AVAILABLE


def _offsets_before(partition: Partition, timestamp: int, max_count: int, now_ms: int) -> list[int]:
    """Version 0: at most ``max_count`` base offsets of segments last modified at or before ``timestamp``, in ms.

    The newest is first. The high watermark counts as the base offset of a segment modified now. Source:
    ``legacyFetchOffsetsBefore`` of Kafka before 4.0.
    """
    log = partition.log
    begins = [(max(base_offset, log.log_start_offset), modified_ms) for base_offset, modified_ms in log.segment_times()]
    if log.high_watermark > begins[-1][0]:
        begins.append((log.high_watermark, now_ms))
    if timestamp == EARLIEST:
        begins = begins[:1]
    elif timestamp != LATEST:
        while begins and begins[-1][1] > timestamp:
            begins.pop()
    return sorted((offset for offset, _ in begins), reverse=True)[: max(0, max_count)]
