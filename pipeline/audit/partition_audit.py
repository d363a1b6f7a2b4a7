"""The audit of one replica of a partition: every batch, every index, what the checkpoints say of it.

Reads segment by segment in chunks; whatever is wrong becomes a finding, whatever the bytes. Memory: one chunk of the
log and some numbers for each batch of one segment. Source: the checks are named in findings.py.
"""

from collections.abc import Iterator
from pathlib import Path

import numpy

from ...storage.checkpoints import read_epoch_checkpoint
from ...storage.errors import CorruptCheckpointError, CorruptSnapshotError
from ...storage.file_names import (
    LEADER_EPOCH_CHECKPOINT,
    OFFSET_INDEX_SUFFIX,
    SNAPSHOT_SUFFIX,
    TIME_INDEX_SUFFIX,
    segment_path,
)
from ...storage.files import Files
from ...storage.meta_properties import read_partition_metadata
from ...storage.producer_snapshots import decode_snapshot
from ..compiled import IS_COMPILED
from ..decode.batch_table import BatchTable, Flags, Int64s
from ..decode.damage import Damage, DamageKind
from ..decode.records import check_crcs, decode_chunk, walk_chunk
from ..decode.segment_chunks import read_chunks
from ..log_directories import SegmentFile, indexed_positions
from .groups.records import GroupRecords
from .index_checks import SegmentBatches, check_offset_index, check_time_index
from .tasks import AuditTask, PartitionReport
from .transaction_checks import TransactionChecks

OFFSETS_TOPIC = "__consumer_offsets"


def audit_partition(task: AuditTask) -> PartitionReport:
    """The report on one replica. Raises OSError."""
    replica = task.replica
    report = PartitionReport(str(task.directory), replica.topic, replica.partition)
    audit = _PartitionAudit(task, report)
    for index, segment in enumerate(replica.segments):
        audit.read_segment(segment, is_active=index + 1 == len(replica.segments))
    audit.finish()
    return report


