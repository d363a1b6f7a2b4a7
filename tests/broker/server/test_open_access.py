"""Security never fails open: what is configured and not served stops the start, what a directory carries is named."""

import asyncio
import logging
from collections.abc import Sequence
from pathlib import Path

import pytest

from odradek.broker.config.definition import server_keys
from odradek.broker.config.errors import ConfigError
from odradek.broker.config.security import base_key
from odradek.broker.config.server_config import ServerConfig
from odradek.broker.config.typed_values import OUR_DEFAULTS
from odradek.broker.metadata.image import ResourceType
from odradek.broker.server.broker_server import BrokerServer
from odradek.broker.server.open_access import open_listeners
from odradek.protocol.messages.metadata_records import (
    AccessControlEntryRecord,
    ClientQuotaRecord,
    ConfigRecord,
    DelegationTokenRecord,
    UserScramCredentialRecord,
)
from odradek.protocol.messages.structure import Message
from odradek.testing.in_process import InProcessBroker
from support.brokers.our_broker import OurBroker

NOW_MS = 1_795_000_000_000
AUTHORIZER = "com.example.Authorizer"
ASKS = {
    "authorizer.class.name": AUTHORIZER,
    "authorizer.some.plugin.key": "x",
    "principal.builder.class": "com.example.Builder",
    "client.quota.callback.class": "com.example.Quotas",
    "create.topic.policy.class.name": "com.example.Policy",
    "alter.config.policy.class.name": "com.example.Policy",
    "connections.max.reauth.ms": "3600000",
    "ssl.engine.factory.class": "org.example.Factory",
    "ssl.provider": "BCFIPS",
    "security.providers": "org.example.Creator",
    "sasl.enabled.mechanisms": "SCRAM-SHA-512",
    "sasl.jaas.config": "a b;",
    "listener.name.internal.ssl.provider": "BCFIPS",
    "listener.name.internal.scram-sha-256.sasl.jaas.config": "a b;",
    "listener.name.internal.plain.connections.max.reauth.ms": "5",
}
LISTENER = "listeners=PLAINTEXT://127.0.0.1:0"


def refusals(properties: str = "", overrides: Sequence[str] = (), environ: dict[str, str] | None = None) -> list[str]:
    """The problems that keep a broker with this configuration from starting."""
    with pytest.raises(ConfigError) as refused:
        asyncio.run(BrokerServer(ServerConfig.load(properties, [LISTENER, *overrides], environ or {})).start())
    return list(refused.value.problems)


@pytest.mark.parametrize("key", ASKS)
def test_each_key_that_asks_for_security_stops_the_start_and_is_named(key: str) -> None:
    (said,) = refusals(f"num.partitions=3\n{key}={ASKS[key]}\n")
    assert said.startswith(f"{key} is set (line 2), but ")
    assert "remove it" in said


def test_it_is_said_where_each_was_set_and_all_at_once() -> None:
    environ = {"ODRADEK_LISTENER_NAME_A_SSL_PROVIDER": "BCFIPS"}
    said = refusals(f"authorizer.class.name={AUTHORIZER}\n", ["ssl.provider=BCFIPS"], environ)
    assert [one.split(", but")[0] for one in said] == [
        "authorizer.class.name is set (line 1)",
        "listener.name.a.ssl.provider is set (environment variable ODRADEK_LISTENER_NAME_A_SSL_PROVIDER)",
        "ssl.provider is set (--override)",
    ]


def test_a_listener_that_is_not_served_stops_the_start() -> None:
    for protocol in ("SASL_PLAINTEXT", "SASL_SSL"):
        keys = [f"listeners=A://127.0.0.1:0,{LISTENER.partition('=')[2]}", "listener.security.protocol.map=PLAINTEXT:"]
        with pytest.raises(ConfigError, match=f"uses {protocol}; this version serves PLAINTEXT and SSL only"):
            ServerConfig.load("", [keys[0], f"{keys[1]}PLAINTEXT,A:{protocol}"])
        with pytest.raises(ConfigError):
            ServerConfig.load("", [LISTENER, f"security.inter.broker.protocol={protocol}"])


def test_kafkas_defaults_and_open_access_spelled_out_ask_for_nothing(tmp_path: Path) -> None:
    given = {key: one.default for key, one in server_keys().items() if one.default is not None}
    given |= {**OUR_DEFAULTS, "allow.everyone.if.no.acl.found": "false", "super.users": ""}
    given |= {"listeners": "PLAINTEXT://127.0.0.1:0", "log.dir": str(tmp_path), "offsets.topic.num.partitions": "1"}

    async def start_and_stop() -> None:
        server = BrokerServer(ServerConfig.load("", [f"{key}={text}" for key, text in given.items()], {}))
        await server.start()
        await server.stop()

    asyncio.run(start_and_stop())


def test_the_command_says_it_and_ends(tmp_path: Path) -> None:
    with pytest.raises(
        AssertionError, match=r"authorizer.class.name is set \(--override\), but org.apache.kafka.metadata.authorizer"
    ):
        OurBroker(tmp_path, {"authorizer.class.name": AUTHORIZER}).start()


