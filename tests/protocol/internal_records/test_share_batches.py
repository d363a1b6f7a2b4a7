"""Merging state batches: against a model that has a state for each offset."""

import random

import pytest

from odradek.protocol.internal_records.share_batches import StateBatch, combined, is_valid, merge
from support.groups.state_per_offset import PerOffset

HIGHEST = 40


def random_batches(rng: random.Random) -> list[StateBatch]:
    batches = []
    for _ in range(rng.randrange(5)):
        first = rng.randrange(HIGHEST)
        last = min(HIGHEST, first + rng.choice((0, 1, 3, 20)))
        batches.append(StateBatch(first, last, rng.choice((0, 2, 3, 4)), rng.randrange(1, 4)))
    return batches


@pytest.mark.parametrize("seed", range(300))
def test_merging_is_that_of_single_offsets(seed: int) -> None:
    rng = random.Random(seed)
    stored: list[StateBatch] = []
    model = PerOffset()
    start_offset = -1
    for step in range(30):
        if rng.random() < 0.3:
            start_offset = rng.randrange(-1, HIGHEST)
        new = random_batches(rng)
        merge(stored, new, start_offset)
        model.merge(new, start_offset)
        assert stored == model.batches(), f"seed {seed}, step {step}: {new}, start {start_offset}"


@pytest.mark.parametrize("seed", range(100))
def test_the_order_of_writes_does_not_matter(seed: int) -> None:
    rng = random.Random(seed)
    batches = [batch for _ in range(4) for batch in random_batches(rng)]
    shuffled = rng.sample(batches, len(batches))
    assert combined(batches, 5) == combined(shuffled, 5), f"seed {seed}"


def test_equal_neighbours_join_and_others_do_not() -> None:
    first, second = StateBatch(0, 4, 2, 1), StateBatch(5, 9, 2, 1)
    assert combined([second, first], -1) == [StateBatch(0, 9, 2, 1)]
    assert combined([first, second._replace(delivery_count=2)], -1) == [first, StateBatch(5, 9, 2, 2)]


def test_a_higher_count_wins_then_a_higher_state() -> None:
    stored = [StateBatch(0, 9, 2, 1)]
    merge(stored, [StateBatch(3, 5, 0, 2)], -1)
    assert stored == [StateBatch(0, 2, 2, 1), StateBatch(3, 5, 0, 2), StateBatch(6, 9, 2, 1)]
    merge(stored, [StateBatch(0, 9, 4, 1)], -1)
    assert stored == [StateBatch(0, 2, 4, 1), StateBatch(3, 5, 0, 2), StateBatch(6, 9, 4, 1)]


def test_the_start_offset_cuts() -> None:
    assert combined([StateBatch(0, 9, 2, 1), StateBatch(20, 29, 2, 1)], 5) == [
        StateBatch(5, 9, 2, 1),
        StateBatch(20, 29, 2, 1),
    ]
    assert combined([StateBatch(0, 9, 2, 1)], 10) == []


def test_which_offsets_make_sense() -> None:
    assert is_valid(StateBatch(-3, -3, 9, -1)), "Kafka takes any state, count and first offset"
    assert not is_valid(StateBatch(5, 4, 2, 1))
    assert not is_valid(StateBatch(5, 2**63 - 1, 2, 1)), "Kafka would compute the next offset"
