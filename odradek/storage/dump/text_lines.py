"""Events as the lines that Kafka's DumpLogSegments prints.

Pure. Modules for messages are imported on first use. Invariant: for an undamaged log, index or snapshot the lines equal
those of Kafka 4.4.0's tool byte for byte (a test compares them).
"""

import re
from collections.abc import Callable

from odradek.protocol.common.lazy_imports import lazy_imports
from odradek.protocol.records.batch import BatchHeader, increment_sequence
from odradek.protocol.records.compression import compression_name
from odradek.protocol.records.control import ControlRecordType
from odradek.protocol.records.record import Record

from .decoders import Decoded, Tombstone, Typed
from .events import BatchLine, ByteRows, Control, EntryLine, Event, FileStart, RecordLine, Remark

with lazy_imports:
    from odradek.protocol.apis import table
    from odradek.protocol.show import message_documents, show

    from . import embedded

_ENCODED_SURROGATE = re.compile(rb"\xed[\xa0-\xbf][\x80-\xbf]?")
_REPLACEMENT = "\ufffd".encode()
_CONTROL_LABELS = {
    ControlRecordType.LEADER_CHANGE: "LeaderChange:",
    ControlRecordType.SNAPSHOT_HEADER: "SnapshotHeader",
    ControlRecordType.SNAPSHOT_FOOTER: "SnapshotFooter",
    ControlRecordType.KRAFT_VERSION: "KRaftVersion",
    ControlRecordType.KRAFT_VOTERS: "KRaftVoters",
}

MessageText = Callable[[Typed, bool], str]
"""(message, whether it is the record's key) -> its text."""


def lines(event: Event, *, skip_record_metadata: bool, message_text: MessageText) -> list[str]:
    """The lines of an event; none for a finding, which Kafka prints at the end."""
    match event:
        case FileStart():
            return [f"Dumping {event.path}", *([event.heading] if event.heading else [])]
        case BatchLine():
            return [batch_line(event)]
        case RecordLine():
            return [record_line(event, skip_record_metadata=skip_record_metadata, message_text=message_text)]
        case EntryLine() | Remark():
            return [event.text]
        case ByteRows():
            return byte_lines(event)
    return []


def byte_lines(event: ByteRows) -> list[str]:
    """A table of the fields with their positions, as in ``odradek protocol show --bytes``."""
    heading, *rows = show.field_lines(event.notes, event.data, event.at)
    return [f"  {heading}{f' ({event.where})' if event.where else ''}", *(f"  {row}" for row in rows)]


def batch_line(event: BatchLine) -> str:
    """One batch; a message of format 0 or 1 has fewer fields."""
    header = event.header
    place_and_time = f"position: {event.position} {timestamp_type(header)}: {header.max_timestamp}"
    format_and_crc = (
        f"size: {header.size_in_bytes} magic: {header.magic} compresscodec: {codec_name(header)} crc: {header.crc}"
        f" isvalid: {_java(event.is_valid)}"
    )
    if header.is_legacy:
        return f"offset: {header.last_offset} {place_and_time} {format_and_crc}"
    horizon = "OptionalLong.empty" if header.delete_horizon_ms is None else f"OptionalLong[{header.delete_horizon_ms}]"
    return (
        f"baseOffset: {header.base_offset} lastOffset: {header.last_offset} count: {header.records_count}"
        f" baseSequence: {header.base_sequence} lastSequence: {header.last_sequence} producerId: {header.producer_id}"
        f" producerEpoch: {header.producer_epoch} partitionLeaderEpoch: {header.partition_leader_epoch}"
        f" isTransactional: {_java(header.is_transactional)} isControl: {_java(header.is_control)}"
        f" deleteHorizonMs: {horizon} {place_and_time} {format_and_crc}"
    )


def record_line(event: RecordLine, *, skip_record_metadata: bool, message_text: MessageText) -> str:
    """One record: metadata unless skipped, the content of a control record, decoded key and value."""
    text = ""
    content_prefix = "| "
    if not skip_record_metadata:
        text = metadata_text(event.batch, event.record, event.checksum)
        content_prefix = " "
        if event.control is not None:
            text += control_text(event.control)
    if event.decoded is not None:
        text += content_text(event.decoded, content_prefix, message_text)
    return text


