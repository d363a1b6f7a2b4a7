"""The shell around the core of the coordinator: loading, several partitions, requests that are not served."""

import logging
from collections.abc import Iterator

import pytest

from odradek.broker.coordinator.shard import ShardState
from odradek.broker.coordinator.shard_timers import TIMER_RETRY_MS
from odradek.broker.groups.classic.records import group_tombstone
from odradek.broker.groups.config import GroupCoordinatorConfig
from odradek.broker.groups.coordinator import GroupCoordinator
from odradek.broker.groups.core import GroupCore
from odradek.broker.groups.effects import GroupEffects, TimerEvent
from odradek.broker.groups.offsets.store import offset_commit_record
from odradek.broker.groups.records import CoordinatorRecord
from odradek.protocol.apis.api_keys import ApiKey
from odradek.protocol.codec import encode
from odradek.protocol.common.steps import run_to_end
from odradek.protocol.errors import ErrorCode, KafkaError
from odradek.protocol.messages import groups as messages
from odradek.protocol.messages.consumer_groups import ConsumerGroupHeartbeatRequest
from odradek.protocol.messages.group_records import (
    ConsumerGroupMetadataKey,
    ConsumerGroupMetadataValue,
    GroupMetadataKey,
    GroupMetadataValue,
    OffsetCommitValue,
    ShareGroupMetadataKey,
    ShareGroupMetadataValue,
    StreamsGroupMemberMetadataKey,
    StreamsGroupMemberMetadataValue,
    StreamsGroupMetadataKey,
    StreamsGroupMetadataValue,
)
from odradek.protocol.messages.structure import Message
from odradek.protocol.records.batch import iterate_headers
from odradek.protocol.records.builder import BatchBuilder
from support.groups.harness import START_MS, Harness, MemoryLog, VirtualTimers, hard_state


def _coordinator(logs: dict[int, MemoryLog]) -> tuple[GroupCoordinator, VirtualTimers]:
    timers = VirtualTimers()
    return GroupCoordinator(GroupCoordinatorConfig(), timers, lambda: timers.now_ms, lambda: "uuid", logs.get), timers


def test_a_partition_is_opened_when_a_group_first_needs_it() -> None:
    coordinator, _ = _coordinator({43: MemoryLog()})
    assert coordinator.partition_for("spurs") == 43
    assert coordinator.shard_of("spurs").state is ShardState.ACTIVE
    assert coordinator.shard_of("spurs") is coordinator.shard_of("spurs")
    with pytest.raises(KafkaError) as refusal:
        coordinator.shard_of("somebody elses")
    assert refusal.value.error_code is ErrorCode.NOT_COORDINATOR


def test_who_leads_a_partition_again_serves_its_groups_from_the_new_shard() -> None:
    coordinator, _ = _coordinator({43: MemoryLog()})
    before = coordinator.shard_of("spurs")
    coordinator.resign(43)
    after = coordinator.shard_of("spurs")
    assert before.state is ShardState.UNLOADED
    assert after is not before
    assert after.state is ShardState.ACTIVE
    assert coordinator.elect(43, MemoryLog()) is coordinator.shard_of("spurs")


def test_after_shutdown_nothing_is_coordinated() -> None:
    coordinator, _ = _coordinator({43: MemoryLog()})
    shard = coordinator.shard_of("spurs")
    coordinator.stop()
    assert shard.state is ShardState.UNLOADED
    with pytest.raises(KafkaError) as refusal:
        coordinator.shard_of("spurs")
    assert refusal.value.error_code is ErrorCode.COORDINATOR_NOT_AVAILABLE


def test_resigning_answers_parked_requests() -> None:
    harness = Harness()
    protocol = messages.JoinGroupRequest.JoinGroupRequestProtocol("range", b"")
    request = messages.JoinGroupRequest("g", 10_000, 10_000, protocol_type="consumer", protocols=[protocol])
    harness.send("a", ApiKey.JOIN_GROUP, 3, request)
    assert harness.answers == []
    harness.coordinator.resign(0)
    [(_, response)] = harness.answers
    assert response.error_code == ErrorCode.NOT_COORDINATOR
    assert harness.timers.next_ms() is None


