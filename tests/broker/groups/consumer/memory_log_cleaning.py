"""Cleans a log in memory as the log cleaner does."""

from odradek.protocol.records.builder import BatchBuilder
from odradek.protocol.records.record import iterate_records
from support.groups.harness import START_MS, MemoryLog


def clean(log: MemoryLog) -> None:
    """Keeps the last record of each key, without tombstones. Otherwise long runs would spend their time loading."""
    end = log.next_offset
    last = {record.key: record for batch in log.batches for record in iterate_records(batch)}
    log.batches.clear()
    for record in sorted(last.values(), key=lambda record: record.offset):
        if record.value is not None:
            log.next_offset = record.offset
            builder = BatchBuilder()
            builder.append(START_MS, record.key, record.value)
            log.append(builder.build(), START_MS)
    log.next_offset = end
