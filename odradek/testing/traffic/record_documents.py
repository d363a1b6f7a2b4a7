"""Record batches as JSON that a person can read, and back. Pure.

A batch is an object with its records; fields with an empty value (no producer id, no compression) are left out. Bytes
stay base64 if they are not whole batches of the current format, or if the object would not give the same batch again.
Source: ours; the names are those of ``kafka-dump-log.sh``.
"""

import base64
from typing import Any

from odradek.protocol.errors import KafkaError, ProtocolError
from odradek.protocol.records.batch import (
    NO_PARTITION_LEADER_EPOCH,
    NO_PRODUCER_EPOCH,
    NO_PRODUCER_ID,
    NO_SEQUENCE,
    BatchHeader,
    check_crc,
    read_header,
)
from odradek.protocol.records.builder import BatchBuilder
from odradek.protocol.records.compression import CompressionType, compression_name
from odradek.protocol.records.record import Record, decode_records

from ..text_or_base64 import bytes_as, bytes_from

Json = Any

RAW = "base64"
"""The only key of an object for bytes that can't be shown as a batch."""


def batches_as(data: bytes) -> list[Json]:
    """The batches in the bytes of a ``records`` field, as objects. Bytes that can't be decoded become one ``base64``
    object.
    """
    found: list[Json] = []
    position = 0
    while position < len(data):
        try:
            header = read_header(data, position)
            end = position + header.size_in_bytes
            if end > len(data):
                break
            check_crc(data, position, header)
            found.append(_batch_as(data[position:end], header))
        except KafkaError:
            break
        position = end
    if position < len(data):
        found.append(_raw(data[position:]))
    return found


def batches_from(shown: Json) -> bytes:
    """Reverses :func:`batches_as`. Batches are compressed again, so their bytes may differ. Raises ProtocolError."""
    if not isinstance(shown, list):
        raise ProtocolError("this must be a list of batches", "records")
    return b"".join(_batch_from(batch) for batch in shown)


def _batch_as(batch: bytes, header: BatchHeader) -> Json:
    """A batch as an object; as base64 if the object would not give the same batch. Raises KafkaError if damaged."""
    records = decode_records(batch, header)
    shown: dict[str, Json] = {"baseOffset": header.base_offset}
    if header.partition_leader_epoch != NO_PARTITION_LEADER_EPOCH:
        shown["partitionLeaderEpoch"] = header.partition_leader_epoch
    if header.is_compressed:
        shown["compression"] = compression_name(header.compression_type)
    if header.producer_id != NO_PRODUCER_ID:
        shown |= {
            "producerId": header.producer_id,
            "producerEpoch": header.producer_epoch,
            "baseSequence": header.base_sequence,
        }
    if header.is_transactional:
        shown["isTransactional"] = True
    if header.is_control:
        shown["isControl"] = True
    if header.is_log_append_time:
        shown["logAppendTimeMs"] = header.max_timestamp
    if header.delete_horizon_ms is not None:
        shown["deleteHorizonMs"] = header.delete_horizon_ms
    if records and records[-1].offset != header.last_offset:
        shown["lastOffset"] = header.last_offset
    shown["records"] = [_record_as(record) for record in records]
    return shown if _comes_back(shown, header, records) else _raw(batch)


def _comes_back(shown: Json, header: BatchHeader, records: list[Record]) -> bool:
    """Whether the object, encoded again, gives the same header and records, apart from the compressed bytes."""
    try:
        again = _batch_from(shown)
        found = read_header(again) if again else None
    except (KafkaError, ProtocolError):
        return False
    if found is None or decode_records(again, found) != records:
        return False
    # With LogAppendTime the base timestamp has no meaning.
    other = {"crc": 0, "batch_length": 0} | ({"base_timestamp": 0} if header.is_log_append_time else {})
    return found._replace(**other) == header._replace(**other)


def _batch_from(shown: Json) -> bytes:
    if not isinstance(shown, dict):
        raise ProtocolError("a batch must be an object", "records")
    try:
        if RAW in shown:
            return base64.b64decode(shown[RAW], validate=True)
        builder = BatchBuilder(
            compression=CompressionType[shown.get("compression", "none").upper()],
            base_offset=shown["baseOffset"],
            partition_leader_epoch=shown.get("partitionLeaderEpoch", NO_PARTITION_LEADER_EPOCH),
            producer_id=shown.get("producerId", NO_PRODUCER_ID),
            producer_epoch=shown.get("producerEpoch", NO_PRODUCER_EPOCH),
            base_sequence=shown.get("baseSequence", NO_SEQUENCE),
            is_transactional=shown.get("isTransactional", False),
            is_control=shown.get("isControl", False),
            log_append_time_ms=shown.get("logAppendTimeMs"),
            delete_horizon_ms=shown.get("deleteHorizonMs"),
        )
        for record in shown["records"]:
            headers = [(header["name"], bytes_from(header, "value")) for header in record.get("headers", ())]
            builder.append(
                record["timestamp"], bytes_from(record, "key"), bytes_from(record, "value"), headers, record["offset"]
            )
        return builder.build(shown.get("lastOffset"))
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise ProtocolError(f"this is not a batch ({error!r:.200})", "records") from None


def _record_as(record: Record) -> dict[str, Json]:
    shown = {
        "offset": record.offset,
        "timestamp": record.timestamp,
        **bytes_as("key", record.key),
        **bytes_as("value", record.value),
    }
    if record.headers:
        shown["headers"] = [{"name": name, **bytes_as("value", value)} for name, value in record.headers]
    return shown


def _raw(data: bytes) -> dict[str, Json]:
    return {RAW: base64.b64encode(data).decode()}
