"""Deletes topics and adds partitions. Pure: image and request go in, records and a response come out.

Source: ControllerApis.deleteTopics and createPartitions, ReplicationControlManager.
"""

from collections import Counter

from odradek.protocol.common.steps import Steps
from odradek.protocol.errors import ErrorCode, KafkaError
from odradek.protocol.messages.metadata_records import PartitionRecord, RemoveTopicRecord
from odradek.protocol.messages.structure import ZERO_UUID
from odradek.protocol.messages.topics import (
    CreatePartitionsRequest,
    CreatePartitionsResponse,
    DeleteTopicsRequest,
    DeleteTopicsResponse,
)

from ..image.image import MetadataImage, TopicImage
from ..publisher.decision import NO_ERROR, ApiError, Decision, counted
from .controller import Controller, TakePartitions, unlimited
from .placement import PLACED_A_STEP, Placer
from .topics import MAX_PARTITIONS_PER_BATCH, all_fenced

NAMES_AND_IDS_SINCE = 6
DELETION_DISABLED_SINCE = 3


def delete_topics(
    image: MetadataImage,
    request: DeleteTopicsRequest,
    version: int,
    controller: Controller,
    take: TakePartitions = unlimited,
) -> Steps[Decision[DeleteTopicsResponse]]:
    """Deletes topics by name or, from version 6 on, by id. A topic that is named twice is refused. ``take`` takes the
    partitions of each topic from the client's quota, or refuses the topic.
    """
    decision: Decision[DeleteTopicsResponse] = Decision(DeleteTopicsResponse())
    results = decision.response.responses
    asked = asked_topics(request, version)
    if not controller.config.get_boolean("delete.topic.enable"):
        code = ErrorCode.TOPIC_DELETION_DISABLED if version >= DELETION_DISABLED_SINCE else ErrorCode.INVALID_REQUEST
        results += [_deletion(name, topic_id, ApiError(code)) for name, topic_id in asked]
        return decision
    good: list[tuple[str | None, bytes]] = []
    for name, topic_id in asked:
        yield
        if name is None and topic_id == ZERO_UUID:
            error = ApiError(ErrorCode.INVALID_REQUEST, "Neither topic name nor id were specified.")
            results.append(_deletion(name, topic_id, error))
        elif name is not None and topic_id != ZERO_UUID:
            error = ApiError(ErrorCode.INVALID_REQUEST, "You may not specify both topic name and topic id.")
            results.append(_deletion(name, topic_id, error))
        else:
            good.append((name, topic_id))
    counts = yield from counted(good)
    for (name, topic_id), count in counts.items():
        yield
        if count > 1:
            what = "id" if name is None else "name"
            error = ApiError(ErrorCode.INVALID_REQUEST, f"Duplicate topic {what}.")
            results.append(_deletion(name, topic_id, error))
    by_id = yield from _found(image, counts, results)
    for topic in by_id.values():
        yield
        error = NO_ERROR
        try:
            take(len(topic.partitions))
        except KafkaError as refusal:
            error = ApiError.from_error(refusal)
        else:
            decision.records.append(RemoveTopicRecord(topic.topic_id))
        results.append(_deletion(topic.name, topic.topic_id, error))
    return decision


def asked_topics(request: DeleteTopicsRequest, version: int) -> list[tuple[str | None, bytes]]:
    """The topics of a request: pairs of a name (or None) and a topic id (or zero bytes)."""
    if version >= NAMES_AND_IDS_SINCE:
        return [(topic.name, topic.topic_id) for topic in request.topics]
    return [(name, ZERO_UUID) for name in request.topic_names]


def _found(
    image: MetadataImage,
    counts: Counter[tuple[str | None, bytes]],
    results: list[DeleteTopicsResponse.DeletableTopicResult],
) -> Steps[dict[bytes, TopicImage]]:
    """The topics to delete, by id. Adds the errors of unknown topics and of those named twice."""
    by_id: dict[bytes, TopicImage] = {}
    twice = {topic_id for (_, topic_id), count in counts.items() if count > 1}
    once = [key for key, count in counts.items() if count == 1]
    for name, topic_id in once:
        yield
        if name is None:
            if topic_id in image.topics_by_id:
                by_id[topic_id] = image.topics_by_id[topic_id]
            else:
                results.append(_deletion(None, topic_id, ApiError.of(ErrorCode.UNKNOWN_TOPIC_ID)))
    for name, _ in once:
        yield
        if name is None:
            continue
        topic = image.topics_by_name.get(name)
        if topic is None:
            results.append(_deletion(name, ZERO_UUID, ApiError.of(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)))
        elif topic.topic_id in by_id or topic.topic_id in twice:
            by_id.pop(topic.topic_id, None)
            twice.add(topic.topic_id)
            sentence = "The provided topic name maps to an ID that was already supplied."
            results.append(_deletion(name, topic.topic_id, ApiError(ErrorCode.INVALID_REQUEST, sentence)))
        else:
            by_id[topic.topic_id] = topic
    return by_id


