"""The lane of Fetch (1): one partition, read by a consumer.

Versions: 12 and later. Serves requests with one partition, without a session or in a session of one partition, that are
answered at once: with records up to a small size, or without any. Leaves to the general path: followers, consumers with
a rack, requests that wait, open or close a session, aborted transactions, large reads, denied clients, and every error.

Owns: the partitions that it has learned, by their topic in the request and their index. Source: ``api/fetch.py``.
"""

from struct import Struct
from struct import error as struct_error
from typing import Any

from odradek.protocol.errors import KafkaError
from odradek.protocol.messages.fetch import FetchResponse
from odradek.protocol.security.acl import AclOperation, AclResourceType

from ..dispatch.lane import Answering, Lane, only_part
from ..dispatch.route import Route
from ..fetch.partition_read import READ_COMMITTED
from ..fetch.session import FINAL_EPOCH, NO_SESSION_ID, FetchSession, SessionPartition
from ..network.connection import Connection
from ..network.response_writer import Part
from ..replicas.partition import Partition
from .parts import LaneParts
from .template import marks

OLDEST = 12
BY_ID_SINCE = 13
WITHOUT_REPLICA_ID_SINCE = 15
LEARNED = 4096
"""The most partitions that are learned; then all are forgotten, since clients could fill the memory."""
CLIENT_ID_LENGTH = Struct(">4xIh")
PARTITION = Struct(">BiiqiqiBBBBB")
"""The number of partitions, one partition, and what follows: no tagged fields of partition and topic, no forgotten
topics, no rack, no tagged fields."""
END = (0, 0, 1, 1, 0)
ONE, NONE = 2, 1
"""The length of an array of one element, and of an empty one, as they are written."""
WITHOUT_TOPICS = b"\x01\x01\x01\x00"
"""The end of a request that changes nothing in its session: no topics, no forgotten topics, no rack, no tagged fields.
"""
CONSUMER = -1
TOPIC_ID_BYTES = 16
SESSION_AT = 7
"""Where the session id begins after the correlation id: after tagged fields, throttle time and error code."""


class Learned:
    """A partition in requests of one version."""

    __slots__ = ("committed_answer", "index", "plain_answer", "successes", "topic")

    def __init__(
        self, topic: str, index: int, plain_answer: "RecordsAnswer", committed_answer: "RecordsAnswer"
    ) -> None:
        """``committed_answer``: with an empty list of aborted transactions; the other one has null."""
        self.topic = topic
        self.index = index
        self.plain_answer = plain_answer
        self.committed_answer = committed_answer


class RecordsAnswer:
    """Makes answers with one partition."""

    __slots__ = ("_fixed", "_head", "_middle", "_pack", "_rest", "_tail", "successes")

    def __init__(self, encoded: bytes, successes: int) -> None:
        """``encoded``: an answer with marks for high watermark, last stable offset and log start offset, without
        records."""
        marked = Struct(">qqq").pack(*marks("qqq"))
        at = encoded.index(marked)
        end = at + len(marked)
        self._head = encoded[8 : 8 + SESSION_AT]
        self._middle = encoded[8 + SESSION_AT + 4 : at]
        self._tail = encoded[-3:]  # no tagged fields of partition, topic and answer
        self._rest = encoded[end:-4]  # then the length of the records follows
        self._pack = Struct(f">iI{SESSION_AT}si{len(self._middle)}sqqq{len(self._rest)}s").pack
        self._fixed = len(encoded) - 4 - 1
        self.successes = successes

    def parts(self, correlation_id: int, session_id: int, offsets: tuple[int, int, int], records: bytes) -> list[Part]:
        """The frame of an answer. ``offsets``: high watermark, last stable offset, log start offset."""
        length = _varint(len(records) + 1)
        size = self._fixed + len(length) + len(records)
        head = self._pack(size, correlation_id, self._head, session_id, self._middle, *offsets, self._rest)
        return [b"".join((head, length, records, self._tail))]


