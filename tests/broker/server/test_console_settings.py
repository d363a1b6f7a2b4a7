"""A console that others could reach without TLS and a login stops the start, and the error names the key."""

from pathlib import Path

import pytest

from odradek.broker.config.errors import ConfigError
from odradek.broker.config.server_config import ServerConfig
from odradek.broker.server.console_settings import console_config, console_target
from odradek.testing import InProcessBroker

LISTENER = "odradek.console.listener"
TLS = {"odradek.console.ssl.enable": "true"}
CREDENTIALS = {"odradek.console.credentials": "admin:secret"}
SASL = {
    "listeners": "PLAINTEXT://127.0.0.1:0,SASL_PLAINTEXT://127.0.0.1:0",
    "sasl.enabled.mechanisms": "PLAIN,SCRAM-SHA-512",
    "listener.name.sasl_plaintext.plain.sasl.jaas.config": (
        'org.apache.kafka.common.security.plain.PlainLoginModule required user_alice="x";'
    ),
    "listener.name.sasl_plaintext.scram-sha-512.sasl.jaas.config": (
        "org.apache.kafka.common.security.scram.ScramLoginModule required;"
    ),
}
TOKENS = {
    "sasl.enabled.mechanisms": "OAUTHBEARER",
    "listener.name.sasl_plaintext.oauthbearer.sasl.jaas.config": (
        "org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginModule required;"
    ),
    "listener.name.sasl_plaintext.oauthbearer.sasl.server.callback.handler.class": (
        "org.apache.kafka.common.security.oauthbearer.OAuthBearerValidatorCallbackHandler"
    ),
    "sasl.oauthbearer.jwks.endpoint.url": "https://127.0.0.1:1/keys",
    "sasl.oauthbearer.expected.audience": "kafka",
}
SSL = {"listeners": "SSL://127.0.0.1:0", "security.inter.broker.protocol": "SSL"}


def config(listener: str, *more: dict[str, str]) -> ServerConfig:
    keys = {"listeners": "PLAINTEXT://127.0.0.1:0", LISTENER: listener}
    for one in more:
        keys |= one
    return ServerConfig.load(None, [f"{key}={text}" for key, text in keys.items()], {})


@pytest.mark.parametrize(
    ("listener", "more", "access"),
    [
        ("127.0.0.1:8080", (), "open"),
        ("localhost:0", (), "open"),
        ("[::1]:8080", (), "open"),
        ("127.0.0.1:8080", (CREDENTIALS,), "password"),
        ("127.0.0.1:8080", (SASL,), "kafka"),
        ("127.0.0.1:8080", (SASL, CREDENTIALS), "kafka"),
        ("127.0.0.1:8080", (SSL, CREDENTIALS), "password"),
        ("0.0.0.0:8080", (TLS, CREDENTIALS), "password"),
        ("0.0.0.0:8080", (TLS, SASL), "kafka"),
        ("kafka.example:8080", (TLS, SASL), "kafka"),
    ],
)
def test_who_may_open_a_session(listener: str, more: tuple[dict[str, str], ...], access: str) -> None:
    assert console_config(config(listener, *more)).access == access


@pytest.mark.parametrize(
    ("listener", "more", "named"),
    [
        ("0.0.0.0:8080", (), "odradek.console.ssl.enable"),
        ("0.0.0.0:8080", (TLS,), "odradek.console.credentials"),
        ("0.0.0.0:8080", (CREDENTIALS,), "odradek.console.ssl.enable"),
        ("0.0.0.0:8080", (SASL,), "odradek.console.ssl.enable"),
        ("[::]:8080", (SASL,), "odradek.console.ssl.enable"),
        (":8080", (SASL,), "odradek.console.ssl.enable"),
        ("10.0.0.1:8080", (TLS,), "odradek.console.credentials"),
        ("kafka.example:8080", (), "odradek.console.ssl.enable"),
        ("127.0.0.1.evil:8080", (), "odradek.console.ssl.enable"),
        ("127.0.0.1:8080", (SSL,), "odradek.console.credentials"),
        ("127.0.0.1:8080", ({"odradek.console.credentials": "secret"},), "odradek.console.credentials"),
        ("127.0.0.1:8080", (SASL, TOKENS), "SCRAM-SHA-512"),
    ],
)
def test_an_open_door_is_refused(listener: str, more: tuple[dict[str, str], ...], named: str) -> None:
    with pytest.raises(ConfigError) as refused:
        console_config(config(listener, *more))
    assert named in str(refused.value)
    assert "secret" not in str(refused.value)


def test_the_start_is_refused_before_a_directory_is_touched(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"odradek\.console\.ssl\.enable"):
        InProcessBroker(tmp_path, {LISTENER: "0.0.0.0:0"}).start()
    assert not (tmp_path / "logs").exists()


def test_a_listener_with_logins_comes_first_then_that_of_the_brokers() -> None:
    assert console_target(config("127.0.0.1:0", SASL)).name == "SASL_PLAINTEXT"
    several = {
        "listeners": "OUTSIDE://127.0.0.1:0,INSIDE://127.0.0.1:0",
        "listener.security.protocol.map": "OUTSIDE:PLAINTEXT,INSIDE:PLAINTEXT",
        "inter.broker.listener.name": "INSIDE",
    }
    assert console_target(config("127.0.0.1:0", several)).name == "INSIDE"
