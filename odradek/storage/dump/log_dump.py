"""Dumps a log file or a KRaft snapshot: its batches, records and damage as events.

Owns: the order of a dump, the checks of a batch besides its CRC. Never does: printing. Invariant: a dump continues
after damage if the next batch can be found. Source: Kafka's DumpLogSegments.dumpLog, which ends at the first damage.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import repeat
from pathlib import Path
from typing import TYPE_CHECKING, Any

from odradek.protocol.common.lazy_imports import lazy_imports
from odradek.protocol.errors import KafkaError, ProtocolError
from odradek.protocol.messages import message_class
from odradek.protocol.records.batch import BatchHeader
from odradek.protocol.records.control import ControlRecordType, control_record_type, end_transaction_marker
from odradek.protocol.records.legacy import message_checksums
from odradek.protocol.records.record import Record, iterate_records

from ..files.file_names import base_offset_of
from .decoders import Decoder, Typed
from .events import BatchLine, Control, DumpFinding, Event, FileStart, RecordLine, Remark
from .segment_scan import Batch, DamagedBytes, LogFile

with lazy_imports:
    from odradek.protocol import codec

    from . import byte_rows

if TYPE_CHECKING:
    from .byte_rows import RecordByteRows

BOOTSTRAP_SNAPSHOT = "bootstrap.checkpoint"
UNLIMITED_BYTES = 0x7FFFFFFF
NON_CONSECUTIVE = "Non-consecutive offsets in {}"

_SNAPSHOT_NAME = re.compile(r"(\d{20})-(\d{10})\.checkpoint")
_CONTROL_MESSAGES = {
    ControlRecordType.LEADER_CHANGE: "LeaderChangeMessage",
    ControlRecordType.SNAPSHOT_HEADER: "SnapshotHeaderRecord",
    ControlRecordType.SNAPSHOT_FOOTER: "SnapshotFooterRecord",
    ControlRecordType.KRAFT_VERSION: "KRaftVersionRecord",
    ControlRecordType.KRAFT_VOTERS: "VotersRecord",
}


@dataclass(frozen=True, slots=True)
class LogOptions:
    """Options for the dump of a log."""

    deep_iteration: bool = False
    """Dump records, not only batches."""
    decoder: Decoder | None = None
    """The decoder of keys and values; None leaves them out."""
    max_bytes: int = UNLIMITED_BYTES
    """The maximum number of bytes to read from each file. A batch that this cuts off is not damaged."""
    shows_bytes: bool = False
    """Show the fields with their bytes after each batch and record."""


def log_start(path: Path) -> FileStart:
    """The first lines of a log's or snapshot's dump, from its name."""
    if path.name == BOOTSTRAP_SNAPSHOT:
        return FileStart(str(path), "snapshot", "KRaft bootstrap snapshot", {})
    if path.suffix == ".checkpoint":
        named = _SNAPSHOT_NAME.fullmatch(path.name)
        if named is None:
            return FileStart(str(path), "snapshot", "", {})
        end_offset, epoch = int(named[1]), int(named[2])
        heading = f"Snapshot end offset: {end_offset}, epoch: {epoch}"
        return FileStart(str(path), "snapshot", heading, {"endOffset": end_offset, "epoch": epoch})
    base_offset = base_offset_of(path.name)
    if base_offset is None:
        return FileStart(str(path), "log", "", {})
    return FileStart(str(path), "log", f"Log starting offset: {base_offset}", {"baseOffset": base_offset})


def dump_log(path: Path, options: LogOptions) -> Iterator[Event]:
    """The events of a log or snapshot file. Raises OSError."""
    start = log_start(path)
    yield start
    order = _Order(path, start.facts.get("baseOffset"))
    with LogFile(path) as log:
        valid_bytes = 0
        for found in log.batches(options.max_bytes):
            if isinstance(found, DamagedBytes):
                if found.is_cut and options.max_bytes < log.size:
                    return
                yield DumpFinding(path, found.position, found.expected, is_torn=found.is_torn)
                if found.ends_log:
                    break
            else:
                yield from _batch(path, found, options, order)
            valid_bytes = found.position + _size(found)
        trailing_bytes = log.size - valid_bytes
        if trailing_bytes > 0 and options.max_bytes == UNLIMITED_BYTES:
            yield Remark(f"Found {trailing_bytes} invalid bytes at the end of {path.name}")


def _size(found: Batch | DamagedBytes) -> int:
    return found.size if isinstance(found, DamagedBytes) else found.header.size_in_bytes


class _Order:
    """Offsets and leader epochs seen so far: offsets rise, epochs don't fall; neither is covered by a CRC."""

    def __init__(self, path: Path, base_offset: int | None) -> None:
        self._path = path
        self._next_offset = base_offset
        self._epoch = -1
        self._last_record: int | None = None

    def batch(self, position: int, header: BatchHeader) -> Iterator[DumpFinding]:
        """The problems of a batch's offset and epoch in relation to the batches before."""
        if self._next_offset is not None and header.base_offset < self._next_offset:
            what = f"the batch begins at offset {header.base_offset}, expected {self._next_offset} or higher"
            yield DumpFinding(self._path, position, what)
        if not header.is_legacy:
            if header.partition_leader_epoch < self._epoch:
                what = f"leader epoch {header.partition_leader_epoch} follows {self._epoch}"
                yield DumpFinding(self._path, position, what)
            self._epoch = header.partition_leader_epoch
        self._next_offset = header.next_offset

    def record(self, offset: int) -> Iterator[DumpFinding]:
        """The gap before a record, if any. Compaction leaves gaps, so it is not damage."""
        last = self._last_record
        self._last_record = offset
        if last is not None and offset != last + 1:
            what = f"offset {last} is followed by {offset}"
            heading = NON_CONSECUTIVE.format(self._path.absolute())
            yield DumpFinding(self._path, None, what, offset <= last, (heading, f"  {last} is followed by {offset}"))


