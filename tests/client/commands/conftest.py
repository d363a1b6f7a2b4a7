"""A shell for the tests of the commands."""

from pathlib import Path

import pytest

from ..command_shell import Shell


@pytest.fixture
def shell(bootstrap: str, capfdbinary: pytest.CaptureFixture[bytes], tmp_path: Path) -> Shell:
    return Shell(bootstrap, capfdbinary, tmp_path)
