"""The seeded simulator of groups: the main test of coordination. One line replays a run that failed."""

import pytest

from .simulation import SeededRuns
from .simulator import GroupSimulator

RUNS = SeededRuns(GroupSimulator, "ODRADEK_GROUP", steps=1_500, file=__file__)


@pytest.mark.parametrize("seed", range(20))
def test_simulated_groups(seed: int) -> None:
    RUNS.run(seed)


def test_given_seed() -> None:
    RUNS.run_given()


@pytest.mark.nightly
@pytest.mark.parametrize("seed", range(1_000, 1_010))
def test_simulated_groups_at_night(seed: int) -> None:
    RUNS.run(seed, 10_000)


@pytest.mark.long
@pytest.mark.parametrize("seed", range(10_000, 10_010))
def test_simulated_groups_at_length(seed: int) -> None:
    RUNS.run(seed, 1_000_000)
