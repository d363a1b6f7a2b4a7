"""The memory of members of the consumer protocol is counted and bounded, as in the classic protocol."""

import gc
import tracemalloc
from typing import Any

import pytest

from odradek.broker.groups.config import GroupCoordinatorConfig
from odradek.broker.groups.memory import MEMBER_BYTES, NAME_BYTES, TOTAL_MAX_KEY, names_bytes
from odradek.protocol.apis.api_keys import ApiKey
from odradek.protocol.errors import ErrorCode
from odradek.protocol.messages.consumer_groups import ConsumerGroupHeartbeatRequest, ConsumerGroupHeartbeatResponse
from odradek.protocol.messages.groups import JoinGroupRequest, LeaveGroupRequest
from support.groups.harness import Harness

T = b"t" * 16
LIMITS = GroupCoordinatorConfig(
    offsets_topic_num_partitions=1,
    group_members_max_bytes=100_000,
    groups_members_max_bytes=200_000,
    group_consumer_assignment_interval_ms=0,
)
TEXT = "x" * 30_000


def harness(partitions: int = 0, config: GroupCoordinatorConfig = LIMITS) -> Harness:
    return Harness(config, {"t": (T, partitions)} if partitions else {})


def heartbeat(
    groups: Harness, group_id: str, member_id: str, epoch: int = 0, client_id: str = "client", **fields: Any
) -> ConsumerGroupHeartbeatResponse:
    """Sends a heartbeat, which joins with epoch 0 and leaves with -1; returns the answer."""
    joins: dict[str, Any] = {"rebalance_timeout_ms": 30_000, "topic_partitions": [], "subscribed_topic_names": []}
    fields = (joins if epoch == 0 else {}) | fields
    request = ConsumerGroupHeartbeatRequest(group_id=group_id, member_id=member_id, member_epoch=epoch, **fields)
    response = groups.ask(client_id, ApiKey.CONSUMER_GROUP_HEARTBEAT, 1, request)
    assert isinstance(response, ConsumerGroupHeartbeatResponse)
    return response


def used(groups: Harness) -> int:
    total = groups.coordinator.memory.used_bytes
    assert total == sum(group.member_bytes for group in groups.core.groups.consumer.values())
    return total