def test_a_failed_sync_of_the_log_is_told_to_all_who_wait_and_serves_nothing_further() -> None:
    """The waiting requests are a commit, a fetch after it, a SyncGroup of a follower, and a JoinGroup."""
    harness = Harness()
    protocol = messages.JoinGroupRequest.JoinGroupRequestProtocol("range", b"")
    join = messages.JoinGroupRequest("g", 10_000, 10_000, protocol_type="consumer", protocols=[protocol])
    harness.send("parked", ApiKey.JOIN_GROUP, 3, join)
    harness.log.held = True
    partition = messages.OffsetCommitRequest.OffsetCommitRequestPartition(0, 7)
    commit = messages.OffsetCommitRequest(
        "h", topics=[messages.OffsetCommitRequest.OffsetCommitRequestTopic("t", partitions=[partition])]
    )
    harness.send("commits", ApiKey.OFFSET_COMMIT, 7, commit)
    fetch = messages.OffsetFetchRequest("h", [messages.OffsetFetchRequest.OffsetFetchRequestTopic("t", [0])])
    harness.send("reads", ApiKey.OFFSET_FETCH, 5, fetch)
    assert harness.answers == [], "the commit is in the page cache, and not yet on disk"
    harness.log.release(ErrorCode.KAFKA_STORAGE_ERROR)
    answers = dict(harness.answers)
    told = ErrorCode.NOT_COORDINATOR
    assert answers["parked"].error_code == told
    assert answers["commits"].topics[0].partitions[0].error_code == told
    assert answers["reads"].error_code == told
    harness.send("late", ApiKey.OFFSET_COMMIT, 7, commit)
    assert dict(harness.answers)["late"].topics[0].partitions[0].error_code == told
    assert harness.timers.next_ms() is None


def test_a_broken_record_serves_nothing_of_the_partition_and_is_named(caplog: pytest.LogCaptureFixture) -> None:
    harness = Harness()
    _append(harness, b"\x00\x63 a type of the future", b"")
    _append(harness, b"\x00\x01\x00", b"\x00\x04" * 100)
    with caplog.at_level(logging.ERROR):
        harness.start()
    assert harness.coordinator.shard_of("g").state is ShardState.FAILED
    [said] = [record.getMessage() for record in caplog.records]
    assert said.startswith(
        "__consumer_offsets-0 cannot be loaded; requests that it coordinates fail: memory, offset 1, "
    )
    assert r"key b'\x00\x01\x00' and value b'\x00\x04" in said
    assert len(said) < 600
    request = messages.OffsetFetchRequest("g", [messages.OffsetFetchRequest.OffsetFetchRequestTopic("t", [0])])
    response = harness.ask("a", ApiKey.OFFSET_FETCH, 1, request)
    assert response.topics[0].partitions[0].error_code == ErrorCode.NOT_COORDINATOR


def _append(harness: Harness, key: bytes | None, value: bytes | None) -> None:
    builder = BatchBuilder()
    builder.append(0, key, value)
    harness.log.append(builder.build(), 0)


