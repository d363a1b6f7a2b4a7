"""Checks records and their keys: offsets, times, null keys, duplicates, tombstones, skew.

Uses the pipeline's decoder and runs no Python code for each record. State: tables of bounded size. Source: Kafka's
DefaultRecordBatch, LogValidator, Cleaner; KIP-534.
"""

from typing import TYPE_CHECKING

import numpy

from odradek.protocol.common.lazy_imports import lazy_imports
from odradek.protocol.records.batch import BATCH_HEADER_SIZE, NO_TIMESTAMP

from ..decode.batch_table import BatchTable
from ..decode.damage import Damage
from ..decode.records import DecodedRecords, walk_chunk
from ..decode.spans import RECORD_COLUMNS, Int64s, Spans, WalkedRecords
from ..engine.compiled import IS_COMPILED
from .chunk_batches import CODECS, DELETE_HORIZON, BatchLocation, ChunkBatches
from .key_placement import KeyPlacement
from .key_tables import Hashes, KeyCounts, KeySet, hash_keys
from .packed_arrays import PackedArray
from .sums import BatchSums, RecordSums
from .tasks import AuditTask, PartitionReport

with lazy_imports:
    from ..decode import arrow_columns

if TYPE_CHECKING:
    from .groups.records import GroupRecords
    from .groups.share_records import ShareStateRecords

HORIZON_TOLERANCE_MS = 7 * 86_400_000
"""Tombstones may stay this long after their delete horizon without a finding: only a cleaning removes them."""
_LEAST_TIME = -(1 << 63)
_SKEW_RECORDS, _SKEW_KEYS = 1000, 10
_MOST_KEY_BYTES = 16 << 10


class _SegmentRecords:
    """What the records of one segment add to the partition. `is_kept`: also what only a later audit needs."""

    def __init__(self, task: AuditTask, *, is_kept: bool) -> None:
        self.counts = KeyCounts()
        self.placement = KeyPlacement(task.replica.partition, task.partition_count) if is_kept else None
        self.decoded_size = 0
        self.is_compressed = False
        self.clean_hashes: list[Hashes] = [numpy.zeros(0, numpy.int64)]
        self.least_horizon: int | None = None

    def add_horizons(self, horizons: Int64s) -> None:
        """Adds the delete horizons of tombstones."""
        if len(horizons):
            least = int(horizons.min())
            self.least_horizon = least if self.least_horizon is None else min(self.least_horizon, least)

    def sums(self, cleaned_to: int) -> RecordSums:
        """The sums. `cleaned_to`: the offset up to which the log is cleaned."""
        counts, placement = self.counts, self.placement
        is_placed = placement is not None and sum(len(key) for _, key in placement.placed) <= _MOST_KEY_BYTES
        return RecordSums(
            self.decoded_size,
            self.is_compressed,
            counts.records,
            PackedArray.of(counts.buckets.reshape(-1)),
            PackedArray.of(numpy.packbits(counts.bits)),
            cleaned_to,
            PackedArray.of(numpy.concatenate(self.clean_hashes)),
            self.least_horizon,
            placement.placed if placement is not None and is_placed else None,
            0 if placement is None else placement.looked_at,
        )


