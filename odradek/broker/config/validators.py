"""The rules for single values. Source: ConfigDef's Validators, QuorumConfig, ThrottledReplicaListValidator.

The tables carry each rule as data (``{"kind": "range", "min": 1}``); this module implements the kinds.
"""

import re
from collections.abc import Callable, Mapping
from typing import Any

from .definition import KeyDefinition
from .values import Value, format_double, invalid, parse_value

Rule = Mapping[str, Any]

HOST_AND_PORT = re.compile(r"^(?:.*://)?\[?([0-9a-zA-Z\-%._:]*)\]?:([0-9]+)")
"""Kafka's Utils.HOST_PORT_PATTERN: group 1 is the host, group 2 the port."""

_THROTTLED_REPLICA = re.compile(r"([0-9]+:[0-9]+)?")
_DURATION = re.compile(
    r"P(?=[0-9T+-])(?:[+-]?[0-9]+D)?(?:T(?=[0-9+-])(?:[+-]?[0-9]+H)?(?:[+-]?[0-9]+M)?(?:[+-]?[0-9]+(?:\.[0-9]{0,9})?S)?)?",
    re.IGNORECASE,
)
_VOTER_FORM = "Each entry should be in the form `{id}@{host}:{port}`."


def violation(definition: KeyDefinition, value: Value) -> str | None:
    """Kafka's error for a typed value, or None if the key's rule allows it."""
    if definition.validator is None:
        return None
    return _RULES[definition.validator["kind"]](definition.name, value, definition.validator)


def allowed(definition: KeyDefinition) -> str:
    """The valid values of a key, for people: ``[1,...]``, ``one of required, none``; empty if all are valid."""
    rule = definition.validator or {"kind": "none"}
    kind = rule["kind"]
    if kind == "range":
        low, high = rule.get("min"), rule.get("max")
        return f"[{low},...]" if high is None else f"[{low},...,{high}]"
    if kind in ("one_of", "one_of_ignoring_case") or (kind == "list" and "values" in rule):
        return ("any of " if kind == "list" else "one of ") + ", ".join(rule["values"])
    return {
        "list": "" if rule.get("may_be_empty") else "not empty",
        "one_of_numbers": str(rule.get("says", "")),
        "custom": str(rule.get("says", "")),
        "quorum_voters": "id@host:port, ...",
        "quorum_bootstrap_servers": "host:port, ...",
        "address": "host:port, or nothing",
        "throttled_replicas": "* or partition:broker, ...",
        "non_empty_string": "not empty",
        "non_null": "not null",
    }.get(kind, "")


def _range(name: str, value: Value, rule: Rule) -> str | None:
    if value is None:
        return invalid(name, None, "Value must be non-null")
    assert isinstance(value, int | float)
    low, high = rule.get("min"), rule.get("max")
    if low is not None and value < low:
        return invalid(name, value, f"Value must be at least {_number(low)}")
    if high is not None and value > high:
        return invalid(name, value, f"Value must be no more than {_number(high)}")
    return None


def _number(bound: float) -> str:
    return format_double(bound) if isinstance(bound, float) else str(bound)


def _one_of(name: str, value: Value, rule: Rule) -> str | None:
    if value in rule["values"]:
        return None
    return invalid(name, value, f"String must be one of: {', '.join(rule['values'])}")


def _one_of_ignoring_case(name: str, value: Value, rule: Rule) -> str | None:
    if isinstance(value, str) and value.upper() in rule["values"]:
        return None
    return invalid(name, value, f"String must be one of (case insensitive): {', '.join(rule['values'])}")


def _one_of_numbers(name: str, value: Value, rule: Rule) -> str | None:
    if value in rule["values"]:
        return None
    # The only rule of this kind is gzip's level (CompressionType.GZIP.levelValidator).
    return invalid(name, value, "Value must be between 1 and 9 or equal to -1")


def parsed(definition: KeyDefinition, text: str | None) -> Value:
    """The typed value of a text that is set for a topic, a group or a client metrics subscription. An entry that a list
    has twice counts once (``ConfigDef.parseValue``). Raises ValueError with Kafka's sentence."""
    value = parse_value(definition.name, definition.type, text)
    if isinstance(value, tuple) and definition.validator is not None and definition.validator["kind"] == "list":
        return tuple(dict.fromkeys(value))
    return value


