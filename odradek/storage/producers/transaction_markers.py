"""Reads a transaction marker from its batch. Pure. Source: Kafka's EndTransactionMarker."""

from odradek.protocol.records.batch import BatchHeader, Buffer
from odradek.protocol.records.control import (
    ControlRecordType,
    EndTransactionMarker,
    control_record_type,
    end_transaction_marker,
)
from odradek.protocol.records.record import iterate_records


def read_marker(batch: Buffer, header: BatchHeader) -> tuple[EndTransactionMarker, int] | None:
    """(marker, its timestamp) of a control batch; None for a batch without records or of another control type.

    Raises InvalidRecordError for malformed bytes.
    """
    for record in iterate_records(batch, header):
        if control_record_type(record.key) in (ControlRecordType.ABORT, ControlRecordType.COMMIT):
            return end_transaction_marker(record.key, record.value), record.timestamp
        return None
    return None
