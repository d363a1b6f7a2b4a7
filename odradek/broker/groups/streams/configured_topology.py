"""A topology with the partitions that its topics have now: the number of tasks, and the internal topics that miss.

Pure. Owns: the result of looking at the topics of a topology. Never does: creating topics. Invariants: without a
problem all topics exist, and have the partitions that the topology needs. Source: ``InternalTopicManager``,
``ConfiguredTopology``, ``ConfiguredSubtopology``; KIP-1071.
"""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from enum import IntEnum
from typing import NamedTuple

from odradek.protocol.common.steps import Steps, run_to_end
from odradek.protocol.errors import ErrorCode, KafkaError
from odradek.protocol.java.hash import in_hash_map_order
from odradek.protocol.messages.streams_groups import StreamsGroupDescribeResponse, StreamsGroupHeartbeatRequest
from odradek.protocol.names.topics import check_topic_name

from .partition_counts import (
    IncorrectPartitionsError,
    PartitionCount,
    TopicCounts,
    copartition_groups,
    decide_partition_counts,
)
from .request_limits import MOST_TASKS
from .topology import InternalTopic, StreamsTopology, Subtopology, described_topics

LISTED_TOPICS = 3
"""The number of topics that the text of a problem names."""
SUBTOPOLOGIES_A_STEP = 64


class StatusCode(IntEnum):
    """The codes of statuses in the response to a heartbeat (``StreamsGroupHeartbeatResponse.Status``)."""

    STALE_TOPOLOGY = 0
    MISSING_SOURCE_TOPICS = 1
    INCORRECTLY_PARTITIONED_TOPICS = 2
    MISSING_INTERNAL_TOPICS = 3
    SHUTDOWN_APPLICATION = 4
    ASSIGNMENT_DELAYED = 5
    MISSING_CLIENT_TAGS = 6
    """Since version 1."""


class TopicProblem(NamedTuple):
    """Why a topology is not ready: the status of the heartbeat's response."""

    status: StatusCode
    detail: str


@dataclass(frozen=True, slots=True)
class ConfiguredSubtopology:
    """A subtopology and its tasks. The partitions of its internal topics are known."""

    number_of_tasks: int
    source_topics: frozenset[str]
    repartition_source_topics: Mapping[str, InternalTopic]
    repartition_sink_topics: frozenset[str]
    state_changelog_topics: Mapping[str, InternalTopic]

    @property
    def is_stateful(self) -> bool:
        """Whether its tasks have state, in changelog topics. Only those have standby tasks."""
        return bool(self.state_changelog_topics)


@dataclass(frozen=True, slots=True)
class ConfiguredTopology:
    """A topology and the partitions of its topics at one time.

    ``subtopologies``: by id, in ascending order; None if source topics are missing, or topics do not fit together.
    ``internal_topics_to_create``: by name, in the order of Kafka's map; the replication factor 0 is the default of the
    broker.
    """

    topology_epoch: int
    metadata_hash: int
    subtopologies: Mapping[str, ConfiguredSubtopology] | None
    internal_topics_to_create: Mapping[str, InternalTopic]
    problem: TopicProblem | None

    @property
    def is_ready(self) -> bool:
        """Whether the topology has no problem: tasks may be assigned."""
        return self.problem is None

    def check_tasks(self, tasks: Iterable[StreamsGroupHeartbeatRequest.TaskIds] | None) -> None:
        """Raises KafkaError INVALID_REQUEST if a request names tasks that do not exist."""
        subtopologies = self.subtopologies or {}
        for each in tasks or ():
            subtopology = subtopologies.get(each.subtopology_id)
            if subtopology is None:
                message = f"Subtopology {each.subtopology_id} does not exist in the topology."
                raise KafkaError(ErrorCode.INVALID_REQUEST, message)
            for partition in each.partitions:
                if not 0 <= partition < subtopology.number_of_tasks:
                    message = (
                        f"Task {partition} for subtopology {each.subtopology_id} is invalid. "
                        f"Number of tasks for this subtopology: {subtopology.number_of_tasks}"
                    )
                    raise KafkaError(ErrorCode.INVALID_REQUEST, message)

    def to_description(self) -> StreamsGroupDescribeResponse.Topology:
        """Returns the topology with the partitions of its topics."""
        found = [
            StreamsGroupDescribeResponse.Subtopology(
                subtopology_id=subtopology_id,
                source_topics=sorted(each.source_topics),
                repartition_sink_topics=sorted(each.repartition_sink_topics),
                state_changelog_topics=described_topics(each.state_changelog_topics.values()),
                repartition_source_topics=described_topics(each.repartition_source_topics.values()),
            )
            for subtopology_id, each in (self.subtopologies or {}).items()
        ]
        return StreamsGroupDescribeResponse.Topology(self.topology_epoch, found)


def configure(metadata_hash: int, topology: StreamsTopology, partition_count: PartitionCount) -> ConfiguredTopology:
    """Returns the topology with the partitions of its topics.

    Raises KafkaError STREAMS_INVALID_TOPOLOGY if the partitions of internal topics can't be computed,
    INVALID_TOPIC_EXCEPTION if an internal topic has an invalid name, INVALID_REQUEST if there are more than MOST_TASKS
    tasks, and UNKNOWN_SERVER_ERROR, as Kafka does, for other contradictions: topics or configs that come twice,
    negative numbers of partitions, indexes of topics that are not there.
    """
    return run_to_end(configure_in_steps(metadata_hash, topology, partition_count))


