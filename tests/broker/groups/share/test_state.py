"""The stored state of share partitions: begun for new partitions, deleted with groups and offsets. Virtual time."""

from typing import Any

import pytest

from odradek.broker.groups.share.group import StatePartitions, StateTopics
from odradek.broker.metadata.image.image import TopicImage
from odradek.protocol.apis.api_keys import ApiKey
from odradek.protocol.common.steps import run_to_end
from odradek.protocol.errors import ErrorCode
from odradek.protocol.messages.groups import DeleteGroupsRequest
from odradek.protocol.messages.share_groups import AlterShareGroupOffsetsRequest, DeleteShareGroupOffsetsRequest
from support.groups.harness import Harness, hard_state

from .share_world import ShareWorld, T, U, config, key_of

RETRY_MS = 30_000


@pytest.fixture
def world() -> ShareWorld:
    return ShareWorld(Harness(config()))


def topics_of(world: ShareWorld) -> StateTopics:
    assert world.group.state_topics is not None
    return world.group.state_topics


def partitions(topics: Any) -> dict[bytes, set[int]]:
    return {topic_id: set(one.partitions) for topic_id, one in topics.items()}


def grow(world: ShareWorld, name: str, count: int) -> None:
    image = world.harness.image
    topic = image.topics_by_name[name]
    grown = dict.fromkeys(range(count), topic.partitions[0])
    image.topics_by_name[name] = image.topics_by_id[topic.topic_id] = TopicImage(name, topic.topic_id, grown)
    run_to_end(world.harness.coordinator.topics_changed({name}, False))


def delete_topic(world: ShareWorld, name: str) -> None:
    image = world.harness.image
    topic_id = image.topics_by_name.pop(name).topic_id
    del image.topics_by_id[topic_id]
    run_to_end(world.harness.coordinator.share_topics_deleted([topic_id]))
    run_to_end(world.harness.coordinator.topics_changed({name}, False))


def delete_group(world: ShareWorld, *group_ids: str) -> list[int]:
    answer = world.later(ApiKey.DELETE_GROUPS, 2, DeleteGroupsRequest(list(group_ids or ("g",))))
    return [one.error_code for one in answer.results]


def test_added_partitions_begin_at_their_first_record(world: ShareWorld) -> None:
    world.join("a", "u")
    world.settle("a")
    grow(world, "u", 4)
    world.settle("a")
    assert world.harness.persister.states[key_of(U, 0)][1] == -1
    assert [world.harness.persister.states[key_of(U, index)][1] for index in (2, 3)] == [0, 0]
    assert world.assigned["a"] == {U: [0, 1, 2, 3]}
    assert partitions(topics_of(world).initialized) == {U: {0, 1, 2, 3}}


def test_a_failed_start_is_tried_again_at_the_next_heartbeat(world: ShareWorld) -> None:
    world.harness.persister.fail = ErrorCode.COORDINATOR_NOT_AVAILABLE
    world.join("a", "t")
    world.wait()
    assert topics_of(world) == StateTopics()
    world.heartbeat("a")
    assert partitions(topics_of(world).initializing) == {T: {0, 1, 2, 3}}
    world.wait()
    world.harness.persister.fail = ErrorCode.NONE
    world.settle("a")
    assert world.assigned["a"] == {T: [0, 1, 2, 3]}


def test_a_lost_start_is_asked_for_again_after_the_retry_interval(world: ShareWorld) -> None:
    world.harness.persister.held = True
    world.join("a", "t")
    world.wait()
    world.harness.start()
    world.harness.persister.waiting.clear()
    world.harness.persister.held = False
    asked = len(world.harness.persister.asked)
    world.heartbeat("a")
    world.wait(RETRY_MS - 1)
    world.heartbeat("a")
    world.wait(0)
    assert len(world.harness.persister.asked) == asked
    world.wait(1)
    world.settle("a")
    assert world.assigned["a"] == {T: [0, 1, 2, 3]}


