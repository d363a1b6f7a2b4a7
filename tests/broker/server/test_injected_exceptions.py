"""An exception in any task, timer, callback, slice or thread of a broker ends nothing else.

The places are found by the broker's own registry: all of its work passes through :class:`.KindOfWork`. The first rounds
of a load note each kind and function that is called. Then some places at once raise in each further round.
"""

import contextlib
import errno
import importlib
import logging
import os
import pkgutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from odradek import broker as broker_package
from odradek.broker.server.logging_setup import BoundedHandler, TextFormatter, count_lines_on
from odradek.broker.server.metadata_publisher import BrokerMetadataPublisher
from odradek.broker.timers.work import KINDS
from odradek.protocol.common.lazy_imports import execute
from odradek.storage.files.files import CREATE, EXISTING
from odradek.testing.broker.files import FilesUnderTest
from odradek.testing.broker.in_process import InProcessBroker
from support.security.identity_provider import IdentityProvider
from support.security.tls_files import tls_files
from tools.places import ROOT
from tools.started_work import names_of_kinds

from .injected_loads import (
    QUICK,
    QUICK_SETTINGS,
    SECRET,
    TOKEN_LIFETIME_S,
    ClusterLoad,
    Load,
    LoadAlone,
    SecuredCluster,
)
from .injector import InjectedError, Injector, Place

pytestmark = pytest.mark.ci

AT_ONCE = 12
"""The places that raise in one round of a load."""
FOLLOWING = Place("metadata-log", "MetadataFetcher.run")
"""The only work that may end a broker: without the metadata log, it can't know what it leads."""
ALONE = frozenset(
    {
        "alter-client-quotas",
        "connection",
        "dead-letters",
        "disk-watch",
        "partition-hosting",
        "quota-host-names",
        "share-fetch",
        "snapshot-socket",
        "suppressed-log-lines",
    }
)
"""The kinds of work in which a broker alone gets exceptions; all others get them in a cluster."""


OF_THE_CONSOLE = frozenset({"console", "console-line", "http-connection"})
"""The kinds of work that only a console needs: tests/console/server/test_of_broker.py and tests/broker/http have their
faults."""


@pytest.fixture
def injector(monkeypatch: pytest.MonkeyPatch) -> Injector:
    return Injector(monkeypatch)


def raise_everywhere(injector: Injector, load: Load) -> None:
    """Runs the load until each place that it reaches has been armed in one of its rounds. In a last round all raise,
    which also reaches what handles failures."""
    load.run()
    load.run()
    armed = {FOLLOWING}
    while places := [one for one in injector.seen if one not in armed][:AT_ONCE]:
        armed.update(places)
        injector.arm(places)
        print("these raise:", *(f"{kind}: {function}" for kind, function in places), sep="\n  ")
        load.run()
    injector.arm(armed - {FOLLOWING}, times=1)
    load.run()


def restart(cluster: SecuredCluster, node_id: int) -> None:
    """Starts a broker again, until that succeeds: an exception in a start may end that start."""
    broker = cluster.brokers[node_id]
    broker.stop()
    while not broker.is_running:
        with contextlib.suppress(InjectedError):
            broker.start()
    cluster.wait_until_unfenced(broker)


@pytest.mark.nightly
def test_exceptions_in_a_cluster(tmp_path: Path, injector: Injector, monkeypatch: pytest.MonkeyPatch) -> None:
    files = tls_files(tmp_path)
    with IdentityProvider({"broker": SECRET}, TOKEN_LIFETIME_S) as provider:
        cluster = SecuredCluster(tmp_path / "cluster", files, provider)
        with cluster:
            load = ClusterLoad(cluster, files)
            raise_everywhere(injector, load)
            in_starts(injector, load, cluster)
            # What ends a broker, which the other one survives.
            injector.arm([FOLLOWING], times=1)
            cluster.wait_until(lambda: bool(fenced(cluster)))
            restart(cluster, *fenced(cluster))
            load.run()
            injector.arm(kinds=["log-dir-failure"])
            with failing(monkeypatch, cluster.directories[0][1]):
                load.simple_round()
                load.simple_round()
    missing = kinds() - ALONE - OF_THE_CONSOLE - injector.kinds()
    assert not missing, f"reach them with a load: {missing}"


