"""Seeded requests like those of clients: mostly of the shapes that lanes serve, and many that come close to them."""

from collections.abc import Callable, Sequence
from random import Random
from typing import Any

from odradek.protocol.apis.api_keys import api
from odradek.protocol.codec import decoder
from odradek.protocol.codec.header import decode_request_header, encode_request, response_header_version
from odradek.protocol.errors import ErrorCode, ProtocolError
from odradek.protocol.messages.consumer_groups import ConsumerGroupHeartbeatRequest, ConsumerGroupHeartbeatResponse
from odradek.protocol.messages.fetch import FetchRequest
from odradek.protocol.messages.groups import (
    FindCoordinatorRequest,
    HeartbeatRequest,
    JoinGroupRequest,
    LeaveGroupRequest,
    OffsetCommitRequest,
    OffsetFetchRequest,
    SyncGroupRequest,
)
from odradek.protocol.messages.metadata import (
    ApiVersionsRequest,
    DescribeClusterRequest,
    MetadataRequest,
)
from odradek.protocol.messages.offsets import DeleteRecordsRequest, ListOffsetsRequest
from odradek.protocol.messages.produce import ProduceRequest
from odradek.protocol.messages.quotas import AlterClientQuotasRequest
from odradek.protocol.messages.security import CreateAclsRequest, DeleteAclsRequest
from odradek.protocol.messages.topics import CreateTopicsRequest, DeleteTopicsRequest
from odradek.protocol.messages.transactions import EndTxnRequest, InitProducerIdRequest
from odradek.protocol.records.builder import encode_batch
from odradek.protocol.records.compression import CompressionType
from odradek.protocol.records.record import Record
from odradek.protocol.security.acl import ANONYMOUS, AclOperation, AclPermission, AclResourceType, PatternType

from .twins import NOW_MS, Twins

PATIENT_MS = 30_000
"""How long a fetch waits for others' records: longer than they take on a busy machine, where two twins would differ."""
CONNECTIONS = 4
GROUP = "readers"
MODERN = "modern"
MODERN_MEMBER = "modern-member"
CONFIGS = {
    "plain": {},
    "compacted": {"cleanup.policy": "compact"},
    "small": {"max.message.bytes": "400"},
    "stamped": {"message.timestamp.type": "LogAppendTime"},
    "rolled": {"segment.bytes": "1048576", "segment.index.bytes": "120", "index.interval.bytes": "40"},
}
"""Topics with their configs."""
PARTITIONS = 2


def _generous_quotas() -> AlterClientQuotasRequest:
    names = ("producer_byte_rate", "consumer_byte_rate", "request_percentage")
    quotas = [AlterClientQuotasRequest.OpData(name, 1e9) for name in names]
    entity = [AlterClientQuotasRequest.EntityData("client-id", None)]
    return AlterClientQuotasRequest([AlterClientQuotasRequest.EntryData(entity, quotas)])


def _waits(frame: memoryview, version: int) -> bool:
    """Whether a Fetch may wait for records, for longer than this test."""
    try:
        request = decoder(FetchRequest, version)(frame, decode_request_header(frame)[1])[0]
    except ProtocolError:
        return False
    return request.max_wait_ms > 5


