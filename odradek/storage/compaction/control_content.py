"""Collects the facts about the records of a control batch that retention needs, with one record in memory at a time.

Pure. Brokers write one marker to a batch, but a log may hold a batch of a few kilobytes with millions of records.
Source: protocol/records/control.py.
"""

from typing import NamedTuple

from .batch_chunk import BatchChunk
from .batch_records import records_in


class ControlContent(NamedTuple):
    """The key of the first record (None without one), the number of records, whether one of them has no value."""

    first_key: bytes | None
    records: int
    has_tombstone: bool


def control_content(chunk: BatchChunk, index: int) -> ControlContent:
    """Reads all records of a control batch. Raises InvalidRecordError with its place if one can't be decoded."""
    first_key = None
    has_tombstone = False
    count = 0
    for record in records_in(chunk, index):
        if not count:
            first_key = record.key
        has_tombstone = has_tombstone or record.value is None
        count += 1
    return ControlContent(first_key, count, has_tombstone)
