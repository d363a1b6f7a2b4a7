"""Offsets of a consumer group: expiry and commits in transactions; members that an administrator removes."""

import pytest

from odradek.broker.groups.offsets.transactional_commit import TransactionalTopicCommit, commit_transactional_offsets
from odradek.protocol.apis.api_keys import ApiKey
from odradek.protocol.errors import ErrorCode, KafkaError
from odradek.protocol.messages.groups import LeaveGroupRequest, OffsetCommitRequest
from odradek.protocol.messages.transactions import TxnOffsetCommitRequest
from support.groups.harness import Harness, hard_state

from .consumer_world import T, World, config


@pytest.fixture
def world() -> World:
    return World(Harness(config()))


def test_offsets_expire_by_their_own_age_where_nobody_reads_the_topic() -> None:
    settings = config(offsets_retention_ms=100_000, offsets_retention_check_interval_ms=10_000)
    world = World(Harness(settings))
    world.join("a", "t")
    for name in ("t", "u"):
        one = OffsetCommitRequest.OffsetCommitRequestPartition(0, 5)
        topics = [OffsetCommitRequest.OffsetCommitRequestTopic(name, partitions=[one])]
        request = OffsetCommitRequest("g", 2, "a", topics=topics)
        answer = world.harness.ask("a", ApiKey.OFFSET_COMMIT, 9, request)
        assert answer.topics[0].partitions[0].error_code == ErrorCode.NONE
    for _ in range(5):
        world.wait(25_000)
        world.heartbeat("a")
    assert set(world.harness.core.offsets.topics_of("g")) == {"t"}
    world.heartbeat("a", -1)
    world.wait(10_000)
    assert "g" not in world.harness.core.groups.consumer
    assert not hard_state(world.harness.core)["offsets"]["committed"]
    world.harness.start()
    assert "g" not in world.harness.core.groups.consumer


@pytest.mark.parametrize(
    ("member_id", "generation", "error"),
    [
        ("", -1, None),
        ("a", 2, None),
        ("a", 1, ErrorCode.ILLEGAL_GENERATION),
        ("a", 3, ErrorCode.ILLEGAL_GENERATION),
        ("ghost", 2, ErrorCode.UNKNOWN_MEMBER_ID),
        ("a", -1, ErrorCode.ILLEGAL_GENERATION),
    ],
)
@pytest.mark.parametrize("version", [5, 6])
def test_who_may_commit_in_a_transaction(
    world: World, member_id: str, generation: int, error: ErrorCode | None, version: int
) -> None:
    if error is ErrorCode.ILLEGAL_GENERATION and version >= 6:
        error = ErrorCode.STALE_MEMBER_EPOCH
    world.join("a", "t")
    partitions = [TxnOffsetCommitRequest.TxnOffsetCommitRequestPartition(0, 5)]
    request = TxnOffsetCommitRequest("x", "g", 7, 0, generation, member_id)
    effects = world.harness.core.effects(world.harness.timers.now_ms)
    topics = [TransactionalTopicCommit("t", T, partitions)]
    if error is None:
        commit_transactional_offsets(world.harness.core, request, topics, version, effects)
        assert len(effects.records) == 1
        return
    with pytest.raises(KafkaError) as refused:
        commit_transactional_offsets(world.harness.core, request, topics, version, effects)
    assert refused.value.error_code is error


def test_an_administrator_removes_members_by_instance_id(world: World) -> None:
    world.join("a", "t", instance_id="i")
    request = LeaveGroupRequest("g", members=[LeaveGroupRequest.MemberIdentity("", "i")])
    answer = world.harness.ask("admin", ApiKey.LEAVE_GROUP, 5, request)
    assert answer.members[0].error_code == ErrorCode.NONE
    assert world.group.state == "Empty"
