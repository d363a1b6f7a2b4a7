"""Creates topics. Pure: image and request go in, records and a response come out.

Each topic of a request succeeds or fails independently. The records of all new topics are written together.
Source: ControllerApis.createTopics, ReplicationControlManager.createTopics.
"""

from collections.abc import Iterable, Iterator
from operator import attrgetter

from odradek.protocol.common.lazy_imports import lazy_imports
from odradek.protocol.common.steps import Steps
from odradek.protocol.errors import ErrorCode, KafkaError
from odradek.protocol.messages.metadata_records import TopicRecord
from odradek.protocol.messages.structure import Message
from odradek.protocol.messages.topics import CreateTopicsRequest, CreateTopicsResponse
from odradek.protocol.names.topics import METADATA_TOPIC, check_topic_name, may_collide, unified

from ...config.definition import server_keys, topic_keys
from ..image.image import MetadataImage, ResourceType
from ..publisher.decision import NAMES_A_STEP, ApiError, Decision, counted
from .config_operations import ConfigOperation, OperationType
from .configs import alter_resource
from .controller import Controller, TakePartitions, unlimited
from .placement import PLACED_A_STEP, Placer

with lazy_imports:
    from ...config import describe

USE_DEFAULT = -1
MAX_PARTITIONS_PER_BATCH = 10_000
"""``ReplicationControlManager.MAX_PARTITIONS_PER_BATCH``."""
CreatableTopicResult = CreateTopicsResponse.CreatableTopicResult
Config = CreateTopicsResponse.CreatableTopicConfigs


def create_topics(
    image: MetadataImage,
    request: CreateTopicsRequest,
    controller: Controller,
    take: TakePartitions = unlimited,
    *,
    with_configs: bool = True,
) -> Steps[Decision[CreateTopicsResponse]]:
    """Creates the valid topics. With ``validate_only``, the answer is the same, without records. ``take`` takes the
    partitions of each topic from the client's quota, or refuses the topic. ``with_configs``: whether the answer has the
    effective configs, which cost 0.5 ms.

    Raises KafkaError POLICY_VIOLATION, for all topics of the request, if they have too many partitions in total.
    """
    decision: Decision[CreateTopicsResponse] = Decision(CreateTopicsResponse())
    counts = yield from counted([topic.name for topic in request.topics])
    yield from _check_total(request, controller)
    new = NewTopics(image, controller, take, with_configs)
    yield from new.prepare(counts)
    results = decision.response.topics
    for topic in request.topics:
        yield
        if counts[topic.name] > 1 or topic.name == METADATA_TOPIC:
            continue
        try:
            result, records = yield from new.create(topic)
        except KafkaError as error:
            refused = ApiError.from_error(error)
            results.append(_refusal(topic.name, refused.code, refused.message))
        else:
            results.append(result)
            decision.records += records
    for name, count in counts.items():
        yield
        if count > 1:
            results.append(_refusal(name, ErrorCode.INVALID_REQUEST, "Duplicate topic name."))
        elif name == METADATA_TOPIC:
            sentence = f"Creation of internal topic {METADATA_TOPIC} is prohibited."
            results.append(_refusal(name, ErrorCode.INVALID_REQUEST, sentence))
    if request.validate_only:
        decision.records.clear()
    return decision


def _check_total(request: CreateTopicsRequest, controller: Controller) -> Steps[None]:
    """Refuses a request that is too large before any work on it (``validateTotalNumberOfPartitions``)."""
    total = 0
    default = controller.config.get_int("num.partitions")
    for count, topic in enumerate(request.topics):
        if not count % NAMES_A_STEP:
            yield
        if topic.assignments:
            total += len(topic.assignments)
        elif topic.num_partitions == USE_DEFAULT:
            total += default
        else:
            total += max(0, topic.num_partitions)
    if total > MAX_PARTITIONS_PER_BATCH:
        raise KafkaError(ErrorCode.POLICY_VIOLATION, "Excessively large number of partitions per request.")


