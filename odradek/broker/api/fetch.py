"""Fetch (1): reads record batches of partitions, waiting for new ones.

Versions: 0 to 18. 0, 1: messages of format 0 (1: throttle time). 2, 3: of format 1 (3: the maximum size of the answer);
records are converted to these formats, as in Kafka up to 3.9. 4: record batches, isolation level, aborted transactions.
5: log start offset. 7: incremental sessions (KIP-227). 9: the leader epoch that the client knows. 10: the client knows
zstd; as in Kafka 4, zstd batches are sent from version 4 on. 11: rack (KIP-392). 12: flexible, diverging epochs. 13:
topic ids instead of names. 15: the replica's state is a field of its own. 16: node endpoints. 17, 18: for followers. A
consumer with a rack may get the id of another replica to read from. A follower serves consumers of version 11 and later
up to its high watermark. Offsets between the high watermark and its log end get an empty answer, offsets beyond the log
end OFFSET_OUT_OF_RANGE.
Errors: UNKNOWN_TOPIC_OR_PARTITION, UNKNOWN_TOPIC_ID, INCONSISTENT_TOPIC_ID, OFFSET_OUT_OF_RANGE, FENCED_LEADER_EPOCH,
UNKNOWN_LEADER_EPOCH, NOT_LEADER_OR_FOLLOWER (also for a replica id that is not a replica of the partition, and up to
version 5 instead of KAFKA_STORAGE_ERROR), KAFKA_STORAGE_ERROR, CORRUPT_MESSAGE (damage on the disk),
UNSUPPORTED_COMPRESSION_TYPE (zstd up to version 3); for the whole request FETCH_SESSION_ID_NOT_FOUND,
INVALID_FETCH_SESSION_EPOCH, FETCH_SESSION_TOPIC_ID_ERROR.
Source: ``KafkaApis.handleFetchRequest``, ``ReplicaManager.fetchMessages``.

A small read is one pread. A large one is sent with sendfile and costs 0.2 CPU seconds a GB.
"""

from collections.abc import Callable
from dataclasses import replace

from odradek.protocol.apis.api_keys import ApiKey
from odradek.protocol.common.lazy_imports import lazy_imports
from odradek.protocol.common.steps import Steps
from odradek.protocol.messages.fetch import FetchRequest, FetchResponse
from odradek.protocol.security.acl import AclOperation

from ..dispatch.request import Access, Reply, RequestContext
from ..fetch.answer import (
    LEADER_SINCE,
    FetchableTopicResponse,
    add_by_topic,
    changed_reads,
    fetch_response,
    in_order,
    name_leaders,
)
from ..fetch.partition_read import FetchingFollower, FetchLimits, PartitionRead, RackedConsumer
from ..fetch.read import FetchRead, read_partitions
from ..fetch.session import FetchContext, PartitionKey, SessionOwner, SessionPartition
from ..fetch.wait import FetchWait, Source
from .parts import RecordParts

with lazy_imports:
    from ..fetch import charged, conversion

API_KEY = ApiKey.FETCH
PARTITIONS_A_STEP = 64
"""The number of partitions of a request, or of its answer, that are looked at in one step: up to 2 us each."""
LOOKS_A_STEP = 512
"""The number of partitions without new records for a follower that are checked in one step: 0.3 us each."""

MAGIC_OF_VERSION = (0, 0, 1, 1)
"""The message format that the versions 0 to 3 read."""
RACK_SINCE = 11
"""Consumers of this version and later may read from followers, or be directed to one (KIP-392)."""
REPLICA_STATE_SINCE = 15
UNKNOWN_BROKER_EPOCH = -1


def handle(
    broker: RecordParts, request: FetchRequest, context: RequestContext, reply: Reply[FetchResponse]
) -> Steps[None]:
    """Answers immediately if there are ``min_bytes``, an error, or ``max_wait_ms`` is 0.

    Otherwise answers when enough data has arrived or the time is up.
    """
    fetch = _session(broker, request, (yield from _wanted(request)), context)
    if fetch.error:
        reply(_charged(broker, fetch, [], FetchResponse(error_code=fetch.error), context))
        return
    limits = _limits(broker, request, context)
    if context.api_version < len(MAGIC_OF_VERSION):
        _serve_converted(broker, request, fetch, limits, context, reply)
        return
    read = yield from read_partitions(broker.partitions, fetch.partitions, limits)

    def read_again() -> None:
        reply.run_steps(request, read_and_answer(broker, fetch, limits, context, reply))

    wait = _wait(broker, request, limits, fetch, read, read_again)
    if wait is None:
        yield from _answer(broker, fetch, read, context, reply)
    else:
        yield from _look_again(wait, read)


