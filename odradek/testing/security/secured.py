"""A broker for tests with security: its own certificate authority, users with passwords, ACLs.

    broker = kafka_broker_factory(security=BrokerSecurity(users={"alice": "alice-secret"}))
    KafkaProducer(bootstrap_servers=broker.bootstrap_servers, **broker.client("alice").kafka_python)

Owns: the security configs of the broker, and the matching settings of each client library. Making the certificates
takes a few milliseconds, and needs the extra ``security``.
"""

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import mkdtemp
from typing import TYPE_CHECKING, Any

from odradek.broker.config.server_config import ServerConfig
from odradek.protocol.common.lazy_imports import lazy_imports

from ..broker.config_values import ConfigValue, loaded
from ..broker.in_process import HOST, InProcessBroker

with lazy_imports:
    import ssl

    from odradek.client.admin import scram_users

    from . import certificates

if TYPE_CHECKING:
    from odradek.client.admin.acl_types import AclBinding
    from odradek.client.admin.admin import Admin

ADMIN = "admin"
MODULES = "org.apache.kafka.common.security"
PROTOCOLS = ("SSL", "SASL_PLAINTEXT", "SASL_SSL")
SCRAM = ("SCRAM-SHA-256", "SCRAM-SHA-512")
MECHANISMS = ("PLAIN", *SCRAM)


@dataclass(frozen=True)
class BrokerSecurity:
    """The security of a broker for tests: protocol, SASL mechanism, users, ACLs. Raises ValueError.

    ``users`` maps names to passwords. With the protocol SSL, a user has a certificate instead of a password. The
    principal is always ``User:<name>``. The user ``admin`` always exists, and is a super user. ``acls``: without any,
    each user may do everything; with ACLs, only what they allow.
    """

    users: Mapping[str, str] = field(default_factory=lambda: {"alice": "alice-secret"}, repr=False)
    acls: Sequence["AclBinding"] = ()
    protocol: str = "SASL_SSL"
    mechanism: str = "SCRAM-SHA-512"

    def __post_init__(self) -> None:
        """Checks the protocol and the mechanism. Raises ValueError."""
        if self.protocol not in PROTOCOLS:
            raise ValueError(f"protocol must be one of {', '.join(PROTOCOLS)}, not {self.protocol!r}")
        if self.mechanism not in MECHANISMS:
            raise ValueError(f"mechanism must be one of {', '.join(MECHANISMS)}, not {self.mechanism!r}")

    @property
    def has_tls(self) -> bool:
        """Whether connections are encrypted."""
        return "SSL" in self.protocol.split("_")

    @property
    def has_sasl(self) -> bool:
        """Whether users log in with passwords."""
        return self.protocol.startswith("SASL")


@dataclass(frozen=True)
class ClientSecurity:
    """The settings of one user for each client library, without the address of the broker."""

    protocol: str
    mechanism: str
    user: str
    password: str = field(repr=False)
    trust: Path | None
    """The authority's certificate, in PEM; None without TLS."""
    key: Path | None
    """The user's private key with its certificate, in PEM; only with the protocol SSL."""

    @property
    def java(self) -> dict[str, str]:
        """Properties for Java clients and Kafka's tools; also for the argument ``security`` of Odradek's own client."""
        settings = {"security.protocol": self.protocol}
        if self.trust is not None:
            settings |= {"ssl.truststore.type": "PEM", "ssl.truststore.location": str(self.trust)}
        if self.key is not None:
            settings |= {"ssl.keystore.type": "PEM", "ssl.keystore.location": str(self.key)}
        if self.mechanism:
            settings["sasl.mechanism"] = self.mechanism
            options = f"username={_quoted(self.user)} password={_quoted(self.password)}"
            settings["sasl.jaas.config"] = f"{_module(self.mechanism)} required {options};"
        return settings

    @property
    def odradek(self) -> dict[str, Any]:
        """Arguments of ``odradek.client``'s Producer, Consumer and Admin."""
        return {"security": self.java}

    @property
    def confluent_kafka(self) -> dict[str, Any]:
        """The settings of confluent-kafka, which are librdkafka's."""
        settings: dict[str, Any] = {"security.protocol": self.protocol}
        if self.trust is not None:
            settings["ssl.ca.location"] = str(self.trust)
        if self.key is not None:
            settings |= {"ssl.certificate.location": str(self.key), "ssl.key.location": str(self.key)}
        if self.mechanism:
            settings |= {"sasl.mechanism": self.mechanism, "sasl.username": self.user, "sasl.password": self.password}
        return settings

    @property
    def kafka_python(self) -> dict[str, Any]:
        """Arguments of kafka-python's clients."""
        settings = self._python()
        if self.trust is not None:
            settings["ssl_cafile"] = str(self.trust)
        if self.key is not None:
            settings |= {"ssl_certfile": str(self.key), "ssl_keyfile": str(self.key)}
        return settings

    @property
    def aiokafka(self) -> dict[str, Any]:
        """Arguments of aiokafka's clients."""
        settings = self._python()
        if self.trust is not None:
            context = ssl.create_default_context(cafile=str(self.trust))
            if self.key is not None:
                context.load_cert_chain(self.key)
            settings["ssl_context"] = context
        return settings

    def _python(self) -> dict[str, Any]:
        settings: dict[str, Any] = {"security_protocol": self.protocol}
        if self.mechanism:
            settings |= {
                "sasl_mechanism": self.mechanism,
                "sasl_plain_username": self.user,
                "sasl_plain_password": self.password,
            }
        return settings


