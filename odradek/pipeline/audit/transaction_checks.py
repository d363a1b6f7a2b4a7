"""Checks the transactions in a log: open ones, missing markers, aborted data, the transaction indexes.

Reads only transactional and control batches. State: one entry for each open transaction. A cleaner never passes the
last stable offset. Below the cleaner's checkpoint, every transaction that still has a batch therefore has its marker,
and no record of an aborted transaction remains. Otherwise an old cleaner damaged the log (KAFKA-8351, KAFKA-13727).
A producer id belongs to one transactional id, so all of its batches are transactional, or none is. Source: Kafka's
TransactionIndex, ProducerStateManager.completeTxn, CleanedTransactionMetadata, ControlRecordType.
"""

from dataclasses import dataclass
from struct import unpack_from
from typing import Any

import numpy

from odradek.protocol.common.lazy_imports import lazy_imports
from odradek.protocol.errors import KafkaError
from odradek.protocol.records.batch import read_header
from odradek.protocol.records.control import ControlRecordType, control_record_type
from odradek.protocol.records.record import iterate_records
from odradek.storage.errors import CorruptIndexError
from odradek.storage.files.file_names import TRANSACTION_INDEX_SUFFIX
from odradek.storage.segment.transaction_index import TransactionIndex

from ..decode.spans import Flags
from ..directories.segment_files import SegmentFile
from .chunk_batches import TRANSACTIONAL, BatchLocation, ChunkBatches
from .sums import OffsetPlace, TransactionPart, TransactionSums
from .tasks import AuditTask, PartitionReport, read_whole

with lazy_imports:
    from odradek.storage.producers import producer_state

MOST_PRODUCERS = 100_000
"""The maximum number of producer ids in each table of this module; the oldest entries are dropped."""
HANGING_MS = 20 * 60_000
"""A transaction that is open for longer is hanging: transaction.max.timeout.ms is 15 minutes, and coordinators abort
older ones within seconds."""


@dataclass(slots=True)
class _OngoingTransaction:
    """An open transaction: file, position and offset of its first batch, and data about all of its batches.

    `kept`: its first batch that still has records.
    """

    file: str
    position: int
    first_offset: int
    epoch: int
    last_timestamp: int
    kept: BatchLocation | None


@dataclass(slots=True)
class _Abort:
    """An abort marker: its producer, the first offset of its data (-1: the log has none), the producer's last marker
    before it (-1: the log has none).
    """

    producer_id: int
    first_offset: int
    earlier_end: int


