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
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence

from odradek.protocol.apis.api_keys import ApiKey
from odradek.protocol.common.steps import Steps
from odradek.protocol.errors import ErrorCode
from odradek.protocol.messages.metadata import MetadataRequest, MetadataResponse
from odradek.protocol.messages.structure import ZERO_UUID
from odradek.protocol.names.topics import is_internal, is_legal

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


ENTRIES_A_STEP = 128
"""The number of topics and partitions, added up, that are described in one step: 4 us each."""
NAMES_A_STEP = 500


def handle(
    broker: MetadataParts, request: MetadataRequest, context: RequestContext, reply: Callable[[MetadataResponse], None]
) -> Steps[None]:
    """Answers from the metadata image, after creating missing topics if that is allowed."""
    version = context.api_version
    asked = request.topics
    if version == 0 and not asked:
        asked = None
    if asked is not None and version < BY_ID_SINCE and any(_needs_id(topic) for topic in asked):
        reply(_refusal(asked))
        return
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
            return
    yield from _answer(broker, request, asked, {}, context, reply)


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
    described = _Described(image, context)
    if asked is None:
        for topic in list(image.topics_by_name.values()):
            if may_describe(context, topic.name):
                yield from described.add(topic)
            elif described.is_full():
                yield
    elif ids := {topic.topic_id: None for topic in asked if topic.topic_id != ZERO_UUID}:
        for topic_id in ids:
            known = image.topics_by_id.get(topic_id)
            if known is None:
                unknown = MetadataResponseTopic(error_code=ErrorCode.UNKNOWN_TOPIC_ID, name=None, topic_id=topic_id)
                yield from described.add_error(unknown)
            else:
                yield from described.add(known)
    else:
        yield from _by_name(described, {topic.name or "": None for topic in asked}, created)
    answers = described.answers
    if version >= OPERATIONS_SINCE and request.include_topic_authorized_operations:
        for count, answer in enumerate(answers):
            if count and not count % NAMES_A_STEP:
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


def _by_name(described: "_Described", names: Collection[str], created: Mapping[str, ErrorCode]) -> Steps[None]:
    """Describes topics requested by name: first those that existed before the request, then the others."""
    topics = described.image.topics_by_name
    others: list[str] = []
    for name in names:
        topic = topics.get(name)
        if topic is None or name in created:
            others.append(name)
        else:
            yield from described.add(topic)
    for name in others:
        topic = topics.get(name)
        code = created.get(name, ErrorCode.NONE)
        if topic is not None and not code:
            yield from described.add(topic)
            continue
        if not code:
            code = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION if is_legal(name) else ErrorCode.INVALID_TOPIC_EXCEPTION
        yield from described.add_error(MetadataResponseTopic(error_code=code, name=name, is_internal=is_internal(name)))


class _Described:
    """The topics of one answer, which are described in steps of ENTRIES_A_STEP topics and partitions."""

    def __init__(self, image: MetadataImage, context: RequestContext) -> None:
        self.image = image
        self.answers: list[MetadataResponseTopic] = []
        self._context = context
        self._lists: dict[tuple[int, ...], list[int]] = {}
        """The lists of broker ids, each kept once: separate lists for 15,000 partitions would take 4 MB."""
        self._left = ENTRIES_A_STEP

    def add(self, topic: TopicImage) -> Steps[None]:
        """Describes a topic."""
        if self.is_full():
            yield
        partitions: list[MetadataResponsePartition] = []
        for index in sorted(topic.partitions):
            if self.is_full():
                yield
            partitions.append(self._partition(index, topic.partitions[index]))
        self.answers.append(
            MetadataResponseTopic(
                name=topic.name, topic_id=topic.topic_id, is_internal=is_internal(topic.name), partitions=partitions
            )
        )

    def add_error(self, answer: MetadataResponseTopic) -> Steps[None]:
        """Adds the error of a topic that is not described."""
        if self.is_full():
            yield
        self.answers.append(answer)

    def is_full(self) -> bool:
        """Counts one entry more. Returns whether a step ends before it."""
        self._left -= 1
        if self._left >= 0:
            return False
        self._left = ENTRIES_A_STEP - 1
        return True

    def _shared(self, brokers: Iterable[int]) -> list[int]:
        """The one list with these broker ids for the whole answer. The caller must not change it."""
        key = tuple(brokers)
        found = self._lists.get(key)
        if found is None:
            found = self._lists[key] = list(key)
        return found

    def _partition(self, index: int, partition: PartitionImage) -> MetadataResponsePartition:
        image, listener, version = self.image, self._context.listener_name, self._context.api_version
        replicas, isr = self._shared(partition.replicas), self._shared(partition.isr)
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
            offline_replicas=self._shared(offline_replicas(image, partition, listener)),
        )
