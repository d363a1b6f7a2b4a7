"""The answer of DescribeConfigs as data: every key with its value, the source of the value, and its synonyms.

Pure functions. Source: Kafka's ConfigHelper, ServerTopicConfigSynonyms, GroupConfig.brokerSynonym, DynamicBrokerConfig.
Kafka's own prose isn't repeated: the documentation is the sentence of ``effective.py``, or that a key has no effect.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import IntEnum

from odradek.protocol.common.holder import holder

from .definition import KeyDefinition, client_metrics_keys, dynamic_only_keys, group_keys, server_keys, topic_keys
from .effective import DYNAMIC_EFFECTIVE, EFFECTIVE
from .group_config import group_values
from .security import is_security
from .server_config import ServerConfig
from .stored import ADVERTISED, READ_AT_START, broker_problem, problem
from .topic_config import topic_values
from .typed_values import OUR_DEFAULTS, our_defaults
from .validators import parsed
from .values import Value, format_value


class ConfigSource(IntEnum):
    """The source of a value: the numbers of DescribeConfigsResponse.ConfigSource."""

    UNKNOWN = 0
    DYNAMIC_TOPIC_CONFIG = 1
    DYNAMIC_BROKER_CONFIG = 2
    DYNAMIC_DEFAULT_BROKER_CONFIG = 3
    STATIC_BROKER_CONFIG = 4
    DEFAULT_CONFIG = 5
    DYNAMIC_BROKER_LOGGER_CONFIG = 6
    DYNAMIC_CLIENT_METRICS_CONFIG = 7
    DYNAMIC_GROUP_CONFIG = 8


WIRE_TYPES = {
    name: number
    for number, name in enumerate(
        ("UNKNOWN", "BOOLEAN", "STRING", "INT", "SHORT", "LONG", "DOUBLE", "LIST", "CLASS", "PASSWORD")
    )
}
"""The numbers of DescribeConfigsResponse.ConfigType."""

IMPLIED = frozenset({*OUR_DEFAULTS, "process.roles", ADVERTISED})
"""Keys that are optional here, but that a Kafka with the same behaviour needs in its file."""

_LISTENER_KEY = re.compile(r"listener\.name\.[^.]*\.(.*)")


@dataclass(frozen=True, slots=True)
class Synonym:
    """One possible source of a value."""

    name: str
    value: str | None
    source: ConfigSource


@dataclass(frozen=True, slots=True)
class DescribedConfig:
    """One entry of a DescribeConfigs answer.

    ``synonyms`` are in order of precedence; the first is the source of ``value``. ``config_type`` is the number in the
    protocol. ``value`` is None for a secret.
    """

    name: str
    value: str | None
    source: ConfigSource
    read_only: bool
    is_sensitive: bool
    config_type: int
    synonyms: tuple[Synonym, ...]
    documentation: str | None

    @property
    def is_default(self) -> bool:
        """Whether the value is a default (a field of the answer in version 0)."""
        return self.source is ConfigSource.DEFAULT_CONFIG


@holder()
class BrokerLayers:
    """The settings of this broker in order of precedence: its own dynamic configs, those for all brokers, the file."""

    server: ServerConfig
    cluster: Mapping[str, str]
    broker: Mapping[str, str]
    advertised: str | None = None
    """``advertised.listeners`` as computed at the start, if it is not set."""

    def static(self) -> Mapping[str, str]:
        """The settings that a Kafka with the same behaviour has in its file: those that are set here, and defaults of
        ours that Kafka does not have.

        Kafka requires ``node.id`` and ``process.roles``, its sample files set ``advertised.listeners``, and a single
        broker needs replication factors of 1.
        """
        given = self.server.originals
        implied = dict(our_defaults(given))
        if "log.dirs" in given:
            del implied["log.dir"]
        if self.advertised is not None:
            implied |= {"process.roles": "broker,controller", ADVERTISED: self.advertised}
        return {**implied, **given}

    def synonyms(self, name: str, names: tuple[str, ...], *, sensitive: bool) -> tuple[Synonym, ...]:
        """The sources of one key in order of precedence (ConfigHelper.configSynonyms). Leaves out the sources before
        the first one whose name is ``name``.
        """
        found = []
        for source, layer in (
            (ConfigSource.DYNAMIC_BROKER_CONFIG, self.broker),
            (ConfigSource.DYNAMIC_DEFAULT_BROKER_CONFIG, self.cluster),
            (ConfigSource.STATIC_BROKER_CONFIG, self.static()),
        ):
            found += [
                Synonym(synonym_name, None if sensitive else layer[synonym_name], source)
                for synonym_name in names
                if synonym_name in layer
            ]
        for synonym_name in names:
            default = _default_text(synonym_name)
            if default is not None:
                found.append(Synonym(synonym_name, None if sensitive else default, ConfigSource.DEFAULT_CONFIG))
        first = next((place for place, synonym in enumerate(found) if synonym.name == name), len(found))
        return tuple(found[first:])


def _served(configs: Mapping[str, str]) -> dict[str, str]:
    """The dynamic broker configs that are valid."""
    return {key: text for key, text in configs.items() if broker_problem(key, text) is None}


def _default_text(name: str) -> str | None:
    definition = server_keys().get(name)
    return definition.default if definition else None


def _synonym_names(name: str) -> tuple[str, ...]:
    """The keys that set the same value as ``name`` (DynamicBrokerConfig.brokerConfigSynonyms)."""
    definition = server_keys().get(name)
    if definition is not None:
        return definition.synonyms
    listener = _LISTENER_KEY.fullmatch(name)
    if listener is None:
        return (name,)
    mechanism_keys: list[str] = server_keys().sections["listener_mechanism_configs"]
    return name, next((key for key in mechanism_keys if listener[1].endswith(key)), listener[1])


def _broker_type(name: str) -> str | None:
    """The type of a broker key; for a listener's key that of its base key; None if unknown."""
    for key in (name, *_synonym_names(name)):
        definition = server_keys().get(key) or dynamic_only_keys().get(key)
        if definition is not None:
            return definition.type
    return None


