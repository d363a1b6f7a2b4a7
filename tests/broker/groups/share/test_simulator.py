"""The seeded simulator of share groups. One line replays a run that failed."""

import pytest

from ..simulation import SeededRuns
from .simulator import ShareGroupSimulator

RUNS = SeededRuns(ShareGroupSimulator, "ODRADEK_SHARE_GROUP", steps=1_000, file=__file__)


@pytest.mark.parametrize("seed", range(8))
def test_simulated_share_groups(seed: int) -> None:
    RUNS.run(seed)


def test_given_seed() -> None:
    RUNS.run_given()


@pytest.mark.nightly
@pytest.mark.parametrize("seed", range(1_000, 1_010))
def test_simulated_share_groups_at_night(seed: int) -> None:
    RUNS.run(seed, 2_000)


@pytest.mark.long
@pytest.mark.parametrize("seed", range(10_000, 10_010))
def test_simulated_share_groups_at_length(seed: int) -> None:
    RUNS.run(seed, 100_000)
