"""Opens a partition's directory: finishes interrupted operations (:mod:`.swap_files`), recovers, rebuilds state.

After a clean stop only the tail of the last segment is read. Otherwise every segment from the recovery point on is
checked batch by batch (CRC, offsets), cut at the first damage, and its indexes, leader epochs and producers are
rebuilt. Segments after a cut are removed. Never does: serving. Source: Kafka's LogLoader, LogSegment.recover,
UnifiedLog.rebuildProducerState.
"""

import logging
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from ...protocol.records.batch import BatchHeader, check_crc
from ...protocol.records.errors import CorruptRecordError
from ...protocol.steps import run_to_end
from ..errors import CorruptCheckpointError, CorruptIndexError
from ..files.descriptors import DescriptorCache
from ..files.file_names import (
    INDEX_SUFFIXES,
    LEADER_EPOCH_CHECKPOINT,
    LOG_SUFFIX,
    PARTITION_METADATA,
    TRANSACTION_INDEX_SUFFIX,
    base_offset_of,
    segment_path,
)
from ..files.files import Files
from ..producers.producer_snapshots import ProducerSnapshots
from ..producers.producer_state import ProducerStateManager
from ..segment.offset_index import MAX_RELATIVE_OFFSET
from ..segment.recovery import resume_recovery
from ..segment.segment import Segment
from .epoch_repair import DAMAGE, complete_epochs, epochs_fit
from .leader_epochs import LeaderEpochs
from .log_config import LogConfig
from .log_segments import LogSegments
from .producer_replay import apply_to_producers, rebuild_producers
from .swap_files import recover_swap_files

logger = logging.getLogger(__name__)

SMALL_FILES = (PARTITION_METADATA, LEADER_EPOCH_CHECKPOINT)
"""Files besides segments that the process before the crash may have written and not synced."""


class RecoveryReports(NamedTuple):
    """Who gets the progress of a recovery."""

    call: Callable[[str, int, int, int], None]
    """Called with (a segment's file, the end of its checked part, its size, the bytes since the last call). If it
    raises, the recovery ends.
    """
    every_bytes: int
    """It is called when this many bytes of a segment were checked, and at the segment's end."""


@dataclass(slots=True)
class LoadedLog:
    """The parts of an open log. `was_recovered`: batches were checked and need a sync."""

    segments: LogSegments
    leader_epochs: LeaderEpochs
    producer_state: ProducerStateManager
    snapshots: ProducerSnapshots
    log_start_offset: int
    log_end_offset: int
    recovery_point: int
    was_recovered: bool
    unsynced_paths: list[Path]
    """Indexes and snapshots that recovery has written, for the next flush to sync."""


