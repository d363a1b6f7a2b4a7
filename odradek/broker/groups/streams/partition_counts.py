"""Decides the partitions of the internal topics of a topology.

A repartition topic without a number of its own gets the most partitions among the topics that its writer reads.
Copartition groups then get equal numbers. A changelog topic has a partition for each task.

Pure. Owns: those numbers. Never does: comparing them with internal topics that exist. Invariants: linear in the size of
the topology; subtopologies are visited in the order of Java's ``HashMap``, on which the numbers depend. Source:
``RepartitionTopics``, ``CopartitionedTopicsEnforcer``, ``ChangelogTopics``; KIP-1071.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from heapq import heappop, heappush
from typing import TypeVar

from odradek.protocol.errors import ErrorCode, KafkaError
from odradek.protocol.java.hash import in_hash_map_order

from .topology import StreamsTopology, Subtopology

PartitionCount = Callable[[str], int | None]
"""Returns the number of partitions of a topic, or None if it does not exist."""

Topic = TypeVar("Topic")

LOOPS = (
    "Failed to compute number of partitions for all repartition topics. "
    "There may be loops in the topology that cannot be resolved."
)
NEVER_A_SINK = (
    "Failed to compute number of partitions for all repartition topics, because "
    "a repartition source topic is never used as a sink topic."
)


class IncorrectPartitionsError(Exception):
    """Topics that a task reads together do not have equally many partitions. The text is Kafka's."""


class TopicCounts:
    """The partitions of topics: of those that exist, and the decided ones of the others.

    ``decided``: the partitions of internal topics by name, whether they exist or not.
    """

    def __init__(self, existing: PartitionCount, decided: dict[str, int]) -> None:
        self._existing = existing
        self.decided = decided

    def of(self, topic: str) -> int:
        """Returns the partitions of a topic. It exists, or its partitions are decided."""
        count = self._existing(topic)
        return self.decided[topic] if count is None else count


def copartition_groups(topology: StreamsTopology) -> list[list[str]]:
    """Returns the topics of each copartition group, in the order of a ``HashSet``. Raises KafkaError
    UNKNOWN_SERVER_ERROR, as Kafka does, if a group has the index of a topic that is not there."""
    found = []
    for each in topology.in_hash_order:
        for group in each.copartition_groups:
            names = [_at(each.source_topics, index) for index in group.source_topics]
            names += [_at(each.repartition_source_topics, index).name for index in group.repartition_source_topics]
            found.append(in_hash_map_order(names))
    return found


def _at(topics: Sequence[Topic], index: int) -> Topic:
    if not 0 <= index < len(topics):
        raise KafkaError(ErrorCode.UNKNOWN_SERVER_ERROR)
    return topics[index]


def decide_partition_counts(
    topology: StreamsTopology, groups: Iterable[Sequence[str]], partition_count: PartitionCount
) -> TopicCounts:
    """Decides the partitions of all internal topics. All source topics must exist. ``groups``: the copartition groups.

    Raises IncorrectPartitionsError; KafkaError STREAMS_INVALID_TOPOLOGY if a number can't be computed.
    """
    counts = TopicCounts(partition_count, _repartition_counts(topology, partition_count))
    _check_all_written(topology, counts.decided)
    enforcer = _CopartitionEnforcer(topology, counts)
    for names in groups:
        enforcer.enforce(names)
    counts.decided.update(_changelog_counts(topology, counts))
    return counts


