"""The records of classic groups in ``__consumer_offsets``, as Kafka 4.4.0 writes them.

Owns: the content of the records. Never does: keeping state. Pure. Source: ``GroupCoordinatorRecordHelpers``.
"""

from odradek.protocol.messages.group_records import GroupMetadataKey, GroupMetadataValue

from ..records import GROUP_METADATA_VALUE_VERSION, CoordinatorRecord
from .group import ClassicGroup


def group_metadata_record(group: ClassicGroup, assignments: dict[str, bytes]) -> CoordinatorRecord:
    """The record of a group with the assignment of each member (empty if it is not in ``assignments``)."""
    protocol_name = group.protocol_name
    members = []
    for member in group.members.values():
        assert protocol_name is not None, "a group with members has a protocol"
        members.append(
            GroupMetadataValue.MemberMetadata(
                member_id=member.member_id,
                group_instance_id=member.group_instance_id,
                client_id=member.client_id,
                client_host=member.client_host,
                rebalance_timeout=member.rebalance_timeout_ms,
                session_timeout=member.session_timeout_ms,
                subscription=member.metadata(protocol_name),
                assignment=assignments.get(member.member_id, b""),
            )
        )
    value = GroupMetadataValue(
        protocol_type=group.protocol_type or "",
        generation=group.generation_id,
        protocol=protocol_name,
        leader=group.leader_id,
        current_state_timestamp=group.state_timestamp_ms,
        members=members,
    )
    return CoordinatorRecord(GroupMetadataKey(group=group.group_id), value, GROUP_METADATA_VALUE_VERSION)


def empty_group_metadata_record(group: ClassicGroup) -> CoordinatorRecord:
    """The record of a new group: generation 0, no members."""
    value = GroupMetadataValue(
        protocol_type="",
        generation=0,
        protocol=None,
        leader=None,
        current_state_timestamp=group.state_timestamp_ms,
        members=[],
    )
    return CoordinatorRecord(GroupMetadataKey(group=group.group_id), value, GROUP_METADATA_VALUE_VERSION)


def group_tombstone(group_id: str) -> CoordinatorRecord:
    """The record that deletes a group."""
    return CoordinatorRecord(GroupMetadataKey(group=group_id), None)
