"""The record batches that hold the records of one decision.

Owns: how records become batches. Never does: appending. Pure. Source: ``CoordinatorRuntime``, its append and
scheduleNonAtomicWriteOperation.
"""

from collections.abc import Iterator, Sequence
from typing import Any

from odradek.protocol.records.builder import BatchBuilder
from odradek.protocol.records.compression import CompressionType

from .effects import Effects, OpenTransaction, StorableRecord

NON_ATOMIC_BATCH_RECORDS = 1_000
"""The most records in one batch if effects are not atomic. They are tombstones with keys of about 600 bytes at most, so
a batch stays below 1 MiB (``max.message.bytes``)."""


def portions(effects: Effects[Any]) -> Iterator[list[Any]]:
    """The records of each batch: all of them if they are atomic, else at most NON_ATOMIC_BATCH_RECORDS."""
    size = len(effects.records) if effects.atomic else NON_ATOMIC_BATCH_RECORDS
    for start in range(0, len(effects.records), size or 1):
        yield effects.records[start : start + size]


def batch_of(
    records: Sequence[StorableRecord], transaction: OpenTransaction | None, now_ms: int, compression: CompressionType
) -> bytes:
    """One batch with these records, each with the timestamp ``now_ms``."""
    if transaction is None:
        builder = BatchBuilder(compression=compression)
    else:
        # The sequence is always 0 (CoordinatorRuntime): the log does not check a coordinator's sequence.
        builder = BatchBuilder(
            compression=compression,
            producer_id=transaction.producer_id,
            producer_epoch=transaction.producer_epoch,
            base_sequence=0,
            is_transactional=True,
        )
    for record in records:
        builder.append(now_ms, record.key_bytes(), record.value_bytes())
    return builder.build()
