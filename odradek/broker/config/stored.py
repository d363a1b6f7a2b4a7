"""Checks configs that are stored in the metadata. Another tool or an older release may have written them.

Pure functions. Requests are validated before a record is written, so an invalid value comes from elsewhere. A real
Kafka refuses to start with one (``LogConfig.fromProps``). Here the key gets its default, and the start logs the value.
"""

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from .definition import KeyDefinition, dynamic_only_keys, server_keys
from .validators import parsed, violation
from .values import Value, parse_value

LOWER_BOUNDS: Mapping[str, int] = {"segment.bytes": 14}
"""Topic key -> the lowest value that an older Kafka allowed (``LegacyRecord.RECORD_OVERHEAD_V0``, until 3.9)."""


READ_AT_START = frozenset({"listeners", "listener.security.protocol.map"})
"""Keys that Kafka can change at run time and this broker can't."""
ADVERTISED = "advertised.listeners"
"""A key that a broker with its own controller can change at run time, as Kafka could until version 3.9 (KIP-226)."""


class BadConfig(NamedTuple):
    """A stored config that is not used. ``reason`` includes the key and the value."""

    key: str
    value: str
    reason: str


def problem(definition: KeyDefinition, text: str) -> str | None:
    """Why a stored value can't be used, or None.

    Values within the bounds of an older Kafka are valid (:data:`LOWER_BOUNDS`), and so are lists that today's rule
    refuses only for their form, such as ``delete,delete``.
    """
    try:
        value = parsed(definition, text)
    except ValueError as unparsable:
        return str(unparsable)
    lowest = LOWER_BOUNDS.get(definition.name)
    if lowest is not None and isinstance(value, int) and value >= lowest:
        return None
    rule = definition.validator or {}
    if isinstance(value, tuple) and "values" in rule and set(value) <= set(rule["values"]):
        return None
    return violation(definition, value)


def served_value(definition: KeyDefinition, text: str) -> Value:
    """The typed value of a stored text; None if it is invalid."""
    return parsed(definition, text) if problem(definition, text) is None else None


def bad_configs(keys: Mapping[str, KeyDefinition], configs: Mapping[str, str]) -> Iterator[BadConfig]:
    """The stored configs of a topic, a group or a client metrics subscription that are not used.

    Keys that are not in ``keys`` are ignored: a newer Kafka may have them, and nothing reads them here.
    """
    for key, text in configs.items():
        reason = problem(keys[key], text) if key in keys else None
        if reason is not None:
            yield BadConfig(key, text, reason)


def broker_problem(key: str, text: str) -> str | None:
    """Why a stored dynamic broker config can't be used, or None.

    Keys of listeners and plugins are not checked. Source: ``DynamicBrokerConfig``, which ignores the same ones.
    """
    definition = server_keys().get(key) or dynamic_only_keys().get(key)
    if definition is None:
        return None
    if key in server_keys() and definition.update_mode == "read-only" and key != ADVERTISED:
        return f"{key} can't be changed while the broker runs"
    if key in READ_AT_START:
        return f"{key} is read only at start, from the broker's configuration"
    try:
        return violation(definition, parse_value(key, definition.type, text))
    except ValueError as unparsable:
        return str(unparsable)


def bad_broker_configs(configs: Mapping[str, str]) -> Iterator[BadConfig]:
    """The stored dynamic broker configs that are ignored. :mod:`..security.open_access` logs those that only a start
    reads.
    """
    for key, text in configs.items():
        reason = None if key in READ_AT_START else broker_problem(key, text)
        if reason is not None:
            yield BadConfig(key, text, reason)
