"""Random lives of a share partition (:mod:`.simulator`)."""

import pytest

from support.each import each

from .simulator import World

STEPS = 2_000


def live(seed: int, steps: int) -> World:
    """One life. A failure names the seed and the step."""
    world = World(seed)
    for step in range(steps):
        try:
            world.step()
        except Exception as error:
            error.add_note(f"replay: live({seed}, {step + 1})")
            raise
    world.settle()
    return world


@each("seed", range(10))
def test_each_record_has_one_state_and_none_that_was_done_comes_back(seed: int) -> None:
    world = live(seed, STEPS)
    assert world.acquired > 500, "the life has given away too few records to show anything"
    assert world.acknowledged > 100, "the life has acknowledged too few records to show anything"


@pytest.mark.long
def test_a_million_steps() -> None:
    for seed in range(100, 200):
        live(seed, 10_000)
