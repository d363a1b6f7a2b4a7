"""The pytest plugin that compares lanes with the general path in every test with a broker.

Brokers in the process of the tests and brokers in processes of their own are compared. A test during which a lane
differed fails in its teardown, with each difference.
"""

import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

DIFFERENCES = "TESTS_LANE_DIFFERENCES"
"""As in :mod:`.lane_comparison`, which imports the broker."""
SHOWN = 10


class LaneComparison:
    """Collects the differences of each test."""

    def __init__(self, config: pytest.Config) -> None:
        self._folder = Path(tempfile.mkdtemp(prefix="lane-differences-"))
        config.add_cleanup(lambda: shutil.rmtree(self._folder))
        os.environ[DIFFERENCES] = str(self._folder)
        found = os.environ.get("PYTHONPATH", "").split(os.pathsep)
        here = str(Path(__file__).parent)
        if here not in found:
            os.environ["PYTHONPATH"] = os.pathsep.join([here, *filter(None, found)])

    def pytest_sessionstart(self) -> None:
        """Wraps the lanes of brokers in this process. Not before: odradek's plugin decides how pytest imports it."""
        from support.compared_lanes.lane_comparison import install

        install()

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_teardown(self) -> Iterator[None]:
        """Fails the test that has just ended if a lane differed during it."""
        try:
            return (yield)
        finally:
            differences = self._take()
            if differences:
                shown = "\n".join(differences[:SHOWN])
                pytest.fail(f"{len(differences)} differences of lanes from the general path:\n{shown}", pytrace=False)

    def _take(self) -> list[str]:
        found = []
        for path in sorted(self._folder.iterdir()):
            found += path.read_text().splitlines()
            path.unlink()
        return found


def pytest_configure(config: pytest.Config) -> None:
    """Switches the comparison on."""
    config.pluginmanager.register(LaneComparison(config))
