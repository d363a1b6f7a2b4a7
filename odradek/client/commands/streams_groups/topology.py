"""``odradek streams-groups --describe --topology``: the nodes of a topology, as Kafka Streams prints them.

Source: ``TopologyDescriptionFormatter`` and ``StreamsGroupCommand.printTopology`` of Kafka 4.4.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

import click

from ...admin.streams_group_descriptions import TOPOLOGY_FAILED, TOPOLOGY_NOT_STORED

if TYPE_CHECKING:
    from ...admin.streams_group_descriptions import StreamsGroupDescription, TopologyDescription, TopologyNode

SOURCE, PROCESSOR, SINK = 1, 2, 3
WHY_NOT = {
    TOPOLOGY_NOT_STORED: "No topology description is stored for streams group '{}'.",
    TOPOLOGY_FAILED: "The broker failed to fetch the topology description for streams group '{}'. "
    "See the broker logs for details.",
}


def print_why_no_topology(group: StreamsGroupDescription) -> None:
    """Prints on standard error why the broker has no description of the topology."""
    status = group.topology_description_status
    text = WHY_NOT.get(status, f"No topology description is available for streams group '{{}}' (status: {status}).")
    click.echo(f"\nError: {text.format(group.group_id)}", err=True)


def topology_text(topology: TopologyDescription) -> str:
    """The topology as Kafka Streams prints one, with an empty line after each part."""
    lines = ["Topologies:"]
    for subtopology_id, nodes in topology.subtopologies:
        lines += [f"   Sub-topology: {subtopology_id}", *_part(nodes)]
    for number, store in enumerate(topology.global_stores, len(topology.subtopologies)):
        lines += [f"   Sub-topology: {number} for global store (will not generate tasks)", *_part(store)]
    return "".join(f"{line}\n" for line in lines)


def _part(nodes: Sequence[TopologyNode]) -> list[str]:
    before: dict[str, list[str]] = defaultdict(list)
    for node in nodes:
        for successor in node.successors:
            before[successor].append(node.name)
    return [*(line for node in nodes for line in _node(node, before)), ""]


def _node(node: TopologyNode, before: Mapping[str, list[str]]) -> list[str]:
    after_it, before_it = f"      --> {_names(node.successors)}", f"      <-- {_names(before.get(node.name, ()))}"
    if node.kind == SOURCE:
        return [f"    Source: {node.name} (topics: {_set(node.source_topics)})", after_it]
    if node.kind == PROCESSOR:
        return [f"    Processor: {node.name} (stores: {_set(node.stores)})", after_it, before_it]
    topic = "null" if node.sink_topic is None else node.sink_topic
    return [f"    Sink: {node.name} (topic: {topic})", before_it]


def _set(names: Iterable[str]) -> str:
    return f"[{', '.join(sorted(set(names)))}]"


def _names(names: Iterable[str]) -> str:
    return ", ".join(sorted(set(names))) or "none"
