"""A real Apache Kafka with every security protocol and mechanism, and its clients' properties.

The listener PLAINTEXT is for the operator: its clients are ``User:ANONYMOUS``, a super user.
"""

import json
from collections.abc import Mapping
from pathlib import Path

from odradek.testing.security.certificates import CertificateAuthority
from support.brokers.free_ports import free_ports
from support.kafka.real_kafka import RealKafka

SUPER_USER = "admin"
PASSWORDS = {SUPER_USER: "admin-secret", "alice": "alice-secret", "bob": "bob;=\"',secret"}
"""The users of PLAIN. Tests create those of SCRAM."""
LISTENERS = {
    "SASL_PLAINTEXT": "SASL_PLAINTEXT",
    "SSL": "SSL",
    "SASL_SSL": "SASL_SSL",
    "SHORT": "SASL_PLAINTEXT",
}
"""Listener -> security protocol. Sessions on the listener SHORT expire after SESSION_MS."""
SESSION_MS = 1_500
MECHANISMS = "PLAIN,SCRAM-SHA-256,SCRAM-SHA-512,OAUTHBEARER"
_SECURITY = "org.apache.kafka.common.security"


class SecuredKafka(RealKafka):
    """One broker and controller with an authorizer and the listeners above."""

    def __init__(self, directory: Path) -> None:
        super().__init__(directory)
        self.ports = dict(zip(LISTENERS, free_ports(len(LISTENERS)), strict=True))
        directory.mkdir(parents=True, exist_ok=True)
        authority = CertificateAuthority()
        self.trust = str(authority.write_pem(directory / "trust.pem"))
        self._server = str(authority.issue("broker", ["localhost", "127.0.0.1"]).write_pem(directory / "server.pem"))
        self.alices_key = str(authority.issue("alice").write_pem(directory / "alice.pem"))

    def address(self, listener: str) -> str:
        """``127.0.0.1:<port>`` of a listener."""
        return f"127.0.0.1:{self.ports[listener]}"

    def properties(self) -> dict[str, str]:
        """The broker's configuration."""
        plain = super().properties()
        listeners = [plain["listeners"], *(f"{name}://{self.address(name)}" for name in LISTENERS)]
        protocols = ["PLAINTEXT:PLAINTEXT", "CONTROLLER:PLAINTEXT", *(f"{n}:{p}" for n, p in LISTENERS.items())]
        users = " ".join(f"user_{user}={quoted(password)}" for user, password in PASSWORDS.items())
        modules = {
            "plain": f"{_SECURITY}.plain.PlainLoginModule required {users};",
            "scram-sha-256": f"{_SECURITY}.scram.ScramLoginModule required;",
            "scram-sha-512": f"{_SECURITY}.scram.ScramLoginModule required;",
            "oauthbearer": f"{_SECURITY}.oauthbearer.OAuthBearerLoginModule required;",
        }
        configs = {
            "listeners": ",".join(listeners),
            "listener.security.protocol.map": ",".join(protocols),
            "inter.broker.listener.name": "PLAINTEXT",
            "sasl.enabled.mechanisms": MECHANISMS,
            "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
            "super.users": f"User:ANONYMOUS;User:{SUPER_USER}",
            "allow.everyone.if.no.acl.found": "true",
            "delegation.token.secret.key": "the-secret-of-tests",
            "ssl.keystore.type": "PEM",
            "ssl.keystore.location": self._server,
            "ssl.truststore.type": "PEM",
            "ssl.truststore.location": self.trust,
            "listener.name.ssl.ssl.client.auth": "required",
            "listener.name.short.connections.max.reauth.ms": str(SESSION_MS),
            "connection.failed.authentication.delay.ms": "100",
        }
        for name, protocol in LISTENERS.items():
            if protocol.startswith("SASL"):
                prefix = f"listener.name.{name.lower()}"
                for mechanism, text in modules.items():
                    # A properties file removes one level of backslashes.
                    configs[f"{prefix}.{mechanism}.sasl.jaas.config"] = text.replace("\\", "\\\\")
        return {**plain, **configs}

    def client(
        self, listener: str, mechanism: str = "PLAIN", user: str = "alice", password: str = ""
    ) -> dict[str, str]:
        """The properties of a client of a listener. ``password``: instead of that in PASSWORDS."""
        settings = {"security.protocol": LISTENERS[listener]}
        if "SSL" in LISTENERS[listener]:
            settings |= {"ssl.truststore.type": "PEM", "ssl.truststore.location": self.trust}
        if listener == "SSL":
            settings |= {"ssl.keystore.type": "PEM", "ssl.keystore.location": self.alices_key}
        if LISTENERS[listener].startswith("SASL"):
            settings |= sasl(mechanism, user, password or PASSWORDS.get(user, ""))
        return settings


def sasl(mechanism: str, user: str, password: str, **more: str) -> dict[str, str]:
    """``sasl.mechanism`` and ``sasl.jaas.config`` of a user."""
    if mechanism == "OAUTHBEARER":
        module, options = "oauthbearer.OAuthBearerLoginModule", {"unsecuredLoginStringClaim_sub": user}
    else:
        name = "plain.PlainLoginModule" if mechanism == "PLAIN" else "scram.ScramLoginModule"
        module, options = name, {"username": user, "password": password}
    text = " ".join(f"{key}={quoted(value)}" for key, value in {**options, **more}.items())
    return {"sasl.mechanism": mechanism, "sasl.jaas.config": f"{_SECURITY}.{module} required {text};"}


def quoted(text: str) -> str:
    """A value in quotes for JAAS. Java's tokenizer knows the escapes of JSON."""
    return json.dumps(text, ensure_ascii=False)


def write_properties(path: Path, settings: Mapping[str, str]) -> Path:
    """Writes a properties file that Java reads as the settings."""
    escaped = {key: value.replace("\\", "\\\\") for key, value in settings.items()}
    path.write_text("".join(f"{key}={value}\n" for key, value in escaped.items()))
    return path