class RecordChecks:
    """The checks of one partition."""

    def __init__(
        self, task: AuditTask, report: PartitionReport, groups: "GroupRecords | ShareStateRecords | None"
    ) -> None:
        self._task = task
        self._report = report
        self._groups = groups
        self._is_compacted = task.policy.is_compacted is True
        self._counts = KeyCounts()
        self._placement = KeyPlacement(task.replica.partition, task.partition_count)
        self._clean_keys = KeySet()
        self._clean: list[tuple[Hashes, Int64s, Int64s]] = []
        self._late_tombstones = 0
        self._late_place: BatchLocation | None = None
        self._decoded_size = 0
        self._part_offset, self._part_time = -1, _LEAST_TIME
        self._is_compressed = False
        self._own = _SegmentRecords(task, is_kept=False)

    def begin(self, *, is_kept: bool) -> None:
        """Begins a segment. `is_kept`: whether its sums will be kept."""
        self._own = _SegmentRecords(self._task, is_kept=is_kept)

    def end(self) -> RecordSums | None:
        """Ends a segment: adds its sums to the partition's, and returns them if they are kept."""
        own = self._own
        self._counts.merge(own.counts)
        self._decoded_size += own.decoded_size
        self._is_compressed |= own.is_compressed
        return None if own.placement is None else own.sums(self._task.cleaned_to)

    def accepts(self, sums: RecordSums, batches: BatchSums) -> bool:
        """Whether reading the segment would find no more than what its sums have, and `take` has the same effect."""
        if sums.placed is None and not self._placement.is_decided:
            return False
        if not self._is_compacted or not batches.batches:
            return True
        cleaned_to, then = self._task.cleaned_to, sums.cleaned_to
        is_same = batches.low_offset >= max(cleaned_to, then) or batches.next_offset <= min(cleaned_to, then)
        if not is_same and cleaned_to != then:
            return False
        if sums.least_horizon is not None and sums.least_horizon < self._task.now_ms - HORIZON_TOLERANCE_MS:
            return False
        return not self._clean_keys.has_any(sums.clean_hashes.values())

    def take(self, sums: RecordSums) -> None:
        """Adds the sums of the log's next segment, which was accepted, instead of reading it."""
        self._counts.merge_packed(sums.key_records, sums.buckets, sums.bits)
        self._decoded_size += sums.decoded_size
        self._is_compressed |= sums.is_compressed
        self._clean_keys.add(sums.clean_hashes.values())
        self._placement.take(sums.placed or (), sums.looked_at)

    def read(self, batches: ChunkBatches, chunk: BatchTable) -> None:
        """Checks the records of the batches whose CRC is right. `chunk` has their bytes."""
        selected = batches.is_sound & (batches.codecs < CODECS)
        self._own.is_compressed |= bool((batches.has_data & (batches.codecs != 0)).any())
        is_plain = selected & (batches.codecs == 0)
        self._own.decoded_size += int(batches.sizes[~selected | is_plain].sum())
        self._check_wrappers(batches, chunk)
        around = self._around_log_start(batches)
        for item in walk_chunk(chunk, selected):
            if isinstance(item, Damage):
                place = {"position": item.position, "offset": item.base_offset}
                self._report.add(str(item.kind), batches.segment.path, item.message, **place)
            elif len(item.spans.offsets):
                self._read_walked(batches, chunk, item)
                if around >= 0:
                    kept = item.spans.offsets[item.spans.batches == around] >= self._report.log_start_offset
                    self._move_to_deleted(-int(kept.sum()))
        self._check_duplicates(batches)

    def _check_wrappers(self, batches: ChunkBatches, chunk: BatchTable) -> None:
        """Finds wrappers of format 0 with another offset than that of their last message: Kafka's consumer goes on
        after it. In format 1 the messages have their offsets from it."""
        offsets = chunk.wrapper_offsets
        if offsets is None:
            return
        for index in numpy.flatnonzero(batches.is_sound & (offsets != batches.lasts)).tolist():
            detail = f"the wrapper has offset {offsets[index]}, its last message {batches.lasts[index]}"
            batches.found("record-offsets-invalid", index, detail)

    def _around_log_start(self, batches: ChunkBatches) -> int:
        """The batch with gaps that the log start offset divides, so that its header does not tell its records; or -1.

        Counts all of its records as deleted; those that are not are counted when they are read.
        """
        start = self._report.log_start_offset
        is_around = (batches.bases < start) & (batches.lasts >= start) & (batches.counts <= batches.deltas)
        found = numpy.flatnonzero(is_around & batches.has_data & batches.is_sound & (batches.codecs < CODECS))
        if not len(found):
            return -1
        self._move_to_deleted(int(batches.counts_from(start)[found[0]]))
        return int(found[0])

    def _move_to_deleted(self, count: int) -> None:
        self._report.records -= count
        self._report.deleted_records += count

    def _read_walked(self, batches: ChunkBatches, chunk: BatchTable, item: WalkedRecords) -> None:
        spans = item.spans
        if item.unpacked_size:
            packed = int((batches.codecs[numpy.unique(spans.batches)] != 0).sum()) if item.is_last else 0
            self._own.decoded_size += item.unpacked_size + BATCH_HEADER_SIZE * packed
        self._check_offsets(batches, spans)
        if item.is_part:
            self._check_part(batches, item)
        else:
            self._check_times(batches, spans)
        self._check_keys(batches, item)
        if self._groups is not None:
            columns = arrow_columns.columns_of(chunk, item, RECORD_COLUMNS, is_compiled=IS_COMPILED)
            self._groups.read(chunk, DecodedRecords(columns, spans.batches))

    def _check_offsets(self, batches: ChunkBatches, rows: Spans) -> None:
        of_batch, offsets = rows.batches, rows.offsets
        same = of_batch[1:] == of_batch[:-1]
        wrong = (offsets < batches.bases[of_batch]) | (offsets > batches.lasts[of_batch])
        wrong[1:] |= same & (offsets[1:] <= offsets[:-1])
        for batch in numpy.unique(of_batch[wrong]).tolist():
            detail = f"the header has offsets {batches.bases[batch]} to {batches.lasts[batch]}"
            batches.found("record-offsets-invalid", batch, detail)

    def _check_part(self, batches: ChunkBatches, item: WalkedRecords) -> None:
        """Checks the parts of a large batch together: rising offsets, and the header's maximum timestamp."""
        spans = item.spans
        batch = int(spans.batches[0])
        if int(spans.offsets[0]) <= self._part_offset:
            detail = f"the header has offsets {batches.bases[batch]} to {batches.lasts[batch]}"
            batches.found("record-offsets-invalid", batch, detail)
        self._part_offset = int(spans.offsets[-1])
        self._part_time = max(self._part_time, int(spans.timestamps.max()))
        if not item.is_last:
            return
        is_checked = not batches.is_append_time[batch] and not batches.is_control[batch]
        if is_checked and batches.max_timestamps[batch] not in (self._part_time, max(self._part_time, NO_TIMESTAMP)):
            detail = f"the header has {batches.max_timestamps[batch]}, the records {self._part_time}"
            batches.found("batch-max-timestamp-wrong", batch, detail)
        self._part_offset, self._part_time = -1, _LEAST_TIME

    def _check_times(self, batches: ChunkBatches, rows: Spans) -> None:
        """Compares the maximum timestamp of each batch's records with its header."""
        heads = numpy.flatnonzero(numpy.concatenate([[True], rows.batches[1:] != rows.batches[:-1]]))
        greatest = numpy.maximum.reduceat(rows.timestamps, heads)
        of_batch = rows.batches[heads]
        in_header = batches.max_timestamps[of_batch]
        # A broker that has to write the header anew begins its search for the maximum at -1 (LogValidator).
        is_right = (greatest == in_header) | (numpy.maximum(greatest, NO_TIMESTAMP) == in_header)
        wrong = ~is_right & ~batches.is_append_time[of_batch]
        for slot in numpy.flatnonzero(wrong & ~batches.is_control[of_batch]).tolist():
            batch = int(of_batch[slot])
            detail = f"the header has {batches.max_timestamps[batch]}, the records {greatest[slot]}"
            batches.found("batch-max-timestamp-wrong", batch, detail)

    def _check_keys(self, batches: ChunkBatches, item: WalkedRecords) -> None:
        rows = item.spans
        is_data = ~batches.is_control[rows.batches]
        is_null = rows.keys.is_null
        has_key = numpy.flatnonzero(is_data & ~is_null)
        hashes = hash_keys(item.payload, rows.keys, has_key)
        self._own.counts.add(hashes)
        self._placement.read(item.payload, rows.keys, has_key)
        if self._own.placement is not None:
            self._own.placement.read(item.payload, rows.keys, has_key)
        if not self._is_compacted:
            return
        for batch in numpy.unique(rows.batches[is_data & is_null]).tolist():
            batches.found("null-key-in-compacted-topic", batch, "the batch has records without a key")
        is_clean = rows.offsets[has_key] < self._task.cleaned_to
        if is_clean.any():
            chosen = has_key[is_clean]
            self._clean.append((hashes[is_clean], rows.offsets[chosen], rows.batches[chosen]))
        has_horizon = ((batches.attributes & DELETE_HORIZON) != 0)[rows.batches]
        if has_horizon.any():
            horizons = batches.chunk.column("base_timestamp")[rows.batches]
            is_tombstone = is_data & has_horizon & rows.values.is_null
            self._own.add_horizons(horizons[is_tombstone])
            late = horizons < self._task.now_ms - HORIZON_TOLERANCE_MS
            self._count_late(batches, rows, numpy.flatnonzero(is_tombstone & late))

    def _check_duplicates(self, batches: ChunkBatches) -> None:
        """Finds duplicate keys in the clean part, in the order of the log (compressed records were decoded last)."""
        if not self._clean:
            return
        hashes, offsets, of_batch = (numpy.concatenate(column) for column in zip(*self._clean, strict=True))
        self._clean = []
        order = numpy.argsort(offsets, kind="stable")
        self._own.clean_hashes.append(hashes[order])
        for row in order[self._clean_keys.add(hashes[order])].tolist():
            detail = f"an earlier record has the same key as the one at offset {offsets[row]}"
            place = {"position": int(batches.places[of_batch[row]]), "offset": int(offsets[row])}
            self._report.add("duplicate-keys-in-clean-part", batches.segment.path, detail, **place)

    def _count_late(self, batches: ChunkBatches, rows: Spans, late: Int64s) -> None:
        self._late_tombstones += len(late)
        if len(late) and self._late_place is None:
            place = int(batches.places[rows.batches[late[0]]])
            self._late_place = BatchLocation(str(batches.segment.path), place, int(rows.offsets[late[0]]))

    def close(self) -> None:
        """Adds the figures and findings that need the whole log."""
        report, counts = self._report, self._counts
        report.decoded_size = self._decoded_size
        report.distinct_keys, report.largest_key_records = counts.distinct, counts.most
        if self._late_place is not None:
            file, position, offset = self._late_place
            detail = f"{self._late_tombstones} tombstones, the first at offset {offset}"
            report.add("tombstones-past-horizon", file, detail, position=position, offset=offset)
        if counts.records >= _SKEW_RECORDS and counts.distinct >= _SKEW_KEYS and 5 * counts.most > counts.records:
            detail = f"one key has {counts.most} of {counts.records} records, there are about {counts.distinct} keys"
            report.add("key-skew", self._task.replica.path, detail)
        elsewhere = self._placement.found()
        if elsewhere is not None:
            detail = f"the keys belong to partition {elsewhere.partition} by the partitioner of {elsewhere.partitioner}"
            report.add("keys-of-another-partition", self._task.replica.path, detail)
        saved = self._decoded_size - report.size
        if report.size >= 1 << 20 and self._is_compressed and saved < report.size // 20:
            detail = f"{report.size} bytes on disk, {self._decoded_size} decompressed"
            report.add("compression-without-gain", self._task.replica.path, detail)
