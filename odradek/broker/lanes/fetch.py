"""The lane of Fetch (1): one partition, read by a consumer.

Versions: 12 and later. Serves requests with one partition, without a session or in a session of one partition, at once
or after a wait for records. Leaves to the general path: followers, consumers with a rack, requests that open or close a
session, aborted transactions, denied clients, and every error.

Owns: the partitions that it knows. Source: ``api/fetch.py``.
"""

from contextlib import suppress
from functools import partial
from struct import Struct
from struct import error as struct_error
from typing import Any

from odradek.protocol.codec.runtime import unsigned_varint
from odradek.protocol.common.steps import run_to_end
from odradek.protocol.errors import KafkaError
from odradek.protocol.messages.fetch import FetchResponse
from odradek.protocol.security.acl import AclOperation, AclResourceType
from odradek.storage.log.read_result import FileRegion

from ..api.fetch import read_and_answer
from ..dispatch.lane import Answering, PostponedAnswering, Sending, only_part
from ..dispatch.request_in_service import RequestInService
from ..dispatch.route import Lane, Route
from ..fetch.partition_read import READ_COMMITTED, FetchLimits
from ..fetch.session import FINAL_EPOCH, NO_SESSION_ID, FetchContext, FetchSession, SessionPartition
from ..fetch.wait import FetchWait
from ..network.connection import Connection
from ..network.response_writer import Part
from ..replicas.partition import Partition
from .parts import MOST_KNOWN, LaneParts, remember
from .template import marks

OLDEST = 12
BY_ID_SINCE = 13
WITHOUT_REPLICA_ID_SINCE = 15
CLIENT_ID_LENGTH = Struct(">4xIh")
PARTITION = Struct(">BiiqiqiBBBBB")
"""The number of partitions, one partition, and what follows: no tagged fields of partition and topic, no forgotten
topics, no rack, no tagged fields."""
ONE = 2
"""The length of an array of one element, as it is written."""
ONE_PARTITION = (ONE, 0, 0, 1, 1, 0)
"""What stands around the partition in :data:`PARTITION`."""
WITHOUT_TOPICS = b"\x01\x01\x01\x00"
"""The end of a request that changes nothing in its session: no topics, no forgotten topics, no rack, no tagged fields.
"""
CONSUMER = -1
TOPIC_ID_BYTES = 16
NO_TOPIC_ID = bytes(TOPIC_ID_BYTES)
READ, TOPIC = AclOperation.READ, AclResourceType.TOPIC
READ_UNCOMMITTED = 0
Asked = tuple[int, int, int, int, int, FetchSession | None, bytes, list[int]]
"""Correlation id, longest wait in ms, least and most bytes, isolation level, session, topic, and of the partition:
index, leader epoch, fetch offset, last fetched epoch, log start offset, most bytes."""
Read = tuple[bytes | FileRegion, tuple[int, int, int], bool]
"""Records; high watermark, last stable offset, log start offset; whether there is a list of aborted transactions."""
SESSION_AT = 7
"""Where the session id begins after the correlation id: after tagged fields, throttle time and error code."""


class KnownPartition:
    """A partition in requests of one version."""

    __slots__ = ("committed_answer", "plain_answer", "topic")

    def __init__(self, topic: str, plain_answer: "RecordsAnswer", committed_answer: "RecordsAnswer") -> None:
        """``committed_answer``: with an empty list of aborted transactions; the other one has null."""
        self.topic = topic
        self.plain_answer = plain_answer
        self.committed_answer = committed_answer


class NothingAnswer:
    """Makes answers without partitions: nothing has changed in the session."""

    __slots__ = ("_head", "_pack", "_size", "_tail", "successes")

    def __init__(self, encoded: bytes, successes: int) -> None:
        self._size, self._head, self._tail = encoded[:4], encoded[8 : 8 + SESSION_AT], encoded[8 + SESSION_AT + 4 :]
        self._pack = Struct(f">4sI{SESSION_AT}si{len(self._tail)}s").pack
        self.successes = successes

    def encoded(self, correlation_id: int, session_id: int) -> bytes:
        """The frame of an answer."""
        return self._pack(self._size, correlation_id, self._head, session_id, self._tail)


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

    def parts(
        self, correlation_id: int, session_id: int, offsets: tuple[int, int, int], records: bytes | FileRegion
    ) -> list[Part]:
        """The frame of an answer. ``offsets``: high watermark, last stable offset, log start offset."""
        length = unsigned_varint(len(records) + 1)
        size = self._fixed + len(length) + len(records)
        head = self._pack(size, correlation_id, self._head, session_id, self._middle, *offsets, self._rest)
        if isinstance(records, bytes):
            return [b"".join((head, length, records, self._tail))]
        return [head + length, records, self._tail]


def fetch_lane(parts: LaneParts, route: Route, answering: Answering) -> Lane | None:
    """The lane of one version."""
    if route.version < OLDEST or parts.fetch_check_crcs:
        return None
    return FetchLane(parts, route, answering).serve


