"""Checks streams groups: the topics that their topologies name.

Pure. catalogue_share_streams.py describes the findings. Source: Kafka's TopologyValidator of
``StreamsGroupHeartbeat`` (statuses 1 to 3), CopartitionedTopicsEnforcer.
"""

from collections.abc import Iterator

from odradek.protocol.names.topics import OFFSETS_TOPIC

from ...directories.cluster_metadata import DirectoryMetadata
from ..findings import Finding
from .lag import Directories
from .share_facts import StoredTopology


def streams_findings(found: Directories, metadata: DirectoryMetadata) -> Iterator[Finding]:
    """All findings about the topologies of streams groups."""
    if not metadata.is_known:
        return
    for facts in found.facts:
        for topology in facts.topologies:
            for name, detail in _topics(topology, metadata):
                text = f"group {topology.group}: {detail}"
                yield Finding(name, OFFSETS_TOPIC, facts.offsets_partition, *topology.place, text)


def _topics(topology: StoredTopology, metadata: DirectoryMetadata) -> Iterator[tuple[str, str]]:
    """(finding, detail) of one topology. Internal topics are created only when all sources are there."""
    sources = [name for name in topology.sources if name not in metadata.topics]
    internal = [name for name in topology.internal if name not in metadata.topics]
    if sources:
        yield "streams-source-missing", ", ".join(sources)
    elif internal:
        yield "streams-internal-topic-missing", ", ".join(internal)
    for names in topology.copartitioned:
        counts = {name: len(metadata.topics[name].brokers) for name in names if name in metadata.topics}
        if len(set(counts.values())) > 1:
            yield "streams-topics-not-copartitioned", ", ".join(f"{name} has {n}" for name, n in counts.items())
