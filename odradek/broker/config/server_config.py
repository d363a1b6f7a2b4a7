"""The broker's configuration: parsed, typed, validated.

Owns: reading the sources in their order of precedence, the typed values of Kafka's server keys. Never does: opening a
file or a socket, reading a clock, changing after its creation. Invariant: every value in it has passed its type and
validator. Source: Kafka's AbstractKafkaConfig and KafkaConfig.
"""

from collections.abc import Mapping, Sequence

from .cross_checks import single_values
from .definition import server_keys
from .effective import DYNAMIC_EFFECTIVE, EFFECTIVE
from .errors import ConfigError
from .listener_config import ListenerSettings, listener_settings
from .listeners import Listener, uses_sasl
from .security import is_served_at_start, key_of_listener
from .sources import Setting, collect
from .stored import ADVERTISED, broker_problem
from .typed_values import TypedValues
from .validators import allowed, violation
from .values import Value, parse_value


class ServerConfig(TypedValues):
    """The broker's configuration by Kafka's keys, and its listeners. Immutable."""

    def __init__(
        self,
        originals: Mapping[str, str],
        values: dict[str, Value],
        listeners: ListenerSettings,
        places: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__(originals, values, places)
        self._listeners = listeners

    @classmethod
    def load(
        cls,
        properties: str | None = None,
        overrides: Sequence[str] = (),
        environ: Mapping[str, str] | None = None,
        variables: Sequence[tuple[str, str]] = (),
        overrides_are: str = "--override",
    ) -> "ServerConfig":
        """The configuration from a properties text, ``ODRADEK_…`` of the environment, and ``key=value`` overrides.

        ``variables`` are (environment variable, ``key=value``) for variables with other names. Precedence, lowest
        first: defaults, file, environment, variables, overrides. Raises ConfigError with all problems; it calls the
        overrides ``overrides_are``.
        """
        settings, problems = collect(properties, overrides, environ or {}, variables, overrides_are)
        effective = {setting.key: setting for setting in settings}
        _same_id(effective)
        values, bad_values = _typed(effective)
        problems += bad_values
        texts = {key: setting.text for key, setting in effective.items()}
        places = {key: setting.where for key, setting in effective.items()}
        config = cls(texts, values, ListenerSettings(), places)
        # Checks between values only make sense if each value is valid.
        if not bad_values:
            config._listeners, bad_listeners = listener_settings(config)
            problems += bad_listeners
            problems += single_values(config)
        if problems:
            raise ConfigError(problems)
        return config

    @property
    def listeners(self) -> tuple[Listener, ...]:
        """The listeners for clients, in the order of ``listeners``, without controller listeners."""
        return self._listeners.listeners

    @property
    def protocols(self) -> frozenset[str]:
        """The security protocols of :attr:`listeners`."""
        return frozenset(listener.protocol for listener in self.listeners)

    @property
    def has_sasl(self) -> bool:
        """Whether clients of one of the :attr:`listeners` authenticate by SASL."""
        return any(map(uses_sasl, self.protocols))

    @property
    def controller_listeners(self) -> tuple[Listener, ...]:
        """The listeners named by ``controller.listener.names``: accepted, but not advertised."""
        return self._listeners.controller_listeners

    @property
    def advertised_listeners(self) -> tuple[Listener, ...]:
        """The listeners in answers of Metadata, in the order of ``listeners``; some may be left out.

        Port 0 means the bound port; host ``""`` means any name of this machine.
        """
        return self._listeners.advertised_listeners

    @property
    def inter_broker_listener_name(self) -> str:
        """The name of the listener that other brokers use."""
        return self._listeners.inter_broker_listener_name

    def keys_without_effect(self) -> list[str]:
        """The configured keys of Kafka or a plugin that have no effect here, sorted."""
        has_effect = EFFECTIVE.keys() | DYNAMIC_EFFECTIVE.keys()
        idle = (key for key in self.originals if key_of_listener(key) not in has_effect)
        return sorted(key for key in idle if not is_served_at_start(key))

    def advertising(self, text: str) -> "tuple[Listener, ...]":
        """The :attr:`advertised_listeners` under another ``advertised.listeners``. Raises ConfigError as a start."""
        places = {**self._places, ADVERTISED: "set at run time"}
        texts = {**self.originals, ADVERTISED: text}
        values, problems = _typed({key: Setting(key, value, places.get(key, "")) for key, value in texts.items()})
        if not problems:
            listeners, problems = listener_settings(ServerConfig(texts, values, ListenerSettings(), places))
        if problems:
            raise ConfigError(problems)
        return listeners.advertised_listeners

    def with_dynamic(self, cluster: Mapping[str, str], broker: Mapping[str, str]) -> "ServerConfig":
        """The configuration with dynamic broker configs applied: cluster-wide ones, then this broker's own.

        An invalid dynamic config (:func:`.stored.broker_problem`) is ignored, as in Kafka (DynamicBrokerConfig).
        """
        originals = dict(self.originals)
        for layer in (cluster, broker):
            good = {key: text for key, text in layer.items() if broker_problem(key, text) is None}
            # log.retention.ms of a higher layer replaces log.retention.hours of a lower one.
            for key in good.keys() & server_keys().keys():
                for synonym in server_keys()[key].synonyms:
                    originals.pop(synonym, None)
            originals |= good
        values, _ = _typed({key: Setting(key, text, "") for key, text in originals.items()})
        return ServerConfig(originals, values, self._listeners, self._places)


def _typed(settings: Mapping[str, Setting]) -> tuple[dict[str, Value], list[str]]:
    """The typed values of settings, and a sentence for each invalid one."""
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
    """The problem with the text of a key, or None. Keys of listeners and plugins are not checked."""
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
