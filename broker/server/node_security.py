"""The security of this broker's connections to other brokers and to its controllers, from its configuration.

Owns: which settings these connections take: those of the listener that they go to. Never does: connecting. Invariant:
what can't be served stops the start before a directory is touched. Source: ``ChannelBuilders.clientChannelBuilder``
with JaasContext.Type.SERVER.
"""

from typing import TYPE_CHECKING

from ..config.errors import ConfigError
from ..config.node_links import NodeLink, node_links
from ..config.server_config import ServerConfig
from ..network.node_login import PLAINTEXT, NodeSecurity

if TYPE_CHECKING:
    import ssl


def node_security(config: ServerConfig) -> tuple[NodeSecurity, NodeSecurity]:
    """That of the connections to other brokers, and to the controllers. Reads key stores. Raises ConfigError."""
    links = node_links(config, config.inter_broker_listener_name)
    inter_broker, controllers = [_security(config, link) for link in links]
    return inter_broker, controllers


def _security(config: ServerConfig, link: NodeLink) -> NodeSecurity:
    if link.has_sasl:
        raise ConfigError(
            [
                f"the listener {link.listener} uses {link.protocol}, but a broker of a cluster can't log in at other"
                " nodes yet: use PLAINTEXT or SSL for inter.broker.listener.name and controller.listener.names"
            ]
        )
    if not link.has_tls:
        return PLAINTEXT
    context = _tls(config, link.listener)
    return NodeSecurity(tls=lambda: context)


def _tls(config: ServerConfig, listener: str) -> "ssl.SSLContext":
    from ...protocol.security.tls_context import TlsSettingsError, client_context, listener_settings

    try:
        return client_context(listener_settings(config.originals, listener))
    except TlsSettingsError as error:
        raise ConfigError([f"connections to the listener {listener}: {error}"]) from None
