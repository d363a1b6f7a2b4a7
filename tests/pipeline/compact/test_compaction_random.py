"""Random partitions, alternately written and cleaned: our cleaner and Kafka's write the same files at the same time.

Each has several rounds, some with a full map, then daily rounds until one changes nothing. Every round is compared. A
failing seed prints the line that replays it. With the scenarios of test_compaction_scenarios.py these are
65 partitions in CI and 205 each night.
"""

from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path

import pytest

from odradek.pipeline.engine.engines import available_cores
from support.kafka.java import java_or_skip
from support.pipeline.compaction_rounds import CleanerOracle

from .compaction_random import CLEANERS, compare, compare_in_pool, start_oracle

BLOCK = 100


@pytest.mark.java
@pytest.mark.parametrize("seed", range(20))
def test_every_file_equals_kafkas(tmp_path: Path, cleaner_oracle: CleanerOracle, seed: int) -> None:
    names = list(CLEANERS)
    assert compare(seed, CLEANERS[names[seed % len(names)]], cleaner_oracle, tmp_path / "partition") >= 2


@pytest.fixture(scope="module")
def pool() -> Iterator[ProcessPoolExecutor]:
    """A process for each core, each with a JVM, because a comparison only computes."""
    java_or_skip()
    with ProcessPoolExecutor(available_cores(), get_context("spawn"), initializer=start_oracle) as processes:
        yield processes


@pytest.mark.nightly
@pytest.mark.java
@pytest.mark.parametrize("first", range(20, 160, 20))
def test_every_file_of_twenty_partitions_equals_kafkas(tmp_path: Path, pool: ProcessPoolExecutor, first: int) -> None:
    names = list(CLEANERS)
    seeds = range(first, first + 20)
    compared = [pool.submit(compare_in_pool, n, names[n % len(names)], tmp_path / str(n)) for n in seeds]
    assert min(one.result() for one in compared) >= 1


@pytest.mark.long
@pytest.mark.java
@pytest.mark.parametrize("name", CLEANERS)
@pytest.mark.parametrize("first", range(200, 2000, BLOCK))
def test_every_file_of_thousands_of_partitions_equals_kafkas(
    tmp_path: Path, cleaner_oracle: CleanerOracle, first: int, name: str
) -> None:
    for seed in range(first, first + BLOCK):
        compare(seed, CLEANERS[name], cleaner_oracle, tmp_path / "partition")