class _PartitionAudit:
    """What is carried from batch to batch and from segment to segment."""

    def __init__(self, task: AuditTask, report: PartitionReport) -> None:
        self.task = task
        self.report = report
        self.next_offset = -1
        self.epoch = -1
        self.first_gap: tuple[Path, int, int] | None = None
        self.transactions = TransactionChecks(report)
        self.groups = GroupRecords() if task.replica.topic == OFFSETS_TOPIC else None
        self.epochs = self._epoch_checkpoint()
        segments = task.replica.segments
        report.segments = len(segments)
        report.size = sum(segment.size for segment in segments)
        first = segments[0].base_offset if segments else 0
        report.log_start_offset = max(first, task.checkpoints.get("log-start-offset-checkpoint", 0))
        report.log_end_offset = report.log_start_offset
        report.high_watermark = task.checkpoints.get("replication-offset-checkpoint", -1)

    def _epoch_checkpoint(self) -> list[tuple[int, int]]:
        path = self.task.replica.path / LEADER_EPOCH_CHECKPOINT
        try:
            return read_epoch_checkpoint(Files(), path)
        except CorruptCheckpointError as error:
            self.report.add("checkpoint-unreadable", path, str(error))
            return []

    # Batches -----------------------------------------------------------------

    def read_segment(self, segment: SegmentFile, *, is_active: bool) -> None:
        """Checks a segment's batches and indexes."""
        if self.next_offset > segment.base_offset:
            detail = f"it begins at {segment.base_offset}, the segment in front of it ends at {self.next_offset - 1}"
            self.report.add("segment-overlap", segment.path, detail, offset=segment.base_offset)
        chunks: list[tuple[Int64s, Int64s, Int64s, Int64s]] = []
        lost: list[tuple[int, int]] = []
        for item in read_chunks(segment.path, batch_positions=indexed_positions(segment)):
            if isinstance(item, Damage):
                lost.append((item.position, item.position + item.size))
                self._report_damage(segment, item, is_active=is_active)
            elif len(item):
                self._read_chunk(segment, item)
                chunks.append(
                    (
                        item.positions + item.file_position,
                        item.last_offsets,
                        item.column("max_timestamp"),
                        item.sizes,
                    )
                )
        positions, last_offsets, max_timestamps, sizes = (
            numpy.concatenate([numpy.zeros(0, numpy.int64), *(chunk[column] for chunk in chunks)])
            for column in range(4)
        )
        is_settled = self.task.is_clean or not is_active
        batches = SegmentBatches(
            segment.base_offset,
            segment.size,
            positions,
            last_offsets,
            max_timestamps,
            sizes,
            lost,
            is_active,
            is_settled,
        )
        self._check_indexes(segment, batches)
        self.transactions.check_index(segment, is_settled=batches.is_settled and not lost)

    def _report_damage(self, segment: SegmentFile, damage: Damage, *, is_active: bool) -> None:
        name = str(damage.kind)
        is_tail = is_active and damage.position + damage.size >= segment.size
        if damage.kind is DamageKind.INCOMPLETE and is_tail and not self.task.is_clean:
            name = "log-tail-torn"
        self.report.add(name, segment.path, damage.message, position=damage.position, offset=damage.base_offset)

    def _read_chunk(self, segment: SegmentFile, chunk: BatchTable) -> None:
        report = self.report
        matches, damage = check_crcs(chunk)
        for found in damage:
            self._report_damage(segment, found, is_active=False)
        self._check_headers(segment, chunk)
        self._check_records(segment, chunk, matches)
        report.batches += len(chunk)
        report.control_batches += int(chunk.is_control.sum())
        report.records += int(chunk.column("records_count")[~chunk.is_control].sum())
        times = chunk.column("max_timestamp")
        times = times[times >= 0]
        if len(times):
            report.max_timestamp = max(report.max_timestamp, int(times.max()))
            low = int(times.min())
            report.min_timestamp = low if report.min_timestamp < 0 else min(report.min_timestamp, low)
        self.transactions.read(segment, chunk, matches)

    def _check_headers(self, segment: SegmentFile, chunk: BatchTable) -> None:
        """Offsets from batch to batch, leader epochs, and counts within each header."""
        bases, lasts = chunk.column("base_offset"), chunk.last_offsets
        positions = chunk.positions + chunk.file_position
        counts, deltas = chunk.column("records_count"), chunk.column("last_offset_delta")
        wrong = (counts < 0) | (deltas < 0) | (counts > deltas + 1) | (bases < segment.base_offset)
        for index in numpy.flatnonzero(wrong).tolist():
            detail = f"offset {bases[index]}, last offset delta {deltas[index]}, {counts[index]} records"
            self._at("batch-header-invalid", segment, positions, bases, index, detail)
        before = numpy.concatenate([[self.next_offset if self.next_offset >= 0 else bases[0]], lasts[:-1] + 1])
        for index in numpy.flatnonzero(bases < before).tolist():
            detail = f"the batch begins at offset {bases[index]}, the one in front of it ends at {before[index] - 1}"
            self._at("offsets-not-increasing", segment, positions, bases, index, detail)
        gaps = numpy.flatnonzero(bases > before)
        self.report.offset_gaps += len(gaps)
        if len(gaps) and self.first_gap is None:
            self.first_gap = (segment.path, int(positions[gaps[0]]), int(before[gaps[0]]))
        epochs = chunk.column("partition_leader_epoch")
        earlier = numpy.concatenate([[self.epoch], epochs[:-1]])
        for index in numpy.flatnonzero(epochs < earlier).tolist():
            detail = f"epoch {epochs[index]} behind epoch {earlier[index]}"
            self._at("leader-epoch-decreasing", segment, positions, bases, index, detail)
        self._check_epochs(segment, positions, bases, epochs)
        self.epoch = int(epochs[-1])
        self.next_offset = max(self.next_offset, int(lasts.max()) + 1)

    def _check_epochs(self, segment: SegmentFile, positions: Int64s, bases: Int64s, epochs: Int64s) -> None:
        """The batches' epochs against the checkpoint's; after an unclean stop that may lag behind."""
        if not self.epochs or not self.task.is_clean:
            return
        starts = numpy.array([start for _, start in self.epochs])
        slots = numpy.searchsorted(starts, bases, side="right") - 1
        expected = numpy.array([epoch for epoch, _ in self.epochs])[numpy.maximum(slots, 0)]
        for index in numpy.flatnonzero((slots >= 0) & (expected != epochs)).tolist():
            detail = f"epoch {epochs[index]}, the checkpoint says {expected[index]}"
            self._at("leader-epoch-mismatch", segment, positions, bases, index, detail)

    def _at(self, name: str, segment: SegmentFile, positions: Int64s, offsets: Int64s, index: int, detail: str) -> None:
        self.report.add(name, segment.path, detail, position=int(positions[index]), offset=int(offsets[index]))

    def _check_records(self, segment: SegmentFile, chunk: BatchTable, matches: Flags) -> None:
        """Decodes the records of the batches whose CRC is right; looks at their offsets, and at groups."""
        lasts, bases = chunk.last_offsets, chunk.column("base_offset")
        for item in self._decoded(chunk, matches):
            if isinstance(item, Damage):
                self._report_damage(segment, item, is_active=False)
                continue
            offsets, batches = item
            same = numpy.concatenate([[False], batches[1:] == batches[:-1]])
            rises = numpy.concatenate([[True], offsets[1:] > offsets[:-1]])
            wrong = (offsets < bases[batches]) | (offsets > lasts[batches]) | (same & ~rises)
            for batch in numpy.unique(batches[wrong]).tolist():
                place = chunk.positions + chunk.file_position
                detail = f"the batch has offsets {bases[batch]} to {lasts[batch]}"
                self._at("record-offsets-invalid", segment, place, bases, batch, detail)

    def _decoded(self, chunk: BatchTable, selected: Flags) -> Iterator[tuple[Int64s, Int64s] | Damage]:
        """(offsets, batches) of records, or damage; the records of the offsets topic are kept, too."""
        if IS_COMPILED and self.groups is None:
            for walked in walk_chunk(chunk, selected):
                yield walked if isinstance(walked, Damage) else (walked.spans.offsets, walked.spans.batches)
            return
        for item in decode_chunk(chunk, selected):
            if isinstance(item, Damage):
                yield item
                continue
            if self.groups is not None:
                self.groups.read(chunk, item)
            yield item.columns.column("offset").to_numpy(), item.batches

    # Indexes and the rest ----------------------------------------------------

    def _check_indexes(self, segment: SegmentFile, batches: SegmentBatches) -> None:
        for suffix, kind in ((OFFSET_INDEX_SUFFIX, "offset"), (TIME_INDEX_SUFFIX, "time")):
            path = segment_path(segment.path.parent, segment.base_offset, suffix)

            def found(name: str, detail: str, offset: int, path: Path = path) -> None:
                self.report.add(name, path, detail, offset=offset)

            if not path.exists():
                if segment.size:
                    self.report.add(f"{kind}-index-missing", path, "the file is not there", offset=segment.base_offset)
            elif kind == "offset":
                check_offset_index(path.read_bytes(), batches, self.task.index_interval_bytes, found)
            else:
                check_time_index(path.read_bytes(), batches, found)

    def finish(self) -> None:
        """What can be said only at the end of the log."""
        report = self.report
        report.log_end_offset = max(report.log_start_offset, self.next_offset)
        if self.first_gap is not None and self.task.is_compacted is False:
            path, position, offset = self.first_gap
            detail = f"{report.offset_gaps} gaps, the first at offset {offset}"
            report.add("offset-gap", path, detail, position=position, offset=offset)
        for name, offset in self.task.checkpoints.items():
            if offset > report.log_end_offset:
                detail = f"it says {offset}, the log ends at {report.log_end_offset}"
                report.add("checkpoint-beyond-log", self.task.directory / name, detail, offset=offset)
        for path in sorted(self.task.replica.path.glob(f"*{SNAPSHOT_SUFFIX}")):
            try:
                decode_snapshot(path.read_bytes())
            except CorruptSnapshotError as error:
                report.add("producer-snapshot-corrupt", path, str(error))
        self._check_topic_id()
        report.open_transactions = self.transactions.open_count()
        if self.groups is not None:
            self.groups.finish(report, self.transactions.outcomes)

    def _check_topic_id(self) -> None:
        path = self.task.replica.path / "partition.metadata"
        try:
            topic_id = read_partition_metadata(Files(), self.task.replica.path)
        except CorruptCheckpointError as error:
            self.report.add("checkpoint-unreadable", path, str(error))
            return
        if topic_id is not None and self.task.topic_id is not None and topic_id != self.task.topic_id:
            self.report.add(
                "topic-id-mismatch", path, f"{topic_id.hex()}, the metadata says {self.task.topic_id.hex()}"
            )