def metadata_text(batch: BatchHeader, record: Record, checksum: tuple[int, bool] | None) -> str:
    """Offset, time, sizes; then the CRC of a message, or sequence and keys of the headers of a record."""
    text = (
        f"| offset: {record.offset} {timestamp_type(batch)}: {record.timestamp} keySize: {size_of(record.key)}"
        f" valueSize: {size_of(record.value)}"
    )
    if checksum is not None:
        return f"{text} isValid: {_java(checksum[1])} crc: {checksum[0]}"
    keys = ",".join(key for key, _ in record.headers)
    return f"{text} sequence: {sequence_of(batch, record)} headerKeys: [{keys}]"


def control_text(control: Control) -> str:
    """The content of a control record."""
    if control.coordinator_epoch is not None:
        return f" endTxnMarker: {control.type.name} coordinatorEpoch: {control.coordinator_epoch}"
    if control.message is None:
        return f" controlType: {control.type.name}({control.type_id})"
    message = control.message
    document = message_documents.document(message.message, message.version)
    return f" {_CONTROL_LABELS[control.type]} {message_documents.kafka_json(document)}"


def content_text(decoded: Decoded, prefix: str, message_text: MessageText) -> str:
    """Key and value, or why they can't be shown."""
    if decoded.fault is not None:
        label = "payload" if decoded.fault_is_of_value else "key"
        return f"{prefix}{label}: {decoded.fault}"
    text = ""
    if decoded.key is not None:
        text = f"{prefix}key: {_part(decoded.key, True, message_text)}"
        prefix = " "
    if decoded.value is not None:
        text += f"{prefix}payload: {_part(decoded.value, False, message_text)}"
    return text


def _part(part: Typed | Tombstone | bytes | int, is_key: bool, message_text: MessageText) -> str:
    if isinstance(part, bytes):
        return java_text(part)
    if isinstance(part, int):
        return str(part)
    if isinstance(part, Tombstone):
        return "<DELETE>"
    return message_text(part, is_key)


def coordinator_text(typed: Typed, is_key: bool) -> str:
    """A key or value of a coordinator's topic: type or version as text, and the fields."""
    label = {"type": str(typed.type)} if is_key else {"version": str(typed.version)}
    return message_documents.kafka_json({**label, "data": embedded.data_document(typed, deeper=False)})


def metadata_message_text(typed: Typed, is_key: bool) -> str:
    """A metadata record: its type by name, its version as a number, and the fields."""
    fields = embedded.data_document(typed, deeper=False)
    return message_documents.kafka_json({"type": record_type_name(typed), "version": typed.version, "data": fields})


def record_type_name(typed: Typed) -> str:
    """Kafka's MetadataRecordType: TopicRecord is TOPIC_RECORD."""
    return table.snake_case(typed.message.NAME).upper()


def java_text(data: bytes) -> str:
    """Bytes as text, as Java's String decodes them: one U+FFFD for each malformed part or encoded surrogate."""
    return _ENCODED_SURROGATE.sub(_REPLACEMENT, data).decode("utf-8", "replace")


def sequence_of(batch: BatchHeader, record: Record) -> int:
    """The record's sequence number, -1 without one."""
    if batch.base_sequence < 0:
        return -1
    return increment_sequence(batch.base_sequence, record.offset - batch.base_offset)


def size_of(data: bytes | None) -> int:
    """The length, -1 for null."""
    return -1 if data is None else len(data)


def timestamp_type(header: BatchHeader) -> str:
    """Kafka's TimestampType."""
    if header.magic == 0:
        return "NoTimestampType"
    return "LogAppendTime" if header.is_log_append_time else "CreateTime"


def codec_name(header: BatchHeader) -> str:
    """Kafka's CompressionType."""
    return compression_name(header.attributes & 0x07)


def _java(value: bool) -> str:
    return "true" if value else "false"
