"""Fetch (1): reads record batches of partitions, waiting for new ones.

Versions: 0 to 18. 0, 1: messages of format 0 (1: throttle time). 2, 3: of format 1 (3: the most bytes of the answer);
Kafka 3.9 still converted to these, 4 dropped them. 4: record batches, isolation level, aborted transactions. 5: log
start offset. 7: incremental sessions (KIP-227). 9: the leader epoch that the client knows. 10: for zstd, which Kafka 4
sends in any version with batches. 11: rack. 12: flexible, diverging epochs. 13: topic ids instead of names. 15: the
replica's state is a field of its own. 16: node endpoints. 17, 18: for followers.
Errors: UNKNOWN_TOPIC_OR_PARTITION, UNKNOWN_TOPIC_ID, INCONSISTENT_TOPIC_ID, OFFSET_OUT_OF_RANGE, FENCED_LEADER_EPOCH,
UNKNOWN_LEADER_EPOCH, NOT_LEADER_OR_FOLLOWER (a replica id from somebody who is none; up to version 5 for
KAFKA_STORAGE_ERROR too), KAFKA_STORAGE_ERROR, CORRUPT_MESSAGE (damage on the disk), UNSUPPORTED_COMPRESSION_TYPE (zstd
up to version 3); for the whole request FETCH_SESSION_ID_NOT_FOUND, INVALID_FETCH_SESSION_EPOCH,
FETCH_SESSION_TOPIC_ID_ERROR.
Source: ``KafkaApis.handleFetchRequest``, ``ReplicaManager.fetchMessages``.

Small reads are one pread, large ones leave by sendfile and cost 0.2 CPU seconds a GB.
"""

from collections.abc import Callable
from dataclasses import replace
from typing import Protocol

from ...protocol.api_keys import ApiKey
from ...protocol.errors import ErrorCode
from ...protocol.messages.fetch import FetchRequest, FetchResponse
from ..dispatch.request import RequestContext
from ..fetch.read import NOT_THERE, FetchLimits, FetchRead, PartitionRead, read_partitions
from ..fetch.session import FetchContext, FetchSessionCache, PartitionKey, SessionPartition
from ..fetch.wait import Cancellable, FetchWait
from ..metadata.image import MetadataImage
from ..replicas.record_work import RecordWork
from .needs import HasPartitions

API_KEY = ApiKey.FETCH


MAGIC_OF_VERSION = (0, 0, 1, 1)
"""The message format that the versions 0 to 3 read."""
STORAGE_ERROR_SINCE = 6
LEADER_SINCE = 16
LEADER_ELSEWHERE = (ErrorCode.NOT_LEADER_OR_FOLLOWER, ErrorCode.FENCED_LEADER_EPOCH)
"""With these a client is told who leads, from version 16 on (KIP-951)."""


class Metadata(Protocol):
    """Who leads, and where."""

    @property
    def node_id(self) -> int:
        """This broker's id."""

    @property
    def image(self) -> MetadataImage:
        """The metadata."""


class Timers(Protocol):
    """Sets timers."""

    def schedule(self, delay_ms: int, callback: Callable[[], None]) -> Cancellable:
        """Calls back after ``delay_ms``."""


class Broker(HasPartitions, Protocol):
    """What this handler needs."""

    @property
    def metadata(self) -> Metadata:
        """The metadata service."""

    @property
    def fetch_sessions(self) -> FetchSessionCache:
        """The sessions."""

    @property
    def timers(self) -> Timers:
        """For the long poll."""

    @property
    def record_work(self) -> RecordWork:
        """Where records are converted for old clients."""

    @property
    def fetch_max_bytes(self) -> int:
        """The most that one answer carries (``fetch.max.bytes``)."""

    @property
    def fetch_check_crcs(self) -> bool:
        """Whether what is read is checked before it is sent (``odradek.fetch.check.crcs``)."""


def handle(
    broker: Broker, request: FetchRequest, context: RequestContext, reply: Callable[[FetchResponse], None]
) -> None:
    """Answers at once where there is enough, an error, or no time to wait; else when data comes or time is up."""
    by_id = context.api_version >= 13
    fetch = broker.fetch_sessions.context(
        request.session_id, request.session_epoch, _wanted(request), _forgotten(request), by_id, context.now_ms
    )
    if fetch.error:
        reply(FetchResponse(error_code=fetch.error))
        return
    replica_id = request.replica_id if context.api_version < 15 else request.replica_state.replica_id
    limits = FetchLimits(
        max_bytes=min(request.max_bytes, broker.fetch_max_bytes),
        isolation_level=request.isolation_level,
        from_replica=replica_id >= 0,
        check_crcs=broker.fetch_check_crcs,
    )

    def answer(read: FetchRead) -> None:
        response = _response(fetch, read)
        if read.completes and context.api_version >= LEADER_SINCE:
            _name_leaders(broker, read, response, context.listener_name)
        elif read.completes and context.api_version < STORAGE_ERROR_SINCE:
            _hide_storage_errors(read)
        reply(response)

    def answer_or_wait(read: FetchRead, read_again: Callable[[], None]) -> None:
        missing_bytes = request.min_bytes - read.total_bytes
        if missing_bytes <= 0 or read.completes or request.max_wait_ms <= 0 or not fetch.partitions:
            answer(read)
            return
        read.close()
        waiting_for = [r.partition for r in read.reads if r.partition is not None]
        FetchWait(waiting_for, missing_bytes, request.max_wait_ms, broker.timers.schedule, read_again)

    if context.api_version < len(MAGIC_OF_VERSION):
        _read_converted(broker, fetch, limits, context, answer, answer_or_wait)
        return
    answer_or_wait(
        read_partitions(broker.partitions, fetch.partitions, limits),
        lambda: answer(read_partitions(broker.partitions, fetch.partitions, limits)),
    )