class Traffic:
    """Sends seeded requests to both brokers."""

    def __init__(self, twins: Twins, random: Random, *, has_quotas: bool = False) -> None:
        """``has_quotas``: whether requests are charged, to quotas that none of them exceeds."""
        self._twins = twins
        self._has_quotas = has_quotas
        self._random = random
        self._ids: dict[str, bytes] = {}
        self._members: dict[int, tuple[str, int]] = {}
        self._sessions: dict[int, tuple[int, int]] = {}
        self._ends: dict[tuple[str, int], int] = {}
        self._producers: dict[str | None, tuple[int, int]] = {}
        self._sequences: dict[tuple[str | None, str, int], int] = {}
        self._correlation_id = 0
        self._modern_epoch = 0
        self._modern_owned: list[ConsumerGroupHeartbeatRequest.TopicPartitions] = []
        self._kinds: Sequence[tuple[Callable[[int], Any], int]] = (
            (self._produce, 40),
            (self._fetch, 30),
            (self._fetch_in_session, 12),
            (self._wake, 5),
            (self._list_offsets, 8),
            (self._heartbeat, 8),
            (self._consumer_heartbeat, 8),
            (self._commit, 12),
            (self._ask_metadata, 8),
            (self._api_versions, 3),
            (self._find_coordinator, 3),
            (self._describe_cluster, 2),
            (self._fetch_offsets, 2),
            (self._pipelined, 3),
            (self._broken, 3),
            (self._change, 1),
        )

    async def begin(self) -> None:
        """Creates topics, groups and producers."""
        config = CreateTopicsRequest.CreatableTopicConfig
        topics = [
            CreateTopicsRequest.CreatableTopic(name, PARTITIONS, 1, [], [config(*pair) for pair in configs.items()])
            for name, configs in CONFIGS.items()
        ]
        await self._send(0, CreateTopicsRequest(topics), 5)
        await self._learn_ids()
        if self._has_quotas:
            await self._send(0, _generous_quotas(), 1)
        await self._send(0, FindCoordinatorRequest(key=GROUP), 2)
        await self._send(0, FindCoordinatorRequest(key="pays", key_type=1), 2)
        for transactional_id in (None, "pays"):
            answer = await self._send(0, InitProducerIdRequest(transactional_id, 60_000), 4)
            while answer.error_code:
                answer = await self._send(0, InitProducerIdRequest(transactional_id, 60_000), 4)
            self._producers[transactional_id] = answer.producer_id, answer.producer_epoch
        await self._join(1)
        await self._join_consumer_group()

    async def run(self, requests: int) -> None:
        """Sends about as many requests."""
        kinds, weights = zip(*self._kinds, strict=True)
        for _ in range(requests):
            self._twins.advance(self._random.choice((0, 0, 1, 7)))
            await self._random.choices(kinds, weights)[0](self._random.randrange(CONNECTIONS))

    # Sending.

    def _frame(self, request: Any, version: int) -> bytes:
        self._correlation_id += 1
        client_id = self._random.choice(("app", "app", "app", "other", "", None))
        return encode_request(request, version, self._correlation_id, client_id)

    async def _send(self, connection: int, request: Any, version: int) -> Any:
        answers = await self._twins.ask(connection, self._frame(request, version))
        if answers is None:
            self._sessions.pop(connection, None)
            return None
        head = 8 + response_header_version(request.API_KEY, version)
        response = api(request.API_KEY).response_class()
        return decoder(response, version)(memoryview(answers[0]), head)[0]

    def _version(self, request: type[Any], lowest: int = 0, highest: int = 99) -> int:
        first, last = api(request.API_KEY).stable_versions
        return self._random.randint(max(first, lowest), min(last, highest))

    def _one_in(self, count: int) -> bool:
        return self._random.randrange(count) == 0

    def _topic(self) -> str:
        return "missing" if self._one_in(40) else self._random.choice(list(CONFIGS))

    def _index(self) -> int:
        return self._random.choice((-1, PARTITIONS, 99)) if self._one_in(60) else self._random.randrange(PARTITIONS)

    async def _learn_ids(self, connection: int = 0) -> None:
        answer = await self._send(connection, MetadataRequest(None), 12)
        self._ids = {topic.name: topic.topic_id for topic in answer.topics}

    # Writing.

    def _batch(self, transactional_id: str | None, topic: str, index: int, is_transactional: bool) -> bytes:
        random = self._random
        now_ms = NOW_MS + random.choice((0, 0, 0, 5, -5, 10**12, -(10**9)))
        count = 1 if random.random() < 0.7 else random.randint(1, 300 if self._one_in(20) else 5)
        key = None if random.random() < 0.5 else b"key"
        records = [
            Record(
                at,
                now_ms,
                key,
                random.randbytes(random.choice((0, 10, 100, 130, 300, 90_000 if self._one_in(20) else 20))),
                [],
            )
            for at in range(count)
        ]
        kind = CompressionType.NONE if random.random() < 0.85 else CompressionType(random.randrange(5))
        more: dict[str, Any] = {}
        if is_transactional or random.random() < 0.3:
            producer_id, epoch = self._producers[transactional_id]
            place = transactional_id, topic, index
            sequence = self._sequences.get(place, 0)
            if not self._one_in(15):
                self._sequences[place] = sequence + count
            more = {"producer_id": producer_id, "producer_epoch": epoch + self._one_in(40), "base_sequence": sequence}
        batch = bytearray(encode_batch(records, compression=kind, is_transactional=is_transactional, **more))
        if self._one_in(40):
            batch[random.randrange(len(batch))] ^= 1 << random.randrange(8)
        if self._one_in(60):
            del batch[random.randrange(len(batch)) :]
        if self._one_in(60):
            batch += batch[: random.randrange(1, len(batch) + 1)] if batch else b""
        return bytes(batch)

    def _produce_request(self, version: int) -> ProduceRequest:
        random = self._random
        transactional_id = "pays" if self._one_in(6) else None
        acks = random.choice((-1, 1, 1, 1, -1, 2 if self._one_in(10) else 1))
        topics = []
        for _ in range(2 if self._one_in(15) else 1):
            name = self._topic()
            data = [
                ProduceRequest.PartitionProduceData(
                    index := self._index(),
                    None
                    if self._one_in(100)
                    else self._batch(
                        transactional_id, name, index, transactional_id is not None and not self._one_in(9)
                    ),
                )
                for _ in range(2 if self._one_in(15) else 1)
            ]
            by_id = version >= 13
            topic_id = self._ids.get(name, b"\x07" * 16) if by_id else bytes(16)
            topics.append(ProduceRequest.TopicProduceData("" if by_id else name, topic_id, data))
        return ProduceRequest(transactional_id, acks, random.choice((1_000, 30_000)), topics)

    async def _produce(self, connection: int) -> None:
        version = self._version(ProduceRequest, 3)
        request = self._produce_request(version)
        if not request.acks or self._one_in(20):
            request.acks = 0
            await self._twins.ask(connection, self._frame(request, version), 0)
            return
        answer = await self._send(connection, request, version)
        for topic in answer.responses if answer is not None else ():
            for part in topic.partition_responses:
                name = topic.name or next((one for one, id_ in self._ids.items() if id_ == topic.topic_id), "")
                self._ends[name, part.index] = max(self._ends.get((name, part.index), 0), part.base_offset + 1)
        if request.transactional_id and self._one_in(3):
            producer_id, epoch = self._producers["pays"]
            ended = await self._send(0, EndTxnRequest("pays", producer_id, epoch, not self._one_in(3)), 4)
            assert ended is not None

    # Reading.

    def _wanted(self, name: str, index: int) -> FetchRequest.FetchPartition:
        random = self._random
        end = self._ends.get((name, index), 0)
        offset = random.choice((end, end, random.randint(0, end + 1), end - 1))
        return FetchRequest.FetchPartition(
            partition=index,
            current_leader_epoch=random.choice((-1, -1, 0, 0, 0, 5 if self._one_in(20) else 0)),
            fetch_offset=offset,
            last_fetched_epoch=random.choice((-1, -1, 0, 3 if self._one_in(20) else 0)),
            partition_max_bytes=random.choice((0, 50, 1_000, 1 << 20)),
        )

    def _fetch_request(self, version: int, names: Sequence[str]) -> FetchRequest:
        random = self._random
        by_id = version >= 13
        topics = [
            FetchRequest.FetchTopic(
                "" if by_id else name,
                self._ids.get(name, b"\x07" * 16) if by_id else bytes(16),
                [self._wanted(name, self._index()) for _ in range(2 if self._one_in(20) else 1)],
            )
            for name in names
        ]
        for topic in topics:
            for wanted in topic.partitions:
                if version < 12:
                    wanted.last_fetched_epoch = -1
                if version < 9:
                    wanted.current_leader_epoch = -1
        return FetchRequest(
            max_wait_ms=2 if self._one_in(12) else 0,
            min_bytes=random.choice((0, 1, 1, 500)),
            max_bytes=random.choice((0, 100, 1 << 20)),
            isolation_level=random.randrange(2),
            session_epoch=-1,
            topics=topics,
            rack_id="rack" if version >= 11 and self._one_in(30) else "",
        )

    async def _fetch(self, connection: int) -> None:
        version = self._version(FetchRequest, 4)
        names = [self._topic() for _ in range(2 if self._one_in(20) else 1)]
        await self._send(connection, self._fetch_request(version, names), version)

    async def _fetch_in_session(self, connection: int) -> None:
        version = 13 if connection % 2 else 12
        session_id, epoch = self._sessions.get(connection, (0, 0))
        name = ["plain", "stamped"][connection % 2]
        request = self._fetch_request(version, [name] if not epoch or self._one_in(3) else [])
        for topic in request.topics:
            topic.partitions = [self._wanted(name, 0)]
        request.session_id, request.session_epoch = session_id, epoch
        if self._one_in(40):
            request.session_epoch += 1
        if self._one_in(60):
            request.session_epoch = -1
        answer = await self._send(connection, request, version)
        if answer is None or answer.error_code or request.session_epoch < 0 or not answer.session_id:
            self._sessions.pop(connection, None)
        else:
            self._sessions[connection] = answer.session_id, epoch + 1

    async def _wake(self, connection: int) -> None:
        """A fetch that waits, until others write to its partition."""
        version = self._version(FetchRequest, 12)
        request = self._fetch_request(version, ["plain"])
        request.max_wait_ms, request.max_bytes, request.min_bytes = (
            PATIENT_MS,
            1 << 20,
            self._random.choice((1, 1, 300)),
        )
        request.topics[0].partitions = [self._wanted("plain", 0)]
        self._twins.compares_lines = False
        await self._twins.send(connection, self._frame(request, version))
        other = CONNECTIONS + connection
        if self._one_in(6):
            await self._send(other, self._denial(), 3)  # without an authorizer it is refused
        if self._one_in(6):
            await self._create_again(other, "plain")
        sizes = self._random.choices((10, 200, 40_000, 300_000), k=self._random.randint(1, 3))
        for size in [*sizes, 40_000]:  # the last one ends every wait
            batch = encode_batch([Record(0, NOW_MS, None, bytes(size), [])])
            data = [ProduceRequest.PartitionProduceData(0, batch)]
            topic = ProduceRequest.TopicProduceData("plain", bytes(16), data)
            written = await self._send(other, ProduceRequest(None, 1, 30_000, [topic]), 9)
            base_offset = written.responses[0].partition_responses[0].base_offset
            self._ends["plain", 0] = max(self._ends.get(("plain", 0), 0), base_offset + 1)
        assert await self._twins.ask(connection, b"") is not None
        self._twins.compares_lines = True

    async def _list_offsets(self, connection: int) -> None:
        version = self._version(ListOffsetsRequest, 4)
        asked = ListOffsetsRequest.ListOffsetsPartition
        timestamps = (-1, -1, -2, -2, -3, -4, NOW_MS, -9)
        partitions = [
            asked(self._index(), self._random.choice((-1, 0, 0, 4)), self._random.choice(timestamps))
            for _ in range(2 if self._one_in(20) else 1)
        ]
        topic = ListOffsetsRequest.ListOffsetsTopic(self._topic(), partitions)
        replica_id = -2 if self._one_in(20) else -1
        await self._send(connection, ListOffsetsRequest(replica_id, self._random.randrange(2), [topic]), version)

    # Groups.

    async def _join(self, connection: int) -> None:
        if self._members:
            left = await self._send(connection, LeaveGroupRequest(GROUP, self._members[0][0]), 2)
            if left.error_code == ErrorCode.GROUP_AUTHORIZATION_FAILED:
                return
            del self._members[0]
        protocol = JoinGroupRequest.JoinGroupRequestProtocol("range", b"")
        request = JoinGroupRequest(GROUP, 80_000_000, 80_000_000, "", protocol_type="consumer", protocols=[protocol])
        answer = await self._send(connection, request, 7)
        request.member_id = answer.member_id
        answer = await self._send(connection, request, 7)
        if answer.error_code:
            return
        self._members[0] = answer.member_id, answer.generation_id
        if not self._one_in(4):
            await self._send(connection, SyncGroupRequest(GROUP, answer.generation_id, answer.member_id), 3)

    async def _join_consumer_group(self) -> None:
        """A member of a group of the new protocol (KIP-848)."""
        request = ConsumerGroupHeartbeatRequest(MODERN, MODERN_MEMBER, 0, rebalance_timeout_ms=300_000)
        request.subscribed_topic_names, request.topic_partitions = ["plain", "stamped"], []
        answer = await self._send(0, request, 1)
        assert answer.error_code == 0, answer
        self._note_modern(answer)

    def _note_modern(self, answer: ConsumerGroupHeartbeatResponse) -> None:
        self._modern_epoch = answer.member_epoch
        if answer.assignment is not None:
            self._modern_owned = [
                ConsumerGroupHeartbeatRequest.TopicPartitions(topic.topic_id, topic.partitions)
                for topic in answer.assignment.topic_partitions
            ]

    def _member(self) -> tuple[str, int]:
        member_id, generation = self._members.get(0, ("", -1))
        if self._one_in(20):
            member_id = "stranger"
        return member_id, generation + self._one_in(20)

    async def _heartbeat(self, connection: int) -> None:
        member_id, generation = self._member()
        group = "other" if self._one_in(20) else GROUP
        version = self._version(HeartbeatRequest)
        instance = "static" if version >= 3 and self._one_in(20) else None
        await self._send(connection, HeartbeatRequest(group, generation, member_id, instance), version)

    async def _consumer_heartbeat(self, connection: int) -> None:
        """Mostly without news, and some that come close to it or have some."""
        epoch = self._modern_epoch + self._one_in(30) - self._one_in(30)
        member = "stranger" if self._one_in(30) else MODERN_MEMBER
        request = ConsumerGroupHeartbeatRequest(GROUP if self._one_in(30) else MODERN, member, epoch)
        if self._one_in(60):
            request.subscribed_topic_names = ["plain", self._topic()]
        if self._one_in(4):
            request.topic_partitions = self._modern_owned
        if self._one_in(20):
            request.rebalance_timeout_ms = 300_000 + self._random.randrange(2)
        if self._one_in(30):
            request.instance_id = "static"
        if self._one_in(30):
            request.rack_id = "rack"
        answer = await self._send(connection, request, self._random.randrange(2))
        if not answer.error_code and answer.member_id == MODERN_MEMBER:
            self._note_modern(answer)

    async def _commit(self, connection: int) -> None:
        random = self._random
        member_id, generation = self._member()
        version = self._version(OffsetCommitRequest, 2)
        by_id = version >= 10
        asked = OffsetCommitRequest.OffsetCommitRequestPartition
        topics = []
        for _ in range(2 if self._one_in(20) else 1):
            partitions = [
                asked(self._index() if self._one_in(10) else at, random.randrange(1 << 40), random.choice((-1, 0, 7)))
                for at in range(random.choice((1, 1, 2)))
            ]
            for partition in partitions:
                partition.committed_metadata = "note" if self._one_in(15) else random.choice(("", None))
            name = self._topic()
            topic_id = self._ids.get(name, b"\x07" * 16) if by_id else bytes(16)
            topics.append(OffsetCommitRequest.OffsetCommitRequestTopic("" if by_id else name, topic_id, partitions))
        if self._one_in(30):
            member_id, generation = "", -1
        group = GROUP
        if self._one_in(3):
            group, member_id, generation = MODERN, MODERN_MEMBER, self._modern_epoch + self._one_in(20)
        retention = -1 if version > 4 or not self._one_in(10) else 1_000
        request = OffsetCommitRequest(group, generation, member_id, retention_time_ms=retention, topics=topics)
        await self._send(connection, request, version)

    async def _fetch_offsets(self, connection: int) -> None:
        await self._send(connection, OffsetFetchRequest(GROUP, None), 5)

    # Metadata.

    async def _ask_metadata(self, connection: int) -> None:
        version = self._version(MetadataRequest)
        asked: list[Any] | None = None
        if version == 0 or not self._one_in(4):
            names = [self._topic() for _ in range(self._random.choice((1, 1, 2)))]
            asked = [MetadataRequest.MetadataRequestTopic(name=name) for name in names]
            if version >= 12 and self._one_in(4):
                asked = [
                    MetadataRequest.MetadataRequestTopic(self._ids.get(name, b"\x07" * 16), None) for name in names
                ]
        request = MetadataRequest(asked, allow_auto_topic_creation=version < 4)
        if version >= 8 and self._one_in(5):
            request.include_topic_authorized_operations = True
        await self._send(connection, request, version)

    async def _api_versions(self, connection: int) -> None:
        version = self._version(ApiVersionsRequest)
        name = "bad name!" if self._one_in(10) else self._random.choice(("java", "librdkafka", ""))
        request = ApiVersionsRequest(name, "1.0") if version >= 3 else ApiVersionsRequest()
        await self._send(connection, request, version)

    async def _find_coordinator(self, connection: int) -> None:
        version = self._version(FindCoordinatorRequest)
        key_type = 0 if version < 1 else self._random.choice((0, 0, 1, 7 if self._one_in(10) else 0))
        if version >= 4:
            request = FindCoordinatorRequest(
                key_type=key_type, coordinator_keys=[GROUP, "x"][: self._random.randint(1, 2)]
            )
        else:
            request = FindCoordinatorRequest(key=GROUP, key_type=key_type)
        await self._send(connection, request, version)

    async def _describe_cluster(self, connection: int) -> None:
        version = self._version(DescribeClusterRequest)
        request = DescribeClusterRequest(self._one_in(2))
        if version >= 1 and self._one_in(5):
            request.endpoint_type = self._random.choice((2, 3))
        await self._send(connection, request, version)

    # Other things that happen.

    async def _pipelined(self, connection: int) -> None:
        frames = []
        for _ in range(self._random.randint(2, 40)):
            version = self._version(ProduceRequest, 3)
            if self._one_in(2):
                request: Any = self._produce_request(version)
            else:
                version = self._version(FetchRequest, 4)
                request = self._fetch_request(version, [self._topic()])
            frames.append(self._frame(request, version))
        if await self._twins.ask(connection, b"".join(frames), len(frames)) is None:
            self._sessions.pop(connection, None)

    async def _broken(self, connection: int) -> None:
        """A frame with a changed byte after its size, and before its correlation id or after it."""
        version = self._version(ProduceRequest, 9)
        request: Any = self._produce_request(version)
        kind = self._random.randrange(3)
        if kind == 1:
            version = self._version(FetchRequest, 12)
            request = self._fetch_request(version, [self._topic()])
        elif kind == 2:
            member_id, generation = self._member()
            version, request = 4, HeartbeatRequest(GROUP, generation, member_id)
        frame = bytearray(self._frame(request, version))
        place = self._random.choice([*range(12, min(len(frame), 90))])
        frame[place] = self._random.randrange(256)
        if kind == 1 and _waits(memoryview(frame)[4:], version):
            return
        if kind == 0 and request.acks == 0:
            return
        # Such a request may ask for no answer, so another one follows it.
        probe = self._frame(ApiVersionsRequest(), 0)
        answers = await self._twins.ask(connection, bytes(frame) + probe, 1)
        if answers is None:
            self._sessions.pop(connection, None)
        elif answers[0][4:8] != probe[8:12]:
            await self._twins.ask(connection, b"", 1)

    def _denial(self) -> CreateAclsRequest:
        """Denies this client something that a lane does."""
        resource_type, name, operation = self._random.choice(
            (
                (AclResourceType.TOPIC, "plain", AclOperation.WRITE),
                (AclResourceType.TOPIC, "plain", AclOperation.READ),
                (AclResourceType.TOPIC, "stamped", AclOperation.DESCRIBE),
                (AclResourceType.GROUP, GROUP, AclOperation.READ),
                (AclResourceType.TRANSACTIONAL_ID, "pays", AclOperation.WRITE),
            )
        )
        acl = CreateAclsRequest.AclCreation(
            resource_type, name, PatternType.LITERAL, ANONYMOUS, "*", operation, AclPermission.DENY
        )
        return CreateAclsRequest([acl])

    async def _create_again(self, connection: int, name: str) -> None:
        """Deletes a topic and creates one of the same name."""
        await self._send(connection, DeleteTopicsRequest(topic_names=[name]), 5)
        config = CreateTopicsRequest.CreatableTopicConfig
        configs = [config(*pair) for pair in CONFIGS[name].items()]
        new = CreateTopicsRequest.CreatableTopic(name, PARTITIONS, 1, [], configs)
        await self._send(connection, CreateTopicsRequest([new]), 5)
        for index in range(PARTITIONS):
            self._ends.pop((name, index), None)
            for transactional_id in (None, "pays"):
                self._sequences.pop((transactional_id, name, index), None)
        await self._learn_ids(connection)

    async def _change(self, connection: int) -> None:
        """Changes what a lane has learned."""
        kind = self._random.randrange(6)
        if kind == 4:
            await self._send(connection, self._denial(), 3)
        elif kind == 5:
            everything = DeleteAclsRequest.DeleteAclsFilter(
                AclResourceType.ANY, None, PatternType.ANY, None, None, 1, 1
            )
            await self._send(connection, DeleteAclsRequest([everything]), 3)
        elif kind == 0:
            await self._create_again(connection, self._random.choice(list(CONFIGS)))
        elif kind == 1:
            name = self._random.choice(list(CONFIGS))
            partition = DeleteRecordsRequest.DeleteRecordsPartition(0, self._ends.get((name, 0), 0) // 2)
            topic = DeleteRecordsRequest.DeleteRecordsTopic(name, [partition])
            await self._send(connection, DeleteRecordsRequest([topic], 1_000), 2)
        elif kind == 2:
            await self._join(connection)
        else:
            self._twins.advance(400_000)