@pytest.mark.parametrize("place", ["load", "on_loaded"])
def test_a_failure_that_no_check_foresaw_stops_only_its_partition(
    place: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    coordinator, timers = _coordinator({0: MemoryLog(), 43: MemoryLog()})
    log = MemoryLog()
    builder = BatchBuilder()
    builder.append(0, group_tombstone("g").key_bytes(), None)
    log.append(builder.build(), 0)

    def fail(*_: object) -> None:
        raise IndexError("of a kind that no check foresaw")

    with monkeypatch.context() as broken:
        broken.setattr(GroupCore, place, fail)
        assert coordinator.elect(0, log).state is ShardState.FAILED
    assert timers.next_ms() is None
    assert coordinator.shard_of("spurs").state is ShardState.ACTIVE
    [said] = [record.getMessage() for record in caplog.records if record.levelno >= logging.ERROR]
    assert "__consumer_offsets-0 cannot be loaded" in said
    assert "of a kind that no check foresaw" in said
    assert ("memory, offset 0" in said) == (place == "load")


def test_the_event_of_a_timer_that_raises_is_handled_again_and_ends_no_other(monkeypatch: pytest.MonkeyPatch) -> None:
    """As in Kafka. Otherwise one exception would end the expiration of a whole partition."""
    coordinator, timers = _coordinator({43: MemoryLog()})
    coordinator.shard_of("spurs")
    handled: list[str] = []
    handle = GroupCore.handle_timer

    def fail_once(core: GroupCore, event: TimerEvent, effects: GroupEffects) -> None:
        handled.append(type(event).__name__)
        if len(handled) == 1:
            raise IndexError("of a kind that no check foresaw")
        handle(core, event, effects)

    monkeypatch.setattr(GroupCore, "handle_timer", fail_once)
    with pytest.raises(IndexError) as raised:
        timers.fire_next()
    assert raised.value.__notes__ == ["The timer's event, which is repeated in 500 ms: ExpirationDue()"]
    failed_ms = timers.now_ms
    timers.fire_next()
    assert timers.now_ms == failed_ms + TIMER_RETRY_MS
    timers.fire_next()
    assert handled == ["ExpirationDue"] * 3
    assert timers.now_ms > failed_ms + 2 * TIMER_RETRY_MS, "the interval of the timer again"


def test_a_marker_for_a_partition_that_failed_to_load_is_kept_for_later() -> None:
    """After NOT_COORDINATOR, which means that the partition does not exist, the transaction would lose its offsets."""
    harness = Harness()
    _append(harness, b"", b"")
    harness.start()
    told: list[ErrorCode] = []
    harness.coordinator.shard_at(0).write_marker(b"", 1, True, 0, 2, told.append)
    assert told == [ErrorCode.NOT_LEADER_OR_FOLLOWER]


def test_negative_partitions_in_a_log_are_offsets_like_others() -> None:
    harness = Harness()
    for partition in (3, -1, -(2**31), 2**31 - 1, 0):
        value = OffsetCommitValue(offset=partition, metadata="", commit_timestamp=harness.timers.now_ms)
        record = offset_commit_record("g", "t", partition, value)
        _append(harness, record.key_bytes(), record.value_bytes())
    harness.start()
    partitions = [-(2**31), -2, -1, 0, 3, 2**31 - 1]
    topics = [messages.OffsetFetchRequest.OffsetFetchRequestTopic("t", partitions)]
    answer = harness.ask("a", ApiKey.OFFSET_FETCH, 7, messages.OffsetFetchRequest("g", topics))
    fetched = {one.partition_index: one.committed_offset for one in answer.topics[0].partitions}
    assert fetched == {one: -1 if one == -2 else one for one in partitions}


def test_a_group_record_that_contradicts_itself_is_served_as_far_as_it_goes() -> None:
    """The record has members without a protocol, a duplicate member, and a leader that is not a member. Kafka serves
    it, too.
    """
    harness = Harness()
    member = GroupMetadataValue.MemberMetadata
    members = [member(name, "i", "c", "h", 10_000, 10_000, b"", b"") for name in "aa"]
    value = GroupMetadataValue("consumer", 2**31 - 1, None, "nobody", 0, members)
    record = CoordinatorRecord(GroupMetadataKey("g"), value, 3)
    _append(harness, record.key_bytes(), record.value_bytes())
    harness.start()
    described = harness.ask("a", ApiKey.DESCRIBE_GROUPS, 5, messages.DescribeGroupsRequest(["g"])).groups[0]
    assert (described.group_state, len(described.members)) == ("Stable", 1)
    protocol = messages.JoinGroupRequest.JoinGroupRequestProtocol("", b"")
    join = messages.JoinGroupRequest("g", 10_000, 10_000, "", "i", protocol_type="consumer", protocols=[protocol])
    assert harness.ask("a", ApiKey.JOIN_GROUP, 9, join).error_code == ErrorCode.NONE
    harness.timers.advance(60_000)
    described = harness.ask("a", ApiKey.DESCRIBE_GROUPS, 5, messages.DescribeGroupsRequest(["g"])).groups[0]
    assert described.group_state == "Empty"


def test_static_members_that_stay_away_are_not_waited_for_in_a_busy_loop() -> None:
    """A member may send, and a log may have, a rebalance timeout of 0."""
    harness = Harness()
    member = GroupMetadataValue.MemberMetadata
    members = [member(name, name, "c", "h", timeout_ms, 60_000, b"", b"") for name, timeout_ms in (("a", 0), ("b", -5))]
    value = GroupMetadataValue("consumer", 1, "range", "a", 0, members)
    record = CoordinatorRecord(GroupMetadataKey("g"), value, 3)
    _append(harness, record.key_bytes(), record.value_bytes())
    harness.start()
    leaving = [messages.LeaveGroupRequest.MemberIdentity("a", "a")]
    harness.ask("a", ApiKey.LEAVE_GROUP, 5, messages.LeaveGroupRequest("g", members=leaving))
    fired = 0
    while harness.timers.now_ms < START_MS + 50_000:
        next_ms = harness.timers.next_ms()
        assert next_ms is not None
        harness.timers.advance(max(next_ms - harness.timers.now_ms, 0))
        fired += 1
    assert fired < 200


def _stored(record_type: int, key: Message, value: Message | None) -> tuple[bytes, bytes | None]:
    return record_type.to_bytes(2, "big") + encode(key, 0), None if value is None else b"\0\0" + encode(value, 0)


def test_the_ids_of_share_and_streams_groups_are_kept_for_them() -> None:
    """A consumer group can't take the id of a stored share or streams group, and ListGroups shows their types.

    tests/door/test_share_and_streams_groups.py compares this with a real Kafka.
    """
    harness = Harness()
    _append(harness, *_stored(11, ShareGroupMetadataKey("share"), ShareGroupMetadataValue(epoch=1)))
    streams = (17, StreamsGroupMetadataKey("streams"), StreamsGroupMetadataValue(epoch=2))
    _append(harness, *_stored(*streams))
    member = StreamsGroupMemberMetadataKey("streams", "m")
    _append(harness, *_stored(19, member, StreamsGroupMemberMetadataValue()))
    harness.start()
    listed = harness.ask("a", ApiKey.LIST_GROUPS, 5, messages.ListGroupsRequest()).groups
    assert {(one.group_id, one.group_type, one.group_state) for one in listed} == {
        ("share", "share", "Empty"),
        ("streams", "streams", "NotReady"),
    }
    protocol = messages.JoinGroupRequest.JoinGroupRequestProtocol("range", b"")
    for group in ("share", "streams"):
        join = messages.JoinGroupRequest(group, 10_000, 10_000, protocol_type="consumer", protocols=[protocol])
        refused = harness.ask("a", ApiKey.JOIN_GROUP, 3, join)
        assert refused.error_code == ErrorCode.INCONSISTENT_GROUP_PROTOCOL
        beat = ConsumerGroupHeartbeatRequest(group, "m", 0, rebalance_timeout_ms=1_000, topic_partitions=[])
        beat.subscribed_topic_names = ["t"]
        refused = harness.ask("a", ApiKey.CONSUMER_GROUP_HEARTBEAT, 1, beat)
        assert refused.error_code == ErrorCode.GROUP_ID_NOT_FOUND
    assert len(harness.log.batches) == 3, "nothing was stored under their ids"

    _append(harness, *_stored(11, ShareGroupMetadataKey("share"), None))
    _append(harness, *_stored(19, member, None))
    harness.start()
    joined = messages.JoinGroupRequest("share", 10_000, 10_000, protocol_type="consumer", protocols=[protocol])
    assert harness.ask("a", ApiKey.JOIN_GROUP, 9, joined).error_code == ErrorCode.MEMBER_ID_REQUIRED
    deleted = harness.ask("a", ApiKey.DELETE_GROUPS, 2, messages.DeleteGroupsRequest(["streams"]))
    assert deleted.results[0].error_code == ErrorCode.NONE
    harness.start()
    assert harness.core.groups.streams == {}


def test_a_consumer_group_under_the_id_of_a_share_group_is_not_loaded_as_in_kafka() -> None:
    harness = Harness()
    _append(harness, *_stored(11, ShareGroupMetadataKey("g"), ShareGroupMetadataValue(epoch=1)))
    _append(harness, *_stored(3, ConsumerGroupMetadataKey("g"), ConsumerGroupMetadataValue(epoch=1)))
    harness.start()
    assert harness.coordinator.shard_of("g").state is ShardState.FAILED


def test_offsets_of_deleted_topics_are_forgotten() -> None:
    harness = Harness()
    partition = messages.OffsetCommitRequest.OffsetCommitRequestPartition(0, 5)
    topics = [messages.OffsetCommitRequest.OffsetCommitRequestTopic(name, partitions=[partition]) for name in "tu"]
    harness.ask("a", ApiKey.OFFSET_COMMIT, 8, messages.OffsetCommitRequest("g", topics=topics))
    run_to_end(harness.coordinator.topics_deleted({"t"}))
    assert list(harness.core.offsets.topics_of("g")) == ["u"]
    harness.start()
    assert list(harness.core.offsets.topics_of("g")) == ["u"]


def test_many_tombstones_are_appended_in_several_batches() -> None:
    harness = Harness(topics={"t": (b"t" * 16, 2_500)})
    partitions = [messages.OffsetCommitRequest.OffsetCommitRequestPartition(index, 5) for index in range(2_500)]
    topics = [messages.OffsetCommitRequest.OffsetCommitRequestTopic("t", partitions=partitions)]
    harness.ask("a", ApiKey.OFFSET_COMMIT, 8, messages.OffsetCommitRequest("g", topics=topics))
    portions = len(harness.log.batches)
    assert portions == 10
    harness.timers.advance(harness.config.offsets_retention_ms + harness.config.offsets_retention_check_interval_ms)
    assert len(harness.log.batches) > portions + 3, "in slices, not 1,000 to a batch"
    assert harness.core.groups.classic == {}
    harness.start()
    assert hard_state(harness.core)["groups"] == {}
    assert list(harness.core.offsets.groups()) == []


def test_pending_transactions_are_loaded_with_their_markers() -> None:
    from odradek.protocol.records.control import ControlRecordType, EndTransactionMarker, encode_end_transaction_batch

    harness = Harness()
    for producer_id, offset in ((1, 5), (2, 6)):
        record = offset_commit_record("g", "t", producer_id, OffsetCommitValue(offset=offset, commit_timestamp=1))
        builder = BatchBuilder(producer_id=producer_id, producer_epoch=0, base_sequence=0, is_transactional=True)
        builder.append(0, record.key_bytes(), record.value_bytes())
        harness.log.append(builder.build(), 0)
    marker = EndTransactionMarker(ControlRecordType.COMMIT, 0)
    harness.log.append(encode_end_transaction_batch(marker, timestamp=0, producer_id=1, producer_epoch=0), 0)
    harness.start()
    offsets = harness.core.offsets
    assert offsets.get("g", "t", 1).offset == 5
    assert offsets.get("g", "t", 2) is None
    assert offsets.has_pending("g", "t", 2)


class SlowLog(MemoryLog):
    """A log that takes six seconds to read each batch."""

    def __init__(self, timers: VirtualTimers) -> None:
        super().__init__()
        self._timers = timers

    def read_batches(self) -> Iterator[bytes]:
        for batch in super().read_batches():
            self._timers.now_ms += 6_000
            yield batch


def test_a_partition_that_takes_long_to_load_says_how_far_it_is(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "odradek")
    timers = VirtualTimers()
    log = SlowLog(timers)
    harness = Harness()
    for offset in range(3):
        commit = messages.OffsetCommitRequest.OffsetCommitRequestPartition(0, offset)
        topics = [messages.OffsetCommitRequest.OffsetCommitRequestTopic("t", partitions=[commit])]
        harness.ask("a", ApiKey.OFFSET_COMMIT, 8, messages.OffsetCommitRequest("g", topics=topics))
    log.batches = harness.log.batches
    caplog.clear()
    coordinator = GroupCoordinator(harness.config, timers, lambda: timers.now_ms, lambda: "uuid", lambda _: log)
    assert coordinator.elect(0, log).state is ShardState.ACTIVE
    assert [record.getMessage() for record in caplog.records] == [
        "__consumer_offsets-0 is being loaded: 1 records read in 6 s",
        "__consumer_offsets-0 is being loaded: 2 records read in 12 s",
        "__consumer_offsets-0 is being loaded: 3 records read in 18 s",
        "__consumer_offsets-0 loaded: 3 records in 18000 ms",
    ]


@pytest.mark.parametrize("codec", [0, 1, 4])
def test_what_the_coordinator_writes_is_compressed_as_configured(codec: int) -> None:
    harness = Harness(GroupCoordinatorConfig(offsets_topic_num_partitions=1, offsets_topic_compression_codec=codec))
    commit = messages.OffsetCommitRequest.OffsetCommitRequestPartition(0, 7)
    topics = [messages.OffsetCommitRequest.OffsetCommitRequestTopic("t", partitions=[commit])]
    harness.ask("a", ApiKey.OFFSET_COMMIT, 8, messages.OffsetCommitRequest("g", topics=topics))
    [(_, header)] = iterate_headers(harness.log.batches[0])
    assert header.compression_type == codec
    harness.start()
    assert harness.core.offsets.get("g", "t", 0).offset == 7
