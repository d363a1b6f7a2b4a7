"""The life of a registration, in virtual time."""

from dataclasses import dataclass

from odradek.broker.metadata.image.image import BrokerState, Endpoint
from odradek.broker.metadata.quorum.lifecycle import EndBroker, Heartbeat, Lifecycle, Register, Registrant, Wait
from odradek.protocol.errors import ErrorCode
from odradek.protocol.messages.quorum import (
    BrokerHeartbeatRequest,
    BrokerHeartbeatResponse,
    BrokerRegistrationResponse,
)

DIRECTORIES = [b"b" * 16, b"a" * 16]
INTERVAL_MS = 2_000
SHUTDOWN_MS = 60_000
FAILURE_MS = 5_000


@dataclass
class Life:
    """One broker and its clock."""

    now_ms: int = 0

    def __post_init__(self) -> None:
        registrant = Registrant(
            7, "c1", b"i" * 16, [Endpoint("PLAINTEXT", "h", 9092)], {"metadata.version": (7, 30)}, "r", DIRECTORIES, 40
        )
        self.machine = Lifecycle(
            registrant,
            heartbeat_interval_ms=INTERVAL_MS,
            shutdown_timeout_ms=SHUTDOWN_MS,
            directory_failure_timeout_ms=FAILURE_MS,
        )

    def register(self, code: ErrorCode = ErrorCode.NONE) -> None:
        """Registers. A heartbeat is due one interval after an accepted request, or earlier if something has changed."""
        assert isinstance(self.machine.next(self.now_ms), Register)
        self.machine.registered(BrokerRegistrationResponse(error_code=code, broker_epoch=99), self.now_ms)
        if not code and isinstance(self.machine.next(self.now_ms), Wait):
            assert self.wait() == INTERVAL_MS

    def heartbeat(self) -> BrokerHeartbeatRequest:
        action = self.machine.next(self.now_ms)
        assert isinstance(action, Heartbeat), action
        return action.request

    def answer(
        self, *, code: ErrorCode = ErrorCode.NONE, caught_up: bool = True, fenced: bool = False, stop: bool = False
    ) -> bool:
        response = BrokerHeartbeatResponse(0, code, caught_up, fenced, stop)
        return self.machine.heartbeat_answered(response, self.now_ms)

    def wait(self) -> int:
        """Advances the clock until something is due; returns the time that passed."""
        action = self.machine.next(self.now_ms)
        assert isinstance(action, Wait)
        waited, self.now_ms = action.until_ms - self.now_ms, action.until_ms
        return waited


def running() -> Life:
    life = Life()
    life.register()
    life.heartbeat()
    life.answer(fenced=True)
    life.machine.ready_to_unfence()
    life.heartbeat()
    life.answer()
    assert life.machine.state is BrokerState.RUNNING
    return life


def test_registration_says_who_this_is() -> None:
    action = Life().machine.next(0)
    assert isinstance(action, Register)
    request = action.request
    assert (request.broker_id, request.cluster_id, request.rack, request.previous_broker_epoch) == (7, "c1", "r", 40)
    assert request.log_dirs == sorted(DIRECTORIES)
    assert [(one.name, one.host, one.port) for one in request.listeners] == [("PLAINTEXT", "h", 9092)]
    assert [(one.name, one.max_supported_version) for one in request.features] == [("metadata.version", 30)]


def test_broker_is_unfenced_only_when_it_is_caught_up_and_serves() -> None:
    life = Life()
    life.register()
    life.machine.applied(98)
    first = life.heartbeat()
    assert (first.broker_epoch, first.current_metadata_offset, first.want_fence) == (99, 98, True)
    assert first.cordoned_log_dirs is None, "not said before the broker is caught up"
    life.answer(caught_up=False, fenced=True)
    life.machine.ready_to_unfence()
    assert life.heartbeat().want_fence, "serves, but is not caught up"
    life.machine.applied(99)
    life.answer(caught_up=False, fenced=True)
    assert not life.heartbeat().want_fence
    life.answer()
    assert life.machine.state is BrokerState.RUNNING
    assert not life.machine.is_fenced


