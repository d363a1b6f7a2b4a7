"""Topic configs: validation, and the storage configuration of a log. Source: Kafka's LogConfig and TopicConfig.

Pure functions over the server's configuration and a topic's own settings (text, as metadata records carry them).
"""

from collections.abc import Mapping
from dataclasses import fields
from typing import Any

from odradek.protocol.errors import ErrorCode, KafkaError
from odradek.storage.log.log_config import LogConfig

from .cross_checks import log_flush_ms, log_retention_ms, log_roll_jitter_ms, log_roll_ms
from .definition import KeyDefinition, topic_keys
from .server_config import ServerConfig
from .stored import problem
from .validators import parsed, violation
from .values import Value, integer, parse_value

# Topic keys whose server value KafkaConfig computes from several keys (KafkaConfig.extractLogConfigMap).
_COMPUTED = {
    "segment.ms": log_roll_ms,
    "segment.jitter.ms": log_roll_jitter_ms,
    "retention.ms": log_retention_ms,
    "flush.ms": log_flush_ms,
}

_SERVER_KEYS = {"producer_id_expiration_ms", "acks_all_fsync", "check_records"}
"""Fields of LogConfig that topics can't set."""
# LogConfig's fields have the names of the keys.
_FIELDS = {
    field.name: field.name.replace("_", ".")
    for field in fields(LogConfig)
    if field.init and field.name not in _SERVER_KEYS
}


def topic_default(server: ServerConfig, definition: KeyDefinition) -> Value:
    """The typed value of a topic key for a topic that doesn't set it: the server's, else Kafka's default."""
    if definition.name in _COMPUTED:
        return _COMPUTED[definition.name](server)
    if definition.server_key is not None:
        value: Value = server[definition.server_key]
        return value
    return parse_value(definition.name, definition.type, definition.default)


def topic_values(server: ServerConfig, overrides: Mapping[str, str | None]) -> dict[str, Value]:
    """The typed value of every topic key; an override of None counts as not set, and so does an invalid one
    (:func:`.stored.problem`).
    """
    values = {}
    for name, definition in topic_keys().items():
        text = overrides.get(name)
        is_set = text is not None and problem(definition, text) is None
        values[name] = _parse(definition, text) if is_set and text is not None else topic_default(server, definition)
    return values


def validate_topic_configs(
    overrides: Mapping[str, str | None], server: ServerConfig, *, before: Mapping[str, str] | None = None
) -> None:
    """Checks the settings of one topic as Kafka does (LogConfig.validate).

    ``overrides``: all future settings of the topic; ``before``: its present ones, if it exists. Raises
    KafkaError(INVALID_CONFIG) with Kafka's text: an unknown name, a bad value, values that contradict each other.
    """
    for name in overrides:
        if name not in topic_keys():
            raise KafkaError(ErrorCode.INVALID_CONFIG, f"Unknown topic config name: {name}")
    for name, definition in topic_keys().items():
        text = overrides.get(name)
        sentence = None if text is None else violation(definition, _parse(definition, text))
        if sentence is not None:
            raise KafkaError(ErrorCode.INVALID_CONFIG, sentence)
    values = topic_values(server, overrides)
    low, high = integer(values, "min.compaction.lag.ms"), integer(values, "max.compaction.lag.ms")
    if low > high:
        raise KafkaError(
            ErrorCode.INVALID_CONFIG,
            f"conflict topic config setting min.compaction.lag.ms ({low}) > max.compaction.lag.ms ({high})",
        )
    if values["remote.storage.enable"]:
        raise KafkaError(
            ErrorCode.INVALID_CONFIG,
            "Tiered Storage functionality is disabled in the broker. "
            "Topic cannot be configured with remote log storage.",
        )
    was_remote = (before or {}).get("remote.storage.enable", "false").lower() == "true"
    if was_remote and not values["remote.log.delete.on.disable"]:
        raise KafkaError(
            ErrorCode.INVALID_CONFIG,
            "It is invalid to disable remote storage without deleting remote data: "
            "set remote.storage.enable=false,remote.log.delete.on.disable=true",
        )


def _parse(definition: KeyDefinition, text: str) -> Value:
    try:
        return parsed(definition, text)
    except ValueError as unparsable:
        raise KafkaError(ErrorCode.INVALID_CONFIG, str(unparsable)) from None


def log_config_for(server: ServerConfig, topic_overrides: Mapping[str, str]) -> LogConfig:
    """The log configuration of a topic: its own settings, else the server's, else Kafka's defaults.

    ``internal.segment.bytes`` (a test key of Kafka's) has precedence over ``segment.bytes``.
    """
    values = topic_values(server, topic_overrides)
    typed: dict[str, Any] = {field: values[key] for field, key in _FIELDS.items()}
    typed["cleanup_policy"] = frozenset(typed["cleanup_policy"])
    if values["internal.segment.bytes"] is not None:
        typed["segment_bytes"] = values["internal.segment.bytes"]
    return LogConfig(
        **typed,
        producer_id_expiration_ms=server.get_int("producer.id.expiration.ms"),
        acks_all_fsync=bool(server["odradek.acks.all.fsync"]),
        check_records=bool(server["odradek.produce.check.records"]),
    )
