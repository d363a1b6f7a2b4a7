"""Validates changes of a broker's log levels. Pure. Source: ConfigAdminManager.validateLogLevelConfigs, KIP-412."""

from collections.abc import Callable

from odradek.protocol.errors import ErrorCode, KafkaError

ROOT = "root"
LEVELS = {"FATAL": 50, "ERROR": 40, "WARN": 30, "INFO": 20, "DEBUG": 10, "TRACE": 5}
"""Kafka's level -> Python's; Python has none below DEBUG."""


def check_level(name: str, level: str | None, has_logger: Callable[[str], bool]) -> None:
    """Checks a new level of a logger; None removes its own level. Raises KafkaError."""
    if not has_logger(name):
        raise KafkaError(ErrorCode.INVALID_CONFIG, f"Logger {name} does not exist!")
    if level is None and name == ROOT:
        sentence = f"Removing the log level of the {ROOT} logger is not allowed"
        raise KafkaError(ErrorCode.INVALID_REQUEST, sentence)
    if level is not None and level not in LEVELS:
        raise KafkaError(
            ErrorCode.INVALID_CONFIG,
            f"Cannot set the log level of {name} to {level} as it is not a supported log level. "
            f"Valid log levels are {', '.join(LEVELS)}",
        )
