"""Opens a partition's directory: finishes interrupted operations (:mod:`.swap_files`), recovers, rebuilds state.

After a clean stop only the tail of the last segment is read. Otherwise, or if that tail is damaged, every segment from
the recovery point on is checked batch by batch (CRC, offsets), cut at the first damage, and its indexes, leader epochs
and producers are rebuilt. What is cut is set aside (set_aside.py). A batch that is whole and that we don't understand
is not damage: the log is not opened, and stays as it is. Never does: serving. Source: Kafka's LogLoader,
LogSegment.recover, UnifiedLog.rebuildProducerState.
"""

import logging
import sys
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from odradek.protocol.common.holder import holder
from odradek.protocol.common.steps import run_to_end
from odradek.protocol.records.batch import BatchHeader, check_crc
from odradek.protocol.records.errors import CorruptRecordError, InvalidRecordError, UnknownMagicError

from ..errors import CorruptCheckpointError, CorruptIndexError, UnsupportedBatchError
from ..files.checkpoints import LOG_START_OFFSET_CHECKPOINT
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
from .leader_epochs import LeaderEpochs, complete_epochs, epochs_fit
from .log_config import LogConfig
from .log_segments import LogSegments
from .producer_replay import apply_to_producers, rebuild_producers
from .set_aside import remove_expired, set_aside_segment, set_aside_tail, unknown_magic_at
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


@holder()
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
        """Opens the log. Raises OSError; UnsupportedBatchError if it has a batch that this version can't read."""
        self.files.make_directory(self.directory)
        recover_swap_files(self.files, self.directory)
        names = self._load_segments()
        self.snapshots = ProducerSnapshots(self.directory, self.files, names)
        self.leader_epochs = self._load_leader_epochs()
        remove_expired(self.files, self.directory, names, self.now_ms)
        self._check_transaction_indexes(names)
        self._check_tail()
        was_recovered = not self.clean_shutdown and len(self.segments) > 0
        if was_recovered:
            self.unsynced_paths += [self.directory / name for name in SMALL_FILES if name in names]
            self._recover()
        log_end_offset = self._find_log_end()
        self._check_log_start(log_end_offset)
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

    def _check_tail(self) -> None:
        """If the last segment has a torn tail in spite of a clean stop, as in a copy that was made too early, recovery
        checks that segment.
        """
        if not self.clean_shutdown or not len(self.segments):
            return
        active = self.segments.active
        try:
            active.next_offset()
        except CorruptRecordError as damage:
            logger.warning("%s, in spite of the marker of a clean stop; recovering the log", damage.message)
            self.recovery_point = min(self.recovery_point, active.base_offset)
            self.clean_shutdown = False

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
                self._cut(segment, valid, unflushed[index + 1 :])
                return
            self.unsynced_paths += segment.indexes.become_inactive()
            if index + 1 < len(unflushed):
                self._name_hole(segment, unflushed[index + 1].base_offset)

    def _cut(self, segment: Segment, valid: int, following: list[Segment]) -> None:
        """Takes the bytes after the first `valid` ones out of the log, and the segments after this one."""
        if self.before_cut is not None:
            self.before_cut(segment.path, valid)
        tail = set_aside_tail(self.files, segment, valid, self.now_ms)
        logger.warning(
            "%s: damaged at byte %d; removing the last %d bytes%s",
            segment.path,
            valid,
            segment.size - valid,
            "" if tail is None else f", which are kept in {tail}",
        )
        # Later segments are removed durably first. After a crash here, the next start still finds the damage.
        for later in following:
            self.segments.remove(later)
            if later.size:
                kept = set_aside_segment(self.files, later, self.now_ms)
                logger.warning("%s: renamed to %s, because it follows a damaged segment", later.path, kept.name)
            remove_segment_files(self.files, later)
            self.snapshots.remove(later.base_offset)
        self.files.sync_directory(self.directory)
        segment.file.cut_durably(valid)
        self.unsynced_paths += segment.indexes.become_inactive()

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
        except CorruptRecordError as damage:
            if waiting is not None and not isinstance(damage, _DamagedBeforeError):
                _, valid = self._apply_append(segment, *waiting)
            if isinstance(damage, UnknownMagicError):
                self._refuse_unknown_magic(segment, valid)
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
        try:
            apply_to_producers(self.state, segment, header, batch)
        except InvalidRecordError as problem:  # a marker that is not readable, in a batch whose CRC is right
            raise _unsupported(segment, position, problem.message) from problem
        segment.indexes.note_appended(
            header.base_offset, header.last_offset, header.max_timestamp, position, header.size_in_bytes
        )
        epoch = header.partition_leader_epoch
        if epoch >= 0 and self.leader_epochs.epoch_of(header.base_offset) != epoch:
            self.leader_epochs.assign(epoch, header.base_offset)
        return header.next_offset, position + header.size_in_bytes

    def _refuse_unknown_magic(self, segment: Segment, position: int) -> None:
        """Raises UnsupportedBatchError if the bytes at `position` are a batch of a later message format."""
        magic = unknown_magic_at(self.files, segment.file.hold_open().fd, position, segment.size)
        if magic is not None:
            raise _unsupported(segment, position, f"its magic is {magic}, and the latest that is known is 2")

    def _report_recovery(self, segment: Segment, valid: int, reported: int) -> int:
        if self.reports is not None:
            self.reports.call(str(segment.path), valid, segment.size, valid - reported)
        return valid

    def _find_log_end(self) -> int:
        """The log end offset. A log without segments begins at its log start offset."""
        if len(self.segments):
            return self.segments.active.next_offset()
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

    def _check_log_start(self, log_end_offset: int) -> None:
        """Ignores a log start offset after the log's end. Kafka removes all segments then, so that one wrong digit in
        the checkpoint costs the partition.
        """
        if self.log_start_offset <= log_end_offset:
            return
        first = self.segments.first.base_offset
        logger.warning(
            "%s: %s says that the log starts at offset %d, but it ends at %d; serving it from offset %d on",
            self.directory,
            LOG_START_OFFSET_CHECKPOINT,
            self.log_start_offset,
            log_end_offset,
            first,
        )
        self.log_start_offset = first


class _DamagedBeforeError(CorruptRecordError):
    """The batch before the one that was read is damaged."""


def _unsupported(segment: Segment, position: int, problem: str) -> UnsupportedBatchError:
    return UnsupportedBatchError(
        f"{segment.path}: the batch at byte {position} is whole, but can't be read: {problem}. The partition is not "
        "served, and its log stays as it is. Serve it with a version that can read it, or move this file away to serve "
        "the records before it"
    )


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