class FetchLane:
    """The requests of one version."""

    def __init__(self, parts: LaneParts, route: Route, answering: Answering) -> None:
        self._parts = parts
        self._route = route
        self._answering = answering
        self._by_id = route.version >= BY_ID_SINCE
        self._head = Struct(">iiibii" if route.version >= WITHOUT_REPLICA_ID_SINCE else ">iiiibii")
        self._known: dict[tuple[bytes, int], KnownPartition] = {}
        self._nothing = NothingAnswer(only_part(route.encode(FetchResponse(), 0)), answering.count(FetchResponse())[0])

    def serve(self, connection: Connection, frame: memoryview) -> bool:
        """Answers a request now or when there are records (:data:`..dispatch.route.Lane`)."""
        asked = self._asked(frame)
        if asked is None:
            return False
        correlation_id, max_wait_ms, min_bytes, max_bytes, isolation, session, topic, wanted = asked
        index, leader_epoch, offset, last_epoch, start_offset, partition_max = wanted
        known = self._known.get((topic, index)) or self._learn(topic, index)
        if known is None:
            return False
        parts, name = self._parts, known.topic
        partition = parts.partitions.find(name, index)
        if partition is None or partition.copy is not None or (self._by_id and partition.topic_id != topic):
            return False
        if not self._may_read(connection, name):
            return False
        max_bytes = min(max_bytes, parts.fetch_max_bytes)
        is_committed = isolation == READ_COMMITTED
        try:
            read = _read(partition, leader_epoch, offset, last_epoch, min(partition_max, max_bytes), is_committed)
        except KafkaError:
            return False
        if read is None:
            return False
        missing_bytes = min(min_bytes, max_bytes) - len(read[0])
        # From here on the request is served.
        in_session = None
        if session is not None:
            in_session = next(iter(session.partitions.values()))
            in_session.fetch_offset, in_session.max_bytes, in_session.current_leader_epoch = (
                offset,
                partition_max,
                leader_epoch,
            )
            in_session.last_fetched_epoch, in_session.log_start_offset = last_epoch, start_offset
            in_session.resolved_name, in_session.still = name, None
            parts.fetch_sessions.advance(session, parts.clock_ms())
        if max_wait_ms > 0 and missing_bytes > 0:
            _drop(read[0])
            want = in_session or SessionPartition(
                topic if self._by_id else NO_TOPIC_ID,
                "" if self._by_id else name,
                index,
                offset,
                partition_max,
                leader_epoch,
                last_epoch,
            )
            want.resolved_name = name
            waiting = WaitingFetch(self, connection, correlation_id, session, want, partition, max_bytes, is_committed)
            FetchWait([partition], missing_bytes, max_wait_ms, parts.timers.schedule, waiting.complete)
            return True
        self.answer(self._answering, connection, correlation_id, session, in_session, known, read)
        return True

    def answer(
        self,
        answering: Sending,
        connection: Connection,
        correlation_id: int,
        session: FetchSession | None,
        in_session: SessionPartition | None,
        known: KnownPartition,
        read: Read,
    ) -> None:
        """Sends what was read. ``in_session``: the partition of ``session``."""
        records, offsets, has_list = read
        session_id = NO_SESSION_ID if session is None else session.session_id
        if in_session is not None and not in_session.must_answer(0, len(records), offsets[0], offsets[2], False):
            nothing = self._nothing
            answering.send(connection, [nothing.encoded(correlation_id, session_id)], nothing.successes)
            return
        meters = self._parts.topic_meters
        if meters is not None:
            meters.read(known.topic, len(records))
        answer = known.committed_answer if has_list else known.plain_answer
        answering.send(connection, answer.parts(correlation_id, session_id, offsets, records), answer.successes)

    def read_again(self, waiting: "WaitingFetch") -> None:
        """Answers a request that has waited."""
        want, parts, known, read = waiting.want, self._parts, None, None
        name = want.resolved_name
        topic = want.topic_id if self._by_id else name.encode()
        is_unchanged = parts.partitions.find(name, want.index) is waiting.partition and waiting.partition.copy is None
        if is_unchanged and self._may_read(waiting.connection, name):
            known = self._known.get((topic, want.index)) or self._learn(topic, want.index)
        if known is not None:
            max_bytes = min(want.max_bytes, waiting.max_bytes)
            with suppress(KafkaError):
                read = _read(
                    waiting.partition,
                    want.current_leader_epoch,
                    want.fetch_offset,
                    want.last_fetched_epoch,
                    max_bytes,
                    waiting.is_committed,
                )
        if known is None or read is None:
            self._read_generally(waiting)
            return
        in_session = None if waiting.session is None else want
        self.answer(
            waiting.answering, waiting.connection, waiting.correlation_id, waiting.session, in_session, known, read
        )

    def _read_generally(self, waiting: "WaitingFetch") -> None:
        """The second read of a request whose partition has changed, or that gets aborted transactions."""
        parts = self._parts
        context = RequestInService(
            waiting.connection,
            self._route,
            waiting.correlation_id,
            waiting.connection.client_id,
            parts.clock_ms(),
            owns_frame=True,
            in_slices=False,
        )
        waiting.answering.hand_over(context)
        if parts.access_of is not None:
            context.access = parts.access_of(context)
        limits = FetchLimits(
            max_bytes=waiting.max_bytes,
            isolation_level=READ_COMMITTED if waiting.is_committed else READ_UNCOMMITTED,
            follower=None,
            may_read=None if context.access is None else partial(context.access.topic, READ),
        )
        fetch = FetchContext([waiting.want], waiting.session, incremental=waiting.session is not None)
        run_to_end(read_and_answer(parts.broker, fetch, limits, context, context))

    def postponed(self) -> PostponedAnswering:
        """The answering of the request that is served now, for later."""
        return self._answering.postponed()

    def _may_read(self, connection: Connection, topic: str) -> bool:
        return self._parts.may(connection, READ, TOPIC, topic)

    def _asked(self, frame: memoryview) -> Asked | None:
        """What a request asks for; None if this lane does not serve it."""
        head, by_id = self._head, self._by_id
        try:
            correlation_id, client_id_length = CLIENT_ID_LENGTH.unpack_from(frame)
            at = 11 + client_id_length
            *replica_id, max_wait_ms, min_bytes, max_bytes, isolation, session_id, epoch = head.unpack_from(frame, at)
            if frame[at - 1] or (replica_id and replica_id[0] != CONSUMER) or not bytes(frame[10 : at - 1]).isascii():
                return None
            at += head.size
            topic, wanted = b"", None
            if frame[at] == ONE:
                at += 1
                end = at + TOPIC_ID_BYTES if by_id else at + frame[at]
                topic = bytes(frame[at if by_id else at + 1 : end])
                count, *wanted, end_1, end_2, end_3, end_4, end_5 = PARTITION.unpack_from(frame, end)
                is_alone = (count, end_1, end_2, end_3, end_4, end_5) == ONE_PARTITION
                if not is_alone or end + PARTITION.size != len(frame):
                    return None
            elif epoch <= 0 or frame[at:] != WITHOUT_TOPICS:
                return None
        except (IndexError, struct_error):
            return None
        session = None
        if epoch > 0:
            session = self._parts.fetch_sessions.session_of_one(session_id, epoch, by_id)
            if session is None:
                return None
            held = next(iter(session.partitions.values()))
            held_topic = held.topic_id if by_id else held.topic_name.encode()
            if wanted is None:
                topic = held_topic
                wanted = [
                    held.index,
                    held.current_leader_epoch,
                    held.fetch_offset,
                    held.last_fetched_epoch,
                    held.log_start_offset,
                    held.max_bytes,
                ]
            elif held.index != wanted[0] or held_topic != topic:
                return None
        elif epoch != FINAL_EPOCH or session_id != NO_SESSION_ID or wanted is None:
            return None
        return correlation_id, max_wait_ms, min_bytes, max_bytes, isolation, session, topic, wanted

    def _learn(self, topic: bytes, index: int) -> KnownPartition | None:
        partitions, by_id = self._parts.partitions, self._by_id
        name = partitions.topic_name(topic) if by_id else str(topic, "utf-8", "replace")
        if not name or partitions.find(name, index) is None:
            return None
        topic_id, asked_name = (topic, "") if by_id else (NO_TOPIC_ID, name)
        plain = _records_answer(self._route, self._answering, topic_id, asked_name, index, None)
        committed = _records_answer(self._route, self._answering, topic_id, asked_name, index, [])
        found = KnownPartition(name, plain, committed)
        remember(self._known, (topic, index), found, MOST_KNOWN)
        return found