def test_start_waits_for_no_interval() -> None:
    """The first heartbeat requests unfencing as soon as the registration is applied and the logs are open.

    It is not repeated at once while the controllers commit that.
    """
    life = Life()
    life.machine.registered(BrokerRegistrationResponse(broker_epoch=99), life.now_ms)
    life.machine.applied(98)
    assert isinstance(life.machine.next(life.now_ms), Wait), "not the registration yet"
    life.machine.applied(99)
    assert isinstance(life.machine.next(life.now_ms), Wait), "nothing to ask for"
    life.machine.ready_to_unfence()
    request = life.heartbeat()
    assert (request.current_metadata_offset, request.want_fence, request.cordoned_log_dirs) == (99, False, [])
    life.answer(fenced=True)
    assert life.wait() > 0


def test_registration_that_was_applied_before_its_answer_came_is_asked_for_at_once() -> None:
    life = Life()
    life.machine.applied(99)
    life.machine.registered(BrokerRegistrationResponse(broker_epoch=99), life.now_ms)
    life.machine.ready_to_unfence()
    assert not life.heartbeat().want_fence


def test_registration_that_found_no_controller_goes_out_once_one_is_known() -> None:
    life = Life()
    life.machine.unanswered(life.now_ms, 50)
    assert isinstance(life.machine.next(life.now_ms), Wait)
    life.machine.controller_found()
    life.register()
    life.heartbeat()
    life.answer()
    life.machine.controller_found()
    assert isinstance(life.machine.next(life.now_ms), Wait), "heartbeats keep their interval"


def test_refused_registration_keeps_its_interval_under_a_new_controller() -> None:
    life = Life()
    life.register(ErrorCode.DUPLICATE_BROKER_REGISTRATION)
    life.machine.controller_found()
    assert isinstance(life.machine.next(life.now_ms), Wait)


def test_caught_up_broker_that_opens_its_logs_does_not_hurry() -> None:
    life = Life()
    life.register()
    life.heartbeat()
    life.answer(fenced=True)
    assert life.wait() == INTERVAL_MS
    assert life.heartbeat().want_fence


def test_running_broker_beats_at_its_interval() -> None:
    life = running()
    for _ in range(3):
        assert life.wait() == INTERVAL_MS
        assert not life.heartbeat().want_fence
        life.answer()


def test_registration_is_tried_again_while_the_last_session_lives() -> None:
    life = Life()
    life.register(ErrorCode.DUPLICATE_BROKER_REGISTRATION)
    assert life.machine.fatal is None
    assert "node.id 7" in (life.machine.problem or "")
    life.wait()
    life.register()
    assert life.machine.problem is None
    assert life.machine.broker_epoch == 99


def test_cluster_that_can_never_be_joined_ends_the_start() -> None:
    for code, hint in (
        (ErrorCode.INCONSISTENT_CLUSTER_ID, "cluster.id c1"),
        (ErrorCode.UNSUPPORTED_VERSION, "downgrade --feature NAME=LEVEL"),
    ):
        life = Life()
        life.register(code)
        assert hint in (life.machine.fatal or "")


def test_failed_directories_are_in_every_heartbeat_from_then_on() -> None:
    life = running()
    life.machine.directory_failed(DIRECTORIES[0], life.now_ms)
    for _ in range(4):
        assert life.heartbeat().offline_log_dirs == [DIRECTORIES[0]]
        life.answer()
        life.wait()


