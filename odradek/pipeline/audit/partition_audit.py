"""The audit of one replica of a partition: every batch, every index, and its entries in the checkpoints.

Reads segment by segment in chunks and passes them to the checks. Any bytes lead to findings, never to an exception.
Memory: one chunk of the log, the indexes of one segment, a few numbers for each segment, tables of producers and keys.
Source: catalogue_log.py and catalogue_directory.py name the checks.
"""

from collections.abc import Generator, Iterator
from contextlib import closing
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from odradek.protocol.common.lazy_imports import lazy_imports
from odradek.protocol.names.topics import OFFSETS_TOPIC, SHARE_STATE_TOPIC
from odradek.storage.files.checkpoints import (
    LOG_START_OFFSET_CHECKPOINT,
    RECOVERY_POINT_CHECKPOINT,
    REPLICATION_OFFSET_CHECKPOINT,
)
from odradek.storage.files.file_names import OFFSET_INDEX_SUFFIX, TIME_INDEX_SUFFIX

from ..decode.batch_table import BatchTable
from ..decode.checked_headers import CheckedHeaders, checked, read_headers
from ..decode.damage import Damage, DamageKind
from ..decode.segment_chunks import read_chunks
from ..directories.background_reading import READING
from ..directories.file_access import is_local, modified_ms
from ..directories.segment_files import SegmentFile, indexed_positions
from ..engine.job import Tell, untold
from .batch_checks import BatchChecks
from .chunk_batches import ChunkBatches
from .index_checks import OffsetIndexCheck, TimeIndexCheck
from .known_segments import KnownSegments
from .living import audit_living
from .producer_checks import ProducerChecks
from .recording import SegmentRecording
from .state_checks import (
    SegmentSummary,
    check_checkpoints,
    check_files,
    check_retention,
    check_topic_id,
)
from .sums import SegmentSums
from .tasks import AuditTask, PartitionReport, ReadingCounts, read_whole
from .transaction_checks import TransactionChecks

with lazy_imports:
    from ..decode import read_ahead
    from . import compaction_checks, record_checks
    from .groups import records as groups_records
    from .groups import share_records

if TYPE_CHECKING:
    from .groups.records import GroupRecords
    from .groups.share_records import ShareStateRecords
    from .record_checks import RecordChecks

HEADER_SIZE_UP_TO_MAGIC = 17
READ_AHEAD_BYTES = 64 << 20
"""Logs of at least this size are read ahead on threads, if only headers are read."""


def audit_partition(
    task: AuditTask, read_ahead_bytes: int = READ_AHEAD_BYTES, *, tell: Tell = untold
) -> PartitionReport:
    """Audits one replica as it is now. Raises OSError for errors that do not concern one file.

    `read_ahead_bytes`: the size from which a log is read ahead on threads. `tell`: hears of the bytes that are done.
    """
    known = KnownSegments(task)
    report = audit_living(task, partial(_audit_once, known=known, read_ahead_bytes=read_ahead_bytes, tell=tell))
    if report.is_known:
        known.save()
    report.reading = replace(report.reading or ReadingCounts(), notes=known.notes)
    return report


def _audit_once(task: AuditTask, known: KnownSegments, read_ahead_bytes: int, tell: Tell) -> PartitionReport:
    """Audits the files that the task names. Raises FileNotFoundError if one was removed."""
    replica = task.replica
    known.begin(task)
    report = PartitionReport(str(task.directory), replica.topic, replica.partition)
    audit = _PartitionAudit(task, report, known, tell)
    with closing(audit.segments(read_ahead_bytes)) as segments:
        for segment, items in segments:
            audit.read_segment(segment, items, is_active=segment is replica.segments[-1])
    audit.close()
    return report


