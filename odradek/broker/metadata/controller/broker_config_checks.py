"""A broker's checks of new configs, before the controller's: keys, its own dynamic configs, its loggers.

Pure. A broker's own configs are those of its id, and those of the empty name, which are for all brokers.
A refusal is a KafkaError. Source: ConfigAdminManager.preprocess.
"""

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from odradek.protocol.errors import ErrorCode, KafkaError
from odradek.protocol.messages.configs import AlterConfigsRequest, IncrementalAlterConfigsRequest

from ...config.cross_checks import cordoned_entries
from ...config.dynamic_config import refuse_unserved, validate_broker_configs, validate_resizes
from ...config.stored import ADVERTISED
from ..image.image import MetadataImage, ResourceType
from .config_operations import ConfigOperation, OperationType, is_list, new_value, operations_of
from .controller import Controller

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


def check_incremental(
    image: MetadataImage,
    resource: IncrementalAlterConfigsRequest.AlterConfigsResource,
    controller: Controller,
    may_alter_loggers: Callable[[], bool] = lambda: True,
) -> bool:
    """The broker's checks of an incremental change. Raises KafkaError. Returns whether the controller must make the
    change: False for loggers, which are not in the metadata."""
    check_keys(resource.configs, lambda config: config.config_operation != OperationType.DELETE)
    if resource.resource_type == ResourceType.BROKER_LOGGER:
        if not may_alter_loggers():
            raise KafkaError(ErrorCode.CLUSTER_AUTHORIZATION_FAILED)
        _check_loggers(resource.resource_name, operations_of(resource), controller)
        return False
    if resource.resource_type == ResourceType.BROKER:
        _check_broker(image, resource.resource_name, operations_of(resource), controller)
    return True


def check_replacement(
    image: MetadataImage, resource: AlterConfigsRequest.AlterConfigsResource, controller: Controller
) -> dict[str, str]:
    """The broker's checks of a change that replaces all configs. Raises KafkaError. Returns the new configs."""
    check_keys(resource.configs, lambda config: True)
    new = {config.name: config.value for config in resource.configs if config.value is not None}
    if resource.resource_type == ResourceType.BROKER:
        _check_broker_name(resource.resource_name, controller)
        _check_dynamic_configs(image, resource.resource_name, new, controller)
        current = image.config_of(ResourceType.BROKER, resource.resource_name)
        refuse_unserved({key: value for key, value in new.items() if current.get(key) != value})
    return new


def check_keys(configs: Iterable[Any], needs_value: Callable[[Any], bool]) -> None:
    """Raises KafkaError for a key that is named twice, or that needs a value and has none."""
    configs = list(configs)
    if len({config.name for config in configs}) != len(configs):
        raise KafkaError(ErrorCode.INVALID_REQUEST, "Error due to duplicate config keys")
    nulls = [config.name for config in configs if config.value is None and needs_value(config)]
    if nulls:
        raise KafkaError(ErrorCode.INVALID_REQUEST, f"Null value not supported for : {', '.join(nulls)}")


def _check_broker_name(name: str, controller: Controller) -> None:
    if name and _node_id(name) != controller.node_id:
        sentence = f"Unexpected broker id, expected {controller.node_id}, but received {name}"
        raise KafkaError(ErrorCode.INVALID_REQUEST, sentence)


def _node_id(name: str) -> int:
    try:
        return int(name)
    except ValueError:
        raise KafkaError(ErrorCode.INVALID_REQUEST, f"Node id must be an integer, but it is: {name}") from None


def _check_broker(
    image: MetadataImage, name: str, operations: Mapping[str, ConfigOperation], controller: Controller
) -> None:
    """The broker's check of its dynamic configs as they are after the operations. Raises KafkaError."""
    _check_broker_name(name, controller)
    configs = dict(image.config_of(ResourceType.BROKER, name))
    changes: dict[str, str] = {}
    for key, operation in operations.items():
        if operation.type in (OperationType.APPEND, OperationType.SUBTRACT) and not is_list(ResourceType.BROKER, key):
            what = operation.type.name.lower()
            sentence = f"Config value {what} is not allowed for config key: {key}"
            raise KafkaError(ErrorCode.INVALID_REQUEST, sentence)
        value = new_value(ResourceType.BROKER, key, configs.get(key), operation)
        if value is None:
            configs.pop(key, None)
        else:
            configs[key] = changes[key] = value
    _check_dynamic_configs(image, name, configs, controller)
    refuse_unserved(changes)
    if name:
        controller.check_listeners(configs)


def _check_dynamic_configs(image: MetadataImage, name: str, configs: Mapping[str, str], controller: Controller) -> None:
    """Checks the future dynamic configs of this broker, or of all brokers (``name`` empty)."""
    others = dict(configs)
    if name and ADVERTISED in others:
        controller.endpoints_under(others.pop(ADVERTISED))  # raises if this node can't change its addresses to these
    validate_broker_configs(others, per_broker=bool(name))
    _check_cordoned(configs, controller)
    layers = [*image.broker_config_layers(controller.node_id)]
    current = controller.config.with_dynamic(*layers)
    layers[bool(name)] = configs
    validate_resizes(current, controller.config.with_dynamic(*layers))


def _check_cordoned(configs: Mapping[str, str], controller: Controller) -> None:
    if "cordoned.log.dirs" in configs:
        config = controller.config.with_dynamic({}, configs)
        for sentence in cordoned_entries(config.get_list("cordoned.log.dirs"), config.log_dirs):
            raise KafkaError(ErrorCode.INVALID_REQUEST, f"requirement failed: {sentence}")


def _check_loggers(name: str, operations: Mapping[str, ConfigOperation], controller: Controller) -> None:
    """Checks new levels of this broker's loggers. The caller sets them, since they are not in the metadata."""
    if _node_id(name) != controller.node_id:
        sentence = f"Unexpected node id. Expected {controller.node_id}, but received {name}"
        raise KafkaError(ErrorCode.INVALID_REQUEST, sentence)
    for logger, operation in operations.items():
        if operation.type in (OperationType.APPEND, OperationType.SUBTRACT):
            sentence = f"{operation.type.name} operation is not allowed for the BROKER_LOGGER resource"
            raise KafkaError(ErrorCode.INVALID_REQUEST, sentence)
        level = operation.value if operation.type is OperationType.SET else None
        check_level(logger, level, controller.has_logger)
