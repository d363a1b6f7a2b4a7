"""`odradek compact` is killed with SIGKILL at any write. A resumed run writes the same bytes as a run that was not
killed.

It is resumed at once, or after our broker's or Kafka's loader has opened the directory, which was stopped cleanly
before the compaction. (A recovery of the whole log would recompute the last stable offsets in the transaction indexes,
also in Kafka.) tests/storage/log/test_half_done.py opens the directory after each rename of the exchange with both.
"""

import random
import shutil
from pathlib import Path

import pytest

from faults.compaction_killed import KilledFiles, compact_killed
from odradek.pipeline.compact.job import compact_directory
from odradek.pipeline.compact.plan import CompactionOrder
from odradek.storage.files.descriptors import DescriptorCache
from odradek.storage.log.log import Log
from odradek.storage.log.log_config import LogConfig
from support.data.log_directories import compactable_directory, segment_bytes
from support.data.log_histories import HISTORY_START_MS
from support.disks.unsynced_files import UnsyncedFiles
from support.pipeline.compaction_rounds import CleanerOracle

HOUR_MS = 3_600_000
NOW_MS = HISTORY_START_MS + 10 * HOUR_MS
CONFIGS = {"cleanup.policy": "compact", "delete.retention.ms": str(HOUR_MS), "internal.segment.bytes": "8000"}
MOMENTS, MOMENTS_LONG = 30, 200


def order(directory: Path) -> CompactionOrder:
    return CompactionOrder(directory, NOW_MS, ("t",), configs=CONFIGS)


class Killed:
    """A directory of two partitions, and its content after a run that was not killed."""

    def __init__(self, root: Path, seed: int) -> None:
        self.seed = seed
        self.root = root
        self.chance = random.Random(seed)
        self.original = compactable_directory(root / "original", seed, steps=60, partitions=2)
        whole = root / "whole"
        shutil.copytree(self.original, whole)
        files = KilledFiles()
        assert not any(outcome.refusal for outcome in compact_directory(order(whole), files))
        self.steps = files.steps
        self.expected = segment_bytes(whole)

    def at_a_random_moment(self, number: int, oracle: CleanerOracle | None = None) -> None:
        """Kills a run, and sometimes also the one that resumes it; checks the result of the last one."""
        directory = self.root / "killed"
        shutil.copytree(self.original, directory)
        moments = []
        for _ in range(self.chance.choice((1, 1, 1, 2, 3))):
            moments.append((self.chance.randrange(self.steps), self.chance.choice((None, self.chance.randrange(9999)))))
            compact_killed(order(directory), *moments[-1])
        opened = self.chance.choice(("by nobody", "by ours", "by Kafka" if oracle else "by ours"))
        what = f"seed {self.seed}, moment {number}: killed at {moments} of {self.steps} steps, opened {opened}"
        for partition in sorted(directory.glob("t-*")):
            if opened == "by ours":
                descriptors = DescriptorCache(UnsyncedFiles())
                Log.open(partition, LogConfig(), now_ms=NOW_MS, clean_shutdown=True, descriptors=descriptors).close()
            elif opened == "by Kafka":
                assert oracle is not None
                oracle.open(partition, LogConfig(), NOW_MS)
        outcomes = list(compact_directory(order(directory), UnsyncedFiles()))
        assert not any(outcome.refusal for outcome in outcomes), what
        found = segment_bytes(directory)
        assert sorted(found) == sorted(self.expected), what
        for name, data in found.items():
            assert data == self.expected[name], f"{what}: {name}"
        shutil.rmtree(directory)


@pytest.mark.ci
def test_killed_at_a_few_moments(tmp_path: Path) -> None:
    killed = Killed(tmp_path, 1)
    for number in range(6):
        killed.at_a_random_moment(number)


@pytest.mark.nightly
@pytest.mark.java
def test_killed_at_30_random_moments(tmp_path: Path) -> None:
    with CleanerOracle() as oracle:
        for seed in range(3):
            killed = Killed(tmp_path / str(seed), seed)
            for number in range(MOMENTS // 3):
                killed.at_a_random_moment(number, oracle)


@pytest.mark.long
@pytest.mark.java
@pytest.mark.parametrize("seed", range(10, 20))
def test_killed_at_200_random_moments(tmp_path: Path, seed: int) -> None:
    with CleanerOracle() as oracle:
        killed = Killed(tmp_path, seed)
        for number in range(MOMENTS_LONG // 10):
            killed.at_a_random_moment(number, oracle)
