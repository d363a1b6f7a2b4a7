"""Sessions do not expire because of a stall of the broker: the rules and the timers, in virtual time."""

from collections.abc import Callable
from functools import partial
from random import Random

from odradek.broker.timers.patience import (
    DRAIN_MAX_MS,
    HOLD_MAX_MS,
    LATE_MS,
    LEAST_GRACE_MS,
    LONGEST_GRACE_MS,
    TICK_MS,
    Patience,
)
from odradek.broker.timers.patient_timers import HOLD_CHECK_MS, PatientTimers
from odradek.broker.timers.timer_queue import TIMERS

from ..virtual_loop import VirtualLoop

SESSION_MS = 6_000
HEARTBEAT_MS = 2_000


class World:
    """Timers on a virtual loop. A test sets whether the sockets are drained."""

    def __init__(self) -> None:
        self.loop = VirtualLoop()
        self.is_drained = True
        self.looks_raise = False
        self.drains = 0
        self.suspended_ms = 0
        self.wake_ups = 0
        self.fired: list[tuple[str, float]] = []
        self.timers = PatientTimers(self.loop, self._unread, self._woke, lambda: self.suspended_ms)

    def _unread(self) -> Callable[[], bool]:
        self.drains += 1
        if self.looks_raise:
            raise KeyError("a bug")
        return lambda: self.is_drained

    def _woke(self, now_ms: int, suspended_ms: int) -> None:
        self.wake_ups += 1

    def expires(self, name: str, delay_ms: int) -> None:
        """Sets a timer that notes when it fired."""
        self.timers.schedule(delay_ms, lambda: self.fired.append((name, self.loop.now_ms)))

    @property
    def names(self) -> list[str]:
        return [name for name, _ in self.fired]


def test_timers_fire_in_time_without_a_stall() -> None:
    world = World()
    world.expires("a", 2_600)
    world.expires("b", 100)
    world.loop.run(10_000)
    assert world.names == ["b", "a"]
    assert 2_600 <= world.fired[1][1] - 1_000 < 2_620
    assert world.drains == 0


def test_a_stall_does_not_count_for_a_session() -> None:
    world = World()
    world.expires("session", SESSION_MS)
    world.loop.run(4_000)
    world.loop.stall(60_000)
    world.loop.run(LONGEST_GRACE_MS + 100)
    assert world.fired, "a member that is gone expires"
    world = World()
    world.expires("session", 30_000)
    world.loop.run(4_000)
    world.loop.stall(60_000)
    world.loop.run(25_000)
    assert not world.fired, "it has as much time left as before"
    world.loop.run(1_000 + TICK_MS)
    assert world.names == ["session"]


def test_nothing_expires_before_the_sockets_are_drained_and_a_grace_has_passed() -> None:
    world = World()
    world.expires("session", 100)
    world.is_drained = False
    world.loop.stall(LATE_MS + 700)
    world.loop.run(2_000)
    assert not world.fired
    world.is_drained = True
    world.loop.run(LEAST_GRACE_MS - 2 * HOLD_CHECK_MS)
    assert not world.fired
    world.loop.run(500)
    assert world.names == ["session"]


def test_a_heartbeat_that_is_read_after_the_stall_keeps_the_session() -> None:
    world = World()
    handle = world.timers.schedule(SESSION_MS, lambda: world.fired.append(("session", world.loop.now_ms)))
    world.loop.run(SESSION_MS - 1)
    world.loop.stall(8_400)
    world.loop.run(50)
    assert world.timers.postpone(handle, SESSION_MS), "it is not due yet"
    world.loop.run(SESSION_MS - 100)
    assert not world.fired
    world.loop.run(LONGEST_GRACE_MS)
    assert world.names == ["session"]


def test_a_client_that_never_stops_sending_stops_no_expiration() -> None:
    world = World()
    world.expires("session", 100)
    world.is_drained = False
    world.loop.stall(2_000)
    world.loop.run(DRAIN_MAX_MS + 2_000 + 100)
    assert world.names == ["session"]


