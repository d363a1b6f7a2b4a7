"""Heartbeats fence, unfence and stop a broker as Kafka's BrokerHeartbeatManager decides, in virtual time."""

import pytest

from odradek.broker.metadata.image.image import BrokerRegistration
from odradek.protocol.messages.quorum import BrokerHeartbeatRequest
from odradek.testing.controller.broker_sessions import BrokerControlState as State
from odradek.testing.controller.broker_sessions import BrokerSessions

REGISTERED_AT = 10
EVERYONE_BEFORE = 19


def broker(*, fenced: bool = False, stopping: bool = False) -> BrokerRegistration:
    return BrokerRegistration(1, REGISTERED_AT, bytes(16), {}, {}, None, fenced, stopping, (b"d" * 16,))


def heartbeat(offset: int = 50, *, fence: bool = False, shut_down: bool = False) -> BrokerHeartbeatRequest:
    return BrokerHeartbeatRequest(1, REGISTERED_AT, offset, want_fence=fence, want_shut_down=shut_down)


@pytest.mark.parametrize(
    ("before", "request_", "leads", "after"),
    [
        (broker(fenced=True), heartbeat(REGISTERED_AT - 1), False, State.FENCED),
        (broker(fenced=True), heartbeat(REGISTERED_AT), False, State.UNFENCED),
        (broker(fenced=True), heartbeat(fence=True), False, State.FENCED),
        (broker(fenced=True), heartbeat(shut_down=True), True, State.SHUTDOWN_NOW),
        (broker(), heartbeat(0), True, State.UNFENCED),
        (broker(), heartbeat(fence=True), True, State.FENCED),
        (broker(), heartbeat(shut_down=True), True, State.CONTROLLED_SHUTDOWN),
        (broker(), heartbeat(shut_down=True), False, State.SHUTDOWN_NOW),
        (broker(), heartbeat(fence=True, shut_down=True), True, State.SHUTDOWN_NOW),
        (broker(stopping=True), heartbeat(shut_down=True), True, State.CONTROLLED_SHUTDOWN),
        (broker(stopping=True), heartbeat(shut_down=True), False, State.SHUTDOWN_NOW),
    ],
)
def test_next_state(before: BrokerRegistration, request_: BrokerHeartbeatRequest, leads: bool, after: State) -> None:
    state = BrokerSessions(9000).next_state(before, request_, registered_at=REGISTERED_AT, leads=leads, active=[])
    assert state is after


def test_shutdown_waits_until_every_active_broker_has_applied_it() -> None:
    sessions = BrokerSessions(9000)

    def state() -> State:
        before, request = broker(stopping=True), heartbeat(shut_down=True)
        return sessions.next_state(before, request, registered_at=REGISTERED_AT, leads=False, active=[2, 3])

    sessions.shutdown_began(1, EVERYONE_BEFORE + 1)
    sessions.touch(2, EVERYONE_BEFORE + 1, 0)
    sessions.touch(3, EVERYONE_BEFORE, 0)
    assert state() is State.CONTROLLED_SHUTDOWN
    sessions.touch(3, EVERYONE_BEFORE + 1, 0)
    assert state() is State.SHUTDOWN_NOW


def test_session_ends_after_its_timeout_and_not_before() -> None:
    sessions = BrokerSessions(9000)
    sessions.begin([1, 2], 0)
    sessions.touch(2, 5, 1)
    assert sessions.expired([1, 2, 3], 9000) == [3]
    assert sessions.expired([1, 2], 9001) == [1]
    assert not sessions.is_valid(1, 9001)


def test_session_of_a_broker_that_may_stop_is_over() -> None:
    """Its next registration is accepted at once. Apache Kafka's controllers delay it."""
    sessions = BrokerSessions(9000)
    sessions.begin([1, 2], 0)
    sessions.end(1)
    sessions.end(3)
    assert [sessions.is_valid(broker_id, 1) for broker_id in (1, 2)] == [False, True]


def test_pause_of_the_controller_ends_no_session() -> None:
    sessions = BrokerSessions(9000)
    sessions.begin([1], 0)
    sessions.extend(30_000)
    assert sessions.expired([1], 39_000) == []
    assert sessions.expired([1], 39_001) == [1]
