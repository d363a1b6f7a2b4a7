"""The security of this broker's connections to other brokers and to its controllers, from its configuration.

Owns: the settings of these connections, which are those of the listener that they connect to. Never does: connecting.
Invariants: settings that can't be used stop the broker's start before it touches a data directory; each new connection
uses the current contents of key stores, trust stores and JAAS file, or the last usable ones; dynamic configs of this
broker can change the key stores. Source: ``ChannelBuilders.clientChannelBuilder`` with JaasContext.Type.SERVER.
"""

import secrets
from collections.abc import Awaitable, Callable, Mapping
from typing import TYPE_CHECKING

from odradek.protocol.common.lazy_imports import lazy_imports

from ..config.errors import ConfigError
from ..config.node_links import NodeLink, node_links
from ..config.security import RELOADABLE, is_reloadable
from ..config.server_config import ServerConfig
from ..network.node_client import PLAINTEXT, SECURITY, NodeSecurity

with lazy_imports:
    from odradek.protocol.security import login_mechanisms, tls_context

    from ..config import sasl
    from . import node_tokens, reread

if TYPE_CHECKING:
    import ssl

    from odradek.protocol.security.login_mechanisms import ClientLogin

    from ..config.sasl import NodeLogin

NONCE_BYTES = 24
FILE_KEYS = ("ssl.keystore.location", "ssl.truststore.location")

Configs = Callable[[], Mapping[str, str]]
"""Returns the current dynamic configs of this broker."""


def node_security(config: ServerConfig, dynamic: Configs = dict) -> tuple[NodeSecurity, NodeSecurity]:
    """The security of connections to other brokers, and to the controllers. Reads key stores. Raises ConfigError."""
    links = node_links(config, config.inter_broker_listener_name)
    inter_broker, controllers = [_security(config, link, dynamic) for link in links]
    return inter_broker, controllers


def _security(config: ServerConfig, link: NodeLink, dynamic: Configs) -> NodeSecurity:
    if link.protocol == "PLAINTEXT":
        return PLAINTEXT
    return NodeSecurity(
        tls=_tls(config, link.listener, dynamic) if link.has_tls else None,
        login=_login(config, link) if link.has_sasl else None,
    )


def _login(config: ServerConfig, link: NodeLink) -> "Callable[[], Awaitable[ClientLogin]]":
    path = config.originals.get(sasl.JAAS_FILE_KEY, "").strip()
    kept = reread.Reread(
        f"user and password for connections to the listener {link.listener}",
        lambda: sasl.node_login(config, link.listener, link.mechanism_key),
        lambda: (None, [path] if path else []),
    )
    if kept.value.tokens is not None:
        return node_tokens.NodeTokens(link.listener, kept.value.tokens).login

    async def begin() -> "ClientLogin":
        return _with_password(await SECURITY.awaited_on_thread(kept.current))

    return begin


def _with_password(login: "NodeLogin") -> "ClientLogin":
    if login.mechanism == "PLAIN":
        return login_mechanisms.PlainLogin(login.user, login.password)
    return login_mechanisms.ScramLogin(login.mechanism, login.user, login.password, secrets.token_urlsafe(NONCE_BYTES))


def _tls(config: ServerConfig, listener: str, dynamic: Configs) -> "Callable[[], ssl.SSLContext]":
    def settings() -> tls_context.TlsSettings:
        changed = {key: text for key, text in dynamic().items() if is_reloadable(key)}
        return tls_context.listener_settings({**config.originals, **changed}, listener)

    def read() -> "ssl.SSLContext":
        try:
            return tls_context.client_context(settings())
        except tls_context.TlsSettingsError as error:
            raise ConfigError([f"connections to the listener {listener}: {error}"]) from None

    def sources() -> tuple[object, list[str]]:
        now = settings()
        return {key: now.get(key) for key in RELOADABLE}, [path for key in FILE_KEYS if (path := now.get(key))]

    return reread.Reread(f"key store and trust store for connections to the listener {listener}", read, sources).current
