"""A large cluster, its console and a browser, for all tests of this folder. They share them on one worker."""

import asyncio
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from support.brokers.our_broker import OurBroker
from support.browsers import browser_or_skip
from support.chromium import Chromium, Tab

from .crowd import CONFIGS, fill

MEMORY = Path("/dev/shm")


@pytest.fixture(scope="session")
def broker() -> Iterator[OurBroker]:
    """Its 10,000 logs are in memory if they can be: the files are no part of these tests."""
    directory = Path(tempfile.mkdtemp(prefix="odradek-console-", dir=MEMORY if MEMORY.is_dir() else None))
    try:
        with OurBroker(directory, CONFIGS) as made:
            asyncio.run(fill(made.bootstrap_servers))
            yield made
    finally:
        shutil.rmtree(directory)


@contextmanager
def console_of(broker: OurBroker, *options: str) -> Iterator[str]:
    """The address that ``odradek console`` prints, with its token."""
    command = [sys.executable, "-m", "odradek", "console", "--bootstrap-server", broker.bootstrap_servers]
    process = subprocess.Popen([*command, "--listener", "127.0.0.1:0", *options], stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        found = re.search(r"http\S+", process.stdout.readline())
        assert found is not None
        yield found[0]
    finally:
        process.kill()
        process.wait()


@pytest.fixture(scope="session")
def address(broker: OurBroker) -> str:
    """The address of the broker's own console (``odradek serve --console``), which its log names."""
    found = re.search(r"console at (http://127\.0\.0\.1:\d+/)", broker.log())
    assert found is not None
    return found[1]


@pytest.fixture(scope="session")
def chromium() -> Iterator[Chromium]:
    """The browser."""
    with Chromium(browser_or_skip()) as made:
        yield made


@pytest.fixture
def open_tab(chromium: Chromium) -> Iterator[Callable[[str], Tab]]:
    """Opens tabs with a console of this address. At the end none of them may have had a fault."""
    tabs: list[Tab] = []

    def opened(address: str) -> Tab:
        tab = chromium.tab()
        tabs.append(tab)
        tab.open(address)
        tab.wait("main.dataset.ready !== undefined")
        return tab

    yield opened
    faults = [fault for tab in tabs for fault in tab.faults]
    for tab in tabs:
        tab.close()
    assert not faults


@pytest.fixture
def tab(open_tab: Callable[[str], Tab], address: str) -> Tab:
    """A tab with the console, logged in."""
    return open_tab(address)
