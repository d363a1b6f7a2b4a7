"""Consumer groups in virtual time: sessions, timeouts, intervals, restarts, limits, and changes of the protocol."""

from dataclasses import dataclass, replace
from typing import Any

import pytest

from odradek.broker.groups.config import GroupCoordinatorConfig
from odradek.broker.groups.offsets.transactional_commit import TransactionalTopicCommit, commit_transactional_offsets
from odradek.broker.groups.records import CoordinatorRecord
from odradek.broker.metadata.image import PartitionImage, TopicImage
from odradek.protocol.api_keys import ApiKey
from odradek.protocol.errors import ErrorCode, KafkaError
from odradek.protocol.messages.consumer_groups import ConsumerGroupHeartbeatRequest
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
from odradek.protocol.messages.groups import (
    HeartbeatRequest,
    JoinGroupRequest,
    LeaveGroupRequest,
    OffsetCommitRequest,
    SyncGroupRequest,
)
from odradek.protocol.messages.transactions import TxnOffsetCommitRequest
from odradek.protocol.records.builder import BatchBuilder
from odradek.protocol.steps import run_to_end
from parity.consumer_members import subscription
from support.groups.harness import Harness

T, NEW = b"t" * 16, b"n" * 16
SESSION_MS = 45_000
REBALANCE_MS = 30_000
Assigned = dict[bytes, list[int]]


def config(**settings: Any) -> GroupCoordinatorConfig:
    return GroupCoordinatorConfig(
        offsets_topic_num_partitions=1, **{"group_consumer_assignment_interval_ms": 0, **settings}
    )


@dataclass
class World:
    """A coordinator, and the epochs and partitions of the members that it knows."""

    harness: Harness

    def __post_init__(self) -> None:
        self.epochs: dict[str, int] = {}
        self.owned: dict[str, Assigned] = {}

    def heartbeat(self, who: str, epoch: int | None = None, **fields: Any) -> Any:
        request = ConsumerGroupHeartbeatRequest("g", who, self.epochs.get(who, 0) if epoch is None else epoch, **fields)
        answer = self.harness.ask(who, ApiKey.CONSUMER_GROUP_HEARTBEAT, 1, request)
        if not answer.error_code:
            self.epochs[who] = answer.member_epoch
            if answer.assignment is not None:
                self.owned[who] = {one.topic_id: one.partitions for one in answer.assignment.topic_partitions}
        return answer

    def join(self, who: str, *names: str, **fields: Any) -> Any:
        given = {"rebalance_timeout_ms": REBALANCE_MS, "subscribed_topic_names": list(names), **fields}
        return self.heartbeat(who, 0, topic_partitions=[], **given)

    def report(self, who: str, **fields: Any) -> Any:
        """A heartbeat that says what the member owns: what it was assigned last."""
        partitions = [
            ConsumerGroupHeartbeatRequest.TopicPartitions(topic, indexes)
            for topic, indexes in self.owned.get(who, {}).items()
        ]
        return self.heartbeat(who, topic_partitions=partitions, **fields)

    def wait(self, delay_ms: int) -> None:
        self.harness.timers.advance(delay_ms)

    @property
    def group(self) -> Any:
        return self.harness.core.consumer_groups["g"]

    @property
    def classic_group(self) -> Any:
        return self.harness.core.groups["g"]

    def classic_join(self, who: str, member_id: str = "", protocol: str = "range", **fields: Any) -> Any:
        protocols = [JoinGroupRequest.JoinGroupRequestProtocol(protocol, subscription("t"))]
        request = JoinGroupRequest("g", 10_000, 20_000, member_id, None, "consumer", protocols, **fields)
        self.harness.send(who, ApiKey.JOIN_GROUP, 3, request)
        return self.harness.answers.pop()[1] if self.harness.answers else None

    def classic_heartbeat(self, member_id: str, generation: int) -> int:
        answer = self.harness.ask("c", ApiKey.HEARTBEAT, 4, HeartbeatRequest("g", generation, member_id))
        return int(answer.error_code)


@pytest.fixture
def world() -> World:
    return World(Harness(config()))


def two_members(world: World) -> None:
    """Two members that own half of topic t each, in epoch 3."""
    world.join("a", "t")
    world.join("b", "t")
    world.report("a")
    world.report("a")
    world.report("b")
    assert world.owned == {"a": {T: [0, 1]}, "b": {T: [2, 3]}}
    assert world.group.state == "Stable"


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


def test_a_group_is_full_for_strangers_only() -> None:
    world = World(Harness(config(group_consumer_max_size=1)))
    world.join("a", "t")
    assert world.join("b", "t").error_code == ErrorCode.GROUP_MAX_SIZE_REACHED
    assert world.join("a", "t").error_code == ErrorCode.NONE


