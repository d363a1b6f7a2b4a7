"""Requests go to the active controller if it is known, otherwise to each controller in turn."""

from odradek.broker.config.server_config import ServerConfig
from odradek.broker.metadata.quorum.known_controllers import DOUBTS, NO_LEADER, Address, KnownControllers

A, B, C = Address("127.0.0.1", 9093), Address("127.0.0.1", 9094), Address("::1", 9095)


def configured(key: str, value: str) -> KnownControllers:
    overrides = ["process.roles=broker", "node.id=7", "controller.listener.names=CONTROLLER", f"{key}={value}"]
    return KnownControllers.of(ServerConfig.load(None, overrides))


def test_voters_are_known_by_id() -> None:
    known = configured("controller.quorum.voters", "1@127.0.0.1:9093,2@127.0.0.1:9094")
    assert known.any() == A
    known.take_leader(2, 5)
    assert known.active == B


def test_only_controller_is_presumed_to_be_active_until_one_is_named() -> None:
    known = configured("controller.quorum.voters", "1@127.0.0.1:9093")
    assert (known.active, known.presumed) == (None, A)
    known.take_leader(NO_LEADER, 2)
    assert known.presumed is None, "it has said that there is none"
    assert configured("controller.quorum.voters", "1@127.0.0.1:9093,2@127.0.0.1:9094").presumed is None


def test_bootstrap_servers_are_asked_in_turn_until_one_names_the_leader() -> None:
    known = configured("controller.quorum.bootstrap.servers", "127.0.0.1:9093,127.0.0.1:9094,[::1]:9095")
    asked = []
    for _ in range(4):
        asked.append(known.any())
        known.failed(known.any())
    assert asked == [A, B, C, A]
    known.take_address(3000, C)
    known.take_leader(3000, 4)
    assert known.any() == known.active == C
    assert str(C) == "[::1]:9095"


def test_leader_that_does_not_answer_is_forgotten_and_comes_back_with_the_next_answer() -> None:
    known = KnownControllers([A], {1: A, 2: B})
    assert known.take_leader(1, 3)
    known.failed(A)
    assert (known.leader_id, known.leader_epoch, known.active) == (NO_LEADER, 3, None)
    assert known.take_leader(1, 3)
    assert known.active == A


def test_epoch_of_the_leader_never_goes_back() -> None:
    known = KnownControllers([], {1: A, 2: B})
    assert known.take_leader(2, 7)
    assert not known.take_leader(1, 6)
    assert not known.take_leader(2, 7)
    assert not known.take_leader(NO_LEADER, 7)
    assert known.active == B
    assert known.take_leader(NO_LEADER, 8)
    assert known.active is None


def test_leader_that_hangs_is_not_asked_again_because_a_standby_names_it() -> None:
    known = KnownControllers([], {1: A, 2: B, 3: C})
    known.take_leader(1, 3)
    known.silent(A)
    for _ in range(DOUBTS - 1):
        assert known.any() == B
        assert not known.take_leader(1, 3, B)
    assert known.take_leader(2, 4, B), "they have elected another one"
    assert known.active == B
    assert known.take_leader(1, 5, B)
    assert known.active == A


def test_leader_that_hung_is_asked_again_after_a_while_and_by_its_own_word_at_once() -> None:
    known = KnownControllers([], {1: A, 2: B})
    known.take_leader(1, 3)
    known.silent(A)
    while not known.take_leader(1, 3, B):
        assert known.any() == B
    assert known.active == A
    known.silent(A)
    assert known.take_leader(1, 3, A)
    known.silent(A)
    asked = []
    for _ in range(DOUBTS + 2):  # the others can't be reached
        asked.append(known.any())
        known.failed(known.any())
    assert A in asked
    alone = KnownControllers([A], {})
    alone.silent(A)
    assert alone.any() == A
