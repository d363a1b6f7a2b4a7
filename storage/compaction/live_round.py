"""A round of cleaning over a log that is open and served: what it goes by, and the exchange of segments after it.

    round_ = LiveRound(log, ...)                     on the loop: what the round goes by
    outcome = carry_out(round_.order, files, pace)   anywhere, for as long as it takes
    for each group: stage, sync, commit, sync, finish, sync     on the loop, but for the syncs
    round_.close()

Owns: the files that are half swapped in. Never does: decoding a batch. Invariants: a group takes the place of segments
that are those it was made from, or not at all; whoever removes, truncates or moves something of the log meanwhile
interrupts the round first (`LogFiles`). After a crash anywhere the loader finds the old segments or the cleaned one.
Source: Kafka's UnifiedLog.replaceSegments; LogCleanerManager's LogCleaningAborted.
"""

from collections.abc import Callable

from ..files.file_names import CLEANED_SUFFIX, INDEX_SUFFIXES, LOG_SUFFIX, SEGMENT_SUFFIXES, SWAP_SUFFIX, segment_path
from ..files.files import Files
from ..log.log import Log
from ..segment.segment import Segment
from .cleaning import CleanedGroup
from .grouping import CleanableRange, SegmentFacts, cleanable_range
from .order import CleaningOrder, CleaningOutcome, RoundLimits, carry_out, discard_cleaned
from .pace import CleaningStoppedError, full_speed
from .partition_facts import last_records_of

UNLIMITED = RoundLimits(max_map_entries=5_000_000, buffer_bytes=1 << 18, bytes_per_second=float("inf"))


class LiveRound:
    """One round; times are ms since 1970."""

    def __init__(self, log: Log, offsets: CleanableRange, now_ms: int, limits: RoundLimits) -> None:
        """Takes down what the round goes by; the log is being cleaned until `close`. Raises OSError, StorageError."""
        log.check_usable()
        active = log.segments.active
        sealed = [segment for segment in log.segments if segment is not active]
        self.order = CleaningOrder(
            log.directory,
            log.config,
            now_ms,
            offsets,
            tuple((segment.base_offset, segment.size) for segment in sealed),
            active.base_offset,
            active.transaction_index.to_bytes(),
            last_records_of(log.producer_state),
            limits,
        )
        self.is_interrupted = False
        self.on_interrupt: Callable[[], object] = lambda: None
        """Called when the round is interrupted: whoever works for it may stop."""
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
        """The log changes in a way that the round did not expect: nothing more is swapped in. Raises OSError."""
        self.is_interrupted = True
        self.on_interrupt()
        self.finish_pending()

    def check(self) -> None:
        """Raises CleaningStoppedError once the round has been interrupted or its log can't be used any more."""
        if self.is_interrupted or self._log.failure is not None:
            raise CleaningStoppedError(f"{self.order.directory}: the log has changed while it was being cleaned")

    def stage(self, group: CleanedGroup) -> None:
        """The first step: `.cleaned` becomes `.swap`. Raises CleaningStoppedError, OSError with the log as it was."""
        self.check()
        for source in group.sources:
            segment = self._sources[source.base_offset]
            if self._log.segments.floor(source.base_offset) is not segment or segment.size != source.size:
                raise CleaningStoppedError(f"{segment.path} is not the segment any more that was cleaned")
        self._staged = group
        try:
            for suffix in SEGMENT_SUFFIXES:
                self._rename(group.base_offset, suffix + CLEANED_SUFFIX, suffix + SWAP_SUFFIX)
        except OSError:
            self._unstage()
            raise

    def sync(self) -> None:
        """After each step, on any thread: the names are made durable. Raises OSError."""
        if self.files.exists(self.order.directory):  # it has another name where the topic was deleted
            self.files.sync_directory(self.order.directory)

    def commit(self, group: CleanedGroup, now_ms: int) -> None:
        """The second step: the group takes the place of its sources, whose files go after file.delete.delay.ms.

        Raises CleaningStoppedError with the log as it was; StorageError where the disk refuses: the log is unusable
        until it is opened again, which finishes the exchange.
        """
        self.check()
        self._staged = None
        self._committed = self._log.replace_segments(
            [self._sources[source.base_offset] for source in group.sources],
            group.size,
            now_ms + self._log.config.file_delete_delay_ms,
        )

    def finish(self) -> None:
        """The last step: the group's files get their final names. Raises StorageError as `commit`."""
        if self._committed is not None:
            committed, self._committed = self._committed, None
            self._log.finish_replacing(committed)

    def finish_pending(self) -> None:
        """Takes back what was staged, ends what was committed, with a sync on this thread. Raises OSError."""
        if self._staged is not None:
            self._unstage()
        if self._committed is not None and self._log.failure is None:
            self.sync()
            self.finish()

    def close(self, *, is_done: bool) -> None:
        """The end of a round, however it came: unless all groups were swapped in, what is left of it goes.

        The log is not being cleaned any more. Raises OSError, StorageError.
        """
        try:
            self.finish_pending()
            if not is_done:
                discard_cleaned(self.files, self.order.directory)
        finally:
            if self._log.log_files.cleaning is self:
                self._log.log_files.cleaning = None

    def _unstage(self) -> None:
        """`.log.swap` is `.cleaned` again before anything is removed, so that no crash takes it for a whole segment."""
        assert self._staged is not None
        base_offset, self._staged = self._staged.base_offset, None
        try:
            self._rename(base_offset, LOG_SUFFIX + SWAP_SUFFIX, LOG_SUFFIX + CLEANED_SUFFIX)
            self.sync()  # while `.log.cleaned` is there, no `.swap` of an index counts
            for suffixes, marker in ((INDEX_SUFFIXES, SWAP_SUFFIX), (SEGMENT_SUFFIXES, CLEANED_SUFFIX)):
                for suffix in suffixes:
                    self.files.remove(segment_path(self.order.directory, base_offset, suffix + marker))
                self.sync()  # or a power failure could bring back what is stale by then
        except OSError as error:
            self._log.fail(error)  # the next start would swap in what is stale by then
            raise

    def _rename(self, base_offset: int, old_suffix: str, new_suffix: str) -> None:
        source = segment_path(self.order.directory, base_offset, old_suffix)
        if self.files.exists(source):
            self.files.rename(source, segment_path(self.order.directory, base_offset, new_suffix))


