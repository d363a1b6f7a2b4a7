"""Group configs and client metrics subscriptions: validation. Source: Kafka's GroupConfig and ClientMetricsConfigs.

Pure functions over the server's configuration and the texts that metadata records carry.
"""

import re
from collections.abc import Mapping

from odradek.protocol.errors import ErrorCode, KafkaError

from .definition import KeyDefinition, KeyTable, client_metrics_keys, group_keys
from .server_config import ServerConfig
from .stored import problem
from .validators import violation
from .values import Value, integer, parse_value

# Group keys whose values the server limits, as (kind, rest of the key, limits): consumer.session.timeout.ms must lie
# between group.consumer.min.session.timeout.ms and group.consumer.max.session.timeout.ms.
_BOUNDED = (
    ("consumer", "heartbeat.interval.ms", ("min", "max")),
    ("consumer", "session.timeout.ms", ("min", "max")),
    ("consumer", "assignment.interval.ms", ("min", "max")),
    ("share", "heartbeat.interval.ms", ("min", "max")),
    ("share", "session.timeout.ms", ("min", "max")),
    ("share", "record.lock.duration.ms", ("min", "max")),
    ("share", "delivery.count.limit", ("min", "max")),
    ("share", "partition.max.record.locks", ("min", "max")),
    ("share", "assignment.interval.ms", ("min", "max")),
    ("streams", "heartbeat.interval.ms", ("min", "max")),
    ("streams", "session.timeout.ms", ("min", "max")),
    ("streams", "num.standby.replicas", ("max",)),
    ("streams", "assignment.interval.ms", ("min", "max")),
)

METRICS_INTERVAL_MS = range(100, 3600000 + 1)
"""The valid values of ``interval.ms`` of a client metrics subscription."""

MATCH_PARAMETERS = (
    "client_instance_id",
    "client_id",
    "client_software_name",
    "client_software_version",
    "client_source_address",
    "client_source_port",
)
"""The fields that ``match`` of a client metrics subscription may compare."""


def group_values(server: ServerConfig, overrides: Mapping[str, str]) -> dict[str, Value]:
    """The typed value of every group key: the group's own if it is valid, else the server's, else Kafka's default."""
    values: dict[str, Value] = {}
    for name, definition in group_keys().items():
        if name in overrides and problem(definition, overrides[name]) is None:
            values[name] = _parse(definition, overrides[name])
        elif definition.server_key is not None:
            values[name] = server[definition.server_key]
        else:
            values[name] = parse_value(name, definition.type, definition.default)
    return values


def validate_group_configs(overrides: Mapping[str, str], server: ServerConfig) -> None:
    """Checks the settings of one group (GroupConfig.validate). Raises KafkaError(INVALID_CONFIG) with Kafka's text."""
    _known(overrides, group_keys(), "Unknown group config name: ")
    for name, text in overrides.items():
        _parse(group_keys()[name], text)
    values = group_values(server, overrides)
    for kind, what, bounds in _BOUNDED:
        value = integer(values, f"{kind}.{what}")
        for bound in bounds:
            limit_key = _limit_key(kind, what, bound)
            limit = server.get_int(limit_key)
            if bound == "min" and value < limit:
                raise _invalid(f"{kind}.{what} must be greater than or equal to {limit_key}")
            if bound == "max" and value > limit:
                raise _invalid(f"{kind}.{what} must be less than or equal to {limit_key}")
    for kind in ("consumer", "share", "streams"):
        if integer(values, f"{kind}.session.timeout.ms") <= integer(values, f"{kind}.heartbeat.interval.ms"):
            raise _invalid(f"{kind}.session.timeout.ms must be greater than {kind}.heartbeat.interval.ms")


def _limit_key(kind: str, what: str, bound: str) -> str:
    # The one key whose limit is named differently.
    if what == "num.standby.replicas":
        return "group.streams.max.standby.replicas"
    return f"group.{kind}.{bound}.{what}"


def validate_client_metrics(name: str, overrides: Mapping[str, str]) -> None:
    """Checks one client metrics subscription (ClientMetricsConfigs.validate).

    Raises KafkaError: INVALID_REQUEST for an invalid subscription, INVALID_CONFIG for an invalid value.
    """
    if not name:
        raise KafkaError(ErrorCode.INVALID_REQUEST, "Subscription name can't be empty")
    for key in overrides:
        if key not in client_metrics_keys():
            raise KafkaError(ErrorCode.INVALID_REQUEST, f"Unknown client metrics configuration: {key}")
    values = {key: _parse(client_metrics_keys()[key], text) for key, text in overrides.items()}
    interval = values.get("interval.ms", METRICS_INTERVAL_MS.start)
    if interval not in METRICS_INTERVAL_MS:
        raise KafkaError(
            ErrorCode.INVALID_REQUEST,
            f"Invalid value {interval} for interval.ms, interval must be between 100 and 3600000 (1 hour)",
        )
    patterns = values.get("match", ())
    assert isinstance(patterns, tuple)
    for pattern in patterns:
        parameter, equals, expression = (part.strip() for part in pattern.partition("="))
        if not equals or parameter not in MATCH_PARAMETERS or not _is_expression(expression):
            raise KafkaError(ErrorCode.INVALID_CONFIG, f"Illegal client matching pattern: {pattern}")


def _is_expression(text: str) -> bool:
    try:
        re.compile(text)
    except re.error:
        return False
    return True


def _known(overrides: Mapping[str, str], table: KeyTable, sentence: str) -> None:
    for name in overrides:
        if name not in table:
            raise _invalid(sentence + name)


def _parse(definition: KeyDefinition, text: str) -> Value:
    try:
        value = parse_value(definition.name, definition.type, text)
    except ValueError as unparsable:
        raise _invalid(str(unparsable)) from None
    problem = violation(definition, value)
    if problem is not None:
        raise _invalid(problem)
    return value


def _invalid(sentence: str) -> KafkaError:
    return KafkaError(ErrorCode.INVALID_CONFIG, sentence)
