"""The seeded simulator of consumer groups. One line replays a run that failed."""

import os

import pytest

from .simulator import ConsumerGroupSimulator

SEED_VARIABLE = "ODRADEK_CONSUMER_GROUP_SEED"
STEPS_VARIABLE = "ODRADEK_CONSUMER_GROUP_STEPS"
STEPS = 1_000
STEPS_LONG = 1_000_000


def _run(seed: int, steps: int) -> int:
    simulator = ConsumerGroupSimulator(seed)
    try:
        simulator.run(steps)
    except BaseException:
        variables = f"{SEED_VARIABLE}={seed} {STEPS_VARIABLE}={steps}"
        print(f"\nreplay: {variables} python -m pytest {__file__} -k given_seed  # event {simulator.events}")
        raise
    return simulator.events


@pytest.mark.parametrize("seed", range(8))
def test_simulated_consumer_groups(seed: int) -> None:
    assert _run(seed, STEPS) == STEPS


def test_given_seed() -> None:
    """The seed and the number of steps that the environment names; without them, fixed ones."""
    steps = int(os.environ.get(STEPS_VARIABLE, str(STEPS)))
    assert _run(int(os.environ.get(SEED_VARIABLE, "4711")), steps) == steps


@pytest.mark.ci
@pytest.mark.parametrize("seed", range(1_000, 1_010))
def test_simulated_consumer_groups_in_ci(seed: int) -> None:
    assert _run(seed, 10_000) == 10_000


@pytest.mark.long
@pytest.mark.parametrize("seed", range(10_000, 10_010))
def test_simulated_consumer_groups_at_length(seed: int) -> None:
    assert _run(seed, STEPS_LONG) == STEPS_LONG
