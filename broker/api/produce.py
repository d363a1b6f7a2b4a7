"""Produce (0): appends record batches to partitions.

Versions: 0 to 13. 3: transactional id; record batches of magic 2 only. 5: the log start offset in the answer. 7: zstd.
8: errors of single records and a message. 9: flexible. 10: the current leader in the answer. 12: transactions without
AddPartitionsToTxn (KIP-890). 13: topic ids instead of names.
Errors: UNKNOWN_TOPIC_OR_PARTITION, UNKNOWN_TOPIC_ID, INVALID_REQUIRED_ACKS, INVALID_TOPIC_EXCEPTION (internal topics),
INVALID_RECORD, CORRUPT_MESSAGE, MESSAGE_TOO_LARGE, RECORD_LIST_TOO_LARGE, INVALID_TIMESTAMP,
UNSUPPORTED_FOR_MESSAGE_FORMAT, UNSUPPORTED_COMPRESSION_TYPE, OUT_OF_ORDER_SEQUENCE_NUMBER, INVALID_PRODUCER_EPOCH,
UNKNOWN_PRODUCER_ID, INVALID_PRODUCER_ID_MAPPING (transactional data without a transaction), KAFKA_STORAGE_ERROR.
With acks=0 there is no answer; where such a request fails, the connection closes, which is how its client notices.
Source: ``KafkaApis.handleProduceRequest``, ``ProduceRequest.validateRecords``, ``ReplicaManager.appendRecords``.

Cost of a request with one small batch, all in: about 33 us, of which the append is a third (docs/benchmarks.md).
"""

from collections.abc import Callable
from struct import Struct
from typing import Protocol

from ...protocol.api_keys import ApiKey
from ...protocol.errors import ErrorCode, KafkaError
from ...protocol.messages.produce import ProduceRequest, ProduceResponse
from ...protocol.records.batch import read_header
from ...protocol.records.compression import CompressionType
from ...storage.log import AppendOrigin
from ..internal_topics import is_internal
from ..partition import Partition
from ..partitions import Partitions
from ..request import ConnectionRefusal, RequestContext

API_KEY = ApiKey.PRODUCE
ADMIN_CLIENT_ID = "__admin_client"
"""The client id that may write to internal topics (``AdminUtils.ADMIN_CLIENT_ID``)."""


BATCH_PREFIX = Struct(">qiib")
"""Base offset, batch length, partition leader epoch, magic: what every format begins with."""
LOG_OVERHEAD = 12
SMALLEST_RECORD = 14
MAGIC = 2


class Broker(Protocol):
    """What this handler needs."""

    @property
    def partitions(self) -> Partitions:
        """What is served."""


def handle(
    broker: Broker,
    request: ProduceRequest,
    context: RequestContext,
    reply: Callable[[ProduceResponse | None], None],
) -> None:
    """Appends each partition's batch, answers, then wakes up who waits for them."""
    grown: list[tuple[Partition, int]] = []
    failed = False
    topics: list[ProduceResponse.TopicProduceResponse] = []
    for topic in request.topic_data:
        answers: list[ProduceResponse.PartitionProduceResponse] = []
        for data in topic.partition_data:
            try:
                answer = _append(broker, request, topic, data, context, grown)
            except KafkaError as error:
                failed = True
                answer = _refusal(data.index, error)
            answers.append(answer)
        topics.append(ProduceResponse.TopicProduceResponse(topic.name, topic.topic_id, answers))
    if request.acks != 0:
        reply(ProduceResponse(topics))
    elif failed:
        raise ConnectionRefusal("a Produce request with acks=0 failed, and closing is the only answer its client gets")
    else:
        reply(None)
    for partition, appended_bytes in grown:
        partition.notify(appended_bytes)


