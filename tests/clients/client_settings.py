"""A broker with every listener and mechanism, and the settings of each client library for them.

Alice logs in with each mechanism, with a certificate at MTLS, and with a token of her own. She is the only superuser,
under both of her names. A client of the listener SSL is ``User:ANONYMOUS``; one ACL of each resource type allows it
names that begin with ``SSL``.
"""

import asyncio
import json
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import jwt
from aiokafka.abc import AbstractTokenProvider as AsyncTokenProvider
from cryptography.hazmat.primitives.asymmetric import ec
from jwt.algorithms import ECAlgorithm
from kafka.net.sasl.oauth import AbstractTokenProvider

from odradek.client import Admin
from odradek.client.admin import (
    AclBinding,
    AclEntry,
    AclOperation,
    AclPermission,
    AclResourceType,
    PatternType,
    ResourcePattern,
    ScramUpsertion,
)
from support.brokers.our_broker import OurBroker
from support.security.secured_kafka import sasl
from support.security.tls_files import ALICE_PRINCIPAL, TlsFiles

PROTOCOLS = {"SSL": "SSL", "MTLS": "SSL", "SASL_PLAINTEXT": "SASL_PLAINTEXT", "SASL_SSL": "SASL_SSL"}
"""The listeners, each with its security protocol."""
SCRAM = ("SCRAM-SHA-256", "SCRAM-SHA-512")
MECHANISMS = ("PLAIN", *SCRAM, "OAUTHBEARER")
PASSWORD = "wonder,=\u00e4"
MODULES = "org.apache.kafka.common.security"
VALIDATOR = f"{MODULES}.oauthbearer.OAuthBearerValidatorCallbackHandler"


class Login(NamedTuple):
    """A listener and a way to log in there; ``mechanism`` is empty without SASL."""

    listener: str
    mechanism: str = ""

    @property
    def name(self) -> str:
        """A name for topics and test ids of this login."""
        return "-".join(part for part in self if part)


LOGINS = (
    Login("SSL"),
    Login("MTLS"),
    *(Login(listener, mechanism) for listener in ("SASL_PLAINTEXT", "SASL_SSL") for mechanism in MECHANISMS),
)


class SyncTokens(AbstractTokenProvider):  # type: ignore[misc]
    """Gives kafka-python a token."""

    def __init__(self, text: str) -> None:
        self._text = text

    def token(self) -> str:
        """The token."""
        return self._text


class AsyncTokens(AsyncTokenProvider):  # type: ignore[misc]
    """Gives aiokafka a token."""

    def __init__(self, text: str) -> None:
        self._text = text

    async def token(self) -> str:
        """The token."""
        return self._text


@dataclass(frozen=True, slots=True)
class SecuredListeners:
    """The broker, and the settings of alice for each client library."""

    broker: OurBroker
    files: TlsFiles
    token: str
    token_file: Path

    def kafka_python(self, login: Login) -> dict[str, Any]:
        """The settings of kafka-python."""
        tls = self.files.kafka_python(with_key=login.listener == "MTLS") if login.listener != "SASL_PLAINTEXT" else {}
        return {**tls, **self._python(login, SyncTokens)}

    def aiokafka(self, login: Login) -> dict[str, Any]:
        """The settings of aiokafka."""
        tls = self.files.aiokafka(with_key=login.listener == "MTLS") if login.listener != "SASL_PLAINTEXT" else {}
        return {**tls, **self._python(login, AsyncTokens)}

    def _python(self, login: Login, provider: Callable[[str], object]) -> dict[str, Any]:
        settings: dict[str, Any] = {
            "bootstrap_servers": self._address(login),
            "security_protocol": PROTOCOLS[login.listener],
        }
        if login.mechanism == "OAUTHBEARER":
            settings["sasl_oauth_token_provider"] = provider(self.token)
        elif login.mechanism:
            settings |= {"sasl_plain_username": "alice", "sasl_plain_password": PASSWORD}
        return settings | ({"sasl_mechanism": login.mechanism} if login.mechanism else {})

    def confluent_kafka(self, login: Login) -> dict[str, Any]:
        """The settings of confluent-kafka."""
        settings = self.files.librdkafka(with_key=login.listener == "MTLS")
        settings |= {"bootstrap.servers": self._address(login), "security.protocol": PROTOCOLS[login.listener]}
        if login.mechanism == "OAUTHBEARER":
            settings["oauth_cb"] = lambda _: (self.token, time.time() + 3600)
        elif login.mechanism:
            settings |= {"sasl.username": "alice", "sasl.password": PASSWORD}
        return settings | ({"sasl.mechanism": login.mechanism} if login.mechanism else {})

    def java(self, login: Login, token: tuple[str, str] | None = None) -> dict[str, str]:
        """The properties of a Java client; ``token``: id and HMAC of a delegation token instead of the password."""
        settings = self.files.java(with_key=login.listener == "MTLS") if login.listener != "SASL_PLAINTEXT" else {}
        settings |= {"bootstrap.servers": self._address(login), "security.protocol": PROTOCOLS[login.listener]}
        if login.mechanism == "OAUTHBEARER":
            settings |= {
                "sasl.mechanism": login.mechanism,
                "sasl.jaas.config": f"{MODULES}.oauthbearer.OAuthBearerLoginModule required;",
                "sasl.login.callback.handler.class": f"{MODULES}.oauthbearer.OAuthBearerLoginCallbackHandler",
                "sasl.oauthbearer.token.endpoint.url": self.token_file.as_uri(),
            }
        elif token is not None:
            settings |= sasl(login.mechanism, *token, tokenauth="true")
        elif login.mechanism:
            settings |= sasl(login.mechanism, "alice", PASSWORD)
        return settings

    def _address(self, login: Login) -> str:
        return f"127.0.0.1:{self.broker.ports()[login.listener]}"


