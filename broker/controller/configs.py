"""Alters configs of topics, brokers, groups and client metrics subscriptions. Pure: requests go in, records come out.

Each resource of a request succeeds or fails as a whole, independently of the others. As in Kafka, broker resources are
checked twice: by the broker (its own id, or the empty name for all; dynamic keys only) and by the controller.
Source: ConfigAdminManager.preprocess, ControllerConfigurationValidator, ConfigurationControlManager.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from enum import IntEnum
from typing import Any, NamedTuple, TypeVar

from ...protocol.errors import ErrorCode, KafkaError
from ...protocol.messages.configs import (
    AlterConfigsRequest,
    AlterConfigsResponse,
    IncrementalAlterConfigsRequest,
    IncrementalAlterConfigsResponse,
)
from ...protocol.messages.metadata_records import ClearElrRecord, ConfigRecord
from ...protocol.messages.structure import Message
from ...protocol.steps import Steps
from ..config.cross_checks import cordoned_entries
from ..config.definition import server_keys, topic_keys
from ..config.dynamic_config import refuse_unserved, validate_broker_configs, validate_resizes
from ..config.group_config import validate_client_metrics, validate_group_configs
from ..config.topic_config import validate_topic_configs
from ..metadata.decision import NO_ERROR, ApiError, Decision, counted
from ..metadata.features import ELIGIBLE_LEADER_REPLICAS_VERSION
from ..metadata.image import ConfigResource, MetadataImage, ResourceType
from ..metadata.topic_names import check_topic_name
from .controller import Controller

Outcome = TypeVar("Outcome")

MAX_VALUE_LENGTH = 32767
NO_RECORDS: list[Message] = []
MIN_INSYNC_REPLICAS = "min.insync.replicas"


class OperationType(IntEnum):
    """The operation of an incremental change: the numbers of ``AlterConfigOp.OpType``."""

    SET = 0
    DELETE = 1
    APPEND = 2
    SUBTRACT = 3


class ConfigOperation(NamedTuple):
    """One change of one key; the value is None for DELETE."""

    type: OperationType
    value: str | None


def incremental_alter_configs(
    image: MetadataImage, request: IncrementalAlterConfigsRequest, controller: Controller
) -> Steps[Decision[IncrementalAlterConfigsResponse]]:
    """Sets, deletes, appends to and subtracts from single keys (KIP-339)."""

    def records_of(resource: IncrementalAlterConfigsRequest.AlterConfigsResource) -> list[Message]:
        if not _check_incremental(image, resource, controller):
            return []
        return alter_resource(
            image, controller, (ResourceType(resource.resource_type), resource.resource_name), _operations_of(resource)
        )

    outcomes = yield from _each_resource(request.resources, records_of, _takes_incremental, NO_RECORDS)
    decision: Decision[IncrementalAlterConfigsResponse] = Decision(IncrementalAlterConfigsResponse())
    for resource, (error, records) in zip(request.resources, outcomes, strict=True):
        yield
        answer = IncrementalAlterConfigsResponse.AlterConfigsResourceResponse(
            error.code, error.message, resource.resource_type, resource.resource_name
        )
        decision.response.responses.append(answer)
        decision.records += [] if request.validate_only else records
    return decision


def alter_configs(
    image: MetadataImage, request: AlterConfigsRequest, controller: Controller
) -> Steps[Decision[AlterConfigsResponse]]:
    """Replaces all configs of each resource (the older API). Keys that the request does not name are deleted."""

    def records_of(resource: AlterConfigsRequest.AlterConfigsResource) -> list[Message]:
        new = _check_replacement(image, resource, controller)
        return _replace_resource(image, controller, (ResourceType(resource.resource_type), resource.resource_name), new)

    outcomes = yield from _each_resource(request.resources, records_of, _takes_replacement, NO_RECORDS)
    decision: Decision[AlterConfigsResponse] = Decision(AlterConfigsResponse())
    for resource, (error, records) in zip(request.resources, outcomes, strict=True):
        yield
        answer = AlterConfigsResponse.AlterConfigsResourceResponse(
            error.code, error.message, resource.resource_type, resource.resource_name
        )
        decision.response.responses.append(answer)
        decision.records += [] if request.validate_only else records
    return decision


def preprocess(
    image: MetadataImage,
    request: AlterConfigsRequest | IncrementalAlterConfigsRequest,
    controller: Controller,
    may_alter_loggers: Callable[[], bool] = lambda: True,
) -> Steps[list[ApiError | None]]:
    """What a broker of a cluster decides of a request by itself, for each resource: None if it goes to the controllers.

    The broker checks its own configs and keeps what concerns its loggers. Source: ConfigAdminManager.preprocess.
    """
    if isinstance(request, AlterConfigsRequest):

        def is_forwarded(resource: Any) -> bool:
            _check_replacement(image, resource, controller)
            return True

        outcomes = yield from _each_resource(request.resources, is_forwarded, _takes_replacement, False)
    else:
        outcomes = yield from _each_resource(
            request.resources,
            lambda resource: _check_incremental(image, resource, controller, may_alter_loggers),
            _takes_incremental,
            False,
        )
    return [None if goes_on else error for error, goes_on in outcomes]


def _takes_incremental(kind: ResourceType) -> bool:
    return kind is not ResourceType.UNKNOWN


def _takes_replacement(kind: ResourceType) -> bool:
    return kind in (ResourceType.BROKER, ResourceType.TOPIC, ResourceType.CLIENT_METRICS, ResourceType.GROUP)


def _check_incremental(
    image: MetadataImage,
    resource: IncrementalAlterConfigsRequest.AlterConfigsResource,
    controller: Controller,
    may_alter_loggers: Callable[[], bool] = lambda: True,
) -> bool:
    """The broker's checks. Raises KafkaError. Returns False for loggers, of which controllers know nothing."""
    _check_keys(resource.configs, lambda config: config.config_operation != OperationType.DELETE)
    if resource.resource_type == ResourceType.BROKER_LOGGER:
        if not may_alter_loggers():
            raise KafkaError(ErrorCode.CLUSTER_AUTHORIZATION_FAILED)
        _refuse_loggers(resource.resource_name, _operations_of(resource), controller)
        return False
    if resource.resource_type == ResourceType.BROKER:
        _check_broker(image, resource.resource_name, _operations_of(resource), controller)
    return True


