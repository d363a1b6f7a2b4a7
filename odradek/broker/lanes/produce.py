"""The lane of Produce (0): one topic, one partition, one small batch.

Versions: 3 and later. Serves requests that are answered at once: acks 0 or 1, and acks=all of a partition without
followers; plain, idempotent, and transactional once the transaction has the partition; by name or topic id. Leaves to
the general path: internal topics, batches that a thread writes or inspects, configurations that sync before an answer,
acks=all with followers, denied clients, and every error.

Owns: the requests that it knows. Source: ``api/produce.py``.
"""

from struct import Struct
from struct import error as struct_error

from odradek.protocol.codec.runtime import unsigned_varint
from odradek.protocol.errors import KafkaError
from odradek.protocol.messages.produce import ProduceRequest, ProduceResponse
from odradek.protocol.names.topics import is_internal
from odradek.protocol.records.batch import BATCH_HEADER_SIZE, LOG_OVERHEAD, TRANSACTIONAL_FLAG, BatchHeader
from odradek.protocol.records.validation import read_produced_header
from odradek.protocol.security.acl import AclOperation, AclResourceType
from odradek.storage.log.append_plan import InspectionNeededError
from odradek.storage.log.log import AppendOrigin, Log

from ..dispatch.lane import Answering, only_part
from ..dispatch.route import Lane, Route
from ..network.connection import Connection
from ..network.response_writer import Part
from ..produce.acceptance import PartitionData, TopicData
from ..replicas.partition import Partition
from ..replicas.partitions import Partitions
from .parts import MOST_KNOWN, LaneParts, decoded, remember
from .template import Template, marks, template

OLDEST = 3
FLEXIBLE_SINCE = 9
BY_ID_SINCE = 13
LONGEST_HEAD = 512
"""The bytes before the records of a request that is remembered: with the names of client, transaction and topic."""
LENGTH = Struct(">i")
NUMBERS = "qqq"
"""Of an answer: base offset, log append time, log start offset."""
CLIENT = AppendOrigin.CLIENT
TOPIC, TRANSACTIONAL_ID, WRITE = AclResourceType.TOPIC, AclResourceType.TRANSACTIONAL_ID, AclOperation.WRITE


class KnownProduce:
    """A Produce request without its records. ``end``: where the length of the records begins."""

    __slots__ = ("acks", "answer", "end", "index", "topic", "topic_id", "transactional_id")

    def __init__(
        self,
        end: int,
        request: ProduceRequest,
        partition: Partition,
        answer: Template,
    ) -> None:
        """``answer``: makes the answer of the frame, base offset, log append time and log start offset. The
        partition is looked up for each request: a deleted one must not be kept here with its log.
        """
        self.end = end
        self.acks = request.acks
        self.transactional_id = request.transactional_id
        self.topic = partition.topic
        self.topic_id = partition.topic_id
        self.index = partition.index
        self.answer = answer


def produce_lane(parts: LaneParts, route: Route, answering: Answering) -> Lane | None:
    """The lane of one version."""
    return ProduceLane(parts, route, answering).serve if route.version >= OLDEST else None