def test_a_groups_own_configs_come_before_the_brokers_within_its_bounds() -> None:
    harness = Harness(config())
    world = World(harness)
    world.join("a", "t")
    own = {"consumer.heartbeat.interval.ms": "7000", "consumer.session.timeout.ms": "1"}
    harness.core.group_configs = lambda group_id: own if group_id == "g" else {}
    assert world.heartbeat("a").heartbeat_interval_ms == 7_000
    world.wait(SESSION_MS - 1)
    assert world.group.members, "group.consumer.min.session.timeout.ms is 45 seconds"
    world.wait(1)
    assert not world.group.members


def test_a_restart_brings_everything_back_but_sessions(world: World) -> None:
    two_members(world)
    world.join("c", "t", "u", subscribed_topic_regex="u+")
    world.wait(0)
    world.report("b")
    before = world.harness.core.hard_state()
    world.wait(SESSION_MS - 1)
    world.harness.start()
    assert world.harness.core.hard_state() == before
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
    before = world.harness.core.hard_state()
    world.harness.log.fail_next = ErrorCode.NOT_ENOUGH_REPLICAS
    assert world.join("b", "t").error_code == ErrorCode.COORDINATOR_NOT_AVAILABLE
    assert world.harness.core.hard_state() == before
    assert world.join("b", "t").error_code == ErrorCode.NONE


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


def stored(world: World, *records: CoordinatorRecord) -> None:
    builder = BatchBuilder()
    for record in records:
        builder.append(1, record.key_bytes(), record.value_bytes())
    world.harness.log.append(builder.build(), 1)


def stored_by_kafka_4_0(world: World, state: int = 0) -> None:
    """A group as Kafka 4.0 left it: partitions of topics in a record of their own, none with an epoch."""
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


# --- both protocols in one group


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
    assert "g" not in world.harness.core.groups


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
    assert "g" not in world.harness.core.consumer_groups
    assert world.classic_group.generation_id == 2
    assert world.classic_heartbeat(member_id, 2) == ErrorCode.REBALANCE_IN_PROGRESS
    world.harness.start()
    assert set(world.classic_group.members) == {member_id}, "and a restart finds that one"
    assert "g" not in world.harness.core.consumer_groups


def test_a_session_that_ends_may_leave_a_classic_group_too(world: World) -> None:
    member_id = classic_leader(world)
    world.join("a", "t")
    for _ in range(10):
        world.wait(4_500)
        if "g" in world.harness.core.consumer_groups:
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
    assert ("g" in world.harness.core.groups) is downgrades


def test_a_failed_downgrade_leaves_the_consumer_group(world: World) -> None:
    classic_leader(world)
    world.join("a", "t")
    before = world.harness.core.hard_state()
    world.harness.log.fail_next = ErrorCode.NOT_ENOUGH_REPLICAS
    assert world.heartbeat("a", -1).error_code == ErrorCode.COORDINATOR_NOT_AVAILABLE
    assert world.harness.core.hard_state() == before
    assert "g" not in world.harness.core.groups


# --- offsets


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
    assert "g" not in world.harness.core.consumer_groups
    assert not world.harness.core.hard_state()["offsets"]["committed"]
    world.harness.start()
    assert "g" not in world.harness.core.consumer_groups


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
def test_who_may_commit_in_a_transaction(
    world: World, member_id: str, generation: int, error: ErrorCode | None
) -> None:
    world.join("a", "t")
    partitions = [TxnOffsetCommitRequest.TxnOffsetCommitRequestPartition(0, 5)]
    request = TxnOffsetCommitRequest("x", "g", 7, 0, generation, member_id)
    effects = world.harness.core.effects(world.harness.timers.now_ms)
    topics = [TransactionalTopicCommit("t", T, partitions)]
    if error is None:
        commit_transactional_offsets(world.harness.core, request, topics, effects)
        assert len(effects.records) == 1
        return
    with pytest.raises(KafkaError) as refused:
        commit_transactional_offsets(world.harness.core, request, topics, effects)
    assert refused.value.error_code is error


def test_an_administrator_removes_members_by_instance_id(world: World) -> None:
    world.join("a", "t", instance_id="i")
    request = LeaveGroupRequest("g", members=[LeaveGroupRequest.MemberIdentity("", "i")])
    answer = world.harness.ask("admin", ApiKey.LEAVE_GROUP, 5, request)
    assert answer.members[0].error_code == ErrorCode.NONE
    assert world.group.state == "Empty"


def test_a_directory_without_the_feature_has_no_consumer_groups(world: World) -> None:
    world.harness.image.features.clear()
    assert world.join("a", "t").error_code == ErrorCode.UNSUPPORTED_VERSION
    world.harness.image.features["group.version"] = 1
    world.harness.coordinator.reconfigure(replace(world.harness.config, serves_consumer_protocol=False))
    assert world.join("a", "t").error_code == ErrorCode.UNSUPPORTED_VERSION
