"""Requests for many partitions, members and groups are served in bounded steps, and answered as a whole."""

import random
from typing import Any

from odradek.broker.api import delete_groups, leave_group, offset_commit, offset_delete
from odradek.broker.api.portions import PORTION, portions
from odradek.broker.dispatch.request import RequestContext
from odradek.protocol.apis.api_keys import ApiKey
from odradek.protocol.errors import ErrorCode
from odradek.protocol.messages.groups import (
    DeleteGroupsRequest,
    LeaveGroupRequest,
    OffsetCommitRequest,
    OffsetDeleteRequest,
    OffsetFetchRequest,
)
from odradek.protocol.messages.structure import ZERO_UUID
from support.groups.harness import Harness

TOPIC_ID = bytes(15) + b"\1"
PARTITIONS = 2_000
Topic = OffsetCommitRequest.OffsetCommitRequestTopic
Partition = OffsetCommitRequest.OffsetCommitRequestPartition


def test_portions_are_the_request() -> None:
    for seed in range(300):
        rng = random.Random(seed)
        topics = [
            Topic(f"t{number}", ZERO_UUID, [Partition(index) for index in range(rng.choice((0, 1, 3, 255, 256, 800)))])
            for number in range(rng.randint(0, 8))
        ]
        seen: list[tuple[str, int | None]] = []
        for portion in portions(topics, lambda topic, part: Topic(topic.name, topic.topic_id, list(part))):
            assert len(portion) + sum(len(topic.partitions) for topic in portion) <= PORTION + 1, seed
            for topic in portion:
                seen += [(topic.name, one.partition_index) for one in topic.partitions] or [(topic.name, None)]
        expected: list[tuple[str, int | None]] = []
        for topic in topics:
            expected += [(topic.name, one.partition_index) for one in topic.partitions] or [(topic.name, None)]
        assert seen == expected, seed


def harness() -> Harness:
    return Harness(topics={"t": (TOPIC_ID, PARTITIONS)})


def commit(made: Harness, count: int) -> Any:
    partitions = [Partition(partition_index=index, committed_offset=index) for index in range(count)]
    request = OffsetCommitRequest("g", -1, "", None, -1, [Topic("t", ZERO_UUID, partitions), Topic("none", ZERO_UUID)])
    return made.ask("c", ApiKey.OFFSET_COMMIT, 7, request)


def committed(made: Harness) -> dict[int, int]:
    answer = made.ask("c", ApiKey.OFFSET_FETCH, 7, OffsetFetchRequest(group_id="g", topics=None))
    return {one.partition_index: one.committed_offset for topic in answer.topics for one in topic.partitions}


def test_a_large_commit_is_stored_and_answered_once() -> None:
    made = harness()
    answer = commit(made, PARTITIONS + 100)
    [topic, none] = answer.topics
    assert {one.partition_index for one in topic.partitions} == set(range(PARTITIONS + 100))
    unknown = {one.partition_index for one in topic.partitions if one.error_code}
    assert unknown == set(range(PARTITIONS, PARTITIONS + 100))
    assert (topic.name, none.name) == ("t", "none")
    assert committed(made) == {index: index for index in range(PARTITIONS)}


def test_offsets_are_deleted_in_portions() -> None:
    made = harness()
    commit(made, PARTITIONS)
    partition = OffsetDeleteRequest.OffsetDeleteRequestPartition
    topic = OffsetDeleteRequest.OffsetDeleteRequestTopic("t", [partition(index) for index in range(1_500)])
    answer = made.ask("c", ApiKey.OFFSET_DELETE, 0, OffsetDeleteRequest("g", [topic]))
    assert [len(one.partitions) for one in answer.topics] == [1_500]
    assert sorted(committed(made)) == list(range(1_500, PARTITIONS))
    unknown = made.ask("c", ApiKey.OFFSET_DELETE, 0, OffsetDeleteRequest("nothing", [topic]))
    assert (unknown.error_code, unknown.topics) == (ErrorCode.GROUP_ID_NOT_FOUND, [])


def test_a_group_with_many_offsets_is_deleted_in_steps() -> None:
    made = harness()
    commit(made, PARTITIONS)
    answer = made.ask("c", ApiKey.DELETE_GROUPS, 2, DeleteGroupsRequest(["g", "nothing", "g"]))
    assert [(one.group_id, one.error_code) for one in answer.results] == [
        ("g", ErrorCode.NONE),
        ("nothing", ErrorCode.GROUP_ID_NOT_FOUND),
    ]
    assert committed(made) == {}
    assert "g" not in made.core.groups.classic


def test_many_members_leave_in_portions() -> None:
    made = harness()
    commit(made, 1)
    identities = [LeaveGroupRequest.MemberIdentity(f"m{number}") for number in range(500)]
    answer = made.ask("c", ApiKey.LEAVE_GROUP, 5, LeaveGroupRequest("g", "", identities))
    assert [one.member_id for one in answer.members] == [one.member_id for one in identities]
    assert {one.error_code for one in answer.members} == {ErrorCode.UNKNOWN_MEMBER_ID}


def test_the_steps_are_many() -> None:
    made = harness()
    context = RequestContext(8, 7, "c", "127.0.0.1", "PLAINTEXT", 0, made.timers.now_ms)
    topic = Topic("t", ZERO_UUID, [Partition(partition_index=index) for index in range(PARTITIONS)])
    doomed = [OffsetDeleteRequest.OffsetDeleteRequestPartition(index) for index in range(PARTITIONS)]
    deletion = OffsetDeleteRequest.OffsetDeleteRequestTopic("t", doomed)
    members = [LeaveGroupRequest.MemberIdentity(f"m{number}") for number in range(500)]
    requests: list[tuple[Any, Any, int]] = [
        (offset_commit, OffsetCommitRequest("g", -1, "", None, -1, [topic]), PARTITIONS // PORTION),
        (offset_delete, OffsetDeleteRequest("g", [deletion]), PARTITIONS // PORTION),
        (offset_commit, OffsetCommitRequest("g", -1, "", None, -1, [topic]), PARTITIONS // PORTION),
        (delete_groups, DeleteGroupsRequest(["g"]), PARTITIONS // 128),
        (leave_group, LeaveGroupRequest("g", "", members), 500 // 64),
    ]
    for module, request, least in requests:
        answers: list[Any] = []
        steps = module.handle(made.broker, request, context, answers.append)
        assert sum(1 for _ in steps) >= least - 1, module
        assert len(answers) == 1, module


def test_few_partitions_are_served_at_once() -> None:
    made = harness()
    context = RequestContext(8, 7, "c", "127.0.0.1", "PLAINTEXT", 0, made.timers.now_ms)
    answers: list[Any] = []
    request = OffsetCommitRequest("g", -1, "", None, -1, [Topic("t", ZERO_UUID, [Partition(0)] * 200)])
    assert not list(offset_commit.handle(made.broker, request, context, answers.append))
    assert len(answers) == 1
