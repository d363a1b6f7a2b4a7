"""The order of a replay."""

import random

from odradek.testing.traffic.exchange import LazyDocument, RecordedExchange
from odradek.testing.traffic.replay import ReplayPlan


def exchange(number: int, step: int, answer_step: int | None, connection: int = 1) -> RecordedExchange:
    """An exchange at a place in the recording."""
    return RecordedExchange(number, connection, "c", 3, 12, 0, step, LazyDocument(dict), answer_step=answer_step)


def numbers(plan: ReplayPlan) -> list[int]:
    """The requests that may be sent now."""
    return [one.number for one in plan.ready()]


def test_what_happened_one_after_the_other_does_so_again() -> None:
    plan = ReplayPlan([exchange(1, 1, 2), exchange(2, 3, 4, connection=2)])
    assert numbers(plan) == [1]
    assert plan.awaited() == [1]
    assert numbers(plan) == []
    plan.settle(1)
    assert numbers(plan) == [2]
    assert not plan.is_done
    plan.settle(2)
    assert plan.is_done


def test_what_overlapped_overlaps_again() -> None:
    """A fetch (1) that waits until a produce (2) is served."""
    plan = ReplayPlan([exchange(1, 1, 3), exchange(2, 2, 4, connection=2), exchange(3, 5, 6)])
    assert numbers(plan) == [1, 2]
    plan.settle(2)
    assert numbers(plan) == []
    assert plan.awaited() == [1]
    plan.settle(1)
    assert numbers(plan) == [3]


def test_what_was_never_answered_is_sent_and_not_awaited() -> None:
    plan = ReplayPlan([exchange(1, 1, None), exchange(2, 2, 3)])
    assert numbers(plan) == [1, 2]
    plan.settle(2)
    assert plan.is_done


def test_a_random_recording_keeps_its_order() -> None:
    for seed in range(200):
        rng = random.Random(seed)
        steps = list(range(1, 41))
        exchanges: list[RecordedExchange] = []
        running: list[RecordedExchange] = []
        for step in steps:
            if running and rng.random() < 0.5:
                running.pop(rng.randrange(len(running))).answer_step = step
            else:
                running.append(exchange(len(exchanges) + 1, step, None))
                exchanges.append(running[-1])
        plan = ReplayPlan(exchanges)
        sent: list[RecordedExchange] = []
        settled: set[int] = set()
        while not plan.is_done:
            for one in plan.ready():
                before = {other.number for other in exchanges if (other.answer_step or 99) < one.step}
                assert before <= settled, seed
                sent.append(one)
            open_now = [one for one in sent if one.number not in settled and one.answer_step is not None]
            if open_now:
                number = rng.choice(open_now).number
                settled.add(number)
                plan.settle(number)
        assert sent == exchanges, seed
