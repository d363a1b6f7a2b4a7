"""A rebalance that a member holds up: what the command says, and the broker's log."""

import asyncio
from pathlib import Path

import confluent_kafka
import pytest

from odradek.client.admin import Admin, NewTopic
from odradek.client.commands.groups import groups
from support.our_broker import OurBroker

pytestmark = pytest.mark.ci


def consumer(servers: str, client_id: str) -> confluent_kafka.Consumer:
    """A member of group g, which takes part in rebalances only while it is polled."""
    made = confluent_kafka.Consumer({"bootstrap.servers": servers, "group.id": "g", "client.id": client_id})
    made.subscribe(["t"])
    return made


async def test_who_holds_a_rebalance_up_is_in_the_log(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    with OurBroker(tmp_path, {"group.initial.rebalance.delay.ms": "0"}) as broker:
        servers = broker.bootstrap_servers
        async with Admin(servers) as admin:
            await admin.create_topics([NewTopic("t", 2, 1)])
        idle, eager = consumer(servers, "idle"), consumer(servers, "eager")
        while not idle.assignment():
            await asyncio.to_thread(idle.poll, 0.1)
        while "waits for" not in broker.log():
            await asyncio.to_thread(eager.poll, 0.1)
        [line] = [line for line in broker.log().splitlines() if "waits for" in line]
        assert "group g is in PreparingRebalance since 1" in line
        assert "waits for idle-" in line
        assert "(client.id idle at 127.0.0.1) to join again" in line
        assert await asyncio.to_thread(groups, ["--bootstrap-server", servers, "--describe", "--group", "g"]) == 0
        said = capfd.readouterr().err
        assert "Warning: Consumer group 'g' is rebalancing." in said
        assert "the log of an Odradek broker does" in said
        while "waits no longer" not in broker.log():
            await asyncio.to_thread(idle.poll, 0.1)
            await asyncio.to_thread(eager.poll, 0.1)
        for member in (idle, eager):
            await asyncio.to_thread(member.close)