def _repartition_counts(topology: StreamsTopology, partition_count: PartitionCount) -> dict[str, int]:
    """Returns the partitions of repartition topics.

    Kafka passes over all subtopologies until no number is missing. In a pass, the topics that a subtopology writes get
    their number as soon as one of the topics that it reads has one. Here a heap holds the subtopologies by the pass and
    the place in which that happens.
    """
    visits = topology.in_hash_order
    decided = {
        topic.name: topic.partitions for each in visits for topic in each.repartition_source_topics if topic.partitions
    }
    readers: dict[str, list[int]] = {}
    due: list[tuple[int, int]] = []
    for place, each in enumerate(visits):
        for topic in each.repartition_source_topics:
            readers.setdefault(topic.name, []).append(place)
        if each.source_topics or any(topic.name in decided for topic in each.repartition_source_topics):
            due.append((0, place))
    done: set[int] = set()
    while due:
        visit, place = heappop(due)
        if place in done:
            continue
        done.add(place)
        count = _written_count(visits[place], decided, partition_count)
        for sink in visits[place].repartition_sink_topics:
            if sink not in decided:
                decided[sink] = count
                for reader in readers.get(sink, ()):
                    if reader not in done:
                        heappush(due, (visit + (reader <= place), reader))
    if any(sink not in decided for each in visits for sink in each.repartition_sink_topics):
        raise KafkaError(ErrorCode.STREAMS_INVALID_TOPOLOGY, LOOPS)
    return decided


def _written_count(subtopology: Subtopology, decided: Mapping[str, int], partition_count: PartitionCount) -> int:
    """The most partitions among the topics that it reads, as far as they are known."""
    found = [decided.get(topic.name) for topic in subtopology.repartition_source_topics]
    found += map(partition_count, subtopology.source_topics)
    return max(count for count in found if count is not None)


def _check_all_written(topology: StreamsTopology, decided: Mapping[str, int]) -> None:
    for each in topology.in_hash_order:
        if any(topic.name not in decided for topic in each.repartition_source_topics):
            raise KafkaError(ErrorCode.STREAMS_INVALID_TOPOLOGY, NEVER_A_SINK)


class _CopartitionEnforcer:
    """Gives the topics of copartition groups equal numbers of partitions."""

    def __init__(self, topology: StreamsTopology, counts: TopicCounts) -> None:
        repartition_topics = [topic for each in topology.in_hash_order for topic in each.repartition_source_topics]
        self._counts = counts
        self._repartition_topics = {topic.name for topic in repartition_topics}
        self._fixed = {topic.name for topic in repartition_topics if topic.partitions}
        # A topic with a number of its own keeps it, so that the numbers of these may be taken once.
        self._fixed_counts = {counts.of(name) for name in self._fixed}

    def enforce(self, names: Sequence[str]) -> None:
        """Decides the partitions of the repartition topics of one group. Raises IncorrectPartitionsError."""
        if not names:
            return
        repartition = {name: self._counts.of(name) for name in names if name in self._repartition_topics}
        others = {name: self._counts.of(name) for name in names if name not in repartition}
        count = self._wanted(repartition, others)
        for name in in_hash_map_order(repartition):
            self._counts.decided[name] = count
            if name in self._fixed and repartition[name] != count:
                raise IncorrectPartitionsError(
                    f"Number of partitions [{repartition[name]}] of repartition topic [{name}] "
                    f"doesn't match number of partitions [{count}] of the source topic."
                )

    def _wanted(self, repartition: Mapping[str, int], others: Mapping[str, int]) -> int:
        if others:
            if len(set(others.values())) > 1:
                raise _not_equal(others)
            return next(iter(others.values()))
        if not self._fixed_counts:
            return max(repartition.values())
        # As in Kafka, the topics with numbers of their own count even if they are in other groups.
        if len(self._fixed_counts) > 1:
            raise _not_equal(repartition)
        return next(iter(self._fixed_counts))


def _not_equal(counts: Mapping[str, int]) -> IncorrectPartitionsError:
    listed = ", ".join(f"{name}={counts[name]}" for name in sorted(counts))
    return IncorrectPartitionsError(f"Following topics do not have the same number of partitions: [{{{listed}}}]")


def _changelog_counts(topology: StreamsTopology, counts: TopicCounts) -> dict[str, int]:
    found: dict[str, int] = {}
    for each in topology.in_hash_order:
        read = each.all_source_topics
        if not read:
            message = f"No source topics found for subtopology {each.subtopology_id}"
            raise KafkaError(ErrorCode.STREAMS_INVALID_TOPOLOGY, message)
        most = max(map(counts.of, read))
        found.update((topic.name, most) for topic in each.state_changelog_topics)
    return found
