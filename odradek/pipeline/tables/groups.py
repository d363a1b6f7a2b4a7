"""The table `groups`: every record of ``__consumer_offsets`` about a group or a member, oldest first.

It has classic groups, consumer groups (KIP-848), share groups (KIP-932) and streams groups (KIP-1071). `kind` is
Kafka's name of the record type; null for an unknown type. `key` and `value` are JSON as printed by Kafka's own tool,
with subscriptions and assignments decoded.
"""

from collections.abc import Iterator
from typing import Any

import pyarrow as pa

from odradek.protocol.messages.group_records import (
    ConsumerGroupMemberMetadataValue,
    GroupMetadataValue,
    ShareGroupMemberMetadataValue,
    StreamsGroupMemberMetadataValue,
)
from odradek.protocol.show.message_documents import kafka_json
from odradek.storage.dump.decoders import Typed
from odradek.storage.dump.embedded import data_document

from .columns import TIMESTAMP, corrupt_row, microseconds, record_batches, schema_of
from .group_messages import GroupMessage, group_message, has_offset_commit_key, kind_of
from .log_reading import LogRecord, data_batches, record_rows
from .task import TableTask

MEMBERS_TYPE = pa.list_(
    pa.field(
        "element",
        pa.struct(
            [
                pa.field("memberId", pa.string()),
                pa.field("instanceId", pa.string()),
                pa.field("clientId", pa.string()),
                pa.field("clientHost", pa.string()),
            ]
        ),
    )
)

SCHEMA = schema_of(
    directory=pa.string(),
    offsetsPartition=pa.int32(),
    file=pa.string(),
    position=pa.int64(),
    offset=pa.int64(),
    timestamp=TIMESTAMP,
    recordType=pa.int32(),
    kind=pa.string(),
    groupType=pa.string(),
    group=pa.string(),
    memberId=pa.string(),
    isTombstone=pa.bool_(),
    valueVersion=pa.int32(),
    protocolType=pa.string(),
    protocol=pa.string(),
    leader=pa.string(),
    epoch=pa.int32(),
    stateTimestamp=TIMESTAMP,
    members=MEMBERS_TYPE,
    key=pa.string(),
    value=pa.string(),
)
"""`epoch`: the generation of a classic group, otherwise the first epoch field of the value. `members`: those of a
classic group, or the member of a record such as ConsumerGroupMemberMetadata."""


def read(task: TableTask) -> Iterator[Any]:
    """Yields the rows of one partition of the offsets topic. Raises OSError."""
    yield from record_batches(SCHEMA, record_rows(task, SCHEMA, "offsetsPartition", data_batches, _row))


def _row(record: LogRecord, place: dict[str, Any]) -> tuple[Any, ...] | None:
    if has_offset_commit_key(record.key):
        return None
    message = group_message(record.plain)
    known = place | {"timestamp": microseconds(record.timestamp), "recordType": message.record_type}
    known["isTombstone"] = record.value is None
    if message.key is not None:
        name = message.key.NAME.removesuffix("Key")
        known |= {
            "kind": name,
            "groupType": str(kind_of(name)),
            "group": message.group,
            "memberId": getattr(message.key, "member_id", None),
            "key": _json(message.key, 0),
        }
    if record.value is not None:
        known["valueVersion"] = message.value_version
    if message.fault is not None and not (message.is_unknown and message.key is None):
        text = f"{record.file}: the record at offset {record.offset}: {message.fault}"
        return corrupt_row(SCHEMA, text, **known)
    if message.value is not None:
        known |= _facts(message)
    return tuple(known.get(column) for column in SCHEMA.names)


def _json(message: Any, version: int) -> str:
    return kafka_json(data_document(Typed(message, message.API_KEY, version), deeper=True))


def _facts(message: GroupMessage) -> dict[str, Any]:
    value = message.value
    facts: dict[str, Any] = {"value": _json(value, message.value_version)}
    match value:
        case GroupMetadataValue():
            members = [(m.member_id, m.group_instance_id, m.client_id, m.client_host) for m in value.members]
            facts |= {
                "protocolType": value.protocol_type,
                "protocol": value.protocol,
                "leader": value.leader,
                "epoch": value.generation,
                "stateTimestamp": microseconds(value.current_state_timestamp),
            }
        case ConsumerGroupMemberMetadataValue() | StreamsGroupMemberMetadataValue():
            members = [(message.key.member_id, value.instance_id, value.client_id, value.client_host)]
        case ShareGroupMemberMetadataValue():
            members = [(message.key.member_id, None, value.client_id, value.client_host)]
        case _:
            members = []
            epochs = [name for name in type(value).__slots__ if name.endswith("epoch")]
            facts["epoch"] = getattr(value, epochs[0]) if epochs else None
    names = [MEMBERS_TYPE.value_type.field(index).name for index in range(MEMBERS_TYPE.value_type.num_fields)]
    facts["members"] = [dict(zip(names, member, strict=True)) for member in members] or None
    return facts
