"""Makes the factory of each listener's connections, by its security protocol.

Owns: the choice of the factory, and what a start reads of SASL and TLS settings. Never does: accepting, authenticating.
Invariant: a connection of a listener that asks for authentication counts as unauthenticated from its accept. Source:
``ChannelBuilders``.
"""

import functools
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from odradek.protocol.apis.api_keys import ApiKey
from odradek.protocol.common.lazy_imports import lazy_imports
from odradek.protocol.messages.structure import Message

from ..config.listeners import Listener
from ..config.server_config import ServerConfig
from ..dispatch.request import RequestContext
from ..dispatch.served import handler
from ..network.acceptor import ConnectionFactory, Listening
from ..network.connection import Authentication, Connection
from ..network.listening import BoundListener
from ..timers.patient_timers import PatientTimers
from .broker import Broker

with lazy_imports:
    from ..config import sasl
    from ..security.authentication import failures, sasl_listener, sasl_mechanisms
    from ..security.tls import listener as tls_listener
    from ..security.tls import listeners

if TYPE_CHECKING:
    from ..config.sasl import ListenerSasl
    from ..security.authentication.failures import Failures
    from ..security.tls.listeners import TlsListeners

Connect = Callable[[str, Authentication | None], Connection]
"""Makes a connection of a listener: its name, and how its clients authenticate (None: they don't)."""


def accepts_anyone(config: ServerConfig, listener: Listener) -> bool:
    """Whether a listener serves clients without asking them who they are."""
    if listener.protocol == "PLAINTEXT":
        return True
    if listener.protocol != "SSL":
        return False
    return not listeners.asks_for_certificates(config, listener)


class ListenerSecurity:
    """Makes the connection factories of the listeners."""

    def __init__(
        self,
        config: ServerConfig,
        broker: Broker,
        connect: Connect,
        tls: "TlsListeners | None",
    ) -> None:
        """``connect`` makes a connection. ``tls``: the TLS of the listeners that have it; None without one."""
        self._tls = tls
        self._config = config
        self._broker = broker
        self._connect = connect

    def listening(self, bound: Sequence[BoundListener]) -> list[Listening]:
        """The bound sockets, each with the factory of its connections."""
        made = []
        for listener in bound:
            factory = self._factory(listener)
            made += [Listening(listener.listener.name, each, factory) for each in listener.sockets]
        return made

    def _factory(self, bound: BoundListener) -> ConnectionFactory:
        listener = bound.listener
        if listener.protocol == "PLAINTEXT":
            return functools.partial(self._connect, listener.name, None)
        authentication = self._certificates() if listener.protocol == "SSL" else self._sasl(listener.name)
        connect = functools.partial(self._connect, listener.name, authentication)
        if listener.protocol == "SASL_PLAINTEXT":
            return connect
        assert self._tls is not None
        return self._tls.factory(listener, connect)

    def _certificates(self) -> Authentication:
        """How the clients of an SSL listener authenticate."""
        return tls_listener.HandshakeAuthentication(self._config.get_int("socket.request.max.bytes"))

    def _sasl(self, listener_name: str) -> Authentication:
        """How the clients of a SASL listener authenticate."""
        broker, settings = self._broker, self._sasl_settings[listener_name]
        scram_decoys = broker.access.scram_decoys
        assert scram_decoys is not None, "made at the start of a broker with SASL"
        mechanisms = sasl_mechanisms.mechanisms_of(
            self._config,
            listener_name,
            settings,
            lambda: broker.metadata.image,
            lambda: broker.token_hmacs,
            scram_decoys,
        )
        answers = sasl_listener.OwnAnswers(self._api_versions, listener_name)
        return sasl_listener.sasl_listener(mechanisms, settings, answers, self._failures, broker.timers)

    def _api_versions(self, request: object, context: RequestContext) -> Message:
        """The response of the handler of ApiVersions, which replies at once."""
        responses: list[Message] = []
        handler(ApiKey.API_VERSIONS)(self._broker, request, context, responses.append)
        (response,) = responses
        return response

    @functools.cached_property
    def _sasl_settings(self) -> "dict[str, ListenerSasl]":
        return read_sasl_settings(self._config)

    @functools.cached_property
    def _failures(self) -> "Failures":
        return failures.Failures(self._config.get_int("connection.failed.authentication.delay.ms"))


def tls_listeners(config: ServerConfig) -> "TlsListeners | None":
    """The TLS of the listeners that have it; None without such a listener. Raises ConfigError."""
    if all(listener.protocol in ("PLAINTEXT", "SASL_PLAINTEXT") for listener in config.listeners):
        return None
    return listeners.TlsListeners(config)


def follow_tls_configs(tls: "TlsListeners", broker: Broker, timers: PatientTimers, check_ms: int) -> None:
    """Applies the dynamic configs of listeners now, and their files whenever they change.

    ``check_ms``: the interval of checks whether the files have changed.
    """
    metadata = broker.metadata
    tls.reconfigure(metadata.image.broker_configs(metadata.node_id), at_start=True)
    timers.every(check_ms, tls.look_at_files)


def read_sasl_settings(config: ServerConfig) -> "dict[str, ListenerSasl]":
    """The settings of the listeners that ask for SASL. Raises ConfigError."""
    if not config.has_sasl:
        return {}
    return sasl.sasl_settings(config, config.listeners, config.inter_broker_listener_name)
