"""Dumps and checks the small files of a segment: offset, time and transaction index, producer snapshot.

Owns: the comparison of entries with the log beside them. Never does: printing. Invariant: entries are those of
`protocol.reference.disk`; an entry with relative offset 0 after the first ends an index: the rest is preallocated.
Source: Kafka's DumpLogSegments, OffsetIndex.sanityCheck, TimeIndex.sanityCheck, TransactionIndex,
ProducerStateManager.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from construct import Struct

from odradek.protocol.common.lazy_imports import lazy_imports
from odradek.protocol.errors import KafkaError
from odradek.protocol.records.batch import BatchHeader, decrement_sequence
from odradek.protocol.records.record import iterate_records
from odradek.protocol.reference.disk import OFFSET_INDEX_ENTRY, TIME_INDEX_ENTRY, TRANSACTION_INDEX_ENTRY

from ..errors import CorruptSnapshotError
from ..files.file_names import LOG_SUFFIX, base_offset_of
from ..files.regular_files import read_regular
from ..producers.producer_snapshots import decode_snapshot
from ..segment.transaction_index import CURRENT_VERSION
from .events import DumpFinding, EntryLine, Event, FileStart, Remark
from .segment_scan import DamagedBytes, LogFile

with lazy_imports:
    from . import byte_rows

MISMATCHES = "Mismatches in :{}"
TIMESTAMP_MISMATCHES = "Found timestamp mismatch in :{}"
OUT_OF_ORDER = "Found out of order timestamp in :{}"
NOT_FOUND = "The following indexed offsets are not found in the log."


@dataclass(frozen=True, slots=True)
class IndexOptions:
    """Options for the dump of indexes."""

    sanity_check: bool = False
    """Make only the check that a broker makes at start before it uses an index."""
    verify_only: bool = False
    """Compare the entries with the log without printing them."""
    max_message_size: int = 5 * 1024 * 1024
    """Larger batches (in bytes) are skipped when an index is compared with its log."""
    shows_bytes: bool = False
    """Show the fields with their bytes after each entry."""


DEFAULT = IndexOptions()


def dump_offset_index(path: Path, options: IndexOptions) -> Iterator[Event]:
    """The events of an ``.index``. Raises OSError."""
    yield FileStart(str(path), "offset-index", "", {})
    data = read_regular(path)
    if len(data) < OFFSET_INDEX_ENTRY.sizeof():
        yield Remark(f"{path} is empty.")
        yield from _trailing_bytes(path, data, OFFSET_INDEX_ENTRY)
        return
    base_offset = base_offset_of(path.name)
    if base_offset is None:
        yield DumpFinding(path, None, "the file name must begin with the segment's base offset")
        return
    if options.sanity_check:
        yield from _sanity(path, _offset_index_insane(data, base_offset), data, OFFSET_INDEX_ENTRY)
        return
    log_path = path.with_name(path.name.partition(".")[0] + LOG_SUFFIX)
    if not log_path.exists():
        yield DumpFinding(path, None, f"its log {log_path.name} is missing: not compared with the log")
    log = LogFile(log_path) if log_path.exists() else None
    try:
        for slot, entry in _used(path, data, OFFSET_INDEX_ENTRY):
            if isinstance(entry, DumpFinding):
                yield entry
                continue
            offset = base_offset + entry.relative_offset
            if log is not None:
                yield from _compare_with_log(path, slot, offset, entry.position, log, options.max_message_size)
            if not options.verify_only:
                fields = {"offset": offset, "position": entry.position}
                yield EntryLine(f"offset: {offset} position: {entry.position}", fields)
                yield from _bytes(options, OFFSET_INDEX_ENTRY, data, slot)
    finally:
        if log is not None:
            log.__exit__()


def _offset_index_insane(data: bytes, base_offset: int) -> str | None:
    last = _entry(data, OFFSET_INDEX_ENTRY, len(data) // OFFSET_INDEX_ENTRY.sizeof() - 1)
    last_offset = base_offset + last.relative_offset
    if last_offset <= base_offset:
        return f"the last offset is {last_offset}, expected more than the base offset {base_offset}"
    return None


def _compare_with_log(
    path: Path, slot: int, offset: int, position: int, log: LogFile, max_message_size: int
) -> Iterator[DumpFinding]:
    """Checks that a batch begins at the position and ends at the offset."""
    found = log.header_at(position)
    if isinstance(found, DamagedBytes):
        yield DumpFinding(path, slot, f"offset {offset}: in {log.path.name} at {position} {found.expected}")
    elif found.size_in_bytes > max_message_size:
        what = f"offset {offset}: its batch has {found.size_in_bytes} bytes, more than --max-message-size: not compared"
        yield DumpFinding(path, slot, what, is_corrupt=False)
    elif found.last_offset != offset:
        is_corrupt = not _ends_an_append(log, position, offset)
        what = f"the batch at {position} of {log.path.name} has the last offset {found.last_offset}, expected {offset}"
        line = f"  Index offset: {offset}, log offset: {found.last_offset}"
        yield DumpFinding(path, slot, what, is_corrupt, (MISMATCHES.format(path.absolute()), line))


def _ends_an_append(log: LogFile, position: int, offset: int) -> bool:
    """Whether a batch after the one at the position ends at the offset.

    Kafka before 4.0 wrote one entry for an append of several batches: start of the first, last offset of the last.
    """
    while True:
        found = log.header_at(position)
        if isinstance(found, DamagedBytes) or found.last_offset > offset:
            return False
        if found.last_offset == offset:
            return True
        position += found.size_in_bytes


def dump_time_index(path: Path, options: IndexOptions) -> Iterator[Event]:
    """The events of a ``.timeindex``. Raises OSError."""
    yield FileStart(str(path), "time-index", "", {})
    data = read_regular(path)
    base_offset = base_offset_of(path.name)
    if base_offset is None:
        yield DumpFinding(path, None, "the file name must begin with the segment's base offset")
        return
    if options.sanity_check:
        yield from _sanity(path, _time_index_insane(data, base_offset), data, TIME_INDEX_ENTRY)
        return
    log_path = path.with_name(path.name.partition(".")[0] + LOG_SUFFIX)
    batches = None
    if log_path.exists():
        batches = _BatchLookup(log_path)
    else:
        yield DumpFinding(path, None, f"its log {log_path.name} is missing: not compared with the log")
    previous = -1
    try:
        for slot, entry in _used(path, data, TIME_INDEX_ENTRY):
            if isinstance(entry, DumpFinding):
                yield entry
                continue
            offset = base_offset + entry.relative_offset
            if batches is not None:
                yield from _compare_times(path, slot, offset, entry.timestamp, previous, batches)
            if not options.verify_only:
                fields = {"timestamp": entry.timestamp, "offset": offset}
                yield EntryLine(f"timestamp: {entry.timestamp} offset: {offset}", fields)
                yield from _bytes(options, TIME_INDEX_ENTRY, data, slot)
            previous = entry.timestamp
    finally:
        if batches is not None:
            batches.close()


def _time_index_insane(data: bytes, base_offset: int) -> str | None:
    count = len(data) // TIME_INDEX_ENTRY.sizeof()
    if not count:
        return None
    first, last = _entry(data, TIME_INDEX_ENTRY, 0), _entry(data, TIME_INDEX_ENTRY, count - 1)
    if last.timestamp < first.timestamp:
        return f"the last timestamp {last.timestamp} is lower than the first, {first.timestamp}"
    if last.relative_offset < 0:
        return f"the last offset {base_offset + last.relative_offset} is lower than the base offset {base_offset}"
    return None


class _BatchLookup:
    """Finds the batches of a log by offset, in one pass if the offsets rise."""

    def __init__(self, path: Path) -> None:
        self.log = LogFile(path)
        self._headers = self.log.headers()
        self._current: tuple[int, BatchHeader] | None = None

    def with_offset(self, offset: int) -> tuple[int, BatchHeader] | None:
        """The first batch that ends at the offset or later; None after the last."""
        if self._current is not None and self._current[1].base_offset > offset:  # an earlier offset than before
            self._headers, self._current = self.log.headers(), None
        while self._current is None or self._current[1].last_offset < offset:
            found = next(self._headers, None)
            if found is None:
                self._headers, self._current = self.log.headers(), None
                return None
            if not isinstance(found, DamagedBytes):
                self._current = found
        return self._current

    def max_timestamp(self, position: int, header: BatchHeader) -> int:
        """The largest timestamp of a batch's records. Raises KafkaError if the records can't be read."""
        records = iterate_records(self.log.batch_at(position, header).data, header)
        return max((record.timestamp for record in records), default=-1)

    def has_record(self, position: int, header: BatchHeader, offset: int, timestamp: int) -> bool:
        """Whether a record has this offset and timestamp: Kafka 3.7 and 3.8 indexed records, not ends of batches."""
        try:
            records = list(iterate_records(self.log.batch_at(position, header).data, header))
        except KafkaError:
            return False
        return any(record.offset == offset and record.timestamp == timestamp for record in records)

    def close(self) -> None:
        """Closes the log."""
        self.log.__exit__()


def _compare_times(
    path: Path, slot: int, offset: int, timestamp: int, previous: int, batches: _BatchLookup
) -> Iterator[DumpFinding]:
    """Checks that the log has the timestamp at the offset, and that timestamps rise."""
    found = batches.with_offset(offset)
    name = batches.log.path.name
    if found is None or found[1].last_offset != offset:
        last = -1 if found is None else found[1].last_offset
        is_corrupt = found is None or not batches.has_record(*found, offset, timestamp)
        what = f"no batch of {name} has the last offset {offset}"
        what += ": the log ends before it" if found is None else f": the batch with that offset ends at {last}"
        line = f"Indexed offset: {offset}, found log offset: {last}"
        yield DumpFinding(path, slot, what, is_corrupt, (NOT_FOUND, line))
        return
    try:
        largest = batches.max_timestamp(*found)
    except KafkaError as error:
        yield DumpFinding(
            path, slot, f"the records of the batch at {found[0]} of {name} can't be read: {error.args[-1]}"
        )
        return
    if largest != timestamp:
        what = f"the batch of {name} that ends at offset {offset} has timestamp {largest}, expected {timestamp}"
        line = f"  Index timestamp: {timestamp}, log timestamp: {largest}"
        # The header of a batch keeps the timestamp after compaction has removed the records.
        is_corrupt = found[1].max_timestamp != timestamp
        kafka = (TIMESTAMP_MISMATCHES.format(path.absolute()), line)
        yield DumpFinding(path, slot, what, is_corrupt, kafka)
    if previous >= timestamp:
        what = f"timestamp {timestamp} is not later than the previous one, {previous}"
        line = f"  Index timestamp: {timestamp}, Previously indexed timestamp: {previous}"
        yield DumpFinding(path, slot, what, True, (OUT_OF_ORDER.format(path.absolute()), line))


def dump_transaction_index(path: Path, options: IndexOptions = DEFAULT) -> Iterator[Event]:
    """The events of a ``.txnindex``. Raises OSError."""
    yield FileStart(str(path), "transaction-index", "", {})
    data = read_regular(path)
    last_offset = -1
    for number in range(len(data) // TRANSACTION_INDEX_ENTRY.sizeof()):
        entry = _entry(data, TRANSACTION_INDEX_ENTRY, number)
        slot = number * TRANSACTION_INDEX_ENTRY.sizeof()
        if entry.version > CURRENT_VERSION or entry.version < 0:
            yield DumpFinding(path, slot, f"expected version {CURRENT_VERSION}, found {entry.version}")
        if entry.last_offset <= last_offset or entry.first_offset > entry.last_offset:
            what = f"expected a transaction that ends after offset {last_offset}, found {entry.first_offset}"
            yield DumpFinding(path, slot, f"{what} to {entry.last_offset}")
        last_offset = entry.last_offset
        fields = {
            "version": entry.version,
            "producerId": entry.producer_id,
            "firstOffset": entry.first_offset,
            "lastOffset": entry.last_offset,
            "lastStableOffset": entry.last_stable_offset,
        }
        yield EntryLine(" ".join(f"{name}: {value}" for name, value in fields.items()), fields)
        yield from _bytes(options, TRANSACTION_INDEX_ENTRY, data, slot)
    yield from _trailing_bytes(path, data, TRANSACTION_INDEX_ENTRY)


def dump_producer_snapshot(path: Path, options: IndexOptions = DEFAULT) -> Iterator[Event]:
    """The events of a ``.snapshot``. Raises OSError."""
    yield FileStart(str(path), "producer-snapshot", "", {})
    data = read_regular(path)
    try:
        producers = decode_snapshot(data)
    except CorruptSnapshotError as error:
        yield DumpFinding(path, None, str(error))
        return
    for producer in producers:
        open_from = producer.transaction_first_offset
        fields: dict[str, Any] = {
            "producerId": producer.producer_id,
            "producerEpoch": producer.producer_epoch,
            "coordinatorEpoch": producer.coordinator_epoch,
            "currentTxnFirstOffset": open_from,
            "lastTimestamp": producer.last_timestamp,
        }
        for batch in producer.batches[:1]:
            fields |= {
                "firstSequence": decrement_sequence(batch.last_sequence, batch.offset_delta),
                "lastSequence": batch.last_sequence,
                "lastOffset": batch.last_offset,
                "offsetDelta": batch.offset_delta,
                "timestamp": batch.timestamp,
            }
        optional = "OptionalLong.empty" if open_from is None else f"OptionalLong[{open_from}]"
        shown = fields | {"currentTxnFirstOffset": optional}
        yield EntryLine(" ".join(f"{name}: {value}" for name, value in shown.items()), fields)
    if options.shows_bytes:
        yield byte_rows.snapshot_rows(data)


def _bytes(options: IndexOptions, structure: Struct, data: bytes, slot: int) -> Iterator[Event]:
    """The fields of the entry at ``slot``, if the options ask for them."""
    if options.shows_bytes:
        yield byte_rows.entry_rows(structure, data, slot)


def _sanity(path: Path, insane: str | None, data: bytes, entry: Struct) -> Iterator[Event]:
    """The result of a broker's check at start."""
    findings = [DumpFinding(path, None, insane)] if insane is not None else []
    findings += _trailing_bytes(path, data, entry)
    yield from findings
    if not findings:
        yield Remark(f"{path} passed sanity check.")