def test_failed_directory_is_known_before_the_broker_is_unfenced() -> None:
    life = Life()
    life.register()
    life.heartbeat()
    life.answer(fenced=True)
    life.machine.directory_failed(DIRECTORIES[0], life.now_ms)
    life.machine.ready_to_unfence()
    first = life.heartbeat()
    assert (first.offline_log_dirs, first.want_fence) == ([DIRECTORIES[0]], True)
    life.answer(fenced=True)
    assert not life.heartbeat().want_fence
    life.answer()
    assert life.machine.state is BrokerState.RUNNING


def test_broker_stops_if_no_controller_hears_of_a_failed_directory_in_time() -> None:
    life = running()
    life.machine.directory_failed(DIRECTORIES[0], life.now_ms)
    life.heartbeat()
    life.answer()
    life.wait()
    request = life.heartbeat()
    life.machine.directory_failed(DIRECTORIES[1], life.now_ms)  # while that heartbeat is in flight
    assert request.offline_log_dirs == [DIRECTORIES[0]]
    life.answer()
    assert life.heartbeat().offline_log_dirs == DIRECTORIES, "at once"
    life.machine.unanswered(life.now_ms, 50)
    life.now_ms += FAILURE_MS - 1
    assert life.heartbeat().offline_log_dirs == DIRECTORIES
    life.answer(code=ErrorCode.NOT_CONTROLLER)
    life.now_ms += 1
    action = life.machine.next(life.now_ms)
    assert isinstance(action, EndBroker), action
    assert "log.dir.failure.timeout.ms (5000 ms)" in action.reason
    life.machine.begin_shutdown(life.now_ms)
    assert life.heartbeat().want_shut_down, "a controlled shutdown has its own end"


def test_cordoned_directories_are_told_once_the_broker_is_caught_up() -> None:
    life = running()
    life.machine.cordon([DIRECTORIES[1]])
    assert life.heartbeat().cordoned_log_dirs == [DIRECTORIES[1]]


def test_controlled_shutdown_waits_until_it_is_granted() -> None:
    life = running()
    life.machine.begin_shutdown(life.now_ms)
    request = life.heartbeat()
    assert request.want_shut_down
    assert not request.want_fence
    life.answer()
    assert life.wait() < INTERVAL_MS, "it asks again soon"
    life.heartbeat()
    life.answer(stop=True)
    assert life.machine.state is BrokerState.SHUTTING_DOWN


def test_controlled_shutdown_that_no_controller_grants_ends() -> None:
    life = running()
    life.machine.begin_shutdown(life.now_ms)
    life.now_ms += SHUTDOWN_MS
    life.machine.next(life.now_ms)
    assert life.machine.state is BrokerState.SHUTTING_DOWN


def test_broker_that_never_registered_stops_at_once() -> None:
    life = Life()
    life.machine.begin_shutdown(0)
    assert life.machine.state is BrokerState.SHUTTING_DOWN


def test_answers_that_fail_are_asked_again_without_losing_the_state() -> None:
    life = running()
    life.wait()
    life.machine.unanswered(life.now_ms, 50)
    assert life.wait() == 50
    life.heartbeat()
    assert not life.answer(code=ErrorCode.STALE_BROKER_EPOCH), "the controllers know this registration no longer"
    assert life.machine.state is BrokerState.RUNNING


def test_registration_that_lacks_something_is_sent_again_and_nothing_else_changes() -> None:
    life = running()
    life.machine.register_again()
    life.register()
    assert life.machine.state is BrokerState.RUNNING
    assert not life.heartbeat().want_fence
    life.answer()
    assert life.wait() == INTERVAL_MS


def test_heartbeats_go_on_if_a_running_broker_may_not_register_again() -> None:
    life = running()
    life.machine.register_again()
    life.register(ErrorCode.UNSUPPORTED_VERSION)
    assert life.machine.fatal is None
    assert life.wait() == INTERVAL_MS
    life.heartbeat()
    life.answer()


def test_broker_that_has_not_registered_needs_no_second_registration() -> None:
    life = Life()
    life.machine.register_again()
    life.register()
    life.heartbeat()
