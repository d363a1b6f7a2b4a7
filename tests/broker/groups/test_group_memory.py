"""The memory of members of classic groups is counted and bounded, however they leave."""

import gc

import pytest

from odradek.broker.dispatch.request import RequestContext
from odradek.broker.groups.config import GroupCoordinatorConfig
from odradek.broker.groups.core import GroupCore
from odradek.broker.groups.effects import GroupEffects, MemberExpired
from odradek.broker.groups.memory import MEMBER_BYTES, GroupMemory
from odradek.broker.groups.routing import join_group, leave_group
from odradek.protocol.errors import ErrorCode
from odradek.protocol.messages.groups import JoinGroupRequest, JoinGroupResponse, LeaveGroupRequest

NOW_MS = 1_700_000_000_000
OLDER_REQUEST = ErrorCode.REBALANCE_IN_PROGRESS
"""The error of a member's waiting JoinGroup when it sends another one, which then waits."""
LIMITS = GroupCoordinatorConfig(group_members_max_bytes=100_000, groups_members_max_bytes=250_000)


class Coordinator:
    """A coordinator core and its answers."""

    def __init__(self, memory: GroupMemory | None = None) -> None:
        ids = iter(range(1_000_000))
        self.core = GroupCore(LIMITS, lambda: f"id-{next(ids)}", memory=memory)
        self.answers: list[JoinGroupResponse] = []

    def join(self, group_id: str, size: int, member_id: str = "", version: int = 3) -> ErrorCode | None:
        """Sends a JoinGroup with metadata of ``size`` bytes; returns its error, or None if it waits."""
        protocol = JoinGroupRequest.JoinGroupRequestProtocol("range", bytes(size))
        request = JoinGroupRequest(group_id, 30_000, 30_000, member_id, None, "consumer", [protocol])
        context = RequestContext(11, version, "client", "127.0.0.1", "PLAINTEXT", 0, NOW_MS)
        effects = GroupEffects(NOW_MS)
        self.answers.clear()
        join_group(self.core, request, context, self.answers.append, effects)
        for token, response in effects.replies:
            token(response)
        return ErrorCode(self.answers[0].error_code) if self.answers else None

    @property
    def used(self) -> int:
        return self.core.groups.memory.used_bytes


def test_a_group_has_a_limit() -> None:
    groups = Coordinator()
    assert groups.join("g", 60_000) is None
    assert groups.join("g", 60_000) is ErrorCode.GROUP_MAX_SIZE_REACHED
    assert groups.join("g", 30_000) is None
    assert groups.used == 90_000 + 2 * (MEMBER_BYTES + len("range"))
    [first, *_] = groups.core.groups.classic["g"].members
    assert groups.join("g", 90_000, first) is ErrorCode.GROUP_MAX_SIZE_REACHED
    assert len(groups.core.groups.classic["g"].members[first].protocols[0][1]) == 60_000, "it stays as it was"
    assert groups.join("g", 1_000, first) is OLDER_REQUEST
    assert groups.used == 31_000 + 2 * (MEMBER_BYTES + len("range"))


def test_a_group_that_is_refused_is_not_made() -> None:
    groups = Coordinator()
    assert groups.join("huge", 20_000_000) is ErrorCode.GROUP_MAX_SIZE_REACHED
    assert groups.core.groups.classic == {}
    assert groups.used == 0


def test_all_groups_have_a_limit_and_members_stay() -> None:
    memory = GroupMemory()
    here, there = Coordinator(memory), Coordinator(memory)
    assert here.join("a", 90_000) is None
    assert there.join("b", 90_000) is None
    assert here.join("c", 90_000) is ErrorCode.COORDINATOR_NOT_AVAILABLE
    [member] = here.core.groups.classic["a"].members
    assert here.join("a", 90_000, member) is OLDER_REQUEST  # needs no more memory than it has
    del there.core.groups.classic["b"]
    assert here.join("c", 90_000) is None


def test_clients_that_never_come_back_are_counted(caplog: pytest.LogCaptureFixture) -> None:
    groups = Coordinator()
    refused = 0
    for _ in range(500):
        error = groups.join("g", 0, version=5)
        assert error in (ErrorCode.MEMBER_ID_REQUIRED, ErrorCode.GROUP_MAX_SIZE_REACHED)
        refused += error is ErrorCode.GROUP_MAX_SIZE_REACHED
    pending = groups.core.groups.classic["g"].pending_join_members
    assert len(pending) == 100_000 // MEMBER_BYTES - 1 or len(pending) == 100_000 // MEMBER_BYTES
    assert refused == 500 - len(pending)
    for member_id in list(pending):
        groups.core.handle_timer(MemberExpired("g", member_id), GroupEffects(NOW_MS))
    assert groups.used == 0


def test_a_pending_member_that_comes_back_is_counted_once() -> None:
    groups = Coordinator()
    assert groups.join("g", 5_000, version=5) is ErrorCode.MEMBER_ID_REQUIRED
    assert groups.used == MEMBER_BYTES
    assert groups.join("g", 5_000, groups.answers[0].member_id, version=5) is None
    assert groups.used == 5_000 + MEMBER_BYTES + len("range")


def test_whoever_leaves_holds_nothing() -> None:
    groups = Coordinator()
    assert groups.join("g", 5_000) is None
    assert groups.join("g", 6_000) is None
    members = [LeaveGroupRequest.MemberIdentity(one) for one in groups.core.groups.classic["g"].members]
    leave_group(groups.core, "g", members, GroupEffects(NOW_MS))
    assert groups.used == 0
    assert groups.core.groups.classic["g"].supported_protocols == {}


def test_a_core_that_goes_frees_what_its_groups_held() -> None:
    memory = GroupMemory()
    groups = Coordinator(memory)
    assert groups.join("g", 5_000) is None
    groups.core.on_unloaded(GroupEffects(NOW_MS))
    del groups
    gc.collect()
    assert memory.used_bytes == 0
