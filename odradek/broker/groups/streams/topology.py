"""The topology of a Kafka Streams application, as its members send it: subtopologies and the topics between them.

Pure. Owns: the topology, and its conversion from and to requests, records and descriptions. Never does: looking at the
topics that exist (:mod:`.configured_topology`). Invariants: the parts of a topology are never changed; the order in
which :attr:`StreamsTopology.in_hash_order` returns subtopologies is that of Java's ``HashMap``, because Kafka's numbers
of partitions depend on it. Source: ``StreamsTopology``, ``StreamsCoordinatorRecordHelpers``; KIP-1071.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

from odradek.protocol.errors import ErrorCode, KafkaError
from odradek.protocol.java.hash import in_hash_map_order
from odradek.protocol.messages.group_records import StreamsGroupTopologyValue
from odradek.protocol.messages.streams_groups import StreamsGroupDescribeResponse, StreamsGroupHeartbeatRequest

Record = StreamsGroupTopologyValue
Request = StreamsGroupHeartbeatRequest
Description = StreamsGroupDescribeResponse


class InternalTopic(NamedTuple):
    """A changelog or repartition topic, as the application asks for it.

    ``partitions``: 0 if the broker decides. ``replication_factor``: 0 for the default of the broker. ``configs``: keys
    and values in the order of the request.
    """

    name: str
    partitions: int = 0
    replication_factor: int = 0
    configs: tuple[tuple[str, str], ...] = ()

    @classmethod
    def of(cls, structure: Record.TopicInfo | Request.TopicInfo) -> "InternalTopic":
        """Returns the topic of a structure."""
        configs = tuple((config.key, config.value) for config in structure.topic_configs)
        return cls(structure.name, structure.partitions, structure.replication_factor, configs)

    def to_record(self) -> Record.TopicInfo:
        """Returns the structure of a record."""
        configs = [Record.TopicConfig(key, value) for key, value in self.configs]
        return Record.TopicInfo(self.name, self.partitions, self.replication_factor, configs)

    def to_description(self) -> Description.TopicInfo:
        """Returns the structure of a description."""
        configs = [Description.KeyValue(key, value) for key, value in self.configs]
        return Description.TopicInfo(self.name, self.partitions, self.replication_factor, configs)


class CopartitionGroup(NamedTuple):
    """Topics that must have equally many partitions, as indexes into the lists of topics of their subtopology."""

    source_topics: tuple[int, ...] = ()
    source_topic_regex: tuple[int, ...] = ()
    repartition_source_topics: tuple[int, ...] = ()

    @classmethod
    def of(cls, structure: Record.CopartitionGroup | Request.CopartitionGroup) -> "CopartitionGroup":
        """Returns the group of a structure."""
        regexes = tuple(structure.source_topic_regex)
        return cls(tuple(structure.source_topics), regexes, tuple(structure.repartition_source_topics))


class Subtopology(NamedTuple):
    """A part of the topology that runs in one task for each partition of its source topics.

    ``repartition_sink_topics``: it writes them, another subtopology has them as ``repartition_source_topics``.
    """

    subtopology_id: str
    source_topics: tuple[str, ...] = ()
    source_topic_regex: tuple[str, ...] = ()
    state_changelog_topics: tuple[InternalTopic, ...] = ()
    repartition_sink_topics: tuple[str, ...] = ()
    repartition_source_topics: tuple[InternalTopic, ...] = ()
    copartition_groups: tuple[CopartitionGroup, ...] = ()

    @classmethod
    def of(cls, structure: Record.Subtopology | Request.Subtopology) -> "Subtopology":
        """Returns the subtopology of a structure."""
        return cls(
            structure.subtopology_id,
            tuple(structure.source_topics),
            tuple(structure.source_topic_regex),
            tuple(map(InternalTopic.of, structure.state_changelog_topics)),
            tuple(structure.repartition_sink_topics),
            tuple(map(InternalTopic.of, structure.repartition_source_topics)),
            tuple(map(CopartitionGroup.of, structure.copartition_groups)),
        )

    @property
    def all_source_topics(self) -> list[str]:
        """The names of all topics that it reads."""
        return [*self.source_topics, *(topic.name for topic in self.repartition_source_topics)]

    def to_record(self) -> Record.Subtopology:
        """Returns the structure of a record."""
        groups = [Record.CopartitionGroup(*map(list, group)) for group in self.copartition_groups]
        return Record.Subtopology(
            subtopology_id=self.subtopology_id,
            source_topics=list(self.source_topics),
            source_topic_regex=list(self.source_topic_regex),
            state_changelog_topics=[topic.to_record() for topic in self.state_changelog_topics],
            repartition_sink_topics=list(self.repartition_sink_topics),
            repartition_source_topics=[topic.to_record() for topic in self.repartition_source_topics],
            copartition_groups=groups,
        )


@dataclass(frozen=True)
class StreamsTopology:
    """A topology. Two are equal if they have the same epoch and the same subtopologies in any order; the topics of a
    subtopology must be in the same order."""

    topology_epoch: int
    subtopologies: Mapping[str, Subtopology]
    """By id, in the order in which they were sent."""

    @classmethod
    def from_request(cls, topology: Request.Topology) -> "StreamsTopology":
        """Returns the topology that a member sends. Raises KafkaError UNKNOWN_SERVER_ERROR, as Kafka does, if two
        subtopologies have one id, or the epoch is negative."""
        subtopologies = {each.subtopology_id: Subtopology.of(each) for each in topology.subtopologies}
        if len(subtopologies) < len(topology.subtopologies) or topology.epoch < 0:
            raise KafkaError(ErrorCode.UNKNOWN_SERVER_ERROR)
        return cls(topology.epoch, subtopologies)

    @classmethod
    def from_record(cls, value: Record) -> "StreamsTopology":
        """Returns the topology of a record."""
        return cls(value.epoch, {each.subtopology_id: Subtopology.of(each) for each in value.subtopologies})

    @cached_property
    def in_hash_order(self) -> tuple[Subtopology, ...]:
        """The subtopologies in the order of a ``HashMap`` of their ids."""
        return tuple(self.subtopologies[each] for each in in_hash_map_order(self.subtopologies))

    @cached_property
    def source_topics(self) -> frozenset[str]:
        """The topics that members read: source and repartition topics."""
        return frozenset(name for each in self.subtopologies.values() for name in each.all_source_topics)

    @cached_property
    def readers(self) -> Mapping[str, str]:
        """Topic -> the id of the subtopology that reads it."""
        return {name: each.subtopology_id for each in self.in_hash_order for name in each.all_source_topics}

    @cached_property
    def required_topics(self) -> tuple[str, ...]:
        """The topics that must exist: source, repartition and changelog topics, each once, in the order of a
        ``HashSet``."""
        return tuple(in_hash_map_order(self._topics()))

    @cached_property
    def topic_names(self) -> frozenset[str]:
        """:attr:`required_topics` without their order."""
        return frozenset(self.required_topics)

    def _topics(self) -> Iterable[str]:
        for each in self.in_hash_order:
            yield from each.all_source_topics
            yield from (topic.name for topic in each.state_changelog_topics)

    def to_record(self) -> Record:
        """Returns the value of the record of a topology."""
        return Record(self.topology_epoch, [each.to_record() for each in self.subtopologies.values()])

    def to_description(self) -> Description.Topology:
        """Returns the topology without the partitions of topics: before it was configured."""
        found = [
            Description.Subtopology(
                subtopology_id=each.subtopology_id,
                source_topics=sorted(each.source_topics),
                repartition_sink_topics=sorted(each.repartition_sink_topics),
                state_changelog_topics=described_topics(each.state_changelog_topics),
                repartition_source_topics=described_topics(each.repartition_source_topics),
            )
            for _, each in sorted(self.subtopologies.items())
        ]
        return Description.Topology(self.topology_epoch, found)


def described_topics(topics: Iterable[InternalTopic]) -> list[Description.TopicInfo]:
    """Returns internal topics in the order of their names."""
    return [topic.to_description() for topic in sorted(topics, key=lambda topic: topic.name)]
