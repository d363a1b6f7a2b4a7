"""Programs of Debian packages that tests run."""

import os
import shutil

import pytest

from support.docker.engine import EngineMissingError, install


def program_or_skip(program: str, *packages: str, is_complete: bool = True) -> None:
    """Installs ``packages`` unless ``program`` is on the PATH.

    Skips the test with the reason if they can't be had (fails it if CI=true). ``is_complete``: False if the program is
    there, but a part of it is missing.
    """
    if shutil.which(program) is not None and is_complete:
        return
    try:
        install(*packages)
    except EngineMissingError as error:
        if os.environ.get("CI") == "true":
            pytest.fail(str(error))
        pytest.skip(str(error))