def in_starts(injector: Injector, load: ClusterLoad, cluster: SecuredCluster) -> None:
    """Exceptions in what only a start does: first after clean stops, then after a crash."""
    injector.arm([place for place in injector.seen if not injector.raised[place] and place != FOLLOWING])
    for broker in cluster.brokers:
        restart(cluster, broker.node_id)
    load.run()
    injector.arm(kinds=["log-recovery", "replica-fetch"])
    restart(cluster, load.diverge("diverging").node_id)
    cluster.wait_until_in_sync("diverging")


def fenced(cluster: SecuredCluster) -> list[int]:
    """The brokers that the controller has fenced."""
    return [node_id for node_id, broker in cluster.controller.image.brokers.items() if broker.fenced]


@contextlib.contextmanager
def failing(patch: pytest.MonkeyPatch, directory: Path) -> Iterator[None]:
    """The disk of a log directory fails."""
    write = FilesUnderTest.write

    def fails(files: FilesUnderTest, *arguments: object) -> int:
        if files._directory == directory:
            raise OSError(errno.EIO, os.strerror(errno.EIO), str(directory))
        return write(files, *arguments)  # type: ignore[arg-type]

    with patch.context() as context:
        context.setattr(FilesUnderTest, "write", fails)
        yield


def test_exceptions_in_a_broker_alone(tmp_path: Path, injector: Injector, monkeypatch: pytest.MonkeyPatch) -> None:
    lack_descriptors(monkeypatch)
    configs = {**QUICK, "quota.window.num": "2", "odradek.log.dirs.max.bytes": str(1 << 30)}
    handler = BoundedHandler()
    handler.setFormatter(TextFormatter())
    broker = InProcessBroker(tmp_path, configs)
    broker._settings = QUICK_SETTINGS
    with broker, handles(handler):
        assert broker._running is not None
        count_lines_on(broker._running.loop)
        raise_everywhere(injector, LoadAlone(broker))
    missing = ALONE - injector.kinds()
    assert not missing, f"reach them with a load: {missing}"


@contextlib.contextmanager
def handles(handler: logging.Handler) -> Iterator[None]:
    """The root logger has one more handler."""
    logging.getLogger().addHandler(handler)
    try:
        yield
    finally:
        logging.getLogger().removeHandler(handler)


def lack_descriptors(patch: pytest.MonkeyPatch) -> None:
    """The partition 1 of each topic of the load finds no descriptor, until it is to be hosted later."""
    opened, host_later = FilesUnderTest.open, BrokerMetadataPublisher.host_later
    lacking: set[Path] = set()
    refused: set[Path] = set()

    def lacks(files: FilesUnderTest, path: Path, flags: int = EXISTING) -> int:
        partition = path.parent
        name = partition.name
        if flags == CREATE and name.startswith("topic-") and name.endswith("-1") and partition not in refused:
            lacking.add(partition)
            refused.add(partition)
        if partition in lacking:
            raise OSError(errno.EMFILE, os.strerror(errno.EMFILE), str(path))
        return opened(files, path, flags)

    def later(publisher: BrokerMetadataPublisher, topic_id: bytes, index: int) -> None:
        lacking.clear()
        host_later(publisher, topic_id, index)

    patch.setattr(FilesUnderTest, "open", lacks)
    patch.setattr(BrokerMetadataPublisher, "host_later", later)


def kinds() -> set[str]:
    """The kinds of work of the whole broker."""
    for module in pkgutil.walk_packages(broker_package.__path__, f"{broker_package.__name__}."):
        execute(importlib.import_module(module.name))
    named = {name for path in (ROOT / "broker").rglob("*.py") for name in names_of_kinds(path.read_text())}
    assert named <= KINDS.keys(), "each module that makes a kind of work was imported"
    return named
