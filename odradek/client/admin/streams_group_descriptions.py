"""The admin client's descriptions of streams groups (KIP-1071).

Owns: StreamsGroupDescription with its parts, and making it from StreamsGroupDescribe. Never does: I/O. Source:
``clients.admin.internals.DescribeStreamsGroupsHandler``.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, NamedTuple

from ..types import TopicPartition
from .group_descriptions import GroupDescription, MemberDescription

if TYPE_CHECKING:
    from odradek.protocol.messages.streams_groups import StreamsGroupDescribeResponse

STREAMS_GROUP = "Streams"
STREAMS_PROTOCOL_TYPE = "streams"
TOPOLOGY_NOT_STORED, TOPOLOGY_FAILED = 1, 2
"""Why a broker has no description of a topology (Kafka 4.4). Source: ``StreamsGroupTopologyDescriptionStatus``."""


class SubtopologyTasks(NamedTuple):
    """Tasks of one subtopology."""

    subtopology_id: str
    partitions: tuple[int, ...]


class StreamsTasks(NamedTuple):
    """The tasks of a member."""

    active: tuple[SubtopologyTasks, ...] = ()
    standby: tuple[SubtopologyTasks, ...] = ()
    warmup: tuple[SubtopologyTasks, ...] = ()


class StreamsMemberDescription(NamedTuple):
    """A member of a streams group: a thread of an application."""

    member_id: str
    member_epoch: int
    group_instance_id: str | None
    rack_id: str | None
    client_id: str
    host: str
    topology_epoch: int
    process_id: str
    """Members of one process have the same."""
    user_endpoint: tuple[str, int] | None
    """Host and port for interactive queries."""
    client_tags: dict[str, str]
    task_offsets: dict[tuple[str, int], int]
    """(Subtopology, partition) -> the sum of the offsets that the member has restored or processed."""
    task_end_offsets: dict[tuple[str, int], int]
    tasks: StreamsTasks
    target_tasks: StreamsTasks
    is_classic: bool


class SubtopologyDescription(NamedTuple):
    """A part of a topology that runs in tasks of its own."""

    subtopology_id: str
    source_topics: tuple[str, ...]
    repartition_sink_topics: tuple[str, ...]
    state_changelog_topics: tuple[str, ...]
    repartition_source_topics: tuple[str, ...]

    @property
    def read_topics(self) -> tuple[str, ...]:
        """The topics that its tasks read: those of the user, and repartition topics."""
        return (*self.source_topics, *self.repartition_source_topics)


class TopologyNode(NamedTuple):
    """A node in the description of a topology. ``kind``: 1 source, 2 processor, 3 sink."""

    name: str
    kind: int
    source_topics: tuple[str, ...]
    sink_topic: str | None
    stores: tuple[str, ...]
    successors: tuple[str, ...]


class TopologyDescription(NamedTuple):
    """The nodes of a topology, as the application described them (Kafka 4.4)."""

    subtopologies: tuple[tuple[str, tuple[TopologyNode, ...]], ...]
    """Id, nodes."""
    global_stores: tuple[tuple[TopologyNode, TopologyNode], ...]
    """Source, processor."""


class StreamsGroupDescription(NamedTuple):
    """A streams group; ``state`` is Empty, NotReady, Assigning, Reconciling, Stable or Dead."""

    group_id: str
    state: str
    group_epoch: int
    target_assignment_epoch: int
    topology_epoch: int
    subtopologies: tuple[SubtopologyDescription, ...]
    members: tuple[StreamsMemberDescription, ...]
    assignor: str | None
    """None if the broker is older than Kafka 4.4."""
    coordinator: int
    coordinator_address: str
    topology_description_status: int
    """0 if it was not asked for."""
    topology_description: TopologyDescription | None

    @property
    def input_topics(self) -> set[str]:
        """The topics that the user writes: those that are read and no repartition topics."""
        return {topic for part in self.subtopologies for topic in part.source_topics}

    @property
    def internal_topics(self) -> list[str]:
        """Repartition and changelog topics, in the order of the subtopologies, without those that are input topics."""
        parts = [[*one.repartition_source_topics, *one.state_changelog_topics] for one in self.subtopologies]
        return list(dict.fromkeys(topic for part in parts for topic in part if topic not in self.input_topics))

    def partitions_of(self, tasks: Iterable[SubtopologyTasks]) -> set[TopicPartition]:
        """The partitions that tasks read. One may not exist, if the topics of a subtopology differ in their number."""
        topics = {part.subtopology_id: part.read_topics for part in self.subtopologies}
        return {
            TopicPartition(topic, number)
            for task in tasks
            for topic in topics.get(task.subtopology_id, ())
            for number in task.partitions
        }

    def as_group(self) -> GroupDescription:
        """The group as those of other types are described: members have the partitions that their active tasks read."""
        members = [
            MemberDescription(
                member.member_id,
                member.group_instance_id,
                member.client_id,
                member.host,
                tuple(sorted(self.partitions_of(member.tasks.active))),
                tuple(sorted(self.partitions_of(member.target_tasks.active))),
                member.member_epoch,
            )
            for member in self.members
        ]
        return GroupDescription(
            self.group_id,
            self.state,
            STREAMS_GROUP,
            STREAMS_PROTOCOL_TYPE,
            self.assignor or "",
            self.coordinator,
            self.coordinator_address,
            members,
            self.group_epoch,
            self.target_assignment_epoch,
        )


def streams_description(
    group: StreamsGroupDescribeResponse.DescribedGroup, coordinator: int, coordinator_address: str
) -> StreamsGroupDescription:
    """A streams group. It has no subtopologies while the broker has no topology of it."""
    topology = group.topology
    return StreamsGroupDescription(
        group.group_id,
        group.group_state,
        group.group_epoch,
        group.assignment_epoch,
        -1 if topology is None else topology.epoch,
        tuple(_subtopology(part) for part in (topology.subtopologies or () if topology is not None else ())),
        tuple(_member(member) for member in group.members),
        group.assignor_name,
        coordinator,
        coordinator_address,
        group.topology_description_status,
        None if group.topology_description is None else _description(group.topology_description),
    )


def _member(member: StreamsGroupDescribeResponse.Member) -> StreamsMemberDescription:
    endpoint = member.user_endpoint
    return StreamsMemberDescription(
        member.member_id,
        member.member_epoch,
        member.instance_id,
        member.rack_id,
        member.client_id,
        member.client_host,
        member.topology_epoch,
        member.process_id,
        None if endpoint is None else (endpoint.host, endpoint.port),
        {tag.key: tag.value for tag in member.client_tags},
        {(task.subtopology_id, task.partition): task.offset for task in member.task_offsets},
        {(task.subtopology_id, task.partition): task.offset for task in member.task_end_offsets},
        _tasks(member.assignment),
        _tasks(member.target_assignment),
        member.is_classic,
    )


def _tasks(assignment: StreamsGroupDescribeResponse.Assignment) -> StreamsTasks:
    active, standby, warmup = (
        tuple(SubtopologyTasks(task.subtopology_id, tuple(task.partitions)) for task in tasks)
        for tasks in (assignment.active_tasks, assignment.standby_tasks, assignment.warmup_tasks)
    )
    return StreamsTasks(active, standby, warmup)


def _subtopology(part: StreamsGroupDescribeResponse.Subtopology) -> SubtopologyDescription:
    return SubtopologyDescription(
        part.subtopology_id,
        tuple(part.source_topics),
        tuple(part.repartition_sink_topics),
        tuple(topic.name for topic in part.state_changelog_topics),
        tuple(topic.name for topic in part.repartition_source_topics),
    )


def _description(described: StreamsGroupDescribeResponse.TopologyDescription) -> TopologyDescription:
    return TopologyDescription(
        tuple((part.subtopology_id, tuple(map(_node, part.nodes))) for part in described.subtopologies),
        tuple((_node(store.source), _node(store.processor)) for store in described.global_stores),
    )


def _node(node: StreamsGroupDescribeResponse.TopologyDescriptionNode) -> TopologyNode:
    return TopologyNode(
        node.name,
        node.node_type,
        tuple(node.source_topics),
        node.sink_topic,
        tuple(node.stores),
        tuple(node.successors),
    )