def _operations_of(resource: IncrementalAlterConfigsRequest.AlterConfigsResource) -> dict[str, ConfigOperation]:
    return {
        config.name: ConfigOperation(_operation_type(config.config_operation), config.value)
        for config in resource.configs
    }


def _check_replacement(
    image: MetadataImage, resource: AlterConfigsRequest.AlterConfigsResource, controller: Controller
) -> dict[str, str]:
    """The broker's checks. Raises KafkaError. Returns the new configs."""
    _check_keys(resource.configs, lambda config: True)
    new = {config.name: config.value for config in resource.configs if config.value is not None}
    if resource.resource_type == ResourceType.BROKER:
        _check_broker_name(resource.resource_name, controller)
        _check_dynamic_configs(image, resource.resource_name, new, controller)
        current = image.config_of(ResourceType.BROKER, resource.resource_name)
        refuse_unserved({key: value for key, value in new.items() if current.get(key) != value})
    return new


def _each_resource(
    resources: Sequence[Any],
    outcome_of: Callable[[Any], Outcome],
    serves: Callable[[ResourceType], bool],
    refused: Outcome,
) -> Steps[list[tuple[ApiError, Outcome]]]:
    """The result for each resource, in the request's order. ``refused``: the outcome beside an error."""
    counts = yield from counted([(resource.resource_type, resource.resource_name) for resource in resources])
    outcomes: list[tuple[ApiError, Outcome]] = []
    for resource in resources:
        yield
        try:
            if counts[resource.resource_type, resource.resource_name] > 1:
                raise KafkaError(ErrorCode.INVALID_REQUEST, "Each resource must appear at most once.")
            if resource.resource_type not in list(ResourceType) or not serves(ResourceType(resource.resource_type)):
                # Problems of the keys come first, as in Kafka.
                _check_keys(resource.configs, lambda config: getattr(config, "config_operation", 0) != 1)
                raise KafkaError(ErrorCode.INVALID_REQUEST, f"Unknown resource type {resource.resource_type}")
            outcomes.append((NO_ERROR, outcome_of(resource)))
        except KafkaError as error:
            outcomes.append((ApiError.from_error(error), refused))
    return outcomes


