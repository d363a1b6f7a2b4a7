"""Events as JSON: one document for each line, with all data of the file and with findings at their places.

Owns: standard output, in the printer. Messages inside records are fully decoded, with embedded subscriptions and
assignments, which Kafka's tool shows only in part. Bytes that are not UTF-8 are ``{"base64": "..."}``, as in the other
commands.
"""

import base64
import json
from pathlib import Path
from typing import Any

from odradek.protocol.common.lazy_imports import lazy_imports

from .decoders import Tombstone, Typed
from .embedded import data_document
from .events import BatchLine, ByteRows, DumpFinding, EntryLine, Event, FileStart, RecordLine, Remark
from .printer import LineWriter
from .text_lines import codec_name, sequence_of, size_of, timestamp_type

with lazy_imports:
    from odradek.protocol.show import show


def json_document(event: Event, path: Path, *, skip_record_metadata: bool) -> dict[str, Any]:
    """The document of an event in a file's dump."""
    file = {"file": str(path)}
    match event:
        case FileStart():
            return {"type": "file", **file, "kind": event.kind, **event.facts}
        case BatchLine():
            return {"type": "batch", **file, **_batch(event)}
        case RecordLine():
            return {"type": "record", **file, **_record(event, skip_record_metadata=skip_record_metadata)}
        case EntryLine():
            return {"type": "entry", **file, **event.fields}
        case ByteRows():
            return {"type": "bytes", **file, "where": event.where or "file", "fields": _fields(event)}
        case Remark():
            return {"type": "remark", **file, "text": event.text}
        case DumpFinding():
            found = {"position": event.position, "corrupt": event.is_corrupt, "what": event.what}
            return {"type": "finding", **file, **found}


def _batch(event: BatchLine) -> dict[str, Any]:
    header = event.header
    return {
        "baseOffset": header.base_offset,
        "lastOffset": header.last_offset,
        "count": None if header.is_wrapper else header.records_count,
        "baseSequence": header.base_sequence,
        "lastSequence": header.last_sequence,
        "producerId": header.producer_id,
        "producerEpoch": header.producer_epoch,
        "partitionLeaderEpoch": header.partition_leader_epoch,
        "isTransactional": header.is_transactional,
        "isControl": header.is_control,
        "deleteHorizonMs": header.delete_horizon_ms,
        "position": event.position,
        "timestampType": timestamp_type(header),
        "baseTimestamp": header.base_timestamp,
        "maxTimestamp": header.max_timestamp,
        "size": header.size_in_bytes,
        "magic": header.magic,
        "compression": codec_name(header),
        "crc": header.crc,
        "isValid": event.is_valid,
    }


def _record(event: RecordLine, *, skip_record_metadata: bool) -> dict[str, Any]:
    record = event.record
    found: dict[str, Any] = {"offset": record.offset}
    if not skip_record_metadata:
        found |= {
            "timestampType": timestamp_type(event.batch),
            "timestamp": record.timestamp,
            "keySize": size_of(record.key),
            "valueSize": size_of(record.value),
            "sequence": sequence_of(event.batch, record),
            "headers": [{"key": key, "value": _bytes(value)} for key, value in record.headers],
        }
        if event.control is not None:
            control = event.control
            found["control"] = {"type": control.type.name, "typeId": control.type_id}
            if control.coordinator_epoch is not None:
                found["control"]["coordinatorEpoch"] = control.coordinator_epoch
            if control.message is not None:
                found["control"]["message"] = _message(control.message)
    if event.decoded is not None:
        if event.decoded.fault is not None:
            found["fault"] = event.decoded.fault
        else:
            found |= {"key": _part(event.decoded.key), "value": _part(event.decoded.value)}
    return found


def _fields(event: ByteRows) -> list[dict[str, Any]]:
    """Each field with its position. The size of a field that contains others is their total size."""
    secrets = show.secret_paths(event.notes)
    return [
        {
            "at": event.at + note.start,
            "size": None if note.end is None else note.end - note.start,
            "depth": note.depth,
            "field": note.path,
            "type": note.kind,
            "value": show.value_of(note, secrets),
        }
        for note in event.notes
    ]


def _part(part: Typed | Tombstone | bytes | int | None) -> Any:
    if isinstance(part, Typed):
        return _message(part)
    if isinstance(part, Tombstone):
        return None
    return part if isinstance(part, int) else _bytes(part)


def _message(typed: Typed) -> dict[str, Any]:
    data = data_document(typed, deeper=True)
    return {"name": typed.message.NAME, "type": typed.type, "version": typed.version, "data": data}


def _bytes(data: bytes | None) -> Any:
    if data is None:
        return None
    try:
        return data.decode()
    except UnicodeDecodeError:
        return {"base64": base64.b64encode(data).decode()}


class JsonPrinter:
    """Prints a JSON document a line."""

    def __init__(self, *, skip_record_metadata: bool) -> None:
        self._out = LineWriter()
        self._skip_record_metadata = skip_record_metadata

    def print(self, event: Event, path: Path) -> DumpFinding | None:
        """Prints an event of a file's dump. Returns it if it is a finding."""
        found = json_document(event, path, skip_record_metadata=self._skip_record_metadata)
        self._out.write(json.dumps(found, ensure_ascii=False))
        return event if isinstance(event, DumpFinding) else None

    def flush(self) -> None:
        """Writes the buffered lines."""
        self._out.flush()

    def close(self) -> None:
        """Writes the buffered lines. The findings are among them."""
        self.flush()
