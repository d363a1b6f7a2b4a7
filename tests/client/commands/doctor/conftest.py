"""The doctor, as a fixture."""

import pytest

from .running import Doctor


@pytest.fixture
def doctor(capfdbinary: pytest.CaptureFixture[bytes]) -> Doctor:
    return Doctor(capfdbinary)
