"""Levels of loggers are changed and described by the same requests as in Kafka."""

import logging
from collections.abc import Iterator

import pytest

from odradek.broker.api.loggers import describe_loggers, has_logger, level_of, set_levels
from odradek.broker.metadata.controller.broker_config_checks import check_level
from odradek.protocol.errors import ErrorCode, KafkaError
from odradek.protocol.messages.configs import IncrementalAlterConfigsRequest

Resource = IncrementalAlterConfigsRequest.AlterConfigsResource
Config = IncrementalAlterConfigsRequest.AlterableConfig
LOGGER, TOPIC, SET, DELETE = 8, 2, 0, 1
NAME = "test_loggers.some.module"
PACKAGE = "test_loggers.some"


@pytest.fixture
def logger() -> Iterator[logging.Logger]:
    """A logger in a package without other loggers."""
    root_level = logging.root.level
    logger = logging.getLogger(NAME)
    logging.root.setLevel(logging.INFO)
    yield logger
    logging.root.setLevel(root_level)
    for name in (NAME, PACKAGE):
        logging.getLogger(name).setLevel(logging.NOTSET)


def change(kind: int, *configs: Config, code: int = 0, validate_only: bool = False) -> None:
    set_levels(IncrementalAlterConfigsRequest([Resource(kind, "1", list(configs))], validate_only), [code])


def test_a_level_is_set_shown_and_removed(logger: logging.Logger) -> None:
    assert level_of(NAME) == "INFO", "that of the root"
    for name, level in (("TRACE", 5), ("DEBUG", 10), ("WARN", 30), ("ERROR", 40), ("FATAL", 50)):
        change(LOGGER, Config(NAME, SET, name))
        assert (level_of(NAME), logger.level) == (name, level)
    shown = {one.name: one.value for one in describe_loggers()}
    assert (shown[NAME], shown["root"]) == ("FATAL", "INFO")
    change(LOGGER, Config(NAME, DELETE, ""), Config("root", SET, "DEBUG"))
    assert level_of(NAME) == level_of("root") == "DEBUG"
    assert logger.isEnabledFor(logging.DEBUG)


def test_a_package_has_a_level_for_what_is_below_it(logger: logging.Logger) -> None:
    assert has_logger(PACKAGE)
    assert level_of(PACKAGE) == "INFO"
    change(LOGGER, Config(PACKAGE, SET, "ERROR"))
    assert level_of(PACKAGE) == level_of(NAME) == "ERROR"
    assert not logger.isEnabledFor(logging.WARNING)


def test_what_was_refused_or_only_validated_changes_nothing(logger: logging.Logger) -> None:
    change(LOGGER, Config(NAME, SET, "DEBUG"), code=ErrorCode.INVALID_CONFIG)
    change(LOGGER, Config(NAME, SET, "DEBUG"), validate_only=True)
    change(TOPIC, Config(NAME, SET, "DEBUG"))
    assert logger.level == logging.NOTSET


@pytest.mark.parametrize(
    ("name", "level", "code"),
    [
        ("absent.logger", "DEBUG", ErrorCode.INVALID_CONFIG),
        ("absent.logger", None, ErrorCode.INVALID_CONFIG),
        ("root", "LOUD", ErrorCode.INVALID_CONFIG),
        ("root", "debug", ErrorCode.INVALID_CONFIG),
        ("root", None, ErrorCode.INVALID_REQUEST),
    ],
)
def test_refused_levels(name: str, level: str | None, code: ErrorCode) -> None:
    with pytest.raises(KafkaError) as refused:
        check_level(name, level, has_logger)
    assert refused.value.error_code is code
    assert not has_logger("absent.logger"), "a request creates no logger"
