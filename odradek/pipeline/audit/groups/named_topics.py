"""The topics that the records of share groups and streams groups name.

Pure. Source: Kafka's GroupMetadataManager (replay of these records), ConfiguredTopology.
"""

from collections.abc import Iterable

from odradek.protocol.messages.group_records import ShareGroupStatePartitionMetadataValue, StreamsGroupTopologyValue

from .places import RecordPlace
from .share_facts import ShareTopic, ShareTopics, StoredTopology

_Info = ShareGroupStatePartitionMetadataValue.TopicPartitionsInfo


def share_topics(
    group: str, value: ShareGroupStatePartitionMetadataValue, place: RecordPlace, timestamp: int
) -> ShareTopics:
    """The topics of a share group by the progress of their state."""
    deleting = [ShareTopic(topic.topic_name, bytes(topic.topic_id), ()) for topic in value.deleting_topics]
    return ShareTopics(
        group, place, timestamp, _with_ids(value.initialized_topics), _with_ids(value.initializing_topics), deleting
    )


def _with_ids(topics: Iterable[_Info]) -> list[ShareTopic]:
    return [ShareTopic(topic.topic_name, bytes(topic.topic_id), tuple(topic.partitions)) for topic in topics]


def streams_topology(group: str, value: StreamsGroupTopologyValue, place: RecordPlace) -> StoredTopology:
    """The topics of a topology. A topic that a subtopology writes as its repartition topic is not a source."""
    topology = StoredTopology(group, place)
    for part in value.subtopologies:
        repartition = [topic.name for topic in part.repartition_source_topics]
        topology.sources.extend(part.source_topics)
        topology.internal.extend([*repartition, *(topic.name for topic in part.state_changelog_topics)])
        for together in part.copartition_groups:
            names = [part.source_topics[index] for index in together.source_topics if index < len(part.source_topics)]
            names += [repartition[index] for index in together.repartition_source_topics if index < len(repartition)]
            topology.copartitioned.append(names)
    return topology