class LogLoader:
    """Loads one directory; used once."""

    def __init__(
        self,
        directory: Path,
        config: LogConfig,
        descriptors: DescriptorCache,
        *,
        now_ms: int,
        recovery_point: int,
        log_start_offset: int,
        clean_shutdown: bool,
        jitter_seed: int,
        before_cut: Callable[[Path, int], None] | None = None,
        reports: RecoveryReports | None = None,
    ) -> None:
        """`before_cut` is called with the file and the position of damage before recovery cuts there; if it raises,
        nothing is cut.

        `reports` gets the progress of recovery.
        """
        self.directory = directory
        self.config = config
        self.descriptors = descriptors
        self.before_cut = before_cut
        self.reports = reports
        self.report_bytes = sys.maxsize if reports is None else reports.every_bytes
        self.files = descriptors.files
        self.now_ms = now_ms
        self.recovery_point = recovery_point
        self.log_start_offset = log_start_offset
        self.clean_shutdown = clean_shutdown
        self.jitter_seed = jitter_seed
        self.segments = LogSegments()
        self.state = ProducerStateManager()
        self.epochs_are_lost = False
        self.unsynced_paths: list[Path] = []

    def load(self) -> LoadedLog:
        """Opens the log. Raises OSError."""
        self.files.make_directory(self.directory)
        recover_swap_files(self.files, self.directory)
        names = self._load_segments()
        self.snapshots = ProducerSnapshots(self.directory, self.files, names)
        self.leader_epochs = self._load_leader_epochs()
        self._check_transaction_indexes(names)
        was_recovered = not self.clean_shutdown and len(self.segments) > 0
        if was_recovered:
            self.unsynced_paths += [self.directory / name for name in SMALL_FILES if name in names]
            self._recover()
        log_end_offset = self._find_log_end()
        start = max(self.log_start_offset, self.segments.first.base_offset)
        if (
            not was_recovered
            and not self.epochs_are_lost
            and not epochs_fit(self.leader_epochs, self.segments, start, log_end_offset)
        ):
            logger.warning(
                "%s does not match the batches; rebuilding it from the log", self.directory / LEADER_EPOCH_CHECKPOINT
            )
            self.leader_epochs.clear()
            self.epochs_are_lost = True
        known_from = self.leader_epochs.first_start_offset
        if was_recovered or self.epochs_are_lost or (known_from is not None and known_from > start):
            complete_epochs(self.leader_epochs, self.segments, start)
        self.leader_epochs.truncate_from_end(log_end_offset)
        self.leader_epochs.truncate_from_start(self.log_start_offset)
        self.snapshots.remove_strays(self.segments.base_offsets)
        if not was_recovered or self.state.map_end_offset != log_end_offset:
            self._rebuild_producers(start, log_end_offset, clean_shutdown=self.clean_shutdown)
        recovery_point = log_end_offset if self.clean_shutdown else min(self.recovery_point, log_end_offset)
        return LoadedLog(
            self.segments,
            self.leader_epochs,
            self.state,
            self.snapshots,
            start,
            log_end_offset,
            recovery_point,
            was_recovered,
            self.unsynced_paths,
        )

    def _rebuild_producers(self, start: int, end: int, *, clean_shutdown: bool) -> None:
        expiration_ms = self.config.producer_id_expiration_ms
        run_to_end(
            rebuild_producers(
                self.state,
                self.snapshots,
                self.segments,
                start,
                end,
                self.now_ms,
                expiration_ms,
                clean_shutdown=clean_shutdown,
            )
        )

    def _load_segments(self) -> list[str]:
        """Adds the segments in the directory. Returns the names of all files."""
        entries = [entry for entry in self.files.list(self.directory) if entry.is_file()]
        names = {entry.name for entry in entries}
        for entry in entries:
            base_offset = base_offset_of(entry.name)
            if base_offset is None:
                continue
            if entry.name.endswith(INDEX_SUFFIXES):
                if f"{base_offset:020d}{LOG_SUFFIX}" not in names:
                    logger.warning("Found an orphaned index file %s, with no corresponding log file.", entry.path)
                    self.files.remove(Path(entry.path))
            elif entry.name.endswith(LOG_SUFFIX):
                self.segments.add(
                    Segment(
                        self.directory,
                        base_offset,
                        entry.stat().st_size,
                        self.descriptors,
                        index_interval_bytes=self.config.index_interval_bytes,
                        jitter_ms=self.config.roll_jitter_ms(self.jitter_seed, base_offset),
                        created_ms=self.now_ms,
                    )
                )
        return sorted(names)

    def _load_leader_epochs(self) -> LeaderEpochs:
        try:
            return LeaderEpochs(self.directory, self.files)
        except CorruptCheckpointError as damage:
            # Kafka takes the directory offline here. The batches have the same information, so it is rebuilt from all
            # of them.
            logger.warning("%s; rebuilding it from the log", damage)
            self.files.remove(self.directory / LEADER_EPOCH_CHECKPOINT)
            self.epochs_are_lost = True
            return LeaderEpochs(self.directory, self.files)

    def _check_transaction_indexes(self, names: list[str]) -> None:
        """If a transaction index is damaged, recovery starts at its segment: readers must not miss aborts."""
        for segment in self.segments:
            if f"{segment.base_offset:020d}{TRANSACTION_INDEX_SUFFIX}" not in names:
                continue
            try:
                entries = segment.indexes.transaction.entries
                following = self.segments.after(segment)
                if following is not None and entries and entries[-1].last_offset >= following.base_offset:
                    raise CorruptIndexError(f"{entries[-1]} ends after the end of the segment")
            except CorruptIndexError as damage:
                logger.warning("%s: %s; recovering from this segment on", segment.path, damage)
                self.recovery_point = min(self.recovery_point, segment.base_offset)
                self.clean_shutdown = False
                return

    # Recovery ----------------------------------------------------------------

    def _recover(self) -> None:
        """Checks the batches from the recovery point on; cuts at the first damage and drops what follows.

        Batches below the recovery point were synced together with their indexes. Kafka reads the whole segment that
        holds the recovery point; here that is done only if the segment's indexes can't be trusted.
        """
        unflushed = self.segments.reaching(self.recovery_point)
        first = unflushed[0]
        position = resume_recovery(first, self.recovery_point)
        checked_from = self.recovery_point if position else first.base_offset
        self._rebuild_producers(self.log_start_offset, checked_from, clean_shutdown=False)
        for index, segment in enumerate(unflushed):
            if index:
                segment.indexes.reset()
                position, checked_from = 0, segment.base_offset
            if index and self.state.map_end_offset <= segment.base_offset:
                self.state.map_end_offset = segment.base_offset
                self.snapshots.write(segment.base_offset, self.state.producers.values(), sync=False)
                self.unsynced_paths.append(self.snapshots.path(segment.base_offset))
            valid = self._recover_segment(segment, position, checked_from)
            if valid < segment.size:
                if self.before_cut is not None:
                    self.before_cut(segment.path, valid)
                logger.warning(
                    "%s: damaged at byte %d; removing the last %d bytes", segment.path, valid, segment.size - valid
                )
                # Later segments are removed durably first. After a crash here, the next start still finds the damage.
                for later in unflushed[index + 1 :]:
                    logger.warning("%s: removing the segment, because it follows a damaged one", later.path)
                    self.segments.remove(later)
                    remove_segment_files(self.files, later)
                    self.snapshots.remove(later.base_offset)
                self.files.sync_directory(self.directory)
                segment.file.cut_durably(valid)
                self.unsynced_paths += segment.indexes.become_inactive()
                return
            self.unsynced_paths += segment.indexes.become_inactive()
            if index + 1 < len(unflushed):
                self._name_hole(segment, unflushed[index + 1].base_offset)

    def _name_hole(self, segment: Segment, following: int) -> None:
        """Logs that offsets are missing before the next segment, and keeps that segment, as Kafka does.

        A power failure may keep a later unsynced segment and lose the end of an earlier one; but a log that was once
        compacted, here or on a former leader, looks the same, and a cut would lose synced records.
        """
        if following > self.state.map_end_offset and not self.config.is_compacted:
            logger.warning(
                "%s ends before offset %d, and the next segment begins at %d: a power failure lost the records between "
                "them, or compaction removed them",
                segment.path,
                self.state.map_end_offset,
                following,
            )

    def _recover_segment(self, segment: Segment, valid: int, next_offset: int) -> int:
        """Rebuilds the state of one segment after its first `valid` bytes, which end at `next_offset`.

        Returns how many of its bytes are whole, valid batches. No CRC covers base offset and leader epoch. They are
        compared with the next batch's header before a batch is applied. If two neighbours contradict each other and the
        later one fits the batches before both, the earlier one counts as damaged, otherwise the later one.
        """
        reported = valid
        following = self.segments.after(segment)
        epoch = -1
        waiting: tuple[int, BatchHeader, memoryview] | None = None
        try:
            for position, header, batch in segment.file.batches(valid):
                check_crc(batch, 0, header)
                if waiting is not None:
                    _check_order(waiting[1], header, next_offset, epoch, position)
                    taken, waiting = waiting, None
                    epoch = taken[1].partition_leader_epoch
                    next_offset, valid = self._apply_append(segment, *taken)
                    if valid - reported >= self.report_bytes:
                        reported = self._report_recovery(segment, valid, reported)
                if header.base_offset < next_offset or header.last_offset - segment.base_offset > MAX_RELATIVE_OFFSET:
                    raise CorruptRecordError(
                        f"the batch at {position} has offset {header.base_offset}, expected {next_offset}"
                    )
                waiting = position, header, batch
        except DAMAGE as damage:
            if waiting is not None and not isinstance(damage, _DamagedBeforeError):
                _, valid = self._apply_append(segment, *waiting)
            logger.warning(
                "Found invalid messages in log segment %s at byte offset %d: %s", segment.path, valid, damage
            )
        else:
            if waiting is not None:
                if following is not None and waiting[1].next_offset > following.base_offset:
                    logger.warning(
                        "Found invalid messages in log segment %s at byte offset %d: it has offsets up to %d, which "
                        "belong to the next segment",
                        segment.path,
                        valid,
                        waiting[1].last_offset,
                    )
                else:
                    _, valid = self._apply_append(segment, *waiting)
        self._report_recovery(segment, valid, reported)
        return valid

    def _apply_append(self, segment: Segment, position: int, header: BatchHeader, batch: memoryview) -> tuple[int, int]:
        """Updates indexes, producers and epochs for a batch. Returns (next offset, position after the batch)."""
        apply_to_producers(self.state, segment, header, batch)
        segment.indexes.note_appended(header, header.base_offset, position, header.size_in_bytes)
        epoch = header.partition_leader_epoch
        if epoch >= 0 and self.leader_epochs.epoch_of(header.base_offset) != epoch:
            self.leader_epochs.assign(epoch, header.base_offset)
        return header.next_offset, position + header.size_in_bytes

    def _report_recovery(self, segment: Segment, valid: int, reported: int) -> int:
        if self.reports is not None:
            self.reports.call(str(segment.path), valid, segment.size, valid - reported)
        return valid

    def _find_log_end(self) -> int:
        """The log end offset. A log that ends before its start, or has no segment, is started anew at its start."""
        if len(self.segments):
            log_end_offset = self.segments.active.next_offset()
            if log_end_offset >= self.log_start_offset:
                return log_end_offset
            logger.warning(
                "%s: removing all segments: the log end offset %d is lower than the log start offset %d",
                self.directory,
                log_end_offset,
                self.log_start_offset,
            )
            for segment in self.segments:
                self.segments.remove(segment)
                remove_segment_files(self.files, segment)
            for offset in self.snapshots.offsets:
                self.snapshots.remove(offset)
            self.leader_epochs.clear()
            self.state.reset(self.log_start_offset)
        self.segments.add(
            Segment.create(
                self.directory,
                self.log_start_offset,
                self.descriptors,
                index_interval_bytes=self.config.index_interval_bytes,
                jitter_ms=self.config.roll_jitter_ms(self.jitter_seed, self.log_start_offset),
                created_ms=self.now_ms,
            )
        )
        return self.log_start_offset


