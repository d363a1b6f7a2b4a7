"""The broker's configuration: parsed, typed, validated.

Owns: reading the sources in their order of precedence and the typed values of Kafka's server keys. Never does: open a
file or a socket, read a clock, change after it was made. Invariant: every value in it passed its type and validator.
Source: Kafka's AbstractKafkaConfig and KafkaConfig.
"""

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any

from .cross_checks import single_values
from .definition import KeyDefinition, server_keys
from .effective import DYNAMIC_EFFECTIVE, EFFECTIVE
from .errors import ConfigError
from .listener_config import ListenerSettings, listener_settings
from .listeners import Listener
from .sources import Setting, collect
from .stored import broker_problem
from .validators import allowed, violation
from .values import Value, parse_value

OUR_DEFAULTS: Mapping[str, str] = MappingProxyType(
    {
        "node.id": "1",
        "broker.id": "1",
        "log.dir": "./data",
        "offsets.topic.replication.factor": "1",
        "transaction.state.log.replication.factor": "1",
        "transaction.state.log.min.isr": "1",
        "share.coordinator.state.topic.replication.factor": "1",
        "share.coordinator.state.topic.min.isr": "1",
    }
)
"""Where our defaults differ from Kafka's: there is one broker, and /tmp is no place for data."""


class ServerConfig:
    """The broker's configuration by Kafka's keys: ``config["log.segment.bytes"]`` is the typed value.

    Immutable. ``get_int``, ``get_boolean``, ``get_string``, ``get_list``, ``get_float`` say the type to a checker.
    Defaults are parsed when they are first asked for.
    """

    def __init__(
        self,
        originals: Mapping[str, str],
        values: dict[str, Value],
        listeners: ListenerSettings,
        places: Mapping[str, str] | None = None,
    ) -> None:
        self.originals = MappingProxyType(dict(originals))
        """What was set, as text: key -> value."""
        self._places = places or {}
        self._values = values
        self._listeners = listeners

    @classmethod
    def load(
        cls,
        properties: str | None = None,
        overrides: Sequence[str] = (),
        environ: Mapping[str, str] | None = None,
        variables: Sequence[tuple[str, str]] = (),
    ) -> "ServerConfig":
        """The configuration from a properties text, ``ODRADEK_…`` of the environment, and ``key=value`` overrides.

        ``variables`` are (environment variable, ``key=value``) for variables of other names. Later ones win: defaults,
        file, environment, variables, overrides. Raises ConfigError with everything that is wrong.
        """
        settings, problems = collect(properties, overrides, environ or {}, variables)
        effective = {setting.key: setting for setting in settings}
        _same_id(effective)
        values, bad_values = _typed(effective)
        problems += bad_values
        texts = {key: setting.text for key, setting in effective.items()}
        places = {key: setting.where for key, setting in effective.items()}
        config = cls(texts, values, ListenerSettings(), places)
        # What compares values with each other only makes sense if each of them is good.
        if not bad_values:
            config._listeners, bad_listeners = listener_settings(config)
            problems += bad_listeners
            problems += single_values(config)
        if problems:
            raise ConfigError(problems)
        return config

    def __getitem__(self, key: str) -> Any:
        """The typed value of a key of Kafka's. Raises KeyError for an unknown key.

        int, bool, float, str, tuple of str (lists) or None (null); the two required lists of Kafka (``process.roles``,
        ``controller.listener.names``) are empty if not set.
        """
        try:
            return self._values[key]
        except KeyError:
            value = self._values[key] = default_value(server_keys()[key])
            return value

    def get_int(self, key: str) -> int:
        """The value of an INT, LONG or SHORT key that is not null."""
        value = self[key]
        assert isinstance(value, int), key
        return value

    def get_float(self, key: str) -> float:
        """The value of a DOUBLE key that is not null."""
        value = self[key]
        assert isinstance(value, float), key
        return value

    def get_boolean(self, key: str) -> bool:
        """The value of a BOOLEAN key that is not null."""
        value = self[key]
        assert isinstance(value, bool), key
        return value

    def get_string(self, key: str) -> str:
        """The value of a STRING, CLASS or PASSWORD key that is not null."""
        value = self[key]
        assert isinstance(value, str), key
        return value

    def get_list(self, key: str) -> list[str]:
        """The value of a LIST key; null is the empty list."""
        return list(self[key] or ())

    @property
    def listeners(self) -> tuple[Listener, ...]:
        """What clients may connect to, in the order of ``listeners``; controller listeners are not among them."""
        return self._listeners.listeners

    @property
    def controller_listeners(self) -> tuple[Listener, ...]:
        """The listeners named by ``controller.listener.names``: accepted, advertised to nobody."""
        return self._listeners.controller_listeners

    @property
    def advertised_listeners(self) -> tuple[Listener, ...]:
        """What Metadata tells clients, in the order of ``listeners``; one of them may be left out.

        Port 0 means the port that was bound; host ``""`` that any name of this machine will do.
        """
        return self._listeners.advertised_listeners

    @property
    def inter_broker_listener_name(self) -> str:
        """The name of the listener that other brokers use."""
        return self._listeners.inter_broker_listener_name

    @property
    def node_id(self) -> int:
        """``node.id``."""
        return self.get_int("node.id")

    @property
    def log_dirs(self) -> tuple[str, ...]:
        """``log.dirs``, or ``log.dir`` if that is not set."""
        directories: tuple[str, ...] = self["log.dirs"] or self["log.dir"]
        return directories

    def place_of(self, key: str) -> str:
        """Where a key was set, for messages, such as ``line 12``."""
        return self._places.get(key, "a dynamic config")

    def keys_without_effect(self) -> list[str]:
        """The keys that were given, are Kafka's or a plugin's, and change nothing here, sorted."""
        return sorted(self.originals.keys() - EFFECTIVE.keys() - DYNAMIC_EFFECTIVE.keys())

    def with_dynamic(self, cluster: Mapping[str, str], broker: Mapping[str, str]) -> "ServerConfig":
        """The same configuration under dynamic broker configs: cluster-wide ones, then this broker's own.

        A dynamic config that can't be served (:func:`.stored.broker_problem`) is left out, as Kafka does
        (DynamicBrokerConfig).
        """
        originals = dict(self.originals)
        for layer in (cluster, broker):
            good = {key: text for key, text in layer.items() if broker_problem(key, text) is None}
            # log.retention.ms of a stronger layer replaces log.retention.hours of a weaker one.
            for key in good.keys() & server_keys().keys():
                for synonym in server_keys()[key].synonyms:
                    originals.pop(synonym, None)
            originals |= good
        values, _ = _typed({key: Setting(key, text, "") for key, text in originals.items()})
        return ServerConfig(originals, values, self._listeners, self._places)


