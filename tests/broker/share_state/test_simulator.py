"""The seeded simulator of the share coordinator. One line replays a run that failed."""

import os

import pytest

from .simulator import ShareSimulator

SEED, STEPS = "ODRADEK_SHARE_STATE_SEED", "ODRADEK_SHARE_STATE_STEPS"


def run(seed: int, steps: int = 400) -> None:
    world = ShareSimulator(seed)
    try:
        world.run(steps)
    except BaseException:
        print(
            f"\nreplay: {SEED}={seed} {STEPS}={steps} python -m pytest {__file__} -k given_seed  # event {world.events}"
        )
        raise


@pytest.mark.parametrize("seed", range(30))
def test_simulated_states(seed: int) -> None:
    run(seed)


def test_given_seed() -> None:
    run(int(os.environ.get(SEED, "4711")), int(os.environ.get(STEPS, "400")))


@pytest.mark.nightly
@pytest.mark.parametrize("seed", range(1_000, 1_010))
def test_simulated_states_at_night(seed: int) -> None:
    run(seed, 5_000)