class _PartitionAudit:
    """The audit of one replica: the state that passes from segment to segment."""

    def __init__(self, task: AuditTask, report: PartitionReport, known: KnownSegments, tell: Tell) -> None:
        self.task = task
        self.report = report
        self.known = known
        self.tell = partial(tell, task.replica.name)
        self.reading = report.reading = ReadingCounts()
        segments = task.replica.segments
        self.groups = _group_records(task)
        self.batches = BatchChecks(task, report)
        self.transactions = TransactionChecks(task, report)
        self.producers = ProducerChecks(task, report, self.transactions)
        self.records = _record_checks(task, report, self.groups) if task.reads_records else None
        self.summaries: list[SegmentSummary] = []
        report.segments = len(segments)
        report.size = sum(segment.size for segment in segments)
        first = segments[0].base_offset if segments else 0
        report.log_start_offset = max(first, task.checkpoints.get(LOG_START_OFFSET_CHECKPOINT, 0))
        report.log_end_offset = first
        report.high_watermark = task.checkpoints.get(REPLICATION_OFFSET_CHECKPOINT, -1)
        report.is_compacted = task.policy.is_compacted
        recovery_point = task.checkpoints.get(RECOVERY_POINT_CHECKPOINT, 0)
        recovered = [segment.base_offset for segment in segments if segment.base_offset <= recovery_point]
        report.recovery_start_offset = recovered[-1] if recovered else first

    def segments(
        self, read_ahead_bytes: int
    ) -> Generator[tuple[SegmentFile, Iterator[CheckedHeaders | Damage]], None, None]:
        """Each segment with its batches. If only headers are read and the log is large, reads ahead on threads."""
        segments = self.task.replica.segments
        is_large = self.report.size >= read_ahead_bytes and is_local(self.task.directory)
        is_slow = READING.get() is not None  # the threads that read ahead are not slowed down
        if self.records is None and is_large and not is_slow and not self.known.known:
            yield from read_ahead.read_ahead(segments, self._checked)
        else:
            for segment in segments:
                yield segment, self._checked(segment)

    def read_segment(self, segment: SegmentFile, items: Iterator[CheckedHeaders | Damage], *, is_active: bool) -> None:
        """Checks a segment's batches and indexes."""
        before = self.batches.next_offset - 1
        if before >= segment.base_offset:
            detail = f"it begins at {segment.base_offset}, the previous segment ends at {before}"
            self.report.add("segment-overlap", segment.path, detail, position=0, offset=segment.base_offset)
        self.producers.check_snapshot_at(segment.base_offset, self.report.log_start_offset)
        known = None if is_active else self.known.known_sums(segment)
        if known is not None and self._accepts(known):
            self._take(segment, known)
            return
        self.reading.bytes_read += segment.size
        recording = SegmentRecording(self.report) if self.known.is_used and not is_active else None
        self._begin(recording)
        segment, first, largest = self._read_items(segment, items, recording, is_active=is_active)
        records = None if self.records is None else self.records.end()
        if recording is not None:
            self.known.keep(segment, recording.end(segment, (first, largest), records), self.report)
        if segment.is_file:
            self.summaries.append(SegmentSummary(segment, first, largest, modified_ms(segment.path)))

    def _begin(self, recording: SegmentRecording | None) -> None:
        """Begins a segment in every check."""
        self.batches.begin(None if recording is None else recording.batches)
        self.transactions.begin(None if recording is None else recording.transactions)
        self.producers.begin(None if recording is None else recording.producers)
        if self.records is not None:
            self.records.begin(is_kept=recording is not None)

    def _accepts(self, sums: SegmentSums) -> bool:
        """Whether the checks can take the sums instead of the segment's bytes."""
        return (
            self.batches.accepts(sums.batches)
            and self.transactions.accepts(sums.transactions)
            and self.producers.accepts(sums.producers, self.batches.gaps_up_to(sums.batches))
            and (
                self.records is None or (sums.records is not None and self.records.accepts(sums.records, sums.batches))
            )
        )

    def _take(self, segment: SegmentFile, sums: SegmentSums) -> None:
        """Takes the sums, and repeats the findings of the segment."""
        file = str(segment.path)
        self.reading.bytes_known += segment.size
        self.tell(segment.size)
        self.batches.take(sums.batches, file)
        self.transactions.take(sums.transactions, file)
        self.producers.take(sums.producers, self.batches.gaps_before)
        if self.records is not None and sums.records is not None:
            self.records.take(sums.records)
        for name, other, detail, position, offset in sums.found:
            self.report.add(name, segment.path.with_name(other), detail, position=position, offset=offset)
        times = (sums.first_timestamp, sums.largest_timestamp, modified_ms(segment.path))
        self.summaries.append(SegmentSummary(segment, *times))
        self.known.keep_known(sums)

    def _read_items(
        self,
        segment: SegmentFile,
        items: Iterator[CheckedHeaders | Damage],
        recording: SegmentRecording | None,
        *,
        is_active: bool,
    ) -> tuple[SegmentFile, int, int]:
        """Reads the batches, and compares the indexes.

        Returns the segment without zeros at its end, the timestamp of the first batch, and the largest one.
        """
        offset_index = self._offset_index(segment)
        time_index = self._time_index(segment)
        lost: list[tuple[int, int]] = []
        first_timestamp = largest_timestamp = -1
        for item in items:
            if recording is not None:
                recording.read(item)
            self.tell(item.size if isinstance(item, Damage) else int(item.headers.disk_sizes.sum()))
            if isinstance(item, Damage):
                if item.kind is DamageKind.ZEROS and is_active:
                    segment = segment._replace(size=item.position)
                elif item.size:
                    lost.append((item.position, item.position + item.size))
                else:
                    lost.append((item.position, 1 << 62))  # the file can't be opened
                self._report_damage(segment, item, is_active=is_active)
            else:
                batches = self._read_batches(segment, item)
                if offset_index is not None:
                    offset_index.read(batches.places, batches.lasts, batches.sizes, batches.is_legacy)
                if time_index is not None:
                    time_index.read(batches.lasts, batches.max_timestamps)
                if first_timestamp < 0:
                    first_timestamp = int(batches.max_timestamps[0])
                largest_timestamp = max(largest_timestamp, int(batches.max_timestamps.max()))
        is_settled = self.task.is_clean or not is_active
        if offset_index is not None:
            offset_index.close(lost, segment.size, is_settled=is_settled)
        if time_index is not None:
            time_index.close(lost, is_settled=is_settled, is_active=is_active)
        self.transactions.check_index(segment, is_settled=is_settled and not lost)
        return segment, first_timestamp, largest_timestamp

    def _checked(self, segment: SegmentFile) -> Iterator[CheckedHeaders | Damage]:
        """Chunks of the segment's batches, and the damage between them.

        Chunks have the bytes of batches only if records are checked; otherwise only headers and CRC results.
        """
        positions = indexed_positions(segment)
        if self.records is None:
            yield from read_headers(segment.path, positions)
            return
        for item in read_chunks(segment.path, batch_positions=positions):
            yield item if isinstance(item, Damage) else checked(item)

    def _read_batches(self, segment: SegmentFile, found: CheckedHeaders) -> ChunkBatches:
        for damage in found.damage:
            self._report_damage(segment, damage, is_active=False)
        batches = ChunkBatches(segment, found, self.report)
        self.batches.read(batches)
        self.transactions.read(batches)
        self.producers.read(batches, self.batches.gap_numbers, self.batches.gaps_before)
        if self.records is not None:
            assert isinstance(found.headers, BatchTable)
            self.records.read(batches, found.headers)
        return batches

    def _report_damage(self, segment: SegmentFile, damage: Damage, *, is_active: bool) -> None:
        name = str(damage.kind)
        if damage.kind is DamageKind.ZEROS:
            self.report.size -= damage.size
            if is_active and not self.task.is_clean:
                return  # preallocated, or lost in a power failure: the next start truncates it
            name = str(DamageKind.INCOMPLETE if is_active else DamageKind.MAGIC)
        if is_active and self.task.is_clean and _stops_a_start(segment, damage):
            name = "log-end-unreadable"
        is_tail = is_active and damage.position + damage.size >= segment.size
        if damage.kind is DamageKind.INCOMPLETE and is_tail and not self.task.is_clean:
            name = "log-tail-torn"
        self.report.add(name, segment.path, damage.message, position=damage.position, offset=damage.base_offset)

    def _index_file(self, segment: SegmentFile, suffix: str, kind: str) -> tuple[Path, bytes] | None:
        path = segment.beside(suffix)
        try:
            data = read_whole(self.report, path)
        except FileNotFoundError:
            if segment.size:
                self.report.add(f"{kind}-index-missing", path, "the file does not exist", offset=segment.base_offset)
            return None
        return None if data is None else (path, data)

    def _offset_index(self, segment: SegmentFile) -> OffsetIndexCheck | None:
        found = self._index_file(segment, OFFSET_INDEX_SUFFIX, "offset")
        if found is None:
            return None
        path, data = found

        def report(name: str, detail: str, position: int, offset: int) -> None:
            self.report.add(name, path, detail, position=position, offset=offset)

        return OffsetIndexCheck(data, segment.base_offset, self.task.policy.index_interval_bytes, report)

    def _time_index(self, segment: SegmentFile) -> TimeIndexCheck | None:
        found = self._index_file(segment, TIME_INDEX_SUFFIX, "time")
        if found is None:
            return None
        path, data = found

        def report(name: str, detail: str, position: int, offset: int) -> None:
            self.report.add(name, path, detail, position=position, offset=offset)

        return TimeIndexCheck(data, segment.base_offset, report)

    def close(self) -> None:
        """Adds the figures and findings that need the whole log."""
        report, task = self.report, self.task
        report.log_end_offset = max(report.log_end_offset, self.batches.next_offset)
        first = task.replica.segments[0].base_offset if task.replica.segments else 0
        if report.log_start_offset > report.log_end_offset:
            report.log_start_offset = first  # check_checkpoints reports the checkpoint
        self.batches.close()
        self.transactions.close()
        if self.batches.next_offset not in {segment.base_offset for segment in task.replica.segments}:
            self.producers.check_snapshot_at(report.log_end_offset, report.log_start_offset)
        self.producers.check_snapshots()
        if self.records is not None:
            self.records.close()
        check_checkpoints(task, report)
        check_retention(task, report, self.summaries)
        if task.policy.is_compacted and self.summaries:
            first_open = min((offset for _, offset in self.transactions.open_offsets()), default=None)
            compaction_checks.check_compaction(task, report, self.summaries, first_open)
        check_files(task, report)
        check_topic_id(task, report)
        if self.groups is not None:
            self.groups.close(report)