def default_value(definition: KeyDefinition) -> Value:
    """The typed default of a server key: ours where we have one, else Kafka's."""
    text = OUR_DEFAULTS.get(definition.name, definition.default)
    if text is None and not definition.has_default and definition.type == "LIST":
        return ()
    return parse_value(definition.name, definition.type, text)


def _typed(settings: Mapping[str, Setting]) -> tuple[dict[str, Value], list[str]]:
    """The typed values of settings, and a sentence for each that is bad."""
    values: dict[str, Value] = {}
    problems: list[str] = []
    table = server_keys()
    for key, setting in settings.items():
        if key not in table:
            continue
        problem = _problem(key, setting.text)
        if problem is None:
            values[key] = parse_value(key, table[key].type, setting.text)
        else:
            takes = allowed(table[key])
            problems.append(f"{problem} ({setting.where}; {table[key].type.lower()}{', ' + takes if takes else ''})")
    return values, problems


def _problem(key: str, text: str) -> str | None:
    """What is wrong with the text of a key, or None; keys of listeners and plugins can't be judged."""
    definition = server_keys().get(key)
    if definition is None:
        return None
    try:
        return violation(definition, parse_value(key, definition.type, text))
    except ValueError as unparsable:
        return str(unparsable)


def _same_id(settings: dict[str, Setting]) -> None:
    """``node.id`` and ``broker.id`` are synonyms: one that is set sets the other (KafkaConfig.populateSynonyms)."""
    for key, other in (("node.id", "broker.id"), ("broker.id", "node.id")):
        if key in settings and other not in settings:
            settings[other] = Setting(other, settings[key].text, settings[key].where)
