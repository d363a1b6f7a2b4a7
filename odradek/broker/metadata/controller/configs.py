"""Alters configs of topics, brokers, groups and client metrics subscriptions. Pure: requests go in, records come out.

Each resource of a request succeeds or fails as a whole, independently of the others. As in Kafka, broker resources are
checked twice: by the broker (``broker_config_checks``) and by the controller (here).
Source: ControllerConfigurationValidator, ConfigurationControlManager.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

from odradek.protocol.common.steps import Steps
from odradek.protocol.errors import ErrorCode, KafkaError
from odradek.protocol.messages.configs import (
    AlterConfigsRequest,
    AlterConfigsResponse,
    IncrementalAlterConfigsRequest,
    IncrementalAlterConfigsResponse,
)
from odradek.protocol.messages.metadata_records import ClearElrRecord, ConfigRecord
from odradek.protocol.messages.structure import Message
from odradek.protocol.names.topics import check_topic_name

from ...config.group_config import validate_client_metrics, validate_group_configs
from ...config.stored import ADVERTISED
from ...config.topic_config import validate_topic_configs
from ..image.features import ELIGIBLE_LEADER_REPLICAS_VERSION
from ..image.image import ConfigResource, MetadataImage, ResourceType
from ..publisher.decision import NO_ERROR, ApiError, Decision, counted
from .broker_config_checks import check_incremental, check_keys, check_replacement
from .config_operations import ConfigOperation, new_value, operations_of
from .controller import Controller
from .registration import readdressed_record

Outcome = TypeVar("Outcome")

MAX_VALUE_LENGTH = 32767
NO_RECORDS: list[Message] = []
MIN_INSYNC_REPLICAS = "min.insync.replicas"


def incremental_alter_configs(
    image: MetadataImage, request: IncrementalAlterConfigsRequest, controller: Controller
) -> Steps[Decision[IncrementalAlterConfigsResponse]]:
    """Sets, deletes, appends to and subtracts from single keys (KIP-339)."""

    def records_of(resource: IncrementalAlterConfigsRequest.AlterConfigsResource) -> list[Message]:
        if not check_incremental(image, resource, controller):
            return []
        return alter_resource(
            image, controller, (ResourceType(resource.resource_type), resource.resource_name), operations_of(resource)
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
        new = check_replacement(image, resource, controller)
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
    """The result that a broker of a cluster gives by itself, for each resource; None if the resource must be forwarded
    to the controllers.

    The broker refuses invalid configs of its own, and does not forward changes of its loggers. Source:
    ConfigAdminManager.preprocess.
    """
    if isinstance(request, AlterConfigsRequest):

        def is_forwarded(resource: Any) -> bool:
            check_replacement(image, resource, controller)
            return True

        outcomes = yield from _each_resource(request.resources, is_forwarded, _takes_replacement, False)
    else:
        outcomes = yield from _each_resource(
            request.resources,
            lambda resource: check_incremental(image, resource, controller, may_alter_loggers),
            _takes_incremental,
            False,
        )
    return [None if goes_on else error for error, goes_on in outcomes]


def _takes_incremental(kind: ResourceType) -> bool:
    return kind is not ResourceType.UNKNOWN


def _takes_replacement(kind: ResourceType) -> bool:
    return kind in (ResourceType.BROKER, ResourceType.TOPIC, ResourceType.CLIENT_METRICS, ResourceType.GROUP)


def _each_resource(
    resources: Sequence[Any],
    outcome_of: Callable[[Any], Outcome],
    serves: Callable[[ResourceType], bool],
    refused: Outcome,
) -> Steps[list[tuple[ApiError, Outcome]]]:
    """The error (or none) and the outcome of each resource, in the request's order. ``refused``: the outcome of a
    resource with an error."""
    counts = yield from counted([(resource.resource_type, resource.resource_name) for resource in resources])
    outcomes: list[tuple[ApiError, Outcome]] = []
    for resource in resources:
        yield
        try:
            if counts[resource.resource_type, resource.resource_name] > 1:
                raise KafkaError(ErrorCode.INVALID_REQUEST, "Each resource must appear at most once.")
            if resource.resource_type not in list(ResourceType) or not serves(ResourceType(resource.resource_type)):
                # Problems of the keys come first, as in Kafka.
                check_keys(resource.configs, lambda config: getattr(config, "config_operation", 0) != 1)
                raise KafkaError(ErrorCode.INVALID_REQUEST, f"Unknown resource type {resource.resource_type}")
            outcomes.append((NO_ERROR, outcome_of(resource)))
        except KafkaError as error:
            outcomes.append((ApiError.from_error(error), refused))
    return outcomes


def alter_resource(
    image: MetadataImage,
    controller: Controller,
    resource: ConfigResource,
    operations: Mapping[str, ConfigOperation],
    *,
    newly_created: bool = False,
) -> list[Message]:
    """The records of a change of single keys. Raises KafkaError. ``newly_created``: the resource need not exist yet."""
    current = image.config_of(*resource)
    changes: dict[str, str | None] = {}
    for key, operation in operations.items():
        value = new_value(resource[0], key, current.get(key), operation)
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
            # The eligible leader replicas in the metadata were chosen by the old value (KIP-966).
            records.append(ClearElrRecord(name if kind == ResourceType.TOPIC else ""))
    if kind == ResourceType.BROKER and name and (ADVERTISED in changes or ADVERTISED in deleted):
        records.append(readdressed_record(image, controller, merged.get(ADVERTISED)))
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
