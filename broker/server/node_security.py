"""The security of this broker's connections to other brokers and to its controllers, from its configuration.

Owns: which settings these connections take: those of the listener that they go to. Never does: connecting. Invariant:
what can't be served stops the start before a directory is touched. Source: ``ChannelBuilders.clientChannelBuilder``
with JaasContext.Type.SERVER.
"""

import secrets
from collections.abc import Callable
from typing import TYPE_CHECKING

from ..config.errors import ConfigError
from ..config.node_links import NodeLink, node_links
from ..config.server_config import ServerConfig
from ..network.node_login import PLAINTEXT, NodeSecurity

if TYPE_CHECKING:
    import ssl

    from ...protocol.security.login_mechanisms import ClientLogin

NONCE_BYTES = 24


def node_security(config: ServerConfig) -> tuple[NodeSecurity, NodeSecurity]:
    """That of the connections to other brokers, and to the controllers. Reads key stores. Raises ConfigError."""
    links = node_links(config, config.inter_broker_listener_name)
    inter_broker, controllers = [_security(config, link) for link in links]
    return inter_broker, controllers


def _security(config: ServerConfig, link: NodeLink) -> NodeSecurity:
    if link.protocol == "PLAINTEXT":
        return PLAINTEXT
    context = _tls(config, link.listener) if link.has_tls else None
    return NodeSecurity(
        tls=None if context is None else lambda: context,
        login=_login(config, link) if link.has_sasl else None,
    )


def _login(config: ServerConfig, link: NodeLink) -> "Callable[[], ClientLogin]":
    from ...protocol.security.login_mechanisms import PlainLogin, ScramLogin
    from ..config.sasl import node_login

    login = node_login(config, link.listener, link.mechanism_key)
    if login.mechanism == "PLAIN":
        return lambda: PlainLogin(login.user, login.password)
    return lambda: ScramLogin(login.mechanism, login.user, login.password, secrets.token_urlsafe(NONCE_BYTES))


def _tls(config: ServerConfig, listener: str) -> "ssl.SSLContext":
    from ...protocol.security.tls_context import TlsSettingsError, client_context, listener_settings

    try:
        return client_context(listener_settings(config.originals, listener))
    except TlsSettingsError as error:
        raise ConfigError([f"connections to the listener {listener}: {error}"]) from None
