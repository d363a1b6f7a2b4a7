"""Members of both protocols in one group: upgrades, downgrades, and the policy that permits them."""

import pytest

from odradek.protocol.apis.api_keys import ApiKey
from odradek.protocol.errors import ErrorCode
from odradek.protocol.messages.groups import SyncGroupRequest
from support.groups.harness import Harness, hard_state

from .consumer_world import World, config


@pytest.fixture
def world() -> World:
    return World(Harness(config()))


def classic_leader(world: World) -> str:
    """A classic group of one member that owns all of topic t, in generation 1."""
    world.classic_join("c")
    world.wait(3_000)
    joined = world.harness.answers.pop()[1]
    whole = b"\x00\x01\x00\x00\x00\x01\x00\x01t\x00\x00\x00\x04" + bytes.fromhex(
        "00000000000000010000000200000003ffffffff"
    )
    assigned = [SyncGroupRequest.SyncGroupRequestAssignment(joined.member_id, whole)]
    request = SyncGroupRequest("g", 1, joined.member_id, assignments=assigned)
    assert world.harness.ask("c", ApiKey.SYNC_GROUP, 3, request).assignment == whole
    return str(joined.member_id)


def test_what_is_parked_at_an_upgrade_is_told_to_join_again(world: World) -> None:
    member_id = classic_leader(world)
    assert world.classic_join("d") is None, "parked until c joins too"
    world.join("a", "t")
    [(who, told)] = world.harness.answers
    assert (who, told.error_code) == ("d", ErrorCode.REBALANCE_IN_PROGRESS)
    assert set(world.group.members) == {"a", member_id, told.member_id}
    assert "g" not in world.harness.core.groups.classic


@pytest.mark.parametrize(
    ("metadata", "regex", "error"),
    [(None, "[", ErrorCode.INVALID_REGULAR_EXPRESSION), (b"\x00", "t", ErrorCode.GROUP_ID_NOT_FOUND)],
    ids=["invalid pattern", "malformed metadata"],
)
def test_each_refused_upgrade_makes_parked_members_join_again(
    world: World, metadata: bytes | None, regex: str, error: ErrorCode
) -> None:
    """``convertToConsumerGroup`` first answers the waiting requests, and only then finds a reason to refuse the new
    member.
    """
    classic_leader(world)
    for _ in range(2):
        assert world.classic_join("d", metadata=metadata) is None, "parked until c joins too"
        assert world.join("a", subscribed_topic_regex=regex).error_code == error
        [(who, answer)] = world.harness.answers
        world.harness.answers.clear()
        assert (who, answer.error_code) == ("d", ErrorCode.REBALANCE_IN_PROGRESS)
        assert world.classic_group.members
        assert "g" not in world.harness.core.groups.consumer


def test_a_classic_member_has_its_rebalance_timeout_to_join_again(world: World) -> None:
    member_id = classic_leader(world)
    world.join("a", "t")
    assert world.classic_heartbeat(member_id, 1) == ErrorCode.REBALANCE_IN_PROGRESS
    for _ in range(3):
        world.wait(5_000)
        world.heartbeat("a")
        world.classic_heartbeat(member_id, 1)
    world.wait(4_999)
    assert member_id in world.group.members
    world.wait(1)
    assert set(world.group.members) == {"a"}


def test_a_classic_member_has_its_rebalance_timeout_to_synchronise(world: World) -> None:
    world.join("a", "t")
    world.report("a")
    joined = world.classic_join("c")
    assert joined.error_code == ErrorCode.NONE
    for _ in range(3):
        world.wait(5_000)
        world.classic_heartbeat(joined.member_id, joined.generation_id)
    world.wait(5_000)
    assert set(world.group.members) == {"a"}


def test_a_classic_members_session_is_its_own(world: World) -> None:
    member_id = classic_leader(world)
    world.join("a", "t")
    world.wait(9_999)
    assert member_id in world.group.members
    world.wait(1)
    assert set(world.group.members) == {"a"}


def test_the_last_of_the_new_protocol_leaves_a_classic_group(world: World) -> None:
    member_id = classic_leader(world)
    world.join("a", "t")
    world.heartbeat("a", -1)
    assert "g" not in world.harness.core.groups.consumer
    assert world.classic_group.generation_id == 2
    assert world.classic_heartbeat(member_id, 2) == ErrorCode.REBALANCE_IN_PROGRESS
    world.harness.start()
    assert set(world.classic_group.members) == {member_id}, "and a restart finds that one"
    assert "g" not in world.harness.core.groups.consumer


def test_a_session_that_ends_may_leave_a_classic_group_too(world: World) -> None:
    member_id = classic_leader(world)
    world.join("a", "t")
    for _ in range(10):
        world.wait(4_500)
        if "g" in world.harness.core.groups.consumer:
            generation = world.group.members[member_id].member_epoch
            if world.classic_heartbeat(member_id, generation) == ErrorCode.REBALANCE_IN_PROGRESS:
                joined = world.classic_join("c", member_id)
                request = SyncGroupRequest("g", joined.generation_id, member_id)
                world.harness.ask("c", ApiKey.SYNC_GROUP, 3, request)
    assert set(world.classic_group.members) == {member_id}


@pytest.mark.parametrize(
    ("policy", "upgrades", "downgrades"),
    [("disabled", False, False), ("upgrade", True, False), ("downgrade", False, True), ("bidirectional", True, True)],
)
def test_the_migration_policy_says_what_may_change(policy: str, upgrades: bool, downgrades: bool) -> None:
    world = World(Harness(config(group_consumer_migration_policy=policy)))
    classic_leader(world)
    error = world.join("a", "t").error_code
    assert error == (ErrorCode.NONE if upgrades else ErrorCode.GROUP_ID_NOT_FOUND)
    world = World(Harness(config(group_consumer_migration_policy=policy)))
    world.join("a", "t")
    joined = world.classic_join("c")
    if policy == "disabled":
        assert joined.error_code == ErrorCode.INCONSISTENT_GROUP_PROTOCOL
        return
    world.heartbeat("a", -1)
    assert ("g" in world.harness.core.groups.classic) is downgrades


def test_a_failed_downgrade_leaves_the_consumer_group(world: World) -> None:
    classic_leader(world)
    world.join("a", "t")
    before = hard_state(world.harness.core)
    world.harness.log.fail_next = ErrorCode.NOT_ENOUGH_REPLICAS
    assert world.heartbeat("a", -1).error_code == ErrorCode.COORDINATOR_NOT_AVAILABLE
    assert hard_state(world.harness.core) == before
    assert "g" not in world.harness.core.groups.classic
