"""The target assignment of a large group is computed in several turns, with the same result as in one turn."""

from typing import Any

import pytest

from odradek.broker.groups.consumer.assignment_input import TOPICS_A_STEP, SubscribedTopicIds, member_specs
from odradek.broker.groups.consumer.group import ConsumerGroup, ResolvedRegularExpression
from odradek.broker.groups.consumer.member import ConsumerGroupMember
from odradek.broker.groups.consumer.registry import INLINE_SIZE
from odradek.broker.groups.effects import GroupEffects, TargetAssignmentDue
from odradek.broker.groups.memory import GroupMemory
from odradek.protocol.apis.api_keys import ApiKey
from odradek.protocol.errors import ErrorCode
from odradek.protocol.messages.consumer_groups import ConsumerGroupHeartbeatRequest
from support.groups.harness import Harness

MEMBERS = 300
PARTITIONS = 1_200
"""With the 300 partitions of the second topic, one member is below INLINE_SIZE, and the whole group above it."""


def _beat(harness: Harness, member: str, epoch: int, **facts: Any) -> Any:
    request = ConsumerGroupHeartbeatRequest("g", member, epoch, **facts)
    answer = harness.ask(member, ApiKey.CONSUMER_GROUP_HEARTBEAT, 1, request)
    assert answer.error_code == ErrorCode.NONE, answer
    return answer


def _join(harness: Harness, member: str, topics: list[str], instance_id: str | None = None) -> Any:
    return _beat(
        harness,
        member,
        0,
        subscribed_topic_names=topics,
        rebalance_timeout_ms=300_000,
        topic_partitions=[],
        instance_id=instance_id,
    )


def _joined(assignor_topics: list[list[str]], inline_size: int = INLINE_SIZE) -> Harness:
    """A group with all its members; the last one has just joined."""
    harness = Harness(topics={"t": (b"t" * 16, PARTITIONS), "u": (b"u" * 16, 300)})
    harness.core.groups.inline_size = inline_size
    for number in range(MEMBERS):
        _join(harness, f"member-{number}", assignor_topics[number % len(assignor_topics)])
    return harness


def test_a_step_looks_up_the_topics_of_one_large_subscription() -> None:
    """Ten regular expressions over 5,000 topics used to take 26 ms in one step."""
    harness = Harness(topics={f"topic-{number}": (number.to_bytes(16, "big"), 1) for number in range(TOPICS_A_STEP)})
    group = ConsumerGroup("g", GroupMemory())
    members = {}
    for number in range(5):
        regex = f"topic.*(x{{{number}}})?"
        group.put_resolved(regex, ResolvedRegularExpression(frozenset(harness.image.topics_by_name), 0, 0))
        for twin in ("a", "b"):
            members[f"{number}{twin}"] = ConsumerGroupMember(f"{number}{twin}", subscribed_topic_regex=regex)
    subscribed = SubscribedTopicIds(group, harness.core.groups.topics)
    looked_up = [len(subscribed._known) for _ in member_specs(members, {}, subscribed, harness.core.groups.topics)]
    assert looked_up == [0, 1, 2, 3, 4], "a step for each pattern"
    assert len(subscribed._known) == 5


def _settle(harness: Harness) -> int:
    """Fires timers until no computation is in progress; returns the number of turns."""
    turns = 0
    while harness.core.groups.assigning:
        harness.timers.fire_next()
        turns += 1
    return turns


def _begin(harness: Harness) -> Any:
    """Sends the heartbeat that starts a computation, after the interval between assignments; returns the group."""
    harness.timers.advance(2_000)
    group = harness.core.groups.consumer["g"]
    assert group.assignment_epoch < group.group_epoch
    _beat(harness, "member-0", group.members["member-0"].member_epoch, topic_partitions=[])
    return group


SAME = [["t", "u"]]
DIFFERENT = [["t", "u"], ["t"], ["u"]]


def _owned(group: Any) -> set[tuple[bytes, int]]:
    """The partitions of all targets. Asserts that no two members have the same one."""
    owned = [
        (topic, index) for target in group.target_assignment.values() for topic, own in target.items() for index in own
    ]
    assert len(owned) == len(set(owned))
    return set(owned)


@pytest.mark.parametrize("topics", [SAME, DIFFERENT], ids=["homogeneous", "heterogeneous"])
def test_it_is_what_one_turn_computes(topics: list[list[str]]) -> None:
    harness = _joined(topics)
    in_steps = _begin(harness)
    assert _settle(harness) >= 3
    assert in_steps.assignment_epoch == in_steps.group_epoch
    assert len(_owned(in_steps)) == PARTITIONS + 300
    harness = _joined(topics, inline_size=10**9)
    at_once = _begin(harness)
    assert not harness.core.groups.assigning
    assert at_once.assignment_epoch == in_steps.assignment_epoch
    assert at_once.target_assignment == in_steps.target_assignment


def test_heartbeats_are_answered_with_the_old_epoch_until_then() -> None:
    harness = _joined(SAME)
    group = _begin(harness)
    old_epoch, computed_epoch = group.assignment_epoch, group.group_epoch
    harness.timers.fire_next()
    assert harness.core.groups.assigning["g"].steps is not None
    assert _join(harness, "late", ["t", "u"]).member_epoch == old_epoch
    _beat(harness, "member-7", -1)
    _settle(harness)
    assert group.assignment_epoch == computed_epoch < group.group_epoch
    assert "member-7" not in group.target_assignment
    assert "late" not in group.target_assignment
    _begin(harness)
    _settle(harness)
    assert group.assignment_epoch == group.group_epoch
    assert "late" in group.target_assignment
    assert len(_owned(group)) == PARTITIONS + 300


def test_a_static_member_that_is_replaced_in_between_leaves_its_target_to_the_new_one() -> None:
    harness = _joined(SAME)
    _join(harness, "old", ["t", "u"], "static")
    group = _begin(harness)
    harness.timers.fire_next()
    assert harness.core.groups.assigning["g"].steps is not None
    _beat(harness, "old", -2, instance_id="static")
    _join(harness, "new", ["t", "u"], "static")
    _settle(harness)
    assert "old" not in group.target_assignment
    assert group.target_assignment["new"]
    assert len(_owned(group)) == PARTITIONS + 300


def test_a_computation_whose_group_is_gone_ends() -> None:
    harness = _joined(SAME)
    _begin(harness)
    assert harness.core.groups.assigning
    del harness.core.groups.consumer["g"]
    effects = GroupEffects(harness.timers.now_ms)
    harness.core.handle_timer(TargetAssignmentDue("g"), effects)
    assert not harness.core.groups.assigning
    assert not effects.records
    assert not effects.timers


def test_a_small_group_is_assigned_by_the_heartbeat() -> None:
    harness = Harness()
    answer = _join(harness, "a", ["t", "u"])
    assert not harness.core.groups.assigning
    assert sum(len(topic.partitions) for topic in answer.assignment.topic_partitions) == 6
