"""Members of share groups: they join, get their partitions, are fenced, leave. Virtual time, a persister in memory."""

from typing import Any

import pytest

from odradek.broker.groups.share.heartbeat import SOON_MS
from odradek.protocol.apis.api_keys import ApiKey
from odradek.protocol.errors import ErrorCode
from odradek.protocol.messages import groups as messages
from support.groups.harness import Harness, hard_state

from .share_world import SESSION_MS, ShareWorld, T, U, config, key_of


@pytest.fixture
def world() -> ShareWorld:
    return ShareWorld(Harness(config()))


def stored(world: ShareWorld, since: int = 0) -> list[int]:
    """The types of the stored records."""
    from support.groups.harness import decoded_records

    return [record.key.API_KEY for record in decoded_records(world.harness.log.batches[since:])]


def test_a_member_gets_partitions_once_their_state_is_stored(world: ShareWorld) -> None:
    joined = world.join("a", "t")
    assert (joined.member_epoch, joined.heartbeat_interval_ms) == (2, SOON_MS)
    assert joined.assignment.topic_partitions == []
    assert stored(world) == [10, 11, 13, 12, 14, 15]
    assert world.harness.persister.states == {}
    world.wait()
    assert world.harness.persister.states == {key_of(T, index): (2, -1, -1) for index in range(4)}
    assert stored(world)[6:] == [15]
    again = world.heartbeat("a")
    assert again.member_epoch == 3
    assert world.assigned["a"] == {T: [0, 1, 2, 3]}
    assert stored(world)[7:] == [11, 13, 12, 14]
    before = len(world.harness.log.batches)
    calm = world.heartbeat("a")
    assert (calm.assignment, calm.heartbeat_interval_ms) == (None, 5_000)
    assert len(world.harness.log.batches) == before
    assert world.group.calm


def test_several_members_share_partitions_and_groups_are_loaded_again(world: ShareWorld) -> None:
    for who in "abc":
        world.join(who, "u")
    world.settle(*"abc")
    shares = [world.assigned[who].get(U, []) for who in "abc"]
    assert sorted(map(len, shares)) == [1, 1, 2]
    assert sorted(index for share in shares for index in share) == [0, 0, 1, 1]
    described = world.describe()[0]
    assert (described.group_state, described.assignor_name) == ("Stable", "simple")
    assert described.group_epoch == described.assignment_epoch
    before = hard_state(world.harness.core)
    world.harness.start()
    assert hard_state(world.harness.core) == before
    world.wait(SESSION_MS)
    assert world.group.members == {}
    assert world.describe()[0].group_state == "Empty"


def test_targets_wait_for_the_interval_but_an_empty_group_is_settled_at_once() -> None:
    world = ShareWorld(Harness(config(group_share_assignment_interval_ms=1_000)))
    world.join("a", "t")
    world.wait(0)
    assert world.heartbeat("a").member_epoch == 2, "the next assignment waits"
    assert world.describe()[0].group_epoch == 3
    world.wait(1_000)
    assert world.heartbeat("a").member_epoch == 3
    assert world.assigned["a"] == {T: [0, 1, 2, 3]}
    assert world.join("b", "t").member_epoch == 3, "a second member waits"
    world.leave("b")
    world.leave("a")
    assert world.group.assignment_epoch == world.group.group_epoch
    assert world.join("c", "t").assignment.topic_partitions[0].partitions == [0, 1, 2, 3]


def test_a_member_that_falls_silent_is_removed(world: ShareWorld) -> None:
    world.join("a", "t")
    world.join("b", "t")
    world.wait(SESSION_MS - 1)
    world.heartbeat("a")
    world.wait(1)
    assert list(world.group.members) == ["a"]
    assert world.heartbeat("b").error_code == ErrorCode.UNKNOWN_MEMBER_ID
    world.settle("a")
    assert world.assigned["a"] == {T: [0, 1, 2, 3]}


REFUSED: list[tuple[dict[str, Any], str | None]] = [
    ({"who": ""}, None),
    ({"who": "x" * 37}, None),
    ({"who": " "}, "MemberId can't be empty."),
    ({"who": "a", "group_id": " "}, "GroupId can't be empty."),
    ({"who": "a", "rack_id": ""}, "RackId can't be empty."),
    ({"who": "a"}, "SubscribedTopicNames must be set in first request."),
    ({"who": "a", "names": []}, "SubscribedTopicNames must be set in first request."),
    ({"who": "a", "epoch": -2}, "MemberEpoch is invalid."),
]


@pytest.mark.parametrize(("fields", "message"), REFUSED)
def test_malformed_heartbeats(world: ShareWorld, fields: dict[str, Any], message: str | None) -> None:
    answer = world.heartbeat(**fields)
    assert (answer.error_code, answer.error_message) == (ErrorCode.INVALID_REQUEST, message)
    assert world.harness.log.batches == []