def _read_converted(
    broker: Broker,
    fetch: FetchContext,
    limits: FetchLimits,
    context: RequestContext,
    answer: Callable[[FetchRead], None],
    answer_or_wait: Callable[[FetchRead, Callable[[], None]], None],
) -> None:
    """Reads for a client that knows no record batches."""
    from ..fetch.conversion import CONVERTED_AT_ONCE_BYTES, ConvertedRead  # few brokers ever need it

    limits = replace(limits, max_partition_bytes=CONVERTED_AT_ONCE_BYTES)
    magic = MAGIC_OF_VERSION[context.api_version]

    def read(then: Callable[[FetchRead], None]) -> None:
        ConvertedRead(
            broker.partitions,
            fetch.partitions,
            limits,
            magic,
            broker.record_work,
            context.connection_id,
            context.is_wanted,
            then,
        ).begin()

    read(lambda first: answer_or_wait(first, lambda: read(answer)))


def _wanted(request: FetchRequest) -> list[SessionPartition]:
    """The partitions in the order of the request; of one that is named twice the last wish, as Kafka takes it."""
    wanted = (
        SessionPartition(
            topic.topic_id,
            topic.topic,
            partition.partition,
            partition.fetch_offset,
            partition.partition_max_bytes,
            partition.current_leader_epoch,
            partition.last_fetched_epoch,
        )
        for topic in request.topics
        for partition in topic.partitions
    )
    return list({partition.key: partition for partition in wanted}.values())


def _forgotten(request: FetchRequest) -> list[PartitionKey]:
    return [
        (topic.topic_id, topic.topic, index) for topic in request.forgotten_topics_data for index in topic.partitions
    ]


def _response(fetch: FetchContext, read: FetchRead) -> FetchResponse:
    """The answer; in an incremental session only the partitions with something new."""
    session = fetch.session
    reads = read.reads
    if session is not None:
        named = []
        for partition_read in reads:
            data = partition_read.data
            news = partition_read.wanted.must_answer(
                data.error_code,
                partition_read.records_bytes,
                data.high_watermark,
                data.log_start_offset,
                data.diverging_epoch.epoch >= 0,
            )
            if news or not fetch.incremental:
                named.append(partition_read)
            if fetch.incremental and partition_read.records_bytes > 0:
                session.served(partition_read.wanted.key)
        reads = named
    # Kafka answers last what it did not have to read for: unknown topic ids, then unknown partitions.
    reads = sorted(reads, key=lambda read: NOT_THERE.get(read.data.error_code, 0))
    return FetchResponse(error_code=ErrorCode.NONE, session_id=fetch.session_id, responses=_by_topic(reads))


def _name_leaders(broker: Broker, read: FetchRead, response: FetchResponse, listener_name: str) -> None:
    """Says who leads the partitions that were refused for it: this broker, which alone leads what it serves."""
    node_id = broker.metadata.node_id
    for one in read.reads:
        partition = broker.partitions.find(one.wanted.resolved_name, one.wanted.index)
        if one.data.error_code in LEADER_ELSEWHERE and partition is not None:
            one.data.current_leader = FetchResponse.LeaderIdAndEpoch(node_id, partition.leader_epoch)
            endpoint = broker.metadata.image.endpoint(node_id, listener_name)
            if endpoint is not None:
                response.node_endpoints = [FetchResponse.NodeEndpoint(node_id, endpoint.host, endpoint.port)]


def _hide_storage_errors(read: FetchRead) -> None:
    """Gives old clients an error that they know and take as a reason to try again (maybeDownConvertStorageError)."""
    for one in read.reads:
        if one.data.error_code == ErrorCode.KAFKA_STORAGE_ERROR:
            one.data.error_code = ErrorCode.NOT_LEADER_OR_FOLLOWER


def _by_topic(reads: list[PartitionRead]) -> list[FetchResponse.FetchableTopicResponse]:
    """Groups neighbours of one topic, keeping the order."""
    topics: list[FetchResponse.FetchableTopicResponse] = []
    last: tuple[bytes, str] | None = None
    for read in reads:
        key = (read.wanted.topic_id, read.wanted.topic_name)
        if key != last:
            topics.append(FetchResponse.FetchableTopicResponse(topic=key[1], topic_id=key[0], partitions=[]))
            last = key
        topics[-1].partitions.append(read.data)
    return topics
