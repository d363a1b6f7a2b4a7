"""The bounded queue is compared with a model: turns, order, limits. Seeded."""

import random

import pytest

from odradek.broker.metadata.quorum.fair_queue import FairQueue

Item = tuple[str, int, int]
"""Client, number, size."""


def put(queue: FairQueue[Item], item: Item) -> list[Item]:
    return queue.put(item[0], item, item[2])


def test_clients_are_served_in_turn_each_in_its_order() -> None:
    queue: FairQueue[Item] = FairQueue(100, 1000)
    for number in range(4):
        put(queue, ("many", number, 1))
    put(queue, ("few", 0, 1))
    put(queue, ("one", 0, 1))
    put(queue, ("few", 1, 1))
    served = [queue.pop()[:2] for _ in range(len(queue))]
    assert served == [("many", 0), ("few", 0), ("one", 0), ("many", 1), ("few", 1), ("many", 2), ("many", 3)]
    with pytest.raises(IndexError):
        queue.pop()


def test_full_queue_drops_the_newest_of_the_client_that_has_most() -> None:
    queue: FairQueue[Item] = FairQueue(4, 1000)
    for number in range(4):
        assert put(queue, ("many", number, 1)) == []
    assert put(queue, ("many", 4, 1)) == [("many", 4, 1)], "its own newest"
    assert put(queue, ("few", 0, 1)) == [("many", 3, 1)]
    assert put(queue, ("few", 1, 1)) == [("many", 2, 1)]
    assert put(queue, ("few", 2, 1)) == [("few", 2, 1)], "both have as many: the one that arrives leaves"


def test_bytes_are_short_before_the_count_and_who_has_most_of_them_loses() -> None:
    queue: FairQueue[Item] = FairQueue(100, 50)
    put(queue, ("large", 0, 40))
    for number in range(10):
        assert put(queue, ("small", number, 1)) == []
    assert put(queue, ("small", 10, 1)) == [("large", 0, 40)]
    assert put(queue, ("huge", 0, 60)) == [("huge", 0, 60)]
    assert (len(queue), queue.size) == (11, 11)


def test_one_item_is_never_too_large() -> None:
    queue: FairQueue[Item] = FairQueue(1, 50)
    assert put(queue, ("huge", 0, 60)) == []
    assert queue.pop() == ("huge", 0, 60)
    assert (len(queue), queue.size) == (0, 0)


@pytest.mark.parametrize("seed", range(20))
def test_nothing_is_lost_and_the_limits_hold(seed: int) -> None:
    chance = random.Random(seed)
    queue: FairQueue[Item] = FairQueue(8, 60)
    waiting: dict[str, list[Item]] = {}
    for number in range(400):
        if chance.random() < 0.6:
            item = (chance.choice("abcde"), number, chance.randint(0, 20))
            waiting.setdefault(item[0], []).append(item)
            for dropped in put(queue, item):
                assert waiting[dropped[0]].pop() == dropped, f"seed {seed}: the newest of its client"
        elif queue:
            item = queue.pop()
            assert waiting[item[0]].pop(0) == item, f"seed {seed}: the oldest of its client"
        rest = [one for items in waiting.values() for one in items]
        assert (len(queue), queue.size) == (len(rest), sum(one[2] for one in rest)), f"seed {seed}"
        assert len(queue) <= 8, f"seed {seed}"
        assert queue.size <= 60, f"seed {seed}"
