"""The security settings of connections to other nodes are checked before anything is opened."""

import asyncio
import ssl
from pathlib import Path

import pytest

from odradek.broker.config.errors import ConfigError
from odradek.broker.config.oauthbearer import LOGIN_HANDLER
from odradek.broker.config.server_config import ServerConfig
from odradek.broker.network.node_client import PLAINTEXT, NodeSecurity
from odradek.broker.security.node_security import node_security
from odradek.protocol.security.jaas import OAUTHBEARER_MODULE
from odradek.protocol.security.login_mechanisms import ClientLogin
from support.security.tls_files import TlsFiles, tls_files

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


async def begun(security: NodeSecurity) -> ClientLogin:
    """A login after its first step."""
    assert security.login is not None
    return await security.login()


def jaas(listener: str, options: str) -> str:
    return f"listener.name.{listener}.plain.sasl.jaas.config={PLAIN_MODULE} required {options};"


def oauth_jaas(listener: str, options: str = "") -> str:
    return f"listener.name.{listener}.oauthbearer.sasl.jaas.config={OAUTHBEARER_MODULE} required {options};"


def handler(listener: str, name: str) -> str:
    return f"listener.name.{listener}.oauthbearer.sasl.login.callback.handler.class={name}"


def test_each_listener_has_a_login_of_its_own() -> None:
    """The mechanism is in the broker's key, user and password in the listener's login module."""
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
        messages.append(asyncio.run(begun(security)).first())
    assert messages == [b"\0one\0first", b"\0two\0second"]


def test_login_comes_from_the_file_too(tmp_path: Path) -> None:
    """As in compose files: the section KafkaServer, or one of the listener."""
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
    assert asyncio.run(begun(inter_broker)).first() == b"\0b\0q"
    assert asyncio.run(begun(controllers)).first() == b"\0c\0p"


def test_plaintext_reads_nothing() -> None:
    assert node_security(config_of("PLAINTEXT", "PLAINTEXT")) == (PLAINTEXT, PLAINTEXT)


