"""OffsetFetch (9): the committed offsets of groups.

Versions: 0 to 10. 2: all topics at once (null), an error of the whole answer. 3: throttle time. 5: leader epochs.
6: flexible. 7: require_stable (KIP-447). 8: several groups, an error for each. 9: member id and epoch of the new
consumer protocol. 10: topic ids instead of names.
Errors of a group: COORDINATOR_LOAD_IN_PROGRESS, NOT_COORDINATOR, COORDINATOR_NOT_AVAILABLE, and from version 9 on
UNKNOWN_MEMBER_ID, STALE_MEMBER_EPOCH, ILLEGAL_GENERATION. They are set on the group (version 8 on), on the whole answer
(2 to 7), or on every partition (0 and 1, which have no other field for them).
Errors of a partition: UNSTABLE_OFFSET_COMMIT, UNKNOWN_TOPIC_ID, and in version 0 UNKNOWN_TOPIC_OR_PARTITION if nothing
is committed. Source: ``KafkaApis.handleOffsetFetchRequest``, ``OffsetFetchResponse``.
"""

from collections.abc import Callable, Generator, Iterator

from odradek.protocol.apis.api_keys import ApiKey
from odradek.protocol.errors import ErrorCode
from odradek.protocol.messages.groups import OffsetFetchRequest, OffsetFetchResponse

from ..dispatch.request import RequestContext
from ..groups.core import GroupCore
from ..groups.offsets.fetch import (
    FetchedPartition,
    FetchedTopic,
    TopicFetch,
    fetch_all_offsets,
    fetch_offsets,
    validate_fetch,
)
from ..groups.offsets.store import ZERO_UUID
from ..metadata.image.image import MetadataImage
from .gather_in_order import gather_in_order
from .parts import GroupParts

API_KEY = ApiKey.OFFSET_FETCH
TOP_LEVEL_ERROR_SINCE = 2
GROUPS_SINCE = 8
TOPIC_IDS_SINCE = 10
NO_OFFSET = -1
TOPICS_A_STEP = 128

FetchedGroup = OffsetFetchResponse.OffsetFetchResponseGroup


def handle(
    broker: GroupParts,
    request: OffsetFetchRequest,
    context: RequestContext,
    reply: Callable[[OffsetFetchResponse], None],
) -> Iterator[object] | None:
    """Answers after every group was looked up."""
    version = context.api_version
    groups = _normalised(request, version)
    # Entries that request all offsets of the same group are read once. Entries that name topics are read one by one.
    whole = {
        (group.group_id, group.member_id, group.member_epoch): at
        for at, group in enumerate(groups)
        if not _is_part(group)
    }
    keys = [
        at if _is_part(group) else whole[group.group_id, group.member_id, group.member_epoch]
        for at, group in enumerate(groups)
    ]

    def look_up(at: int, done: Callable[[FetchedGroup], None]) -> Iterator[object]:
        return _fetch_group(broker, groups[at], version, request.require_stable, done)

    return gather_in_order(keys, look_up, lambda fetched: reply(_response(fetched, groups, version)))


def _is_part(group: OffsetFetchRequest.OffsetFetchRequestGroup) -> bool:
    """Whether the entry names topics; otherwise it requests all offsets of the group."""
    return group.topics is not None


def _normalised(request: OffsetFetchRequest, version: int) -> list[OffsetFetchRequest.OffsetFetchRequestGroup]:
    """The requested groups in the form of version 8 and later."""
    if version >= GROUPS_SINCE:
        return request.groups
    topics = None
    if request.topics is not None:
        topics = [
            OffsetFetchRequest.OffsetFetchRequestTopics(name=topic.name, partition_indexes=topic.partition_indexes)
            for topic in request.topics
        ]
    return [OffsetFetchRequest.OffsetFetchRequestGroup(group_id=request.group_id, topics=topics)]


