"""Exactly once under all failures: the seeded simulation of ``broker.transactions.simulator``."""

import os

import pytest

from .simulator import World


def run(seed: int, steps: int) -> World:
    world = World(seed)
    try:
        world.run(steps)
        world.settle()
    except AssertionError as failure:
        failure.add_note(
            f"again: ODRADEK_TRANSACTION_SEED={seed} ODRADEK_TRANSACTION_STEPS={steps} "
            "python -m pytest tests/broker/transactions/test_simulator.py -k given_seed"
        )
        raise
    return world


@pytest.mark.parametrize("seed", range(5))
def test_a_short_run(seed: int) -> None:
    world = run(seed, 4_000)
    assert min(world.events.values()) > 0, world.events


def test_given_seed() -> None:
    """The seed and the number of steps that the environment names; without them, fixed ones."""
    run(
        int(os.environ.get("ODRADEK_TRANSACTION_SEED", "4711")),
        int(os.environ.get("ODRADEK_TRANSACTION_STEPS", "4000")),
    )


@pytest.mark.nightly
@pytest.mark.parametrize("seed", range(1_000, 1_010))
def test_a_run_at_night(seed: int) -> None:
    run(seed, 10_000)


@pytest.mark.long
@pytest.mark.parametrize("seed", range(20_000, 20_010))
def test_a_long_run(seed: int) -> None:
    run(seed, 100_000)