def _refusal(name: str, code: ErrorCode, message: str | None) -> CreatableTopicResult:
    return CreatableTopicResult(name=name, error_code=code, error_message=message)


class NewTopics:
    """State that the topics of one request share: the placement, and values that are computed once."""

    def __init__(self, image: MetadataImage, controller: Controller, take: TakePartitions, with_configs: bool) -> None:
        self._take = take
        self._image = image
        self._with_configs = with_configs
        self._controller = controller
        self._placer = Placer(image, controller)
        self._existing: dict[str, str] = {}
        """Unified name -> an existing topic."""
        self._configs: dict[tuple[tuple[str, str], ...], list[Config]] = {}

    def prepare(self, names: Iterable[str]) -> Steps[None]:
        """Indexes the existing topics, if one of the new names might collide with one of them."""
        yield from self._placer.prepare()
        if not any(map(may_collide, names)):
            return
        for count, name in enumerate(list(self._image.topics_by_name)):
            if not count % NAMES_A_STEP:
                yield
            self._existing.setdefault(unified(name), name)

    def create(self, topic: CreateTopicsRequest.CreatableTopic) -> Steps[tuple[CreatableTopicResult, list[Message]]]:
        """The answer for one topic and its records: Topic, Configs, Partitions. Raises KafkaError."""
        image, controller, placer = self._image, self._controller, self._placer
        if topic.name in image.topics_by_name:
            raise KafkaError(ErrorCode.TOPIC_ALREADY_EXISTS, f"Topic '{topic.name}' already exists.")
        check_topic_name(topic.name)
        other = self._existing.get(unified(topic.name)) if may_collide(topic.name) else None
        if other is not None:
            sentence = f"Topic '{topic.name}' collides with existing topic: {other}"
            raise KafkaError(ErrorCode.INVALID_TOPIC_EXCEPTION, sentence)
        config_records, overrides = _topic_configs(image, topic, controller)
        replicas = yield from _replicas(topic, controller, placer)
        self._take(len(replicas))
        topic_id = controller.random_uuid()
        records: list[Message] = [TopicRecord(topic.name, topic_id), *config_records]
        for index in sorted(replicas):
            if not index % PLACED_A_STEP:
                yield
            records.append(placer.partition_record(topic_id, index, replicas[index]))
        result = CreatableTopicResult(
            name=topic.name,
            topic_id=topic_id,
            error_message=None,
            num_partitions=len(replicas),
            replication_factor=len(replicas[0]),
            configs=self._effective_configs(overrides) if self._with_configs else [],
        )
        return result, records

    def _effective_configs(self, overrides: dict[str, str]) -> list[Config]:
        """The effective configs, computed once for all topics with the same overrides (0.5 ms and 40 objects)."""
        key = tuple(sorted(overrides.items()))
        found = self._configs.get(key)
        if found is None:
            found = self._configs[key] = list(_effective_configs(self._image, overrides, self._controller))
        return found


def _effective_configs(image: MetadataImage, overrides: dict[str, str], controller: Controller) -> Iterator[Config]:
    """The configs of a topic with these overrides, with the source of each. Unlike in DescribeConfigs, the source is
    the first layer that sets any synonym of the key (KafkaConfigSchema.resolveEffectiveTopicConfig).
    """
    cluster, node = image.broker_config_layers(controller.node_id)
    layers = (
        (describe.ConfigSource.DYNAMIC_BROKER_CONFIG, node),
        (describe.ConfigSource.DYNAMIC_DEFAULT_BROKER_CONFIG, cluster),
        (describe.ConfigSource.STATIC_BROKER_CONFIG, controller.config.originals),
    )
    for entry in sorted(describe.describe_topic(controller.config, overrides, cluster, node), key=attrgetter("name")):
        source = describe.ConfigSource.DYNAMIC_TOPIC_CONFIG
        if entry.name not in overrides:
            server_key = topic_keys()[entry.name].server_key
            names = () if server_key is None else server_keys()[server_key].synonyms
            sources = (source for source, layer in layers if any(name in layer for name in names))
            source = next(sources, describe.ConfigSource.DEFAULT_CONFIG)
        yield Config(entry.name, entry.value, entry.read_only, source, entry.is_sensitive)


