"""The lane of Produce (0): one topic, one partition, one small batch.

Versions: 3 and later. Serves requests that are answered at once: acks 0 or 1, and acks=all of a partition without
followers; plain, idempotent, and transactional once the transaction has the partition; by name or topic id. Leaves to
the general path: internal topics, batches that a thread writes or inspects, configurations that sync before an answer,
acks=all with followers, denied clients, and every error.

Owns: the requests that it has learned, by the bytes before their records. Source: ``api/produce.py``.
"""

from collections.abc import Callable
from struct import Struct
from struct import error as struct_error
from typing import Any

from odradek.protocol.errors import KafkaError, ProtocolError
from odradek.protocol.messages.produce import ProduceRequest, ProduceResponse
from odradek.protocol.names.internal_topics import is_internal
from odradek.protocol.records.batch import BATCH_HEADER_SIZE, TRANSACTIONAL_FLAG
from odradek.protocol.records.validation import read_produced_header
from odradek.protocol.security.acl import AclOperation, AclResourceType
from odradek.storage.log.append_plan import InspectionNeededError
from odradek.storage.log.log import AppendOrigin

from ..dispatch.lane import Answering, Lane, only_part
from ..dispatch.route import Route
from ..network.connection import Connection
from ..network.response_writer import Part
from ..replicas.partition import Partition
from .parts import LaneParts
from .template import marks, template

OLDEST = 3
FLEXIBLE_SINCE = 9
BY_ID_SINCE = 13
LEARNED = 4096
"""The most requests that are learned; then all are forgotten, since clients could fill the memory."""
LENGTH = Struct(">i")
NUMBERS = "qqq"
"""Of an answer: base offset, log append time, log start offset."""
CORRELATION_ID = Struct(">4xI")
CLIENT = AppendOrigin.CLIENT
TOPIC, TRANSACTIONAL_ID, WRITE = AclResourceType.TOPIC, AclResourceType.TRANSACTIONAL_ID, AclOperation.WRITE


class Learned:
    """A Produce request without its records. ``end``: where the length of the records begins."""

    __slots__ = ("acks", "answer", "end", "partition", "partitions_version", "transactional_id")

    def __init__(
        self,
        end: int,
        acks: int,
        transactional_id: str | None,
        partition: Partition,
        partitions_version: int,
        answer: Callable[..., bytes],
    ) -> None:
        """``answer``: makes the answer of correlation id, base offset, log append time and log start offset."""
        self.end = end
        self.acks = acks
        self.transactional_id = transactional_id
        self.partition = partition
        self.partitions_version = partitions_version
        self.answer = answer