class SecuredBroker(InProcessBroker):
    """A broker on 127.0.0.1 with security. Its only listener asks each client for a login or a certificate."""

    def __init__(
        self,
        directory: str | os.PathLike[str] | None = None,
        configs: Mapping[str, ConfigValue] | None = None,
        security: BrokerSecurity | None = None,
    ) -> None:
        """``security``: by default SASL_SSL, with the users alice and admin."""
        super().__init__(directory, configs)
        self.security = security or BrokerSecurity()
        if not isinstance(self.security, BrokerSecurity):
            raise TypeError(f"security must be True or a BrokerSecurity(...), not {security!r}")
        self._passwords = {ADMIN: "admin-secret", **self.security.users}
        self.log_dir.parent.mkdir(parents=True, exist_ok=True)
        self._files = Path(mkdtemp(prefix="tls-", dir=self.log_dir.parent))
        self._keys = self._broker_keys()

    def client(self, user: str = ADMIN) -> ClientSecurity:
        """The client settings for a user. Raises ValueError for a user that the broker does not have."""
        if user not in self._passwords:
            raise ValueError(f"the broker has no user {user!r}; it has {', '.join(self._passwords)}")
        security = self.security
        return ClientSecurity(
            security.protocol,
            security.mechanism if security.has_sasl else "",
            user,
            self._passwords[user],
            self._files / "ca.pem" if security.has_tls else None,
            None if security.has_sasl else self._files / f"{user}.pem",
        )

    def start(self) -> None:
        """Starts the broker, and creates its users and ACLs. Raises what :meth:`InProcessBroker.start` raises."""
        super().start()
        self._prepare()

    def reset(self, configs: Mapping[str, ConfigValue] | None = None, *, new_port: bool = False) -> None:
        """Replaces the broker by a new, empty one with the same users, ACLs and certificates."""
        super().reset(configs, new_port=new_port)
        self._prepare()

    def _config(self) -> ServerConfig:
        protocol = self.security.protocol
        keys = {"listeners": f"{protocol}://{HOST}:{self._port}", "log.dirs": str(self.log_dir), **self._keys}
        return loaded({**keys, **self._configs})

    def _client_settings(self) -> dict[str, Any]:
        """The settings of the helpers: they log in as admin with PLAIN, which works before SCRAM users exist."""
        settings = self.client()
        if self.security.has_sasl:
            settings = ClientSecurity(
                settings.protocol, "PLAIN", ADMIN, settings.password, settings.trust, settings.key
            )
        return settings.odradek

    def _broker_keys(self) -> dict[str, str]:
        """The security configs of the broker. Writes the certificates if the protocol has TLS."""
        security = self.security
        keys = {
            "security.inter.broker.protocol": security.protocol,
            "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
            "super.users": f"User:{ADMIN}",
            "allow.everyone.if.no.acl.found": "false" if security.acls else "true",
        }
        if security.has_tls:
            keys |= self._tls_keys()
        if security.has_sasl:
            prefix = f"listener.name.{security.protocol.lower()}"
            users = " ".join(f"user_{user}={_quoted(password)}" for user, password in self._passwords.items())
            keys |= {
                "sasl.mechanism.inter.broker.protocol": "PLAIN",
                "sasl.enabled.mechanisms": ",".join(MECHANISMS),
                f"{prefix}.plain.sasl.jaas.config": f"{_module('PLAIN')} required {users};",
                **{f"{prefix}.{name.lower()}.sasl.jaas.config": f"{_module(name)} required;" for name in SCRAM},
            }
        return keys

    def _tls_keys(self) -> dict[str, str]:
        authority = certificates.CertificateAuthority()
        authority.write_pem(self._files / "ca.pem")
        authority.issue("broker", ["localhost", HOST]).write_pem(self._files / "broker.pem")
        keys = {"ssl.keystore.type": "PEM", "ssl.keystore.location": str(self._files / "broker.pem")}
        if not self.security.has_sasl:
            for user in self._passwords:
                authority.issue(user).write_pem(self._files / f"{user}.pem")
            keys |= {
                "ssl.client.auth": "required",
                "ssl.truststore.type": "PEM",
                "ssl.truststore.location": str(self._files / "ca.pem"),
                "ssl.principal.mapping.rules": "RULE:^CN=(.*)$/$1/",
            }
        return keys

    def _prepare(self) -> None:
        """Creates the SCRAM users and the ACLs. The users of PLAIN are in the configuration."""
        mechanism, passwords, acls = self.security.mechanism, self._passwords, self.security.acls
        with_scram = self.security.has_sasl and mechanism in SCRAM

        async def make(admin: "Admin") -> None:
            if with_scram:
                users = [scram_users.ScramUpsertion(user, mechanism, password) for user, password in passwords.items()]
                await admin.alter_user_scram_credentials(users)
            if acls:
                await admin.create_acls(acls)

        if with_scram or acls:
            self._admin(make)


def _module(mechanism: str) -> str:
    return f"{MODULES}.plain.PlainLoginModule" if mechanism == "PLAIN" else f"{MODULES}.scram.ScramLoginModule"


def _quoted(text: str) -> str:
    """A value, quoted and escaped for a JAAS configuration."""
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'
