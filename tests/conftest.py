"""Rules for every test: in CI no test may be skipped; a test that hangs fails, except the long ones.

Also the distribution of tests over several processes, and what is left out without Java.

The time limit is in pyproject.toml. After it, the stacks of all threads are printed and the test fails, even in an
event loop or in a call of Spark.
"""

import gc
import logging
import os
import shutil
import signal
import tempfile
from collections.abc import Generator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

from support.durations import known
from support.kafka.java import JavaMissingError, java_command
from support.order import places, unit

NO_LIMIT_S = 0
HIDE_JAVA = "TESTS_HIDE_JAVA"
"""If this variable is set, Java seems to be missing: ``make test-without-java`` finds tests that lack a marker so.

Its name does not begin with ODRADEK_, because a broker takes those variables for keys.
"""

COMPARE_LANES = "TESTS_COMPARE_LANES"
"""If this variable is set, each request that a lane serves is also served on the general path, and compared: in all
brokers of the tests (``support/compared_lanes``). CI sets it."""

settings.register_profile("no-limits", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("no-limits")
"""Hypothesis gives an example 200 ms, and slow generation is an error: a busy machine broke both."""


def pytest_configure(config: pytest.Config) -> None:
    """Makes Ctrl-C work in a background job, which a shell starts with SIGINT ignored, together with its children."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    if os.environ.get(HIDE_JAVA):
        _hide_java(config)
    if os.environ.get(COMPARE_LANES):
        from support.compared_lanes import plugin  # imports the broker

        config.pluginmanager.register(plugin)
    config.pluginmanager.register(LeftOut(config))


def _hide_java(config: pytest.Config) -> None:
    """Puts programs that fail before Java and Maven on the PATH of this process and of those that it starts."""
    directory = Path(tempfile.mkdtemp(prefix="no-java-"))
    config.add_cleanup(lambda: shutil.rmtree(directory))
    for name in ("java", "mvn"):
        program = directory / name
        program.write_text("#!/bin/sh\necho 'Java is hidden: the test lacks the marker java' >&2\nexit 1\n")
        program.chmod(0o755)
    os.environ["PATH"] = f"{directory}{os.pathsep}{os.environ['PATH']}"
    os.environ.pop("JAVA_HOME", None)


class LeftOut:
    """A pytest plugin that counts the tests that were skipped because Java is missing, and prints it as last line."""

    def __init__(self, config: pytest.Config) -> None:
        self.config = config
        self.jobs = 0

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Takes one phase of one test."""
        self.jobs += report.skipped and "spark" in report.keywords

    @pytest.hookimpl(trylast=True)
    def pytest_unconfigure(self) -> None:
        """Prints the line, in the process that has a terminal."""
        terminal = self.config.pluginmanager.get_plugin("terminalreporter")
        if self.jobs and terminal is not None:
            terminal.write_line(f"Java 17 is missing: left out {self.jobs} tests that run the jobs on Spark")


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_collection() -> Generator[None, object, object]:
    """Collects no garbage while tests are collected, because their hundreds of megabytes of objects stay.

    Leaves them out of later collections, each of which would take a second for them.
    """
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """Spreads the tests over the workers of ``pytest -n``."""
    from support.workers import Workers  # not if pytest-xdist is missing

    return Workers(config, log)


@pytest.hookimpl(wrapper=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> Generator[None, None, None]:
    """Adds markers, lets pytest select by them, and sorts the files that are left (``support/order.py``).

    Removes the time limit of long tests. Marks tests with a Spark session ``java``, except those that ``make test``
    has: they are skipped if Java is missing.
    """
    for item in items:
        if item.get_closest_marker("long") is not None:
            item.add_marker(pytest.mark.timeout(NO_LIMIT_S))
        if item.get_closest_marker("spark") is not None:
            _skip_without_java(item)
        elif "spark" in getattr(item, "fixturenames", ()):
            item.add_marker(pytest.mark.java)
    yield
    order = places((item.nodeid for item in items), known())
    items.sort(key=lambda item: order[unit(item.nodeid)])


def _skip_without_java(item: pytest.Item) -> None:
    try:
        java_command()
    except JavaMissingError as error:
        item.add_marker(pytest.mark.skip(reason=str(error)))


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