def _list(name: str, value: Value, rule: Rule) -> str | None:
    if value is None:
        return None if rule["may_be_null"] else f"Configuration '{name}' values must not be null."
    assert isinstance(value, tuple)
    values = rule.get("values", ())
    if not value and not rule["may_be_empty"]:
        valid = f"[{', '.join(values)}]" if values else "any non-empty value"
        return f"Configuration '{name}' must not be empty. Valid values include: {valid}"
    if len(set(value)) != len(value):
        return f"Configuration '{name}' values must not be duplicated."
    for item in value:
        if not item:
            return f"Configuration '{name}' values must not be empty."
        if values and item not in values:
            return invalid(name, item, f"String must be one of: {', '.join(values)}")
    return None


def _non_empty_string(name: str, value: Value, rule: Rule) -> str | None:
    return invalid(name, value, "String must be non-empty") if value == "" else None


def _non_null(name: str, value: Value, rule: Rule) -> str | None:
    return invalid(name, None, "entry must be non null") if value is None else None


def _quorum_voters(name: str, value: Value, rule: Rule) -> str | None:
    if value is None:
        return invalid(name, None, "null")
    assert isinstance(value, tuple)
    for entry in value:
        identifier, at, address = entry.partition("@")
        if not at or "@" in address:
            return f"Invalid configuration value for {name}. {_VOTER_FORM}"
        if not re.fullmatch(r"[+-]?[0-9]+", identifier):
            return f"Failed to parse voter ID as an integer from {identifier}"
        host = HOST_AND_PORT.match(address)
        if host is None:
            part = "host port" if ":" not in address else "host name"
            return f"Failed to parse {part} from entry {entry} for the configuration {name}. {_VOTER_FORM}"
    return None


def _quorum_bootstrap_servers(name: str, value: Value, rule: Rule) -> str | None:
    if value is None:
        return invalid(name, None, "null")
    assert isinstance(value, tuple)
    for entry in value:
        if HOST_AND_PORT.match(entry) is None:
            form = "Each entry should be in the form `{host}:{port}`."
            return f"Failed to parse host and port from {entry} for the configuration {name}. {form}"
    return None


def _address(name: str, value: Value, rule: Rule) -> str | None:
    # Only our own keys have this rule; empty means none.
    if not value or HOST_AND_PORT.fullmatch(str(value)):
        return None
    return invalid(name, value, "Not in the form host:port")


def _throttled_replicas(name: str, value: Value, rule: Rule) -> str | None:
    assert isinstance(value, tuple)
    if value in ((), ("*",)) or all(_THROTTLED_REPLICA.fullmatch(entry) for entry in value):
        return None
    form = "[partitionId]:[brokerId],[partitionId]:[brokerId],..."
    why = f"{name} must be the literal '*' or a list of replicas in the following format: {form}"
    return invalid(name, value, why)


def _custom(name: str, value: Value, rule: Rule) -> str | None:
    # The only rule of this kind is share.auto.offset.reset's (ShareGroupAutoOffsetResetStrategy.Validator).
    text = str(value)
    if text.lower() in ("latest", "earliest"):
        return None
    kind, _, duration = text.partition(":")
    if kind.lower() == "by_duration" and _DURATION.fullmatch(duration):
        return None
    form = "either 'earliest', 'latest' or of the format 'by_duration:<PnDTnHnMn.nS>'."
    return invalid(name, value, f"Invalid value `{text}` for configuration {name}. The value must be {form}")


def _all(name: str, value: Value, rule: Rule) -> str | None:
    problems = (_RULES[part["kind"]](name, value, part) for part in rule["of"])
    return next((problem for problem in problems if problem), None)


_RULES: dict[str, Callable[[str, Value, Rule], str | None]] = {
    "range": _range,
    "one_of": _one_of,
    "one_of_ignoring_case": _one_of_ignoring_case,
    "one_of_numbers": _one_of_numbers,
    "list": _list,
    "non_empty_string": _non_empty_string,
    "non_null": _non_null,
    "quorum_voters": _quorum_voters,
    "quorum_bootstrap_servers": _quorum_bootstrap_servers,
    "address": _address,
    "throttled_replicas": _throttled_replicas,
    "custom": _custom,
    "all": _all,
}