def test_an_exception_of_the_look_at_the_sockets_stops_no_timer() -> None:
    world = World()
    before = TIMERS.failures
    world.expires("session", 100)
    world.looks_raise = True
    world.loop.stall(2_000)
    world.loop.run(DRAIN_MAX_MS + 2_000 + 100)
    world.expires("next", 100)
    world.loop.run(200)
    assert world.names == ["session", "next"]
    assert TIMERS.failures > before


def test_stalls_in_a_row_hold_back_for_a_bounded_time() -> None:
    world = World()
    world.expires("gone", 100)
    awake_ms = 0
    while not world.fired:
        world.loop.stall(LATE_MS + TICK_MS + 100)
        world.loop.run(300)
        awake_ms += 300
        assert awake_ms <= HOLD_MAX_MS + 1_000
    assert awake_ms > 5_000, "each stall gives a grace"


def test_a_suspended_machine_counts_as_a_stall() -> None:
    world = World()
    world.expires("session", 100)
    world.suspended_ms += 8 * 3_600_000
    world.loop.run(LONGEST_GRACE_MS - 200)
    assert not world.fired, "clients have to connect again first"
    world.loop.run(1_000)
    assert world.names == ["session"]


def test_stalls_and_suspensions_are_lost_time() -> None:
    patience = Patience(0)
    patience.armed(1_000)
    patience.note_wakeup(1_000 + 5_000, 0)
    patience.armed(6_500)
    patience.note_wakeup(6_500 + LATE_MS - 1, 0)
    patience.armed(7_500)
    patience.note_wakeup(7_500, 60_000)
    assert patience.lost_ms == 65_000
    assert patience.stalled_ms == 5_000


def test_a_clock_that_is_set_back_is_no_stall() -> None:
    world = World()
    world.expires("session", 100)
    world.suspended_ms -= 3_600_000
    world.loop.run(200)
    assert world.names == ["session"]


def test_a_busy_moment_is_no_stall() -> None:
    patience = Patience(0)
    patience.armed(1_000)
    assert patience.note_wakeup(1_000 + LATE_MS - 1, 0) == 0
    assert patience.may_expire(1_000 + LATE_MS, is_drained=False)
    patience.armed(2_000)
    assert patience.note_wakeup(2_000 + LATE_MS, 0) == LATE_MS
    assert not patience.may_expire(2_000 + LATE_MS, is_drained=True)


def test_nothing_wakes_up_after_the_end() -> None:
    world = World()
    world.expires("session", 100)
    world.timers.close()
    world.loop.run(1_000)
    assert (world.fired, world.wake_ups) == ([], 0)


def test_no_living_member_expires_and_each_dead_one_does() -> None:
    """Members send heartbeats, which arrive only while the broker runs. Stalls happen at any moment."""
    seed = Random().randrange(1 << 32)
    random = Random(seed)
    for _ in range(20):
        members_alive_and_dead(random, f"Random({seed}) replays it")


def members_alive_and_dead(random: Random, replay: str) -> None:
    world = World()
    dead_at_ms = random.randrange(5_000, 60_000)
    members = {
        name: world.timers.schedule(SESSION_MS, partial(world.expires, name, 0))
        for name in (f"member {number}" for number in range(5))
    }
    sent_ms = {name: random.randrange(HEARTBEAT_MS) + 1_000.0 for name in members}
    unread: list[str] = []
    awake_ms = 0.0
    while awake_ms < 120_000:
        step = random.choice([10, 100, 400])
        if random.random() < 0.02:
            world.loop.stall(random.choice([600, 3_000, 9_000, 40_000]))
        for name in members:
            # One request is in flight at a time: the next heartbeat follows an answer.
            is_alive = name != "member 0" or world.loop.now_ms < dead_at_ms
            if is_alive and name not in unread and world.loop.now_ms >= sent_ms[name] + HEARTBEAT_MS:
                unread.append(name)
                sent_ms[name] = world.loop.now_ms
        world.is_drained = not unread
        world.loop.run(step)
        awake_ms += step
        for name in [unread.pop(0) for _ in range(min(len(unread), random.randrange(1, 4)))]:
            if name not in world.names:
                assert world.timers.postpone(members[name], SESSION_MS), f"{name} was expelled; {replay}"
    assert world.names == ["member 0"], replay