class WaitingFetch:
    """A request that waits for records."""

    __slots__ = (
        "_lane",
        "answering",
        "connection",
        "correlation_id",
        "is_committed",
        "max_bytes",
        "partition",
        "session",
        "want",
    )

    def __init__(
        self,
        lane: FetchLane,
        connection: Connection,
        correlation_id: int,
        session: FetchSession | None,
        want: SessionPartition,
        partition: Partition,
        max_bytes: int,
        is_committed: bool,
    ) -> None:
        """``max_bytes``: of the answer."""
        self._lane = lane
        self.answering = lane.postponed()
        self.connection = connection
        self.correlation_id = correlation_id
        self.session = session
        self.want = want
        self.partition = partition
        self.max_bytes = max_bytes
        self.is_committed = is_committed

    def complete(self) -> None:
        """Reads and answers, when there are records or the time is up."""
        self._lane.read_again(self)


def _read(
    partition: Partition, leader_epoch: int, offset: int, last_epoch: int, max_bytes: int, is_committed: bool
) -> Read | None:
    """As ``read_partition`` for a consumer. None: the general path must read. Raises KafkaError."""
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
    if is_committed and log.aborted_in_read(offset, len(data)):
        _drop(data)
        return None
    return data, (high_watermark, stable, start), is_committed and len(data) > 0


def _drop(records: bytes | FileRegion) -> None:
    """Closes the region of a file that will not be sent."""
    if isinstance(records, FileRegion):
        records.close()


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
