"""The configuration of OAUTHBEARER: the keys of each listener, and the errors that stop the start."""

import pytest

from odradek.broker.config.errors import ConfigError
from odradek.broker.config.oauthbearer import (
    JWKS_HANDLER,
    UNSECURED_HANDLER,
    JwksSettings,
    OAuthBearerSettings,
    oauthbearer_settings,
)
from odradek.broker.config.server_config import ServerConfig

PREFIX = "listener.name.clients.oauthbearer."
HANDLER = f"{PREFIX}sasl.server.callback.handler.class"
URL = "sasl.oauthbearer.jwks.endpoint.url=https://issuer/keys"
LISTENERS = ["listeners=CLIENTS://127.0.0.1:0", "listener.security.protocol.map=CLIENTS:SASL_PLAINTEXT"]


def settings(*lines: str, options: dict[str, str] | None = None) -> OAuthBearerSettings:
    properties = "\n".join([*LISTENERS, "inter.broker.listener.name=CLIENTS", *lines])
    return oauthbearer_settings(ServerConfig.load(properties, [], {}), "CLIENTS", options or {})


def refusal(*lines: str, options: dict[str, str] | None = None) -> str:
    with pytest.raises(ConfigError) as refused:
        settings(*lines, options=options)
    return " | ".join(refused.value.problems)


def test_kafkas_defaults() -> None:
    found = settings(f"{HANDLER}={JWKS_HANDLER}", URL)
    assert found.jwks == JwksSettings("https://issuer/keys", (), None, "sub", "scope", 30, 3_600_000, 100, 10_000)


def test_a_listener_and_its_mechanism_have_keys_of_their_own() -> None:
    jwks = settings(
        f"{HANDLER}={JWKS_HANDLER}",
        URL,
        f"{PREFIX}sasl.oauthbearer.jwks.endpoint.url=file:///keys",
        "sasl.oauthbearer.expected.audience=a, b",
        "listener.name.clients.sasl.oauthbearer.expected.issuer=me",
        "sasl.oauthbearer.clock.skew.seconds=5",
        f"{PREFIX}sasl.oauthbearer.clock.skew.seconds=7",
    ).jwks
    assert jwks is not None
    assert (jwks.url, jwks.audiences, jwks.issuer, jwks.clock_skew_s) == ("file:///keys", ("a", "b"), "me", 7)


def test_unsecured_tokens_must_be_asked_for() -> None:
    """Kafka accepts unsecured tokens if no handler is configured. Here a handler or an option of the module must enable
    them.
    """
    said = refusal()
    assert f"{HANDLER} is not set, so no class would check tokens" in said
    assert settings(f"{HANDLER}={UNSECURED_HANDLER}").jwks is None
    options = {"unsecuredLoginStringClaim_sub": "admin"}
    assert settings(options=options) == OAuthBearerSettings(None, options)
    assert settings(f"{HANDLER}={JWKS_HANDLER}", URL, options=options).jwks is not None


def test_bad_settings_are_named_with_their_places() -> None:
    assert "needs sasl.oauthbearer.jwks.endpoint.url" in refusal(f"{HANDLER}={JWKS_HANDLER}")
    assert refusal(f"{HANDLER}=com.example.Handler").startswith(f"{HANDLER} (line 4): the class com.example.Handler")
    said = refusal(
        f"{HANDLER}={JWKS_HANDLER}",
        "sasl.oauthbearer.jwks.endpoint.url=ftp://x",
        f"{PREFIX}sasl.oauthbearer.jwks.endpoint.refresh.ms=0",
        f"{PREFIX}sasl.oauthbearer.clock.skew.seconds=-1",
        f"{PREFIX}sasl.oauthbearer.sub.claim.name=",
    )
    assert "sasl.oauthbearer.jwks.endpoint.url (line 5): must be a URL" in said
    assert (
        f"{PREFIX}sasl.oauthbearer.jwks.endpoint.refresh.ms (line 6): '0' is not a whole number of at least 1" in said
    )
    assert "clock.skew.seconds (line 7)" in said
    assert "sub.claim.name (line 8): must be the name of a claim" in said
