"""Consumer groups in virtual time: sessions, timeouts, intervals, limits, and new topics."""

import pytest

from odradek.broker.metadata.image.image import PartitionImage, TopicImage
from odradek.protocol.common.steps import run_to_end
from odradek.protocol.errors import ErrorCode
from support.groups.harness import Harness

from .consumer_world import REBALANCE_MS, SESSION_MS, T, World, config, two_members

NEW = b"n" * 16


@pytest.fixture
def world() -> World:
    return World(Harness(config()))


def test_whoever_is_silent_for_its_session_is_out(world: World) -> None:
    two_members(world)
    world.wait(SESSION_MS - 1)
    world.heartbeat("a")
    world.wait(1)
    assert set(world.group.members) == {"a"}
    assert world.group.group_epoch == 4
    assert world.heartbeat("b").error_code == ErrorCode.UNKNOWN_MEMBER_ID
    world.report("a")
    assert world.owned["a"] == {T: [0, 1, 2, 3]}


def test_whoever_does_not_give_up_in_its_rebalance_timeout_is_out(world: World) -> None:
    world.join("a", "t")
    world.join("b", "t")
    world.report("a")
    assert world.owned["a"] == {T: [0, 1]}, "asked to give up two"
    world.wait(REBALANCE_MS - 1)
    world.heartbeat("a")
    world.heartbeat("b")
    assert world.owned["b"] == {}, "they are not free yet"
    world.wait(1)
    assert set(world.group.members) == {"b"}
    world.heartbeat("b")
    assert world.owned["b"] == {T: [0, 1, 2, 3]}


def test_whoever_gives_up_in_time_stays(world: World) -> None:
    two_members(world)
    world.wait(REBALANCE_MS)
    assert set(world.group.members) == {"a", "b"}


def test_a_static_member_that_left_for_a_while_is_out_after_its_session(world: World) -> None:
    world.join("a", "t", instance_id="i")
    world.join("b", "t")
    world.heartbeat("a", -2, instance_id="i")
    assert set(world.group.members) == {"a", "b"}
    world.wait(SESSION_MS - 1)
    world.heartbeat("b")
    world.wait(1)
    assert set(world.group.members) == {"b"}


def test_an_assignment_stands_for_its_interval() -> None:
    world = World(Harness(config(group_consumer_assignment_interval_ms=1_000)))
    world.join("a", "t")
    world.wait(999)
    world.join("b", "t")
    assert (world.group.group_epoch, world.group.assignment_epoch) == (3, 2)
    assert world.group.state == "Assigning"
    world.wait(1)
    world.heartbeat("b")
    assert world.group.assignment_epoch == 3


@pytest.mark.parametrize("ends", ["leaves", "expires"])
def test_an_empty_group_is_settled(ends: str) -> None:
    """The next member gets its target with its first heartbeat, within the interval."""
    world = World(Harness(config(group_consumer_assignment_interval_ms=1_000)))
    world.join("a", "t")
    if ends == "leaves":
        world.heartbeat("a", -1)
    else:
        world.wait(SESSION_MS)
    assert world.group.group_epoch == world.group.assignment_epoch == 3
    answer = world.join("b", "t")
    assert (answer.member_epoch, world.group.assignment_epoch) == (4, 4)
    assert world.owned["b"]
    world.join("c", "t")
    assert (world.group.group_epoch, world.group.assignment_epoch) == (5, 4), "a second one waits for the interval"


def test_another_assignor_is_used_at_once(world: World) -> None:
    """With equally many votes for two assignors the group keeps its epoch from heartbeat to heartbeat."""
    world.join("a", "t", server_assignor="uniform")
    epoch = world.group.group_epoch
    world.heartbeat("a", server_assignor="range")
    assert world.group.group_epoch == world.group.assignment_epoch == epoch + 1
    world.heartbeat("a", server_assignor="range")
    world.join("b", "t", server_assignor="uniform")
    for _ in range(3):
        world.heartbeat("a")
        world.heartbeat("b")
    assert world.group.group_epoch == epoch + 2, "the new member"


def test_a_group_is_full_for_strangers_only() -> None:
    world = World(Harness(config(group_consumer_max_size=1)))
    world.join("a", "t")
    assert world.join("b", "t").error_code == ErrorCode.GROUP_MAX_SIZE_REACHED
    assert world.join("a", "t").error_code == ErrorCode.NONE


def test_a_full_group_takes_a_static_member_back() -> None:
    world = World(Harness(config(group_consumer_max_size=1)))
    world.join("a", "t", instance_id="i")
    world.heartbeat("a", -2, instance_id="i")
    assert world.join("b", "t", instance_id="k").error_code == ErrorCode.GROUP_MAX_SIZE_REACHED
    assert world.join("b", "t", instance_id="i").error_code == ErrorCode.NONE


def test_an_instance_id_that_its_member_gave_up_is_free(world: World) -> None:
    world.join("a", "t", instance_id="i")
    world.join("a", "t", instance_id="j")
    assert world.group.static_members == {"j": "a"}


def test_a_groups_own_configs_come_before_the_brokers_within_its_bounds() -> None:
    harness = Harness(config())
    world = World(harness)
    world.join("a", "t")
    own = {"consumer.heartbeat.interval.ms": "7000", "consumer.session.timeout.ms": "1"}
    harness.core.groups.group_configs = lambda group_id: own if group_id == "g" else {}
    assert world.heartbeat("a").heartbeat_interval_ms == 7_000
    world.wait(SESSION_MS - 1)
    assert world.group.members, "group.consumer.min.session.timeout.ms is 45 seconds"
    world.wait(1)
    assert not world.group.members


def add_topic(world: World, name: str, partitions: int) -> None:
    one = PartitionImage(replicas=(1,), directories=(bytes(16),), isr=(1,), leader=1, leader_epoch=0, partition_epoch=0)
    image = world.harness.image
    topic = TopicImage(name, NEW, dict.fromkeys(range(partitions), one))
    image.topics_by_name[name] = topic
    image.topics_by_id[topic.topic_id] = topic
    image.last_offset += 1
    run_to_end(world.harness.coordinator.topics_changed({name}, has_new=True))


def test_new_topics_are_matched_by_a_later_heartbeat(world: World) -> None:
    world.join("a", subscribed_topic_names=None, subscribed_topic_regex="t.*")
    assert world.owned["a"] == {}, "patterns are matched beside the work"
    world.wait(0)
    world.heartbeat("a")
    assert world.owned["a"] == {T: [0, 1, 2, 3]}
    add_topic(world, "tt", 1)
    world.wait(10_000)
    world.heartbeat("a")
    assert world.owned["a"] == {T: [0, 1, 2, 3]}, "not twice in ten seconds"
    world.wait(1)
    world.heartbeat("a")
    world.wait(0)
    world.heartbeat("a")
    assert world.owned["a"] == {T: [0, 1, 2, 3], NEW: [0]}


def test_new_partitions_are_assigned_with_the_next_heartbeat(world: World) -> None:
    world.join("a", "t")
    topic = world.harness.image.topics_by_name["t"]
    topic.partitions[4] = topic.partitions[0]
    assert world.heartbeat("a").assignment is None
    run_to_end(world.harness.coordinator.topics_changed({"t"}, has_new=False))
    world.heartbeat("a")
    assert world.owned["a"] == {T: [0, 1, 2, 3, 4]}