def configure_in_steps(
    metadata_hash: int, topology: StreamsTopology, partition_count: PartitionCount
) -> Steps[ConfiguredTopology]:
    """:func:`configure` as a generator. If topics change between two steps, its result may be that of no moment."""
    groups = copartition_groups(topology)
    yield
    missing = {
        name for each in topology.subtopologies.values() for name in each.source_topics if partition_count(name) is None
    }
    if missing:
        detail = f"Source topics {_listed(sorted(missing))} are missing."
        return _failed(metadata_hash, topology, TopicProblem(StatusCode.MISSING_SOURCE_TOPICS, detail))
    yield
    try:
        counts = decide_partition_counts(topology, groups, partition_count)
        yield
        configured = {}
        for number, each in enumerate(topology.in_hash_order, 1):
            configured[each.subtopology_id] = _configured(each, counts)
            if number % SUBTOPOLOGIES_A_STEP == 0:
                yield
        _refuse_many_tasks(configured.values())
        subtopologies = dict(sorted(configured.items()))
        yield
        to_create = _missing_internal_topics(topology, subtopologies, partition_count)
    except IncorrectPartitionsError as wrong:
        problem = TopicProblem(StatusCode.INCORRECTLY_PARTITIONED_TOPICS, str(wrong))
        return _failed(metadata_hash, topology, problem)
    found = None
    if to_create:
        detail = f"Internal topics are missing: {_listed(to_create)}"
        found = TopicProblem(StatusCode.MISSING_INTERNAL_TOPICS, detail)
    return ConfiguredTopology(topology.topology_epoch, metadata_hash, subtopologies, to_create, found)


def _refuse_many_tasks(subtopologies: Iterable[ConfiguredSubtopology]) -> None:
    """The assignor, and the steps of a member with all tasks, take time and memory for each task."""
    tasks = sum(each.number_of_tasks for each in subtopologies)
    if tasks > MOST_TASKS:
        message = f"The topology has {tasks} tasks. At most {MOST_TASKS} are served."
        raise KafkaError(ErrorCode.INVALID_REQUEST, message)


def _failed(metadata_hash: int, topology: StreamsTopology, problem: TopicProblem) -> ConfiguredTopology:
    return ConfiguredTopology(topology.topology_epoch, metadata_hash, None, {}, problem)


def _configured(subtopology: Subtopology, counts: TopicCounts) -> ConfiguredSubtopology:
    tasks = max(map(counts.of, subtopology.all_source_topics))
    configured = ConfiguredSubtopology(
        tasks,
        frozenset(subtopology.source_topics),
        _internal_topics(subtopology.repartition_source_topics, counts),
        frozenset(subtopology.repartition_sink_topics),
        _internal_topics(subtopology.state_changelog_topics, counts),
    )
    if tasks < 1:
        raise KafkaError(ErrorCode.UNKNOWN_SERVER_ERROR)
    return configured


def _internal_topics(topics: Iterable[InternalTopic], counts: TopicCounts) -> Mapping[str, InternalTopic]:
    found: dict[str, InternalTopic] = {}
    for topic in topics:
        configs = dict(topic.configs)
        if len(configs) < len(topic.configs):
            raise KafkaError(ErrorCode.UNKNOWN_SERVER_ERROR)
        check_topic_name(topic.name)
        partitions = topic.partitions or counts.decided[topic.name]
        if partitions < 1 or topic.name in found:
            raise KafkaError(ErrorCode.UNKNOWN_SERVER_ERROR)
        in_order = tuple((key, configs[key]) for key in in_hash_map_order(configs))
        found[topic.name] = topic._replace(partitions=partitions, configs=in_order)
    return {name: found[name] for name in in_hash_map_order(found)}


def _missing_internal_topics(
    topology: StreamsTopology, subtopologies: Mapping[str, ConfiguredSubtopology], partition_count: PartitionCount
) -> dict[str, InternalTopic]:
    """Returns the internal topics that do not exist. Raises IncorrectPartitionsError if one that does has another
    number of partitions."""
    wanted: dict[str, InternalTopic] = {}
    for each in subtopologies.values():
        wanted.update(each.repartition_source_topics)
        wanted.update(each.state_changelog_topics)
    missing = {name: wanted[name] for name in in_hash_map_order(wanted)}
    for name in topology.required_topics:
        count = partition_count(name)
        topic = None if count is None else missing.pop(name, None)
        if topic is not None and topic.partitions != count:
            raise IncorrectPartitionsError(
                f"Existing topic {name} has different number of partitions: expected {topic.partitions}, found {count}"
            )
    return missing


def _listed(topics: Collection[str]) -> str:
    """Returns the first names and the number of the others."""
    names = ", ".join(list(topics)[:LISTED_TOPICS])
    more = len(topics) - LISTED_TOPICS
    return f"{names} and {more} additional topics" if more > 0 else names
