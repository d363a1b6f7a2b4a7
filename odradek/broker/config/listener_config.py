"""The listeners of a configuration, and the checks between them. Source: KafkaConfig.validateValues.

What differs from Kafka: a single node needs no controller listener, and its quorum keys must name it alone.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from .listeners import (
    Listener,
    duplicates,
    parse_listeners,
    parse_protocol_map,
    with_controller_listeners,
)
from .typed_values import TypedValues


@dataclass(frozen=True, slots=True)
class ListenerSettings:
    """The parsed listeners; empty until they are read."""

    listeners: tuple[Listener, ...] = ()
    controller_listeners: tuple[Listener, ...] = ()
    advertised_listeners: tuple[Listener, ...] = ()
    inter_broker_listener_name: str = ""


def listener_settings(config: TypedValues) -> tuple[ListenerSettings, list[str]]:
    """The listeners of a configuration, and the problems with them."""
    controllers = config.get_list("controller.listener.names")
    try:
        protocols = parse_protocol_map(config.get_string("listener.security.protocol.map"))
        if "listener.security.protocol.map" not in config.originals:
            protocols = with_controller_listeners(protocols, config.get_list("listeners"), controllers)
        bound = parse_listeners("listeners", config.get_list("listeners"), protocols)
        given = config["advertised.listeners"]
        advertised = bound if given is None else parse_listeners("advertised.listeners", given, protocols)
    except ValueError as malformed:
        return ListenerSettings(), [str(malformed)]
    settings = _split_listeners(bound, advertised, controllers, _inter_broker_name(config))
    problems = [
        *duplicates("listeners", bound, distinct_ports=True),
        *duplicates("advertised.listeners", advertised, distinct_ports=False),
        *_advertised(settings, advertised, bound, controllers),
        *_controller(config, bound, controllers),
    ]
    return settings, problems


def _split_listeners(
    bound: Sequence[Listener], advertised: Sequence[Listener], controllers: Sequence[str], inter_broker: str
) -> ListenerSettings:
    order = {listener.name: place for place, listener in enumerate(bound)}
    clients = [listener for listener in advertised if listener.name not in controllers]
    return ListenerSettings(
        tuple(listener for listener in bound if listener.name not in controllers),
        tuple(listener for listener in bound if listener.name in controllers),
        tuple(sorted(clients, key=lambda listener: order.get(listener.name, len(order)))),
        inter_broker,
    )


def _inter_broker_name(config: TypedValues) -> str:
    """``inter.broker.listener.name``, else the security protocol's name (KafkaConfig)."""
    name = config["inter.broker.listener.name"] or config.get_string("security.inter.broker.protocol")
    return str(name).upper()


def _advertised(
    settings: ListenerSettings, advertised: Sequence[Listener], bound: Sequence[Listener], controllers: Sequence[str]
) -> Iterator[str]:
    clients = [listener.name for listener in settings.advertised_listeners]
    names = [listener.name for listener in bound]
    if not clients:
        every = (
            f" Perhaps all listeners appear in controller.listener.names ({','.join(controllers)})?"
            if controllers
            else ""
        )
        yield f"There must be at least one broker advertised listener.{every}"
    elif not set(clients) <= set(names):
        yield (
            "advertised.listeners listener names must be equal to or a subset of the ones defined in listeners. "
            f"Found {','.join(clients)}. The valid options based on the current configuration are {','.join(names)}"
        )
    elif settings.inter_broker_listener_name not in clients:
        yield (
            "inter.broker.listener.name must be a listener name defined in advertised.listeners. "
            f"It is {settings.inter_broker_listener_name}; "
            f"the valid options based on currently configured listeners are {','.join(clients)}"
        )
    if any(listener.host == "0.0.0.0" for listener in advertised):
        yield (
            "advertised.listeners cannot use the nonroutable meta-address 0.0.0.0. Use a routable IP address: "
            "set advertised.listeners to what clients can reach, for example PLAINTEXT://localhost:9092"
        )


def _controller(config: TypedValues, bound: Sequence[Listener], controllers: Sequence[str]) -> Iterator[str]:
    roles = config.get_list("process.roles")
    if roles and "broker" not in roles:
        yield (
            "process.roles=controller: Odradek is a broker, not a controller of a cluster. Set broker to join Apache"
            " Kafka's controllers; set broker,controller, or leave the key out, for a broker with its controller inside"
        )
    elif roles == ["broker"]:
        yield from _cluster_member(config, bound, controllers)
    else:
        yield from _own_controller(config, bound, controllers)
    if config["inter.broker.listener.name"] and "security.inter.broker.protocol" in config.originals:
        yield "Only one of inter.broker.listener.name and security.inter.broker.protocol should be set."


def _own_controller(config: TypedValues, bound: Sequence[Listener], controllers: Sequence[str]) -> Iterator[str]:
    if "controller" in config.get_list("process.roles") and not set(controllers) <= {
        listener.name for listener in bound
    }:
        yield (
            "controller.listener.names must only contain values appearing in the 'listeners' configuration "
            "when running the KRaft controller role"
        )
    voters = _voters(config)
    if voters and voters != {config.get_int("node.id")}:
        named = ", ".join(map(str, sorted(voters)))
        yield (
            f"controller.quorum.voters names node {named}; this broker is its own controller: "
            f"name node {config.get_int('node.id')} alone, leave the key out, or set process.roles=broker to join them"
        )
    if len(config.get_list("controller.quorum.bootstrap.servers")) > 1:
        yield (
            "controller.quorum.bootstrap.servers names several controllers; this broker is its own: "
            "name one, leave the key out, or set process.roles=broker to join them"
        )


def _cluster_member(config: TypedValues, bound: Sequence[Listener], controllers: Sequence[str]) -> Iterator[str]:
    """The checks of KafkaConfig.validateValues for a node with only the broker role."""
    node_id, voters = config.get_int("node.id"), _voters(config)
    if not voters and not config.get_list("controller.quorum.bootstrap.servers"):
        yield (
            "If using process.roles, either controller.quorum.bootstrap.servers must contain the set of bootstrap "
            "controllers or controller.quorum.voters must contain a parseable set of controllers."
        )
    if node_id in voters:
        yield (
            f"If process.roles contains just the 'broker' role, the node id {node_id} must not be included in the set "
            f"of voters controller.quorum.voters={{{', '.join(map(str, sorted(voters)))}}}"
        )
    if not controllers:
        yield "controller.listener.names must contain at least one value when running KRaft with just the broker role"
    elif any(listener.name in controllers for listener in bound):
        yield (
            "A controller.listener.names value appeared in the 'listeners' configuration and we are running KRaft "
            "with just the broker role"
        )


def _voters(config: TypedValues) -> set[int]:
    return {int(voter.partition("@")[0]) for voter in config.get_list("controller.quorum.voters")}
