"""Batches with a valid header and CRC, but with any bytes as records."""

from odradek.protocol.records.builder import assemble_batch
from odradek.protocol.records.compression import CompressionType


def lying_batch(
    section: bytes, count: int, kind: CompressionType = CompressionType.NONE, *, timestamp_ms: int = 1
) -> bytes:
    """A batch whose header says ``count`` records of one timestamp. ``section``: the bytes after the header, unchanged."""
    return assemble_batch(
        section,
        records_count=count,
        attributes=kind,
        base_offset=0,
        last_offset=count - 1,
        base_timestamp=timestamp_ms,
        max_timestamp=timestamp_ms,
        partition_leader_epoch=-1,
        producer_id=-1,
        producer_epoch=-1,
        base_sequence=-1,
    )