def _check_keys(configs: Iterable[Any], needs_value: Callable[[Any], bool]) -> None:
    """Raises KafkaError for a key that is named twice, or that needs a value and has none."""
    configs = list(configs)
    if len({config.name for config in configs}) != len(configs):
        raise KafkaError(ErrorCode.INVALID_REQUEST, "Error due to duplicate config keys")
    nulls = [config.name for config in configs if config.value is None and needs_value(config)]
    if nulls:
        raise KafkaError(ErrorCode.INVALID_REQUEST, f"Null value not supported for : {', '.join(nulls)}")


def _operation_type(number: int) -> OperationType:
    if number not in list(OperationType):
        raise KafkaError(ErrorCode.INVALID_REQUEST, f"Unknown operations type {number}")
    return OperationType(number)


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
    """The broker's own check of its future dynamic configs."""
    _check_broker_name(name, controller)
    configs = dict(image.config_of(ResourceType.BROKER, name))
    changes: dict[str, str] = {}
    for key, operation in operations.items():
        if operation.type in (OperationType.APPEND, OperationType.SUBTRACT) and not _is_list(ResourceType.BROKER, key):
            what = operation.type.name.lower()
            sentence = f"Config value {what} is not allowed for config key: {key}"
            raise KafkaError(ErrorCode.INVALID_REQUEST, sentence)
        value = _new_value(ResourceType.BROKER, key, configs.get(key), operation)
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
    validate_broker_configs(configs, per_broker=bool(name))
    _check_cordoned(configs, controller)
    layers = [image.config_of(ResourceType.BROKER, of) for of in ("", str(controller.node_id))]
    current = controller.config.with_dynamic(*layers)
    layers[bool(name)] = configs
    validate_resizes(current, controller.config.with_dynamic(*layers))


def _check_cordoned(configs: Mapping[str, str], controller: Controller) -> None:
    if "cordoned.log.dirs" in configs:
        config = controller.config.with_dynamic({}, configs)
        for sentence in cordoned_entries(config.get_list("cordoned.log.dirs"), config.log_dirs):
            raise KafkaError(ErrorCode.INVALID_REQUEST, f"requirement failed: {sentence}")


def _refuse_loggers(name: str, operations: Mapping[str, ConfigOperation], controller: Controller) -> None:
    """Refuses every logger: this broker has no loggers that requests can set."""
    if _node_id(name) != controller.node_id:
        sentence = f"Unexpected node id. Expected {controller.node_id}, but received {name}"
        raise KafkaError(ErrorCode.INVALID_REQUEST, sentence)
    for logger, operation in operations.items():
        if operation.type in (OperationType.APPEND, OperationType.SUBTRACT):
            sentence = f"{operation.type.name} operation is not allowed for the BROKER_LOGGER resource"
            raise KafkaError(ErrorCode.INVALID_REQUEST, sentence)
        raise KafkaError(ErrorCode.INVALID_CONFIG, f"Logger {logger} does not exist!")


def _is_list(kind: int, key: str) -> bool:
    table = {ResourceType.TOPIC: topic_keys, ResourceType.BROKER: server_keys}.get(ResourceType(kind))
    return table is not None and key in table() and table()[key].type == "LIST"


def _new_value(kind: int, key: str, current: str | None, operation: ConfigOperation) -> str | None:
    """The value of a key after an operation; None if it is not set."""
    if operation.type is OperationType.SET:
        return operation.value
    if operation.type is OperationType.DELETE:
        return None
    if not _is_list(kind, key):
        sentence = f"Can't {operation.type.name} to key {key} because its type is not LIST."
        raise KafkaError(ErrorCode.INVALID_CONFIG, sentence)
    table = topic_keys() if kind == ResourceType.TOPIC else server_keys()
    text = table[key].default if current is None else current
    parts = [part for part in (text or "").split(",") if part]
    for part in (operation.value or "").split(","):
        if operation.type is OperationType.APPEND:
            parts += [part] if part not in parts else []
        elif part in parts:
            parts.remove(part)
    return ",".join(parts)


