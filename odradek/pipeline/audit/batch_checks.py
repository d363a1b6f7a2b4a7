"""Checks the headers of batches, each alone and in sequence: offsets, leader epochs, times, codecs.

Reads no record. State: a few numbers for each partition. Source: Kafka's DefaultRecordBatch, LogValidator, LocalLog,
LeaderEpochFileCache.
"""

from bisect import bisect_right
from itertools import pairwise

import numpy

from odradek.protocol.records.compression import compression_name
from odradek.storage.errors import CorruptCheckpointError
from odradek.storage.files.checkpoints import read_epoch_checkpoint
from odradek.storage.files.file_names import LEADER_EPOCH_CHECKPOINT
from odradek.storage.segment.offset_index import MAX_RELATIVE_OFFSET

from ..decode.spans import Flags, Int64s
from ..directories.file_access import PathFiles
from .chunk_batches import CODECS, KNOWN_ATTRIBUTES, TRANSACTIONAL, BatchLocation, ChunkBatches
from .sums import BatchSums, EpochRun, OffsetPlace
from .tasks import AuditTask, DayVolume, PartitionReport, report_refusal

CLOCK_TOLERANCE_MS = 1000
"""How far append times may go back without a finding: the clocks of two leaders differ."""
_DAY_MS = 86_400_000
_NO_DATE_MS = 253_402_300_800_000  # the year 10,000: neither Python nor ISO 8601 has dates from here on
_TINY_BATCHES = 1000


