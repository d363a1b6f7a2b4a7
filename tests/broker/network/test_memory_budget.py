"""The memory budget of large requests: it is not exceeded, requests get it in order, and no wake-up is lost."""

import random
from functools import partial

from odradek.broker.network.memory_budget import MemoryBudget, Reservation


def test_a_reservation_waits_for_those_before_it() -> None:
    budget = MemoryBudget(100)
    granted: list[str] = []
    first = budget.reserve(80, lambda: granted.append("first"))
    second = budget.reserve(50, lambda: granted.append("second"))
    third = budget.reserve(10, lambda: granted.append("third"))  # it would fit, but the second request came first
    assert granted == ["first"]
    assert (second.is_waiting, third.is_waiting) == (True, True)
    first.release()
    assert granted == ["first", "second", "third"]
    assert budget.reserved_bytes == 60


def test_one_that_goes_while_it_waits_lets_the_next_in() -> None:
    budget = MemoryBudget(100)
    granted: list[str] = []
    budget.reserve(60, lambda: granted.append("holder"))
    waiting = budget.reserve(100, lambda: granted.append("lost"))
    budget.reserve(40, lambda: granted.append("next"))
    waiting.release()  # its connection was lost
    waiting.release()
    assert granted == ["holder", "next"]


def test_a_grant_that_releases_at_once_goes_on_with_the_next() -> None:
    budget = MemoryBudget(10)
    granted: list[int] = []
    reservations: list[Reservation] = []

    def grant(number: int) -> None:
        granted.append(number)
        if number:
            reservations[number].release()

    reservations.extend(budget.reserve(10, partial(grant, number)) for number in range(50))
    reservations[0].release()
    assert granted == list(range(50))
    assert budget.reserved_bytes == 0


def test_random_lives_end_with_everything_granted() -> None:
    for seed in range(200):
        rng = random.Random(seed)
        budget = MemoryBudget(1_000)
        alive: list[Reservation] = []
        order: list[int] = []
        for number in range(rng.randint(1, 60)):
            if alive and rng.random() < 0.5:
                alive.pop(rng.randrange(len(alive))).release()
            alive.append(budget.reserve(rng.randint(0, 1_000), partial(order.append, number)))
            assert 0 <= budget.reserved_bytes <= 1_000, seed
            assert budget.waiting_count == sum(one.is_waiting for one in alive), seed
        while alive:
            ready = [one for one in alive if not one.is_waiting]
            assert ready, f"seed {seed}: all wait, and nothing is reserved"
            alive.remove(one := rng.choice(ready))
            one.release()
        assert (budget.reserved_bytes, budget.waiting_count) == (0, 0), seed
        assert order == sorted(order), seed
