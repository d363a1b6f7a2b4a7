"""The timer queue: fires in order, never early, forgets what was cancelled."""

import random
from functools import partial

import pytest

from odradek.broker.timers import FEW_CANCELLED, TICK_MS, TimerQueue


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
        now += chance.randrange(0, 20)
        for callback in queue.pop_due(now):
            callback()
    now += 1000
    for callback in queue.pop_due(now):
        callback()
    assert set(fired) == set(expected), f"seed {seed}"
    assert all(fired[identity] >= expected[identity] for identity in fired)