def produce_lane(parts: LaneParts, route: Route, answering: Answering) -> Lane | None:
    """The lane of one version."""
    version = route.version
    if version < OLDEST:
        return None
    is_flexible = version >= FLEXIBLE_SINCE
    tail = b"\0\0\0" if is_flexible else b""  # no tagged fields: of partition, topic and request
    tail_size = len(tail)
    partitions, authorizer, meters, clock_ms = parts.partitions, parts.authorizer, parts.topic_meters, parts.clock_ms
    learned: dict[bytes, Learned] = {}

    def learn(frame: memoryview) -> Learned | None:
        try:
            request, end = route.decode(frame, route.decode_head(frame)[2])
        except ProtocolError:
            return None
        found = _learn(parts, route, request, frame, end, tail)
        if found is not None:
            if len(learned) >= LEARNED:
                learned.clear()
            learned[bytes(frame[8 : found.end])] = found
        return found

    def serve(connection: Connection, frame: memoryview) -> bool:
        at = connection.produced_head
        known = learned.get(bytes(frame[8:at])) if at else None
        if known is None or known.partitions_version != partitions.version:
            known = learn(frame)
            if known is None:
                return False
            at = connection.produced_head = known.end
        partition = known.partition
        try:
            if not is_flexible:
                length, start = LENGTH.unpack_from(frame, at)[0], at + 4
            else:
                length, start = frame[at], at + 1
                if length >= 0x80:
                    length, start = length & 0x7F | frame[start] << 7, start + 1
                    if length >= 0x80 << 7:
                        length, start = length & 0x3FFF | frame[start] << 14, start + 1
                length -= 1
        except (IndexError, struct_error):
            return False
        end = start + length
        if (
            not BATCH_HEADER_SIZE < length < partition.writers.large_bytes
            or end + tail_size != len(frame)
            or frame[end:] != tail
        ):
            return False
        log = partition.open_log
        acks = known.acks
        if (
            log is None
            or partition.appends is not None
            or log.offsets.flush_policy.asks_for_syncs
            or (acks == -1 and partition.leading is not None)
        ):
            return False
        principal = connection.principal
        if authorizer is not None and not authorizer.allows(
            principal, connection.client_host, WRITE, TOPIC, partition.topic
        ):
            return False
        records = frame[start:end]
        try:
            header = read_produced_header(records, version)
            if header.batch_length + 12 != length:
                return False
            transactional_id = known.transactional_id
            if header.attributes & TRANSACTIONAL_FLAG:
                if transactional_id is None or not log.producer_state.has_open_transaction(
                    header.producer_id, header.producer_epoch
                ):
                    return False
                if authorizer is not None and not authorizer.allows(
                    principal, connection.client_host, WRITE, TRANSACTIONAL_ID, transactional_id
                ):
                    return False
            appended = partition.append(records, clock_ms(), CLIENT, header)
        except (KafkaError, InspectionNeededError):
            return False  # an append that raises has changed nothing: the general path finds the same error
        base_offset, last_offset, _, append_time_ms, log_start_offset, size, _ = appended
        if meters is not None:
            meters.appended(partition.topic, length, last_offset - base_offset + 1)
        answer: list[Part] | None = None
        if acks:
            (correlation_id,) = CORRELATION_ID.unpack_from(frame)
            answer = [known.answer(correlation_id, base_offset, append_time_ms, log_start_offset)]
        answering(connection, answer)
        partition.notify_when_seen(last_offset + 1, size)
        return True

    return serve


def _learn(
    parts: LaneParts, route: Route, request: ProduceRequest, frame: memoryview, end: int, tail: bytes
) -> Learned | None:
    """What the lane needs to know of a request; None if it does not serve such requests."""
    if len(request.topic_data) != 1 or len(request.topic_data[0].partition_data) != 1 or request.acks not in (-1, 0, 1):
        return None
    topic = request.topic_data[0]
    data = topic.partition_data[0]
    name = topic.name
    if route.version >= BY_ID_SINCE:
        name = parts.partitions.topic_name(topic.topic_id) or ""
    partition = parts.partitions.find(name, data.index) if name else None
    if partition is None or is_internal(name) or data.records is None or end != len(frame):
        return None
    length = len(data.records)
    start = end - len(tail) - length
    lengths = _varint(length + 1) if tail else LENGTH.pack(length)
    head = start - len(lengths)
    if frame[head:start] != lengths or frame[start + length :] != tail:
        return None  # tagged fields, or a length that is written with more bytes than needed
    answer = template(only_part(route.encode(_response(topic, data.index), 0)), NUMBERS)
    if answer is None:
        return None
    return Learned(head, request.acks, request.transactional_id, partition, parts.partitions.version, answer)


def _response(topic: Any, index: int) -> ProduceResponse:
    base_offset, append_time, start_offset = marks(NUMBERS)
    answered = ProduceResponse.PartitionProduceResponse(
        index, base_offset=base_offset, log_append_time_ms=append_time, log_start_offset=start_offset
    )
    return ProduceResponse([ProduceResponse.TopicProduceResponse(topic.name, topic.topic_id, [answered])])


def _varint(number: int) -> bytes:
    """An unsigned varint."""
    encoded = bytearray()
    while number >= 0x80:
        encoded.append(number & 0x7F | 0x80)
        number >>= 7
    encoded.append(number)
    return bytes(encoded)
