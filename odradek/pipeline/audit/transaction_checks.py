"""Checks the transactions in a log: open ones, missing markers, aborted data, the transaction indexes.

Reads only transactional and control batches. State: one entry for each open transaction. A cleaner never passes the
last stable offset. Below the cleaner's checkpoint, every transaction that still has a batch therefore has its marker,
and no record of an aborted transaction remains. Otherwise an old cleaner damaged the log (KAFKA-8351, KAFKA-13727).
Source: Kafka's TransactionIndex, ProducerStateManager.completeTxn, CleanedTransactionMetadata.
"""

from dataclasses import dataclass

import numpy

from odradek.protocol.errors import KafkaError
from odradek.protocol.records.batch import read_header
from odradek.storage.errors import CorruptIndexError
from odradek.storage.files.file_names import TRANSACTION_INDEX_SUFFIX, segment_path
from odradek.storage.segment.transaction_index import TransactionIndex

from ..directories.log_directories import SegmentFile
from .chunk_batches import TRANSACTIONAL, BatchLocation, ChunkBatches
from .tasks import AuditTask, PartitionReport
from .whole_files import read_whole

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
    """An abort marker: its producer, and the first offset of its data (-1: the log has none)."""

    producer_id: int
    first_offset: int


class TransactionChecks:
    """The checks of one partition."""

    def __init__(self, task: AuditTask, report: PartitionReport) -> None:
        self._task = task
        self._report = report
        self._open: dict[int, _OngoingTransaction] = {}
        self._aborts: dict[int, _Abort] = {}
        self._cleaned_to = task.cleaned_to if task.policy.is_compacted else -1

    def open_offset(self, producer_id: int) -> int | None:
        """The first offset of a producer's open transaction."""
        found = self._open.get(producer_id)
        return None if found is None else found.first_offset

    def open_offsets(self) -> list[tuple[int, int]]:
        """(producer id, first offset) of each open transaction."""
        return [(producer_id, found.first_offset) for producer_id, found in self._open.items()]

    def read(self, batches: ChunkBatches) -> None:
        """Reads a chunk's transactional batches and markers."""
        chosen = ((batches.attributes & TRANSACTIONAL) != 0) | batches.is_control
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

    def _read_marker(self, batches: ChunkBatches, index: int, producer_id: int, offset: int) -> None:
        from odradek.storage.producers.transaction_markers import (
            read_marker,
        )  # most topics have none

        data = batches.control_batches[index]
        try:
            marker = read_marker(data, read_header(data, 0))
        except KafkaError as error:
            batches.found("records-malformed", index, str(error))
            return
        if marker is None:
            return  # compaction has removed the marker's record: the transaction has no batch left
        is_commit = marker[0].is_commit
        ended = self._open.pop(producer_id, None)
        if is_commit:
            return
        self._aborts[offset] = _Abort(producer_id, -1 if ended is None else ended.first_offset)
        if ended is not None and ended.kept is not None and ended.kept.offset < self._cleaned_to:
            file, place, first = ended.kept
            detail = (
                f"producer {producer_id} aborted its transaction at offset {offset}; the log is cleaned "
                f"up to {self._cleaned_to}, but still has records of it"
            )
            self._report.add("aborted-records-kept", file, detail, position=place, offset=first)

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
        path = segment_path(segment.path.parent, segment.base_offset, TRANSACTION_INDEX_SUFFIX)
        aborts, self._aborts = self._aborts, {}
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
        for number, entry in enumerate(entries):
            abort = aborts.get(entry.last_offset)
            place = {"position": number * 34, "offset": entry.last_offset}
            if abort is None or abort.producer_id != entry.producer_id:
                detail = f"the log has no abort of producer {entry.producer_id} at offset {entry.last_offset}"
                self._report.add("transaction-index-invalid", path, detail, **place)
            elif 0 <= abort.first_offset < entry.first_offset:
                detail = f"the entry begins at {entry.first_offset}, the transaction's data at {abort.first_offset}"
                self._report.add("transaction-index-invalid", path, detail, **place)
        indexed = {entry.last_offset for entry in entries}
        for offset, abort in aborts.items():
            if abort.first_offset >= 0 and offset not in indexed:
                detail = f"the transaction of producer {abort.producer_id} was aborted at offset {offset}"
                self._report.add("aborted-transaction-unindexed", path, detail, offset=offset)