class BatchChecks:
    """The checks of one partition. `gap_numbers`: the number of offset gaps before each batch of the last chunk.

    `gaps_before`: the number of gaps up to the first batch of the segment that is being read or was read last.
    """

    def __init__(self, task: AuditTask, report: PartitionReport) -> None:
        self.next_offset = -1
        self.gap_numbers: Int64s = numpy.zeros(0, numpy.int64)
        self.gaps_before = 0
        self._task = task
        self._report = report
        self._epoch = -1
        self._first_gap: BatchLocation | None = None
        self._greatest_time = -1
        self._append_time = -1
        self._codecs: set[int] = set()
        self._has_legacy = False
        self._volume: dict[int, list[int]] = {}
        self._sums: BatchSums | None = None
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

    def begin(self, sums: BatchSums | None) -> None:
        """Begins a segment, whose sums go into `sums`."""
        self._sums = sums

    def read(self, batches: ChunkBatches) -> None:
        """Checks the next batches of the log."""
        if self._sums is not None:
            _add_headers(self._sums, batches)
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
        for index in numpy.flatnonzero(batches.lasts - batches.segment.base_offset > MAX_RELATIVE_OFFSET).tolist():
            batches.found("offset-beyond-segment", index, f"the batch ends at offset {batches.lasts[index]}")
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
        if self._sums is not None:
            self._add_gaps(self._sums, batches, before, is_gap, is_hole)
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
        if self._sums is not None:
            _add_times(self._sums, times[has_data], times[has_data & batches.is_append_time])
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
        if self._sums is not None:
            _add_time_range(self._sums, low, int(times.max()))
        known &= times < _NO_DATE_MS
        days, slots = numpy.unique(times[known] // _DAY_MS, return_inverse=True)
        counts = numpy.bincount(slots, weights=records[known]).astype(numpy.int64).tolist()
        sizes = numpy.bincount(slots, weights=batches.sizes[known]).astype(numpy.int64).tolist()
        for day, count, size in zip(days.tolist(), counts, sizes, strict=True):
            for volumes in (self._volume,) if self._sums is None else (self._volume, self._sums.volume):
                volume = volumes.setdefault(day, [0, 0])
                volume[0] += count
                volume[1] += size

    # Sums of segments whose bytes are known ------------------------------------

    def _add_gaps(self, sums: BatchSums, batches: ChunkBatches, before: Int64s, is_gap: Flags, is_hole: Flags) -> None:
        """Adds the gaps of a chunk to the sums, without a gap before the segment's first batch."""
        is_first = sums.next_offset < 0
        own_gaps = is_gap.copy()
        if is_first:
            own_gaps[0] = False
            self.gaps_before = self._report.offset_gaps + int(is_gap[0])
        found = numpy.flatnonzero(own_gaps | is_hole)
        if sums.first_gap is None and len(found):
            first = int(found[0])
            offset = int(before[first] if own_gaps[first] else batches.bases[first])
            sums.first_gap = OffsetPlace(int(batches.places[first]), offset)
        sums.gaps += int(own_gaps.sum()) + int(is_hole.sum())
        sums.next_offset = max(sums.next_offset, int(batches.lasts.max()) + 1)

    def accepts(self, sums: BatchSums) -> bool:
        """Whether reading the segment would find no more than what its sums have, and `take` has the same effect."""
        if not sums.batches:
            return True
        if sums.first_offset < self.next_offset or sums.with_log_start(self._report.log_start_offset) is None:
            return False
        policy = self._task.policy
        if sums.latest_time > self._task.now_ms + max(policy.timestamp_after_max_ms, CLOCK_TOLERANCE_MS):
            return False
        if policy.timestamp_before_max_ms is not None and sums.least_time is not None:
            window = min(policy.timestamp_after_max_ms + policy.timestamp_before_max_ms, 1 << 62)
            if sums.least_time < max(self._greatest_time, sums.latest_time) - window:
                return False
        if sums.first_stamp is not None and sums.first_stamp < self._append_time - CLOCK_TOLERANCE_MS:
            return False
        if sums.epochs and sums.epochs[0].epoch < self._epoch:
            return False
        if not self._epoch_starts or not self._task.is_clean:
            return True
        return all(self._is_as_checkpointed(run) for run in sums.epochs)

    def _is_as_checkpointed(self, run: EpochRun) -> bool:
        """Whether the checkpoint has the epoch for all of the run's batches."""
        starts = [start for _, start in self._epoch_starts]
        low, high = bisect_right(starts, run.low) - 1, bisect_right(starts, run.high) - 1
        if high < 0:
            return True
        return (low == high or (low < 0 and high == 0)) and self._epoch_starts[high][0] == run.epoch

    def gaps_up_to(self, sums: BatchSums) -> int:
        """The number of gaps in the log up to the first batch of the next segment, which has these sums."""
        return self._report.offset_gaps + (0 <= self.next_offset < sums.first_offset)

    def take(self, sums: BatchSums, file: str) -> None:
        """Adds the sums of the log's next segment, which was accepted, instead of reading it."""
        report = self._report
        self.gaps_before = self.gaps_up_to(sums)
        if not sums.batches:
            report.size -= sums.lost_bytes
            return
        is_gap = self.gaps_before > report.offset_gaps
        if self._first_gap is None and is_gap:
            self._first_gap = BatchLocation(file, sums.first_position, self.next_offset)
        elif self._first_gap is None and sums.first_gap is not None:
            self._first_gap = BatchLocation(file, *sums.first_gap)
        counts = sums.with_log_start(report.log_start_offset)
        assert counts is not None
        report.offset_gaps += is_gap + sums.gaps
        report.batches += sums.batches
        report.control_batches += sums.control_batches
        report.records += counts[0]
        report.deleted_records += counts[1]
        report.size -= sums.lost_bytes
        if sums.max_timestamp is not None:
            report.max_timestamp = max(report.max_timestamp, sums.max_timestamp)
            low = report.min_timestamp
            report.min_timestamp = sums.min_timestamp if low < 0 else min(low, sums.min_timestamp)
        self.next_offset = max(self.next_offset, sums.next_offset)
        if sums.epochs:
            self._epoch = sums.epochs[-1].epoch
        self._greatest_time = max(self._greatest_time, sums.latest_time)
        if sums.first_stamp is not None:
            self._append_time = sums.last_stamp
        self._codecs.update(sums.codecs)
        self._has_legacy |= sums.has_legacy
        is_deleted = not counts[0]
        for day, (records, size) in sums.volume.items():
            volume = self._volume.setdefault(day, [0, 0])
            volume[0] += 0 if is_deleted else records
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


def _add_headers(sums: BatchSums, batches: ChunkBatches) -> None:
    if sums.first_position < 0:
        sums.first_offset, sums.first_position = int(batches.bases[0]), int(batches.places[0])
        sums.low_offset = sums.first_offset
    sums.low_offset = min(sums.low_offset, int(batches.bases.min()))
    codecs = numpy.flatnonzero(numpy.bincount(batches.codecs[batches.has_data])).tolist()
    sums.codecs = sorted({*sums.codecs, *codecs})
    sums.has_legacy |= bool(batches.is_legacy.any())
    with_epoch = numpy.flatnonzero(~batches.is_legacy)
    if not len(with_epoch):
        return
    epochs, bases = batches.epochs[with_epoch], batches.bases[with_epoch]
    starts = [0, *(numpy.flatnonzero(numpy.diff(epochs)) + 1).tolist(), len(epochs)]
    for start, end in pairwise(starts):
        run = EpochRun(int(epochs[start]), int(bases[start:end].min()), int(bases[start:end].max()))
        if sums.epochs and sums.epochs[-1].epoch == run.epoch:
            last = sums.epochs[-1]
            sums.epochs[-1] = EpochRun(run.epoch, min(last.low, run.low), max(last.high, run.high))
        else:
            sums.epochs.append(run)


def _add_times(sums: BatchSums, times: Int64s, stamps: Int64s) -> None:
    """Adds the maximum timestamps of batches with records, and of those that the broker has stamped."""
    if len(times):
        sums.latest_time = max(sums.latest_time, int(times.max()))
        known = times[times >= 0]
        if len(known):
            least = int(known.min())
            sums.least_time = least if sums.least_time is None else min(sums.least_time, least)
    if len(stamps):
        sums.first_stamp = int(stamps[0]) if sums.first_stamp is None else sums.first_stamp
        sums.last_stamp = int(stamps[-1])


def _add_time_range(sums: BatchSums, low: int, high: int) -> None:
    is_first = sums.max_timestamp is None
    sums.min_timestamp = low if is_first else min(sums.min_timestamp, low)
    sums.max_timestamp = high if sums.max_timestamp is None else max(sums.max_timestamp, high)
