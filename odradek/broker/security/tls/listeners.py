"""The TLS of the broker's listeners (SSL, SASL_SSL).

Owns: the TLS settings of each listener, and the reloads of key stores. Never does: the handshake. Invariants: a config
with the prefix ``listener.name.<listener>.`` takes precedence; a key store that can't be used stops the broker's start
before a socket is bound; a reload that fails leaves the listener as it is, with one log line. Source:
``ChannelBuilders``, ``SslFactory``. A broker without TLS listeners does not import this module.

Key stores are read again if a dynamic config changes the listener's settings, or if one of their files has changed when
a dynamic config is set (as in Kafka) or at the check every 10 s (Kafka does not check).
"""

import asyncio
import logging
from collections.abc import Callable, Mapping
from datetime import UTC, datetime

from odradek.protocol.errors import ErrorCode, KafkaError
from odradek.protocol.security import distinguished_name
from odradek.protocol.security.certificate_validity import chain_problem
from odradek.protocol.security.tls_context import (
    ServerTls,
    TlsSettings,
    TlsSettingsError,
    key_place,
    listener_settings,
    server_tls,
)

from ...config.errors import ConfigError
from ...config.listeners import Listener
from ...config.security import RELOADABLE, is_reloadable
from ...config.server_config import ServerConfig
from ...network.acceptor import ConnectionFactory
from ...network.connection import Connection
from ...timers.work import KindOfWork
from ..reread import Stamp, stamp_of
from .listener import MAPPING_KEY, RunningTls
from .principal_mapping import mapper, parse_rules
from .transport import TlsLoop, TlsTransport

logger = logging.getLogger(__name__)

KEY_STORES = KindOfWork("key-stores", "reads changed key stores")

CLIENT_AUTH_KEY = "ssl.client.auth"
DN_CHANGES_KEY, SAN_CHANGES_KEY = "ssl.allow.dn.changes", "ssl.allow.san.changes"
FILE_KEYS = ("ssl.keystore.location", "ssl.truststore.location")
TRUST_KEYS = ("ssl.truststore.location", "ssl.truststore.certificates")


class TlsListeners:
    """The TLS of each listener, while the broker runs."""

    def __init__(self, config: ServerConfig) -> None:
        """Reads the key stores. Raises ConfigError, with a sentence for each listener that can't have TLS."""
        self._shared = TlsLoop()
        self._static = config.originals
        self._texts: Mapping[str, str] = config.originals
        self._listeners = [listener for listener in config.listeners if has_tls(listener)]
        self._stamps: dict[str, tuple[Stamp, ...]] = {}
        self._reading: asyncio.Task[None] | None = None
        self.running: dict[str, RunningTls] = {}
        problems = []
        for listener in self._listeners:
            self._stamps[listener.name] = _stamp(config.originals, listener)
            try:
                self.running[listener.name] = _running(config, listener)
            except ValueError as error:
                problems.append(f"listener {listener.name}: {error}")
        if problems:
            raise ConfigError(problems)

    def factory(self, listener: Listener, connect: Callable[[], Connection]) -> ConnectionFactory:
        """Returns a factory of asyncio protocols for the listener's sockets. ``connect`` makes a connection."""
        running, shared = self.running[listener.name], self._shared
        return lambda: TlsTransport(connect(), running, shared)

    # Reloads.

    def check(self, configs: Mapping[str, str]) -> None:
        """Checks new dynamic configs of this broker, as in Kafka only for the listeners whose settings they change.

        Raises KafkaError(INVALID_REQUEST) if a listener could not use them.
        """
        texts = self._with_dynamic(configs)
        for listener in self._listeners:
            if _differ(self._texts, texts, listener):
                try:
                    self._replacement(texts, listener)
                except ValueError as error:
                    sentence = f"Validation of dynamic config update of SSLFactory failed: {error}"
                    raise KafkaError(ErrorCode.INVALID_REQUEST, sentence) from None

    def reconfigure(self, configs: Mapping[str, str], *, at_start: bool = False) -> None:
        """Reads key stores again if their settings or their files have changed. Failures are logged.

        ``configs``: the dynamic configs of this broker. ``at_start``: a certificate with any name is accepted; later,
        see :func:`refuse_other_names`.
        """
        before, texts = self._texts, self._with_dynamic(configs)
        self._texts = texts
        for listener in self._listeners:
            stamp = _stamp(texts, listener)
            if stamp == self._stamps[listener.name] and not _differ(before, texts, listener):
                continue
            self._stamps[listener.name] = stamp
            try:
                tls = tls_of(texts, listener) if at_start else self._replacement(texts, listener)
            except ValueError as error:
                _log_failure(listener, error)
            else:
                self._replace(listener, tls)

    def look_at_files(self) -> None:
        """Checks the files and reads changed key stores again, on a thread. Call it at an interval."""
        if self._reading is None or self._reading.done():
            self._reading = KEY_STORES.task(self._look_at_files())

    async def _look_at_files(self) -> None:
        for listener in self._listeners:  # a task for each: a bug with one store keeps none of the others
            await KEY_STORES.task(self._look_at_files_of(listener), f"the listener {listener.name}")

    async def _look_at_files_of(self, listener: Listener) -> None:
        texts = self._texts
        stamp = await KEY_STORES.awaited_on_thread(_stamp, texts, listener)
        if stamp == self._stamps[listener.name]:
            return
        try:
            tls = await KEY_STORES.awaited_on_thread(self._replacement, texts, listener)
        except ValueError as error:
            _log_failure(listener, error)
        else:
            if texts is self._texts:
                self._replace(listener, tls)
        self._stamps[listener.name] = stamp

    def _with_dynamic(self, configs: Mapping[str, str]) -> Mapping[str, str]:
        return {**self._static, **{key: text for key, text in configs.items() if is_reloadable(key)}}

    def _replacement(self, texts: Mapping[str, str], listener: Listener) -> ServerTls:
        """Makes a listener's TLS from these settings. Raises ValueError if it may not replace the current one."""
        before, after = settings_of(self._static, listener), settings_of(texts, listener)
        if any(map(after.get, TRUST_KEYS)) and not any(map(before.get, TRUST_KEYS)):
            raise TlsSettingsError("a trust store can't be added to a listener that was started without one")
        tls = server_tls(after)
        current = self.running[listener.name].current
        refuse_other_names(current.certificate, tls.certificate, after)
        if tls.chain != current.chain:
            refuse_invalid(tls, after)
        return tls

    def _replace(self, listener: Listener, tls: ServerTls) -> None:
        if tls.certificate != self.running[listener.name].current.certificate:
            logger.info("listener %s has a new certificate: %s", listener.name, _name(tls.certificate))
        self.running[listener.name].current = tls


