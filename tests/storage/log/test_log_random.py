"""Seeded random operations on a log, compared with a model after each one; crashes cut the unsynced tail anywhere."""

from pathlib import Path

import pytest

from support.data.log_model import Driver


def run(directory: Path, seed: int, steps: int) -> None:
    try:
        Driver(directory / "topic-0", seed).run(steps)
    except Exception as difference:
        difference.add_note(f"replay: Driver(directory, {seed}).run({steps})  # tests/support/data/log_model.py")
        raise


@pytest.mark.parametrize("seed", range(60))
def test_log_behaves_like_the_model(tmp_path: Path, seed: int) -> None:
    run(tmp_path, seed, 120)


@pytest.mark.long
@pytest.mark.parametrize("seed", range(1000, 2000))
def test_log_behaves_like_the_model_many_seeds(tmp_path: Path, seed: int) -> None:
    run(tmp_path, seed, 300)
