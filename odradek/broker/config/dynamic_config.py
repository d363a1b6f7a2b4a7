"""Changes of broker keys at run time: which keys may change, and how. Source: DynamicBrokerConfig.validateConfigs.

Pure functions over the texts of a request.
"""

import re
from collections.abc import Iterable, Mapping

from odradek.protocol.errors import ErrorCode, KafkaError

from .cross_checks import single_values
from .definition import dynamic_only_keys, server_keys
from .security import unserved_changes
from .server_config import ServerConfig
from .stored import READ_AT_START
from .validators import violation
from .values import parse_value

_POOLS = (
    "num.io.threads",
    "num.replica.fetchers",
    "num.recovery.threads.per.data.dir",
    "background.threads",
    "num.network.threads",
)
_LEAST_BUFFER_BYTES = 1 << 20
_LISTENER_KEY = re.compile(r"listener\.name\.[^.]*\.(.*)")


def validate_broker_configs(
    configs: Mapping[str, str], *, per_broker: bool, server: ServerConfig | None = None
) -> None:
    """Checks all future dynamic configs of a broker (``per_broker``) or of all brokers.

    Unknown names are accepted: they may be a plugin's. With ``server``, contradictory values are also refused. Raises
    KafkaError(INVALID_REQUEST) with Kafka's text.
    """
    sections = server_keys().sections
    _none_of(
        (name for name in configs if name in server_keys() and server_keys()[name].update_mode == "read-only"),
        "Cannot update these configs dynamically",
    )
    _none_of(
        (name for name in configs if name in sections["dynamic_security_configs"]),
        "These security configs can be dynamically updated only per-listener using the listener prefix",
    )
    for name, text in configs.items():
        listener = _LISTENER_KEY.fullmatch(name)
        _check_value(listener[1] if listener else name, text)
    if not per_broker:
        _none_of(
            filter(_is_per_broker, configs),
            "Cannot update these configs at default cluster level, broker id must be specified",
        )
    if server is not None:
        contradictions = list(single_values(server.with_dynamic({}, configs)))
        if contradictions:
            raise KafkaError(ErrorCode.INVALID_REQUEST, contradictions[0])


def refuse_unserved(changes: Mapping[str, str]) -> None:
    """Refuses changes that have no effect here: listeners (they are read at start only) and security.

    Kafka accepts both for a single broker. Raises KafkaError(INVALID_REQUEST).
    """
    sentence = "Cannot update these configs dynamically"
    _none_of(
        (name for name in changes if name in READ_AT_START),
        f"{sentence} (this broker reads them only at start: set them in its configuration and restart it)",
    )
    _none_of(
        unserved_changes(changes),
        f"{sentence} (this broker reads keys of security only at start, and does not support all of them: "
        "docs/security.md)",
    )


def validate_resizes(current: ServerConfig, proposed: ServerConfig) -> None:
    """Checks that no pool of threads more than doubles or less than halves, and that the cleaner's memory suffices.

    Both arguments are the broker's configuration with its dynamic configs, now and after the change. It includes pools
    that this broker does not have, so that it accepts the same as Kafka. Raises KafkaError(INVALID_REQUEST) with
    Kafka's text. Source: DynamicThreadPool, LogCleaner.validateReconfiguration.
    """
    threads, before = proposed.get_int("log.cleaner.threads"), current.get_int("log.cleaner.threads")
    if not threads and before:
        # As in Kafka, which checks this first since it divides by it.
        raise KafkaError(ErrorCode.INVALID_REQUEST, "Log cleaner threads should be at least 1")
    if threads and proposed.get_int("log.cleaner.dedupe.buffer.size") // threads <= _LEAST_BUFFER_BYTES:
        sentence = "log.cleaner.dedupe.buffer.size must be at least 1MB per cleaner thread."
        raise KafkaError(ErrorCode.INVALID_REQUEST, f"requirement failed: {sentence}")
    for key in _POOLS:
        size, was = proposed.get_int(key), current.get_int(key)
        what = f"Dynamic thread count update validation failed for {key}={size}, value should"
        _check_size(size, was, f"{what} be at least half", f"{what} not be greater than double")
    what = "Log cleaner threads cannot be"
    _check_size(threads, before, f"{what} reduced to less than half", f"{what} increased to more than double")


def _check_size(size: int, was: int, too_few: str, too_many: str) -> None:
    if size < was // 2 or size > 2 * was:
        sentence = f"{too_few if size < was else too_many} the current value {was}"
        text = f"Invalid value org.apache.kafka.common.config.ConfigException: {sentence}"
        raise KafkaError(ErrorCode.INVALID_REQUEST, f"{text} for configuration Invalid dynamic configuration")


def _is_per_broker(name: str) -> bool:
    sections = server_keys().sections
    listener = _LISTENER_KEY.fullmatch(name)
    if listener is not None:
        return listener[1] not in sections["cluster_level_listener_configs"]
    return name in sections["per_broker_configs"]


def _check_value(name: str, text: str) -> None:
    definition = server_keys().get(name) or dynamic_only_keys().get(name)
    if definition is None:
        return
    try:
        problem = violation(definition, parse_value(name, definition.type, text))
    except ValueError as unparsable:
        problem = str(unparsable)
    if problem is not None:
        raise KafkaError(ErrorCode.INVALID_REQUEST, problem)


def _none_of(names: Iterable[str], sentence: str) -> None:
    found = sorted(names)
    if found:
        raise KafkaError(ErrorCode.INVALID_REQUEST, f"{sentence}: [{', '.join(found)}]")