class TransactionChecks:
    """The checks of one partition."""

    def __init__(self, task: AuditTask, report: PartitionReport) -> None:
        self._task = task
        self._report = report
        self._open: dict[int, _OngoingTransaction] = {}
        self._aborts: dict[int, _Abort] = {}
        self._commits: dict[int, int] = {}
        self._last_ends: dict[int, int] = {}
        self._transactional: dict[int, None] = {}
        self._plain: dict[int, BatchLocation] = {}
        self._first_base = task.replica.segments[0].base_offset if task.replica.segments else 0
        self._cleaned_to = task.cleaned_to if task.policy.is_compacted else -1
        self._sums: TransactionSums | None = None

    def open_offset(self, producer_id: int) -> int | None:
        """The first offset of a producer's open transaction."""
        found = self._open.get(producer_id)
        return None if found is None else found.first_offset

    def open_offsets(self) -> list[tuple[int, int]]:
        """(producer id, first offset) of each open transaction."""
        return [(producer_id, found.first_offset) for producer_id, found in self._open.items()]

    def begin(self, sums: TransactionSums | None) -> None:
        """Begins a segment, whose sums go into `sums`."""
        self._sums = sums
        if sums is not None:
            sums.first_base = self._first_base

    def read(self, batches: ChunkBatches) -> None:
        """Reads a chunk's transactional batches and markers."""
        is_transactional = (batches.attributes & TRANSACTIONAL) != 0
        self._check_bits(batches, is_transactional)
        chosen = is_transactional | batches.is_control
        indexes = numpy.flatnonzero(chosen & batches.is_sound)
        if not len(indexes):
            return
        columns = (
            indexes,
            batches.is_control[indexes],
            batches.producers[indexes],
            batches.chunk.column("producer_epoch")[indexes],
            batches.bases[indexes],
        )
        for index, is_control, producer_id, epoch, offset in zip(*(c.tolist() for c in columns), strict=True):
            if is_control:
                self._read_marker(batches, index, producer_id, offset)
            else:
                self._read_data(batches, index, producer_id, epoch, offset)

    def _check_bits(self, batches: ChunkBatches, is_transactional: Flags) -> None:
        """Finds batches without the transactional bit of producers that have transactions."""
        has_producer = (batches.producers >= 0) & batches.is_sound
        for producer_id in numpy.unique(batches.producers[has_producer & is_transactional]).tolist():
            self._transactional[producer_id] = None
            if self._sums is not None:
                self._sums.transactional[producer_id] = None
            earlier = self._plain.pop(producer_id, None)
            if earlier is not None:
                self._report.add(
                    "transactional-bit-lost",
                    earlier.file,
                    f"producer {producer_id} has transactions later",
                    position=earlier.position,
                    offset=earlier.offset,
                )
        plain = numpy.flatnonzero(has_producer & ~is_transactional & ~batches.is_control)
        if not len(plain):
            return
        ids, first = numpy.unique(batches.producers[plain], return_index=True)
        for producer_id, slot in zip(ids.tolist(), first.tolist(), strict=True):
            if producer_id not in self._transactional:
                index = int(plain[slot])
                place = int(batches.places[index])
                location = BatchLocation(str(batches.segment.path), place, int(batches.bases[index]))
                self._plain.setdefault(producer_id, location)
                if self._sums is not None:
                    self._sums.plain.setdefault(producer_id, OffsetPlace(location.position, location.offset))
                continue
            for index in plain[batches.producers[plain] == producer_id].tolist():
                batches.found("transactional-bit-lost", index, f"producer {producer_id} has transactions")
        _keep_latest(self._transactional)
        _keep_latest(self._plain)

    def _read_data(self, batches: ChunkBatches, index: int, producer_id: int, epoch: int, offset: int) -> None:
        found = self._open.get(producer_id)
        if found is not None and found.epoch != epoch:
            detail = f"producer {producer_id} continues with epoch {epoch} at offset {offset} without a marker"
            self._missing_marker(found, detail)
            found = None
        if found is None:
            place = (str(batches.segment.path), int(batches.places[index]), offset)
            found = self._open[producer_id] = _OngoingTransaction(*place, epoch, -1, None)
        found.last_timestamp = max(found.last_timestamp, int(batches.max_timestamps[index]))
        if found.kept is None and batches.counts[index] > 0:
            found.kept = BatchLocation(str(batches.segment.path), int(batches.places[index]), offset)
        if self._sums is not None:
            has_records = bool(batches.counts[index] > 0)
            position, timestamp = int(batches.places[index]), int(batches.max_timestamps[index])
            self._sums.read_data(producer_id, epoch, position, offset, timestamp, has_records=has_records)

    def _read_marker(self, batches: ChunkBatches, index: int, producer_id: int, offset: int) -> None:
        data = batches.control_batches[index]
        try:
            marker = producer_state.read_marker(data, read_header(data, 0))
        except KafkaError as error:
            batches.found("records-malformed", index, str(error))
            return
        if batches.counts[index] > 0:
            self._check_versions(batches, index, data)
        if marker is None:
            return  # compaction has removed the marker's record: the transaction has no batch left
        is_commit = marker[0].is_commit
        if self._sums is not None:
            self._sums.read_marker(producer_id, offset, is_commit=is_commit)
        ended = self._open.pop(producer_id, None)
        earlier_end = self._last_ends.pop(producer_id, -1)
        self._last_ends[producer_id] = offset
        _keep_latest(self._last_ends)
        if is_commit:
            self._commits[offset] = producer_id
            return
        self._aborts[offset] = _Abort(producer_id, -1 if ended is None else ended.first_offset, earlier_end)
        if ended is not None and ended.kept is not None and ended.kept.offset < self._cleaned_to:
            file, place, first = ended.kept
            detail = (
                f"producer {producer_id} aborted its transaction at offset {offset}; the log is cleaned "
                f"up to {self._cleaned_to}, but still has records of it"
            )
            self._report.add("aborted-records-kept", file, detail, position=place, offset=first)

    def _check_versions(self, batches: ChunkBatches, index: int, data: bytes) -> None:
        """Finds a control record of a type or version that Kafka does not write in the log of a topic."""
        record = next(iterate_records(data, read_header(data, 0)))
        kind = control_record_type(record.key)
        key_version, type_id = unpack_from(">hh", record.key or b"")
        if kind not in (ControlRecordType.ABORT, ControlRecordType.COMMIT):
            batches.found("transaction-marker-unknown", index, f"a control record of type {type_id}")
            return
        (value_version,) = unpack_from(">h", record.value or b"")
        if key_version or value_version:
            detail = f"its key has version {key_version}, its value version {value_version}"
            batches.found("transaction-marker-unknown", index, detail)

    def _missing_marker(self, found: _OngoingTransaction, detail: str) -> None:
        self._report.add(
            "transaction-marker-missing", found.file, detail, position=found.position, offset=found.first_offset
        )

    def close(self) -> None:
        """Adds findings for the transactions without a marker."""
        self._report.open_transactions = len(self._open)
        for producer_id, found in self._open.items():
            if found.first_offset < self._cleaned_to:
                detail = f"of producer {producer_id}, although the log is cleaned up to {self._cleaned_to}"
                self._missing_marker(found, detail)
            elif self._task.now_ms - found.last_timestamp > HANGING_MS:
                age = (self._task.now_ms - found.last_timestamp) // 60_000
                detail = f"producer {producer_id}, its last batch is {age} minutes old"
                self._report.add(
                    "transaction-hanging", found.file, detail, position=found.position, offset=found.first_offset
                )

    def check_index(self, segment: SegmentFile, *, is_settled: bool) -> None:
        """Compares the segment's index with its abort markers. Called after its batches were read."""
        path = segment.beside(TRANSACTION_INDEX_SUFFIX)
        aborts, self._aborts = self._aborts, {}
        commits, self._commits = self._commits, {}
        try:
            data = read_whole(self._report, path)
            entries = [] if data is None else TransactionIndex(segment.base_offset, data).entries
            is_settled = is_settled and data is not None
        except FileNotFoundError:
            entries = []
        except CorruptIndexError as error:
            self._report.add("transaction-index-invalid", path, str(error), offset=segment.base_offset)
            return
        if not is_settled:
            return
        if self._sums is not None:
            first_offsets = {entry.last_offset: entry.first_offset for entry in entries}
            for part in self._sums.heads.values():
                part.indexed = first_offsets.get(part.marker)
        for number, entry in enumerate(entries):
            abort = aborts.get(entry.last_offset)
            place = {"position": number * 34, "offset": entry.last_offset}
            if abort is None and commits.get(entry.last_offset) == entry.producer_id:
                detail = (
                    f"producer {entry.producer_id}: the index says aborted, the marker at {entry.last_offset} commits"
                )
                self._report.add("transaction-outcome-contradicted", path, detail, **place)
            elif abort is None or abort.producer_id != entry.producer_id:
                detail = f"the log has no abort of producer {entry.producer_id} at offset {entry.last_offset}"
                self._report.add("transaction-index-invalid", path, detail, **place)
            elif self._is_wrong_start(entry.first_offset, abort):
                detail = f"the entry begins at {entry.first_offset}, the transaction's data at {abort.first_offset}"
                self._report.add("transaction-index-wrong", path, detail, **place)
        indexed = {entry.last_offset for entry in entries}
        for offset, abort in aborts.items():
            if abort.first_offset >= 0 and offset not in indexed:
                detail = f"the transaction of producer {abort.producer_id} was aborted at offset {offset}"
                self._report.add("aborted-transaction-unindexed", path, detail, offset=offset)

    def _is_wrong_start(self, first_offset: int, abort: _Abort) -> bool:
        """Whether an entry of the index begins too late, or so early that it covers an earlier transaction."""
        if first_offset <= abort.earlier_end or 0 <= abort.first_offset < first_offset:
            return True
        # Compaction, and the deletion of the first segments, remove a transaction's first batches.
        is_whole = self._task.policy.is_compacted is False and first_offset >= self._first_base
        return is_whole and abort.first_offset != first_offset

    # Sums of segments whose bytes are known ------------------------------------

    def accepts(self, sums: TransactionSums) -> bool:
        """Whether reading the segment would find no more than what its sums have, and `take` has the same effect."""
        if self._first_base < sums.first_base:
            return False
        if sums.least_aborted is not None and self._is_clean(sums.least_aborted):
            return False
        if any(len(table) >= MOST_PRODUCERS // 2 for table in (self._last_ends, self._transactional, self._plain)):
            return False  # the oldest entries may be dropped soon
        if not self._plain.keys().isdisjoint(sums.transactional):
            return False
        if not self._transactional.keys().isdisjoint(sums.plain):
            return False
        return all(map(self._accepts_head, sums.heads.values()))

    def _is_clean(self, offset: int) -> bool:
        return 0 <= offset < self._cleaned_to

    def _accepts_head(self, part: TransactionPart) -> bool:
        """Whether the first part of a producer in a segment follows its open transaction without a finding."""
        found = self._open.get(part.producer_id)
        if found is not None and part.position >= 0 and found.epoch != part.epoch:
            return False
        if part.marker < 0 or part.is_commit:
            return True
        kept = found.kept.offset if found is not None and found.kept is not None else part.kept_offset
        first_offset = part.first_offset if found is None else found.first_offset
        if self._is_clean(kept):
            return False
        if part.indexed is None:
            return first_offset < 0
        abort = _Abort(part.producer_id, first_offset, self._last_ends.get(part.producer_id, -1))
        return not self._is_wrong_start(part.indexed, abort)

    def take(self, sums: TransactionSums, file: str) -> None:
        """Adds the sums of the log's next segment, which was accepted, instead of reading it."""
        self._transactional.update(sums.transactional)
        for producer_id, place in sums.plain.items():
            self._plain.setdefault(producer_id, BatchLocation(file, *place))
        begun = list(sums.tails.values())
        for part in sums.heads.values():
            found = self._open.get(part.producer_id)
            if part.marker >= 0:
                self._open.pop(part.producer_id, None)
            elif found is None:
                begun.append(part)
            else:
                found.last_timestamp = max(found.last_timestamp, part.last_timestamp)
                if found.kept is None and part.kept_position >= 0:
                    found.kept = BatchLocation(file, part.kept_position, part.kept_offset)
        for part in sorted(begun, key=lambda part: part.position):
            kept = BatchLocation(file, part.kept_position, part.kept_offset) if part.kept_position >= 0 else None
            self._open[part.producer_id] = _OngoingTransaction(
                file, part.position, part.first_offset, part.epoch, part.last_timestamp, kept
            )
        for producer_id, offset in sums.ends.items():
            self._last_ends.pop(producer_id, None)
            self._last_ends[producer_id] = offset


def _keep_latest(entries: dict[int, Any]) -> None:
    while len(entries) > MOST_PRODUCERS:
        del entries[next(iter(entries))]