def refuse_other_names(before: bytes, after: bytes, settings: TlsSettings) -> None:
    """Raises ValueError if a new certificate (DER) has another name, or lacks an alternative name of the old one.

    ``ssl.allow.dn.changes`` and ``ssl.allow.san.changes`` allow these changes. Source:
    ``SslFactory.CertificateEntries.ensureCompatible``.
    """
    old, new = _name(before), _name(after)
    if old.lower() != new.lower() and settings.get(DN_CHANGES_KEY) != "true":
        raise TlsSettingsError(f"the certificate's name {new!r} is not {old!r} ({DN_CHANGES_KEY})")
    missing = distinguished_name.alternative_names(before) - distinguished_name.alternative_names(after)
    if missing and settings.get(SAN_CHANGES_KEY) != "true":
        raise TlsSettingsError(f"the certificate lacks {len(missing)} subject alternative names ({SAN_CHANGES_KEY})")


def refuse_invalid(tls: ServerTls, settings: TlsSettings) -> None:
    """Raises TlsSettingsError if a certificate, or an intermediate one of its chain, has expired or is not valid
    yet."""
    problem = chain_problem(tls.chain, datetime.now(UTC))
    if problem is not None:
        raise TlsSettingsError(f"{key_place(settings)}: {problem}")


def _name(certificate: bytes) -> str:
    return distinguished_name.subject(certificate)


def _log_failure(listener: Listener, error: ValueError) -> None:
    logger.warning("listener %s keeps its certificate and trust store: %s", listener.name, error)


def _differ(before: Mapping[str, str], after: Mapping[str, str], listener: Listener) -> bool:
    """Whether two configurations differ in the reloadable TLS settings of a listener."""
    old, new = settings_of(before, listener), settings_of(after, listener)
    return any(old.get(key) != new.get(key) for key in RELOADABLE)


def _stamp(texts: Mapping[str, str], listener: Listener) -> tuple[Stamp, ...]:
    settings = settings_of(texts, listener)
    return tuple(stamp_of(path) for key in FILE_KEYS if (path := settings.get(key)) is not None)


def has_tls(listener: Listener) -> bool:
    """Whether the connections of a listener are encrypted."""
    return listener.protocol in ("SSL", "SASL_SSL")


def asks_for_certificates(config: ServerConfig, listener: Listener) -> bool:
    """Whether a listener requires a trusted client certificate (``ssl.client.auth=required``)."""
    return has_tls(listener) and settings_of(config.originals, listener).get(CLIENT_AUTH_KEY) == "required"


def settings_of(texts: Mapping[str, str], listener: Listener) -> TlsSettings:
    """The ``ssl.*`` settings of a listener.

    As in Kafka, a SASL_SSL listener ignores ``ssl.client.auth`` without the listener's prefix, because SASL
    authenticates its clients.
    """
    if listener.protocol == "SASL_SSL":
        texts = {key: text for key, text in texts.items() if key != CLIENT_AUTH_KEY}
    return listener_settings(texts, listener.name)


def tls_of(texts: Mapping[str, str], listener: Listener) -> ServerTls:
    """Makes the TLS of a listener from these settings. Raises TlsSettingsError."""
    return server_tls(settings_of(texts, listener))


def _running(config: ServerConfig, listener: Listener) -> RunningTls:
    settings = settings_of(config.originals, listener)
    tls = server_tls(settings)
    try:
        refuse_invalid(tls, settings)
    except TlsSettingsError as error:
        if listener.name == config.inter_broker_listener_name:
            raise
        logger.warning("listener %s: clients refuse its certificate: %s", listener.name, error)
    if listener.protocol == "SASL_SSL":
        return RunningTls(tls, None)
    try:
        rules = parse_rules(settings.get(MAPPING_KEY) or "DEFAULT")
    except ValueError as error:
        raise TlsSettingsError(f"{settings.name(MAPPING_KEY)}: {error}") from None
    return RunningTls(tls, mapper(rules))
