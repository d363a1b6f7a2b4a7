"""Rules for every test: in CI no test may be skipped; a test that hangs fails, except the long ones.

Also the distribution of tests over several processes.

The time limit is in pyproject.toml. After it, the stacks of all threads are printed and the test fails, even in an
event loop or in a call of Spark.
"""

import logging
import os
import signal
from collections.abc import Generator
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

from support.order import places, unit

NO_LIMIT_S = 0

settings.register_profile("no-limits", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("no-limits")
"""Hypothesis gives an example 200 ms, and slow generation is an error: a busy machine broke both."""


def pytest_configure() -> None:
    """Makes Ctrl-C work in a background job, which a shell starts with SIGINT ignored, together with its children."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """Spreads the tests over the workers of ``pytest -n``."""
    from support.workers import Workers  # not if pytest-xdist is missing

    return Workers(config, log)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Removes the time limit of long tests, and sorts the files (``support/order.py``)."""
    order = places(item.nodeid for item in items)
    items.sort(key=lambda item: order[unit(item.nodeid)])
    for item in items:
        if item.get_closest_marker("long") is not None:
            item.add_marker(pytest.mark.timeout(NO_LIMIT_S))


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Turns a skip into a failure if CI=true: a skipped test proves nothing."""
    report = yield
    if report.skipped and not hasattr(report, "wasxfail") and os.environ.get("CI") == "true":
        report.outcome = "failed"
        report.longrepr = f"skipped in CI, where nothing may be: {report.longrepr}"
    return report


@pytest.fixture(autouse=True)
def log_handlers_are_removed() -> Generator[None, None, None]:
    """Fails a test that leaves a handler on the root logger: it would write to streams that are closed by then."""
    before = set(_own_handlers())
    yield
    left = [handler for handler in _own_handlers() if handler not in before]
    for handler in left:
        logging.getLogger().removeHandler(handler)
        handler.close()
    assert not left, f"the test left {left} on the root logger"


def _own_handlers() -> list[logging.Handler]:
    """The handlers of the root logger, without those that pytest installs for each phase of a test."""
    return [one for one in logging.getLogger().handlers if not type(one).__module__.startswith("_pytest.")]
