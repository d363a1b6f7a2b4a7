"""Applies the operations of IncrementalAlterConfigs to the values of keys (KIP-339). Pure.

Source: ConfigAdminManager, ``AlterConfigOp``.
"""

from enum import IntEnum
from typing import NamedTuple

from odradek.protocol.errors import ErrorCode, KafkaError
from odradek.protocol.messages.configs import IncrementalAlterConfigsRequest

from ...config.definition import server_keys, topic_keys
from ..image.image import ResourceType


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


def operations_of(resource: IncrementalAlterConfigsRequest.AlterConfigsResource) -> dict[str, ConfigOperation]:
    """Key -> its operation. Raises KafkaError for an unknown operation."""
    return {
        config.name: ConfigOperation(_operation_type(config.config_operation), config.value)
        for config in resource.configs
    }


def _operation_type(number: int) -> OperationType:
    if number not in list(OperationType):
        raise KafkaError(ErrorCode.INVALID_REQUEST, f"Unknown operations type {number}")
    return OperationType(number)


def is_list(kind: int, key: str) -> bool:
    """Whether the values of a key are lists, so that APPEND and SUBTRACT are possible."""
    table = {ResourceType.TOPIC: topic_keys, ResourceType.BROKER: server_keys}.get(ResourceType(kind))
    return table is not None and key in table() and table()[key].type == "LIST"


def new_value(kind: int, key: str, current: str | None, operation: ConfigOperation) -> str | None:
    """The value of a key after an operation; None if the key is not set then."""
    if operation.type is OperationType.SET:
        return operation.value
    if operation.type is OperationType.DELETE:
        return None
    if not is_list(kind, key):
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
