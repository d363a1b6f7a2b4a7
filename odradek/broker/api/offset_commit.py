"""OffsetCommit (8): stores the committed offsets of a group.

Versions: 0 to 10. 1: member and generation, a timestamp for each partition. 2: a retention time for all partitions
instead of the timestamps. 3: throttle time. 5: no retention time any more. 6: leader epochs. 7: group.instance.id. 8:
flexible. 9: member epochs of the new consumer protocol, GROUP_ID_NOT_FOUND. 10: topic ids instead of names.
Errors of each partition: UNKNOWN_TOPIC_OR_PARTITION, UNKNOWN_TOPIC_ID, OFFSET_METADATA_TOO_LARGE, INVALID_GROUP_ID,
GROUP_ID_NOT_FOUND (before version 9 ILLEGAL_GENERATION), UNKNOWN_MEMBER_ID, ILLEGAL_GENERATION, FENCED_INSTANCE_ID,
REBALANCE_IN_PROGRESS, COORDINATOR_LOAD_IN_PROGRESS, NOT_COORDINATOR, COORDINATOR_NOT_AVAILABLE.
Source: ``KafkaApis.handleOffsetCommitRequest``. Kafka once stored offsets of version 0 in ZooKeeper; here such a
request is a commit without a group member.
"""

from collections.abc import Callable, Sequence
from operator import attrgetter

from odradek.protocol.apis.api_keys import ApiKey
from odradek.protocol.common.steps import Steps
from odradek.protocol.errors import ErrorCode
from odradek.protocol.messages.groups import OffsetCommitRequest, OffsetCommitResponse

from ..dispatch.request import RequestContext
from ..groups.offsets.commit import TopicCommit, commit_offsets
from .known_partitions import known_partitions
from .parts import GroupParts
from .portions import portions
from .topic_results import MergedTopics

API_KEY = ApiKey.OFFSET_COMMIT
TOPIC_IDS_SINCE = 10

OffsetCommitRequestTopic = OffsetCommitRequest.OffsetCommitRequestTopic
OffsetCommitRequestPartition = OffsetCommitRequest.OffsetCommitRequestPartition
OffsetCommitResponseTopic = OffsetCommitResponse.OffsetCommitResponseTopic
OffsetCommitResponsePartition = OffsetCommitResponse.OffsetCommitResponsePartition


def handle(
    broker: GroupParts,
    request: OffsetCommitRequest,
    context: RequestContext,
    reply: Callable[[OffsetCommitResponse], None],
) -> Steps[None]:
    """Answers after the offsets of known partitions are stored. Unknown partitions get an error each."""
    merged = MergedTopics[OffsetCommitResponseTopic](
        attrgetter("name", "topic_id"), lambda topics: reply(OffsetCommitResponse(topics=topics))
    )
    for number, portion in enumerate(portions(request.topics, _with_partitions)):
        if number:
            yield
        merged.expect()
        _commit(broker, request, portion, context, lambda response: merged.add(response.topics))
    merged.close()


def _with_partitions(
    topic: OffsetCommitRequestTopic, partitions: Sequence[OffsetCommitRequestPartition]
) -> OffsetCommitRequestTopic:
    return OffsetCommitRequestTopic(topic.name, topic.topic_id, list(partitions))


def _commit(
    broker: GroupParts,
    request: OffsetCommitRequest,
    topics: list[OffsetCommitRequestTopic],
    context: RequestContext,
    reply: Callable[[OffsetCommitResponse], None],
) -> None:
    by_id = context.api_version >= TOPIC_IDS_SINCE
    commits, unknown = known_partitions(broker.metadata.image, topics, by_id=by_id, commit=TopicCommit, failed=_failed)
    if not commits:
        reply(OffsetCommitResponse(topics=unknown))
        return

    def answer(response: OffsetCommitResponse) -> None:
        response.topics = [*unknown, *response.topics]
        reply(response)

    def refused(error: ErrorCode) -> OffsetCommitResponse:
        return OffsetCommitResponse(
            topics=[_failed(commit.name, commit.topic_id, commit.partitions, error) for commit in commits]
        )

    broker.group_coordinator.write(
        request.group_id,
        context.now_ms,
        lambda core, effects: commit_offsets(core, request, commits, context.api_version, effects),
        answer,
        refused,
    )


def _failed(
    name: str,
    topic_id: bytes,
    partitions: list[OffsetCommitRequest.OffsetCommitRequestPartition],
    error: ErrorCode,
) -> OffsetCommitResponseTopic:
    failed = [OffsetCommitResponsePartition(partition_index=p.partition_index, error_code=error) for p in partitions]
    return OffsetCommitResponseTopic(name=name, topic_id=topic_id, partitions=failed)
