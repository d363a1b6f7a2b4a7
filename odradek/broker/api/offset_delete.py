"""OffsetDelete (47): deletes a group's offsets of topics that it does not subscribe to (KIP-496).

Versions: 0.
Errors: INVALID_GROUP_ID, GROUP_ID_NOT_FOUND, NON_EMPTY_GROUP, COORDINATOR_LOAD_IN_PROGRESS, NOT_COORDINATOR,
COORDINATOR_NOT_AVAILABLE; of a partition UNKNOWN_TOPIC_OR_PARTITION, GROUP_SUBSCRIBED_TO_TOPIC.
Source: ``KafkaApis.handleOffsetDeleteRequest``.
"""

from collections.abc import Callable, Sequence
from operator import attrgetter

from odradek.protocol.apis.api_keys import ApiKey
from odradek.protocol.common.steps import Steps
from odradek.protocol.errors import ErrorCode
from odradek.protocol.messages.groups import OffsetDeleteRequest, OffsetDeleteResponse

from ..dispatch.request import RequestContext
from ..groups.offsets.commit import delete_offsets
from ..metadata.image.image import MetadataImage
from .parts import GroupParts
from .portions import portions
from .topic_results import MergedTopics

API_KEY = ApiKey.OFFSET_DELETE

OffsetDeleteRequestTopic = OffsetDeleteRequest.OffsetDeleteRequestTopic
OffsetDeleteResponseTopic = OffsetDeleteResponse.OffsetDeleteResponseTopic
OffsetDeleteResponsePartition = OffsetDeleteResponse.OffsetDeleteResponsePartition


def _refused(error: ErrorCode) -> OffsetDeleteResponse:
    return OffsetDeleteResponse(error_code=error)


def handle(
    broker: GroupParts,
    request: OffsetDeleteRequest,
    context: RequestContext,
    reply: Callable[[OffsetDeleteResponse], None],
) -> Steps[None]:
    """Answers after the tombstones of the deleted offsets are stored."""
    if not request.group_id:
        reply(_refused(ErrorCode.INVALID_GROUP_ID))
        return
    error = 0

    def answer(topics: list[OffsetDeleteResponseTopic]) -> None:
        reply(OffsetDeleteResponse(error_code=error, topics=[] if error else topics))

    def collect(response: OffsetDeleteResponse) -> None:
        nonlocal error
        error = error or response.error_code
        merged.add(response.topics)

    merged = MergedTopics[OffsetDeleteResponseTopic](attrgetter("name"), answer)
    for number, portion in enumerate(portions(request.topics, _with_partitions)):
        if number:
            yield
        merged.expect()
        _delete(broker, request.group_id, portion, context, collect)
    merged.close()


def _with_partitions(
    topic: OffsetDeleteRequestTopic, partitions: Sequence[OffsetDeleteRequest.OffsetDeleteRequestPartition]
) -> OffsetDeleteRequestTopic:
    return OffsetDeleteRequestTopic(topic.name, list(partitions))


def _delete(
    broker: GroupParts,
    group_id: str,
    topics: list[OffsetDeleteRequestTopic],
    context: RequestContext,
    reply: Callable[[OffsetDeleteResponse], None],
) -> None:
    known, unknown = _look_up(broker.metadata.image, topics)

    def answer(response: OffsetDeleteResponse) -> None:
        if not response.error_code:
            response.topics = [*unknown, *response.topics]
        reply(response)

    broker.group_coordinator.write(
        group_id,
        context.now_ms,
        lambda core, effects: delete_offsets(core, group_id, known, effects),
        answer,
        _refused,
    )


def _look_up(
    image: MetadataImage, topics: list[OffsetDeleteRequestTopic]
) -> tuple[list[OffsetDeleteRequestTopic], list[OffsetDeleteResponseTopic]]:
    """The known partitions, whose offsets to delete, and the errors of unknown partitions."""
    known = []
    unknown = []
    for topic in topics:
        found = image.topics_by_name.get(topic.name)
        partitions = {} if found is None else found.partitions
        there = [partition for partition in topic.partitions if partition.partition_index in partitions]
        missing = [
            OffsetDeleteResponsePartition(
                partition_index=partition.partition_index, error_code=ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
            )
            for partition in topic.partitions
            if partition.partition_index not in partitions
        ]
        if missing or found is None:
            unknown.append(OffsetDeleteResponseTopic(name=topic.name, partitions=missing))
        if there:
            known.append(OffsetDeleteRequestTopic(name=topic.name, partitions=there))
    return known, unknown