@pytest.mark.parametrize(
    ("controllers", "more", "said"),
    [
        (
            "SASL_PLAINTEXT",
            [],
            r"sasl.mechanism.controller.protocol is not set, and its default is GSSAPI; .* PLAIN, .*, OAUTHBEARER",
        ),
        (
            "SASL_SSL",
            ["sasl.mechanism.controller.protocol=OAUTHBEARER", oauth_jaas("controller")],
            r"controller.oauthbearer.sasl.login.callback.handler.class is not set, so this broker gets no token",
        ),
        (
            "SASL_SSL",
            [
                "sasl.mechanism.controller.protocol=OAUTHBEARER",
                oauth_jaas("controller"),
                handler("controller", "com.example.Handler"),
            ],
            r"controller.oauthbearer.sasl.login.callback.handler.class \(--override\): the class .* is not supported",
        ),
        (
            "SASL_SSL",
            [
                "sasl.mechanism.controller.protocol=OAUTHBEARER",
                oauth_jaas("controller", 'clientSecret="hidden"'),
                handler("controller", LOGIN_HANDLER),
                "sasl.oauthbearer.token.endpoint.url=https://127.0.0.1/token",
            ],
            r"sasl.oauthbearer.client.credentials.client.id is not set",
        ),
        (
            "SASL_SSL",
            ["sasl.mechanism.controller.protocol=OAUTHBEARER", oauth_jaas("controller", 'unsecuredLoginX="hidden"')],
            r"OAUTHBEARER needs a source of tokens",
        ),
        (
            "SASL_PLAINTEXT",
            ["sasl.mechanism.controller.protocol=PLAIN"],
            "neither listener.name.controller.plain.sasl.jaas.config nor ",
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
    """The error has the key and the listener, but no secret."""
    with pytest.raises(ConfigError, match=said) as caught:
        node_security(config_of("PLAINTEXT", controllers, *more))
    assert "hidden" not in str(caught.value)


def test_a_changed_key_store_and_trust_store_are_read_again(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """As when Kubernetes renews a secret: the files are links through ``..data``, whose target changes."""
    first, second = tls_files(mounted(tmp_path, "one")), tls_files(mounted(tmp_path, "two"))
    data = tmp_path / "..data"
    data.symlink_to("one")
    for name in ("broker.pem", "trust.pem"):
        source = Path(first.server_store if name == "broker.pem" else first.trust).name
        (tmp_path / name).symlink_to(Path("..data") / source)
    config = config_of(
        "SSL",
        "PLAINTEXT",
        f"ssl.keystore.location={tmp_path / 'broker.pem'}",
        f"ssl.truststore.location={tmp_path / 'trust.pem'}",
    )
    security, _ = node_security(config)
    assert security.tls is not None
    before = security.tls()
    assert security.tls() is before
    assert before.get_ca_certs(binary_form=True) == [authority_of(first)]
    switch(data, "two")
    after = security.tls()
    assert after is not before
    assert after.get_ca_certs(binary_form=True) == [authority_of(second)]
    Path(second.server_store).write_text("nothing of use")
    assert security.tls() is after
    assert security.tls() is after
    [line] = [one.getMessage() for one in caplog.records if one.levelname == "WARNING"]
    assert "listener IN were not reloaded" in line
    assert f"ssl.keystore.location={tmp_path / 'broker.pem'}" in line


def test_a_dynamic_config_of_this_broker_changes_the_trust_store(tmp_path: Path) -> None:
    first, second = tls_files(mounted(tmp_path, "one")), tls_files(mounted(tmp_path, "two"))
    dynamic: dict[str, str] = {}
    config = config_of("SSL", "PLAINTEXT", f"ssl.truststore.location={first.trust}")
    security, _ = node_security(config, lambda: dynamic)
    assert security.tls is not None
    assert security.tls().get_ca_certs(binary_form=True) == [authority_of(first)]
    dynamic["listener.name.in.ssl.truststore.location"] = second.trust
    assert security.tls().get_ca_certs(binary_form=True) == [authority_of(second)]
    dynamic["listener.name.other.ssl.truststore.location"] = first.trust
    assert security.tls().get_ca_certs(binary_form=True) == [authority_of(second)]


def test_a_changed_jaas_file_is_read_again(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    file = tmp_path / "jaas.conf"
    file.write_text(f'KafkaServer {{ {PLAIN_MODULE} required username="b" password="first"; }};\n')
    keys = "sasl.mechanism.inter.broker.protocol=PLAIN", f"java.security.auth.login.config={file}"
    security, _ = node_security(config_of("SASL_PLAINTEXT", "PLAINTEXT", *keys))
    assert security.login is not None
    assert asyncio.run(begun(security)).first() == b"\0b\0first"
    file.write_text(f'KafkaServer {{ {PLAIN_MODULE} required username="b" password="second one"; }};\n')
    assert asyncio.run(begun(security)).first() == b"\0b\0second one"
    file.write_text(f'KafkaServer {{ {PLAIN_MODULE} required username="b" password=secret$ }};')
    assert asyncio.run(begun(security)).first() == b"\0b\0second one"
    assert "listener IN were not reloaded" in caplog.text
    assert str(file) in caplog.text
    assert "secret" not in caplog.text
    assert "second" not in caplog.text


def mounted(directory: Path, name: str) -> Path:
    (directory / name).mkdir()
    return directory / name


def switch(link: Path, target: str) -> None:
    """Changes a link as Kubernetes does: a new one is renamed over it."""
    fresh = link.with_name("..data_tmp")
    fresh.symlink_to(target)
    fresh.rename(link)


def authority_of(files: TlsFiles) -> bytes:
    return ssl.PEM_cert_to_DER_cert(Path(files.trust).read_text())
