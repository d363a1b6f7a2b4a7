"""Random partitions, written and cleaned in turn: ours and Kafka's own Cleaner leave the same files at the same clock.

Several rounds each, some with a map that gets full, then day after day until a round changes nothing: each round is
compared. A seed that fails says the line that replays it. With the scenarios of test_compaction_scenarios.py these are
325 partitions in CI.
"""

from pathlib import Path

import pytest

from support.compaction_random import CLEANERS, compare
from support.compaction_rounds import CleanerOracle

BLOCK = 100


@pytest.mark.java
@pytest.mark.parametrize("seed", range(20))
def test_every_file_equals_kafkas(tmp_path: Path, cleaner_oracle: CleanerOracle, seed: int) -> None:
    assert compare(seed, CLEANERS["offline"], cleaner_oracle, tmp_path / "partition") >= 2


@pytest.mark.ci
@pytest.mark.java
@pytest.mark.parametrize("first", range(20, 280, 20))
def test_every_file_of_260_partitions_equals_kafkas(tmp_path: Path, cleaner_oracle: CleanerOracle, first: int) -> None:
    names = list(CLEANERS)
    for seed in range(first, first + 20):
        compare(seed, CLEANERS[names[seed % len(names)]], cleaner_oracle, tmp_path / "partition")


@pytest.mark.long
@pytest.mark.java
@pytest.mark.parametrize("name", CLEANERS)
@pytest.mark.parametrize("first", range(1000, 2000, BLOCK))
def test_every_file_of_thousands_of_partitions_equals_kafkas(
    tmp_path: Path, cleaner_oracle: CleanerOracle, first: int, name: str
) -> None:
    for seed in range(first, first + BLOCK):
        compare(seed, CLEANERS[name], cleaner_oracle, tmp_path / "partition")
