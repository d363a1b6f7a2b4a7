"""The seeded simulator of consumer groups. One line replays a run that failed."""

import pytest

from ..simulation import SeededRuns
from .simulator import ConsumerGroupSimulator

RUNS = SeededRuns(ConsumerGroupSimulator, "ODRADEK_CONSUMER_GROUP", steps=1_000, file=__file__)


@pytest.mark.parametrize("seed", range(8))
def test_simulated_consumer_groups(seed: int) -> None:
    RUNS.run(seed)


def test_given_seed() -> None:
    RUNS.run_given()


@pytest.mark.nightly
@pytest.mark.parametrize("seed", range(1_000, 1_010))
def test_simulated_consumer_groups_at_night(seed: int) -> None:
    RUNS.run(seed, 10_000)


@pytest.mark.long
@pytest.mark.parametrize("seed", range(10_000, 10_010))
def test_simulated_consumer_groups_at_length(seed: int) -> None:
    RUNS.run(seed, 1_000_000)
