"""The settings of the console: the checks of its keys, and what its process gets.

Owns: the rule that a console without TLS and login is reached from this machine only, and which listener it connects
to. Never does: sockets, processes. Invariant: with security on (a listener that is not PLAINTEXT) a session has the
rights of a login: of the user's own at the broker, or, without SASL, of ``odradek.console.credentials``.
"""

import base64
from pathlib import Path
from typing import NamedTuple

from odradek.protocol.java.properties import decode_properties, parse_properties
from odradek.protocol.security.tls_context import TlsSettings, TlsSettingsError, listener_settings, server_tls

from ..config.errors import ConfigError
from ..config.listeners import Listener, uses_sasl
from ..config.server_config import ServerConfig
from ..http.hosts import host_and_port, is_loopback
from .listener_security import read_sasl_settings

LISTENER_KEY, TLS_KEY = "odradek.console.listener", "odradek.console.ssl.enable"
CREDENTIALS_KEY, CLIENT_KEY = "odradek.console.credentials", "odradek.console.client.config"
OPEN, PASSWORD, KAFKA = "open", "password", "kafka"
WITH_PASSWORDS = ("SCRAM-SHA-512", "SCRAM-SHA-256", "PLAIN")
"""The mechanisms for which a user types a name and a password."""
TRUST_KEYS = (
    "ssl.truststore.certificates",
    "ssl.truststore.location",
    "ssl.truststore.password",
    "ssl.truststore.type",
)


class ConsoleConfig(NamedTuple):
    """The checked settings."""

    host: str
    port: int
    access: str
    """``open``, ``password`` or ``kafka``: who may open a session."""
    listener: Listener
    """The broker's listener that the console connects to."""
    mechanisms: tuple[str, ...]
    """For ``kafka``: what its users can log in with."""
    has_tls: bool


def console_config(config: ServerConfig) -> ConsoleConfig:
    """The settings of ``odradek.console.listener``, which is set. Raises ConfigError."""
    host, port = host_and_port(config.get_string(LISTENER_KEY))
    listener = console_target(config)
    mechanisms: tuple[str, ...] = ()
    access = OPEN
    if uses_sasl(listener.protocol):
        offered = {mechanism.name for mechanism in read_sasl_settings(config)[listener.name].mechanisms}
        mechanisms = tuple(name for name in WITH_PASSWORDS if name in offered)
        access = KAFKA
        if not mechanisms:
            raise ConfigError(
                [f"{LISTENER_KEY}: listener {listener.name} has none of {', '.join(WITH_PASSWORDS)} to log in with"]
            )
    elif config.get_string(CREDENTIALS_KEY):
        access = PASSWORD
        if ":" not in config.get_string(CREDENTIALS_KEY):
            raise ConfigError([f"{CREDENTIALS_KEY} must be user:password"])
    has_tls = config.get_boolean(TLS_KEY)
    problems = _open_doors(config, host, access, has_tls=has_tls)
    if problems:
        raise ConfigError(problems)
    return ConsoleConfig(host, port, access, listener, mechanisms, has_tls)


def _open_doors(config: ServerConfig, host: str, access: str, *, has_tls: bool) -> list[str]:
    """Why the console would be open to others; empty if it is not."""
    problems = []
    address = f"{LISTENER_KEY}={config.get_string(LISTENER_KEY)}"
    if access == OPEN and any(listener.protocol != "PLAINTEXT" for listener in config.listeners):
        problems.append(f"{LISTENER_KEY}: the broker's clients need certificates: set {CREDENTIALS_KEY} as well")
    if not is_loopback(host):
        if not has_tls:
            problems.append(f"{address} can be reached from other machines: set {TLS_KEY}=true, or listen on 127.0.0.1")
        if access == OPEN:
            problems.append(
                f"{address} can be reached from other machines without a login: set {CREDENTIALS_KEY}, give the broker"
                " a listener with SASL, or listen on 127.0.0.1"
            )
    return problems


def console_target(config: ServerConfig) -> Listener:
    """The listener that the console connects to: one with SASL if there is any, so that each user has the own rights;
    among equals that of the brokers, because its address is reached from here."""
    listeners = config.listeners
    with_sasl = [listener for listener in listeners if uses_sasl(listener.protocol)]
    plain = [listener for listener in listeners if listener.protocol == "PLAINTEXT"]
    candidates = with_sasl or plain or list(listeners)
    own = [listener for listener in candidates if listener.name == config.inter_broker_listener_name]
    return (own or candidates)[0]


def process_settings(config: ServerConfig, console: ConsoleConfig, bootstrap_server: str) -> dict[str, object]:
    """The settings of the console's process, as JSON. Reads files. Raises ConfigError, OSError."""
    settings: dict[str, object] = {
        "host": console.host,
        "hostNames": list(config.get_list("odradek.console.host.names")),
        "allowsChanges": not config.get_boolean("odradek.console.read.only"),
        "access": console.access,
        "credentials": config.get_string(CREDENTIALS_KEY) if console.access == PASSWORD else "",
        "mechanisms": list(console.mechanisms),
        "bootstrapServers": bootstrap_server,
        "properties": client_properties(config, console.listener),
        "tls": _tls_texts(config) if console.has_tls else None,
    }
    return settings


def client_properties(config: ServerConfig, listener: Listener) -> dict[str, str]:
    """The security properties of the console's clients; without a login. Raises ConfigError, OSError."""
    properties = {}
    path = config.get_string(CLIENT_KEY)
    if path:
        entries = parse_properties(decode_properties(Path(path).read_bytes()))
        properties = {entry.key: entry.value for entry in entries}
    properties["security.protocol"] = listener.protocol
    if listener.protocol in ("SSL", "SASL_SSL") and not any(key in properties for key in TRUST_KEYS):
        properties |= trust_of(listener_settings(config.originals, listener.name))
    return properties


def trust_of(settings: TlsSettings) -> dict[str, str]:
    """The trust in a listener: its own trust store, which its brokers trust, or else the certificates that it shows.
    Raises ConfigError."""
    trust = {key: text for key in TRUST_KEYS if (text := settings.get(key)) is not None}
    if trust:
        return trust
    try:
        chain = server_tls(settings).chain
    except TlsSettingsError as error:
        raise ConfigError([f"{LISTENER_KEY}: {error}"]) from None
    return {"ssl.truststore.type": "PEM", "ssl.truststore.certificates": "".join(map(_as_pem, chain))}


def _as_pem(certificate: bytes) -> str:
    text = base64.encodebytes(certificate).decode()
    return f"-----BEGIN CERTIFICATE-----\n{text}-----END CERTIFICATE-----\n"


def _tls_texts(config: ServerConfig) -> dict[str, str]:
    """The settings of the console's own TLS."""
    return {key: text for key, text in config.originals.items() if key.startswith("ssl.")}
