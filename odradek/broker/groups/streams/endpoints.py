"""The partitions that each member serves at its endpoint for interactive queries.

Pure. Owns: the entry of a member in the response to a heartbeat. Never does: choosing who gets the entries. Invariant:
warm-up tasks count as standby tasks. Source: ``EndpointToPartitionsManager``; KIP-1071.
"""

from collections.abc import Collection, Mapping

from odradek.protocol.messages.streams_groups import StreamsGroupHeartbeatResponse

from .configured_topology import ConfiguredSubtopology, ConfiguredTopology
from .member import StreamsGroupMember
from .partition_counts import PartitionCount
from .tasks import merged

TopicPartition = StreamsGroupHeartbeatResponse.TopicPartition


def endpoint_partitions(
    member: StreamsGroupMember, configured: ConfiguredTopology, partition_count: PartitionCount
) -> StreamsGroupHeartbeatResponse.EndpointToPartitions | None:
    """Returns the partitions of a member's tasks, or None if it has no endpoint, or the topology has no tasks.

    Subtopologies and topics are in ascending order; Kafka's order is random. Subtopologies and topics that have gone
    are left out, where Kafka answers UNKNOWN_SERVER_ERROR.
    """
    if member.user_endpoint is None or configured.subtopologies is None:
        return None
    assigned = member.assigned
    return StreamsGroupHeartbeatResponse.EndpointToPartitions(
        user_endpoint=StreamsGroupHeartbeatResponse.Endpoint(*member.user_endpoint),
        active_partitions=_partitions(assigned.active, configured.subtopologies, partition_count),
        standby_partitions=_partitions(
            merged(assigned.standby, assigned.warmup), configured.subtopologies, partition_count
        ),
    )


def _partitions(
    tasks: Mapping[str, Collection[int]],
    subtopologies: Mapping[str, ConfiguredSubtopology],
    partition_count: PartitionCount,
) -> list[TopicPartition]:
    """A task reads the partition of its number of each source topic that has it."""
    found = []
    for subtopology_id in sorted(tasks.keys() & subtopologies.keys()):
        subtopology = subtopologies[subtopology_id]
        for topic in sorted(subtopology.source_topics | subtopology.repartition_source_topics.keys()):
            count = partition_count(topic) or 0
            partitions = sorted(partition for partition in tasks[subtopology_id] if partition < count)
            if partitions:
                found.append(TopicPartition(topic, partitions))
    return found
