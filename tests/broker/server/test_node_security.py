"""The security of connections to other nodes is read, and refused, before anything is opened."""

from pathlib import Path

import pytest

from odradek.broker.config.errors import ConfigError
from odradek.broker.config.server_config import ServerConfig
from odradek.broker.network.node_login import PLAINTEXT
from odradek.broker.server.node_security import node_security

CLUSTER = [
    "process.roles=broker",
    "controller.quorum.voters=3000@127.0.0.1:1",
    "controller.listener.names=CONTROLLER",
    "listeners=IN://127.0.0.1:0",
    "inter.broker.listener.name=IN",
]
PLAIN_MODULE = "org.apache.kafka.common.security.plain.PlainLoginModule"


def config_of(inter_broker: str, controllers: str, *more: str) -> ServerConfig:
    protocols = f"listener.security.protocol.map=IN:{inter_broker},CONTROLLER:{controllers}"
    return ServerConfig.load(None, [*CLUSTER, protocols, *more])


def jaas(listener: str, options: str) -> str:
    return f"listener.name.{listener}.plain.sasl.jaas.config={PLAIN_MODULE} required {options};"


def test_each_listener_has_a_login_of_its_own() -> None:
    """The mechanism is of the broker's key, user and password of the listener's login module."""
    config = config_of(
        "SASL_PLAINTEXT",
        "SASL_PLAINTEXT",
        "sasl.mechanism.inter.broker.protocol=PLAIN",
        "sasl.mechanism.controller.protocol=PLAIN",
        jaas("in", 'username="one" password="first" user_one="first"'),
        jaas("controller", 'username="two" password="second"'),
    )
    messages = []
    for security in node_security(config):
        assert security.tls is None
        assert security.login is not None
        assert "first" not in repr(security), "a password would get into logs"
        messages.append(security.login().first())
    assert messages == [b"\0one\0first", b"\0two\0second"]


def test_login_comes_from_the_file_too(tmp_path: Path) -> None:
    """As compose files have it: KafkaServer, or a section of the listener's own."""
    file = tmp_path / "jaas.conf"
    file.write_text(
        f'controller.KafkaServer {{ {PLAIN_MODULE} required username="c" password="p"; }};\n'
        f'KafkaServer {{ {PLAIN_MODULE} required username="b" password="q"; }};\n'
    )
    config = config_of(
        "SASL_PLAINTEXT",
        "SASL_PLAINTEXT",
        "sasl.mechanism.inter.broker.protocol=PLAIN",
        "sasl.mechanism.controller.protocol=PLAIN",
        f"java.security.auth.login.config={file}",
    )
    inter_broker, controllers = node_security(config)
    assert inter_broker.login is not None
    assert controllers.login is not None
    assert inter_broker.login().first() == b"\0b\0q"
    assert controllers.login().first() == b"\0c\0p"


def test_plaintext_reads_nothing() -> None:
    assert node_security(config_of("PLAINTEXT", "PLAINTEXT")) == (PLAINTEXT, PLAINTEXT)


@pytest.mark.parametrize(
    ("controllers", "more", "said"),
    [
        (
            "SASL_PLAINTEXT",
            [],
            r"sasl.mechanism.controller.protocol is not set, so it is GSSAPI; .* PLAIN, SCRAM-SHA-256, SCRAM-SHA-512",
        ),
        (
            "SASL_SSL",
            ["sasl.mechanism.controller.protocol=OAUTHBEARER"],
            "sasl.mechanism.controller.protocol is OAUTHBEARER; this broker logs in at the listener CONTROLLER",
        ),
        (
            "SASL_PLAINTEXT",
            ["sasl.mechanism.controller.protocol=PLAIN"],
            "listener.name.controller.plain.sasl.jaas.config is not set",
        ),
        (
            "SASL_PLAINTEXT",
            ["sasl.mechanism.controller.protocol=PLAIN", jaas("controller", 'user_a="hidden" username="a"')],
            r"controller.plain.sasl.jaas.config \(--override\): the login module of PLAIN has no password",
        ),
        (
            "SSL",
            ["ssl.truststore.location=/nowhere/trust.pem"],
            r"connections to the listener CONTROLLER: .*/nowhere/trust.pem",
        ),
    ],
)
def test_what_can_not_be_served_stops_the_start(controllers: str, more: list[str], said: str) -> None:
    """The error names the key and the listener, and no secret."""
    with pytest.raises(ConfigError, match=said) as caught:
        node_security(config_of("PLAINTEXT", controllers, *more))
    assert "hidden" not in str(caught.value)
