"""Reads metadata records from snapshots and from the log: whole transactions only, with an error for any damage.

Owns: which records count (those of an unfinished transaction do not), the error with the place where reading stopped.
Pure but for the given file layer. Never does: writing, interpreting a record beyond its frame. Invariant: every yielded
record had a correct CRC and is a record of Kafka's. Source: RecordsBatchReader, MetadataBatchLoader; KIP-630, KIP-868.
"""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

from odradek.protocol.errors import KafkaError, ProtocolError
from odradek.protocol.internal_records.metadata_serde import METADATA_RECORDS
from odradek.protocol.messages.metadata_records import (
    AbortTransactionRecord,
    BeginTransactionRecord,
    EndTransactionRecord,
)
from odradek.protocol.messages.structure import Message
from odradek.protocol.records.batch import BATCH_HEADER_SIZE, BatchHeader, check_crc, iterate_headers, read_header
from odradek.protocol.records.control import ControlRecordType
from odradek.protocol.records.record import iterate_records
from odradek.protocol.records.varint import MAX_INT64
from odradek.storage.files.file_names import LOG_SUFFIX, base_offset_of
from odradek.storage.files.files import Files

from .format import control_records

NO_OP = b"\x01\x14\x00\x00"
"""A NoOp record. A running Kafka writes two a second."""
MAGIC_OFFSET = 16
BatchReader = Callable[[int], "tuple[bytes, Path, int]"]
"""Offset -> (bytes from the batch that holds it, their file, their position in it). No bytes at the end."""


class MetadataLogError(Exception):
    """The metadata log can't be read. The text names file, place, what was expected, and what to do."""


def damaged(path: Path, position: int, offset: int | None, problem: object) -> MetadataLogError:
    """The error for a place in a file. ``offset``: the metadata offset there, None in a snapshot."""
    where = f"{path}, byte {position}" + ("" if offset is None else f" (offset {offset})")
    return MetadataLogError(
        f"{where}: {problem}. Nothing was changed. Put the file back from a copy of this directory; without one, "
        f"`odradek storage adopt` serves the topics' directories, which are not affected, without the metadata log"
    )


class LoadedRecord(NamedTuple):
    """A metadata record with its offset in the log; -1 for a record of a snapshot."""

    offset: int
    epoch: int
    timestamp_ms: int
    message: Message
    version: int


def check_batches(data: bytes, path: Path) -> None:
    """Checks a whole file. Raises MetadataLogError for the first incomplete batch."""
    end = 0
    for position, header in _headers(data, path):
        end = position + header.size_in_bytes
    if end != len(data):
        raise damaged(path, end, None, f"the last {len(data) - end} bytes are not a complete batch")


def plain_records(batches: bytes, path: Path) -> list[LoadedRecord]:
    """The metadata records of a file of batches (``bootstrap.checkpoint``). Raises MetadataLogError."""
    check_batches(batches, path)
    return list(checked_records(batches, path))


def checked_records(batches: bytes, path: Path) -> Iterator[LoadedRecord]:
    """The metadata records of batches that were checked, decoded one by one. Raises MetadataLogError."""
    for position, header in iterate_headers(batches):
        yield from _decoded(batches, position, header, path, numbered=False)


def snapshot_records(snapshot: bytes, path: Path) -> list[LoadedRecord]:
    """All metadata records of a snapshot. Raises MetadataLogError if it is incomplete."""
    found = plain_records(snapshot, path)
    _check_ends(snapshot, path)
    return found


def check_snapshot(snapshot: bytes, path: Path) -> None:
    """Checks the batches of a snapshot and its first and last record. Raises MetadataLogError."""
    check_batches(snapshot, path)
    _check_ends(snapshot, path)


def _check_ends(snapshot: bytes, path: Path) -> None:
    kinds = [kind for kind, _ in control_records(snapshot)]
    if not kinds or kinds[0] is not ControlRecordType.SNAPSHOT_HEADER:
        raise damaged(path, 0, None, "a snapshot begins with a SnapshotHeader record")
    if kinds[-1] is not ControlRecordType.SNAPSHOT_FOOTER:
        raise damaged(path, len(snapshot), None, "a snapshot ends with a SnapshotFooter record")