def _trailing_bytes(path: Path, data: bytes, entry: Struct) -> list[DumpFinding]:
    """The finding for a file that ends inside an entry."""
    size = entry.sizeof()
    if len(data) % size == 0:
        return []
    return [DumpFinding(path, len(data) // size * size, f"the file has {len(data)} bytes, not a multiple of {size}")]


def _entry(data: bytes, entry: Struct, number: int) -> Any:
    size = entry.sizeof()
    return entry.parse(data[number * size : (number + 1) * size])


def _used(path: Path, data: bytes, structure: Struct) -> Iterator[tuple[int, Any]]:
    """(position, entry) of each entry before the first zero one; a DumpFinding in place of a bad entry."""
    size = structure.sizeof()
    last_offset = -1
    for number in range(len(data) // size):
        entry = _entry(data, structure, number)
        slot = number * size
        if entry.relative_offset == 0 and number > 0:
            if data[slot:].strip(b"\0"):
                yield slot, DumpFinding(path, slot, "expected only zeros after an entry of zeros")
            return
        if entry.relative_offset <= last_offset:
            what = f"relative offset {entry.relative_offset} is not higher than the previous one, {last_offset}"
            yield slot, DumpFinding(path, slot, what)
        last_offset = entry.relative_offset
        yield slot, entry
    for finding in _trailing_bytes(path, data, structure):
        yield finding.position or 0, finding
