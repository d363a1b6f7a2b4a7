"""Checks the batches of a Produce request, and finds their partitions.

Owns: the checks before a log sees a batch. Never does: appending. Source: ``KafkaApis.handleProduceRequest``,
``ProduceRequest.validateRecords``.
"""

from odradek.protocol.common.steps import Steps
from odradek.protocol.errors import ErrorCode, KafkaError
from odradek.protocol.messages.produce import ProduceRequest
from odradek.protocol.names.topics import is_internal
from odradek.protocol.records.batch import LOG_OVERHEAD, TRANSACTIONAL_FLAG, BatchHeader, Buffer
from odradek.protocol.records.errors import CorruptRecordError
from odradek.protocol.records.validation import read_produced_header

from ..dispatch.request import RequestContext
from ..replicas.partition import Partition
from ..replicas.partitions import Partitions
from .answer import PartitionProduceResponse, ProduceAnswer

BATCHES_A_STEP = 32
"""The batches that are checked, or appended, in one step. An append takes about 15 us."""
TOPIC_IDS_SINCE = 13
ACKS = (-1, 0, 1)
ADMIN_CLIENT_ID = "__admin_client"
"""The client id that may write to internal topics (``AdminUtils.ADMIN_CLIENT_ID``)."""

TopicData = ProduceRequest.TopicProduceData
PartitionData = ProduceRequest.PartitionProduceData


AcceptedBatch = tuple[Partition, BatchHeader, Buffer, PartitionProduceResponse]
"""A batch that the log of its partition is asked to append, and the answer of the partition."""
CheckedBatch = tuple[BatchHeader, Buffer] | KafkaError
"""A batch with its header, or why it is refused."""


def accept(
    partitions: Partitions, request: ProduceRequest, context: RequestContext, answer: ProduceAnswer
) -> Steps[list[AcceptedBatch]]:
    """The batches to append, in the order of the request. The partitions of the others get their errors in ``answer``.

    If a partition is named twice, its last batch counts, as in Kafka. Batches that take several steps are copied if
    the frame is not the request's own. Raises KafkaError, before any other effect, for problems that fail the whole
    request: an invalid batch, or transactional data without a transactional id.
    """
    count = sum([len(topic.partition_data) for topic in request.topic_data])
    copies = count > BATCHES_A_STEP and not context.owns_frame
    checked: dict[tuple[str, bytes, int], tuple[TopicData, CheckedBatch]] = {}
    number = 0
    for topic in request.topic_data:
        for data in topic.partition_data:
            if number and not number % BATCHES_A_STEP:
                yield
            number += 1
            records = data.records or b""
            batch = _checked(request, bytes(records) if copies else records, context.api_version)
            checked[topic.name, topic.topic_id, data.index] = topic, batch
    accepted = []
    for number, ((_, _, index), (topic, batch)) in enumerate(checked.items()):
        if number and not number % BATCHES_A_STEP:
            yield
        of_partition = answer.of(topic.name, topic.topic_id, index)
        name = topic.name
        try:
            if context.api_version >= TOPIC_IDS_SINCE:
                name = partitions.topic_name(topic.topic_id) or ""
                if not name:
                    raise KafkaError(ErrorCode.UNKNOWN_TOPIC_ID)
            partition = partitions.get(name, index)
            if isinstance(batch, KafkaError):
                answer.fail(of_partition, batch)
                continue
            _check_rights(request, name, context)
        except KafkaError as error:
            answer.refuse(of_partition, name, error)
        else:
            accepted.append((partition, *batch, of_partition))
    return accepted


def _checked(request: ProduceRequest, records: Buffer, version: int) -> CheckedBatch:
    """The batch of a partition. Raises KafkaError for what fails the whole request."""
    try:
        header = read_produced_header(records, version)
    except CorruptRecordError:
        raise
    except KafkaError as error:
        return error.with_traceback(None)  # the traceback holds this frame: a cycle
    if header.attributes & TRANSACTIONAL_FLAG and request.transactional_id is None:
        raise KafkaError(ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED)
    size = header.batch_length + LOG_OVERHEAD
    # Cuts off what follows the first batch: it can only be an incomplete batch. Kafka does the same.
    return header, records if size == len(records) else records[:size]


def _check_rights(request: ProduceRequest, name: str, context: RequestContext) -> None:
    """Raises KafkaError if the client may not write to the topic with these acks."""
    if request.acks not in ACKS:
        raise KafkaError(ErrorCode.INVALID_REQUIRED_ACKS)
    if is_internal(name) and context.client_id != ADMIN_CLIENT_ID:
        raise KafkaError(ErrorCode.INVALID_TOPIC_EXCEPTION, f"Cannot append to internal topic {name}")