def test_a_deletion_waits_for_the_answers_to_the_request_before_it(world: ShareWorld) -> None:
    world.harness.persister.held = True
    world.join("a", "t")
    world.wait()
    world.leave("a")
    world.harness.send("admin", ApiKey.DELETE_GROUPS, 2, DeleteGroupsRequest(["g"]))
    world.wait()
    assert world.harness.answers == []
    assert {what for what, _ in world.harness.persister.asked} == {"initialize"}
    world.harness.persister.release()
    assert topics_of(world).initialized == {}, "the topic is being deleted already"
    world.wait()
    assert [one.error_code for one in world.harness.answers.pop()[1].results] == [ErrorCode.NONE]
    assert world.harness.core.groups.share == {}
    assert world.harness.persister.states == {}


def test_state_from_before_a_deletion_does_not_count_for_a_later_member(world: ShareWorld) -> None:
    """A seed of the simulator found it: the group took the state for stored that the deletion then deleted."""
    world.harness.persister.held = True
    world.join("a", "t")
    world.wait()
    world.leave("a")
    world.harness.send("admin", ApiKey.DELETE_GROUPS, 2, DeleteGroupsRequest(["g"]))
    world.wait()
    world.join("b", "t")
    world.harness.persister.release()
    assert topics_of(world).initialized == {}
    world.settle("b")
    assert world.assigned["b"] == {T: [0, 1, 2, 3]}
    assert world.harness.persister.states.keys() == {key_of(T, index) for index in range(4)}


def test_a_request_that_has_waited_ends_when_the_group_has_moved(world: ShareWorld) -> None:
    world.harness.persister.held = True
    world.join("a", "t")
    world.wait()
    world.leave("a")
    world.harness.send("admin", ApiKey.DELETE_GROUPS, 2, DeleteGroupsRequest(["g"]))
    world.wait()
    world.harness.coordinator.resign(0)
    world.harness.persister.release()
    world.wait()
    assert [one.error_code for one in world.harness.answers.pop()[1].results] == [ErrorCode.NOT_COORDINATOR]
    assert {what for what, _ in world.harness.persister.asked} == {"initialize"}


def test_state_that_is_made_while_the_group_is_deleted_stays() -> None:
    world = ShareWorld(Harness(config(), {"large": (T, 100)}))
    world.join("a", "large")
    world.settle("a")
    world.leave("a")
    world.harness.send("admin", ApiKey.DELETE_GROUPS, 2, DeleteGroupsRequest(["g"]))
    world.harness.timers.fire_next()
    assert 0 < len(world.harness.persister.states) < 100, "some are deleted"
    world.join("b", "large")
    world.wait()
    assert [one.error_code for one in world.harness.answers.pop()[1].results] == [ErrorCode.NON_EMPTY_GROUP]
    world.settle("b")
    assert world.assigned["b"] == {T: list(range(100))}
    assert len(world.harness.persister.states) == 100


def test_offsets_that_are_being_set_are_deleted(world: ShareWorld) -> None:
    world.alter({"t": {0: 1}})
    world.harness.persister.held = True
    kind = AlterShareGroupOffsetsRequest
    partition = kind.AlterShareGroupOffsetsRequestPartition(1, 5)
    alteration = kind("g", [kind.AlterShareGroupOffsetsRequestTopic("t", [partition])])
    world.harness.send("admin", ApiKey.ALTER_SHARE_GROUP_OFFSETS, 0, alteration)
    world.wait()
    topic = DeleteShareGroupOffsetsRequest.DeleteShareGroupOffsetsRequestTopic("t")
    world.harness.send("admin", ApiKey.DELETE_SHARE_GROUP_OFFSETS, 0, DeleteShareGroupOffsetsRequest("g", [topic]))
    world.wait()
    world.harness.persister.release()
    world.wait()
    assert topics_of(world) == StateTopics()
    assert world.harness.persister.states == {}