class ProduceLane:
    """The requests of one version."""

    __slots__ = (
        "_answering",
        "_clock_ms",
        "_is_by_id",
        "_is_flexible",
        "_known",
        "_meters",
        "_partitions",
        "_parts",
        "_route",
        "_tail",
        "_version",
    )

    def __init__(self, parts: LaneParts, route: Route, answering: Answering) -> None:
        self._answering = answering
        self._parts = parts
        self._clock_ms = parts.clock_ms
        self._is_by_id = route.version >= BY_ID_SINCE
        self._is_flexible = route.version >= FLEXIBLE_SINCE
        self._known: dict[bytes, KnownProduce] = {}
        """By the bytes before the records, without the correlation id."""
        self._meters = parts.topic_meters
        self._partitions = parts.partitions
        self._route = route
        self._tail = b"\0\0\0" if self._is_flexible else b""  # no tagged fields: of partition, topic and request
        self._version = route.version

    def serve(self, connection: Connection, frame: memoryview) -> bool:
        """Answers a request (:class:`..dispatch.route.Lane`)."""
        at = connection.produced_head
        known = self._known.get(bytes(frame[8:at])) if at else None
        if known is None:
            known = self._learn(frame)
            if known is None:
                return False
            at = connection.produced_head = known.end
        partition, acks = self._partitions.find(known.topic, known.index), known.acks
        if partition is None or (self._is_by_id and partition.topic_id != known.topic_id):
            return False
        records = self._records(frame, at)
        log = partition.open_log
        if (
            records is None
            or log is None
            or len(records) >= partition.writers.large_bytes
            or partition.appends is not None
            or log.offsets.flush_policy.asks_for_syncs
            or (acks == -1 and partition.leading is not None)
        ):
            return False
        if not self._parts.may(connection, WRITE, TOPIC, partition.topic):
            return False
        try:
            header = read_produced_header(records, self._version)
            if header.batch_length + LOG_OVERHEAD != len(records):
                return False
            if header.attributes & TRANSACTIONAL_FLAG and not self._is_in_transaction(connection, known, header, log):
                return False
            appended = partition.append(records, self._clock_ms(), CLIENT, header)
        except (KafkaError, InspectionNeededError):
            return False  # an append that raises has changed nothing: the general path finds the same error
        base_offset, last_offset, _, append_time_ms, log_start_offset, size, _ = appended
        if self._meters is not None:
            self._meters.appended(partition.topic, len(records), last_offset - base_offset + 1)
        answer: list[Part] | None = None
        if acks:
            answer = [known.answer(frame, base_offset, append_time_ms, log_start_offset)]
        self._answering.send(connection, answer)
        partition.notify_when_seen(last_offset + 1, size)
        return True

    def _records(self, frame: memoryview, at: int) -> memoryview | None:
        """The records, whose length begins at ``at``; None if the request does not end after them as expected."""
        tail = self._tail
        try:
            if not self._is_flexible:
                length, start = LENGTH.unpack_from(frame, at)[0], at + 4
            else:
                length, start = frame[at], at + 1
                if length >= 0x80:
                    length, start = length & 0x7F | frame[start] << 7, start + 1
                    if length >= 0x80 << 7:
                        length, start = length & 0x3FFF | frame[start] << 14, start + 1
                length -= 1
        except (IndexError, struct_error):
            return None
        end = start + length
        if length <= BATCH_HEADER_SIZE or end + len(tail) != len(frame):
            return None
        if tail and (frame[end] or frame[end + 1] or frame[end + 2]):
            return None  # compared one by one: a view of them costs twice as much
        return frame[start:end]

    def _is_in_transaction(self, connection: Connection, known: KnownProduce, header: BatchHeader, log: Log) -> bool:
        """Whether the producer's transaction has the partition, and the client may use its transactional id."""
        transactional_id = known.transactional_id
        if transactional_id is None or not log.producer_state.has_open_transaction(
            header.producer_id, header.producer_epoch
        ):
            return False
        return self._parts.may(connection, WRITE, TRANSACTIONAL_ID, transactional_id)

    def _learn(self, frame: memoryview) -> KnownProduce | None:
        """What the lane needs to know of a request; None if it does not serve such requests."""
        route, tail = self._route, self._tail
        asked = decoded(route, frame)
        if asked is None:
            return None
        request, _, end = asked
        found = _only_partition(request, self._partitions, self._version)
        if found is None or end != len(frame):
            return None
        topic, data, partition = found
        length = len(data.records or b"")
        start = end - len(tail) - length
        lengths = unsigned_varint(length + 1) if tail else LENGTH.pack(length)
        head = start - len(lengths)
        if head > LONGEST_HEAD or frame[head:start] != lengths or frame[start + length :] != tail:
            return None  # a long client id, tagged fields, or a length that is written with more bytes than needed
        answer = template(only_part(route.encode(_response(topic, data.index), 0)), NUMBERS)
        if answer is None:
            return None
        known = KnownProduce(head, request, partition, answer)
        remember(self._known, bytes(frame[8:head]), known, MOST_KNOWN)
        return known


def _only_partition(
    request: ProduceRequest, partitions: Partitions, version: int
) -> tuple[TopicData, PartitionData, Partition] | None:
    """The topic, the data and the partition of a request for one partition that clients may write to."""
    if len(request.topic_data) != 1 or len(request.topic_data[0].partition_data) != 1 or request.acks not in (-1, 0, 1):
        return None
    topic = request.topic_data[0]
    data = topic.partition_data[0]
    name = topic.name if version < BY_ID_SINCE else partitions.topic_name(topic.topic_id) or ""
    partition = partitions.find(name, data.index)
    if partition is None or is_internal(name) or data.records is None:
        return None
    return topic, data, partition


def _response(topic: TopicData, index: int) -> ProduceResponse:
    base_offset, append_time, start_offset = marks(NUMBERS)
    answered = ProduceResponse.PartitionProduceResponse(
        index, base_offset=base_offset, log_append_time_ms=append_time, log_start_offset=start_offset
    )
    return ProduceResponse([ProduceResponse.TopicProduceResponse(topic.name, topic.topic_id, [answered])])
