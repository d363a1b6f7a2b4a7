"""DescribeTopicPartitions (75): topics and their partitions in pages (KIP-966).

Versions: 0. Topics are in alphabetical order; ``next_cursor`` is the start of the next page. A page holds at most
``response_partition_limit`` partitions, and never more than ``max.request.partition.size.limit``. Errors, for each
topic: UNKNOWN_TOPIC_OR_PARTITION, INVALID_TOPIC_EXCEPTION, INVALID_REQUEST (the cursor's topic is not one of the
requested topics, or its partition is negative). Source: ``DescribeTopicPartitionsRequestHandler``,
``KRaftMetadataCache.describeTopicResponse``.
"""

from collections.abc import Callable, Iterator

from odradek.protocol.apis.api_keys import ApiKey
from odradek.protocol.common.steps import Steps
from odradek.protocol.errors import ErrorCode
from odradek.protocol.messages.metadata import DescribeTopicPartitionsRequest, DescribeTopicPartitionsResponse
from odradek.protocol.names.topics import is_internal, is_legal

from ..dispatch.request import RequestContext, may_describe
from ..metadata.image.image import NO_LEADER, MetadataImage, PartitionImage
from ..metadata.image.partition_view import offline_replicas
from ..security.authorization.authorized_operations import TOPIC_OPERATIONS
from .parts import MetadataParts

API_KEY = ApiKey.DESCRIBE_TOPIC_PARTITIONS

NAMES_A_STEP = 500
PARTITIONS_A_STEP = 100
"""The number of partitions described in one step: 4 us each."""

DescribeTopicPartitionsResponseTopic = DescribeTopicPartitionsResponse.DescribeTopicPartitionsResponseTopic
DescribeTopicPartitionsResponsePartition = DescribeTopicPartitionsResponse.DescribeTopicPartitionsResponsePartition


def handle(
    broker: MetadataParts,
    request: DescribeTopicPartitionsRequest,
    context: RequestContext,
    reply: Callable[[DescribeTopicPartitionsResponse], None],
) -> Iterator[None]:
    """Answers one page."""
    image = broker.metadata.image
    cursor = request.cursor
    first = "" if cursor is None else cursor.topic_name
    everything = not request.topics
    asked = list(image.topics_by_name) if everything else [topic.name for topic in request.topics]
    names: set[str] = set()
    for begin in range(0, len(asked), NAMES_A_STEP):
        yield
        names.update(
            name
            for name in asked[begin : begin + NAMES_A_STEP]
            if name >= first and (not everything or may_describe(context, name))
        )
    bad_cursor = cursor is not None and (cursor.partition_index < 0 or (not everything and first not in names))
    if bad_cursor:
        reply(_refusal(request))
        return
    most = broker.static_config.get_int("max.request.partition.size.limit")
    limit = max(min(most, request.response_partition_limit), 1)
    start = 0 if cursor is None else cursor.partition_index
    yield
    reply((yield from _page(image, sorted(names), everything, first, start, limit, context.listener_name)))


def _refusal(request: DescribeTopicPartitionsRequest) -> DescribeTopicPartitionsResponse:
    topics = [
        DescribeTopicPartitionsResponseTopic(error_code=ErrorCode.INVALID_REQUEST, name=topic.name)
        for topic in request.topics
    ]
    return DescribeTopicPartitionsResponse(topics=topics)


def _page(
    image: MetadataImage, names: list[str], everything: bool, first: str, start: int, limit: int, listener_name: str
) -> Steps[DescribeTopicPartitionsResponse]:
    """One page: the topics of ``names``, beginning with partition ``start`` of the topic ``first``.

    ``everything``: all topics are requested, so deleted ones are left out. ``limit``: of partitions.
    """
    response = DescribeTopicPartitionsResponse(next_cursor=None)
    remaining = limit
    for name in names:
        yield
        if remaining == 0:
            response.next_cursor = DescribeTopicPartitionsResponse.Cursor(name, 0)
            break
        topic = image.topics_by_name.get(name)
        if topic is None:
            if not everything:
                code = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION if is_legal(name) else ErrorCode.INVALID_TOPIC_EXCEPTION
                response.topics.append(
                    DescribeTopicPartitionsResponseTopic(
                        error_code=code,
                        name=name,
                        is_internal=is_internal(name),
                        topic_authorized_operations=TOPIC_OPERATIONS,
                    )
                )
            continue
        begin = start if name == first else 0
        end = min(len(topic.partitions), begin + remaining)
        partitions = []
        for index in range(begin, end):
            if not index % PARTITIONS_A_STEP:
                yield
            partitions.append(_partition(image, index, topic.partitions[index], listener_name))
        response.topics.append(
            DescribeTopicPartitionsResponseTopic(
                name=name,
                topic_id=topic.topic_id,
                is_internal=is_internal(name),
                partitions=partitions,
                topic_authorized_operations=TOPIC_OPERATIONS,
            )
        )
        if end < len(topic.partitions):
            response.next_cursor = DescribeTopicPartitionsResponse.Cursor(name, end)
            break
        remaining -= len(partitions)
    return response


def _partition(
    image: MetadataImage, index: int, partition: PartitionImage, listener_name: str
) -> DescribeTopicPartitionsResponsePartition:
    has_leader = image.endpoint(partition.leader, listener_name) is not None
    return DescribeTopicPartitionsResponsePartition(
        partition_index=index,
        leader_id=partition.leader if has_leader else NO_LEADER,
        leader_epoch=partition.leader_epoch,
        replica_nodes=list(partition.replicas),
        isr_nodes=list(partition.isr),
        eligible_leader_replicas=list(partition.eligible_leader_replicas),
        last_known_elr=list(partition.last_known_elr),
        offline_replicas=offline_replicas(image, partition, listener_name),
    )
