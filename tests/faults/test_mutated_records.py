"""Records that no broker writes, in the logs of the coordinators: nothing but their own partition may suffer.

A failure prints the line that replays it. ``support/loading_fuzz.py`` says what a life is.
"""

import logging
from collections.abc import Iterator

import pytest

from support.loading_fuzz import KINDS, RECORDS_PER_LIFE

FEW_LIVES = 10
CI_RECORDS = 100_000
LONG_RECORDS = 1_000_000
FEW_SEED, CI_SEED, LONG_SEED = 1, 40_000, 41_000
LIVES_PER_SEED = 400
"""After this many lives the values are drawn anew, from the next seed."""


@pytest.fixture(autouse=True)
def quiet() -> Iterator[None]:
    """Without the millions of log lines of groups that come and go."""
    logging.disable(logging.ERROR)
    yield
    logging.disable(logging.NOTSET)


def run(kind: str, seed: int, records: int) -> None:
    """Enough lives for a number of records."""
    lives_left = -(-records // RECORDS_PER_LIFE)
    while lives_left:
        lives = KINDS[kind](seed)
        count = min(lives_left, LIVES_PER_SEED)
        for life in range(count):
            lives.run(life)
        assert lives.asked > count
        lives_left -= count
        seed += 1


@pytest.mark.parametrize("kind", KINDS)
def test_a_few_mutated_records(kind: str) -> None:
    run(kind, FEW_SEED, FEW_LIVES * RECORDS_PER_LIFE)


@pytest.mark.ci
@pytest.mark.parametrize("kind", KINDS)
def test_mutated_records(kind: str) -> None:
    """100,000 in all."""
    run(kind, CI_SEED, CI_RECORDS // len(KINDS))


@pytest.mark.long
@pytest.mark.parametrize("kind", KINDS)
def test_a_million_mutated_records(kind: str) -> None:
    run(kind, LONG_SEED, LONG_RECORDS // len(KINDS))
