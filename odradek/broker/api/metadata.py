"""Metadata (3): brokers, topics and the leaders of their partitions. Creates requested topics that do not exist.

Versions: 0 to 13. 0: an empty list means all topics, and unavailable replicas are left out. 1: null means all, empty
none; rack, controller, internal topics. 2: cluster id. 3: throttle time. 4: the client says whether topics may be
created. 5: offline replicas. 6: LISTENER_NOT_FOUND if the leader lacks the client's listener. 7: leader epoch. 8:
authorized operations. 9: flexible. 10: topic ids in the answer. 11: no cluster operations any more. 12: topics by id.
13: an error of the whole answer.
Errors, for each topic: UNKNOWN_TOPIC_OR_PARTITION, UNKNOWN_TOPIC_ID, INVALID_TOPIC_EXCEPTION,
INVALID_REPLICATION_FACTOR (of a topic to create), INVALID_REQUEST (a topic id or a null name, before version 12),
KAFKA_STORAGE_ERROR; for each partition: LEADER_NOT_AVAILABLE, LISTENER_NOT_FOUND, REPLICA_NOT_AVAILABLE. If the request
creates a topic, its answer already has the topic's leaders; Kafka answers UNKNOWN_TOPIC_OR_PARTITION first.
Source: ``KafkaApis.handleTopicMetadataRequest``, ``KRaftMetadataCache.getTopicMetadata``, ``AutoTopicCreationManager``.
"""

import logging
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence

from odradek.protocol.apis.api_keys import ApiKey
from odradek.protocol.common.steps import Steps, run_to_end
from odradek.protocol.errors import ErrorCode
from odradek.protocol.messages.metadata import MetadataRequest, MetadataResponse
from odradek.protocol.messages.structure import ZERO_UUID
from odradek.protocol.names.internal_topics import is_internal
from odradek.protocol.names.topic_names import is_legal

from ..dispatch.request import RequestContext, may_describe
from ..metadata.image.image import NO_LEADER, MetadataImage, PartitionImage, TopicImage
from ..metadata.image.partition_view import offline_replicas
from ..security.authorization.authorized_operations import CLUSTER_OPERATIONS, NOT_ASKED, TOPIC_OPERATIONS
from .parts import MetadataParts

API_KEY = ApiKey.METADATA
BY_ID_SINCE = 12
LISTENER_NOT_FOUND_SINCE = 6
OPERATIONS_SINCE = 8
CLUSTER_OPERATIONS_UNTIL = 10

logger = logging.getLogger(__name__)

Asked = MetadataRequest.MetadataRequestTopic
MetadataResponseTopic = MetadataResponse.MetadataResponseTopic
MetadataResponsePartition = MetadataResponse.MetadataResponsePartition


PARTITIONS_A_STEP = 100
"""The number of partitions described in one step: 4 us each."""
NAMES_A_STEP = 500
BrokerLists = dict[tuple[int, ...], list[int]]
"""The lists of broker ids in an answer, each kept once: separate lists for 15,000 partitions would take 4 MB."""
FEW = 8
"""Up to this many topics with few partitions are described in one call: slices would double a small request's cost."""


def handle(
    broker: MetadataParts, request: MetadataRequest, context: RequestContext, reply: Callable[[MetadataResponse], None]
) -> Iterator[None] | None:
    """Answers from the metadata image, after creating missing topics if that is allowed."""
    version = context.api_version
    asked = request.topics
    if version == 0 and not asked:
        asked = None
    if asked is not None and version < BY_ID_SINCE and any(_needs_id(topic) for topic in asked):
        reply(_refusal(asked))
        return None
    metadata = broker.metadata
    topics = metadata.image.topics_by_name
    by_id = asked is not None and any(topic.topic_id != ZERO_UUID for topic in asked)
    if (
        asked
        and not by_id
        and request.allow_auto_topic_creation
        and broker.static_config.get_boolean("auto.create.topics.enable")
    ):
        names = {topic.name: None for topic in asked if topic.name is not None}
        creatable = [name for name in names if name not in topics and is_legal(name)]
        if creatable:
            broker.auto_topic_creation.create(
                creatable,
                context.requester,
                context.now_ms,
                lambda outcomes: _answer_later(broker, request, asked, outcomes, context, reply),
            )
            return None
    steps = _answer(broker, request, asked, {}, context, reply)
    if asked is None or by_id or len(asked) > FEW:
        return steps
    known = [topics[topic.name] for topic in asked if topic.name in topics]
    if sum([len(topic.partitions) for topic in known]) > PARTITIONS_A_STEP:
        return steps
    run_to_end(steps)
    return None


def _answer_later(
    broker: MetadataParts,
    request: MetadataRequest,
    asked: Sequence[Asked],
    outcomes: Mapping[str, ErrorCode],
    context: RequestContext,
    reply: Callable[[MetadataResponse], None],
) -> None:
    def failed(error: Exception) -> None:
        logger.error("could not answer a Metadata request after creating its topics", exc_info=error)
        reply(_refusal(asked, ErrorCode.UNKNOWN_SERVER_ERROR))

    broker.metadata.run(_answer(broker, request, asked, outcomes, context, reply), failed)


