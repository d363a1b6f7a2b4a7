"""Checks the headers of batches, each alone and in sequence: offsets, leader epochs, times, codecs.

Reads no record. State: a few numbers for each partition. Source: Kafka's DefaultRecordBatch, LogValidator, LocalLog,
LeaderEpochFileCache.
"""

from itertools import pairwise

import numpy

from odradek.protocol.records.compression import compression_name
from odradek.storage.errors import CorruptCheckpointError
from odradek.storage.files.checkpoints import read_epoch_checkpoint
from odradek.storage.files.file_names import LEADER_EPOCH_CHECKPOINT

from ..decode.spans import Int64s
from ..directories.file_access import PathFiles
from .chunk_batches import CODECS, KNOWN_ATTRIBUTES, TRANSACTIONAL, BatchLocation, ChunkBatches
from .tasks import AuditTask, DayVolume, PartitionReport
from .whole_files import report_refusal

CLOCK_TOLERANCE_MS = 1000
"""How far append times may go back without a finding: the clocks of two leaders differ."""
_DAY_MS = 86_400_000
_NO_DATE_MS = 253_402_300_800_000  # the year 10,000: neither Python nor ISO 8601 has dates from here on
_TINY_BATCHES = 1000


class BatchChecks:
    """The checks of one partition. `gap_numbers`: the number of offset gaps before each batch of the last chunk."""

    def __init__(self, task: AuditTask, report: PartitionReport) -> None:
        self.next_offset = -1
        self.gap_numbers: Int64s = numpy.zeros(0, numpy.int64)
        self._task = task
        self._report = report
        self._epoch = -1
        self._first_gap: BatchLocation | None = None
        self._greatest_time = -1
        self._append_time = -1
        self._codecs: set[int] = set()
        self._has_legacy = False
        self._volume: dict[int, list[int]] = {}
        self._epoch_starts = self._read_epoch_starts()

    def _read_epoch_starts(self) -> list[tuple[int, int]]:
        path = self._task.replica.path / LEADER_EPOCH_CHECKPOINT
        try:
            entries = read_epoch_checkpoint(PathFiles(), path)
        except CorruptCheckpointError as error:
            self._report.add("checkpoint-unreadable", path, str(error))
            return []
        except OSError as error:
            report_refusal(self._report, path, error)
            return []
        for (epoch, start), (later, later_start) in pairwise(entries):
            if later <= epoch or later_start < start:
                detail = f"epoch {later} from offset {later_start} follows epoch {epoch} from offset {start}"
                self._report.add("leader-epoch-checkpoint-invalid", path, detail, offset=later_start)
                return []
        return entries

    def read(self, batches: ChunkBatches) -> None:
        """Checks the next batches of the log."""
        self._check_headers(batches)
        self._check_offsets(batches)
        self._check_epochs(batches)
        self._check_times(batches)
        self._count(batches)

    def _check_headers(self, batches: ChunkBatches) -> None:
        counts, deltas, is_control = batches.counts, batches.deltas, batches.is_control
        sequences = batches.chunk.column("base_sequence")
        has_producer = batches.producers >= 0
        for index in numpy.flatnonzero(batches.bases < batches.segment.base_offset).tolist():
            batches.found("offset-before-segment", index, f"the batch begins at offset {batches.bases[index]}")
        wrong = (counts < 0) | (deltas < 0) | (counts > deltas + 1)
        wrong |= ((batches.attributes & TRANSACTIONAL) != 0) & ~has_producer
        wrong |= has_producer & ((batches.chunk.column("producer_epoch") < 0) | (~is_control & (sequences < 0)))
        wrong |= is_control & (counts > 1)
        for index in numpy.flatnonzero(wrong).tolist():
            detail = (
                f"offset {batches.bases[index]}, last offset delta {deltas[index]}, {counts[index]} records, "
                f"attributes {batches.attributes[index]:#x}, producer {batches.producers[index]}, "
                f"sequence {sequences[index]}"
            )
            batches.found("batch-header-invalid", index, detail)
        for index in numpy.flatnonzero(batches.codecs >= CODECS).tolist():
            batches.found("batch-codec-unknown", index, f"compression type {batches.codecs[index]}")
        for index in numpy.flatnonzero((batches.attributes & ~KNOWN_ATTRIBUTES) != 0).tolist():
            batches.found("batch-attributes-unknown", index, f"attributes {batches.attributes[index] & 0xFFFF:#x}")

    def _check_offsets(self, batches: ChunkBatches) -> None:
        bases, lasts = batches.bases, batches.lasts
        before = numpy.concatenate([[self.next_offset if self.next_offset >= 0 else bases[0]], lasts[:-1] + 1])
        for index in numpy.flatnonzero(bases < before).tolist():
            detail = f"the batch begins at offset {bases[index]}, the previous one ends at {before[index] - 1}"
            batches.found("offsets-not-increasing", index, detail)
        is_gap = bases > before
        is_hole = batches.has_data & (batches.counts < batches.deltas + 1)
        if self._first_gap is None and (is_gap | is_hole).any():
            first = int(numpy.flatnonzero(is_gap | is_hole)[0])
            offset = int(before[first] if is_gap[first] else bases[first])
            self._first_gap = BatchLocation(str(batches.segment.path), int(batches.places[first]), offset)
        self.gap_numbers = self._report.offset_gaps + numpy.cumsum(is_gap)
        self._report.offset_gaps += int(is_gap.sum()) + int(is_hole.sum())
        self.next_offset = max(self.next_offset, int(lasts.max()) + 1)

    def _check_epochs(self, batches: ChunkBatches) -> None:
        with_epoch = numpy.flatnonzero(~batches.is_legacy)
        if not len(with_epoch):
            return
        epochs = batches.epochs[with_epoch]
        earlier = numpy.concatenate([[self._epoch], epochs[:-1]])
        for index in numpy.flatnonzero(epochs < earlier).tolist():
            detail = f"epoch {epochs[index]} follows epoch {earlier[index]}"
            batches.found("leader-epoch-decreasing", int(with_epoch[index]), detail)
        self._epoch = int(epochs[-1])
        if not self._epoch_starts or not self._task.is_clean:
            return  # after an unclean stop the checkpoint may lag behind
        starts = numpy.array([start for _, start in self._epoch_starts])
        slots = numpy.searchsorted(starts, batches.bases[with_epoch], side="right") - 1
        expected = numpy.array([epoch for epoch, _ in self._epoch_starts])[numpy.maximum(slots, 0)]
        for index in numpy.flatnonzero((slots >= 0) & (expected != epochs)).tolist():
            detail = f"epoch {epochs[index]}, the checkpoint has {expected[index]}"
            batches.found("leader-epoch-mismatch", int(with_epoch[index]), detail)

    def _check_times(self, batches: ChunkBatches) -> None:
        policy, times = self._task.policy, batches.max_timestamps
        has_data = batches.has_data & batches.is_sound
        has_time = batches.chunk.column("magic") > 0
        for index in numpy.flatnonzero(has_data & has_time & (times < 0)).tolist():
            batches.found("timestamp-negative", index, f"the maximum timestamp is {times[index]}")
        limit = self._task.now_ms + max(policy.timestamp_after_max_ms, CLOCK_TOLERANCE_MS)
        for index in numpy.flatnonzero(has_data & (times > limit)).tolist():
            batches.found("timestamp-in-future", index, f"timestamp {times[index]}, the clock is {self._task.now_ms}")
        usual = numpy.where(has_data & (times <= limit), times, -1)
        greatest = numpy.maximum.accumulate(numpy.concatenate([[self._greatest_time], usual]))
        self._greatest_time = int(greatest[-1])
        if policy.timestamp_before_max_ms is not None:
            least = greatest[:-1] - min(policy.timestamp_after_max_ms + policy.timestamp_before_max_ms, 1 << 62)
            for index in numpy.flatnonzero(has_data & (times >= 0) & (times < least)).tolist():
                detail = f"the timestamp is {times[index]}, an earlier batch has {greatest[index]}"
                batches.found("timestamp-before-limit", index, detail)
        stamped = numpy.flatnonzero(has_data & batches.is_append_time)
        if len(stamped):
            earlier = numpy.concatenate([[self._append_time], times[stamped][:-1]])
            for slot in numpy.flatnonzero(times[stamped] < earlier - CLOCK_TOLERANCE_MS).tolist():
                detail = f"appended at {times[stamped[slot]]}, the previous batch at {earlier[slot]}"
                batches.found("append-time-decreasing", int(stamped[slot]), detail)
            self._append_time = int(times[stamped[-1]])

    def _count(self, batches: ChunkBatches) -> None:
        report, times = self._report, batches.max_timestamps
        report.batches += len(batches)
        self._has_legacy |= bool(batches.is_legacy.any())
        report.control_batches += int(batches.is_control.sum())
        records = batches.counts_from(report.log_start_offset)
        report.records += int(records.sum())
        report.deleted_records += int(numpy.where(batches.is_control, 0, batches.counts).sum()) - int(records.sum())
        self._codecs.update(numpy.flatnonzero(numpy.bincount(batches.codecs[batches.has_data])).tolist())
        known = times >= 0
        if not known.any():
            return
        report.max_timestamp = max(report.max_timestamp, int(times.max()))
        low = int(times[known].min())
        report.min_timestamp = low if report.min_timestamp < 0 else min(report.min_timestamp, low)
        known &= times < _NO_DATE_MS
        days, slots = numpy.unique(times[known] // _DAY_MS, return_inverse=True)
        counts = numpy.bincount(slots, weights=records[known]).astype(numpy.int64).tolist()
        sizes = numpy.bincount(slots, weights=batches.sizes[known]).astype(numpy.int64).tolist()
        for day, count, size in zip(days.tolist(), counts, sizes, strict=True):
            volume = self._volume.setdefault(day, [0, 0])
            volume[0] += count
            volume[1] += size

    def close(self) -> None:
        """Adds the findings that need the whole log."""
        report = self._report
        report.volume = [DayVolume(day * _DAY_MS, *numbers) for day, numbers in sorted(self._volume.items())]
        path = self._task.replica.path
        if self._first_gap is not None and self._task.policy.is_compacted is False:
            file, position, offset = self._first_gap
            detail = f"{report.offset_gaps} gaps, the first at offset {offset}"
            report.add("offset-gap", file, detail, position=position, offset=offset)
        if len(self._codecs) > 1:
            names = ", ".join(map(compression_name, sorted(self._codecs)))
            report.add("codecs-mixed", path, f"compression types {names}")
        data_batches = report.batches - report.control_batches
        is_tiny = report.stored_records < 2 * data_batches and report.size < 1024 * data_batches
        if data_batches >= _TINY_BATCHES and is_tiny and not self._has_legacy:
            detail = (
                f"{report.stored_records} records in {data_batches} batches of {report.size // report.batches} bytes"
            )
            report.add("batches-tiny", path, detail)
        first = self._task.replica.segments[0].base_offset if self._task.replica.segments else 0
        if self._epoch_starts and self._epoch_starts[0][1] < first and self._task.is_clean:
            epoch, start = self._epoch_starts[0]
            detail = f"epoch {epoch} begins at offset {start}, the first segment at {first}"
            report.add("first-segments-missing", path / LEADER_EPOCH_CHECKPOINT, detail, offset=start)
        for epoch, start in self._epoch_starts:
            if start > report.log_end_offset and self._task.is_clean:
                detail = f"epoch {epoch} begins at offset {start}, the log ends at {report.log_end_offset}"
                report.add("leader-epoch-beyond-log", path / LEADER_EPOCH_CHECKPOINT, detail, offset=start)