def alter_resource(
    image: MetadataImage,
    controller: Controller,
    resource: ConfigResource,
    operations: Mapping[str, ConfigOperation],
    *,
    newly_created: bool = False,
) -> list[Message]:
    """The records of a change of single keys. Raises KafkaError. ``newly_created``: it need not exist yet."""
    current = image.config_of(*resource)
    changes: dict[str, str | None] = {}
    for key, operation in operations.items():
        value = _new_value(resource[0], key, current.get(key), operation)
        # Brokers get a record even for an equal value: it makes them reload values that are files (KAFKA-14136).
        if value != current.get(key) or resource[0] == ResourceType.BROKER:
            changes[key] = value
    return _checked_records(image, controller, resource, changes, {}, newly_created)


def _replace_resource(
    image: MetadataImage, controller: Controller, resource: ConfigResource, new: Mapping[str, str]
) -> list[Message]:
    """The records after which a resource has exactly the configs ``new``. Raises KafkaError."""
    current = image.config_of(*resource)
    is_broker = resource[0] == ResourceType.BROKER
    changes: dict[str, str | None] = {
        key: value for key, value in new.items() if is_broker or current.get(key) != value
    }
    deleted: dict[str, str | None] = dict.fromkeys(key for key in current if key not in new)
    return _checked_records(image, controller, resource, changes, deleted, newly_created=False)


def _checked_records(
    image: MetadataImage,
    controller: Controller,
    resource: ConfigResource,
    changes: Mapping[str, str | None],
    deleted: Mapping[str, None] | Mapping[str, str | None],
    newly_created: bool,
) -> list[Message]:
    kind, name = resource
    current = image.config_of(kind, name)
    has_elr = ELIGIBLE_LEADER_REPLICAS_VERSION in image.features
    merged = dict(current)
    for key, value in (*changes.items(), *deleted.items()):
        if has_elr and key == MIN_INSYNC_REPLICAS and kind == ResourceType.BROKER:
            _check_min_insync_replicas(name, value)
        if value is None:
            merged.pop(key, None)
        elif len(value) > MAX_VALUE_LENGTH:
            sentence = (
                "The configuration value cannot be added because it exceeds the maximum value size of "
                f"{MAX_VALUE_LENGTH} bytes."
            )
            raise KafkaError(ErrorCode.INVALID_CONFIG, sentence)
        else:
            merged[key] = value
    _validate(controller, resource, merged, current)
    if not newly_created:
        _check_existence(image, resource)
    records: list[Message] = []
    for key, value in (*changes.items(), *deleted.items()):
        records.append(ConfigRecord(kind, name, key, value))
        if has_elr and key == MIN_INSYNC_REPLICAS:
            # The replicas were eligible with the old value (KIP-966).
            records.append(ClearElrRecord(name if kind == ResourceType.TOPIC else ""))
    return records


def _check_min_insync_replicas(broker_name: str, value: str | None) -> None:
    if broker_name:
        sentence = "Broker-level min.insync.replicas cannot be altered while ELR is enabled."
        raise KafkaError(ErrorCode.INVALID_CONFIG, sentence)
    if value is None:
        sentence = "Cluster-level min.insync.replicas cannot be removed while ELR is enabled."
        raise KafkaError(ErrorCode.INVALID_CONFIG, sentence)


def _validate(
    controller: Controller, resource: ConfigResource, configs: Mapping[str, str], before: Mapping[str, str]
) -> None:
    """The controller's check of all future configs of a resource. Raises KafkaError."""
    kind, name = resource
    if kind == ResourceType.TOPIC:
        if not name:
            raise KafkaError(ErrorCode.INVALID_REQUEST, "Default topic resources are not allowed.")
        check_topic_name(name)
        validate_topic_configs(configs, controller.config, before=before)
    elif kind == ResourceType.CLIENT_METRICS:
        validate_client_metrics(name, configs)
    elif kind == ResourceType.GROUP:
        if not name:
            raise KafkaError(ErrorCode.INVALID_REQUEST, "Default group resources are not allowed.")
        validate_group_configs(configs, controller.config)


def _check_existence(image: MetadataImage, resource: ConfigResource) -> None:
    kind, name = resource
    if kind == ResourceType.TOPIC and name not in image.topics_by_name:
        raise KafkaError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"The topic '{name}' does not exist.")
    if kind == ResourceType.BROKER and name and int(name) not in image.brokers:
        raise KafkaError(ErrorCode.BROKER_ID_NOT_REGISTERED, f"No node with id {name} found.")
