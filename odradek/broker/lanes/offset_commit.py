"""The lane of OffsetCommit (8): a member of a group commits up to 16 partitions of one topic.

Versions: 8 and later. Serves commits without metadata whose record batch is durable as soon as it is appended: the
partition of ``__consumer_offsets`` has no followers, and no configuration asks for syncs. Leaves to the general path:
groups without members, compressed offsets, denied clients, and every error.

Owns: the requests that it knows, with their record batches. Source: ``api/offset_commit.py``,
``groups/offsets/commit.py``.
"""

from collections.abc import Sequence
from struct import Struct
from struct import error as struct_error

from odradek.protocol.common.lazy_imports import lazy_imports
from odradek.protocol.errors import ErrorCode, KafkaError
from odradek.protocol.messages.group_records import OffsetCommitValue
from odradek.protocol.messages.groups import OffsetCommitRequest, OffsetCommitResponse
from odradek.protocol.records.batch import ATTRIBUTES_POSITION, BASE_TIMESTAMP_POSITION, CRC_POSITION, UINT32
from odradek.protocol.records.checksum import crc32c
from odradek.protocol.records.compression import CompressionType
from odradek.protocol.security.acl import AclOperation, AclResourceType

from ..coordinator.batches import batch_of
from ..coordinator.effects import SetTimer
from ..dispatch.lane import Answering, only_part
from ..dispatch.route import Lane, Route
from ..groups.classic.group import GroupState
from ..groups.consumer.registry import GroupRegistry
from ..groups.offsets.commit import NO_RETENTION, validate_committer
from ..groups.offsets.partition_offsets import NO_TIMESTAMP
from ..groups.offsets.store import offset_commit_record
from ..metadata.image.image import MetadataImage, TopicImage
from ..network.connection import Connection
from .parts import LaneParts, decoded, remember
from .template import FixedAnswer

with lazy_imports:
    from ..groups.consumer import offset_validation

FLEXIBLE_SINCE = 8
BY_ID_SINCE = 10
MOST_PARTITIONS = 16
MOST_BATCHES = 4
"""The sets of partitions that are remembered for one request."""
MOST_KNOWN = 1024
"""The most requests that are known, each of some KB; then all are forgotten, since clients could fill the memory."""
LONGEST_HEAD = 1024
"""The bytes before the partitions of a request that is remembered: with the names of client, group and member."""
PARTITION = Struct(">iqiBB")
"""Index, offset, leader epoch, the length of the metadata (null or empty), no tagged fields."""
END_BYTES = 2
"""No tagged fields of topic and request."""
TIMES = Struct(">qq")
STORED = Struct(">qibq")
"""Of a stored value: offset, leader epoch, EMPTY_TEXT, commit time."""
EMPTY_TEXT = 1
MARK = 0x1122334455667700
MARKED_EPOCH = 0x12345678
Commit = tuple[int, int, int, int, int]
"""The fields of :data:`PARTITION`."""
RENEWS = (GroupState.STABLE, GroupState.PREPARING_REBALANCE)
"""The states in which a commit renews the member's session."""


class CommitBatch:
    """The record batch of a commit, with the places of its numbers, and the answer."""

    __slots__ = ("_batch", "_checked", "_places", "answer")

    def __init__(self, template: bytes, places: Sequence[int], answer: FixedAnswer) -> None:
        """``places``: of the offset of each record."""
        self._batch = memoryview(bytearray(template))
        self._checked = self._batch[ATTRIBUTES_POSITION:]
        """The bytes that the CRC covers."""
        self._places = places
        self.answer = answer

    def encoded(self, commits: Sequence[Commit], now_ms: int) -> memoryview:
        """The batch with these offsets and leader epochs. The next call overwrites it."""
        batch = self._batch
        TIMES.pack_into(batch, BASE_TIMESTAMP_POSITION, now_ms, now_ms)
        for place, (_, offset, leader_epoch, _, _) in zip(self._places, commits, strict=True):
            STORED.pack_into(batch, place, offset, leader_epoch, EMPTY_TEXT, now_ms)
        UINT32.pack_into(batch, CRC_POSITION, crc32c(self._checked))
        return batch


class KnownCommit:
    """A request without its partitions. ``end``: where the number of partitions stands."""

    __slots__ = ("batches", "end", "image", "request", "topic")

    def __init__(self, end: int, request: OffsetCommitRequest, topic: TopicImage, image: MetadataImage) -> None:
        self.end = end
        self.request = request
        self.topic = topic
        self.image = image
        self.batches: dict[tuple[int, ...], CommitBatch] = {}
        """By the indexes of the partitions."""


def offset_commit_lane(parts: LaneParts, route: Route, answering: Answering) -> Lane | None:
    """The lane of one version."""
    return OffsetCommitLane(parts, route, answering).serve if route.version >= FLEXIBLE_SINCE else None