def describe_broker(
    server: ServerConfig,
    cluster: Mapping[str, str],
    broker: Mapping[str, str],
    advertised: str | None = None,
    *,
    takes_addresses: bool = False,
) -> list[DescribedConfig]:
    """Every broker key: ``cluster`` and ``broker`` are the dynamic configs of all brokers and of this one.

    ``advertised``: the value of ``advertised.listeners`` as computed at the start, if that is not set.
    ``takes_addresses``: whether this broker can change its own ``advertised.listeners`` at run time. The entry is
    read-only all the same, as in Kafka: suites of clients look at that. Kafka's internal keys appear if they are set.
    """
    cluster, broker = _served(cluster), _served(broker)
    cluster.pop(ADVERTISED, None)
    if not takes_addresses:
        broker.pop(ADVERTISED, None)
    layers = BrokerLayers(server, cluster, broker, advertised)
    now = server.with_dynamic(cluster, broker)
    visible = [name for name, definition in server_keys().items() if not definition.internal]
    return [_broker_entry(layers, now, name) for name in sorted({*visible, *now.originals})]


def _broker_entry(layers: BrokerLayers, now: ServerConfig, name: str) -> DescribedConfig:
    type_name = _broker_type(name)
    # An unknown key may be a secret.
    sensitive = type_name in (None, "PASSWORD")
    value = now[name] if name in server_keys() else now.originals[name]
    synonyms = layers.synonyms(name, _synonym_names(name), sensitive=sensitive)
    text = format_value(value)
    if name in IMPLIED and name not in now.originals:
        text = synonyms[0].value if synonyms else text
    return DescribedConfig(
        name=name,
        value=None if sensitive else text,
        source=synonyms[0].source if synonyms else ConfigSource.DEFAULT_CONFIG,
        read_only=not _is_dynamic(name),
        is_sensitive=sensitive,
        config_type=WIRE_TYPES[type_name or "UNKNOWN"],
        synonyms=synonyms,
        documentation=_documentation(name),
    )


def _is_dynamic(name: str) -> bool:
    if name in READ_AT_START or is_security(name):
        return False
    definition = server_keys().get(name)
    return name in dynamic_only_keys() if definition is None else definition.update_mode != "read-only"


def _documentation(name: str) -> str:
    effect = EFFECTIVE.get(name) or DYNAMIC_EFFECTIVE.get(name)
    return effect or "A key of Apache Kafka 4.4.0 that has no effect in this broker."


