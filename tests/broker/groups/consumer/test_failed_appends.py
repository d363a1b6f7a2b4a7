"""A failed append loses no state: the removal of a member is retried, and a new member is counted at once."""

from odradek.broker.groups.config import GroupCoordinatorConfig
from odradek.protocol.errors import ErrorCode
from support.groups.harness import Harness

from .simulated_consumer import SESSION_MS, SimulatedConsumer, Subscription

RETRY_MS = 500
T = b"t" * 16


def harness_of_one_topic() -> Harness:
    config = GroupCoordinatorConfig(
        offsets_topic_num_partitions=1,
        group_consumer_session_timeout_ms=SESSION_MS,
        group_consumer_assignment_interval_ms=0,
    )
    return Harness(config, {"t": (T, 4)})


def member(harness: Harness, name: str, topics: frozenset[str] = frozenset({"t"})) -> SimulatedConsumer:
    consumer = SimulatedConsumer(name, harness, "g", None, lambda: name)
    consumer.start(Subscription(topics), None)
    consumer.heartbeat()
    return consumer


def members(harness: Harness) -> set[str]:
    return set(harness.core.groups.consumer["g"].members)


def test_a_session_that_ends_while_nothing_can_be_appended_ends_half_a_second_later() -> None:
    harness = harness_of_one_topic()
    member(harness, "a")
    harness.log.fail_next = ErrorCode.NOT_ENOUGH_REPLICAS
    harness.timers.advance(SESSION_MS)
    assert members(harness) == {"a"}
    harness.timers.advance(RETRY_MS - 1)
    assert members(harness) == {"a"}
    harness.timers.advance(1)
    assert members(harness) == set()


def test_a_heartbeat_before_the_next_attempt_saves_the_member() -> None:
    harness = harness_of_one_topic()
    consumer = member(harness, "a")
    harness.log.fail_next = ErrorCode.NOT_ENOUGH_REPLICAS
    harness.timers.advance(SESSION_MS)
    consumer.heartbeat()
    harness.timers.advance(RETRY_MS)
    assert members(harness) == {"a"}
    harness.timers.advance(SESSION_MS)
    assert members(harness) == set()


def test_a_member_that_could_not_leave_is_out_when_its_session_ends() -> None:
    harness = harness_of_one_topic()
    consumer = member(harness, "a")
    harness.log.fail_next = ErrorCode.NOT_ENOUGH_REPLICAS
    consumer.leave(for_a_while=False)
    assert members(harness) == {"a"}
    harness.timers.advance(SESSION_MS)
    assert members(harness) == set()


def test_who_joins_without_a_subscription_while_an_assignment_is_due_is_assigned_nothing() -> None:
    harness = harness_of_one_topic()
    reader, other = member(harness, "a"), member(harness, "b")
    for _ in range(3):
        for consumer in (reader, other):
            consumer.give_up_one()
            consumer.give_up_one()
            consumer.take_over()
            consumer.heartbeat()
    other.leave(for_a_while=False)  # the group epoch rises, its target assignment is not computed yet
    member(harness, "c", frozenset())
    targets = harness.core.groups.consumer["g"].target_assignment
    assert targets == {"a": {T: frozenset(range(4))}, "c": {}}