def read_and_answer(
    broker: RecordParts,
    fetch: FetchContext,
    limits: FetchLimits,
    context: RequestContext,
    reply: Reply[FetchResponse],
) -> Steps[None]:
    """The second read of a request that has waited, and its answer."""
    limits.is_second_read = True
    read = yield from read_partitions(broker.partitions, fetch.partitions, limits)
    yield from _answer(broker, fetch, read, context, reply)


def _session(
    broker: RecordParts, request: FetchRequest, wanted: dict[PartitionKey, SessionPartition], context: RequestContext
) -> FetchContext:
    by_id = context.api_version >= 13
    return broker.fetch_sessions.context(
        request.session_id,
        request.session_epoch,
        wanted,
        _forgotten(request),
        by_id,
        context.now_ms,
        _owner(request, context),
    )


def _owner(request: FetchRequest, context: RequestContext) -> SessionOwner:
    """Who opens a session: a broker (the request was checked for CLUSTER_ACTION), a user, or a client's address."""
    is_follower = max(request.replica_id, request.replica_state.replica_id) >= 0
    return SessionOwner(context.owner, is_follower)


def _limits(broker: RecordParts, request: FetchRequest, context: RequestContext) -> FetchLimits:
    follower = consumer = None
    if context.api_version < REPLICA_STATE_SINCE:
        if request.replica_id >= 0:
            follower = FetchingFollower(request.replica_id, UNKNOWN_BROKER_EPOCH)
    elif request.replica_state.replica_id >= 0:
        follower = FetchingFollower(request.replica_state.replica_id, request.replica_state.replica_epoch)
    if request.rack_id and follower is None:
        consumer = RackedConsumer(request.rack_id, context.listener_name)
    max_bytes = min(request.max_bytes, broker.fetch_max_bytes)
    if context.charge is not None:
        # An answer over the client's quota would be throttled, so limit its size to the quota.
        max_bytes = int(min(max_bytes, context.charge.fetch_max_bytes(follower is not None)))
    return FetchLimits(
        max_bytes=max_bytes,
        isolation_level=request.isolation_level,
        follower=follower,
        check_crcs=broker.fetch_check_crcs,
        only_leader=context.api_version < RACK_SINCE or follower is not None,
        consumer=consumer,
        may_read=None if context.access is None else _reading(context.access, follower is not None),
    )


def _reading(access: Access, is_follower: bool) -> Callable[[str], bool]:
    """The check whether a topic may be read: a follower needs CLUSTER_ACTION on the cluster, a consumer READ."""
    if is_follower:
        allowed = access.cluster(AclOperation.CLUSTER_ACTION)
        return lambda _: allowed
    return lambda name: access.topic(AclOperation.READ, name)


def _answer(
    broker: RecordParts, fetch: FetchContext, read: FetchRead, context: RequestContext, reply: Reply[FetchResponse]
) -> Steps[None]:
    """Answers with what was read."""
    named: list[PartitionRead] = []
    for start in range(0, len(read.reads), PARTITIONS_A_STEP):
        if start:
            yield
        named += changed_reads(fetch, read.reads[start : start + PARTITIONS_A_STEP])
    named = in_order(named)
    topics: list[FetchableTopicResponse] = []
    for start in range(0, len(named), PARTITIONS_A_STEP):
        if start:
            yield
        add_by_topic(topics, named[start : start + PARTITIONS_A_STEP])
    response = _response(broker, fetch, read, topics, context)
    meters = broker.topic_meters
    if meters is not None and read.follower is None and response.responses is topics:  # else a quota holds it back
        for start in range(0, len(named), PARTITIONS_A_STEP):
            if start:
                yield
            meters.fetched(named[start : start + PARTITIONS_A_STEP])
    reply(response)


def _response(
    broker: RecordParts,
    fetch: FetchContext,
    read: FetchRead,
    topics: list[FetchableTopicResponse],
    context: RequestContext,
) -> FetchResponse:
    response = fetch_response(fetch, read, topics, context.api_version)
    if read.completes and context.api_version >= LEADER_SINCE:
        name_leaders(broker.metadata.image, read, response, context.listener_name)
    return _charged(broker, fetch, read.reads, response, context) if read.follower is None else response


def _charged(
    broker: RecordParts,
    fetch: FetchContext,
    reads: list[PartitionRead],
    response: FetchResponse,
    context: RequestContext,
) -> FetchResponse:
    """Charges a consumer's answer to its quota. If it is over the quota, returns an answer without records instead."""
    if context.charge is None:
        return response
    return charged.charged(broker.fetch_sessions, fetch, reads, response, context.charge, context.api_version)