def _fetch_group(
    broker: GroupParts,
    group: OffsetFetchRequest.OffsetFetchRequestGroup,
    version: int,
    require_stable: bool,
    done: Callable[[FetchedGroup], None],
) -> Iterator[object]:
    image = broker.metadata.image
    unknown: list[FetchedTopic] = []
    wanted: list[TopicFetch] | None = None
    if group.topics is not None:
        wanted = yield from _look_up(image, group.topics, version, unknown)

    def answer(topics: list[FetchedTopic]) -> None:
        if wanted is None:
            topics = _with_ids(image, topics, version)
        done(FetchedGroup(group_id=group.group_id, topics=[*topics, *unknown]))

    def answer_or_refuse(result: list[FetchedTopic] | FetchedGroup) -> None:
        if isinstance(result, FetchedGroup):
            done(result)
        else:
            answer(result)

    def refused(error: ErrorCode) -> FetchedGroup:
        return FetchedGroup(group_id=group.group_id, error_code=error)

    def fetch(core: GroupCore) -> Generator[None, None, list[FetchedTopic]]:
        validate_fetch(core, group.group_id, group.member_id, group.member_epoch)
        if wanted is None:
            return fetch_all_offsets(core, group.group_id, require_stable)
        return fetch_offsets(core, group.group_id, wanted, require_stable)

    yield from broker.group_coordinator.read_in_steps(group.group_id, fetch, answer_or_refuse, refused)


def _look_up(
    image: MetadataImage,
    topics: list[OffsetFetchRequest.OffsetFetchRequestTopics],
    version: int,
    unknown: list[FetchedTopic],
) -> Generator[None, None, list[TopicFetch]]:
    """The topics to fetch, in steps. Answers for unknown topic ids are added to ``unknown``."""
    wanted = []
    for number, topic in enumerate(topics, 1):
        if number % TOPICS_A_STEP == 0:
            yield
        if version < TOPIC_IDS_SINCE:
            # Offsets may outlive their topic for a while, so every name is accepted.
            found = image.topics_by_name.get(topic.name)
            wanted.append(TopicFetch(topic.name, found.topic_id if found else ZERO_UUID, topic.partition_indexes))
            continue
        found = image.topics_by_id.get(topic.topic_id)
        if found is not None:
            wanted.append(TopicFetch(found.name, found.topic_id, topic.partition_indexes))
            continue
        partitions = [_failed(index, ErrorCode.UNKNOWN_TOPIC_ID) for index in topic.partition_indexes]
        unknown.append(FetchedTopic(topic_id=topic.topic_id, partitions=partitions))
    return wanted


def _failed(index: int, error: ErrorCode) -> FetchedPartition:
    return FetchedPartition(partition_index=index, committed_offset=NO_OFFSET, metadata="", error_code=error)


def _with_ids(image: MetadataImage, topics: list[FetchedTopic], version: int) -> list[FetchedTopic]:
    """The topics of a group. In versions with topic ids, adds the ids and leaves out deleted topics."""
    if version < TOPIC_IDS_SINCE:
        return topics
    known = []
    for topic in topics:
        found = image.topics_by_name.get(topic.name)
        if found is not None:
            topic.topic_id = found.topic_id
            known.append(topic)
    return known


def _response(
    fetched: list[FetchedGroup], groups: list[OffsetFetchRequest.OffsetFetchRequestGroup], version: int
) -> OffsetFetchResponse:
    if version >= GROUPS_SINCE:
        return OffsetFetchResponse(groups=fetched)
    group = fetched[0]
    topics = group.topics
    error = ErrorCode(group.error_code)
    if error and version < TOP_LEVEL_ERROR_SINCE:
        # Only partitions have a field for the error. An empty answer would mean that nothing is committed.
        topics = [
            FetchedTopic(name=topic.name, partitions=[_failed(index, error) for index in topic.partition_indexes])
            for topic in groups[0].topics or []
        ]
    return OffsetFetchResponse(
        topics=[
            OffsetFetchResponse.OffsetFetchResponseTopic(
                name=topic.name, partitions=[_old_partition(partition, version) for partition in topic.partitions]
            )
            for topic in topics
        ],
        error_code=error,
    )


def _old_partition(partition: FetchedPartition, version: int) -> OffsetFetchResponse.OffsetFetchResponsePartition:
    error = partition.error_code
    if version == 0 and not error and partition.committed_offset == NO_OFFSET:
        # In Kafka, version 0 read offsets from ZooKeeper, and a missing node gave this error.
        error = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    return OffsetFetchResponse.OffsetFetchResponsePartition(
        partition_index=partition.partition_index,
        committed_offset=partition.committed_offset,
        committed_leader_epoch=partition.committed_leader_epoch,
        metadata=partition.metadata,
        error_code=error,
    )
