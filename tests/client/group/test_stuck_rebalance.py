"""A rebalance that a member delays: the output of the command, and the broker's log."""

import asyncio
import time
from collections.abc import Callable
from pathlib import Path

import confluent_kafka
import pytest

from odradek.client.admin import Admin, NewTopic
from odradek.client.commands.groups.command import groups
from support.brokers.our_broker import OurBroker

pytestmark = pytest.mark.ci

PATIENCE_S = 120


def consumer(servers: str, client_id: str) -> confluent_kafka.Consumer:
    """A member of group g, which takes part in rebalances only while it is polled."""
    made = confluent_kafka.Consumer({"bootstrap.servers": servers, "group.id": "g", "client.id": client_id})
    made.subscribe(["t"])
    return made


async def poll_until(condition: Callable[[], object], *members: confluent_kafka.Consumer) -> None:
    """Polls the members until the condition is true."""
    deadline = time.monotonic() + PATIENCE_S
    while not condition():
        assert time.monotonic() < deadline, "waited in vain"
        for member in members:
            await asyncio.to_thread(member.poll, 0.1)


async def test_who_holds_a_rebalance_up_is_in_the_log(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    with OurBroker(tmp_path, {"group.initial.rebalance.delay.ms": "0"}) as broker:
        servers = broker.bootstrap_servers
        async with Admin(servers) as admin:
            await admin.create_topics([NewTopic("t", 2, 1)])
        idle = consumer(servers, "idle")
        await poll_until(idle.assignment, idle)
        # Not earlier: two members that join together are in one generation, and no rebalance waits.
        eager = consumer(servers, "eager")
        await poll_until(lambda: "waits for" in broker.log(), eager)
        [line] = [line for line in broker.log().splitlines() if "waits for" in line]
        assert "group 'g' has been in PreparingRebalance for 1" in line
        assert "waits for 'idle-" in line
        assert "(client.id 'idle' at 127.0.0.1) to join again" in line
        assert await asyncio.to_thread(groups, ["--bootstrap-server", servers, "--describe", "--group", "g"]) == 0
        said = capfd.readouterr().err
        assert "Warning: Consumer group 'g' is rebalancing." in said
        assert "The log of an Odradek broker names them" in said
        await poll_until(lambda: "no longer waits" in broker.log(), idle, eager)
        for member in (idle, eager):
            await asyncio.to_thread(member.close)
