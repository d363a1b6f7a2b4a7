"""A cleaning round over a log that is open and served: its input, and the exchange of segments after it.

    round_ = LiveRound(log, ...)                               on the loop: collects the input of the round
    outcome = carry_out(round_.order, files, pace)             anywhere: the long step
    for each group: stage, sync, commit, sync, rename, sync    on the loop, except for the syncs
    round_.close()                                             on the loop

Owns: the files whose swap is unfinished. Never does: decoding a batch. Invariants: a group replaces exactly the
segments that it was made from, or none. Any other operation that removes, truncates or moves a part of the log
interrupts the round first (`LogFiles`). After a crash at any point the loader finds the old segments or the cleaned
one. Source: Kafka's UnifiedLog.replaceSegments; LogCleanerManager's LogCleaningAborted.
"""

from collections.abc import Callable

from ..files.file_names import CLEANED_SUFFIX, INDEX_SUFFIXES, LOG_SUFFIX, SEGMENT_SUFFIXES, SWAP_SUFFIX, segment_path
from ..files.files import Files
from ..log.log import Log
from ..segment.segment import Segment
from .cleaning import CleanedGroup
from .grouping import CleanableRange, SegmentInfo, cleanable_range
from .order import CleaningOrder, RoundLimits, discard_cleaned
from .pace import CleaningStoppedError
from .partition_facts import last_records_of


class LiveRound:
    """One cleaning round over an open log, from its input to the exchange of segments. Times are ms since 1970."""

    def __init__(self, log: Log, offsets: CleanableRange, now_ms: int, limits: RoundLimits) -> None:
        """Collects the input of the round. The log counts as being cleaned until `close`. Raises OSError,
        StorageError.
        """
        log.removal.finish_truncation()
        log.health.check_usable()
        active = log.segments.active
        sealed = [segment for segment in log.segments if segment is not active]
        self.order = CleaningOrder(
            log.directory,
            log.config,
            now_ms,
            offsets,
            tuple((segment.base_offset, segment.size) for segment in sealed),
            active.base_offset,
            active.indexes.transaction.to_bytes(),
            last_records_of(log.producer_state),
            limits,
        )
        self.is_interrupted = False
        self.on_interrupt: Callable[[], object] = lambda: None
        """Called when the round is interrupted, so that its worker can stop."""
        self._log = log
        self._sources = {segment.base_offset: segment for segment in sealed}
        self._staged: CleanedGroup | None = None
        self._committed: Segment | None = None
        assert log.log_files.cleaning is None, "one round at a time"
        log.log_files.cleaning = self

    @property
    def files(self) -> Files:
        """The log's file layer."""
        return self._log.log_files.files

    def interrupt(self) -> None:
        """Ends the round because the log is about to change: nothing more is swapped in. Raises OSError."""
        self.is_interrupted = True
        self.on_interrupt()
        self.finish_pending()

    def check(self) -> None:
        """Raises CleaningStoppedError if the round was interrupted or its log is unusable."""
        if self.is_interrupted or self._log.health.failure is not None:
            raise CleaningStoppedError(f"{self.order.directory}: the log has changed while it was being cleaned")

    def stage(self, group: CleanedGroup) -> None:
        """The first step: renames `.cleaned` to `.swap`. Raises CleaningStoppedError, OSError; the log is then
        unchanged.
        """
        self.check()
        for source in group.sources:
            segment = self._sources[source.base_offset]
            if self._log.segments.floor(source.base_offset) is not segment or segment.size != source.size:
                raise CleaningStoppedError(f"{segment.path} has changed since it was cleaned")
        self._staged = group
        try:
            for suffix in SEGMENT_SUFFIXES:
                self._rename(group.base_offset, suffix + CLEANED_SUFFIX, suffix + SWAP_SUFFIX)
        except OSError:
            self._unstage()
            raise

    def sync(self) -> None:
        """Makes the renames of the last step durable. Call it after each step, on any thread. Raises OSError."""
        if self.files.exists(self.order.directory):  # it was renamed if the topic was deleted
            self.files.sync_directory(self.order.directory)

    def commit(self, group: CleanedGroup, now_ms: int) -> None:
        """The second step: the group replaces its sources, whose files are removed after file.delete.delay.ms.

        Raises CleaningStoppedError with the log unchanged; StorageError for a disk error: the log is then unusable
        until it is opened again, which finishes the exchange.
        """
        self.check()
        self._staged = None
        self._committed = self._log.removal.replace_segments(
            [self._sources[source.base_offset] for source in group.sources],
            group.size,
            now_ms + self._log.config.file_delete_delay_ms,
        )

    def rename(self) -> None:
        """The last step: renames the group's files to their final names. Raises StorageError as `commit`."""
        if self._committed is not None:
            committed, self._committed = self._committed, None
            self._log.removal.rename_cleaned(committed)

    def finish_pending(self) -> None:
        """Undoes a staged group and finishes a committed one, with a sync on this thread. Raises OSError."""
        if self._staged is not None:
            self._unstage()
        if self._committed is not None and self._log.health.failure is None:
            self.sync()
            self.rename()

    def close(self, *, is_done: bool) -> None:
        """Ends the round in any case. Unless all groups were swapped in, its remaining files are removed.

        The log no longer counts as being cleaned. Raises OSError, StorageError.
        """
        try:
            self.finish_pending()
            if not is_done:
                discard_cleaned(self.files, self.order.directory)
        finally:
            if self._log.log_files.cleaning is self:
                self._log.log_files.cleaning = None

    def _unstage(self) -> None:
        """Renames `.log.swap` back to `.cleaned` before anything is removed: after a crash it must not count as
        complete.
        """
        assert self._staged is not None
        base_offset, self._staged = self._staged.base_offset, None
        try:
            self._rename(base_offset, LOG_SUFFIX + SWAP_SUFFIX, LOG_SUFFIX + CLEANED_SUFFIX)
            self.sync()  # while `.log.cleaned` exists, a `.swap` of an index is ignored
            for suffixes, marker in ((INDEX_SUFFIXES, SWAP_SUFFIX), (SEGMENT_SUFFIXES, CLEANED_SUFFIX)):
                for suffix in suffixes:
                    self.files.remove(segment_path(self.order.directory, base_offset, suffix + marker))
                self.sync()  # otherwise a power failure could bring back stale files
        except OSError as error:
            self._log.health.failure = error  # the next start would swap in stale files
            raise

    def _rename(self, base_offset: int, old_suffix: str, new_suffix: str) -> None:
        source = segment_path(self.order.directory, base_offset, old_suffix)
        if self.files.exists(source):
            self.files.rename(source, segment_path(self.order.directory, base_offset, new_suffix))