def fetch_lane(parts: LaneParts, route: Route, answering: Answering) -> Lane | None:
    """The lane of one version."""
    version = route.version
    if version < OLDEST or parts.fetch_check_crcs:
        return None
    by_id = version >= BY_ID_SINCE
    head = Struct(">iiibii" if version >= WITHOUT_REPLICA_ID_SINCE else ">iiiibii")
    partitions, sessions, meters, clock_ms = parts.partitions, parts.fetch_sessions, parts.topic_meters, parts.clock_ms
    authorizer, fetch_max_bytes = parts.authorizer, parts.fetch_max_bytes
    learned: dict[tuple[bytes, int], Learned] = {}
    nothing = only_part(route.encode(FetchResponse(), 0))
    nothing_head, nothing_tail = nothing[8 : 8 + SESSION_AT], nothing[8 + SESSION_AT + 4 :]
    pack_nothing = Struct(f">4sI{SESSION_AT}si{len(nothing_tail)}s").pack
    nothing_size, nothing_successes = nothing[:4], answering.count(FetchResponse())[0]

    def learn(topic: bytes, index: int) -> Learned | None:
        name = partitions.topic_name(topic) if by_id else str(topic, "utf-8", "replace")
        if not name or partitions.find(name, index) is None:
            return None
        if len(learned) >= LEARNED:
            learned.clear()
        no_aborted: tuple[list[Any] | None, ...] = (None, [])
        plain, committed = (
            _records_answer(route, answering, topic if by_id else bytes(16), "" if by_id else name, index, aborted)
            for aborted in no_aborted
        )
        found = learned[topic, index] = Learned(name, index, plain, committed)
        return found

    def serve(connection: Connection, frame: memoryview) -> bool:
        try:
            correlation_id, client_id_length = CLIENT_ID_LENGTH.unpack_from(frame)
            at = 11 + client_id_length
            *replica_id, max_wait_ms, min_bytes, max_bytes, isolation, session_id, epoch = head.unpack_from(frame, at)
            if frame[at - 1] or (replica_id and replica_id[0] != CONSUMER) or not bytes(frame[10 : at - 1]).isascii():
                return False
            at += head.size
            wanted: SessionPartition | None = None
            if frame[at] == ONE:
                at += 1
                end = at + TOPIC_ID_BYTES if by_id else at + frame[at]
                topic = bytes(frame[at if by_id else at + 1 : end])
                count, index, leader_epoch, offset, last_epoch, start_offset, partition_max, *rest = (
                    PARTITION.unpack_from(frame, end)
                )
                if count != ONE or tuple(rest) != END or end + PARTITION.size != len(frame):
                    return False
            elif epoch > 0 and frame[at:] == WITHOUT_TOPICS:
                index = -1
            else:
                return False
        except (IndexError, struct_error):
            return False
        session: FetchSession | None = None
        if epoch > 0:
            session = sessions.session_of_one(session_id, epoch, by_id)
            if session is None:
                return False
            wanted = next(iter(session.partitions.values()))
            if index < 0:
                topic, index = wanted.topic_id if by_id else wanted.topic_name.encode(), wanted.index
                leader_epoch, offset, last_epoch = (
                    wanted.current_leader_epoch,
                    wanted.fetch_offset,
                    wanted.last_fetched_epoch,
                )
                partition_max, start_offset = wanted.max_bytes, wanted.log_start_offset
            elif wanted.index != index or (wanted.topic_id if by_id else wanted.topic_name.encode()) != topic:
                return False
        elif epoch != FINAL_EPOCH or session_id != NO_SESSION_ID:
            return False
        known = learned.get((topic, index)) or learn(topic, index)
        if known is None:
            return False
        name = known.topic
        partition = partitions.find(name, index)
        if partition is None or partition.copy is not None or (by_id and partition.topic_id != topic):
            return False
        if authorizer is not None and not authorizer.allows(
            connection.principal, connection.client_host, AclOperation.READ, AclResourceType.TOPIC, name
        ):
            return False
        max_bytes = min(max_bytes, fetch_max_bytes)
        is_committed = isolation == READ_COMMITTED
        try:
            read = _read(partition, leader_epoch, offset, last_epoch, min(partition_max, max_bytes), is_committed)
        except KafkaError:
            return False
        if read is None:
            return False
        records, offsets, has_list = read
        if max_wait_ms > 0 and len(records) < min(min_bytes, max_bytes):
            return False
        # From here on the request is served.
        is_named = True
        if session is not None and wanted is not None:
            wanted.fetch_offset, wanted.max_bytes, wanted.current_leader_epoch = offset, partition_max, leader_epoch
            wanted.last_fetched_epoch, wanted.log_start_offset = last_epoch, start_offset
            wanted.resolved_name, wanted.still = name, None
            is_named = wanted.must_answer(0, len(records), offsets[0], offsets[2], False)
            sessions.advance(session, clock_ms())
        if not is_named:
            nothing_answer = pack_nothing(nothing_size, correlation_id, nothing_head, session_id, nothing_tail)
            answering(connection, [nothing_answer], nothing_successes)
            return True
        if meters is not None:
            meters.read(name, len(records))
        answer = known.committed_answer if has_list else known.plain_answer
        answering(connection, answer.parts(correlation_id, session_id, offsets, records), answer.successes)
        return True

    return serve


def _read(
    partition: Partition, leader_epoch: int, offset: int, last_epoch: int, max_bytes: int, is_committed: bool
) -> tuple[bytes, tuple[int, int, int], bool] | None:
    """The records, the offsets of the answer, and whether it has a list of aborted transactions (an empty one).

    None: the general path must read. Raises KafkaError. As ``read_partition`` for a consumer.
    """
    partition.check_leader_epoch(max(leader_epoch, -1))
    log = partition.log
    of_log = log.offsets
    high_watermark, stable, start = of_log.high_watermark, of_log.last_stable_offset, of_log.log_start_offset
    if not start <= offset <= of_log.log_end_offset:
        return None
    if last_epoch >= 0:
        ended = of_log.epoch_end_offset(last_epoch)
        if ended is None or ended[0] < last_epoch or ended[1] < offset:
            return None
    bound = stable if is_committed else high_watermark
    if offset >= bound:
        return b"", (high_watermark, stable, start), is_committed
    data = log.read(offset, max_bytes, upper_bound_offset=bound, min_one_batch=True).data
    if not isinstance(data, bytes):
        data.close()
        return None
    if is_committed and log.aborted_transactions(offset, bound):
        return None
    return data, (high_watermark, stable, start), is_committed and len(data) > 0


def _records_answer(
    route: Route, answering: Answering, topic_id: bytes, topic: str, index: int, aborted: list[Any] | None
) -> RecordsAnswer:
    high_watermark, stable, start = marks("qqq")
    data = FetchResponse.PartitionData(
        partition_index=index,
        high_watermark=high_watermark,
        last_stable_offset=stable,
        log_start_offset=start,
        aborted_transactions=aborted,
        records=b"",
    )
    topics = [FetchResponse.FetchableTopicResponse(topic=topic, topic_id=topic_id, partitions=[data])]
    response = FetchResponse(responses=topics)
    return RecordsAnswer(only_part(route.encode(response, 0)), answering.count(response)[0])


def _varint(number: int) -> bytes:
    """An unsigned varint."""
    if number < 0x80:
        return bytes((number,))
    encoded = bytearray()
    while number >= 0x80:
        encoded.append(number & 0x7F | 0x80)
        number >>= 7
    encoded.append(number)
    return bytes(encoded)
