"""Random questions for two brokers: each drawn once, then made for each broker with its own names for things."""

import random
from collections.abc import Callable
from typing import Any

from odradek.protocol.messages.configs import (
    AlterConfigsRequest,
    DescribeConfigsRequest,
    IncrementalAlterConfigsRequest,
    ListConfigResourcesRequest,
)
from odradek.protocol.messages.fetch import FetchRequest
from odradek.protocol.messages.groups import (
    DeleteGroupsRequest,
    DescribeGroupsRequest,
    FindCoordinatorRequest,
    HeartbeatRequest,
    JoinGroupRequest,
    LeaveGroupRequest,
    ListGroupsRequest,
    OffsetCommitRequest,
    OffsetDeleteRequest,
    OffsetFetchRequest,
    SyncGroupRequest,
)
from odradek.protocol.messages.metadata import (
    ApiVersionsRequest,
    DescribeClusterRequest,
    DescribeTopicPartitionsRequest,
    MetadataRequest,
)
from odradek.protocol.messages.offsets import (
    DeleteRecordsRequest,
    ListOffsetsRequest,
    OffsetForLeaderEpochRequest,
)
from odradek.protocol.messages.produce import ProduceRequest
from odradek.protocol.messages.structure import Message
from odradek.protocol.messages.topics import (
    CreatePartitionsRequest,
    CreateTopicsRequest,
    DeleteTopicsRequest,
    ElectLeadersRequest,
    ListPartitionReassignmentsRequest,
)
from odradek.protocol.messages.transactions import InitProducerIdRequest
from odradek.protocol.records.builder import encode_batch
from odradek.protocol.records.compression import CompressionType
from odradek.protocol.records.record import Record
from parity.world import Names

TOPICS = ("apples", "pears", "plums", "figs")
GROUPS = ("readers", "writers", "idle")
BASE_TIME_MS = 1_700_000_000_000

Make = Callable[[Names], Message]
Question = tuple[int, Make]
"""A version, and what makes the request for one broker."""


