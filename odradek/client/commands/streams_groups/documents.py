"""``odradek streams-groups --describe --json``: the description of a group as a document.

Pure.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ...admin.streams_group_descriptions import (
        StreamsGroupDescription,
        StreamsMemberDescription,
        StreamsTasks,
        TopologyDescription,
        TopologyNode,
    )
    from .offsets import StreamsOffsetRow
    from .options import StreamsGroupOptions


def streams_document(
    group: StreamsGroupDescription, options: StreamsGroupOptions, rows: Sequence[StreamsOffsetRow]
) -> object:
    """What the options ask for about a group."""
    about = {"group": group.group_id, "state": group.state}
    if options.topology:
        described = group.topology_description
        return {**about, "topology": None if described is None else topology_document(described)}
    if options.members:
        members = sorted(group.members, key=lambda member: member.member_id)
        return {**about, "members": [_member_document(member) for member in members]}
    if options.state is not None:
        return {
            **about,
            "assignor": group.assignor,
            "coordinator": {"id": group.coordinator, "address": group.coordinator_address},
            "groupEpoch": group.group_epoch,
            "targetAssignmentEpoch": group.target_assignment_epoch,
            "topologyEpoch": group.topology_epoch,
            "members": len(group.members),
        }
    return {
        **about,
        "totalLag": sum(row.lag for row in rows),
        "partitions": [
            {
                "topic": row.partition.topic,
                "partition": row.partition.partition,
                "currentOffset": row.current_offset,
                "leaderEpoch": row.leader_epoch,
                "logEndOffset": row.log_end_offset,
                "lag": row.lag,
            }
            for row in rows
        ],
    }


def _member_document(member: StreamsMemberDescription) -> object:
    return {
        "memberId": member.member_id,
        "processId": member.process_id,
        "clientId": member.client_id,
        "host": member.host,
        "epoch": member.member_epoch,
        "topologyEpoch": member.topology_epoch,
        "protocol": "classic" if member.is_classic else "streams",
        "tasks": _tasks_document(member.tasks),
        "targetTasks": _tasks_document(member.target_tasks),
    }


def _tasks_document(tasks: StreamsTasks) -> object:
    return {
        kind: {task.subtopology_id: list(task.partitions) for task in some}
        for kind, some in zip(tasks._fields, tasks, strict=True)
    }


def topology_document(topology: TopologyDescription) -> dict[str, Any]:
    """The nodes of a topology."""
    return {
        "subtopologies": [
            {"id": name, "nodes": [_node(node) for node in nodes]} for name, nodes in topology.subtopologies
        ],
        "globalStores": [
            {"source": _node(source), "processor": _node(processor)} for source, processor in topology.global_stores
        ],
    }


def _node(node: TopologyNode) -> object:
    return {
        "name": node.name,
        "kind": {1: "source", 2: "processor", 3: "sink"}.get(node.kind, node.kind),
        "sourceTopics": list(node.source_topics),
        "sinkTopic": node.sink_topic,
        "stores": list(node.stores),
        "successors": list(node.successors),
    }