def _topic_configs(
    image: MetadataImage, topic: CreateTopicsRequest.CreatableTopic, controller: Controller
) -> tuple[list[Message], dict[str, str]]:
    nulls = [config.name for config in topic.configs if config.value is None]
    if nulls:
        raise KafkaError(ErrorCode.INVALID_CONFIG, f"Null value not supported for topic configs: {','.join(nulls)}")
    overrides = {config.name: config.value for config in topic.configs if config.value is not None}
    operations = {name: ConfigOperation(OperationType.SET, value) for name, value in overrides.items()}
    if not operations:
        return [], {}
    resource = (int(ResourceType.TOPIC), topic.name)
    return alter_resource(image, controller, resource, operations, newly_created=True), overrides


def _replicas(
    topic: CreateTopicsRequest.CreatableTopic, controller: Controller, placer: Placer
) -> Steps[dict[int, list[int]]]:
    """Partition index -> replicas. Raises KafkaError."""
    if topic.assignments:
        return (yield from _assigned_replicas(topic, placer))
    if topic.replication_factor < USE_DEFAULT or topic.replication_factor == 0:
        sentence = "Replication factor must be larger than 0, or -1 to use the default value."
        raise KafkaError(ErrorCode.INVALID_REPLICATION_FACTOR, sentence)
    if topic.num_partitions < USE_DEFAULT or topic.num_partitions == 0:
        sentence = "Number of partitions was set to an invalid non-positive value."
        raise KafkaError(ErrorCode.INVALID_PARTITIONS, sentence)
    config = controller.config
    partitions, factor = topic.num_partitions, topic.replication_factor
    if partitions == USE_DEFAULT:
        partitions = config.get_int("num.partitions")
    if factor == USE_DEFAULT:
        factor = config.get_int("default.replication.factor")
    prefix = f"Unable to replicate the partition {factor} time(s): "
    try:
        placed = yield from placer.place(0, partitions, factor)
    except KafkaError as error:
        raise KafkaError(error.error_code, prefix + error.message) from None
    if not (yield from placer.all_active(placed)):
        sentence = "All brokers are currently fenced or in controlled shutdown."
        raise KafkaError(ErrorCode.INVALID_REPLICATION_FACTOR, prefix + sentence)
    return dict(enumerate(placed))


def _assigned_replicas(topic: CreateTopicsRequest.CreatableTopic, placer: Placer) -> Steps[dict[int, list[int]]]:
    manual = "A manual partition assignment was specified, but"
    if topic.replication_factor != USE_DEFAULT:
        raise KafkaError(ErrorCode.INVALID_REQUEST, f"{manual} replication factor was not set to -1.")
    if topic.num_partitions != USE_DEFAULT:
        raise KafkaError(ErrorCode.INVALID_REQUEST, f"{manual} numPartitions was not set to -1.")
    replicas: dict[int, list[int]] = {}
    factor = None
    for assignment in topic.assignments:
        yield
        index = assignment.partition_index
        if index in replicas:
            sentence = f"Found multiple manual partition assignments for partition {index}"
            raise KafkaError(ErrorCode.INVALID_REPLICA_ASSIGNMENT, sentence)
        placer.check_manual(assignment.broker_ids, factor)
        factor = len(assignment.broker_ids)
        if not placer.active(assignment.broker_ids):
            raise all_fenced(index)
        replicas[index] = assignment.broker_ids
    if any(index not in replicas for index in range(len(replicas))):
        sentence = "partitions should be a consecutive 0-based integer sequence"
        raise KafkaError(ErrorCode.INVALID_REPLICA_ASSIGNMENT, sentence)
    return replicas


def all_fenced(index: int) -> KafkaError:
    """The error for a manual assignment without any active broker."""
    return KafkaError(
        ErrorCode.INVALID_REPLICA_ASSIGNMENT,
        f"All brokers specified in the manual partition assignment for partition {index} are fenced or in controlled "
        "shutdown.",
    )
