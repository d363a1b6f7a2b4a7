"""The levels of this process's loggers, which requests describe and change while the broker runs.

Owns: the names and levels of Kafka's protocol for loggers of Python. Never does: keeping a level for the next start; as
in Kafka it lasts until then. A package, such as odradek.broker, is a logger too: loggers below have its level if they
have none of their own. Source: ``LoggingController``, ``LogLevelConfig``, KIP-412.
"""

import logging
from collections.abc import Iterable

from odradek.protocol.messages.configs import IncrementalAlterConfigsRequest

from ..config.describe import ConfigSource, DescribedConfig
from ..metadata.controller.broker_config_checks import LEVELS, ROOT
from ..metadata.controller.config_operations import OperationType
from ..metadata.image.image import ResourceType

NAMES = sorted(((number, name) for name, number in LEVELS.items()), reverse=True)


def has_logger(name: str) -> bool:
    """Whether a logger exists. No request creates one."""
    return name == ROOT or name in logging.root.manager.loggerDict


def level_of(name: str) -> str:
    """The level of a logger that exists, or that of the first logger above it that has one."""
    while name != ROOT:
        logger = logging.root.manager.loggerDict.get(name)
        if isinstance(logger, logging.Logger):
            return _name(logger.getEffectiveLevel())
        name = name.rpartition(".")[0] or ROOT
    return _name(logging.root.getEffectiveLevel())


def _name(level: int) -> str:
    """The name of the highest level that is not above a number."""
    return next((name for number, name in NAMES if number <= level), NAMES[-1][1])


def describe_loggers() -> Iterable[DescribedConfig]:
    """All loggers with their levels, as the entries of a DescribeConfigs answer."""
    source = ConfigSource.DYNAMIC_BROKER_LOGGER_CONFIG
    for name in sorted([ROOT, *logging.root.manager.loggerDict]):
        yield DescribedConfig(name, level_of(name), source, False, False, 0, (), None)


def set_levels(request: IncrementalAlterConfigsRequest, outcomes: Iterable[int]) -> None:
    """Sets the levels of a request. ``outcomes``: the error code of each resource; those with an error are left out."""
    if request.validate_only:
        return
    for resource, code in zip(request.resources, outcomes, strict=True):
        if code == 0 and resource.resource_type == ResourceType.BROKER_LOGGER:
            for config in resource.configs:
                # Kafka's client sends an empty value with DELETE.
                _set_level(config.name, config.value if config.config_operation == OperationType.SET else None)


def _set_level(name: str, level: str | None) -> None:
    """Sets a level; without one the logger gets that of the logger above it."""
    logger = logging.root if name == ROOT else logging.getLogger(name)
    logger.setLevel(logging.NOTSET if level is None else LEVELS[level])