class Questions:
    """Draws questions; the same seed draws the same ones."""

    def __init__(self, seed: int, versions: Callable[[type[Message]], tuple[int, int]]) -> None:
        """``versions``: the lowest and highest version of a request that both brokers serve."""
        self.rng = random.Random(seed)
        self._versions = versions
        self._kinds: list[tuple[int, Callable[[], Question]]] = [
            (10, self.produce),
            (10, self.fetch),
            (8, self.list_offsets),
            (6, self.metadata),
            (4, self.create_topics),
            (1, self.delete_topics),
            (2, self.create_partitions),
            (2, self.delete_records),
            (3, self.leader_epochs),
            (3, self.init_producer_id),
            (5, self.describe_configs),
            (3, self.incremental_alter_configs),
            (2, self.alter_configs),
            (2, self.list_config_resources),
            (2, self.elect_leaders),
            (2, self.reassignments),
            (2, self.describe_cluster),
            (3, self.describe_topic_partitions),
            (1, self.api_versions),
            (3, self.find_coordinator),
            (8, self.join_group),
            (6, self.sync_group),
            (6, self.heartbeat),
            (3, self.leave_group),
            (8, self.offset_commit),
            (8, self.offset_fetch),
            (3, self.offset_delete),
            (3, self.describe_groups),
            (2, self.list_groups),
            (1, self.delete_groups),
        ]

    def opening(self) -> list[Question]:
        """What there is before the first question: some topics."""
        made = [("apples", 3), ("pears", 2), ("plums", 1)]
        topics = [CreateTopicsRequest.CreatableTopic(name, count, 1) for name, count in made]
        return [(7, lambda names: CreateTopicsRequest(topics, 5000))]

    def next(self) -> Question:
        """The next question."""
        weights = [weight for weight, _ in self._kinds]
        return self.rng.choices([draw for _, draw in self._kinds], weights)[0]()

    # What questions are made of.

    def version(self, request: type[Message]) -> int:
        """A version of the request, the newest one a little more often."""
        lowest, highest = self._versions(request)
        return highest if self.rng.random() < 0.3 else self.rng.randint(lowest, highest)

    def topic(self) -> str:
        """A topic that may be there."""
        return self.rng.choice(TOPICS) if self.rng.random() < 0.93 else "nowhere"

    def partition(self) -> int:
        """A partition that may be there."""
        return self.rng.choice((0, 0, 0, 1, 1, 2, 7, -1))

    def group(self) -> str:
        """A group that may be there."""
        return self.rng.choice(GROUPS) if self.rng.random() < 0.9 else self.rng.choice(("", "unknown"))

    def epoch(self) -> int:
        """A leader epoch: mostly not said, sometimes right, sometimes wrong."""
        return self.rng.choice((-1, -1, -1, 0, 0, 1))

    def records(self) -> bytes:
        """One batch, or what is none (not null: Kafka 4.3 never answers that)."""
        rng = self.rng
        kind = rng.random()
        if kind < 0.03:
            return b""
        count = rng.choice((1, 1, 2, 5, 40))
        begin = BASE_TIME_MS + rng.randrange(1000)
        records = [
            Record(i, begin + rng.randrange(50), b"k%d" % i, rng.randbytes(rng.randrange(60)), []) for i in range(count)
        ]
        data = encode_batch(
            records, compression=rng.choice((CompressionType.NONE, CompressionType.GZIP, CompressionType.LZ4))
        )
        if kind < 0.10:
            damaged = bytearray(data)
            damaged[rng.choice((16, 17, 21, 60, len(data) - 1))] ^= 1 << rng.randrange(7)
            return bytes(damaged)
        if kind < 0.12:
            return data + data
        return data

    # The questions.

    def produce(self) -> Question:
        version = self.version(ProduceRequest)
        acks = self.rng.choice((1, -1, -1, 1, 2))
        # No partition twice: of two batches Kafka appends one, and answers for the other if that is refused.
        drawn = [(self.topic(), self.partition(), self.records()) for _ in range(self.rng.choice((1, 1, 2)))]
        wanted = list({(topic, index): (topic, index, records) for topic, index, records in drawn}.values())

        def make(names: Names) -> Message:
            data = [
                ProduceRequest.TopicProduceData(
                    topic, names.topic_id(topic), [ProduceRequest.PartitionProduceData(index, records)]
                )
                for topic, index, records in wanted
            ]
            return ProduceRequest(None, acks, 1000, data)

        return version, make

    def fetch(self) -> Question:
        version = self.version(FetchRequest)
        rng = self.rng
        wanted = [
            (
                self.topic(),
                self.partition(),
                rng.choice((0, 0, 1, 3, 10, 100, -1)),
                rng.choice((1, 100, 100_000)),
                self.epoch(),
            )
            for _ in range(rng.choice((1, 1, 2, 3)))
        ]
        max_bytes = rng.choice((1, 200, 1 << 20))
        isolation = rng.choice((0, 0, 1))
        epoch = rng.choice((-1, -1, 0))

        def make(names: Names) -> Message:
            topics = [
                FetchRequest.FetchTopic(
                    topic,
                    names.topic_id(topic),
                    [
                        FetchRequest.FetchPartition(
                            partition=index,
                            fetch_offset=offset,
                            partition_max_bytes=size,
                            current_leader_epoch=leader_epoch,
                        )
                    ],
                )
                for topic, index, offset, size, leader_epoch in wanted
            ]
            return FetchRequest(
                max_wait_ms=0,
                min_bytes=0,
                max_bytes=max_bytes,
                isolation_level=isolation,
                session_epoch=epoch if version >= 7 else -1,
                topics=topics,
            )

        return version, make

    def list_offsets(self) -> Question:
        version = self.version(ListOffsetsRequest)
        rng = self.rng
        wanted = [
            (
                self.topic(),
                self.partition(),
                self.epoch(),
                rng.choice((-1, -2, -3, -4, -5, -6, 0, BASE_TIME_MS + rng.randrange(1100), BASE_TIME_MS * 2)),
            )
            for _ in range(rng.choice((1, 1, 2, 3)))
        ]
        isolation = rng.choice((0, 1))

        def make(names: Names) -> Message:
            topics = [
                ListOffsetsRequest.ListOffsetsTopic(
                    name=topic,
                    partitions=[
                        ListOffsetsRequest.ListOffsetsPartition(
                            partition_index=index,
                            current_leader_epoch=epoch if version >= 4 else -1,
                            timestamp=timestamp,
                        )
                    ],
                )
                for topic, index, epoch, timestamp in wanted
            ]
            return ListOffsetsRequest(replica_id=-1, isolation_level=isolation if version >= 2 else 0, topics=topics)

        return version, make

    def metadata(self) -> Question:
        version = self.version(MetadataRequest)
        rng = self.rng
        everything = rng.random() < 0.3 and version >= 1
        wanted = [self.topic() for _ in range(rng.choice((0, 1, 2)))]
        by_id = version >= 12 and rng.random() < 0.4

        def make(names: Names) -> Message:
            topics = (
                None
                if everything
                else [
                    MetadataRequest.MetadataRequestTopic(names.topic_id(topic), None)
                    if by_id
                    else MetadataRequest.MetadataRequestTopic(name=topic)
                    for topic in wanted
                ]
            )
            # Without auto-creation below version 4 there is no saying no: only topics that are there are asked for.
            return MetadataRequest(topics=topics, allow_auto_topic_creation=version < 4)

        if version < 4 and not everything and "nowhere" in wanted:
            wanted.remove("nowhere")
        return version, make

    def create_topics(self) -> Question:
        version = self.version(CreateTopicsRequest)
        rng = self.rng
        names_wanted = [
            rng.choice((*TOPICS, *TOPICS, "bad name", "", ".", "x" * 250, "a.b", "a_b"))
            for _ in range(rng.choice((1, 1, 2)))
        ]
        partitions = rng.choice((1, 2, 3, 3, -1, 0))
        factor = rng.choice((1, 1, 1, -1, 2, 0))
        configs = rng.choice(
            (
                [],
                [],
                [("cleanup.policy", "compact")],
                [("retention.ms", "x")],
                [("no.such", "1")],
                [("segment.bytes", "10")],
                [("retention.ms", None)],
            )
        )
        assignments = [CreateTopicsRequest.CreatableReplicaAssignment(i, [1]) for i in range(rng.choice((0, 0, 0, 2)))]
        validate_only = version >= 1 and rng.random() < 0.2

        def make(names: Names) -> Message:
            topics = [
                CreateTopicsRequest.CreatableTopic(
                    name,
                    -1 if assignments else partitions,
                    -1 if assignments else factor,
                    assignments,
                    [CreateTopicsRequest.CreatableTopicConfig(key, value) for key, value in configs],
                )
                for name in names_wanted
            ]
            return CreateTopicsRequest(topics, 5000, validate_only)

        return version, make

    def delete_topics(self) -> Question:
        version = self.version(DeleteTopicsRequest)
        topic = self.topic()
        by_id = version >= 6 and self.rng.random() < 0.5

        def make(names: Names) -> Message:
            if version < 6:
                return DeleteTopicsRequest(topic_names=[topic], timeout_ms=5000)
            state = (
                DeleteTopicsRequest.DeleteTopicState(None, names.topic_id(topic))
                if by_id
                else DeleteTopicsRequest.DeleteTopicState(topic)
            )
            return DeleteTopicsRequest([state], timeout_ms=5000)

        return version, make

    def create_partitions(self) -> Question:
        version = self.version(CreatePartitionsRequest)
        topic, count = self.topic(), self.rng.choice((1, 2, 3, 4, 0, -1))
        assignments = self.rng.choice((None, None, None, [[1]], [[2]], []))
        validate_only = self.rng.random() < 0.3

        def make(names: Names) -> Message:
            made = (
                None
                if assignments is None
                else [CreatePartitionsRequest.CreatePartitionsAssignment(ids) for ids in assignments]
            )
            return CreatePartitionsRequest(
                [CreatePartitionsRequest.CreatePartitionsTopic(topic, count, made)], 5000, validate_only
            )

        return version, make

    def delete_records(self) -> Question:
        version = self.version(DeleteRecordsRequest)
        topic, index, offset = self.topic(), self.partition(), self.rng.choice((0, 1, 2, 5, -1, -2, 1000))

        def make(names: Names) -> Message:
            partition = DeleteRecordsRequest.DeleteRecordsPartition(index, offset)
            return DeleteRecordsRequest([DeleteRecordsRequest.DeleteRecordsTopic(topic, [partition])], 5000)

        return version, make

    def leader_epochs(self) -> Question:
        version = self.version(OffsetForLeaderEpochRequest)
        topic, index, current, epoch = self.topic(), self.partition(), self.epoch(), self.rng.choice((-1, 0, 0, 1, 5))

        def make(names: Names) -> Message:
            partition = OffsetForLeaderEpochRequest.OffsetForLeaderPartition(
                index, current if version >= 2 else -1, epoch
            )
            return OffsetForLeaderEpochRequest(
                -1 if version >= 3 else -2, [OffsetForLeaderEpochRequest.OffsetForLeaderTopic(topic, [partition])]
            )

        return version, make

    def init_producer_id(self) -> Question:
        version = self.version(InitProducerIdRequest)
        producer, epoch = self.rng.choice(((-1, -1), (-1, -1), (5, -1), (-1, 3), (5, 3)))
        name = self.rng.choice((None, None, ""))

        def make(names: Names) -> Message:
            if version < 3:
                return InitProducerIdRequest(name, 60_000)
            return InitProducerIdRequest(name, 60_000, producer, epoch)

        return version, make

    def _config_resources(self) -> list[tuple[int, str]]:
        rng = self.rng
        return [
            rng.choice(
                (
                    (2, self.topic()),
                    (2, self.topic()),
                    (2, "bad name"),
                    (2, ""),
                    (4, ""),
                    (4, "7"),
                    (4, "x"),
                    (32, "readers"),
                )
            )
            for _ in range(rng.choice((1, 1, 2)))
        ]

    def describe_configs(self) -> Question:
        version = self.version(DescribeConfigsRequest)
        rng = self.rng
        resources = list(dict.fromkeys(self._config_resources()))
        keys = rng.choice((["cleanup.policy", "retention.ms"], ["no.such"], ["segment.bytes", "max.message.bytes"], []))
        synonyms = rng.random() < 0.5

        def make(names: Names) -> Message:
            wanted = [
                DescribeConfigsRequest.DescribeConfigsResource(kind, name, list(keys)) for kind, name in resources
            ]
            return DescribeConfigsRequest(wanted, synonyms if version >= 1 else False)

        return version, make

    def incremental_alter_configs(self) -> Question:
        version = self.version(IncrementalAlterConfigsRequest)
        rng = self.rng
        topic = self.topic()
        key, value = rng.choice(
            (
                ("retention.ms", "1000000"),
                ("retention.ms", "abc"),
                ("cleanup.policy", "compact"),
                ("cleanup.policy", "delete"),
                ("no.such", "1"),
                ("max.message.bytes", "1000000"),
                ("max.message.bytes", None),
                ("", "1"),
            )
        )
        operation = rng.choice((0, 0, 1, 2, 3))
        validate_only = rng.random() < 0.3

        def make(names: Names) -> Message:
            config = IncrementalAlterConfigsRequest.AlterableConfig(key, operation, value)
            return IncrementalAlterConfigsRequest(
                [IncrementalAlterConfigsRequest.AlterConfigsResource(2, topic, [config])], validate_only
            )

        return version, make

    def alter_configs(self) -> Question:
        version = self.version(AlterConfigsRequest)
        rng = self.rng
        topic = self.topic()
        key, value = rng.choice(
            (("retention.ms", "2000000"), ("retention.ms", None), ("no.such", "1"), ("segment.ms", "100000000"))
        )
        validate_only = rng.random() < 0.5

        def make(names: Names) -> Message:
            config = AlterConfigsRequest.AlterableConfig(key, value)
            return AlterConfigsRequest([AlterConfigsRequest.AlterConfigsResource(2, topic, [config])], validate_only)

        return version, make

    def list_config_resources(self) -> Question:
        version = self.version(ListConfigResourcesRequest)
        kinds = self.rng.choice(([], [2], [4], [16], [2, 4], [99])) if version >= 1 else []
        return version, lambda names: ListConfigResourcesRequest(list(kinds))

    def elect_leaders(self) -> Question:
        version = self.version(ElectLeadersRequest)
        kind = self.rng.choice((0, 1)) if version >= 1 else 0
        everything = self.rng.random() < 0.2
        topic, index = self.topic(), self.partition()

        def make(names: Names) -> Message:
            wanted = None if everything else [ElectLeadersRequest.TopicPartitions(topic, [index])]
            return ElectLeadersRequest(kind, wanted, 5000)

        return version, make

    def reassignments(self) -> Question:
        version = self.version(ListPartitionReassignmentsRequest)
        topic, index, everything = self.topic(), self.partition(), self.rng.random() < 0.4

        def make(names: Names) -> Message:
            wanted = (
                None
                if everything
                else [ListPartitionReassignmentsRequest.ListPartitionReassignmentsTopics(topic, [index])]
            )
            return ListPartitionReassignmentsRequest(5000, wanted)

        return version, make

    def describe_cluster(self) -> Question:
        version = self.version(DescribeClusterRequest)
        return version, lambda names: DescribeClusterRequest()

    def describe_topic_partitions(self) -> Question:
        version = self.version(DescribeTopicPartitionsRequest)
        wanted = [self.topic() for _ in range(self.rng.choice((1, 2)))]
        limit = self.rng.choice((1, 2, 2000))
        cursor = self.rng.choice((None, None, ("pears", 1)))

        def make(names: Names) -> Message:
            at = None if cursor is None else DescribeTopicPartitionsRequest.Cursor(*cursor)
            topics = [DescribeTopicPartitionsRequest.TopicRequest(topic) for topic in dict.fromkeys(wanted)]
            return DescribeTopicPartitionsRequest(topics, limit, at)

        return version, make

    def api_versions(self) -> Question:
        version = self.version(ApiVersionsRequest)
        software = self.rng.choice(("wire", "wire", "", "-bad-"))
        return version, lambda names: ApiVersionsRequest(software, "1.0") if version >= 3 else ApiVersionsRequest()

    def find_coordinator(self) -> Question:
        version = self.version(FindCoordinatorRequest)
        group = self.group()
        return (
            version,
            lambda names: (
                FindCoordinatorRequest(key_type=0, coordinator_keys=[group, "other"])
                if version >= 4
                else FindCoordinatorRequest(key=group)
            ),
        )

    def join_group(self) -> Question:
        version = self.version(JoinGroupRequest)
        rng = self.rng
        group = self.group()
        new = rng.random() < 0.3
        session = rng.choice((10_000, 10_000, 10_000, 100, 10_000_000))
        protocols = rng.choice((["range"], ["range"], ["range", "roundrobin"], []))
        kind = rng.choice(("consumer", "consumer", "consumer", "connect", ""))

        def make(names: Names) -> Message:
            offered: Any = [JoinGroupRequest.JoinGroupRequestProtocol(name, b"\x00\x01") for name in protocols]
            member = "" if new and group not in names.members else names.member(group)
            return JoinGroupRequest(group, session, 60_000 if version >= 1 else -1, member, None, kind, offered)

        return version, make

    def sync_group(self) -> Question:
        version = self.version(SyncGroupRequest)
        group, off = self.group(), self.rng.choice((0, 0, 0, 1))
        protocol = self.rng.choice(("range", "range", "other")) if version >= 5 else None

        def make(names: Names) -> Message:
            member = names.member(group)
            assignment = SyncGroupRequest.SyncGroupRequestAssignment(member, b"mine")
            kind = "consumer" if version >= 5 else None
            return SyncGroupRequest(
                group, names.generations.get(group, 0) + off, member, None, kind, protocol, [assignment]
            )

        return version, make

    def heartbeat(self) -> Question:
        version = self.version(HeartbeatRequest)
        group, off = self.group(), self.rng.choice((0, 0, 0, 1, -1))
        return version, lambda names: HeartbeatRequest(
            group, names.generations.get(group, 0) + off, names.member(group)
        )

    def leave_group(self) -> Question:
        version = self.version(LeaveGroupRequest)
        group = self.group()

        def make(names: Names) -> Message:
            member = names.member(group)
            if version < 3:
                return LeaveGroupRequest(group, member)
            return LeaveGroupRequest(
                group, members=[LeaveGroupRequest.MemberIdentity(member), LeaveGroupRequest.MemberIdentity("ghost")]
            )

        return version, make

    def offset_commit(self) -> Question:
        version = self.version(OffsetCommitRequest)
        rng = self.rng
        group = self.group()
        simple = rng.random() < 0.4
        topic, index, offset = self.topic(), self.partition(), rng.randrange(100)
        # With a refused offset alone a group comes into being in Kafka that its readers can't see until another commit.
        metadata = rng.choice(("", "note", None, "" if simple else "x" * 5000))

        def make(names: Names) -> Message:
            partition = OffsetCommitRequest.OffsetCommitRequestPartition(
                partition_index=index, committed_offset=offset, committed_metadata=metadata
            )
            topics = [OffsetCommitRequest.OffsetCommitRequestTopic(topic, names.topic_id(topic), [partition])]
            if simple or version < 1:
                return OffsetCommitRequest(group, topics=topics)
            return OffsetCommitRequest(group, names.generations.get(group, 0), names.member(group), topics=topics)

        return version, make

    def offset_fetch(self) -> Question:
        version = self.version(OffsetFetchRequest)
        rng = self.rng
        group, topic, index = self.group(), self.topic(), self.partition()
        everything = rng.random() < 0.3 and version >= 2

        def make(names: Names) -> Message:
            if version < 8:
                old = None if everything else [OffsetFetchRequest.OffsetFetchRequestTopic(topic, [index])]
                return OffsetFetchRequest(group, old)
            new = (
                None
                if everything
                else [OffsetFetchRequest.OffsetFetchRequestTopics(topic, names.topic_id(topic), [index])]
            )
            return OffsetFetchRequest(groups=[OffsetFetchRequest.OffsetFetchRequestGroup(group_id=group, topics=new)])

        return version, make

    def offset_delete(self) -> Question:
        version = self.version(OffsetDeleteRequest)
        group, topic, index = self.group(), self.topic(), self.partition()

        def make(names: Names) -> Message:
            partition = OffsetDeleteRequest.OffsetDeleteRequestPartition(index)
            return OffsetDeleteRequest(group, [OffsetDeleteRequest.OffsetDeleteRequestTopic(topic, [partition])])

        return version, make

    def describe_groups(self) -> Question:
        version = self.version(DescribeGroupsRequest)
        group = self.group()
        return version, lambda names: DescribeGroupsRequest([group])

    def list_groups(self) -> Question:
        version = self.version(ListGroupsRequest)
        states = self.rng.choice(([], ["Stable"], ["Empty"], ["nonsense"])) if version >= 4 else []
        types = self.rng.choice(([], ["classic"], ["consumer"])) if version >= 5 else []
        return version, lambda names: ListGroupsRequest(list(states), list(types))

    def delete_groups(self) -> Question:
        version = self.version(DeleteGroupsRequest)
        group = self.group()
        return version, lambda names: DeleteGroupsRequest([group])