def sealed_and_active(log: Log) -> list[SegmentFacts]:
    """The segments as selection looks at them: sizes of indexes are left out, times unless they matter.

    Raises OSError, CorruptRecordError.
    """
    with_times = log.config.min_compaction_lag_ms > 0
    active = log.segments.active
    return [
        SegmentFacts(
            segment.base_offset,
            segment.size,
            0,
            0,
            segment.largest_timestamp if with_times and segment is not active else 0,
        )
        for segment in log.segments
    ]


def range_of(log: Log, segments: list[SegmentFacts], cleaned_up_to: int | None, now_ms: int) -> CleanableRange:
    """What of an open log may be cleaned now.

    Only what is synced: else a record could go because of a later one of its key, and a power failure take that too.
    """
    return cleanable_range(
        segments,
        cleaned_up_to=cleaned_up_to,
        log_start_offset=log.log_start_offset,
        log_end_offset=log.log_end_offset,
        last_stable_offset=min(log.last_stable_offset, log.offsets.synced_offset),
        min_compaction_lag_ms=log.config.min_compaction_lag_ms,
        now_ms=now_ms,
    )


def earliest_dirty_timestamp(log: Log, first_dirty: int) -> int | None:
    """The least first timestamp of the sealed segments that reach `first_dirty`; None without any. Raises OSError.

    Only asked for where max.compaction.lag.ms is set: it reads the head of each segment once.
    """
    active = log.segments.active
    dirty: list[Segment] = [segment for segment in log.segments.reaching(first_dirty) if segment is not active]
    return min((first for s in dirty if (first := s.first_batch_timestamp) is not None and first > 0), default=None)


def clean_log(log: Log, *, cleaned_up_to: int | None, now_ms: int, limits: RoundLimits = UNLIMITED) -> CleaningOutcome:
    """One whole round over an open log, in one go: for tests and tools; the broker does the steps apart.

    The next round is told `outcome.result.cleaned_up_to`. Raises what `carry_out` raises, StorageError.
    """
    offsets = range_of(log, sealed_and_active(log), cleaned_up_to, now_ms)
    round_ = LiveRound(log, offsets, now_ms, limits)
    is_done = False
    try:
        outcome = carry_out(round_.order, round_.files, full_speed())
        for group in outcome.groups:
            round_.stage(group)
            round_.sync()
            round_.commit(group, now_ms)
            round_.sync()
            round_.finish()
            round_.sync()
        is_done = True
        return outcome
    finally:
        round_.close(is_done=is_done)