def _deletion(name: str | None, topic_id: bytes, error: ApiError) -> DeleteTopicsResponse.DeletableTopicResult:
    return DeleteTopicsResponse.DeletableTopicResult(
        name=name, topic_id=topic_id, error_code=error.code, error_message=error.message
    )


def create_partitions(
    image: MetadataImage, request: CreatePartitionsRequest, controller: Controller, take: TakePartitions = unlimited
) -> Steps[Decision[CreatePartitionsResponse]]:
    """Adds partitions to topics. With ``validate_only``, the answer is the same, without records. ``take`` takes the
    new partitions of each topic from the client's quota, or refuses the topic.

    Raises KafkaError POLICY_VIOLATION, for all topics of the request, if it adds more partitions to one than allowed.
    """
    for topic in request.topics:
        yield
        found = image.topics_by_name.get(topic.name)
        if found is None or topic.assignments is not None:
            continue
        # Checked before anything is placed, since a client may send any count. (Kafka bounds CreateTopics only.)
        if topic.count - len(found.partitions) > MAX_PARTITIONS_PER_BATCH:
            raise KafkaError(ErrorCode.POLICY_VIOLATION, "Unable to perform excessively large batch operation.")
    decision: Decision[CreatePartitionsResponse] = Decision(CreatePartitionsResponse())
    placer = Placer(image, controller)
    results = decision.response.results
    yield from placer.prepare()
    counts = yield from counted([topic.name for topic in request.topics])
    for name, count in counts.items():
        yield
        if count > 1:
            results.append(_addition(name, ApiError(ErrorCode.INVALID_REQUEST, "Duplicate topic name.")))
    for topic in request.topics:
        yield
        if counts[topic.name] > 1:
            continue
        try:
            records = yield from _new_partitions(image, topic, placer, take)
        except KafkaError as error:
            results.append(_addition(topic.name, ApiError.from_error(error)))
        else:
            results.append(_addition(topic.name, NO_ERROR))
            decision.records += records
    if request.validate_only:
        decision.records.clear()
    return decision


def _addition(name: str, error: ApiError) -> CreatePartitionsResponse.CreatePartitionsTopicResult:
    return CreatePartitionsResponse.CreatePartitionsTopicResult(name, error.code, error.message)


def _new_partitions(
    image: MetadataImage, topic: CreatePartitionsRequest.CreatePartitionsTopic, placer: Placer, take: TakePartitions
) -> Steps[list[PartitionRecord]]:
    """The records of one topic's new partitions. Raises KafkaError."""
    found = image.topics_by_name.get(topic.name)
    if found is None:
        raise KafkaError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
    existing = len(found.partitions)
    if topic.count == existing:
        raise KafkaError(ErrorCode.INVALID_PARTITIONS, f"Topic already has {existing} partition(s).")
    if topic.count < existing:
        raise KafkaError(
            ErrorCode.INVALID_PARTITIONS,
            f"The topic {topic.name} currently has {existing} partition(s); {topic.count} would not be an increase.",
        )
    additional = topic.count - existing
    if topic.assignments is not None and len(topic.assignments) != additional:
        raise KafkaError(
            ErrorCode.INVALID_REPLICA_ASSIGNMENT,
            f"Attempted to add {additional} additional partition(s), but only {len(topic.assignments)} assignment(s) "
            "were specified.",
        )
    take(additional)
    factor = len(found.partitions[0].replicas)
    if topic.assignments is None:
        placed = yield from placer.place(existing, additional, factor)
        if not (yield from placer.all_active(placed)):
            raise KafkaError(
                ErrorCode.INVALID_REPLICATION_FACTOR,
                f"Unable to replicate the partition {factor} time(s): All brokers are currently fenced or in "
                "controlled shutdown.",
            )
    else:
        placed = yield from _assigned(topic.assignments, existing, factor, placer)
    records = []
    for index, replicas in enumerate(placed, existing):
        if not index % PLACED_A_STEP:
            yield
        records.append(placer.partition_record(found.topic_id, index, replicas))
    return records


def _assigned(
    assignments: list[CreatePartitionsRequest.CreatePartitionsAssignment], existing: int, factor: int, placer: Placer
) -> Steps[list[list[int]]]:
    for index, assignment in enumerate(assignments, existing):
        yield
        placer.check_manual(assignment.broker_ids, factor)
        if not placer.active(assignment.broker_ids):
            raise all_fenced(index)
    return [assignment.broker_ids for assignment in assignments]
