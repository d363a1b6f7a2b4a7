"""The topics that the topology of a streams group names, in requests and descriptions.

Pure. Source: ``KafkaApis.handleStreamsGroupHeartbeat``, handleStreamsGroupDescribe.
"""

from ..messages.streams_groups import StreamsGroupDescribeResponse, StreamsGroupHeartbeatRequest

Topology = StreamsGroupHeartbeatRequest.Topology | StreamsGroupDescribeResponse.Topology


def topology_topics(topology: Topology) -> list[str]:
    """Returns the names of all source, repartition and changelog topics, each once, in the order of the topology."""
    found: dict[str, None] = {}
    for each in topology.subtopologies or ():
        for names in (
            each.source_topics,
            each.repartition_sink_topics,
            [topic.name for topic in each.repartition_source_topics],
            [topic.name for topic in each.state_changelog_topics],
        ):
            found.update(dict.fromkeys(names))
    return list(found)
