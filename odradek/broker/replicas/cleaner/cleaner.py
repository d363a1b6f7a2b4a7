"""The log cleaner of a running broker: chooses the filthiest log, has a worker clean it, and swaps the result in.

Owns: the start and the end of rounds, the cleaner-offset-checkpoint. Never does: decoding a batch, rating how dirty a
log is (storage/compaction/ does), blocking the event loop. Invariants: at most log.cleaner.threads rounds at a time,
and one for a partition; the checkpoint moves only after the round's new segments are durable; the cleaner runs
retention of compacted logs, never during a round of the same log. Source: Kafka's LogCleaner, LogCleanerManager.
"""

import asyncio
import logging
from collections.abc import AsyncIterator, Callable, Sequence
from functools import partial

from odradek.protocol.errors import KafkaError
from odradek.protocol.names.topics import TopicPartition
from odradek.protocol.records.varint import MAX_INT64
from odradek.storage.compaction.grouping import first_dirty_offset
from odradek.storage.compaction.live_round import LiveRound, earliest_dirty_timestamp, range_of, sealed_and_active
from odradek.storage.compaction.order import CleaningOutcome, RoundLimits
from odradek.storage.compaction.pace import CleaningStoppedError
from odradek.storage.compaction.selection import LogToClean, filthiest, log_to_clean, map_entries, max_dirty_ratio
from odradek.storage.directory.log_directory import LogDirectory
from odradek.storage.errors import CorruptIndexError
from odradek.storage.files.checkpoints import CLEANER_OFFSET_CHECKPOINT, write_offset_checkpoint
from odradek.storage.log.log import Log

from ...config.server_config import ServerConfig
from ...metrics.cleaner_state import CleanerState, RoundStats
from ...timers.work import KindOfWork
from .worker import carry_out_round

logger = logging.getLogger(__name__)

CLEANER = KindOfWork("log-cleaner", "chooses compacted logs and cleans them")

LEAST_BACKOFF_MS = 100
"""log.cleaner.backoff.ms may be 0; Kafka's threads never rest then."""
LOGS_A_STEP = 16
"""The number of compacted logs checked in one turn of the event loop: 20 us each. A broker may have thousands."""
OTHERS_A_STEP = 4096
"""The number of logs checked in one turn of the event loop if none of them is compacted: 0.1 us each."""
SEGMENTS_A_STEP = 4
"""Segments that retention removes in one turn: their files are renamed, 0.2 ms each."""
FAILURES = (KafkaError, CorruptIndexError, OSError)
"""Errors that make a partition uncleanable until the next try."""

CompactedLog = tuple[LogDirectory, TopicPartition, Log]


