"""The tests that client libraries carry, run at Odradek. What does not pass is in ``suites.py``, with the reason."""

import shutil
from pathlib import Path

import pytest

from support.brokers.our_broker import OurBroker
from systems.libraries.results import Counts
from systems.libraries.suite_run import PROGRAMS, results_of
from systems.libraries.suites import SUITES, Suite

pytestmark = pytest.mark.nightly


@pytest.mark.timeout(3600)
@pytest.mark.parametrize("suite", SUITES, ids=lambda one: one.name)
def test_a_suite(suite: Suite, tmp_path: Path) -> None:
    if shutil.which(PROGRAMS[suite.registry]) is None:
        pytest.skip(f"needs {PROGRAMS[suite.registry]}")
    with OurBroker(tmp_path, suite.configs) as broker:
        counts = Counts.of(results_of(suite, broker.bootstrap_servers, tmp_path))
        assert " ERROR " not in broker.log()
    assert set(counts.failed) <= set(suite.failing)
    assert counts.passed >= suite.passing