def test_epochs_and_strangers(world: ShareWorld) -> None:
    assert world.heartbeat("a", 1).error_message == "Share group g not found."
    assert world.leave("a").error_message == "Group g not found."
    world.join("a", "t")
    world.settle("a")
    assert world.epochs["a"] == 3
    assert world.heartbeat("a", 2).member_epoch == 3, "the previous epoch is taken"
    assert world.heartbeat("a", 1).error_code == ErrorCode.FENCED_MEMBER_EPOCH
    assert world.heartbeat("a", 9).error_code == ErrorCode.FENCED_MEMBER_EPOCH
    assert world.heartbeat("b", 3).error_code == ErrorCode.UNKNOWN_MEMBER_ID
    assert world.leave("b").error_code == ErrorCode.UNKNOWN_MEMBER_ID
    assert world.join("a", "t").member_epoch == 3, "a member that joins again keeps its epoch"
    assert world.describe("h", "")[0].error_message == "Group h not found."
    assert world.describe("h", "")[1].error_code == ErrorCode.INVALID_GROUP_ID


def test_a_full_group_and_memory() -> None:
    world = ShareWorld(Harness(config(group_share_max_size=2)))
    world.join("a", "t")
    world.join("b", "t")
    full = world.join("c", "t")
    assert full.error_code == ErrorCode.GROUP_MAX_SIZE_REACHED
    assert full.error_message == "The share group has reached its maximum capacity of 2 members."
    assert not world.join("a", "t").error_code
    world = ShareWorld(Harness(config(group_members_max_bytes=2_000)))
    world.join("a", "t")
    assert world.join("b", "t").error_code == ErrorCode.GROUP_MAX_SIZE_REACHED
    used = world.harness.coordinator.memory.used_bytes
    assert used == world.group.member_bytes > 1_000
    world.leave("a")
    assert world.harness.coordinator.memory.used_bytes == 0


def test_ids_belong_to_one_kind_of_group(world: ShareWorld) -> None:
    world.join("a", "t")
    protocol = messages.JoinGroupRequest.JoinGroupRequestProtocol("range", b"")
    join = messages.JoinGroupRequest("g", 10_000, 10_000, protocol_type="consumer", protocols=[protocol])
    refused = world.harness.ask("c", ApiKey.JOIN_GROUP, 3, join)
    assert refused.error_code == ErrorCode.INCONSISTENT_GROUP_PROTOCOL
    partition = messages.OffsetCommitRequest.OffsetCommitRequestPartition(0, 5)
    topics = [messages.OffsetCommitRequest.OffsetCommitRequestTopic("t", partitions=[partition])]
    commit = messages.OffsetCommitRequest("g", topics=topics)
    answer = world.harness.ask("c", ApiKey.OFFSET_COMMIT, 8, commit)
    assert answer.topics[0].partitions[0].error_code == ErrorCode.GROUP_ID_NOT_FOUND
    commit.group_id = "simple"
    world.harness.ask("c", ApiKey.OFFSET_COMMIT, 8, commit)
    refused = world.join("a", "t", group_id="simple")
    assert (refused.error_code, refused.error_message) == (
        ErrorCode.GROUP_ID_NOT_FOUND,
        "Group simple is not a share group.",
    )
    listed = world.harness.ask("c", ApiKey.LIST_GROUPS, 5, messages.ListGroupsRequest(["stable"], ["Share"])).groups
    assert [(one.group_id, one.group_type, one.protocol_type, one.group_state) for one in listed] == [
        ("g", "share", "share", "Stable")
    ]
    described = world.harness.ask("c", ApiKey.DESCRIBE_GROUPS, 6, messages.DescribeGroupsRequest(["g"])).groups[0]
    assert described.error_message == "Group g is not a classic group."


def test_nothing_is_served_before_the_feature_is_finalised(world: ShareWorld) -> None:
    del world.harness.image.features["share.version"]
    assert world.join("a", "t").error_code == ErrorCode.UNSUPPORTED_VERSION
    assert world.describe()[0].error_code == ErrorCode.UNSUPPORTED_VERSION
    assert world.offsets(None).error_code == ErrorCode.UNSUPPORTED_VERSION
    assert world.alter({"t": {0: 1}}).error_code == ErrorCode.UNSUPPORTED_VERSION
    assert world.delete("t").error_code == ErrorCode.UNSUPPORTED_VERSION


def test_a_failed_append_leaves_no_trace(world: ShareWorld) -> None:
    world.harness.log.fail_next = ErrorCode.NOT_ENOUGH_REPLICAS
    assert world.join("a", "t").error_code == ErrorCode.COORDINATOR_NOT_AVAILABLE
    world.wait()
    assert world.harness.core.groups.share == {}
    assert world.harness.persister.asked == []
    world.join("a", "t")
    world.harness.log.fail_next = ErrorCode.NOT_ENOUGH_REPLICAS
    assert world.leave("a").error_code
    world.wait(SESSION_MS)
    assert world.group.members == {}, "its session goes on after the failed leave"