class LogCleaner:
    """Cleans the compacted logs of all directories until it is stopped."""

    def __init__(
        self,
        directories: Sequence[LogDirectory],
        config: Callable[[], ServerConfig],
        clock_ms: Callable[[], int],
        thread_bytes: int,
        others_a_step: int = OTHERS_A_STEP,
        is_held: Callable[[], bool] = lambda: False,
    ) -> None:
        """``config`` returns the broker's current configuration; ``clock_ms``: milliseconds since the epoch;
        ``thread_bytes``: rounds of at most this size run on a thread, larger ones in a process; ``others_a_step``: the
        number of logs checked in one turn of the event loop if none of them is compacted; ``is_held``: whether no new
        round may begin, because a snapshot of the directories is being taken.
        """
        self.state = CleanerState()
        self._directories = directories
        self._config = config
        self._clock_ms = clock_ms
        self._thread_bytes = thread_bytes
        self._others_a_step = others_a_step
        self._is_held = is_held
        self._rounds: set[asyncio.Task[None]] = set()
        self._written: dict[LogDirectory, dict[TopicPartition, int]] = {}
        self._checkpointing = asyncio.Lock()
        self._main: asyncio.Task[None] | None = None

    def start(self) -> None:
        """Starts to look for work."""
        self._main = CLEANER.keep_running(self._run)

    async def stop(self) -> None:
        """Ends the rounds in progress. Nothing more is swapped in."""
        tasks = [task for task in (self._main, *self._rounds) if task is not None]
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks)

    async def _compacted(self) -> list[CompactedLog]:
        """The compacted logs. After ``others_a_step`` logs, the event loop gets a turn."""
        found: list[CompactedLog] = []
        for directory in self._directories:
            logs = list(directory.logs.items())
            for start in range(0, len(logs), self._others_a_step):
                if start:
                    await asyncio.sleep(0)
                some = logs[start : start + self._others_a_step]
                found += [(directory, key, log) for key, log in some if log.config.is_compacted]
        return found

    async def _in_turns(self, logs: Sequence[CompactedLog]) -> AsyncIterator[CompactedLog]:
        """Yields the logs that are usable. After LOGS_A_STEP of them the event loop gets a turn. Logs that were removed
        or changed since they were found are skipped.
        """
        for number, (directory, key, log) in enumerate(logs):
            if number and not number % LOGS_A_STEP:
                await asyncio.sleep(0)
            is_usable = log.config.is_compacted and log.health.failure is None and directory.failure is None
            if is_usable and directory.logs.get(key) is log:
                yield directory, key, log

    async def clean_now(self, key: TopicPartition) -> None:
        """Cleans the sealed segments of a compacted log once, as far as they may be cleaned, even if it is not due.

        Waits for a round of the same log first. A failure is recorded in the state, like that of any other round.
        """
        while key in self.state.in_progress:
            await asyncio.wait(self._rounds, return_when=asyncio.FIRST_COMPLETED)
        for directory in self._directories:
            log = directory.logs.get(key)
            if log is not None and log.config.is_compacted and log.health.failure is None and len(log.segments) > 1:
                await self._start_round(directory, log, self._inspect_log(directory, key, log, self._clock_ms()))

    async def _begin_rounds(self) -> None:
        """Starts the rounds that are due, then applies retention and writes checkpoints."""
        threads = 0 if self._is_held() else self._config().get_int("log.cleaner.threads")
        logs = await self._compacted()
        for _ in range(threads - len(self._rounds)):
            if not await self._begin_round(logs):
                break
        if threads:
            await self._delete_old_segments(logs)
        await self._checkpoint_removed_partitions()

    async def _run(self) -> None:
        while True:
            await self._begin_rounds()
            backoff_s = max(self._config().get_int("log.cleaner.backoff.ms"), LEAST_BACKOFF_MS) / 1000
            if self._rounds:
                # Wait at most the backoff, even if rounds go on: more threads may be configured by then, or old
                # segments be due.
                await asyncio.wait(self._rounds, timeout=backoff_s, return_when=asyncio.FIRST_COMPLETED)
            else:
                await asyncio.sleep(backoff_s)

    # Choosing ------------------------------------------------------------------

    async def _begin_round(self, logs: Sequence[CompactedLog]) -> bool:
        """Starts a round for the filthiest log. Returns False if none is due."""
        chosen = await self._filthiest(logs)
        if chosen is None:
            return False
        directory, log, to_clean = chosen
        if directory.logs.get(to_clean.key) is not log:
            return True  # deleted while other logs were checked
        self._start_round(directory, log, to_clean)
        return True

    def _start_round(self, directory: LogDirectory, log: Log, to_clean: LogToClean) -> asyncio.Task[None]:
        self.state.in_progress.add(to_clean.key)
        task = CLEANER.awaited(self._clean(directory, log, to_clean))
        self._rounds.add(task)
        CLEANER.when_done(task, partial(self._round_ended, directory, to_clean))
        return task

    def _round_ended(self, directory: LogDirectory, to_clean: LogToClean, task: asyncio.Task[None]) -> None:
        """Removes a round that has ended. Logs an unexpected error; the partition is then uncleanable until its next
        try.
        """
        self._rounds.discard(task)
        failure = None if task.cancelled() else task.exception()
        if failure is not None:
            self._failed(directory, to_clean.key, failure, to_clean.cleanable_bytes)
            CLEANER.failed(f"the cleaning of {to_clean.key[0]}-{to_clean.key[1]}", failure)

    async def _filthiest(self, logs: Sequence[CompactedLog]) -> tuple[LogDirectory, Log, LogToClean] | None:
        now_ms = self.state.last_run_ms = self._clock_ms()
        found: dict[TopicPartition, tuple[LogDirectory, Log, LogToClean]] = {}
        compacted = set()
        async for directory, key, log in self._in_turns(logs):
            compacted.add(key)
            if len(log.segments) == 1 or not self.state.may_clean(key, now_ms):
                continue  # most logs have only an active segment
            try:
                found[key] = directory, log, self._inspect_log(directory, key, log, now_ms)
            except FAILURES as failure:
                self._failed(directory, key, failure, 0)
        self.state.forget_missing(compacted)
        candidates = [to_clean for _, _, to_clean in found.values()]
        self.state.max_dirty_ratio = max_dirty_ratio(candidates)
        self.state.max_compaction_delay_ms = max((c.compaction_delay_ms for c in candidates), default=0)
        best = filthiest(candidates)
        return None if best is None else found[best.key]

    def _inspect_log(self, directory: LogDirectory, key: TopicPartition, log: Log, now_ms: int) -> LogToClean:
        """Measures how dirty a log is, and corrects an invalid checkpoint of its cleaned offset. Raises FAILURES."""
        checkpoint = directory.cleaner_offsets.get(key)
        first_dirty, problem = first_dirty_offset(checkpoint, log.log_start_offset, log.log_end_offset)
        if problem is not None:
            if not log.config.is_deleted or (checkpoint or 0) > log.log_end_offset:
                logger.warning(
                    "%s-%d: cleaning starts again at the log start offset %d: %s", *key, first_dirty, problem
                )
            directory.cleaner_offsets[key] = first_dirty
        segments = sealed_and_active(log)
        earliest = None
        if log.config.max_compaction_lag_ms < MAX_INT64:
            earliest = earliest_dirty_timestamp(log, first_dirty)
        return log_to_clean(key, segments, range_of(log, segments, first_dirty, now_ms), log.config, earliest, now_ms)

    def _limits(self) -> RoundLimits:
        config = self._config()
        threads = max(config.get_int("log.cleaner.threads"), 1)
        return RoundLimits(
            map_entries(
                config.get_int("log.cleaner.dedupe.buffer.size"),
                config.get_float("log.cleaner.io.buffer.load.factor"),
                threads,
            ),
            config.get_int("log.cleaner.io.buffer.size") // threads // 2,
            max(config.get_float("log.cleaner.io.max.bytes.per.second"), 1.0) / threads,
        )

    # A round -------------------------------------------------------------------

    async def _clean(self, directory: LogDirectory, log: Log, to_clean: LogToClean) -> None:
        """Runs one round: cleans the log, swaps the new segments in, writes the checkpoint. A failure is recorded, and
        the log is tried again later.
        """
        key = to_clean.key
        begun_ms = self._clock_ms()
        try:
            outcome = await self._carry_out(log, to_clean, begun_ms)
            if key in directory.logs and directory.logs[key] is log:
                directory.cleaner_offsets[key] = outcome.result.cleaned_up_to
                await self._checkpoint(directory)
        except CleaningStoppedError as stop:
            logger.info("%s", stop)
        except FAILURES as failure:
            self._failed(directory, key, failure, to_clean.cleanable_bytes)
        else:
            self._report(key, to_clean, outcome, self._clock_ms() - begun_ms)
        finally:
            self.state.in_progress.discard(key)

    async def _carry_out(self, log: Log, to_clean: LogToClean, now_ms: int) -> CleaningOutcome:
        round_ = LiveRound(log, to_clean.offsets, now_ms, self._limits())
        is_done = False
        try:
            outcome = await carry_out_round(round_, self._thread_bytes)
            for group in outcome.groups:
                round_.stage(group)
                await CLEANER.awaited_on_thread(round_.sync)
                round_.commit(group, self._clock_ms())
                await CLEANER.awaited_on_thread(round_.sync)
                round_.rename()
                await CLEANER.awaited_on_thread(round_.sync)
            is_done = True
            return outcome
        finally:
            round_.close(is_done=is_done)

    def _failed(
        self, directory: LogDirectory, key: TopicPartition, failure: BaseException, cleanable_bytes: int
    ) -> None:
        reason = failure.message if isinstance(failure, KafkaError) else str(failure) or repr(failure)
        now_ms = self._clock_ms()
        refusal = self.state.failed(key, str(directory.path), reason, cleanable_bytes, now_ms)
        seconds = (refusal.retry_ms - now_ms) // 1000
        logger.error("%s-%d can't be cleaned: %s; the cleaner tries again in %d s", *key, reason, seconds)

    def _report(self, key: TopicPartition, to_clean: LogToClean, outcome: CleaningOutcome, elapsed_ms: int) -> None:
        result = outcome.result
        utilization = result.map_entries / self._limits().max_map_entries
        self.state.cleaned(key, RoundStats(outcome.bytes_read, outcome.bytes_written, elapsed_ms, utilization))
        logger.info(
            "%s-%d: cleaned offsets %d to %d in %d ms: %d bytes of %d remain in %d segments of %d, %d records of %d",
            *key,
            to_clean.offsets.first_dirty_offset,
            result.cleaned_up_to,
            elapsed_ms,
            result.bytes_after,
            result.bytes_before,
            result.segments_after,
            result.segments_before,
            result.records_kept,
            result.records_read,
        )

    # Between rounds ------------------------------------------------------------

    async def delete_old_segments(self) -> None:
        """Deletes old segments of compacted logs. With ``cleanup.policy=compact`` alone, only those before the log
        start offset.
        """
        await self._delete_old_segments(await self._compacted())

    async def _delete_old_segments(self, logs: Sequence[CompactedLog]) -> None:
        async for directory, key, log in self._in_turns(logs):
            try:
                while self._is_to_shrink(key, log) and (  # noqa: ASYNC110 - not a wait: other work gets a turn
                    log.delete_old_segments(self._clock_ms(), SEGMENTS_A_STEP) == SEGMENTS_A_STEP
                ):
                    await asyncio.sleep(0)
            except KafkaError as error:
                logger.error("%s: %s", directory.path, error)

    def _is_to_shrink(self, key: TopicPartition, log: Log) -> bool:
        """Whether retention may run on a log. Asked again in each turn of the event loop, because the log may have been
        deleted, or its cleaning may have begun, since the last one.
        """
        if not log.health.is_open or log.health.failure is not None or key in self.state.in_progress:
            return False
        return log.config.is_deleted or log.segments.first.base_offset < log.log_start_offset

    async def _checkpoint_removed_partitions(self) -> None:
        """Writes the checkpoint without the offsets of deleted topics, so that a new topic of the same name does not
        get them.
        """
        for directory in self._directories:
            if directory.failure is None and self._written.get(directory, directory.cleaner_offsets).keys() != (
                directory.cleaner_offsets.keys()
            ):
                try:
                    await self._checkpoint(directory)
                except OSError as error:
                    logger.error("%s: can't write cleaner-offset-checkpoint: %s", directory.path, error)

    async def _checkpoint(self, directory: LogDirectory) -> None:
        """Writes the directory's cleaner-offset-checkpoint. Raises OSError."""
        async with self._checkpointing:
            offsets = dict(directory.cleaner_offsets)
            path = directory.path / CLEANER_OFFSET_CHECKPOINT
            await CLEANER.awaited_on_thread(write_offset_checkpoint, directory.files, path, offsets)
            self._written[directory] = offsets