def _wait(
    broker: RecordParts,
    request: FetchRequest,
    limits: FetchLimits,
    fetch: FetchContext,
    read: FetchRead,
    read_again: Callable[[], None],
) -> FetchWait | None:
    """Waits for data and then calls ``read_again``. Returns None if the result must be answered immediately."""
    missing_bytes = min(request.min_bytes, limits.max_bytes) - read.total_bytes
    if missing_bytes <= 0 or read.completes or request.max_wait_ms <= 0 or not fetch.partitions:
        return None
    read.close()
    return FetchWait(_growing(read), missing_bytes, request.max_wait_ms, broker.timers.schedule, read_again)


def _growing(read: FetchRead) -> list[Source]:
    """What notifies a waiting fetch: partitions (of their high watermarks), or for a follower leaders (of log ends)."""
    if read.follower is None:
        return [partition_read.partition for partition_read in read.reads if partition_read.partition is not None]
    partitions = [partition_read.partition for partition_read in read.reads if not partition_read.is_throttled]
    partitions += [wanted.still for wanted in read.still]
    return [partition.leading for partition in partitions if partition is not None and partition.leading is not None]


def _look_again(wait: FetchWait, read: FetchRead) -> Steps[None]:
    """Ends a wait if a partition has grown since it was read.

    A read of many partitions takes several steps. And a follower's fetch may have let a write with acks=all complete:
    the producer's next write may already be in a partition that was read before.
    """
    has_grown = _has_grown if read.follower is None else _has_more_to_copy
    for start in range(0, len(read.reads), PARTITIONS_A_STEP):
        if start:
            yield
        if wait.is_over:
            return
        if any(map(has_grown, read.reads[start : start + PARTITIONS_A_STEP])):
            wait.complete()
            return
    for start in range(0, len(read.still), LOOKS_A_STEP):
        if start:
            yield
        if wait.is_over:
            return
        if any(map(_is_moving, read.still[start : start + LOOKS_A_STEP])):
            wait.complete()
            return


def _has_grown(read: PartitionRead) -> bool:
    """Whether a partition's high watermark has risen since it was read, or this broker stopped serving it."""
    partition = read.partition
    if partition is None:
        return False
    log = partition.open_log if partition.copy is None else partition.copy
    return log is None or log.high_watermark > read.data.high_watermark


def _has_more_to_copy(read: PartitionRead) -> bool:
    """:func:`_has_grown` for a follower, which reads to the end of the log."""
    partition = read.partition
    if partition is None or read.is_throttled:
        return False
    return partition.open_log is None or partition.open_log.log_end_offset > read.wanted.fetch_offset


def _is_moving(one: SessionPartition) -> bool:
    """:func:`_has_more_to_copy` for a partition that was not read because it had nothing new for the follower."""
    leading = None if one.still is None else one.still.leading
    return leading is None or leading.has_more(one.fetch_offset)


def _serve_converted(
    broker: RecordParts,
    request: FetchRequest,
    fetch: FetchContext,
    limits: FetchLimits,
    context: RequestContext,
    reply: Reply[FetchResponse],
) -> None:
    """Serves a client that does not support record batches: converts records to the older message formats."""
    limits = replace(limits, max_partition_bytes=conversion.CONVERTED_AT_ONCE_BYTES)
    magic = MAGIC_OF_VERSION[context.api_version]

    def read(then: Callable[[FetchRead], None]) -> None:
        conversion.ConvertedRead(
            broker.partitions,
            fetch.partitions,
            limits,
            magic,
            broker.record_work_for(context),
            context.connection_id,
            context.is_wanted,
            then,
        ).begin()

    def answer(read: FetchRead) -> None:
        reply.run_steps(request, _answer(broker, fetch, read, context, reply))

    def answer_or_wait(first: FetchRead) -> None:
        if _wait(broker, request, limits, fetch, first, lambda: read(answer)) is None:
            answer(first)

    read(answer_or_wait)


def _wanted(request: FetchRequest) -> Steps[dict[PartitionKey, SessionPartition]]:
    """The partitions in the order of the request. If one is named twice, the last entry counts, as in Kafka."""
    wanted: dict[PartitionKey, SessionPartition] = {}
    count = 0
    for topic in request.topics:
        topic_id, name = topic.topic_id, topic.topic
        for partition in topic.partitions:
            if count == PARTITIONS_A_STEP:
                count = 0
                yield
            count += 1
            wanted[topic_id, name, partition.partition] = SessionPartition(
                topic_id,
                name,
                partition.partition,
                partition.fetch_offset,
                partition.partition_max_bytes,
                partition.current_leader_epoch,
                partition.last_fetched_epoch,
                partition.log_start_offset,
            )
    return wanted


def _forgotten(request: FetchRequest) -> list[PartitionKey]:
    return [
        (topic.topic_id, topic.topic, index) for topic in request.forgotten_topics_data for index in topic.partitions
    ]