def test_state_whose_answer_was_lost_is_deleted_with_the_group(world: ShareWorld) -> None:
    world.harness.persister.held = True
    world.join("a", "t")
    world.wait()
    world.leave("a")
    world.harness.log.fail_next = ErrorCode.NOT_ENOUGH_REPLICAS
    world.harness.persister.release()
    assert partitions(topics_of(world).initializing) == {T: {0, 1, 2, 3}}
    assert len(world.harness.persister.states) == 4
    assert delete_group(world) == [ErrorCode.NONE]
    assert world.harness.persister.states == {}


def test_a_deleted_group_leaves_no_state(world: ShareWorld) -> None:
    world.join("a", "t", "u")
    world.settle("a")
    assert delete_group(world) == [ErrorCode.NON_EMPTY_GROUP]
    world.leave("a")
    world.harness.persister.fail = ErrorCode.NOT_COORDINATOR
    assert delete_group(world) == [ErrorCode.NOT_COORDINATOR]
    assert set(topics_of(world).deleting) == {T, U}
    assert topics_of(world).initialized == {}
    world.harness.persister.fail = ErrorCode.NONE
    assert delete_group(world, "g", "h") == [ErrorCode.NONE, ErrorCode.GROUP_ID_NOT_FOUND]
    assert world.harness.persister.states == {}
    assert world.harness.core.groups.share == {}
    world.harness.start()
    assert world.harness.core.groups.share == {}


def test_a_group_forgets_deleted_topics(world: ShareWorld) -> None:
    world.join("a", "t", "u")
    world.settle("a")
    delete_topic(world, "t")
    assert partitions(topics_of(world).initialized) == {U: {0, 1}}
    before = world.group.group_epoch
    world.settle("a")
    assert world.assigned["a"] == {U: [0, 1]}
    assert world.group.group_epoch == before + 1
    world.settle("a")
    assert world.group.group_epoch == before + 1
    world.harness.start()
    world.settle("a")
    assert world.group.group_epoch == before + 1


def test_offsets_are_altered(world: ShareWorld) -> None:
    answer = world.alter({"t": {0: 300, 9: 1, -1: 1}, "x": {0: 1}})
    told = [
        [(one.partition_index, one.error_code, one.error_message) for one in topic.partitions]
        for topic in answer.responses
    ]
    unknown = (ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION.message)
    assert told == [[(0, 0, None), (9, *unknown), (-1, *unknown)], [(0, *unknown)]]
    assert [topic.topic_id for topic in answer.responses] == [T, bytes(16)]
    assert world.harness.persister.states == {key_of(T, 0): (1, 300, 0)}
    assert partitions(topics_of(world).initialized) == {T: {0}}
    assert world.describe()[0].group_state == "Empty"
    offsets = world.offsets(None).topics
    assert [(one.topic_name, one.partitions[0].start_offset, one.partitions[0].lag) for one in offsets] == [
        ("t", 300, -300)
    ]
    world.harness.ends["t", 0] = 305
    assert world.offsets({"t": [0]}).topics[0].partitions[0].lag == 5
    world.harness.ends["t", 0] = ErrorCode.OFFSET_NOT_AVAILABLE
    unknown_end = world.offsets({"t": [0]}).topics[0].partitions[0]
    assert (unknown_end.error_code, unknown_end.start_offset) == (ErrorCode.OFFSET_NOT_AVAILABLE, 0)
    world.join("a", "t")
    refused = world.alter({"t": {0: 1}})
    assert (refused.error_code, refused.error_message) == (
        ErrorCode.NON_EMPTY_GROUP,
        ErrorCode.NON_EMPTY_GROUP.message,
    )
    world.leave("a")
    world.settle()
    world.harness.persister.fail = ErrorCode.NOT_COORDINATOR
    failed = world.alter({"t": {0: 1, 1: 2}}).responses[0].partitions
    assert {one.error_code for one in failed} == {ErrorCode.NOT_COORDINATOR}
    assert world.alter({"t": {0: 1}}, group_id="").error_code == ErrorCode.INVALID_GROUP_ID
    assert not world.alter({}, group_id="new").error_code
    assert "new" not in world.harness.core.groups.share


