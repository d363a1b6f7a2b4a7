"""Random requests about topics, partitions and the cluster."""

from odradek.protocol.messages.metadata import (
    ApiVersionsRequest,
    DescribeClusterRequest,
    DescribeTopicPartitionsRequest,
    MetadataRequest,
)
from odradek.protocol.messages.structure import Message
from odradek.protocol.messages.topics import (
    CreatePartitionsRequest,
    CreateTopicsRequest,
    DeleteTopicsRequest,
    ElectLeadersRequest,
    ListPartitionReassignmentsRequest,
)
from parity.question_draws import TOPICS, Draws, Question
from parity.world import Names


class TopicQuestions:
    """Draws requests that create, change, delete and describe topics."""

    def __init__(self, draws: Draws) -> None:
        self._draw = draws

    def metadata(self) -> Question:
        version = self._draw.version(MetadataRequest)
        rng = self._draw.rng
        everything = rng.random() < 0.3 and version >= 1
        wanted = [self._draw.topic() for _ in range(rng.choice((0, 1, 2)))]
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
            # Below version 4 a request cannot switch auto-creation off, so it names existing topics only.
            return MetadataRequest(topics=topics, allow_auto_topic_creation=version < 4)

        if version < 4 and not everything and "nowhere" in wanted:
            wanted.remove("nowhere")
        return version, make

    def create_topics(self) -> Question:
        version = self._draw.version(CreateTopicsRequest)
        rng = self._draw.rng
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
        version = self._draw.version(DeleteTopicsRequest)
        topic = self._draw.topic()
        by_id = version >= 6 and self._draw.rng.random() < 0.5

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
        version = self._draw.version(CreatePartitionsRequest)
        topic, count = self._draw.topic(), self._draw.rng.choice((1, 2, 3, 4, 0, -1))
        assignments = self._draw.rng.choice((None, None, None, [[1]], [[2]], []))
        validate_only = self._draw.rng.random() < 0.3

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

    def elect_leaders(self) -> Question:
        version = self._draw.version(ElectLeadersRequest)
        kind = self._draw.rng.choice((0, 1)) if version >= 1 else 0
        everything = self._draw.rng.random() < 0.2
        topic, index = self._draw.topic(), self._draw.partition()

        def make(names: Names) -> Message:
            wanted = None if everything else [ElectLeadersRequest.TopicPartitions(topic, [index])]
            return ElectLeadersRequest(kind, wanted, 5000)

        return version, make

    def reassignments(self) -> Question:
        version = self._draw.version(ListPartitionReassignmentsRequest)
        topic, index, everything = self._draw.topic(), self._draw.partition(), self._draw.rng.random() < 0.4

        def make(names: Names) -> Message:
            wanted = (
                None
                if everything
                else [ListPartitionReassignmentsRequest.ListPartitionReassignmentsTopics(topic, [index])]
            )
            return ListPartitionReassignmentsRequest(5000, wanted)

        return version, make

    def describe_cluster(self) -> Question:
        version = self._draw.version(DescribeClusterRequest)
        return version, lambda names: DescribeClusterRequest()

    def describe_topic_partitions(self) -> Question:
        version = self._draw.version(DescribeTopicPartitionsRequest)
        wanted = [self._draw.topic() for _ in range(self._draw.rng.choice((1, 2)))]
        limit = self._draw.rng.choice((1, 2, 2000))
        cursor = self._draw.rng.choice((None, None, ("pears", 1)))

        def make(names: Names) -> Message:
            at = None if cursor is None else DescribeTopicPartitionsRequest.Cursor(*cursor)
            topics = [DescribeTopicPartitionsRequest.TopicRequest(topic) for topic in dict.fromkeys(wanted)]
            return DescribeTopicPartitionsRequest(topics, limit, at)

        return version, make

    def api_versions(self) -> Question:
        version = self._draw.version(ApiVersionsRequest)
        software = self._draw.rng.choice(("wire", "wire", "", "-bad-"))
        return version, lambda names: ApiVersionsRequest(software, "1.0") if version >= 3 else ApiVersionsRequest()
