"""Crashes at every write point of all operations of a log directory: what is guaranteed survives."""

import errno
import random
from pathlib import Path

import pytest

from support.disks.simulated_disk import StrictDisk

from ..crashes.moves import MoveRun
from ..crashes.run import CrashRun


@pytest.mark.parametrize("seed", [*range(6), *(pytest.param(seed, marks=pytest.mark.nightly) for seed in range(6, 20))])
def test_nothing_promised_is_lost_at_any_write_point(tmp_path: Path, seed: int) -> None:
    run = CrashRun(tmp_path, seed, often=0.35)
    run.run()
    assert run.points > 20


@pytest.mark.parametrize("seed", [*range(3), *(pytest.param(seed, marks=pytest.mark.nightly) for seed in range(3, 16))])
def test_nothing_promised_is_lost_while_replicas_move_between_directories(tmp_path: Path, seed: int) -> None:
    """A copy, its exchange with the replica, and a start that continues or ends a move, among all other operations."""
    run = MoveRun(tmp_path, seed, often=0.3)
    run.run()
    assert run.points > 20


@pytest.mark.ci
def test_the_histories_have_what_they_are_about(tmp_path: Path) -> None:
    """The histories have cleaning rounds that swapped in groups, rounds that a move ended, and moves."""
    runs = [MoveRun(tmp_path / str(seed), seed, often=0) for seed in range(20, 30)]
    for run in runs:
        run.run()
    assert sum(run.moved for run in runs) > 10
    assert sum(run.cleaning.groups for run in runs) > 5
    assert sum(run.cleaning.interrupted for run in runs) > 0


@pytest.mark.parametrize("error", [errno.ENOSPC, errno.EIO])
@pytest.mark.parametrize("seed", range(400, 410))
@pytest.mark.parametrize("kind", [CrashRun, pytest.param(MoveRun, marks=pytest.mark.ci)])
def test_a_disk_that_refuses_anything_once_costs_nothing_acknowledged(
    tmp_path: Path, seed: int, error: int, kind: type[CrashRun]
) -> None:
    """One operation of the disk fails, each of them in turn, a write after half of its bytes. What was acknowledged
    survives.
    """
    run = kind(tmp_path, seed, often=0)
    run.disk.faults = {run.disk.operations + 20 + random.Random(seed).randrange(250): error}
    run.run(40)


@pytest.mark.parametrize("seed", range(200, 215))
@pytest.mark.parametrize("kind", [CrashRun, MoveRun])
def test_no_open_file_is_renamed_or_removed(tmp_path: Path, seed: int, kind: type[CrashRun]) -> None:
    """In append, roll, retention, truncation, cleaning, moves, deletion, stop and start, as Windows requires."""
    run = kind(tmp_path, seed, often=0, disk=StrictDisk)
    run.run(60)
    assert isinstance(run.disk, StrictDisk)
    assert not run.disk.refused


@pytest.mark.long
@pytest.mark.parametrize("seed", range(5000, 5100))
def test_nothing_promised_is_lost_at_any_write_point_many_seeds(tmp_path: Path, seed: int) -> None:
    CrashRun(tmp_path, seed).run()


@pytest.mark.long
@pytest.mark.parametrize("seed", range(6000, 6050))
def test_nothing_promised_is_lost_while_replicas_move_many_seeds(tmp_path: Path, seed: int) -> None:
    MoveRun(tmp_path, seed).run()