def sealed_and_active(log: Log) -> list[SegmentInfo]:
    """All segments of a log, without the sizes of indexes, and with timestamps only if min.compaction.lag.ms is set.

    Raises OSError, CorruptRecordError.
    """
    with_times = log.config.min_compaction_lag_ms > 0
    active = log.segments.active
    return [
        SegmentInfo(
            segment.base_offset,
            segment.size,
            0,
            0,
            segment.largest_timestamp if with_times and segment is not active else 0,
        )
        for segment in log.segments
    ]


def range_of(log: Log, segments: list[SegmentInfo], cleaned_up_to: int | None, now_ms: int) -> CleanableRange:
    """The range of an open log that may be cleaned now.

    Only synced records: otherwise a record could be removed because of a later one with its key, which a power failure
    then loses, too.
    """
    return cleanable_range(
        segments,
        cleaned_up_to=cleaned_up_to,
        log_start_offset=log.log_start_offset,
        log_end_offset=log.log_end_offset,
        last_stable_offset=min(log.last_stable_offset, log.offsets.synced_offset),
        min_compaction_lag_ms=log.config.min_compaction_lag_ms,
        now_ms=now_ms,
        high_watermark=log.high_watermark,
    )


def earliest_dirty_timestamp(log: Log, first_dirty: int) -> int | None:
    """The least first timestamp of the sealed segments that reach `first_dirty`; None without any. Raises OSError.

    Only used if max.compaction.lag.ms is set, since it reads the head of each segment once.
    """
    active = log.segments.active
    dirty: list[Segment] = [segment for segment in log.segments.reaching(first_dirty) if segment is not active]
    return min((first for s in dirty if (first := s.indexes.first_timestamp()) is not None and first > 0), default=None)
