"""DescribeShareGroupOffsets (90): where share groups begin to read, and how far they lag behind (KIP-932).

Versions: 0 to 1. 1: the lag (KIP-1226).
Errors of each group: UNSUPPORTED_VERSION (share.version is not finalised), COORDINATOR_LOAD_IN_PROGRESS,
NOT_COORDINATOR, COORDINATOR_NOT_AVAILABLE; of a partition: why its end is not known (NOT_LEADER_OR_FOLLOWER,
LEADER_NOT_AVAILABLE, OFFSET_NOT_AVAILABLE, KAFKA_STORAGE_ERROR, NETWORK_EXCEPTION). A partition without stored state,
or whose state cannot be read, has the offset -1 and no error. Without topics, all initialized partitions of the group
are described.
Source: ``KafkaApis.handleDescribeShareGroupOffsetsRequest``, ``GroupCoordinatorService.describeShareGroupOffsets``.
"""

from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from functools import partial

from odradek.protocol.apis.api_keys import ApiKey
from odradek.protocol.common.steps import Steps
from odradek.protocol.errors import ErrorCode
from odradek.protocol.internal_records.share_partition_key import SharePartitionKey
from odradek.protocol.messages.share_groups import DescribeShareGroupOffsetsRequest, DescribeShareGroupOffsetsResponse
from odradek.protocol.messages.structure import ZERO_UUID

from ..dispatch.error_responses import error_response
from ..dispatch.request import Reply, RequestContext
from ..groups.core import GroupCore
from ..groups.modern.hash_order import partition_order, topic_map_order
from ..metadata.image.features import SHARE_VERSION
from ..share_state.persister import UNINITIALISED_OFFSET, UNKNOWN_COUNT, StateSummary
from .parts import ShareOffsetParts

API_KEY = ApiKey.DESCRIBE_SHARE_GROUP_OFFSETS
PARTITIONS_A_STEP = 8
NOT_CHECKED = -1
"""The leader epoch of questions whose answer does not depend on it."""

GroupRequest = DescribeShareGroupOffsetsRequest.DescribeShareGroupOffsetsRequestGroup
DescribedGroup = DescribeShareGroupOffsetsResponse.DescribeShareGroupOffsetsResponseGroup
DescribedTopic = DescribeShareGroupOffsetsResponse.DescribeShareGroupOffsetsResponseTopic
DescribedPartition = DescribeShareGroupOffsetsResponse.DescribeShareGroupOffsetsResponsePartition
Topics = Mapping[str, list[int]]
"""Partition indexes by topic name."""


def handle(
    broker: ShareOffsetParts,
    request: DescribeShareGroupOffsetsRequest,
    context: RequestContext,
    reply: Reply[DescribeShareGroupOffsetsResponse],
) -> Iterator[object]:
    """Answers after all partitions of all groups were looked up."""
    if not broker.metadata.image.features.get(SHARE_VERSION):
        refused = error_response(API_KEY, context.api_version, request, ErrorCode.UNSUPPORTED_VERSION)
        assert isinstance(refused, DescribeShareGroupOffsetsResponse)
        reply(refused)
        return
    described: list[DescribedGroup] = []
    pending = _Awaited(lambda: reply(DescribeShareGroupOffsetsResponse(groups=described)))
    for wanted in request.groups:
        group = DescribedGroup(wanted.group_id)
        described.append(group)
        if wanted.topics is not None:
            for topic in wanted.topics:
                yield from _describe(broker, group, topic.topic_name, topic.partitions, pending)
            _last(group)
            continue
        pending.add()

        def found(topics: Topics, group: DescribedGroup = group) -> None:
            reply.run_steps(request, _describe_all(broker, group, topics, pending))

        yield from _initialized(broker, group, found, pending)
        yield None
    pending.close()


class _Awaited:
    """Calls ``complete`` once, when nothing more is added and every answer is there."""

    def __init__(self, complete: Callable[[], None]) -> None:
        self._complete = complete
        self._missing = 1

    def add(self) -> None:
        self._missing += 1

    def close(self) -> None:
        self._missing -= 1
        if not self._missing:
            self._complete()


def _initialized(
    broker: ShareOffsetParts, group: DescribedGroup, found: Callable[[Topics], None], pending: _Awaited
) -> Iterator[object]:
    """Passes the initialized partitions of a group to ``found``; none if the group is unknown."""

    def query(core: GroupCore) -> Generator[None, None, Topics]:
        known = core.groups.share.get(group.group_id)
        topics = {} if known is None or known.state_topics is None else known.state_topics.initialized
        named: dict[str, list[int]] = {}
        for topic_id in topic_map_order(topics):
            name = core.groups.topics.topic_name(topic_id)
            if name is not None:
                named[name] = partition_order(topics[topic_id].partitions)
            yield
        return named

    def refused(error: ErrorCode) -> ErrorCode:
        return error

    def answer(result: Topics | ErrorCode) -> None:
        if isinstance(result, ErrorCode):
            group.error_code, group.error_message = result, result.message
            pending.close()
        else:
            found(result)

    return broker.group_coordinator.read_in_steps(group.group_id, query, answer, refused)


def _describe_all(broker: ShareOffsetParts, group: DescribedGroup, topics: Topics, pending: _Awaited) -> Steps[None]:
    for name, indexes in topics.items():
        yield from _describe(broker, group, name, indexes, pending)
    pending.close()


def _describe(
    broker: ShareOffsetParts, group: DescribedGroup, name: str, indexes: Sequence[int], pending: _Awaited
) -> Steps[None]:
    """Describes partitions of one topic, in steps."""
    topic = broker.metadata.image.topics_by_name.get(name)
    described = DescribedTopic(name)
    if topic is not None:
        described.topic_id = topic.topic_id
    group.topics.append(described)
    for number, index in enumerate(indexes):
        if number % PARTITIONS_A_STEP == 0:
            yield
        partition = DescribedPartition(index, UNINITIALISED_OFFSET)
        described.partitions.append(partition)
        if topic is not None and index in topic.partitions:
            pending.add()
            key = SharePartitionKey(group.group_id, topic.topic_id, index)
            summarized = partial(_summarized, broker, name, partition, pending.close)
            broker.persister.summarize(key, NOT_CHECKED, summarized)


def _last(group: DescribedGroup) -> None:
    """Moves the topics that do not exist to the end, as Kafka does."""
    group.topics.sort(key=lambda topic: topic.topic_id == ZERO_UUID)


def _summarized(
    broker: ShareOffsetParts,
    topic: str,
    partition: DescribedPartition,
    done: Callable[[], None],
    error: ErrorCode,
    summary: StateSummary | None,
) -> None:
    """Notes the stored state of a partition. Its lag is known once a member has acknowledged records."""
    if error or summary is None:
        done()
        return
    partition.start_offset = summary.start_offset
    partition.leader_epoch = summary.leader_epoch
    if summary.start_offset == UNINITIALISED_OFFSET or summary.delivery_complete_count == UNKNOWN_COUNT:
        done()
        return

    def ended(end: int | ErrorCode) -> None:
        if isinstance(end, ErrorCode):
            partition.start_offset = partition.leader_epoch = 0
            partition.error_code, partition.error_message = end, end.message
        else:
            partition.lag = end - summary.start_offset - summary.delivery_complete_count
        done()

    broker.partition_ends.ask(topic, partition.partition_index, ended)