def _append(
    broker: Broker,
    request: ProduceRequest,
    topic: ProduceRequest.TopicProduceData,
    data: ProduceRequest.PartitionProduceData,
    context: RequestContext,
    grown: list[tuple[Partition, int]],
) -> ProduceResponse.PartitionProduceResponse:
    """Appends one partition's batch; raises KafkaError."""
    name = topic.name
    if context.api_version >= 13:
        name = broker.partitions.topic_name(topic.topic_id) or ""
        if not name:
            raise KafkaError(ErrorCode.UNKNOWN_TOPIC_ID)
    partition = broker.partitions.get(name, data.index)
    records = data.records
    validate_records(context.api_version, records)
    assert records is not None
    if request.acks not in (-1, 0, 1):
        raise KafkaError(ErrorCode.INVALID_REQUIRED_ACKS)
    if is_internal(name) and context.client_id != ADMIN_CLIENT_ID:
        raise KafkaError(ErrorCode.INVALID_TOPIC_EXCEPTION, f"Cannot append to internal topic {name}")
    if request.transactional_id is not None and read_header(records).is_transactional:
        # Nobody can have opened a transaction here, so the producer id is not one of this transactional id.
        raise KafkaError(ErrorCode.INVALID_PRODUCER_ID_MAPPING)
    appended = partition.append(records, context.now_ms, AppendOrigin.CLIENT)
    grown.append((partition, len(records)))
    return ProduceResponse.PartitionProduceResponse(
        data.index, ErrorCode.NONE, appended.first_offset, appended.log_append_time, appended.log_start_offset
    )


def _refusal(index: int, error: KafkaError) -> ProduceResponse.PartitionProduceResponse:
    # What the request asked for is wrong, not the batch: Kafka gives no text for these.
    plain = (ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, ErrorCode.UNKNOWN_TOPIC_ID, ErrorCode.INVALID_REQUIRED_ACKS)
    return ProduceResponse.PartitionProduceResponse(
        index,
        error.error_code,
        base_offset=-1,
        error_message=None if error.error_code in plain else str(error),
    )


def validate_records(version: int, records: bytes | memoryview | None) -> None:
    """Checks that a partition's data is exactly one batch of the current format.

    Raises KafkaError INVALID_RECORD, CORRUPT_MESSAGE or UNSUPPORTED_COMPRESSION_TYPE as ``ProduceRequest`` does; the
    batch's own contents are the log's to check.
    """
    if records is None or len(records) < BATCH_PREFIX.size:
        raise KafkaError(
            ErrorCode.INVALID_RECORD,
            f"Produce requests with version {version} must have at least one record batch per partition",
        )
    _, batch_length, _, magic = BATCH_PREFIX.unpack_from(records)
    if batch_length < SMALLEST_RECORD:
        raise KafkaError(
            ErrorCode.CORRUPT_MESSAGE, f"Record size {batch_length} is less than the minimum record overhead (14)"
        )
    if magic < 0 or magic > MAGIC:
        raise KafkaError(ErrorCode.CORRUPT_MESSAGE, f"Invalid magic found in record: {magic}")
    size = LOG_OVERHEAD + batch_length
    if len(records) < size:
        raise KafkaError(
            ErrorCode.INVALID_RECORD,
            f"Produce requests with version {version} must have at least one record batch per partition",
        )
    if magic != MAGIC:
        code = ErrorCode.INVALID_RECORD if version >= 3 else ErrorCode.UNSUPPORTED_FOR_MESSAGE_FORMAT
        raise KafkaError(
            code,
            f"Produce requests with version {version} are only allowed to contain record batches with magic version 2",
        )
    if version < 7 and records[22] & 7 == CompressionType.ZSTD:
        raise KafkaError(
            ErrorCode.UNSUPPORTED_COMPRESSION_TYPE,
            f"Produce requests with version {version} are not allowed to use ZStandard compression",
        )
    if len(records) - size >= BATCH_PREFIX.size:
        raise KafkaError(
            ErrorCode.INVALID_RECORD,
            f"Produce requests with version {version} are only allowed to contain exactly one record batch per "
            "partition",
        )
