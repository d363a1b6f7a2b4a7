"""The typed values of Kafka's server keys, with their defaults. The checks between values use them.

Pure. Owns: types and defaults. Never does: checking values against each other. Source: Kafka's AbstractConfig.
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

from .definition import KeyDefinition, server_keys
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
"""Defaults that differ from Kafka's: there is one broker, and /tmp is unsuitable for data."""

OF_ONE_BROKER = frozenset(key for key in OUR_DEFAULTS if key.endswith((".replication.factor", ".min.isr")))
"""The keys of OUR_DEFAULTS that suit only a single broker. A broker of a cluster has Kafka's defaults: 3 replicas, 2 in
sync."""


def our_defaults(originals: Mapping[str, str]) -> Mapping[str, str]:
    """The defaults that differ from Kafka's, for a broker with these settings."""
    if originals.get("process.roles", "").strip() != "broker":
        return OUR_DEFAULTS
    return {key: text for key, text in OUR_DEFAULTS.items() if key not in OF_ONE_BROKER}


class TypedValues:
    """Values by Kafka's keys: ``config["log.segment.bytes"]`` is the typed value.

    ``get_int``, ``get_boolean``, ``get_string``, ``get_list``, ``get_float`` return the same value, and a type checker
    knows its type. Defaults are parsed on first use.
    """

    def __init__(
        self, originals: Mapping[str, str], values: dict[str, Value], places: Mapping[str, str] | None = None
    ) -> None:
        self.originals = MappingProxyType(dict(originals))
        """The settings as text: key -> value."""
        self._values = values
        self._places = places or {}

    def __getitem__(self, key: str) -> Any:
        """The typed value of a key of Kafka's. Raises KeyError for an unknown key.

        int, bool, float, str, tuple of str (lists) or None (null); the two required lists of Kafka (``process.roles``,
        ``controller.listener.names``) are empty if not set.
        """
        try:
            return self._values[key]
        except KeyError:
            value = self._values[key] = default_value(server_keys()[key], our_defaults(self.originals))
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


def default_value(definition: KeyDefinition, ours: Mapping[str, str] = OUR_DEFAULTS) -> Value:
    """The typed default of a server key: ours if there is one, else Kafka's."""
    text = ours.get(definition.name, definition.default)
    if text is None and not definition.has_default and definition.type == "LIST":
        return ()
    return parse_value(definition.name, definition.type, text)


class ListenerValue(NamedTuple):
    """The text of a setting, and the key that set it."""

    key: str
    text: str


def prefix_of(listener_name: str) -> str:
    """``listener.name.<listener>.``, in lower case."""
    return f"listener.name.{listener_name.lower()}."


def listener_value(
    config: TypedValues, listener_name: str, key: str, mechanism: str | None = None
) -> ListenerValue | None:
    """The value of ``key`` for a listener; None if it is not set. The key with the prefix of listener and mechanism
    comes first, then the one with the prefix of the listener, then the key without a prefix.
    """
    prefix = prefix_of(listener_name)
    names = [f"{prefix}{key}", key]
    if mechanism is not None:
        names.insert(0, f"{prefix}{mechanism.lower()}.{key}")
    for name in names:
        text = config.originals.get(name)
        if text is not None:
            return ListenerValue(name, text.strip())
    return None