def _answer(
    broker: MetadataParts,
    request: MetadataRequest,
    asked: Sequence[Asked] | None,
    created: Mapping[str, ErrorCode],
    context: RequestContext,
    reply: Callable[[MetadataResponse], None],
) -> Steps[None]:
    """Builds the answer and sends it. ``created``: topics that this request tried to create, with the error codes."""
    metadata, version = broker.metadata, context.api_version
    image = metadata.image
    answers: list[MetadataResponseTopic] = []
    lists: BrokerLists = {}
    if asked is None:
        for topic in list(image.topics_by_name.values()):
            yield
            if may_describe(context, topic.name):
                answers.append((yield from _describe(image, topic, context, lists)))
    elif ids := {topic.topic_id: None for topic in asked if topic.topic_id != ZERO_UUID}:
        for topic_id in ids:
            yield
            known = image.topics_by_id.get(topic_id)
            if known is None:
                unknown = MetadataResponseTopic(error_code=ErrorCode.UNKNOWN_TOPIC_ID, name=None, topic_id=topic_id)
                answers.append(unknown)
            else:
                answers.append((yield from _describe(image, known, context, lists)))
    else:
        answers = yield from _by_name(image, {topic.name or "": None for topic in asked}, created, context, lists)
    if version >= OPERATIONS_SINCE and request.include_topic_authorized_operations:
        for count, answer in enumerate(answers):
            if not count % NAMES_A_STEP:
                yield
            if answer.error_code != ErrorCode.UNKNOWN_TOPIC_ID:
                answer.topic_authorized_operations = TOPIC_OPERATIONS
    asks_cluster = OPERATIONS_SINCE <= version <= CLUSTER_OPERATIONS_UNTIL
    asks_cluster = asks_cluster and request.include_cluster_authorized_operations
    brokers = [
        MetadataResponse.MetadataResponseBroker(one.broker_id, endpoint.host, endpoint.port, one.rack)
        for one, endpoint in image.alive_endpoints(context.listener_name)
    ]
    reply(
        MetadataResponse(
            brokers=brokers,
            cluster_id=metadata.cluster_id,
            controller_id=metadata.node_id,
            topics=answers,
            cluster_authorized_operations=CLUSTER_OPERATIONS if asks_cluster else NOT_ASKED,
        )
    )


def _needs_id(topic: Asked) -> bool:
    return topic.name is None or topic.topic_id != ZERO_UUID


def _refusal(asked: Iterable[Asked], code: ErrorCode = ErrorCode.INVALID_REQUEST) -> MetadataResponse:
    topics = [MetadataResponseTopic(error_code=code, name=topic.name or "", topic_id=topic.topic_id) for topic in asked]
    return MetadataResponse(topics=topics)


def _by_name(
    image: MetadataImage,
    names: Collection[str],
    created: Mapping[str, ErrorCode],
    context: RequestContext,
    lists: BrokerLists,
) -> Steps[list[MetadataResponseTopic]]:
    """The answers for topics requested by name: first those that existed before the request, then the others."""
    answers: list[MetadataResponseTopic] = []
    others: list[str] = []
    for name in names:
        yield
        topic = image.topics_by_name.get(name)
        if topic is None or name in created:
            others.append(name)
        else:
            answers.append((yield from _describe(image, topic, context, lists)))
    for name in others:
        yield
        topic = image.topics_by_name.get(name)
        code = created.get(name, ErrorCode.NONE)
        if topic is not None and not code:
            answers.append((yield from _describe(image, topic, context, lists)))
            continue
        if not code:
            code = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION if is_legal(name) else ErrorCode.INVALID_TOPIC_EXCEPTION
        answers.append(MetadataResponseTopic(error_code=code, name=name, is_internal=is_internal(name)))
    return answers


def _describe(
    image: MetadataImage, topic: TopicImage, context: RequestContext, lists: BrokerLists
) -> Steps[MetadataResponseTopic]:
    indexes = sorted(topic.partitions)
    partitions: list[MetadataResponsePartition] = []
    for first in range(0, len(indexes), PARTITIONS_A_STEP):
        if first:
            yield
        partitions += [
            _partition(image, index, topic.partitions[index], context, lists)
            for index in indexes[first : first + PARTITIONS_A_STEP]
        ]
    return MetadataResponseTopic(
        name=topic.name, topic_id=topic.topic_id, is_internal=is_internal(topic.name), partitions=partitions
    )


def _shared(lists: BrokerLists, brokers: Iterable[int]) -> list[int]:
    """The one list with these broker ids for the whole answer. The caller must not change it."""
    key = tuple(brokers)
    found = lists.get(key)
    if found is None:
        found = lists[key] = list(key)
    return found


def _partition(
    image: MetadataImage, index: int, partition: PartitionImage, context: RequestContext, lists: BrokerLists
) -> MetadataResponsePartition:
    listener, version = context.listener_name, context.api_version
    replicas, isr = _shared(lists, partition.replicas), _shared(lists, partition.isr)
    if version == 0:
        # Version 0 leaves unavailable replicas out of the lists and sets REPLICA_NOT_AVAILABLE.
        replicas = [replica for replica in replicas if image.endpoint(replica, listener)]
        isr = [replica for replica in isr if image.endpoint(replica, listener)]
    error = ErrorCode.NONE
    if image.endpoint(partition.leader, listener) is None:
        known = partition.leader in image.brokers
        missing = known and version >= LISTENER_NOT_FOUND_SINCE
        error = ErrorCode.LISTENER_NOT_FOUND if missing else ErrorCode.LEADER_NOT_AVAILABLE
    elif len(replicas) < len(partition.replicas) or len(isr) < len(partition.isr):
        error = ErrorCode.REPLICA_NOT_AVAILABLE
    has_leader = error in (ErrorCode.NONE, ErrorCode.REPLICA_NOT_AVAILABLE)
    return MetadataResponsePartition(
        error_code=error,
        partition_index=index,
        leader_id=partition.leader if has_leader else NO_LEADER,
        leader_epoch=partition.leader_epoch,
        replica_nodes=replicas,
        isr_nodes=isr,
        offline_replicas=_shared(lists, offline_replicas(image, partition, listener)),
    )
