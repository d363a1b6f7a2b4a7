"""Batches whose header and CRC are right, whatever their records are."""

from odradek.protocol.records.builder import assemble_batch
from odradek.protocol.records.compression import CompressionType


def lying_batch(
    section: bytes, count: int, kind: CompressionType = CompressionType.NONE, *, timestamp_ms: int = 1
) -> bytes:
    """A batch that claims ``count`` records of one timestamp; ``section``: its bytes after the header, as they are."""
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