class OffsetCommitLane:
    """The requests of one version."""

    __slots__ = ("_answering", "_known", "_parts", "_route")

    def __init__(self, parts: LaneParts, route: Route, answering: Answering) -> None:
        self._parts = parts
        self._route = route
        self._answering = answering
        self._known: dict[bytes, KnownCommit] = {}
        """By the bytes before the partitions, without the correlation id."""

    def serve(self, connection: Connection, frame: memoryview) -> bool:
        """Answers a request (:class:`..dispatch.route.Lane`)."""
        parts, at = self._parts, connection.committed_head
        known = self._known.get(bytes(frame[8:at])) if at else None
        if known is None or known.image is not parts.metadata.image:
            known = self._learn(frame)
            if known is None:
                return False
            at = connection.committed_head = known.end
        commits = _commits(frame, at)
        if commits is None or (parts.authorizer is not None and not self._may_commit(connection, known)):
            return False
        request, topic = known.request, known.topic
        shard = parts.groups.ready_shard(request.group_id)
        if shard is None or not shard.stores_at_once():
            return False
        now_ms = parts.clock_ms()
        try:
            indexes = tuple([commit[0] for commit in commits])
            session_timer = self._session_timer(shard.core.groups, known, indexes)
            batch = known.batches.get(indexes) or _add_batch(self._route, known, indexes)
            if batch is None:
                return False
            first_offset = shard.append_batch(batch.encoded(commits, now_ms), now_ms)
        except KafkaError:
            return False  # nothing has changed, also by an append that raises: the general path finds the same error
        if session_timer is not None:
            shard.set_timer(session_timer)
        put, group_id, rest = shard.core.offsets.put_committed, request.group_id, ("", NO_TIMESTAMP, topic.topic_id)
        for record_offset, (index, offset, leader_epoch, _, _) in enumerate(commits, first_offset):
            put(group_id, topic.name, index, offset, leader_epoch, now_ms, record_offset, rest)
        shard.core.groups.counts.offset_commits += len(commits)
        self._answering.send(connection, [batch.answer.encoded(frame)], len(commits))
        return True

    def _session_timer(self, groups: GroupRegistry, known: KnownCommit, indexes: Sequence[int]) -> SetTimer | None:
        """Raises KafkaError if the member may not commit. Returns the timer of its session if a commit renews that."""
        request = known.request
        epoch = request.generation_id_or_member_epoch
        group = groups.classic.get(request.group_id)
        if group is not None:
            member = group.members.get(request.member_id)
            if member is None:
                raise KafkaError(ErrorCode.UNKNOWN_MEMBER_ID)
            validate_committer(group, request.member_id, request.group_instance_id, epoch)
            return member.session_timer if group.state in RENEWS else None
        consumer_group = groups.consumer.get(request.group_id)
        if consumer_group is None:
            raise KafkaError(ErrorCode.GROUP_ID_NOT_FOUND)
        check = offset_validation.validate_commit(consumer_group, request.member_id, epoch, self._route.version)
        if check is not None:
            for index in indexes:
                check(known.topic.name, known.topic.topic_id, index)
        return None

    def _may_commit(self, connection: Connection, known: KnownCommit) -> bool:
        """Whether the client may read the group and the topic."""
        may, read = self._parts.may, AclOperation.READ
        return may(connection, read, AclResourceType.GROUP, known.request.group_id) and may(
            connection, read, AclResourceType.TOPIC, known.topic.name
        )

    def _learn(self, frame: memoryview) -> KnownCommit | None:
        found = _learn(self._route, frame, self._parts.metadata.image)
        if found is not None:
            remember(self._known, bytes(frame[8 : found.end]), found, MOST_KNOWN)
        return found


def _commits(frame: memoryview, at: int) -> list[Commit] | None:
    """The partitions of a request; None if it has others than those that this lane serves."""
    try:
        count = frame[at] - 1
        at += 1
        end = at + count * PARTITION.size
        if not 0 < count <= MOST_PARTITIONS or end + END_BYTES != len(frame) or frame[end] or frame[end + 1]:
            return None
        commits = list(PARTITION.iter_unpack(frame[at:end]))
    except (IndexError, struct_error):
        return None
    for _, _, _, length, tags in commits:
        if length > EMPTY_TEXT or tags:
            return None
    return commits


def _learn(route: Route, frame: memoryview, image: MetadataImage) -> KnownCommit | None:
    found = decoded(route, frame)
    if found is None:
        return None
    request, _, end = found
    if len(request.topics) != 1 or request.retention_time_ms != NO_RETENTION or end != len(frame):
        return None
    asked = request.topics[0]
    by_id = route.version >= BY_ID_SINCE
    topic = image.topics_by_id.get(asked.topic_id) if by_id else image.topics_by_name.get(asked.name)
    count = len(asked.partitions)
    head = len(frame) - END_BYTES - count * PARTITION.size - 1
    if topic is None or not 8 < head <= LONGEST_HEAD or frame[head] != count + 1:
        return None
    request.topics = []
    return KnownCommit(head, request, topic, image)


def _add_batch(route: Route, known: KnownCommit, indexes: tuple[int, ...]) -> CommitBatch | None:
    """The batch of these partitions, from now on in ``known``. None if one is unknown or named twice."""
    topic = known.topic
    if len(set(indexes)) < len(indexes) or any(index not in topic.partitions for index in indexes):
        return None
    records = [
        offset_commit_record(
            known.request.group_id,
            topic.name,
            index,
            OffsetCommitValue(MARK + at, MARKED_EPOCH, "", MARK, topic_id=topic.topic_id),
        )
        for at, index in enumerate(indexes)
    ]
    template = batch_of(records, None, 0, CompressionType.NONE)
    places = [template.find(STORED.pack(MARK + at, MARKED_EPOCH, EMPTY_TEXT, MARK)) for at in range(len(indexes))]
    if -1 in places:
        return None
    answered = [OffsetCommitResponse.OffsetCommitResponsePartition(index) for index in indexes]
    response = OffsetCommitResponse(
        topics=[OffsetCommitResponse.OffsetCommitResponseTopic(topic.name, topic.topic_id, answered)]
    )
    answer = FixedAnswer(only_part(route.encode(response, 0)))
    batch = CommitBatch(template, places, answer)
    remember(known.batches, indexes, batch, MOST_BATCHES)
    return batch