def describe_cluster_defaults(cluster: Mapping[str, str]) -> list[DescribedConfig]:
    """The entries for the broker resource with an empty name: the dynamic configs that are set for all brokers."""
    entries = []
    for name, text in sorted(cluster.items()):
        type_name = _broker_type(name)
        sensitive = type_name in (None, "PASSWORD")
        value = None if sensitive else text
        entries.append(
            DescribedConfig(
                name=name,
                value=value,
                source=ConfigSource.DYNAMIC_DEFAULT_BROKER_CONFIG,
                read_only=not _is_dynamic(name),
                is_sensitive=sensitive,
                config_type=WIRE_TYPES[type_name or "UNKNOWN"],
                synonyms=(Synonym(name, value, ConfigSource.DYNAMIC_DEFAULT_BROKER_CONFIG),),
                documentation=_documentation(name),
            )
        )
    return entries


def describe_topic(
    server: ServerConfig,
    overrides: Mapping[str, str],
    cluster: Mapping[str, str] | None = None,
    broker: Mapping[str, str] | None = None,
) -> list[DescribedConfig]:
    """Every topic key of a topic with these overrides; ``cluster`` and ``broker`` are the dynamic broker configs."""
    layers = BrokerLayers(server, _served(cluster or {}), _served(broker or {}))
    values = topic_values(server.with_dynamic(layers.cluster, layers.broker), overrides)
    return list(_resource(layers, topic_keys(), values, overrides, ConfigSource.DYNAMIC_TOPIC_CONFIG))


def describe_group(
    server: ServerConfig,
    overrides: Mapping[str, str],
    cluster: Mapping[str, str] | None = None,
    broker: Mapping[str, str] | None = None,
) -> list[DescribedConfig]:
    """Every key of a group with these overrides; ``cluster`` and ``broker`` are the dynamic broker configs."""
    layers = BrokerLayers(server, _served(cluster or {}), _served(broker or {}))
    now = server.with_dynamic(layers.cluster, layers.broker)
    values = group_values(now, overrides)
    return list(_resource(layers, group_keys(), values, overrides, ConfigSource.DYNAMIC_GROUP_CONFIG))


def _resource(
    layers: BrokerLayers,
    table: Mapping[str, KeyDefinition],
    values: Mapping[str, Value],
    overrides: Mapping[str, str],
    source: ConfigSource,
) -> Iterator[DescribedConfig]:
    """The entries of a topic or a group: its own setting, then the sources of the matching server key."""
    for name, definition in table.items():
        if definition.internal and name not in overrides and not _is_set(layers, definition, source):
            continue
        value = format_value(values[name])
        synonyms: tuple[Synonym, ...] = ()
        if definition.server_key is not None:
            names = _synonym_names(definition.server_key)
            synonyms = layers.synonyms(definition.server_key, names, sensitive=False)
        elif source is ConfigSource.DYNAMIC_GROUP_CONFIG and definition.default is not None:
            synonyms = (Synonym(name, definition.default, ConfigSource.DEFAULT_CONFIG),)
        if name in overrides:
            synonyms = (Synonym(name, value, source), *synonyms)
        yield _entry(definition, value, synonyms)


def _is_set(layers: BrokerLayers, definition: KeyDefinition, source: ConfigSource) -> bool:
    """Whether a broker sets the value of a group's internal key: Kafka then lists the key for every group."""
    layered = (layers.cluster, layers.broker, layers.server.originals)
    return source is ConfigSource.DYNAMIC_GROUP_CONFIG and any(definition.server_key in layer for layer in layered)


def describe_client_metrics(overrides: Mapping[str, str]) -> list[DescribedConfig]:
    """Every key of one client metrics subscription."""
    entries = []
    for name, definition in client_metrics_keys().items():
        text = overrides.get(name)
        if text is None or problem(definition, text) is not None:
            text = definition.default
        value = format_value(parsed(definition, text))
        synonyms = (Synonym(name, value, ConfigSource.DYNAMIC_CLIENT_METRICS_CONFIG),) if name in overrides else ()
        entries.append(_entry(definition, value, synonyms))
    return entries


def _entry(definition: KeyDefinition, value: str | None, synonyms: tuple[Synonym, ...]) -> DescribedConfig:
    return DescribedConfig(
        name=definition.name,
        value=value,
        source=synonyms[0].source if synonyms else ConfigSource.DEFAULT_CONFIG,
        read_only=False,
        is_sensitive=False,
        config_type=WIRE_TYPES[definition.type],
        synonyms=synonyms,
        documentation=_documentation(definition.server_key or definition.name),
    )