class LogReader:
    """Reads the log from an offset on, in one or several calls. A transaction may span several calls."""

    def __init__(self, read: BatchReader, take_control: Callable[[bytes], None]) -> None:
        """``take_control`` is called with each control batch."""
        self.last_epoch = 0
        self.bytes_read = 0
        self._read = read
        self._take_control = take_control
        self.transaction_offset = -1
        """The offset where the open metadata transaction began."""
        self._transaction: list[LoadedRecord] | None = None
        """The records of the open metadata transaction; None without one."""

    @property
    def has_open_transaction(self) -> bool:
        """Whether reading ended within a metadata transaction, whose records were left out."""
        return self._transaction is not None

    def whole_transactions(self, offset: int, until: int = MAX_INT64) -> Iterator[LoadedRecord]:
        """The records from ``offset`` to below ``until``. Those of a metadata transaction follow after its end.

        ``until``: the log's end, or the end of a batch. Raises MetadataLogError.
        """
        for record in self._records(offset, until):
            message = record.message
            if isinstance(message, BeginTransactionRecord):
                self._transaction = []
                self.transaction_offset = record.offset
            elif isinstance(message, EndTransactionRecord):
                ended, self._transaction = self._transaction, None
                yield from ended or ()
                yield record
            elif isinstance(message, AbortTransactionRecord):
                self._transaction = None
                yield record
            elif self._transaction is not None:
                self._transaction.append(record)
            else:
                yield record

    def _records(self, offset: int, until: int) -> Iterator[LoadedRecord]:
        while offset < until:
            data, path, place = self._read(offset)
            if not data:
                return
            first = offset
            for position, header in _headers(data, path, place):
                if header.base_offset >= until:
                    return
                offset = header.next_offset
                self.last_epoch = max(self.last_epoch, header.partition_leader_epoch)
                self.bytes_read += header.size_in_bytes
                if header.is_control:
                    self._take_control(data[position : position + header.size_in_bytes])
                    continue
                for record in _decoded(data, position, header, path, numbered=True, place=place):
                    if record.offset >= first:
                        yield record
            if offset == first:
                raise damaged(path, place, offset, f"the next {len(data)} bytes are not a complete batch")


def _headers(data: bytes, path: Path, place: int = 0) -> Iterator[tuple[int, BatchHeader]]:
    """Positions and headers of the whole batches in ``data``. Checks their CRCs."""
    position, offset = 0, None
    try:
        for position, header in iterate_headers(data):
            offset = header.base_offset
            check_crc(data, position, header)
            yield position, header
            position, offset = position + header.size_in_bytes, header.next_offset
    except KafkaError as error:
        raise damaged(path, place + position, offset, error.message) from error


def _decoded(
    data: bytes, position: int, header: BatchHeader, path: Path, *, numbered: bool, place: int = 0
) -> Iterator[LoadedRecord]:
    if header.is_control:
        return
    offset = header.base_offset
    try:
        for record in iterate_records(data, header, position):
            offset = record.offset
            if record.value == NO_OP:
                continue
            message, version = METADATA_RECORDS.decode(record.value)
            yield LoadedRecord(
                offset if numbered else -1, header.partition_leader_epoch, record.timestamp, message, version
            )
    except (KafkaError, ProtocolError) as error:
        raise damaged(path, place + position, offset, error) from error


def first_whole_batch(data: bytes, start: int, lowest_offset: int) -> int | None:
    """The position of the first whole batch after ``start`` with offsets from ``lowest_offset`` on, or None.

    It distinguishes a torn end (no complete batch follows) from damage in the middle (acknowledged records follow).
    """
    magic = data.find(2, start + MAGIC_OFFSET)
    while magic >= 0:
        position = magic - MAGIC_OFFSET
        if len(data) - position < BATCH_HEADER_SIZE:
            return None
        try:
            header = read_header(data, position)
            if header.base_offset >= lowest_offset and position + header.size_in_bytes <= len(data):
                check_crc(data, position, header)
                return position
        except KafkaError:
            pass  # no batch begins here
        magic = data.find(2, magic + 1)
    return None


def refuse_to_lose(files: Files) -> Callable[[Path, int], None]:
    """Returns the check that recovery calls with (file, position) before it cuts the log at damage.

    A torn end may be cut. If whole batches follow the damage, the check raises MetadataLogError, because the cut would
    lose acknowledged records.
    """

    def before_cut(path: Path, position: int) -> None:
        data = files.read_file(path)
        follows = first_whole_batch(data, position, _next_offset(data, position, path))
        if follows is not None:
            raise damaged(
                path, position, None, f"the batch here is not complete, but a complete one follows at byte {follows}"
            )
        for entry in files.list(path.parent):
            if entry.name.endswith(LOG_SUFFIX) and entry.name > path.name and entry.stat().st_size:
                raise damaged(
                    path, position, None, f"the last batch of this segment is not complete, but {entry.name} follows"
                )

    return before_cut


def _next_offset(data: bytes, position: int, path: Path) -> int:
    """The lowest valid offset of the batch at ``position``: the end offset of the batches before it."""
    offset = base_offset_of(path.name) or 0
    for _, header in iterate_headers(data, 0, position):
        offset = header.next_offset
    return offset
