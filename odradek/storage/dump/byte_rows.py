"""Assigns the bytes of a file to fields: of batches, records and their messages, and entries of indexes and snapshots.

Pure; imported only for ``--bytes``. Invariant: the position of a row is that of its bytes, in the file or (for
compressed records) in the decompressed data. Source: the structures of `protocol.reference.disk` and the message table.
"""

from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from odradek.protocol.apis.table import message
from odradek.protocol.internal_records.coordinator_serde import PREFIX_BYTES
from odradek.protocol.internal_records.metadata_serde import frame_of
from odradek.protocol.records.batch import BATCH_HEADER_SIZE, MAGIC, MAGIC_POSITION, BatchHeader
from odradek.protocol.records.compression import DEFAULT_MAX_DECOMPRESSED_SIZE
from odradek.protocol.records.legacy import unwrapped
from odradek.protocol.records.record import Record, records_section
from odradek.protocol.reference import disk
from odradek.protocol.reference.dissect import dissect
from odradek.protocol.reference.trace import Note, Trace
from odradek.protocol.reference.wire import parse_at

from .decoders import Decoded, Typed
from .events import ByteRows

if TYPE_CHECKING:
    from construct import Struct


def header_rows(position: int, data: bytes) -> ByteRows:
    """The header of a batch that begins at ``position`` of its file; all fields of a message of format 0 or 1."""
    if data[MAGIC_POSITION] < MAGIC:
        return ByteRows(_notes(disk.MESSAGES[data[MAGIC_POSITION]], data, 0)[0], data, position, "")
    notes, _ = _notes(disk.RECORD_BATCH_HEADER, data[:BATCH_HEADER_SIZE], 0)
    return ByteRows(notes, data, position, "")


class RecordByteRows:
    """The records of one batch, one after the other."""

    def __init__(self, position: int, header: BatchHeader, data: bytes) -> None:
        """`data` is the whole batch or wrapper. Raises KafkaError for records that can't be decompressed."""
        self._magic = header.magic
        if header.is_wrapper:
            self._data = unwrapped(data, header)
        else:
            self._data = records_section(data, header, 0, DEFAULT_MAX_DECOMPRESSED_SIZE)
        compressed = bool(header.attributes & 0x07)
        self._where = "decompressed" if compressed else ""
        self._at = 0 if compressed else position + BATCH_HEADER_SIZE
        self._next = 0

    def next(self, record: Record, decoded: Decoded | None) -> ByteRows:
        """The fields of the next record, and those of the message that its key or value holds."""
        structure = disk.RECORD
        if self._magic < MAGIC:
            structure = disk.MESSAGES[self._data[self._next + MAGIC_POSITION]]
        notes, self._next = _notes(structure, self._data, self._next)
        rows: list[Note] = []
        for note in notes:
            rows.append(note)
            if decoded is not None and note.depth == 0 and note.path in ("key", "value"):
                part = decoded.key if note.path == "key" else decoded.value
                data = record.key if note.path == "key" else record.value
                if isinstance(part, Typed) and data is not None:
                    assert note.end is not None
                    rows += _message_notes(part, data, note.end - len(data))
        return ByteRows(rows, self._data, self._at, self._where)


def _message_notes(typed: Typed, data: bytes, start: int) -> Iterator[Note]:
    """The fields of a message whose bytes, with its prefix, begin at ``start``."""
    in_coordinator_topic = typed.message.NAME.endswith(("Key", "Value"))
    prefix = PREFIX_BYTES if in_coordinator_topic else frame_of(data).message_position
    found = dissect(message(typed.message.NAME), typed.version, data[prefix:])
    for note in found.notes:
        end = None if note.end is None else note.end + start + prefix
        shift = start + prefix
        yield replace(note, depth=note.depth + 1, start=note.start + shift, content=note.content + shift, end=end)


def entry_rows(structure: "Struct", data: bytes, position: int) -> ByteRows:
    """One entry of an index, at ``position`` of its file."""
    entry = data[position : position + structure.sizeof()]
    return ByteRows(_notes(structure, entry, 0)[0], entry, position, "")


def snapshot_rows(data: bytes) -> ByteRows:
    """A whole, undamaged producer snapshot."""
    return ByteRows(_notes(disk.PRODUCER_SNAPSHOT, data, 0)[0], data, 0, "")


def _notes(structure: Any, data: bytes, position: int) -> tuple[list[Note], int]:
    trace = Trace()
    _, end = parse_at(structure, data, position, trace)
    return trace.notes, end
