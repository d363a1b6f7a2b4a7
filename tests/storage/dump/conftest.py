"""Fixtures of the dump-log tests."""

import pytest

from support.data.dump_log import Dump, dump_in_process


@pytest.fixture
def dump(capfdbinary: pytest.CaptureFixture[bytes]) -> Dump:
    """Runs ``odradek dump-log`` with the arguments given to it."""
    return dump_in_process(capfdbinary)