def test_bad_settings_of_the_authorizer_stop_the_start() -> None:
    """A super user without a type, and a decision that is neither true nor false, are named with their places."""
    said = refusals("super.users=admin;User:root\nallow.everyone.if.no.acl.found=perhaps\n")
    assert said == [
        "super.users (line 1): 'admin' is not Type:name",
        "allow.everyone.if.no.acl.found (line 2): 'perhaps' is neither true nor false",
    ]


def test_the_broker_of_a_users_tests_refuses_it_too(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="SASL is not served"):
        InProcessBroker(tmp_path, {"sasl.enabled.mechanisms": "PLAIN"}).start()


@pytest.mark.parametrize(
    ("key", "base"),
    [
        ("listener.name.a.ssl.client.auth", "ssl.client.auth"),
        ("listener.name.a.sasl.enabled.mechanisms", "sasl.enabled.mechanisms"),
        ("listener.name.a.plain.sasl.jaas.config", "sasl.jaas.config"),
        ("listener.name.a.scram-sha-256.connections.max.reauth.ms", "connections.max.reauth.ms"),
        ("listener.name.a.max.connections", "max.connections"),
        ("num.partitions", "num.partitions"),
    ],
)
def test_the_key_behind_a_listeners_key(key: str, base: str) -> None:
    assert base_key(key) == base


CARRIED: dict[str, list[Message]] = {
    "ACLs (2)": [
        AccessControlEntryRecord(bytes([n]) * 16, 2, f"t{n}", 3, "User:alice", "*", 3, 3) for n in range(1, 3)
    ],
    "SCRAM credentials (users: 1)": [
        UserScramCredentialRecord("alice", mechanism, b"salt", b"stored", b"server", 4096) for mechanism in (1, 2)
    ],
    "delegation tokens (1)": [DelegationTokenRecord("User:alice", "User:alice", [], 1, 2, 3, "id")],
    "client quotas (1)": [
        ClientQuotaRecord([ClientQuotaRecord.EntityData("user", "alice")], "producer_byte_rate", 1000.0)
    ],
    "security that is not served: listener.name.x.ssl.client.auth, sasl.enabled.mechanisms": [
        ConfigRecord(ResourceType.BROKER, "1", "listener.name.x.ssl.client.auth", "required"),
        ConfigRecord(ResourceType.BROKER, "", "sasl.enabled.mechanisms", "PLAIN"),
    ],
    "broker configs listeners, which are not applied": [
        ConfigRecord(ResourceType.BROKER, "1", "listeners", "PLAINTEXT://127.0.0.1:1")
    ],
}


def warnings_of_a_start(tmp_path: Path, caplog: pytest.LogCaptureFixture, *keys: str, records: list[Message]) -> str:
    caplog.clear()

    async def body() -> None:
        overrides = [LISTENER, f"log.dirs={tmp_path / 'logs'}", "offsets.topic.num.partitions=1", *keys]
        server = BrokerServer(ServerConfig.load(None, overrides, {}))
        await server.start()
        assert server.broker.config["listeners"] != ("PLAINTEXT://127.0.0.1:1",)
        if records:
            server.broker.own_metadata.commit(records, NOW_MS)
        await server.stop()

    asyncio.run(body())
    of_ours = [one for one in caplog.records if one.name == "odradek.broker.server.open_access"]
    assert {one.levelno for one in of_ours} <= {logging.WARNING}
    return "\n".join(one.getMessage() for one in of_ours)


def test_what_a_directory_carries_is_a_warning_at_every_start(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    records = [record for those in CARRIED.values() for record in those]
    assert warnings_of_a_start(tmp_path, caplog, records=records) == ""
    for _ in range(2):
        said = warnings_of_a_start(tmp_path, caplog, records=[])
        assert [text for text in CARRIED if text not in said] == []
        assert len(said.splitlines()) == len(CARRIED)
    gone: list[Message] = [
        ConfigRecord(ResourceType.BROKER, "1", "listener.name.x.ssl.client.auth", None),
        ConfigRecord(ResourceType.BROKER, "", "sasl.enabled.mechanisms", None),
        ConfigRecord(ResourceType.BROKER, "1", "listeners", None),
    ]
    warnings_of_a_start(tmp_path, caplog, records=gone)
    assert "broker configs" not in warnings_of_a_start(tmp_path, caplog, records=[])


def test_a_listener_that_others_can_reach_is_one_warning(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    keys = ["listeners=A://:0,B://127.0.0.1:0", "listener.security.protocol.map=A:PLAINTEXT,B:PLAINTEXT"]
    keys += ["advertised.listeners=A://localhost:0,B://localhost:0", "inter.broker.listener.name=A"]
    said = warnings_of_a_start(tmp_path, caplog, *keys, records=[])
    assert said.startswith("any machine that reaches the listener A may read and change everything")
    assert len(said.splitlines()) == 1


def test_loopback_is_not_open() -> None:
    assert list(open_listeners([("A", "127.0.0.1"), ("A", "::1"), ("B", "127.8.0.1")])) == []
    for address in ("0.0.0.0", "::", "10.0.0.1", "fe80::1"):
        (said,) = open_listeners([("A", "127.0.0.1"), ("B", address)])
        assert "listener B may" in said