def test_offsets_are_deleted(world: ShareWorld) -> None:
    assert world.delete("t").error_message == "Group g not found."
    assert world.delete("t", group_id="").error_code == ErrorCode.INVALID_GROUP_ID
    world.join("a", "t")
    world.settle("a")
    assert world.delete("t").error_code == ErrorCode.NON_EMPTY_GROUP
    world.leave("a")
    told = [(one.topic_name, one.error_code, one.error_message) for one in world.delete("u", "t", "x").responses]
    unknown = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert told == [
        ("t", 0, None),
        ("u", unknown, "There is no offset information to delete."),
        ("x", unknown, unknown.message),
    ]
    assert world.harness.persister.states == {}
    assert topics_of(world) == StateTopics()
    assert world.offsets(None).topics == []


def test_a_failed_deletion_of_offsets_is_repeated(world: ShareWorld) -> None:
    world.alter({"t": {0: 1}, "u": {1: 2}})
    world.harness.persister.fail = ErrorCode.NETWORK_EXCEPTION
    assert [one.error_code for one in world.delete("t").responses] == [ErrorCode.NETWORK_EXCEPTION]
    assert set(topics_of(world).deleting) == {T}
    world.harness.persister.fail = ErrorCode.NONE
    before = hard_state(world.harness.core)
    world.harness.start()
    assert hard_state(world.harness.core) == before
    assert [one.error_code for one in world.delete("t").responses] == [ErrorCode.NONE]
    assert world.harness.persister.states == {key_of(U, 1): (1, 2, 0)}


def test_what_is_described_of_partitions_without_state(world: ShareWorld) -> None:
    described = world.offsets({"x": [3], "t": [0, 77]}).topics
    assert [(one.topic_name, [part.partition_index for part in one.partitions]) for one in described] == [
        ("t", [0, 77]),
        ("x", [3]),
    ]
    assert {(part.start_offset, part.lag) for one in described for part in one.partitions} == {(-1, -1)}
    assert world.offsets({}).topics == []
    world.harness.persister.fail = ErrorCode.NOT_COORDINATOR
    assert world.offsets({"t": [0]}).topics[0].partitions[0].start_offset == -1


def test_partitions_of_large_topics_take_several_turns() -> None:
    world = ShareWorld(Harness(config(), {"large": (T, 3_000)}))
    world.join("a", "large")
    turns = 0
    while world.harness.timers.next_ms() == world.harness.timers.now_ms:
        world.harness.timers.fire_next()
        turns += 1
    assert turns > 90
    assert len(topics_of(world).initialized[T].partitions) == 3_000
    assert world.heartbeat("a").member_epoch == 2, "the assignor needs further turns"
    world.join("b", "large")
    assert "g" in world.harness.core.groups.sharing
    world.settle("a", "b")
    assert [len(world.assigned[who][T]) for who in "ab"] == [1_500, 1_500]
    assert world.harness.core.groups.sharing == {}


def test_a_topic_is_not_deleted_and_initialized_at_once(world: ShareWorld) -> None:
    world.alter({"t": {0: 1}})
    world.harness.persister.fail = ErrorCode.NETWORK_EXCEPTION
    world.delete("t")
    world.harness.persister.fail = ErrorCode.NONE
    world.join("a", "t")
    assert topics_of(world).deleting == {}
    assert topics_of(world).initializing == {T: StatePartitions("t", frozenset(range(4)), world.harness.timers.now_ms)}
    world.settle("a")
    assert world.assigned["a"] == {T: [0, 1, 2, 3]}
