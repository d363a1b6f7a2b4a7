"""Consumer groups after a restart: loaded state, records of older and newer Kafkas, and failed appends."""

from dataclasses import replace

import pytest

from odradek.broker.groups.records import CoordinatorRecord
from odradek.protocol.errors import ErrorCode
from odradek.protocol.messages.group_records import (
    ConsumerGroupCurrentMemberAssignmentKey,
    ConsumerGroupCurrentMemberAssignmentValue,
    ConsumerGroupMemberMetadataKey,
    ConsumerGroupMemberMetadataValue,
    ConsumerGroupMetadataKey,
    ConsumerGroupMetadataValue,
    ConsumerGroupPartitionMetadataKey,
    ConsumerGroupPartitionMetadataValue,
    ConsumerGroupTargetAssignmentMemberKey,
    ConsumerGroupTargetAssignmentMemberValue,
    ConsumerGroupTargetAssignmentMetadataKey,
    ConsumerGroupTargetAssignmentMetadataValue,
)
from odradek.protocol.records.builder import BatchBuilder
from support.groups.harness import Harness, hard_state

from .consumer_world import REBALANCE_MS, SESSION_MS, T, World, config, two_members


@pytest.fixture
def world() -> World:
    return World(Harness(config()))


def test_a_restart_brings_everything_back_but_sessions(world: World) -> None:
    two_members(world)
    world.join("c", "t", "u", subscribed_topic_regex="u+")
    world.wait(0)
    world.report("b")
    before = hard_state(world.harness.core)
    world.wait(SESSION_MS - 1)
    world.harness.start()
    assert hard_state(world.harness.core) == before
    world.wait(SESSION_MS - 1)
    assert set(world.group.members) >= {"a", "c"}
    world.wait(1)
    assert not world.group.members


def test_a_restart_gives_the_rebalance_timeout_anew(world: World) -> None:
    world.join("a", "t")
    world.join("b", "t")
    world.report("a")
    world.harness.start()
    world.wait(REBALANCE_MS - 1)
    assert "a" in world.group.members
    world.wait(1)
    assert "a" not in world.group.members


def test_what_could_not_be_stored_has_not_happened(world: World) -> None:
    world.join("a", "t")
    before = hard_state(world.harness.core)
    world.harness.log.fail_next = ErrorCode.NOT_ENOUGH_REPLICAS
    assert world.join("b", "t").error_code == ErrorCode.COORDINATOR_NOT_AVAILABLE
    assert hard_state(world.harness.core) == before
    assert world.join("b", "t").error_code == ErrorCode.NONE


def stored(world: World, *records: CoordinatorRecord) -> None:
    builder = BatchBuilder()
    for record in records:
        builder.append(1, record.key_bytes(), record.value_bytes())
    world.harness.log.append(builder.build(), 1)


def stored_by_kafka_4_0(world: World, state: int = 0) -> None:
    """The records of a group as stored by Kafka 4.0: with a separate record of topics and partitions, and without
    epochs.
    """
    target = ConsumerGroupTargetAssignmentMemberValue.TopicPartition(T, [0, 1, 2, 3])
    current = ConsumerGroupCurrentMemberAssignmentValue.TopicPartitions(T, [0, 1, 2, 3])
    metadata = ConsumerGroupPartitionMetadataValue.TopicMetadata(T, "t", 4)
    member = ConsumerGroupMemberMetadataValue(
        None, None, "a", "/127.0.0.1", ["t"], "", REBALANCE_MS, None, classic_member_metadata=None
    )
    stored(
        world,
        CoordinatorRecord(ConsumerGroupMemberMetadataKey("g", "a"), member),
        CoordinatorRecord(ConsumerGroupPartitionMetadataKey("g"), ConsumerGroupPartitionMetadataValue([metadata])),
        CoordinatorRecord(ConsumerGroupMetadataKey("g"), ConsumerGroupMetadataValue(5)),
        CoordinatorRecord(
            ConsumerGroupTargetAssignmentMemberKey("g", "a"), ConsumerGroupTargetAssignmentMemberValue([target])
        ),
        CoordinatorRecord(ConsumerGroupTargetAssignmentMetadataKey("g"), ConsumerGroupTargetAssignmentMetadataValue(5)),
        CoordinatorRecord(
            ConsumerGroupCurrentMemberAssignmentKey("g", "a"),
            ConsumerGroupCurrentMemberAssignmentValue(5, 4, state, [current]),
        ),
    )
    world.harness.start()


def test_a_group_of_an_older_kafka_goes_on(world: World) -> None:
    stored_by_kafka_4_0(world)
    assert world.group.members["a"].assigned == {T: dict.fromkeys(range(4), 5)}
    assert world.heartbeat("a", 5).member_epoch == 6, "the hash of its topics is new"
    world.harness.start()
    assert not world.group.has_subscription_metadata, "the hash stands for the old record"


def test_a_member_in_a_state_of_a_newer_kafka_starts_over(world: World) -> None:
    stored_by_kafka_4_0(world, state=9)
    assert world.heartbeat("a", 5).error_code == ErrorCode.FENCED_MEMBER_EPOCH
    assert world.join("a", "t").error_code == ErrorCode.NONE
    assert world.group.state == "Stable"


def test_a_directory_without_the_feature_has_no_consumer_groups(world: World) -> None:
    world.harness.image.features.clear()
    assert world.join("a", "t").error_code == ErrorCode.UNSUPPORTED_VERSION
    world.harness.image.features["group.version"] = 1
    world.harness.coordinator.reconfigure(replace(world.harness.config, serves_consumer_protocol=False))
    assert world.join("a", "t").error_code == ErrorCode.UNSUPPORTED_VERSION
