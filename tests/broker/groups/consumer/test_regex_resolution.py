"""The regular expressions of a group are resolved in several turns if there are many topics."""

from typing import Any

from odradek.broker.groups.consumer.regex_resolution import NAMES_A_STEP, PORTION
from odradek.broker.groups.modern.metadata_hash import group_hash
from odradek.protocol.apis.api_keys import ApiKey
from odradek.protocol.errors import ErrorCode
from odradek.protocol.messages.consumer_groups import ConsumerGroupHeartbeatRequest
from support.groups.harness import Harness, image_with_topics

STEPS = 4
TOPICS = {f"topic-{number}": (number.to_bytes(16, "big"), 1) for number in range(STEPS * NAMES_A_STEP)}


def _subscribe(harness: Harness, pattern: str, member: str = "a") -> Any:
    request = ConsumerGroupHeartbeatRequest(
        "g", member, 0, rebalance_timeout_ms=300_000, subscribed_topic_regex=pattern, topic_partitions=[]
    )
    answer = harness.ask(member, ApiKey.CONSUMER_GROUP_HEARTBEAT, 1, request)
    assert answer.error_code == ErrorCode.NONE, answer
    return harness.core.groups.consumer["g"]


def _turns(harness: Harness) -> int:
    """Fires timers until no resolution is in progress; returns the number of turns."""
    turns = 0
    while harness.core.groups.resolving:
        harness.timers.fire_next()
        turns += 1
    return turns


def test_a_turn_matches_some_of_the_topics_and_the_last_one_stores_them_all() -> None:
    harness = Harness(topics=TOPICS)
    group = _subscribe(harness, "topic-[0-9]*[05]")
    epoch = group.group_epoch
    harness.timers.fire_next()
    assert not group.resolved
    assert _turns(harness) >= STEPS - 1
    assert group.resolved["topic-[0-9]*[05]"].topics == {name for name in TOPICS if name[-1] in "05"}
    assert group.group_epoch == epoch + 1


def test_each_large_pattern_is_stored_in_a_turn_of_its_own() -> None:
    """The last turn raises the group's epoch, and stores nothing else."""
    topics = {f"topic-{number}": (number.to_bytes(16, "big"), 1) for number in range(PORTION)}
    harness = Harness(topics=topics)
    _subscribe(harness, "nothing")
    _turns(harness)
    for number in range(3):
        group = _subscribe(harness, f"topic-[0-9]+(x{{{number}}})?", f"member-{number}")
    harness.timers.advance(11_000)
    group = _subscribe(harness, "topic-1", "last")
    epoch = group.group_epoch
    stored, epochs = [len(group.resolved)], [epoch]
    while harness.core.groups.resolving:
        harness.timers.fire_next()
        large = sum(len(one.topics) == len(topics) for one in group.resolved.values())
        if (large, group.group_epoch) != (stored[-1], epochs[-1]):
            stored.append(large)
            epochs.append(group.group_epoch)
    assert stored[-4:] == [1, 2, 3, 3]
    assert epochs[-4:] == [epoch, epoch, epoch, epoch + 1]
    assert group.metadata_hash == group_hash(group.subscribed_topics, harness.core.groups.topics)


def test_topics_that_are_created_meanwhile_are_found_by_the_next_resolution() -> None:
    harness = Harness(topics=TOPICS)
    group = _subscribe(harness, "topic.*")
    harness.timers.fire_next()
    began_at = harness.image.last_offset
    harness.image = image_with_topics({**TOPICS, "topic-new": (b"n" * 16, 1)})
    harness.image.last_offset = began_at + 1
    _turns(harness)
    assert group.resolved["topic.*"].topics == TOPICS.keys()
    assert group.resolved["topic.*"].version == began_at, "an older version than that of the new topic"


def test_a_resolution_that_could_not_be_stored_begins_again() -> None:
    harness = Harness(topics=TOPICS)
    group = _subscribe(harness, "topic.*")
    harness.log.fail_next = ErrorCode.NOT_ENOUGH_REPLICAS
    _turns(harness)
    assert not group.resolved
    harness.timers.advance(1_000)
    assert group.resolved["topic.*"].topics == TOPICS.keys()