class _DamagedBeforeError(CorruptRecordError):
    """The batch before the one that was read is damaged."""


def _check_order(earlier: BatchHeader, later: BatchHeader, next_offset: int, epoch: int, position: int) -> None:
    """Raises CorruptRecordError if offsets or leader epochs fall; _DamagedBeforeError if `earlier` is the damaged one.

    `next_offset` and `epoch`: the end offset and the leader epoch of the batches before both.
    """
    if later.base_offset < earlier.next_offset:
        problem = f"offset {later.base_offset} at {position} follows {earlier.last_offset}"
        is_earlier = later.base_offset > next_offset
    elif 0 <= later.partition_leader_epoch < earlier.partition_leader_epoch:
        problem = f"leader epoch {later.partition_leader_epoch} at {position} follows {earlier.partition_leader_epoch}"
        is_earlier = later.partition_leader_epoch >= epoch
    else:
        return
    if is_earlier:
        raise _DamagedBeforeError(f"{problem}; the earlier batch is damaged")
    raise CorruptRecordError(problem)


def remove_segment_files(files: Files, segment: Segment) -> None:
    """Removes a segment's files at once."""
    segment.file.forget()
    for suffix in (*INDEX_SUFFIXES, LOG_SUFFIX):
        files.remove(segment_path(segment.file.directory, segment.base_offset, suffix))
