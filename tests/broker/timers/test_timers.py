"""The timer queue fires in order, never early, and forgets cancelled timers."""

import asyncio
import random
from collections.abc import Callable
from functools import partial

import pytest

from odradek.broker.timers.loop_timers import LoopTimers
from odradek.broker.timers.timer_queue import FEW_CANCELLED, FIRED_A_TURN, TICK_MS, TIMERS, DueCallbacks, TimerQueue


def test_never_early_and_at_most_a_tick_late() -> None:
    queue = TimerQueue()
    fired: list[int] = []
    for deadline in (17, 3, 100, 16):
        queue.add(deadline, lambda deadline=deadline: fired.append(deadline))  # type: ignore[misc]
    for now in range(120):
        before = len(fired)
        for callback in queue.pop_due(now):
            callback()
        assert all(deadline <= now < deadline + TICK_MS for deadline in fired[before:])
    assert sorted(fired) == [3, 16, 17, 100]
    assert queue.next_deadline_ms() is None


def test_cancelled_timers_neither_fire_nor_wake_up() -> None:
    queue = TimerQueue()
    handles = [queue.add(1000 + i, lambda: None) for i in range(10)]
    for handle in handles:
        handle.cancel()
    assert queue.next_deadline_ms() is None
    assert queue.pop_due(10_000) == []


def test_a_timer_that_is_due_can_still_be_cancelled_by_another() -> None:
    queue = TimerQueue()
    fired: list[str] = []
    second = queue.add(10, lambda: fired.append("second"))

    def first() -> None:
        fired.append("first")
        second.cancel()

    queue.add(8, first)
    for callback in queue.pop_due(20):
        callback()
    assert fired == ["first"]


def test_cancelled_timers_of_the_far_future_do_not_pile_up() -> None:
    queue = TimerQueue()
    fired: list[int] = []
    for number in range(10):
        queue.add(1_000_000 + number, partial(fired.append, number))
    for number in range(20_000):
        queue.add(2_000_000 + 16 * number, lambda: None).cancel()
        assert len(queue) <= 10 + FEW_CANCELLED + 1
    assert queue.next_deadline_ms() == 1_000_000
    for callback in queue.pop_due(1_100_000):
        callback()
    assert fired == list(range(10))
    assert queue.next_deadline_ms() is None
    assert len(queue) == 0


def test_a_postponed_timer_fires_at_its_last_deadline_and_wakes_nobody_before() -> None:
    queue = TimerQueue()
    fired: list[int] = []
    handle = queue.add(100, lambda: fired.append(0))
    for deadline in (180, 260, 301):
        assert handle.postpone(deadline)
    assert queue.next_deadline_ms() == 304, "rounded up to a tick"
    assert queue.pop_due(303) == []
    assert len(queue) == 1
    [fire] = queue.pop_due(304)
    fire()
    assert fired == [0]
    assert len(queue) == 0


def test_a_timer_is_not_postponed_to_a_sooner_time_nor_once_it_is_due_or_cancelled() -> None:
    queue = TimerQueue()
    fired: list[int] = []
    handle = queue.add(100, lambda: fired.append(0))
    assert not handle.postpone(99)
    assert handle.postpone(100)
    [fire] = queue.pop_due(100)
    assert not handle.postpone(200), "it is about to fire"
    fire()
    assert fired == [0]
    cancelled = queue.add(300, lambda: fired.append(1))
    assert cancelled.postpone(400)
    cancelled.cancel()
    assert not cancelled.postpone(500)
    assert queue.pop_due(1_000) == []
    assert len(queue) == 0


async def test_the_loop_fires_a_postponed_timer_once_at_its_last_deadline() -> None:
    loop = asyncio.get_running_loop()
    timers = LoopTimers(loop)
    fired_at_s: list[float] = []
    fired = asyncio.Event()

    def fire() -> None:
        fired_at_s.append(loop.time())
        fired.set()

    began_s = loop.time()
    handle = timers.schedule(20, fire)
    assert timers.postpone(handle, 60)
    assert not timers.postpone(handle, 20), "that would be sooner"
    await fired.wait()
    assert not timers.postpone(handle, 60), "it has fired"
    behind = asyncio.Event()
    timers.schedule(40, behind.set)
    await behind.wait()
    [at_s] = fired_at_s
    assert at_s - began_s >= 0.059, "the clock is read in whole milliseconds"
    timers.close()


@pytest.mark.parametrize("seed", range(50))
def test_against_a_model(seed: int) -> None:
    chance = random.Random(seed)
    queue = TimerQueue()
    expected: dict[int, int] = {}
    fired: dict[int, int] = {}
    handles = {}
    now = 0

    def fire(identity: int) -> None:
        fired.setdefault(identity, now)

    for identity in range(300):
        deadline = now + chance.randrange(0, 500)
        handles[identity] = queue.add(deadline, partial(fire, identity))
        expected[identity] = deadline
        if chance.random() < 0.5:
            victim = chance.randrange(identity + 1)
            handles[victim].cancel()
            if victim not in fired:
                expected.pop(victim, None)
        if chance.random() < 0.5:
            favoured = chance.randrange(identity + 1)
            later = now + chance.randrange(0, 500)
            if handles[favoured].postpone(later):
                assert favoured in expected, "it has neither fired nor been cancelled"
                assert later >= expected[favoured]
                expected[favoured] = later
        now += chance.randrange(0, 20)
        for callback in queue.pop_due(now):
            callback()
    now += 1000
    for callback in queue.pop_due(now):
        callback()
    assert set(fired) == set(expected), f"seed {seed}"
    assert all(fired[identity] >= expected[identity] for identity in fired)
    assert len(queue) == 0


def test_many_timers_that_are_due_at_once_share_several_turns() -> None:
    soon: list[Callable[[], None]] = []
    called: list[int] = []
    due = DueCallbacks(soon.append)
    due.add(partial(called.append, number) for number in range(2 * FIRED_A_TURN))
    due.add([lambda: due.add([partial(called.append, -1)])])
    turns = []
    while soon:
        soon.pop(0)()
        turns.append(len(called))
        assert len(soon) <= 1
    assert turns == [FIRED_A_TURN, 2 * FIRED_A_TURN, 2 * FIRED_A_TURN, 2 * FIRED_A_TURN + 1]
    assert called == [*range(2 * FIRED_A_TURN), -1]


def test_a_timer_that_fails_takes_no_other_with_it() -> None:
    soon: list[Callable[[], None]] = []
    called: list[str] = []
    queue, due, failures = TimerQueue(), DueCallbacks(soon.append), TIMERS.failures
    for callback in (
        partial(called.append, "before"),
        lambda: called.append("failing" + 1),  # type: ignore[operator]
        partial(called.append, "after"),
    ):
        queue.add(0, callback)
    due.add(queue.pop_due(TICK_MS))
    soon.pop(0)()
    assert called == ["before", "after"]
    assert TIMERS.failures == failures + 1
    assert not soon
