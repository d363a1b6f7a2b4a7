"""Builds the columns of records that come from the header of their batch, with the values that DumpLogSegments prints.

Pure. Built only on request, because they repeat for every record of a batch.
"""

from typing import Any

import numpy
import pyarrow as pa

from odradek.protocol.records.batch import MAX_SEQUENCE
from odradek.protocol.records.compression import COMPRESSION_NAMES

from .batch_table import BatchTable
from .spans import Int64s, Spans

BATCH_COLUMNS: dict[str, Any] = {
    "batchBaseOffset": pa.int64(),
    "batchPosition": pa.int64(),
    "partitionLeaderEpoch": pa.int32(),
    "producerId": pa.int64(),
    "producerEpoch": pa.int32(),
    "sequence": pa.int32(),
    "isTransactional": pa.bool_(),
    "isControl": pa.bool_(),
    "compression": pa.string(),
}
"""Column -> type. batchPosition: bytes from the start of the file. sequence: that of the record, -1 if its batch has
none. compression: the name of the codec."""

_HEADER_FIELDS = {
    "batchBaseOffset": "base_offset",
    "partitionLeaderEpoch": "partition_leader_epoch",
    "producerId": "producer_id",
    "producerEpoch": "producer_epoch",
}
_FLAGS = {"isTransactional": 0x10, "isControl": 0x20}


def batch_column(name: str, chunk: BatchTable, spans: Spans) -> Any:
    """One column of BATCH_COLUMNS, with a row per record."""
    kind = BATCH_COLUMNS[name]
    batches = spans.batches
    if name in _HEADER_FIELDS:
        return pa.array(chunk.column(_HEADER_FIELDS[name])[batches]).cast(kind)
    if name == "batchPosition":
        return pa.array(chunk.places[batches])
    if name == "sequence":
        return pa.array(_sequences(chunk, spans)).cast(kind)
    attributes = chunk.column("attributes")
    if name == "compression":
        codecs = pa.array((attributes & 7)[batches].astype(numpy.int8))
        return pa.DictionaryArray.from_arrays(codecs, pa.array(COMPRESSION_NAMES)).cast(kind)
    return pa.array(((attributes & _FLAGS[name]) != 0)[batches])


def _sequences(chunk: BatchTable, spans: Spans) -> Int64s:
    """Each record's sequence: base sequence plus offset delta, modulo 2^31 (DefaultRecordBatch.incrementSequence)."""
    base_sequences = chunk.column("base_sequence")[spans.batches]
    deltas = spans.offsets - chunk.column("base_offset")[spans.batches]
    sequences: Int64s = numpy.where(base_sequences < 0, -1, (base_sequences + deltas) & MAX_SEQUENCE)
    return sequences
