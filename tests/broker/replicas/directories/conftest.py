"""A broker with two log directories for each test."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from .two_log_dirs import TwoLogDirs


@pytest.fixture
def two(tmp_path: Path) -> Iterator[TwoLogDirs]:
    """A running broker with the directories `a` and `b`."""
    both = TwoLogDirs(tmp_path)
    yield both
    both.broker.stop()
