"""Security never fails open: unsupported settings stop the start; those in a directory's metadata are logged."""

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
from odradek.broker.metadata.image.image import ResourceType
from odradek.broker.security.open_access import open_listeners
from odradek.broker.server.broker_server import BrokerServer
from odradek.broker.server.listener_security import read_sasl_settings
from odradek.protocol.messages.metadata_records import (
    AccessControlEntryRecord,
    ConfigRecord,
    DelegationTokenRecord,
    UserScramCredentialRecord,
)
from odradek.protocol.messages.structure import Message
from odradek.testing.broker.in_process import InProcessBroker
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
    """The problems that stop the start of a broker with this configuration."""
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


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({}, "is not set, and its default has 'GSSAPI' for the listener SAFE: Kerberos is not supported"),
        (
            {"sasl.enabled.mechanisms": "PLAIN"},
            "the listener SAFE enables PLAIN, but neither listener.name.safe.plain.sasl.jaas",
        ),
        ({"sasl.enabled.mechanisms": "DIGEST-MD5"}, "sasl.enabled.mechanisms (--override) has 'DIGEST-MD5'"),
        (
            {
                "sasl.enabled.mechanisms": "PLAIN",
                "listener.name.safe.plain.sasl.jaas.config": "a.B required p=hunter2;",
            },
            "plain.sasl.jaas.config (--override): the login module a.B is not supported",
        ),
        (
            {
                "sasl.enabled.mechanisms": "PLAIN",
                "listener.name.safe.plain.sasl.jaas.config": "a.B required p=1hunter2;",
            },
            "plain.sasl.jaas.config (--override): line 1, column 16: the value of the option 'p' must be in quotes",
        ),
        (
            {"sasl.enabled.mechanisms": "PLAIN", "java.security.auth.login.config": "/not/there"},
            "java.security.auth.login.config /not/there can't be read: No such file or directory",
        ),
    ],
)
def test_what_a_sasl_listener_needs_is_named(settings: dict[str, str], said: str) -> None:
    protocols = "listener.security.protocol.map=PLAINTEXT:PLAINTEXT,SAFE:SASL_PLAINTEXT"
    both = f"listeners=SAFE://127.0.0.1:0,{LISTENER.partition('=')[2]}"
    problems = refusals("", [both, protocols, *(f"{key}={text}" for key, text in settings.items())])
    assert [problem for problem in problems if said in problem], problems
    assert "hunter2" not in str(problems)


def test_a_jaas_file_and_the_mechanism_between_brokers(tmp_path: Path) -> None:
    """The listener's own context takes precedence, a context may have several modules, and errors have file and
    position.
    """
    file = tmp_path / "jaas.conf"
    module = "org.apache.kafka.common.security.plain.PlainLoginModule required"
    file.write_text(f'KafkaServer {{ {module} user_a="1"; }}; safe.KafkaServer {{ {module} user_b="2" user_c="3"; }};')
    keys = {
        "listeners": "SAFE://127.0.0.1:0",
        "listener.security.protocol.map": "SAFE:SASL_PLAINTEXT",
        "inter.broker.listener.name": "SAFE",
        "sasl.enabled.mechanisms": "PLAIN",
        "sasl.mechanism.inter.broker.protocol": "PLAIN",
        "java.security.auth.login.config": str(file),
        "listener.name.safe.plain.connections.max.reauth.ms": "5",
    }

    def load() -> ServerConfig:
        return ServerConfig.load("", [f"{key}={text}" for key, text in keys.items()])

    (mechanism,) = read_sasl_settings(load())["SAFE"].mechanisms
    assert (mechanism.passwords(), mechanism.max_reauth_ms) == ({"b": "2", "c": "3"}, 5)
    assert "java.security.auth.login.config" not in load().keys_without_effect()
    keys["sasl.mechanism.inter.broker.protocol"] = "SCRAM-SHA-256"
    with pytest.raises(ConfigError, match="the listener SAFE does not enable SCRAM-SHA-256"):
        read_sasl_settings(load())
    file.write_text(f"KafkaServer {{\n  {module} user_a=1hunter2;\n}};")
    with pytest.raises(ConfigError, match=r"jaas.conf: line 2, column 75: the value of the option 'user_a'"):
        read_sasl_settings(load())


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
    """A super user without a type, and a decision that is neither true nor false, are reported with their keys."""
    said = refusals("super.users=admin;User:root\nallow.everyone.if.no.acl.found=perhaps\n")
    assert said == [
        "super.users (line 1): 'admin' is not Type:name",
        "allow.everyone.if.no.acl.found (line 2): 'perhaps' is neither true nor false",
    ]


def test_the_broker_of_a_users_tests_refuses_it_too(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="no listener uses SASL"):
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
    "security that is not supported: listener.name.x.ssl.client.auth, sasl.enabled.mechanisms": [
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
    of_ours = [one for one in caplog.records if one.name == "odradek.broker.security.open_access"]
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
