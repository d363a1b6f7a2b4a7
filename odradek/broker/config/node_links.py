"""How this broker is configured to connect to other brokers and to its controllers.

Pure. Owns: listener name, security protocol and mechanism of both links. Never does: connecting. Source: KafkaConfig,
``NodeToControllerChannelManagerImpl``, ``ChannelBuilders.clientChannelBuilder``.
"""

from typing import NamedTuple

from .listeners import parse_protocol_map, uses_sasl, with_controller_listeners
from .server_config import ServerConfig
from .typed_values import TypedValues

INTER_BROKER_MECHANISM = "sasl.mechanism.inter.broker.protocol"
CONTROLLER_MECHANISM = "sasl.mechanism.controller.protocol"


class NodeLink(NamedTuple):
    """The listener of the other nodes, its security protocol, and the key that names the mechanism of the login."""

    listener: str
    protocol: str
    mechanism_key: str

    @property
    def has_tls(self) -> bool:
        """Whether the connections are encrypted."""
        return self.protocol.endswith("SSL")

    @property
    def has_sasl(self) -> bool:
        """Whether this broker authenticates by SASL."""
        return uses_sasl(self.protocol)


def protocols_of(config: ServerConfig) -> frozenset[str]:
    """The security protocols of this broker's listeners, and of its connections to other nodes."""
    if config.get_list("process.roles") != ["broker"]:
        return config.protocols
    return config.protocols | {link.protocol for link in node_links(config, config.inter_broker_listener_name)}


def node_links(config: TypedValues, inter_broker_listener: str) -> tuple[NodeLink, NodeLink]:
    """The link to the other brokers, and the link to the controllers. The controllers' listener is the first of
    ``controller.listener.names``."""
    controllers = config.get_list("controller.listener.names")
    protocols = parse_protocol_map(config.get_string("listener.security.protocol.map"))
    if "listener.security.protocol.map" not in config.originals:
        protocols = with_controller_listeners(protocols, config.get_list("listeners"), controllers)
    controller = controllers[0].upper() if controllers else ""
    if config["inter.broker.listener.name"] is None:
        inter_broker = config.get_string("security.inter.broker.protocol").upper()
    else:
        inter_broker = protocols.get(inter_broker_listener, "PLAINTEXT")
    return (
        NodeLink(inter_broker_listener, inter_broker, INTER_BROKER_MECHANISM),
        NodeLink(controller, protocols.get(controller, "PLAINTEXT"), CONTROLLER_MECHANISM),
    )
