"""The table `indexes`: the entries of every offset, time and transaction index, as they are in the files.

Offsets are absolute. Preallocated zeros after the last entry are left out. Entries are not checked against the log; the
audit does that. Source: Kafka's OffsetIndex, TimeIndex, TransactionIndex.
"""

from collections.abc import Iterator
from pathlib import Path
from struct import Struct
from typing import Any

import pyarrow as pa

from odradek.storage.files.file_names import (
    OFFSET_INDEX_SUFFIX,
    TIME_INDEX_SUFFIX,
    TRANSACTION_INDEX_SUFFIX,
)
from odradek.storage.segment.time_index import ENTRY as TIME_ENTRY
from odradek.storage.segment.transaction_index import CURRENT_VERSION
from odradek.storage.segment.transaction_index import ENTRY as TRANSACTION_ENTRY

from ..directories.file_access import is_gone, is_unreadable, read_file, unreadable_text
from .columns import TIMESTAMP, corrupt_row, microseconds, record_batches, schema_of
from .task import TableTask, unlisted_row

SCHEMA = schema_of(
    directory=pa.string(),
    topic=pa.string(),
    partition=pa.int32(),
    file=pa.string(),
    kind=pa.string(),
    position=pa.int64(),
    offset=pa.int64(),
    logPosition=pa.int64(),
    timestamp=TIMESTAMP,
    producerId=pa.int64(),
    firstOffset=pa.int64(),
    lastOffset=pa.int64(),
    lastStableOffset=pa.int64(),
)
"""`kind`: offset, time or transaction. `position`: that of the entry in its own file. Entries of an offset index have
`offset` and `logPosition`, those of a time index `offset` and `timestamp`, those of a transaction index the rest."""

OFFSET_ENTRY = Struct(">ii")
_KINDS = (
    ("offset", OFFSET_INDEX_SUFFIX, OFFSET_ENTRY),
    ("time", TIME_INDEX_SUFFIX, TIME_ENTRY),
    ("transaction", TRANSACTION_INDEX_SUFFIX, TRANSACTION_ENTRY),
)


def read(task: TableTask) -> Iterator[Any]:
    """Yields the rows of the indexes of a partition's segments. Raises OSError."""
    yield from record_batches(SCHEMA, _rows(task))


def _rows(task: TableTask) -> Iterator[tuple[Any, ...]]:
    assert task.partition is not None
    if task.partition.fault:
        yield unlisted_row(SCHEMA, task)
    for segment in task.partition.segments:
        for kind, suffix, entry in _KINDS:
            path = segment.beside(suffix)
            place = (str(task.directory), task.partition.topic, task.partition.partition, str(path), kind)
            yield from _file_rows(path, entry, segment.base_offset, place)


def _file_rows(path: Path, entry: Struct, base_offset: int, place: tuple[Any, ...]) -> Iterator[tuple[Any, ...]]:
    """Yields a row for each entry of an index; one row with the fault if it can't be read, none if it is gone."""
    try:
        data = read_file(path)
    except OSError as error:
        if is_gone(error):
            return  # few segments have a transaction index; a running broker deletes files
        if not is_unreadable(error, path):
            raise
        known = dict(zip(SCHEMA.names, place, strict=False))
        yield corrupt_row(SCHEMA, unreadable_text(path, error), **known)
        return
    yield from _entries(data, entry, base_offset, place)


def _entries(data: bytes, entry: Struct, base_offset: int, place: tuple[Any, ...]) -> Iterator[tuple[Any, ...]]:
    path = place[3]
    is_preallocated = entry is not TRANSACTION_ENTRY
    used = data.rstrip(b"\0") if is_preallocated else data
    count = -(-len(used) // entry.size)
    for number in range(min(count, len(data) // entry.size)):
        fields = entry.unpack_from(data, number * entry.size)
        yield (*place, number * entry.size, *_columns(entry, fields, base_offset, path, number))
    odd = len(data) % entry.size
    if odd:
        known = dict(zip(SCHEMA.names, (*place, len(data) - odd), strict=False))
        yield corrupt_row(SCHEMA, f"{path}: the size of {len(data)} bytes is not a multiple of {entry.size}", **known)


def _columns(entry: Struct, fields: tuple[int, ...], base: int, path: str, number: int) -> tuple[Any, ...]:
    """The values of the columns after `position`."""
    if entry is OFFSET_ENTRY:
        return base + fields[0], fields[1], *(None,) * 6
    if entry is TIME_ENTRY:
        return base + fields[1], None, microseconds(fields[0]), *(None,) * 5
    version, *numbers = fields
    fault = None if version == CURRENT_VERSION else f"{path}: entry {number} has version {version}"
    return None, None, None, *numbers, fault
