"""The TLS of the broker's listeners (SSL, SASL_SSL).

Owns: which settings a listener has. Never does: the handshake. Invariants: a key with ``listener.name.<listener>.``
takes precedence; a key store that can't be used stops the start before anything is bound. Source: ``ChannelBuilders``,
``SslFactory``. A broker without such listeners does not import this module.
"""

from collections.abc import Callable, Mapping

from ...protocol.security.tls_context import ServerTls, TlsSettings, TlsSettingsError, listener_settings, server_tls
from ..config.errors import ConfigError
from ..config.listeners import Listener
from ..config.server_config import ServerConfig
from ..network.acceptor import ConnectionFactory
from ..network.connection import Connection
from ..network.principal_mapping import mapper, parse_rules
from ..network.tls_listener import MAPPING_KEY, RunningTls
from ..network.tls_transport import TlsLoop, TlsTransport

CLIENT_AUTH_KEY = "ssl.client.auth"


class TlsListeners:
    """The TLS of each listener, while the broker runs."""

    def __init__(self, config: ServerConfig) -> None:
        """Reads the key stores. Raises ConfigError, with a sentence for each listener that can't have TLS."""
        self._shared = TlsLoop()
        self.running: dict[str, RunningTls] = {}
        problems = []
        for listener in filter(has_tls, config.listeners):
            try:
                self.running[listener.name] = _running(config, listener)
            except ValueError as error:
                problems.append(f"listener {listener.name}: {error}")
        if problems:
            raise ConfigError(problems)

    def factory(self, listener: Listener, connect: Callable[[], Connection]) -> ConnectionFactory:
        """Makes the protocols of the listener's sockets. ``connect`` makes a connection."""
        running, shared = self.running[listener.name], self._shared
        return lambda: TlsTransport(connect(), running, shared)


def has_tls(listener: Listener) -> bool:
    """Whether the connections of a listener are encrypted."""
    return listener.protocol in ("SSL", "SASL_SSL")


def asks_for_certificates(config: ServerConfig, listener: Listener) -> bool:
    """Whether only clients with a certificate that is trusted can use a listener."""
    return has_tls(listener) and settings_of(config.originals, listener).get(CLIENT_AUTH_KEY) == "required"


def settings_of(texts: Mapping[str, str], listener: Listener) -> TlsSettings:
    """The ``ssl.*`` settings of a listener. SASL_SSL takes ``ssl.client.auth`` only with the listener's prefix, as in
    Kafka: SASL authenticates its clients.
    """
    if listener.protocol == "SASL_SSL":
        texts = {key: text for key, text in texts.items() if key != CLIENT_AUTH_KEY}
    return listener_settings(texts, listener.name)


def tls_of(texts: Mapping[str, str], listener: Listener) -> ServerTls:
    """The TLS of a listener under these settings. Raises TlsSettingsError."""
    return server_tls(settings_of(texts, listener))


def _running(config: ServerConfig, listener: Listener) -> RunningTls:
    tls = tls_of(config.originals, listener)
    if listener.protocol == "SASL_SSL":
        return RunningTls(tls, None)
    settings = settings_of(config.originals, listener)
    try:
        rules = parse_rules(settings.get(MAPPING_KEY) or "DEFAULT")
    except ValueError as error:
        raise TlsSettingsError(f"{settings.name(MAPPING_KEY)}: {error}") from None
    return RunningTls(tls, mapper(rules))
