"""The JSON of a group in ``odradek groups --describe --json``. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from .rebalance import waits

if TYPE_CHECKING:
    from ...admin.group_descriptions import GroupDescription
    from ...types import TopicPartition
    from .offsets import GroupOffsetRow


def offsets_document(group: GroupDescription, rows: list[GroupOffsetRow]) -> object:
    """The JSON of offsets and lag, with the sum of the lags and the largest lag in seconds."""
    return {
        "group": group.group_id,
        "state": group.state,
        "totalLag": sum(row.lag for row in rows if row.lag is not None),
        "maxLagSeconds": max((row.lag_seconds for row in rows if row.lag_seconds is not None), default=None),
        "partitions": [
            {
                "topic": row.topic,
                "partition": row.partition,
                "leaderEpoch": row.leader_epoch,
                "currentOffset": row.current_offset,
                "logEndOffset": row.log_end_offset,
                "lag": row.lag,
                "lagSeconds": row.lag_seconds,
                "nextRecord": row.next_record
                and {"offset": row.next_record.offset, "timestamp": row.next_record.timestamp_ms},
                "consumerId": row.consumer_id,
                "host": row.host,
                "clientId": row.client_id,
            }
            for row in rows
        ],
    }


def members_document(group: GroupDescription) -> object:
    """The JSON of the members, with epochs in groups of the consumer protocol."""
    return {
        "group": group.group_id,
        "state": group.state,
        "type": group.group_type,
        "targetAssignmentEpoch": group.target_assignment_epoch,
        "members": [
            {
                "consumerId": member.member_id,
                "groupInstanceId": member.group_instance_id,
                "host": member.host,
                "clientId": member.client_id,
                "epoch": member.member_epoch,
                "upgraded": member.upgraded,
                "partitions": _partitions(member.assignment),
                "targetPartitions": None if member.target_assignment is None else _partitions(member.target_assignment),
            }
            for member in group.members
        ],
        "waits": waits(group),
    }


def state_document(group: GroupDescription) -> object:
    """The JSON of a group's state."""
    return {
        "group": group.group_id,
        "state": group.state,
        "type": group.group_type,
        "assignmentStrategy": group.assignor or None,
        "coordinator": {"id": group.coordinator, "address": group.coordinator_address},
        "groupEpoch": group.group_epoch,
        "targetAssignmentEpoch": group.target_assignment_epoch,
        "members": len(group.members),
        "waits": waits(group),
    }


def _partitions(partitions: Iterable[TopicPartition]) -> list[object]:
    return [{"topic": topic, "partition": number} for topic, number in sorted(partitions)]