def _stops_a_start(segment: SegmentFile, damage: Damage) -> bool:
    """Whether Kafka meets the damage when it looks for the end of an active segment after a clean stop.

    It reads the sizes of the batches from the last entry of the index on, up to the last HEADER_SIZE_UP_TO_MAGIC bytes
    (LogSegment.readNextOffset, FileLogInputStream.nextBatch). Zeros are a size that no batch has.
    """
    if damage.kind is DamageKind.ZEROS:
        return damage.size > HEADER_SIZE_UP_TO_MAGIC
    if damage.kind is not DamageKind.LENGTH or segment.size - damage.position <= HEADER_SIZE_UP_TO_MAGIC:
        return False
    indexed = indexed_positions(segment)
    return damage.position >= (indexed[-1] if indexed else 0)


def _group_records(task: AuditTask) -> "GroupRecords | ShareStateRecords | None":
    """What collects the records of groups or of their state; None for other topics.

    Imports them only here: they need Arrow, whose import takes half of the time of a small audit.
    """
    if task.replica.topic == OFFSETS_TOPIC:
        return groups_records.GroupRecords(task)
    if task.replica.topic == SHARE_STATE_TOPIC:
        return share_records.ShareStateRecords(task)
    return None


def _record_checks(
    task: AuditTask, report: PartitionReport, groups: "GroupRecords | ShareStateRecords | None"
) -> "RecordChecks":
    return record_checks.RecordChecks(task, report, groups)
