"""The invariants of classic groups that the simulator checks after every step."""

from collections import defaultdict

from odradek.broker.groups.classic.group import GroupState
from odradek.broker.groups.core import GroupCore


def check_books(core: GroupCore) -> None:
    """Asserts that every classic group is consistent, and that a Stable one equals its last stored state."""
    for group in core.groups.classic.values():
        members = group.members
        assert group.awaiting_join_count == sum(member.join_token is not None for member in members.values())
        static = {member.group_instance_id: member.member_id for member in members.values() if member.is_static}
        assert group.static_members == static
        assert (group.leader_id in members) if members else group.leader_id is None
        assert not group.pending_join_members & members.keys()
        assert set(group.pending_sync_members) <= members.keys()
        supporters: dict[str, int] = defaultdict(int)
        for member in members.values():
            for name, _ in member.protocols:
                supporters[name] += 1
        assert {name: count for name, count in group.supported_protocols.items() if count} == supporters
        if group.state in (GroupState.EMPTY, GroupState.DEAD):
            assert not members
        if group.state is not GroupState.COMPLETING_REBALANCE:
            assert all(member.sync_token is None for member in members.values())
        if group.state is not GroupState.PREPARING_REBALANCE:
            assert group.awaiting_join_count == 0
        if group.state is GroupState.STABLE:
            stored = core.groups.stored[group.group_id]
            assert (stored.generation, stored.protocol, stored.leader) == (
                group.generation_id,
                group.protocol_name,
                group.leader_id,
            )
            assert {member.member_id: member.assignment for member in stored.members} == group.assignments()
