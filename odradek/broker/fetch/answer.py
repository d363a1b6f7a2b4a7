"""The answer of a Fetch: which partitions it names, in which order, and what depends on the version.

Owns: nothing. Never does: reading logs, waiting. Invariant: an incremental session names only what has changed
(KIP-227). Source: ``KafkaApis.handleFetchRequest``, ``FetchSession``.
"""

from odradek.protocol.errors import ErrorCode
from odradek.protocol.messages.fetch import FetchResponse

from ..metadata.image.image import MetadataImage
from ..metadata.image.partition_view import CurrentLeaders
from .partition_read import UNKNOWN_PARTITION_ERRORS, PartitionRead
from .read import FetchRead
from .session import FetchContext

FetchableTopicResponse = FetchResponse.FetchableTopicResponse

STORAGE_ERROR_SINCE = 6
LEADER_SINCE = 16
LEADER_ELSEWHERE = (ErrorCode.NOT_LEADER_OR_FOLLOWER, ErrorCode.FENCED_LEADER_EPOCH)
"""For partitions with these errors the answer names the current leader, from version 16 on (KIP-951)."""


def changed_reads(fetch: FetchContext, reads: list[PartitionRead]) -> list[PartitionRead]:
    """The reads to include in the answer: in an incremental session only the changed partitions."""
    session = fetch.session
    if session is None:
        return reads
    named = []
    for partition_read in reads:
        data, size = partition_read.data, partition_read.records_bytes
        news = partition_read.wanted.must_answer(
            data.error_code,
            size,
            data.high_watermark,
            data.log_start_offset,
            data.diverging_epoch.epoch >= 0 or data.preferred_read_replica >= 0,
        )
        if news or not fetch.incremental:
            named.append(partition_read)
        if fetch.incremental and size > 0:
            session.served(partition_read.wanted.key)
    return named


def in_order(reads: list[PartitionRead]) -> list[PartitionRead]:
    """The reads in Kafka's order. Errors found without a read come last, in the order of UNKNOWN_PARTITION_ERRORS."""
    if len(reads) == 1:
        return reads
    return sorted(reads, key=lambda read: UNKNOWN_PARTITION_ERRORS.get(read.data.error_code, 0))


def add_by_topic(topics: list[FetchableTopicResponse], reads: list[PartitionRead]) -> None:
    """Adds the reads to ``topics`` in their order. Consecutive reads of the same topic share one entry."""
    last = (topics[-1].topic_id, topics[-1].topic) if topics else None
    for read in reads:
        key = (read.wanted.topic_id, read.wanted.topic_name)
        if key != last:
            topics.append(FetchableTopicResponse(topic=key[1], topic_id=key[0], partitions=[]))
            last = key
        topics[-1].partitions.append(read.data)


def fetch_response(
    fetch: FetchContext, read: FetchRead, topics: list[FetchableTopicResponse], version: int
) -> FetchResponse:
    """The answer with these topics. ``version``: of the request."""
    if read.follower is not None:
        _count_copied(read)
    if read.completes and version < STORAGE_ERROR_SINCE:
        _hide_storage_errors(read)
    return FetchResponse(error_code=ErrorCode.NONE, session_id=fetch.session_id, responses=topics)


def _count_copied(read: FetchRead) -> None:
    """Counts the bytes of records that a follower gets, for the leader's throttle. Kafka counts the whole answer."""
    for partition_read in read.reads:
        size = partition_read.records_bytes
        if size and partition_read.partition is not None and partition_read.partition.leading is not None:
            partition_read.partition.leading.copied(size)


def name_leaders(image: MetadataImage, read: FetchRead, response: FetchResponse, listener_name: str) -> None:
    """Adds the current leader of each partition with an error of LEADER_ELSEWHERE, and its address (KIP-951)."""
    leaders = CurrentLeaders(image, listener_name)
    for partition_read in read.reads:
        if partition_read.data.error_code not in LEADER_ELSEWHERE:
            continue
        partition = leaders.find(partition_read.wanted.resolved_name, partition_read.wanted.index)
        if partition is not None:
            partition_read.data.current_leader = FetchResponse.LeaderIdAndEpoch(
                partition.leader, partition.leader_epoch
            )
    response.node_endpoints = [
        FetchResponse.NodeEndpoint(leader, at.host, at.port) for leader, at in leaders.endpoints.items()
    ]


def _hide_storage_errors(read: FetchRead) -> None:
    """Gives old clients an error that they know and retry (maybeDownConvertStorageError)."""
    for partition_read in read.reads:
        if partition_read.data.error_code == ErrorCode.KAFKA_STORAGE_ERROR:
            partition_read.data.error_code = ErrorCode.NOT_LEADER_OR_FOLLOWER