@contextmanager
def secured_listeners(directory: Path, files: TlsFiles) -> Iterator[SecuredListeners]:
    """The broker, with its users and ACLs, as long as the block lasts."""
    key = ec.generate_private_key(ec.SECP256R1())
    jwks, token_file = directory / "jwks.json", directory / "token.jwt"
    jwks.write_text(json.dumps({"keys": [{**ECAlgorithm.to_jwk(key.public_key(), as_dict=True), "kid": "one"}]}))
    now_s = int(time.time())
    claims = {"sub": "alice", "aud": "kafka", "iss": "tests", "iat": now_s, "exp": now_s + 3600, "scope": "all"}
    token = jwt.encode(claims, key, "ES256", headers={"kid": "one"})
    token_file.write_text(token)
    with OurBroker(directory, _configs(files, jwks)) as broker:
        made = SecuredListeners(broker, files, token, token_file)
        asyncio.run(_set_up(made))
        yield made


async def _set_up(made: SecuredListeners) -> None:
    """Creates the users of SCRAM and the ACLs for clients of SSL."""
    settings = made.java(Login("SASL_PLAINTEXT", "PLAIN"))
    kinds = (AclResourceType.TOPIC, AclResourceType.GROUP, AclResourceType.TRANSACTIONAL_ID)
    entry = AclEntry("User:ANONYMOUS", "*", AclOperation.ALL, AclPermission.ALLOW)
    async with Admin(settings.pop("bootstrap.servers"), security=settings) as admin:
        for mechanism in SCRAM:  # one request must not name a user twice
            await admin.alter_user_scram_credentials([ScramUpsertion("alice", mechanism, PASSWORD)])
        await admin.create_acls(AclBinding(ResourcePattern(kind, "SSL", PatternType.PREFIXED), entry) for kind in kinds)


def _configs(files: TlsFiles, jwks: Path) -> dict[str, str]:
    modules = {
        "plain": f'{MODULES}.plain.PlainLoginModule required user_alice="{PASSWORD}";',
        "scram-sha-256": f"{MODULES}.scram.ScramLoginModule required;",
        "scram-sha-512": f"{MODULES}.scram.ScramLoginModule required;",
        "oauthbearer": f"{MODULES}.oauthbearer.OAuthBearerLoginModule required;",
    }
    return {
        "listeners": ",".join(f"{name}://127.0.0.1:0" for name in PROTOCOLS),
        "listener.security.protocol.map": ",".join(f"{name}:{protocol}" for name, protocol in PROTOCOLS.items()),
        "inter.broker.listener.name": "MTLS",
        **files.listener(),
        "listener.name.mtls.ssl.client.auth": "required",
        "sasl.enabled.mechanisms": ",".join(MECHANISMS),
        **{
            f"listener.name.{listener}.{mechanism}.sasl.jaas.config": text
            for listener in ("sasl_plaintext", "sasl_ssl")
            for mechanism, text in modules.items()
        },
        **{
            f"listener.name.{listener}.oauthbearer.sasl.server.callback.handler.class": VALIDATOR
            for listener in ("sasl_plaintext", "sasl_ssl")
        },
        "sasl.oauthbearer.jwks.endpoint.url": jwks.as_uri(),
        "sasl.oauthbearer.expected.audience": "kafka",
        "sasl.oauthbearer.expected.issuer": "tests",
        "delegation.token.secret.key": "the-secret-of-tests",
        "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
        "super.users": f"User:alice;{ALICE_PRINCIPAL}",
        "group.initial.rebalance.delay.ms": "0",
    }