@pytest.mark.parametrize(
    "fields",
    [
        {"instance_id": TEXT},
        {"rack_id": TEXT},
        {"subscribed_topic_regex": TEXT},
        {"subscribed_topic_names": [TEXT]},
        {"subscribed_topic_names": [f"{number:03}" for number in range(30_000 // NAME_BYTES)]},
        {"client_id": TEXT},
        {"member_id": TEXT},
    ],
    ids=["instance id", "rack id", "regular expression", "name", "names", "client id", "member id"],
)
def test_everything_that_a_member_sends_fills_its_group(fields: dict[str, Any]) -> None:
    groups = harness()
    errors = []
    for number in range(5):
        own: dict[str, Any] = {
            name: value[:-1] + str(number) if isinstance(value, str) else value for name, value in fields.items()
        }
        errors.append(ErrorCode(heartbeat(groups, "g", own.pop("member_id", f"member-{number}"), **own).error_code))
    assert errors == [ErrorCode.NONE] * 3 + [ErrorCode.GROUP_MAX_SIZE_REACHED] * 2
    assert 3 * (MEMBER_BYTES + 29_000) < used(groups) <= LIMITS.group_members_max_bytes
    assert len(groups.core.groups.consumer["g"].members) == 3


def test_all_groups_have_a_limit_and_members_stay() -> None:
    groups = harness()
    epochs = {}
    for group_id in "abc":
        answer = heartbeat(groups, group_id, "member", subscribed_topic_names=[TEXT, TEXT + "y"])
        epochs[group_id] = answer.member_epoch
        assert not answer.error_code
    refused = heartbeat(groups, "d", "member", subscribed_topic_names=[TEXT, TEXT + "y"])
    assert refused.error_code == ErrorCode.COORDINATOR_NOT_AVAILABLE
    assert refused.error_message is not None
    assert TOTAL_MAX_KEY in refused.error_message
    assert "d" not in groups.core.groups.consumer, "a group that is refused is not made"
    for group_id, epoch in epochs.items():
        assert not heartbeat(groups, group_id, "member", epoch).error_code
    # A heartbeat without more bytes is served, also with changes.
    changed = heartbeat(groups, "a", "member", epochs["a"], subscribed_topic_names=[TEXT, TEXT + "z"])
    assert not changed.error_code
    assert not heartbeat(groups, "b", "member", -1).error_code
    assert not heartbeat(groups, "d", "member", subscribed_topic_names=[TEXT, TEXT + "y"]).error_code


def test_a_member_that_leaves_gives_its_bytes_back() -> None:
    groups = harness(partitions=50)
    for number in range(5):
        heartbeat(groups, "g", f"member-{number}", subscribed_topic_names=["t"], rack_id="r" * 1_000)
    assert used(groups) > 5 * (MEMBER_BYTES + 1_000)
    for number in range(5):
        heartbeat(groups, "g", f"member-{number}", -1)
    assert used(groups) == 0


def test_a_static_member_that_comes_back_is_counted_once() -> None:
    groups = harness()
    names = ["n" * 30_000, "m" * 30_000]
    assert not heartbeat(groups, "g", "before", instance_id="i", subscribed_topic_names=names).error_code
    before = used(groups)
    assert not heartbeat(groups, "g", "before", -2, instance_id="i").error_code
    after = heartbeat(groups, "g", "behind", instance_id="i", subscribed_topic_names=names)
    assert not after.error_code
    assert used(groups) == before


def test_topics_that_a_regular_expression_matches_are_counted() -> None:
    topics = {f"topic-{number}": (number.to_bytes(16, "big"), 1) for number in range(50)}
    groups = Harness(LIMITS, topics)
    matched = names_bytes(topics)
    assert not heartbeat(groups, "g", "a", subscribed_topic_regex="topic-.*").error_code
    groups.timers.advance(0)
    assert used(groups) > matched
    # Other expressions may match all topics, so the maximum is counted before they are resolved.
    refused_at = next(
        number
        for number in range(20)
        if heartbeat(groups, "g", f"b{number}", subscribed_topic_regex=f"topic-.*|{number}").error_code
    )
    assert 0 < refused_at <= LIMITS.group_members_max_bytes // matched
    groups.timers.advance(0)
    heartbeat(groups, "g", "a", -1)
    for number in range(refused_at):
        heartbeat(groups, "g", f"b{number}", -1)
    assert used(groups) == 0


def test_a_restart_counts_the_same() -> None:
    groups = harness(partitions=20)
    for number in range(3):
        heartbeat(groups, "g", f"member-{number}", subscribed_topic_names=["t", "other"], rack_id="rack")
    before = used(groups)
    groups.start()
    assert used(groups) == before > 3 * MEMBER_BYTES


def test_classic_members_of_a_consumer_group_are_counted() -> None:
    groups = harness()
    assert not heartbeat(groups, "g", "modern", subscribed_topic_names=["t"]).error_code
    before = used(groups)
    subscription = bytes.fromhex("0000 00000000 ffffffff")

    def join(size: int, member_id: str) -> ErrorCode:
        protocols = [
            JoinGroupRequest.JoinGroupRequestProtocol("range", subscription),
            JoinGroupRequest.JoinGroupRequestProtocol("other", bytes(size)),
        ]
        request = JoinGroupRequest("g", 30_000, 30_000, member_id, None, "consumer", protocols)
        return ErrorCode(groups.ask("classic", ApiKey.JOIN_GROUP, 9, request).error_code)

    assert join(200_000, "classic-1") is ErrorCode.GROUP_MAX_SIZE_REACHED
    assert used(groups) == before
    assert join(60_000, "classic-1") is ErrorCode.NONE
    assert used(groups) > before + 60_000
    assert join(60_000, "classic-2") is ErrorCode.GROUP_MAX_SIZE_REACHED
    # The group becomes a classic one, in which its member's bytes are still counted.
    assert not heartbeat(groups, "g", "modern", -1).error_code
    gc.collect()
    [classic] = groups.core.groups.classic.values()
    assert groups.coordinator.memory.used_bytes == classic.member_bytes > 60_000
    leaving = LeaveGroupRequest(group_id="g", members=[LeaveGroupRequest.MemberIdentity("classic-1")])
    assert not groups.ask("classic", ApiKey.LEAVE_GROUP, 5, leaving).error_code
    assert groups.coordinator.memory.used_bytes == 0


@pytest.mark.parametrize(
    ("partitions", "own_names"), [(1_400, 0), (0, 2_000)], ids=["owned partitions", "subscribed names"]
)
def test_no_more_memory_is_taken_than_is_counted(partitions: int, own_names: int) -> None:
    groups = harness(partitions, GroupCoordinatorConfig(offsets_topic_num_partitions=1))
    heartbeat(groups, "warm-up", "member", subscribed_topic_names=["t"])
    groups.log.batches.clear()
    before = used(groups)
    tracemalloc.start()
    try:
        # The names are new strings, as in a decoded request.
        names = [f"member's own topic {number}" for number in range(own_names)] or ["t"]
        heartbeat(groups, "g", "member", subscribed_topic_names=names)
        del names
        groups.log.batches.clear()
        gc.collect()
        taken, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    counted = used(groups) - before
    assert taken <= counted <= 3 * taken, f"{taken} bytes taken, {counted} counted"
