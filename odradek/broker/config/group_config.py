"""Group configs and client metrics subscriptions: validation. Source: Kafka's GroupConfig and ClientMetricsConfigs.

Pure functions over the server's configuration and the texts that metadata records carry.
"""

import re
from collections.abc import Mapping

from odradek.protocol.errors import ErrorCode, KafkaError

from .definition import KeyDefinition, KeyTable, client_metrics_keys, group_keys
from .server_config import ServerConfig
from .stored import problem
from .validators import parsed, violation
from .values import Value, integer, parse_value


def _between(kind: str, *names: str) -> dict[str, tuple[str | None, str | None]]:
    return {f"{kind}.{name}": (f"group.{kind}.min.{name}", f"group.{kind}.max.{name}") for name in names}


_TIMES = ("heartbeat.interval.ms", "session.timeout.ms")
_LIMITS: Mapping[str, tuple[str | None, str | None]] = {
    **_between("consumer", *_TIMES, "assignment.interval.ms"),
    **_between("share", *_TIMES, "record.lock.duration.ms", "delivery.count.limit", "partition.max.record.locks"),
    **_between("share", "assignment.interval.ms"),
    **_between("streams", *_TIMES),
    "streams.num.standby.replicas": (None, "group.streams.max.standby.replicas"),
    **_between("streams", "assignment.interval.ms"),
    "streams.task.offset.interval.ms": ("group.streams.min.task.offset.interval.ms", None),
    "streams.num.warmup.replicas": (None, "group.streams.max.warmup.replicas"),
}
"""Group key -> the server's keys for its lowest and its highest value, in the order in which Kafka checks them."""

DEAD_LETTER_TOPIC = "errors.deadletterqueue.topic.name"
_TAGS = "streams.rack.aware.assignment.tags"
_ASSIGNOR = "streams.assignor.name"

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
        elif name == _ASSIGNOR:
            values[name] = next(iter(server.get_list("group.streams.assignors")), None)  # the default is the first one
        elif definition.server_key is not None:
            values[name] = server[definition.server_key]
        else:
            values[name] = parse_value(name, definition.type, definition.default)
    return values


def validate_group_configs(overrides: Mapping[str, str], server: ServerConfig) -> None:
    """Checks the settings of one group (GroupConfig.validate). Raises KafkaError(INVALID_CONFIG) with Kafka's text."""
    _known(overrides, group_keys(), "Unknown group config name: ")
    if _TAGS in overrides:
        tags = re.split(r"[ \t]*,[ \t]*", overrides[_TAGS].strip())
        if len(set(tags)) != len(tags):
            raise _invalid(f"{_TAGS} must not contain duplicate tag keys.")
    for name, text in overrides.items():
        _parse(group_keys()[name], text)
    values = group_values(server, overrides)
    for name, limits in _LIMITS.items():
        if name in overrides:
            low, high = (None if key is None else server.get_int(key) for key in limits)
            _check_limits(name, integer(values, name), low, high)
    assignors = server.get_list("group.streams.assignors")
    if _ASSIGNOR in overrides and values[_ASSIGNOR] not in assignors:
        raise _invalid(
            f"{_ASSIGNOR} '{values[_ASSIGNOR]}' is not a registered task assignor. Registered assignors are: "
            f"[{', '.join(assignors)}]."
        )
    for kind in ("consumer", "share", "streams"):
        session, heartbeat = f"{kind}.session.timeout.ms", f"{kind}.heartbeat.interval.ms"
        if (session in overrides or heartbeat in overrides) and integer(values, session) <= integer(values, heartbeat):
            raise _invalid(f"{session} must be greater than {heartbeat}")
    if str(values[DEAD_LETTER_TOPIC]).startswith("__"):
        raise _invalid(f"{DEAD_LETTER_TOPIC}: DLQ topic name must not start with '__'")


def _check_limits(name: str, value: int, low: int | None, high: int | None) -> None:
    too_low, too_high = low is not None and value < low, high is not None and value > high
    if low is not None and high is not None and (too_low or too_high):
        raise _invalid(f"{name} must be in the range {low} to {high} inclusive.")
    if too_low:
        raise _invalid(f"{name} must be greater than or equal to {low}")
    if too_high:
        raise _invalid(f"{name} must be less than or equal to {high}")


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
        parts = match_of(pattern)
        if parts is None or not _is_expression(parts[1]):
            raise KafkaError(ErrorCode.INVALID_CONFIG, f"Illegal client matching pattern: {pattern}")


def match_of(pattern: str) -> tuple[str, str] | None:
    """The field and the expression of an entry of ``match``; None if it is not ``field=expression``.

    As in Java, empty parts at the end do not count: ``client_id=`` has no expression.
    """
    parts = [part.strip() for part in pattern.rstrip("=").split("=")]
    return (parts[0], parts[1]) if len(parts) == 2 and parts[0] in MATCH_PARAMETERS else None


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
        value = parsed(definition, text)
    except ValueError as unparsable:
        raise _invalid(str(unparsable)) from None
    problem = violation(definition, value)
    if problem is not None:
        raise _invalid(problem)
    return value


def _invalid(sentence: str) -> KafkaError:
    return KafkaError(ErrorCode.INVALID_CONFIG, sentence)