def _batch(path: Path, batch: Batch, options: LogOptions, order: _Order) -> Iterator[Event]:
    position, header, data = batch
    computed = batch.computed_crc
    yield BatchLine(position, header, computed == header.crc)
    if options.shows_bytes:
        yield byte_rows.header_rows(position, data)
    yield from order.batch(position, header)
    offsets = f"batch with offsets {header.base_offset} to {header.last_offset}"
    if computed != header.crc:
        yield DumpFinding(path, position, f"{offsets}: its bytes have CRC {computed}, its header says {header.crc}")
    if not options.deep_iteration:
        return
    rows: RecordByteRows | None = None
    try:
        checksums = message_checksums(data, header) if header.is_legacy else repeat(None)
        for record, checksum in zip(iterate_records(data, header), checksums, strict=False):
            yield from order.record(record.offset)
            if checksum is not None and not checksum[1]:
                what = f"the message at offset {record.offset} has a wrong CRC, {checksum[0]}"
                yield DumpFinding(path, position, what)
            yield from _record(path, position, header, record, options.decoder, checksum)
            if options.shows_bytes and (header.is_wrapper or not header.is_legacy):
                rows = rows or _record_rows(batch)
                yield rows.next(record, options.decoder(record) if options.decoder else None)
    except KafkaError as error:
        yield DumpFinding(path, position, f"{offsets}: its records can't be read: {error.args[-1]}")


def _record_rows(batch: Batch) -> "RecordByteRows":
    return byte_rows.RecordByteRows(*batch)


def _record(
    path: Path,
    position: int,
    header: BatchHeader,
    record: Record,
    decoder: Decoder | None,
    checksum: tuple[int, bool] | None,
) -> Iterator[Event]:
    if header.is_control:
        try:
            yield RecordLine(header, record, control_of(record), None)
        except (KafkaError, ProtocolError) as error:
            yield RecordLine(header, record, None, None)
            yield DumpFinding(path, position, f"control record at offset {record.offset}: {error.args[-1]}")
        return
    decoded = decoder(record) if decoder else None
    yield RecordLine(header, record, None, decoded, checksum)
    if decoded is not None and decoded.fault is not None:
        yield DumpFinding(path, position, decoded.fault, decoded.is_corrupt)


def control_of(record: Record) -> Control:
    """The content of a control record. Raises InvalidRecordError, ProtocolError."""
    kind = control_record_type(record.key)
    type_id = int.from_bytes((record.key or b"")[2:4], "big", signed=True)
    if kind in (ControlRecordType.ABORT, ControlRecordType.COMMIT):
        marker = end_transaction_marker(record.key, record.value)
        return Control(kind, type_id, marker.coordinator_epoch, None)
    name = _CONTROL_MESSAGES.get(kind)
    if name is None:
        return Control(kind, type_id, None, None)
    cls: type[Any] = message_class(name)
    value = record.value or b""
    version = int.from_bytes(value[:2], "big", signed=True)  # each of these messages begins with its version
    version = min(max(version, cls.VERSIONS[0]), cls.VERSIONS[1])
    return Control(kind, type_id, None, Typed(codec.decode(cls, version, value)[0], type_id, version))
