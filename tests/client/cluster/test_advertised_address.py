"""A broker that advertises an address which its clients can't reach is named, instead of retried without a word."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from odradek.__main__ import run_command
from odradek.client.cluster.cluster import Cluster
from odradek.client.errors import BrokerConnectionError
from odradek.testing import InProcessBroker

NAMED = "broker 1 can't be reached at the address that it advertises, 127.0.0.1:1: "


@pytest.fixture
def unreachable(tmp_path: Path) -> Iterator[str]:
    """The address of a broker that advertises port 1."""
    with InProcessBroker(tmp_path, {"advertised.listeners": "PLAINTEXT://127.0.0.1:1"}) as broker:
        yield broker.bootstrap_servers


async def test_it_is_named_once(unreachable: str, caplog: pytest.LogCaptureFixture) -> None:
    cluster = Cluster(unreachable, client_id="test")
    await cluster.start()
    for _ in range(2):
        with pytest.raises(BrokerConnectionError):
            await cluster.connection(1)
    await cluster.close()
    [said] = caplog.messages
    assert said.startswith(NAMED)
    assert "advertised.listeners" in said


async def test_a_broker_that_was_reached_once_is_not_suspected(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with InProcessBroker(tmp_path) as broker:
        cluster = Cluster(broker.bootstrap_servers, client_id="test")
        await cluster.start()
        await cluster.connection(1)
    with pytest.raises(BrokerConnectionError):
        await cluster.connection(1, "again")
    await cluster.close()
    assert caplog.messages == []


def test_health_names_it_unless_it_is_asked_for_the_bootstrap_address_only(
    unreachable: str, caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]
) -> None:
    assert run_command(["health", "--bootstrap-server", unreachable, "--bootstrap-only"]) == 0
    assert caplog.messages == []
    assert run_command(["health", "--bootstrap-server", unreachable]) == 0
    assert caplog.messages[0].startswith(NAMED)
    assert capfd.readouterr().out.count("healthy: ") == 2
